"""Plot the boundaries of one-class models over two features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from softkern._utils.colors import COLORS, CUT
from softkern._utils.typing import Array
from softkern.display._base import Plane, PlaneDisplay, light_grays, scatter_points

TINT = 0.45  # strength of a cluster's color where its membership is one


@dataclass(eq=False, repr=False)
class BoundaryDisplay(PlaneDisplay):
    """Boundary of every cluster, or of a detector, over two features.

    Lines show where a decision function is zero. The background of a clustering mixes the colors
    of the clusters by membership. The background of a detector is darker further inside.

    Parameters
    ----------
    x, y : arrays of shape (p,) and (q,)
        Coordinates of the grid.
    decision : array of shape (q, p, n_clusters)
        Decision functions on the grid, positive inside.
    memberships : array of shape (q, p, n_clusters), default=None
        Memberships on the grid. None for a detector.
    points : array of shape (n_samples, 2), default=None
        The data.
    labels : array of shape (n_samples,), default=None
        Labels of the data. Samples with label −1 are drawn as crosses.
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
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import OneClassMixture
    >>> X, _ = make_blobs(100, centers=2, random_state=0)
    >>> model = OneClassMixture(n_clusters=2, nu=0.3).fit(X)
    >>> display = BoundaryDisplay.from_estimator(model, X)
    """

    x: Array
    y: Array
    decision: Array
    _: KW_ONLY
    memberships: Array | None = None
    points: Array | None = None
    labels: Array | None = None
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
        grid_resolution: int = 150,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """Plot the boundaries of a fitted model.

        Parameters
        ----------
        estimator : fitted model, or a pipeline that ends in one
            Must have `decision_function`: a one-class clustering or an outlier detector.
        X : array or DataFrame of shape (n_samples, n_features)
            The data to draw. Features that are not drawn stay at their medians on the grid.
        y : array of shape (n_samples,), default=None
            Labels of X. None uses `predict`.
        features : pair of int or str, default=(0, 1)
            The two columns, by position or name.
        grid_resolution : int, default=150
            Number of grid values per feature.
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        display : BoundaryDisplay
            The display, already drawn.
        """
        plane = Plane.of(estimator, X, features, grid_resolution)
        model = plane.model
        if not hasattr(model, "decision_function"):
            raise TypeError(f"{type(model).__name__} has no decision_function.")
        decision = plane.surface(model.decision_function(plane.grid))
        memberships = None
        if decision.shape[2] > 1:
            memberships = plane.surface(model.memberships(plane.grid))
        display = cls(plane.x, plane.y, decision, memberships=memberships, **plane.arguments(y))
        return display.plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, legend: bool = True, size: float | None = None) -> Self:
        """Draw the display.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.
        legend : bool, default=True
            Whether to draw it.
        size : float, default=None
            Marker area as in matplotlib's `scatter`. None depends on the number of samples.

        Returns
        -------
        display : BoundaryDisplay
            The display itself.
        """
        ax = self._axes(ax)
        if self.memberships is None:
            depth = self.decision[:, :, 0]
            ax.contourf(self.x, self.y, depth, 12, cmap=light_grays(), zorder=0)
        else:
            extent = (self.x[0], self.x[-1], self.y[0], self.y[-1])
            colors = _mix_colors(self.memberships)
            ax.imshow(colors, origin="lower", extent=extent, interpolation="bilinear")
        if self.points is not None:
            scatter_points(ax, self.points, self.labels, size)
        self._draw_lines(ax)
        self._finish(ax, legend)
        return self

    def _draw_lines(self, ax: Any) -> None:
        """Draw a line where each decision function is zero."""
        n_lines = self.decision.shape[2]
        for k in range(n_lines):
            surface = self.decision[:, :, k]
            color = COLORS[k % len(COLORS)] if n_lines > 1 else CUT
            if surface.min() < 0 < surface.max():
                # the dark rim separates a line from points of the same color
                ax.contour(self.x, self.y, surface, [0], colors="0.15", linewidths=2.6, zorder=3)
                ax.contour(self.x, self.y, surface, [0], colors=color, linewidths=1.4, zorder=3)
        if n_lines == 1:
            ax.plot([], [], color=CUT, label="boundary")


def _mix_colors(memberships: Array) -> Array:
    """Mix the cluster colors by membership, (q, p, 3)."""
    from matplotlib.colors import to_rgb

    shares = memberships / memberships.sum(axis=2, keepdims=True)
    colors = [to_rgb(COLORS[k % len(COLORS)]) for k in range(shares.shape[2])]
    return np.asarray(1 - TINT * (1 - shares @ np.array(colors)))
