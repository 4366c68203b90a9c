"""Boundaries of one-class machines over two features, with the memberships of their clusters."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from softkern._utils.colors import COLORS, CUT
from softkern._utils.typing import Array
from softkern.display._base import Plane, PlaneDisplay, light_grays, scatter_points

TINT = 0.45  # of a cluster's color, where its membership is one


class BoundaryDisplay(PlaneDisplay):
    """Boundary of every cluster, or of a detector, over two features.

    Lines are where a machine's decision function is zero. The ground of a clustering is tinted
    with its clusters' colors, mixed by memberships; that of a detector is the darker, the deeper
    inside.

    Parameters
    ----------
    x, y : arrays of shape (p,) and (q,)
        The grid's coordinates.
    decision : array of shape (q, p, c)
        Decision function of every machine on the grid; positive inside.
    memberships : array of shape (q, p, c), default=None
        Of the grid's points in every cluster; a detector has none.
    points : array of shape (n, 2), default=None
    labels : array of shape (n,), default=None
        Of the points; −1 is an outlier, drawn as a cross.
    names : pair of str, default=("feature 0", "feature 1")
    note : str, default=""
        Written into the corner.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import OneClassMixture
    >>> X, _ = make_blobs(100, centers=2, random_state=0)
    >>> model = OneClassMixture(n_clusters=2, nu=0.3).fit(X)
    >>> display = BoundaryDisplay.from_estimator(model, X)
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        decision: Array,
        *,
        memberships: Array | None = None,
        points: Array | None = None,
        labels: Array | None = None,
        names: tuple[str, str] = ("feature 0", "feature 1"),
        note: str = "",
    ) -> None:
        self.x = x
        self.y = y
        self.decision = decision
        self.memberships = memberships
        self.points = points
        self.labels = labels
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
        grid_resolution: int = 150,
        ax: Any = None,
        **plot_options: Any,
    ) -> Self:
        """What a fitted model decides on a grid over the range of X, drawn.

        Parameters
        ----------
        estimator : fitted model, or a pipeline that ends in one
            With `decision_function`: a one-class clustering or an outlier detector.
        X : array or DataFrame of shape (n, d)
            The data to draw; with more than two columns, the others stay at their medians.
        y : array of shape (n,), default=None
            Labels of X; by default those that `predict` gives.
        features : pair of int or str, default=(0, 1)
            The two columns, by number or by name.
        grid_resolution : int, default=150
            Points of the grid along each feature.
        ax : matplotlib Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        display : BoundaryDisplay
        """
        plane = Plane.of(estimator, X, features, grid_resolution)
        model = plane.model
        if not hasattr(model, "decision_function"):
            raise TypeError(f"{type(model).__name__} has no decision_function to draw.")
        decision = plane.surface(model.decision_function(plane.grid))
        memberships = None
        if decision.shape[2] > 1:
            memberships = plane.surface(model.memberships(plane.grid))
        display = cls(plane.x, plane.y, decision, memberships=memberships, **plane.drawn(y))
        return display.plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, legend: bool = True, size: float | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        legend : bool, default=True
        size : float, default=None
            Area of a point, as in matplotlib's scatter; by default the smaller, the more points.
        """
        ax = self._axes(ax)
        if self.memberships is None:
            depth = self.decision[:, :, 0]
            ax.contourf(self.x, self.y, depth, 12, cmap=light_grays(), zorder=0)
        else:
            extent = (self.x[0], self.x[-1], self.y[0], self.y[-1])
            ax.imshow(self._tints(), origin="lower", extent=extent, interpolation="bilinear")
        if self.points is not None:
            scatter_points(ax, self.points, self.labels, size)
        self._lines(ax)
        self._finish(ax, legend)
        return self

    def _tints(self) -> Array:
        """Colors of the ground, (q, p, 3): those of the clusters, mixed by memberships."""
        from matplotlib.colors import to_rgb

        assert self.memberships is not None
        share = self.memberships / self.memberships.sum(axis=2, keepdims=True)
        colors = [to_rgb(COLORS[k % len(COLORS)]) for k in range(share.shape[2])]
        return np.asarray(1 - TINT * (1 - share @ np.array(colors)))

    def _lines(self, ax: Any) -> None:
        """Where each machine's decision is zero."""
        n_machines = self.decision.shape[2]
        for k in range(n_machines):
            surface = self.decision[:, :, k]
            color = COLORS[k % len(COLORS)] if n_machines > 1 else CUT
            if surface.min() < 0 < surface.max():
                # a dark rim beneath keeps a line apart from points of its own color
                ax.contour(self.x, self.y, surface, [0], colors="0.15", linewidths=2.6, zorder=3)
                ax.contour(self.x, self.y, surface, [0], colors=color, linewidths=1.4, zorder=3)
        if n_machines == 1:
            ax.plot([], [], color=CUT, label="boundary")
