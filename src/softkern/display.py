"""Pictures of fitted models: matplotlib Display classes, in scikit-learn's style.

Each class holds what it draws as plain arrays, so that it can be drawn again; `from_estimator`
(or `from_results`) computes them from a fitted model's public attributes and draws them, and
`plot` draws into the axes given. matplotlib is imported when something is drawn, not before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_array, get_tags
from sklearn.utils.validation import check_is_fitted

from softkern.tree import histogram_valley

__all__ = [
    "AlphaTreeDisplay",
    "MembershipDisplay",
    "MembershipHistogramDisplay",
    "StabilityDisplay",
]

Array = NDArray[Any]

# Okabe and Ito's colours, told apart by readers with any colour vision, without yellow and black.
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00")
MARKERS = ("o", "s", "^", "D", "v", "P")  # a second sign, for more clusters than colours
CUT = "#D55E00"  # the alpha cut
MARGIN = 0.08  # of a feature's range, around the data
ALIKE = 3.0  # ranges of two features within this factor are drawn to one scale
BINS = (10, 60)  # fewest and most of a histogram


class _Display:
    """What all displays share: axes to draw in, and what was drawn kept for the caller."""

    ax_: Any
    figure_: Any

    def _axes(self, ax: Any) -> Any:
        if ax is None:
            _, ax = _pyplot().subplots(layout="constrained")
        self.ax_ = ax
        self.figure_ = ax.figure
        return ax


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "drawing needs matplotlib, which is not installed: pip install 'softkern[plot]'"
        ) from error
    return plt


class MembershipDisplay(_Display):
    """Contours of the memberships over two features, with the data and the alpha cut.

    Parameters
    ----------
    x, y : arrays of shape (p,) and (q,)
        The grid's coordinates.
    memberships : array of shape (q, p, c)
        Of every point of the grid in every cluster.
    points : array of shape (n, 2), default=None
    labels : array of shape (n,), default=None
        Of the points; −1 is noise, drawn as crosses.
    alpha : float, default=None
        Level of the cut.
    names : pair of str, default=("feature 0", "feature 1")
    note : str, default=""
        Written into the corner.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> from softkern.datasets import make_gaussian_outliers
    >>> X, _ = make_gaussian_outliers(random_state=0)
    >>> model = OneClassPCM().fit(X)
    >>> display = MembershipDisplay.from_estimator(model, X)  # doctest: +SKIP
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        memberships: Array,
        *,
        points: Array | None = None,
        labels: Array | None = None,
        alpha: float | None = None,
        names: tuple[str, str] = ("feature 0", "feature 1"),
        note: str = "",
    ) -> None:
        self.x = x
        self.y = y
        self.memberships = memberships
        self.points = points
        self.labels = labels
        self.alpha = alpha
        self.names = names
        self.note = note

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: tuple[int | str, int | str] = (0, 1),
        alpha: str | float | None = "auto",
        grid_resolution: int = 100,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Memberships of a fitted model on a grid over the range of X, drawn.

        Parameters
        ----------
        estimator : fitted model
            With `typicality` or `memberships`.
        X : array or DataFrame of shape (n, d)
            The data to draw; with more than two columns, the others stay at their medians.
        y : array of shape (n,), default=None
            Labels of X; by default those that `predict` gives.
        features : pair of int or str, default=(0, 1)
            The two columns, by number or by name.
        alpha : "auto", float or None, default="auto"
            Level of the cut. ``"auto"`` takes the model's `alpha_`, or the level that rejects the
            share `contamination` of the training data, or draws no cut.
        grid_resolution : int, default=100
            Points of the grid along each feature.
        ax : matplotlib Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        display : MembershipDisplay
        """
        check_is_fitted(estimator)
        if get_tags(estimator).input_tags.pairwise:
            raise ValueError("a model of a precomputed kernel has no features to draw over.")
        values = check_array(X)
        i, j = (_column(X, values, feature) for feature in features)
        if i == j:
            raise ValueError(f"features={features!r} are one and the same column; give two.")
        x, y_axis = (_axis(values[:, k], grid_resolution) for k in (i, j))
        grid = np.tile(np.median(values, axis=0), (x.size * y_axis.size, 1)).astype(values.dtype)
        grid[:, i], grid[:, j] = (part.ravel() for part in np.meshgrid(x, y_axis))
        surface = _memberships_of(estimator, _like(X, grid)).reshape(y_axis.size, x.size, -1)
        display = cls(
            x,
            y_axis,
            surface,
            points=values[:, [i, j]],
            labels=np.asarray(estimator.predict(X) if y is None else y),
            alpha=_cut(estimator) if isinstance(alpha, str) else alpha,
            names=(_name(X, i), _name(X, j)),
            note="other features at their medians" if values.shape[1] > 2 else "",
        )
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Any = None,
        *,
        levels: int = 12,
        colorbar: bool = True,
        legend: bool = True,
        size: float | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        levels : int, default=12
            Number of shades.
        colorbar, legend : bool, default=True
        size : float, default=None
            Area of a point, as in matplotlib's scatter; by default the smaller, the more points.
        """
        ax = self._axes(ax)
        highest = self.memberships.max(axis=2)
        shades = ax.contourf(self.x, self.y, highest, levels, cmap=_light_greys(), zorder=0)
        if self.points is not None:
            _scatter(ax, self.points, self.labels, size)
        self._lines(ax)
        spans = np.ptp(self.x), np.ptp(self.y)
        if max(spans) < ALIKE * min(spans):
            ax.set_aspect("equal")
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        ax.set(xlim=self.x[[0, -1]], ylim=self.y[[0, -1]])
        ax.text(0.99, 0.01, self.note, transform=ax.transAxes, ha="right", fontsize="small")
        if colorbar:
            # Inside the axes' own box, so that it is as high as the picture whatever the aspect.
            strip = ax.inset_axes([1.02, 0, 0.04, 1])
            ax.figure.colorbar(shades, cax=strip, label="membership")
            if self._is_cut:
                strip.axhline(self.alpha, color=CUT, linewidth=2)
        if legend and ax.get_legend_handles_labels()[0]:
            above = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.0), "ncols": 5}
            ax.legend(fontsize="small", frameon=False, markerscale=1.5, handletextpad=0.4, **above)
        return self

    @property
    def _is_cut(self) -> bool:
        """Whether the cut passes through what is drawn."""
        highest = self.memberships.max(axis=2)
        return self.alpha is not None and bool(highest.min() < self.alpha < highest.max())

    def _lines(self, ax: Any) -> None:
        """The cut; without one, where there are several clusters, their own contours."""
        n_clusters = self.memberships.shape[2]
        if self.alpha is not None:
            if self._is_cut:
                highest = self.memberships.max(axis=2)
                ax.contour(self.x, self.y, highest, [self.alpha], colors=CUT, linewidths=1.6)
            ax.plot([], [], color=CUT, label=f"α = {self.alpha:.4g}")
        elif n_clusters > 1:
            for k in range(n_clusters):
                colour = COLOURS[k % len(COLOURS)]
                surface = self.memberships[:, :, k]
                lines = [level for level in (0.25, 0.5, 0.75) if level < surface.max()]
                if lines and surface.min() < lines[-1]:
                    ax.contour(self.x, self.y, surface, lines, colors=colour, linewidths=1.4)


