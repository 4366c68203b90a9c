"""Spectral clusterings as pictures: the eigenspace, and the strength over k and bandwidth."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from softkern._utils.colors import COLORS
from softkern._utils.typing import Array
from softkern.display._base import Display, scatter_points
from softkern.fitted import fitted_step

__all__ = ["AMSDisplay", "EigenspaceDisplay"]

OVERLAP, OUTLIER = "#C00000", "black"  # the paper draws them red; no cluster has these
LINES = 60  # projections drawn as lines at most


class EigenspaceDisplay(Display):
    """The eigenspace with prototypes, overlap and outlier points (2015's figures 1 and 2).

    Clusters are lines from the origin; prototypes are drawn as long lines, overlap points lie
    between them, outliers at the bias. With two clusters, whose projections have one column, the
    mean similarity to the training points is the second axis; with more than three, the two
    columns given.

    Parameters
    ----------
    points : array of shape (n, 2)
        What is drawn of the projections.
    labels : array of shape (n,)
    prototypes : array of shape (k, 2), or (k, 1) for two clusters
    is_outlier, is_overlap : bool arrays of shape (n,)
    names : tuple of str
        Of the axes.
    bias : array of shape (2,), default=None

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from softkern import SoftKernelSpectralClustering
    >>> X, _ = make_circles(200, noise=0.04, factor=0.4, random_state=0)
    >>> model = SoftKernelSpectralClustering(2).fit(X)
    >>> display = EigenspaceDisplay.from_estimator(model, X)
    >>> display.points.shape
    (200, 2)
    """

    def __init__(
        self,
        points: Array,
        labels: Array,
        prototypes: Array,
        is_outlier: Array,
        is_overlap: Array,
        names: tuple[str, str],
        bias: Array | None = None,
    ) -> None:
        self.points = points
        self.labels = labels
        self.prototypes = prototypes
        self.is_outlier = is_outlier
        self.is_overlap = is_overlap
        self.names = names
        self.bias = bias

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        columns: tuple[int, int] = (0, 1),
        space: str = "eigen",
        ax: Any = None,
    ) -> Self:
        """Draw a fitted spectral model.

        Parameters
        ----------
        estimator : fitted SoftKernelSpectralClustering or KernelSpectralClustering
            Or a pipeline that ends in one.
        X : array of shape (n, d), default=None
            New points; without it, the points of the fit. With ``space="input"``, the points of
            the fit, which a model does not keep.
        columns : tuple of two int, default=(0, 1)
            Which eigenvectors, or which columns of X.
        space : {"eigen", "input"}, default="eigen"
            ``"input"`` draws columns of X with the same marks.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : EigenspaceDisplay
        """
        estimator, before = fitted_step(estimator)
        if not hasattr(estimator, "projections_"):
            raise TypeError(f"{type(estimator).__name__} has no eigenspace; spectral models have.")
        if space not in {"eigen", "input"}:
            raise ValueError(f"space={space!r} is unknown; give 'eigen' or 'input'.")
        if space == "input" and X is None:
            raise ValueError("space='input' draws columns of X; give X.")
        if space == "input" and np.shape(X)[0] != estimator.projections_.shape[0]:
            raise ValueError(
                f"X has {np.shape(X)[0]} rows, but the model was fitted on "
                f"{estimator.projections_.shape[0]}; space='input' draws the points of the fit."
            )
        if space == "eigen" and estimator.projections_.shape[1] == 0:
            raise ValueError(
                "a model of one cluster has no eigenspace; use space='input', or n_clusters=2."
            )
        new = None if space == "input" or X is None else before(X)
        projections = estimator.projections_ if new is None else estimator.projections(new)
        labels = estimator.labels_ if new is None else estimator.predict(new)
        is_outlier, is_overlap = estimator.detect(new)
        if space == "input":
            values = np.asarray(X, dtype=np.float64)
            _check_columns(columns, values.shape[1], "columns of X")
            named = list(getattr(X, "columns", []))
            one, two = (str(named[c]) if named else f"feature {c}" for c in columns)
            names = one, two
            nothing = np.empty((0, 2))
            chosen = values[:, list(columns)]
            return cls(chosen, labels, nothing, is_outlier, is_overlap, names).plot(ax)
        if projections.shape[1] == 1:
            similarity = (
                estimator.mean_similarity_ if new is None else estimator.mean_similarity(new)
            )
            points = np.column_stack([projections[:, 0], similarity])
            names = ("e", "mean similarity to the training points")
            ends = estimator.prototypes_
            return cls(points, labels, ends, is_outlier, is_overlap, names).plot(ax)
        _check_columns(columns, projections.shape[1], "eigenvectors")
        pair = list(columns)
        return cls(
            projections[:, pair],
            labels,
            estimator.prototypes_[:, pair],
            is_outlier,
            is_overlap,
            (f"$e^{{({columns[0] + 1})}}$", f"$e^{{({columns[1] + 1})}}$"),
            estimator.bias_[pair],
        ).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw: points by cluster, prototypes, overlap points as rings, outliers as crosses."""
        ax = self._axes(ax)
        rest = ~(self.is_outlier | self.is_overlap)
        if rest.any():
            scatter_points(ax, self.points[rest], self.labels[rest], None)
        self._draw_prototypes(ax)
        style = {"s": 26, "zorder": 4}
        if self.is_overlap.any():
            ax.scatter(
                *self.points[self.is_overlap].T,
                facecolors="none",
                edgecolors=OVERLAP,
                linewidths=1.1,
                label=f"overlap ({int(self.is_overlap.sum())})",
                **style,
            )
        if self.is_outlier.any():
            ax.scatter(
                *self.points[self.is_outlier].T,
                marker="x",
                color=OUTLIER,
                linewidths=1.1,
                label=f"outliers ({int(self.is_outlier.sum())})",
                **style,
            )
        if self.bias is not None:
            ax.plot(*self.bias, "*", color="black", markersize=9, label="bias b", zorder=5)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        handles, texts = ax.get_legend_handles_labels()
        is_long = len(np.unique(self.labels)) > len(COLORS)  # then clusters are left out of it
        kept = [i for i, text in enumerate(texts) if not (is_long and text.isdigit())]
        if kept:
            entries = [handles[i] for i in kept], [texts[i] for i in kept]
            ax.legend(*entries, fontsize="small", frameon=False)
        return self

    def _draw_prototypes(self, ax: Any) -> None:
        if not len(self.prototypes):
            return
        if self.prototypes.shape[1] == 1:
            for k, place in enumerate(self.prototypes[:, 0]):
                ax.axvline(place, color=COLORS[k % len(COLORS)], linewidth=1.6, zorder=3)
            return
        for k, end in enumerate(self.prototypes):
            color = COLORS[k % len(COLORS)]
            ax.plot([0, end[0]], [0, end[1]], color=color, linewidth=1.8, zorder=3)
            ax.plot(*end, "D", color=color, markeredgecolor="black", markersize=6, zorder=5)
        for end in self.points[self.is_overlap][:LINES]:
            ax.plot([0, end[0]], [0, end[1]], color=OVERLAP, linewidth=0.4, alpha=0.6, zorder=1)


class AMSDisplay(Display):
    """Average membership strength over numbers of clusters and bandwidths, local maxima marked.

    Parameters
    ----------
    strength : array of shape (K, S)
    n_clusters_range : array of shape (K,)
    names : list of S str
        Of the bandwidths.
    is_maximum : bool array of shape (K, S)
    best : pair of int
        Place of the pair that was taken.
    axis : str, default="bandwidth"
        What the names are.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern.selection import select_spectral
    >>> X, _ = make_blobs(150, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> display = AMSDisplay.from_results(select_spectral(X, n_clusters_range=range(2, 5)))
    >>> display.ax_.get_ylabel()
    'number of clusters'
    """

    def __init__(
        self,
        strength: Array,
        n_clusters_range: Array,
        names: list[str],
        is_maximum: Array,
        best: tuple[int, int],
        axis: str = "bandwidth",
    ) -> None:
        self.axis = axis
        self.strength = strength
        self.n_clusters_range = n_clusters_range
        self.names = names
        self.is_maximum = is_maximum
        self.best = best

    @classmethod
    def from_results(cls, results: Any, *, ax: Any = None) -> Self:
        """Draw the results of `softkern.selection.select_spectral`, or a model's `search_`.

        Parameters
        ----------
        results : SpectralSearch
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : AMSDisplay
        """
        place = results.best_place  # raises where nothing was found
        names = [_bandwidth_name(b, results.bandwidths) for b in results.bandwidths]
        is_number = all(np.ndim(b) == 0 for b in results.bandwidths)
        axis = "bandwidth" if is_number else "bandwidth, as a share of the widest"
        numbers = results.n_clusters_range
        return cls(results.strength, numbers, names, results.is_maximum, place, axis).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw the surface as an image; the pair taken has a star, other maxima a ring."""
        ax = self._axes(ax)
        shown = np.ma.masked_invalid(self.strength)
        image = ax.imshow(shown, origin="lower", aspect="auto", cmap="viridis", vmin=0, vmax=1)
        ax.figure.colorbar(image, ax=ax, label="average membership strength")
        ax.set_xticks(range(len(self.names)), self.names, rotation=45, ha="right")
        numbers = self.n_clusters_range
        ax.set_yticks(range(len(numbers)), [str(k) for k in numbers])
        best = self.best
        for i, j in np.argwhere(self.is_maximum):
            if (i, j) != best:
                ax.plot(j, i, "o", markerfacecolor="none", markeredgecolor="white")
        ax.plot(best[1], best[0], "*", color="white", markeredgecolor="black", markersize=14)
        ax.set(xlabel=self.axis, ylabel="number of clusters")
        return self


def _check_columns(columns: Sequence[int], count: int, what: str) -> None:
    if len(columns) != 2 or not all(0 <= c < count for c in columns):
        raise ValueError(f"columns={columns!r} must be two of the {count} {what}.")


def _bandwidth_name(bandwidth: Any, others: list[Any]) -> str:
    """A number, or, where there is one per column, the multiple of the last of the grid."""
    if bandwidth is None:
        return "–"
    if np.ndim(bandwidth) == 0:
        return f"{float(bandwidth):.3g}"
    widest = np.asarray(others[-1], dtype=np.float64)
    return f"{float(np.exp(np.mean(np.log(np.asarray(bandwidth) / widest)))):.2g}"
