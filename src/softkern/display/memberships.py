"""Memberships over two features, and how they are distributed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from softkern._utils.colors import COLORS, CUT
from softkern._utils.typing import Array
from softkern.density_tree.tree import histogram_valley
from softkern.display._base import (
    Display,
    Plane,
    PlaneDisplay,
    light_grays,
    scale_of_shades,
    scatter_points,
)
from softkern.fitted import fitted_step, histogram_bins, level_of, typicality_of


class MembershipDisplay(PlaneDisplay):
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
    >>> display = MembershipDisplay.from_estimator(model, X)
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
        estimator : fitted model, or a pipeline that ends in one
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
        plane = Plane.of(estimator, X, features, grid_resolution)
        found = typicality_of(plane.model, plane.grid)
        if found is None:
            raise TypeError(f"{type(plane.model).__name__} gives no memberships of new points.")
        level = _own_cut(plane.model) if isinstance(alpha, str) else alpha
        surface = plane.surface(found[1])
        display = cls(plane.x, plane.y, surface, alpha=level, **plane.drawn(y))
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
        shades = ax.contourf(self.x, self.y, highest, levels, cmap=light_grays(), zorder=0)
        if self.points is not None:
            scatter_points(ax, self.points, self.labels, size)
        self._lines(ax)
        self._finish(ax, legend)
        if colorbar:
            strip = scale_of_shades(ax, shades, "membership")
            if self._is_cut:
                strip.axhline(self.alpha, color=CUT, linewidth=2)
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
                color = COLORS[k % len(COLORS)]
                surface = self.memberships[:, :, k]
                lines = [level for level in (0.25, 0.5, 0.75) if level < surface.max()]
                if lines and surface.min() < lines[-1]:
                    ax.contour(self.x, self.y, surface, lines, colors=color, linewidths=1.4)


class MembershipHistogramDisplay(Display):
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
    >>> display = MembershipHistogramDisplay.from_estimator(model)
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
        estimator : fitted model, or a pipeline that ends in one
        ax : matplotlib Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        display : MembershipHistogramDisplay
        """
        model, _ = fitted_step(estimator)
        found = typicality_of(model)
        if found is None:
            raise TypeError(f"{type(model).__name__} has neither typicality_ nor memberships_.")
        valley = histogram_valley(found[1]) if found[1].ndim == 1 else None
        return cls(found[1], valley=valley, alpha=level_of(model)).plot(ax, **plot_options)

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
        edges = np.histogram_bin_edges(columns, bins or histogram_bins(len(columns)))
        if columns.shape[1] == 1:
            ax.hist(columns[:, 0], edges, color="0.75", edgecolor="0.45", linewidth=0.6)
        for k in range(columns.shape[1] if columns.shape[1] > 1 else 0):
            color = COLORS[k % len(COLORS)]
            ax.hist(columns[:, k], edges, histtype="step", color=color, label=f"cluster {k}")
        if self.valley:
            label = f"valley {self.valley:.4g}"
            ax.axvline(self.valley, color=COLORS[0], linestyle="--", label=label)
        if self.alpha is not None:
            ax.axvline(self.alpha, color=CUT, label=f"α = {self.alpha:.4g}")
        ax.set(xlabel="membership", ylabel="points")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize="small", frameon=False)
        return self


def _own_cut(model: Any) -> float | None:
    """The model's own level, or the one that rejects the share it takes for outliers."""
    share, found = getattr(model, "contamination", None), typicality_of(model)
    if hasattr(model, "alpha_") or found is None or not isinstance(share, float):
        return level_of(model)
    return float(np.quantile(found[1], share))