class MembershipHistogramDisplay(_Display):
    """Histogram of the training points' memberships, with the valley between its two modes.

    The 2007 paper takes the valley as the level of its alpha cut [1]_.

    Parameters
    ----------
    memberships : array of shape (n,) or (n, c)
    valley : float, default=None
        None, or 0, where there is none.
    alpha : float, default=None
        The model's own level.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    References
    ----------
    .. [1] M. Filippone, F. Masulli, S. Rovetta, "Possibilistic clustering in feature space",
       WILF 2007. :doi:`10.1007/978-3-540-73400-0_27`

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> from softkern.datasets import make_dense_regions
    >>> X, _ = make_dense_regions(random_state=0)
    >>> model = OneClassPCM(bandwidth=0.5).fit(X)
    >>> display = MembershipHistogramDisplay.from_estimator(model)  # doctest: +SKIP
    """

    def __init__(
        self, memberships: Array, *, valley: float | None = None, alpha: float | None = None
    ) -> None:
        self.memberships = memberships
        self.valley = valley
        self.alpha = alpha

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """The histogram of a fitted model's `typicality_`, or else `memberships_`, drawn.

        Parameters
        ----------
        estimator : fitted model
        ax : matplotlib Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        display : MembershipHistogramDisplay
        """
        check_is_fitted(estimator)
        memberships = _training_memberships(estimator)
        valley = histogram_valley(memberships) if memberships.ndim == 1 else None
        display = cls(memberships, valley=valley, alpha=_own_level(estimator))
        return display.plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, bins: int | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        bins : int, default=None
            By default the square root of the number of points, between 10 and 60.
        """
        ax = self._axes(ax)
        columns = self.memberships.reshape(len(self.memberships), -1)
        bins = bins or int(np.clip(np.sqrt(len(columns)), *BINS))
        edges = np.histogram_bin_edges(columns, bins)
        if columns.shape[1] == 1:
            ax.hist(columns[:, 0], edges, color="0.75", edgecolor="0.45", linewidth=0.6)
        for k in range(columns.shape[1] if columns.shape[1] > 1 else 0):
            colour = COLOURS[k % len(COLOURS)]
            ax.hist(columns[:, k], edges, histtype="step", color=colour, label=f"cluster {k}")
        if self.valley:
            label = f"valley {self.valley:.4g}"
            ax.axvline(self.valley, color=COLOURS[0], linestyle="--", label=label)
        if self.alpha is not None:
            ax.axvline(self.alpha, color=CUT, label=f"α = {self.alpha:.4g}")
        ax.set(xlabel="membership", ylabel="points")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize="small", frameon=False)
        return self


class AlphaTreeDisplay(_Display):
    """The alpha tree: which clusters there are at every level of the cut.

    Parameters
    ----------
    tree : softkern.tree.AlphaTree
    alpha : float, default=None
        Level to mark.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.
    """

    def __init__(self, tree: Any, *, alpha: float | None = None) -> None:
        self.tree = tree
        self.alpha = alpha

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """The tree of a fitted `AlphaCutClustering`, drawn, with its own level marked.

        Parameters
        ----------
        estimator : fitted model
            With `tree_`.
        ax : matplotlib Axes, default=None
        **plot_options
            Passed on to the tree's own `plot`.

        Returns
        -------
        display : AlphaTreeDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "tree_"):
            raise TypeError(
                f"{type(estimator).__name__} has no alpha tree; AlphaCutClustering has one."
            )
        display = cls(estimator.tree_, alpha=_own_level(estimator))
        return display.plot(ax, **plot_options)

    def plot(self, ax: Any = None, **plot_options: Any) -> Self:
        """Draw; options go to the tree's own `plot`."""
        ax = self._axes(ax)
        self.tree.plot(ax, **plot_options)
        if self.alpha is not None:
            ax.axhline(self.alpha, color=CUT, linestyle="--", label=f"α = {self.alpha:.4g}")
            ax.legend(fontsize="small", frameon=False)
        return self


