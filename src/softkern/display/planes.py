"""Plot memberships, and the boundaries of one-class models, over two features."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from softkern._utils.colors import CUT
from softkern._utils.typing import Array
from softkern.display._base import Features, PlaneDisplay, color_of, light_grays, make_plane
from softkern.fitted import level_of, typicality_of

TINT = 0.45  # strength of a cluster's color where its membership is one


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

    memberships: Array
    _: KW_ONLY
    alpha: float | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: Features = (0, 1),
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
        model, grid, fields = make_plane(estimator, X, y, features, grid_resolution)
        typicality = typicality_of(model, grid)
        if typicality is None:
            raise TypeError(f"{type(model).__name__} has no memberships of new samples.")
        level = _default_level(model) if isinstance(alpha, str) else alpha
        surface = typicality[1].reshape(grid_resolution, grid_resolution, -1)
        return cls(memberships=surface, alpha=level, **fields).plot(ax, **plot_options)

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
        self._draw_points(ax, size)
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
                ax.contour(self.x, self.y, surface, lines, colors=color_of(k), linewidths=1.4)


def _default_level(model: Any) -> float | None:
    """Return the model's own level, or the one that rejects its share of outliers."""
    share, typicality = getattr(model, "contamination", None), typicality_of(model)
    if hasattr(model, "alpha_") or typicality is None or not isinstance(share, float):
        return level_of(model)
    return float(np.quantile(typicality[1], share))


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

    decision: Array
    _: KW_ONLY
    memberships: Array | None = None

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        features: Features = (0, 1),
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
        model, grid, fields = make_plane(estimator, X, y, features, grid_resolution)
        if not hasattr(model, "decision_function"):
            raise TypeError(f"{type(model).__name__} has no decision_function.")
        shape = (grid_resolution, grid_resolution, -1)
        fields["decision"] = np.asarray(model.decision_function(grid)).reshape(shape)
        if fields["decision"].shape[2] > 1:
            fields["memberships"] = np.asarray(model.memberships(grid)).reshape(shape)
        return cls(**fields).plot(ax, **plot_options)

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
        self._draw_points(ax, size)
        n_lines = self.decision.shape[2]
        for k in range(n_lines):  # where each decision function is zero
            surface = self.decision[:, :, k]
            color = color_of(k) if n_lines > 1 else CUT
            if surface.min() < 0 < surface.max():
                # the dark rim separates a line from points of the same color
                ax.contour(self.x, self.y, surface, [0], colors="0.15", linewidths=2.6, zorder=3)
                ax.contour(self.x, self.y, surface, [0], colors=color, linewidths=1.4, zorder=3)
        if n_lines == 1:
            ax.plot([], [], color=CUT, label="boundary")
        self._finish(ax, legend)
        return self


def _mix_colors(memberships: Array) -> Array:
    """Mix the cluster colors by membership, (q, p, 3)."""
    from matplotlib.colors import to_rgb

    shares = memberships / memberships.sum(axis=2, keepdims=True)
    colors = [to_rgb(color_of(k)) for k in range(shares.shape[2])]
    return np.asarray(1 - TINT * (1 - shares @ np.array(colors)))
