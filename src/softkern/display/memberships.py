"""Plot memberships over two features, and their histogram."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from softkern._utils.colors import COLORS, CUT
from softkern._utils.typing import Array
from softkern.density_tree.tree import histogram_valley
from softkern.display._base import Display, Plane, PlaneDisplay, light_grays, scatter_points
from softkern.fitted import fitted_step, histogram_bins, level_of, typicality_of


@dataclass(eq=False, repr=False)
class MembershipDisplay(PlaneDisplay):
    """Contours of the memberships over two features, with the data and the alpha cut.

    Parameters
    ----------
    x, y : arrays of shape (p,) and (q,)
        Coordinates of the grid.
    memberships : array of shape (q, p, n_clusters)
        Memberships on the grid.
    points : array of shape (n_samples, 2), default=None
        The data.
    labels : array of shape (n_samples,), default=None
        Labels of the data. Samples with label −1 are drawn as crosses.
    alpha : float, default=None
        Level of the cut.
    names : pair of str, default=("feature 0", "feature 1")
        Labels of the axes.
    note : str, default=""
        Text in the corner.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure.

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> from softkern.datasets import make_gaussian_outliers
    >>> X, _ = make_gaussian_outliers(random_state=0)
    >>> model = OneClassPCM().fit(X)
    >>> display = MembershipDisplay.from_estimator(model, X)
    """

    x: Array
    y: Array
    memberships: Array
    _: KW_ONLY
    points: Array | None = None
    labels: Array | None = None
    alpha: float | None = None
    names: tuple[str, str] = ("feature 0", "feature 1")
    note: str = ""

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
        """Plot the memberships of a fitted model.

        Parameters
        ----------
        estimator : fitted model, or a pipeline that ends in one
            Must have `typicality` or `memberships`.
        X : array or DataFrame of shape (n_samples, n_features)
            The data to draw. Features that are not drawn stay at their medians on the grid.
        y : array of shape (n_samples,), default=None
            Labels of X. None uses `predict`.
        features : pair of int or str, default=(0, 1)
            The two columns, by position or name.
        alpha : "auto", float or None, default="auto"
            Level of the cut. ``"auto"`` uses the model's `alpha_`, or the level that rejects the
            share `contamination` of the training data, or no cut.
        grid_resolution : int, default=100
            Number of grid values per feature.
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        display : MembershipDisplay
            The display, already drawn.
        """
        plane = Plane.of(estimator, X, features, grid_resolution)
        typicality = typicality_of(plane.model, plane.grid)
        if typicality is None:
            raise TypeError(f"{type(plane.model).__name__} has no memberships of new samples.")
        level = _default_level(plane.model) if isinstance(alpha, str) else alpha
        surface = plane.surface(typicality[1])
        display = cls(plane.x, plane.y, surface, alpha=level, **plane.arguments(y))
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
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.
        levels : int, default=12
            Number of shades.
        colorbar, legend : bool, default=True
            Whether to draw them.
        size : float, default=None
            Marker area as in matplotlib's `scatter`. None depends on the number of samples.

        Returns
        -------
        display : MembershipDisplay
            The display itself.
        """
        ax = self._axes(ax)
        highest = self.memberships.max(axis=2)
        is_cut = self.alpha is not None and bool(highest.min() < self.alpha < highest.max())
        shades = ax.contourf(self.x, self.y, highest, levels, cmap=light_grays(), zorder=0)
        if self.points is not None:
            scatter_points(ax, self.points, self.labels, size)
        if self.alpha is None:
            self._draw_contours(ax)
        else:
            if is_cut:
                ax.contour(self.x, self.y, highest, [self.alpha], colors=CUT, linewidths=1.6)
            ax.plot([], [], color=CUT, label=f"α = {self.alpha:.4g}")
        self._finish(ax, legend)
        if colorbar:
            # inside the axes, so that it is as high as the plot whatever the aspect
            bar = ax.inset_axes([1.02, 0, 0.04, 1])
            ax.figure.colorbar(shades, cax=bar, label="membership")
            if is_cut:
                bar.axhline(self.alpha, color=CUT, linewidth=2)
        return self

    def _draw_contours(self, ax: Any) -> None:
        """Draw the contours of each cluster, if there are several."""
        n_clusters = self.memberships.shape[2]
        for k in range(n_clusters if n_clusters > 1 else 0):
            surface = self.memberships[:, :, k]
            lines = [level for level in (0.25, 0.5, 0.75) if level < surface.max()]
            if lines and surface.min() < lines[-1]:
                color = COLORS[k % len(COLORS)]
                ax.contour(self.x, self.y, surface, lines, colors=color, linewidths=1.4)


@dataclass(eq=False, repr=False)
class MembershipHistogramDisplay(Display):
    """Histogram of the training samples' memberships, with the valley between its two modes.

    The 2007 paper takes the valley as the level of its alpha cut [1]_.

    Parameters
    ----------
    memberships : array of shape (n_samples,) or (n_samples, n_clusters)
        Memberships, or typicalities.
    valley : float, default=None
        Position of the valley. None or 0 if there is none.
    alpha : float, default=None
        Level of the model's own cut.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure.

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
    >>> display = MembershipHistogramDisplay.from_estimator(model)
    """

    memberships: Array
    _: KW_ONLY
    valley: float | None = None
    alpha: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """Plot the histogram of a fitted model's `typicality_`, or else `memberships_`.

        Parameters
        ----------
        estimator : fitted model, or a pipeline that ends in one
            Must have `typicality_` or `memberships_`.
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        display : MembershipHistogramDisplay
            The display, already drawn.
        """
        model, _ = fitted_step(estimator)
        typicality = typicality_of(model)
        if typicality is None:
            raise TypeError(f"{type(model).__name__} has neither typicality_ nor memberships_.")
        values = typicality[1]
        valley = histogram_valley(values) if values.ndim == 1 else None
        return cls(values, valley=valley, alpha=level_of(model)).plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, bins: int | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.
        bins : int, default=None
            Number of bins. None uses the square root of the number of samples, between 10 and 60.

        Returns
        -------
        display : MembershipHistogramDisplay
            The display itself.
        """
        ax = self._axes(ax)
        columns = self.memberships.reshape(len(self.memberships), -1)
        edges = np.histogram_bin_edges(columns, bins or histogram_bins(len(columns)))
        if columns.shape[1] == 1:
            ax.hist(columns[:, 0], edges, color="0.75", edgecolor="0.45", linewidth=0.6)
        else:
            for k, column in enumerate(columns.T):
                color = COLORS[k % len(COLORS)]
                ax.hist(column, edges, histtype="step", color=color, label=f"cluster {k}")
        if self.valley:
            label = f"valley {self.valley:.4g}"
            ax.axvline(self.valley, color=COLORS[0], linestyle="--", label=label)
        if self.alpha is not None:
            ax.axvline(self.alpha, color=CUT, label=f"α = {self.alpha:.4g}")
        ax.set(xlabel="membership", ylabel="samples")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize="small", frameon=False)
        return self


def _default_level(model: Any) -> float | None:
    """Return the model's own level, or the one that rejects its share of outliers."""
    share, typicality = getattr(model, "contamination", None), typicality_of(model)
    if hasattr(model, "alpha_") or typicality is None or not isinstance(share, float):
        return level_of(model)
    return float(np.quantile(typicality[1], share))