class StabilityDisplay(_Display):
    """Box plots of stability scores, one box a detector.

    Parameters
    ----------
    scores : dict of str to array
        Jaccard's coefficient of every draw, by the detector's name.
    chance : float, default=None
        What a detector that knows nothing would get.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> from sklearn.neighbors import KernelDensity
    >>> from softkern.datasets import make_gaussian_outliers
    >>> from softkern.selection import stability_score
    >>> X, _ = make_gaussian_outliers(random_state=0)
    >>> results = {f"bandwidth {b}": stability_score(KernelDensity(bandwidth=b), X, n_draws=5)
    ...            for b in (0.5, 1)}
    >>> display = StabilityDisplay.from_results(results)  # doctest: +SKIP
    """

    def __init__(self, scores: Mapping[str, Array], *, chance: float | None = None) -> None:
        self.scores = dict(scores)
        self.chance = chance

    @classmethod
    def from_results(cls, results: Mapping[str, Any], *, ax: Any = None) -> Self:
        """Draw results of `softkern.stability_score` by name.

        Parameters
        ----------
        results : dict of str to StabilityResult
            Or to arrays of scores.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : StabilityDisplay
        """
        if not results:
            raise ValueError("there are no results to draw.")
        scores = {name: np.asarray(getattr(r, "scores", r)) for name, r in results.items()}
        levels = {getattr(result, "chance", None) for result in results.values()}
        return cls(scores, chance=levels.pop() if len(levels) == 1 else None).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, the first name at the top."""
        ax = self._axes(ax)
        names = list(self.scores)
        parts = ax.boxplot(
            [self.scores[name] for name in names],
            orientation="horizontal",
            tick_labels=names,
            patch_artist=True,
            widths=0.6,
            medianprops={"color": "black", "linewidth": 1.6},
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": "0.4"},
        )
        for k, box in enumerate(parts["boxes"]):
            box.set(facecolor=COLOURS[k % len(COLOURS)], alpha=0.75)
        if self.chance is not None:
            ax.axvline(self.chance, color="0.4", linestyle=":", label="chance")
            ax.legend(fontsize="small", frameon=False)
        ax.set(xlabel="Jaccard coefficient of the outliers found", xlim=(-0.02, 1.02))
        ax.invert_yaxis()
        return self


# What a model says


def _memberships_of(estimator: Any, X: Any) -> Array:
    """Of new points, (m, c); where a model has a typicality beside them, as levels cut that."""
    density = getattr(estimator, "one_class_", estimator)
    method = getattr(estimator, "typicality", None) or getattr(density, "memberships", None)
    if method is None:
        raise TypeError(f"{type(estimator).__name__} gives no memberships of new points.")
    values = np.asarray(method(X))
    return values.reshape(len(values), -1)


def _training_memberships(estimator: Any) -> Array:
    for name in ("typicality_", "memberships_"):
        if hasattr(estimator, name):
            return np.asarray(getattr(estimator, name))
    raise TypeError(f"{type(estimator).__name__} has neither typicality_ nor memberships_.")


def _own_level(estimator: Any) -> float | None:
    """The model's `alpha_`; None where it has none, or cuts nothing off."""
    alpha = getattr(estimator, "alpha_", None)
    return float(alpha) if alpha else None


