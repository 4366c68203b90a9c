"""Lines of equal outlier weight over two features, as in figures 4, 5 and 10 of the 2004 paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from softkern._utils.colors import CUT
from softkern._utils.typing import Array
from softkern.display._base import (
    Plane,
    PlaneDisplay,
    light_grays,
    scale_of_shades,
    scatter_points,
)


class OutlierWeightDisplay(PlaneDisplay):
    """Contours of the outlier weight over two features, with the data and a line around outliers.

    Points outside a line of equal weight are outliers at that weight; which line to take is for
    the reader to choose [1]_.

    Parameters
    ----------
    x, y : arrays of shape (p,) and (q,)
        The grid's coordinates.
    weights : array of shape (q, p)
        Of every point of the grid.
    points : array of shape (n, 2), default=None
    labels : array of shape (n,), default=None
        Of the points.
    point_weights : array of shape (n,), default=None
    threshold : float, default=None
        Weight from which points are outliers; they get a ring.
    names : pair of str, default=("feature 0", "feature 1")
    note : str, default=""
        Written into the corner.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    References
    ----------
    .. [1] H.-B. Shen, S.-T. Wang, X.-J. Wu, "Fuzzy kernel clustering with outliers", Journal of
       Software 15(7), 2004. http://www.jos.org.cn/1000-9825/15/1021.htm

    Examples
    --------
    >>> from softkern import OutlierFuzzyCMeans
    >>> from softkern.datasets import make_ring_outliers
    >>> X, _ = make_ring_outliers(random_state=0)
    >>> model = OutlierFuzzyCMeans(2, bandwidth=1.5).fit(X)
    >>> display = OutlierWeightDisplay.from_estimator(model, X)
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        weights: Array,
        *,
        points: Array | None = None,
        labels: Array | None = None,
        point_weights: Array | None = None,
        threshold: float | None = None,
        names: tuple[str, str] = ("feature 0", "feature 1"),
        note: str = "",
    ) -> None:
        self.x = x
        self.y = y
        self.weights = weights
        self.points = points
        self.labels = labels
        self.point_weights = point_weights
        self.threshold = threshold
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
        threshold: float | None = None,
        grid_resolution: int = 100,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Outlier weights of a fitted model on a grid over the range of X, drawn.

        Parameters
        ----------
        estimator : fitted model, or a pipeline that ends in one
            With the method `outlier_weights`, such as `softkern.OutlierFuzzyCMeans`.
        X : array or DataFrame of shape (n, d)
            The data to draw; with more than two columns, the others stay at their medians.
        y : array of shape (n,), default=None
            Labels of X; by default those that `predict` gives.
        features : pair of int or str, default=(0, 1)
            The two columns, by number or by name.
        threshold : float, default=None
            Weight from which points are outliers; its line is drawn, and a ring around them.
        grid_resolution : int, default=100
            Points of the grid along each feature.
        ax : matplotlib Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        display : OutlierWeightDisplay
        """
        plane = Plane.of(estimator, X, features, grid_resolution)
        model = plane.model
        if not hasattr(model, "outlier_weights"):
            raise TypeError(
                f"{type(model).__name__} gives no outlier weights; use OutlierFuzzyCMeans."
            )
        display = cls(
            plane.x,
            plane.y,
            plane.surface(model.outlier_weights(plane.grid))[:, :, 0],
            point_weights=np.asarray(model.outlier_weights(plane.seen)),
            threshold=threshold,
            **plane.drawn(y),
        )
        return display.plot(ax, **plot_options)

    def plot(
        self,
        ax: Any = None,
        *,
        levels: int | Sequence[float] = 8,
        colorbar: bool = True,
        legend: bool = True,
        size: float | None = None,
    ) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        levels : int or sequence of float, default=8
            About how many lines of equal weight, or their weights.
        colorbar, legend : bool, default=True
        size : float, default=None
            Area of a point, as in matplotlib's scatter; by default the smaller, the more points.
        """
        ax = self._axes(ax)
        shades = ax.contourf(self.x, self.y, self.weights, levels, cmap=light_grays(), zorder=0)
        lines = ax.contour(
            self.x, self.y, self.weights, shades.levels, colors="0.35", linewidths=0.7, zorder=1
        )
        ax.clabel(lines, fontsize="x-small", fmt="%.3g")
        if self.points is not None:
            scatter_points(ax, self.points, self.labels, size)
        self._mark_outliers(ax)
        self._finish(ax, legend)
        if colorbar:
            scale_of_shades(ax, shades, "outlier weight")
        return self

    def _mark_outliers(self, ax: Any) -> None:
        """The line of the threshold, and a ring around every point beyond it."""
        if self.threshold is None:
            return
        if self.weights.min() < self.threshold < self.weights.max():
            line = {"colors": CUT, "linewidths": 1.6, "zorder": 3}
            ax.contour(self.x, self.y, self.weights, [self.threshold], **line)
        ax.plot([], [], color=CUT, label=f"w = {self.threshold:.3g}")
        if self.points is None or self.point_weights is None:
            return
        beyond = self.points[self.point_weights >= self.threshold]
        ring = {"facecolors": "none", "edgecolors": CUT, "linewidths": 1.2, "zorder": 3}
        ax.scatter(*beyond.T, s=70, label=f"outliers ({len(beyond)})", **ring)