def _cut(estimator: Any) -> float | None:
    """The model's own level, or the one that rejects the share it takes for outliers."""
    share = getattr(estimator, "contamination", None)
    if hasattr(estimator, "alpha_") or not isinstance(share, float):
        return _own_level(estimator)
    return float(np.quantile(_training_memberships(estimator), share))


# Tables


def _column(X: Any, values: Array, feature: int | str) -> int:
    """The number of a column given by number or name."""
    if isinstance(feature, str):
        known = list(getattr(X, "columns", []))
        if feature not in known:
            raise ValueError(f"X has no column {feature!r}; its columns are {known}.")
        return known.index(feature)
    if not 0 <= feature < values.shape[1]:
        raise ValueError(f"feature {feature!r} is asked for, but X has {values.shape[1]} columns.")
    return int(feature)


def _name(X: Any, column: int) -> str:
    return str(X.columns[column]) if hasattr(X, "columns") else f"feature {column}"


def _like(X: Any, rows: Array) -> Any:
    """Rows as the kind of table that X is, so that names go with them."""
    if not hasattr(X, "columns"):
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=list(X.columns))


def _axis(values: Array, resolution: int) -> Array:
    """Evenly spaced coordinates over the range of the values and a little beyond."""
    low, high = values.min(), values.max()
    margin = MARGIN * (high - low) if high > low else 0.5
    return np.linspace(low - margin, high + margin, resolution)


# Ink


def _light_greys() -> Any:
    """White to mid-grey: a ground on which every colour of the points can be read."""
    from matplotlib.colors import LinearSegmentedColormap

    return LinearSegmentedColormap.from_list("softkern", ["white", "0.5"])


def _scatter(ax: Any, points: Array, labels: Array | None, size: float | None) -> None:
    """The points, coloured by label; noise as crosses, beneath the clusters."""
    if size is None:
        size = float(np.clip(10_000 / len(points), 1.5, 14))
    if labels is None:
        labels = np.zeros(len(points), dtype=int)
    is_noise = np.asarray(labels == -1)
    kinds = np.unique(labels[~is_noise]).tolist()
    is_detector = kinds in ([], [1])  # scikit-learn's outlier detectors say 1 and −1
    if is_noise.any():
        name = "outliers" if is_detector else "noise"
        style = {"marker": "x", "color": "black", "linewidths": 0.7, "alpha": 0.5}
        ax.scatter(*points[is_noise].T, s=1.2 * size, label=name, zorder=1, **style)
    for place, kind in enumerate(kinds):
        # A cluster keeps its colour when a lower one has no points here.
        k = kind if isinstance(kind, int) and not is_detector else place
        style = {"color": COLOURS[k % len(COLOURS)], "edgecolors": "white"}
        style["linewidths"] = 0.25 if size > 4 else 0.0
        style["marker"] = MARKERS[k // len(COLOURS) % len(MARKERS)]
        name = str(kind) if len(kinds) > 1 else "_"
        ax.scatter(*points[labels == kind].T, s=size, label=name, zorder=2, **style)
