"""Plot the eigenspace of a spectral model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from softkern._utils.colors import COLORS
from softkern._utils.typing import Array
from softkern.display._base import Display, color_of, scatter_points, select_features
from softkern.fitted import fitted_step

OVERLAP, OUTLIER = "#C00000", "black"  # not used for clusters; overlap is red as in the paper
MAX_LINES = 60  # overlap points connected to the origin


@dataclass(eq=False, repr=False)
class EigenspaceDisplay(Display):
    """The eigenspace with prototypes, overlap points and outliers (2015's figures 1 and 2).

    Clusters are lines from the origin. Prototypes are drawn as long lines, overlap points lie
    between them, and outliers at the bias. Two clusters have one eigenvector, so the second axis
    is the mean similarity to the training samples.

    Parameters
    ----------
    points : array of shape (n_samples, 2)
        Two columns of the projections, or of the data.
    labels : array of shape (n_samples,)
        Labels of the samples.
    prototypes : array of shape (n_clusters, 2), or (n_clusters, 1) for two clusters
        Prototypes of the clusters, or an empty array.
    is_outlier, is_overlap : bool arrays of shape (n_samples,)
        Samples to mark.
    names : pair of str
        Labels of the axes.
    bias : array of shape (2,), default=None
        Bias of the two eigenvectors.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure.

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

    points: Array
    labels: Array
    prototypes: Array
    is_outlier: Array
    is_overlap: Array
    names: tuple[str, str]
    bias: Array | None = None

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
        """Plot a fitted spectral model.

        Parameters
        ----------
        estimator : fitted spectral model, or a pipeline that ends in one
            `SoftKernelSpectralClustering` or `KernelSpectralClustering`.
        X : array of shape (n_samples, n_features), default=None
            New samples. None uses the training samples. With ``space="input"``, the training
            samples, which a model does not store.
        columns : pair of int, default=(0, 1)
            Which eigenvectors, or which columns of X.
        space : {"eigen", "input"}, default="eigen"
            ``"input"`` draws columns of X with the same markers.
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.

        Returns
        -------
        display : EigenspaceDisplay
            The display, already drawn.
        """
        model, transform = fitted_step(estimator)
        if not hasattr(model, "projections_"):
            raise TypeError(f"{type(model).__name__} has no eigenspace. Use a spectral model.")
        if space not in {"eigen", "input"}:
            raise ValueError(f"space={space!r} must be 'eigen' or 'input'.")
        if space == "input":
            return cls._of_inputs(model, X, columns).plot(ax)
        if model.projections_.shape[1] == 0:
            raise ValueError(
                "a model with one cluster has no eigenspace. Use space='input' or n_clusters=2."
            )
        inputs = None if X is None else transform(X)
        projections = model.projections_ if X is None else model.projections(inputs)
        labels = model.labels_ if X is None else model.predict(inputs)
        bias = None
        if projections.shape[1] == 1:
            similarity = model.mean_similarity_ if X is None else model.mean_similarity(inputs)
            points = np.column_stack([projections[:, 0], similarity])
            prototypes = model.prototypes_
            names = ("e", "mean similarity to the training samples")
        else:
            pair = list(columns)
            if not all(0 <= c < projections.shape[1] for c in pair):
                raise ValueError(
                    f"columns={columns!r} must be two of the {projections.shape[1]} eigenvectors."
                )
            points, prototypes = projections[:, pair], model.prototypes_[:, pair]
            names = (f"$e^{{({columns[0] + 1})}}$", f"$e^{{({columns[1] + 1})}}$")
            bias = model.bias_[pair]
        is_outlier, is_overlap = model.detect(inputs)
        return cls(points, labels, prototypes, is_outlier, is_overlap, names, bias).plot(ax)

    @classmethod
    def _of_inputs(cls, model: Any, X: Any, columns: tuple[int, int]) -> Self:
        """Return the display of the training samples in their own features."""
        n_samples = model.projections_.shape[0]
        if X is None:
            raise ValueError("space='input' needs X, the training samples.")
        if np.shape(X)[0] != n_samples:
            raise ValueError(
                f"X has {np.shape(X)[0]} samples, but the model was fitted on {n_samples}. "
                "space='input' needs the training samples."
            )
        values = np.asarray(X, dtype=np.float64)
        pair, names = select_features(X, values, columns)
        is_outlier, is_overlap = model.detect()
        none = np.empty((0, 2))
        return cls(values[:, pair], model.labels_, none, is_outlier, is_overlap, names)

    def plot(self, ax: Any = None) -> Self:
        """Draw the display: samples by cluster, prototypes, overlap points and outliers.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.

        Returns
        -------
        display : EigenspaceDisplay
            The display itself.
        """
        ax = self._axes(ax)
        rest = ~(self.is_outlier | self.is_overlap)
        if rest.any():
            scatter_points(ax, self.points[rest], self.labels[rest], None)
        self._draw_prototypes(ax)
        style: dict[str, Any] = {"s": 26, "zorder": 4, "linewidths": 1.1}
        marks = (
            ("overlap", self.is_overlap, {"facecolors": "none", "edgecolors": OVERLAP}),
            ("outliers", self.is_outlier, {"marker": "x", "color": OUTLIER}),
        )
        for name, mask, look in marks:
            if mask.any():
                label = f"{name} ({int(mask.sum())})"
                ax.scatter(*self.points[mask].T, label=label, **look, **style)
        if self.bias is not None:
            ax.plot(*self.bias, "*", color="black", markersize=9, label="bias b", zorder=5)
        ax.set(xlabel=self.names[0], ylabel=self.names[1])
        handles, texts = ax.get_legend_handles_labels()
        entries = dict(zip(texts, handles, strict=True))
        if len(np.unique(self.labels)) > len(COLORS):  # no list of clusters with equal colors
            entries = {text: handle for text, handle in entries.items() if not text.isdigit()}
        if entries:
            ax.legend(entries.values(), entries, fontsize="small", frameon=False)
        return self

    def _draw_prototypes(self, ax: Any) -> None:
        if self.prototypes.shape[1] == 1:
            for k, place in enumerate(self.prototypes[:, 0]):
                ax.axvline(place, color=color_of(k), linewidth=1.6, zorder=3)
            return
        for k, end in enumerate(self.prototypes):
            ax.plot([0, end[0]], [0, end[1]], color=color_of(k), linewidth=1.8, zorder=3)
            ax.plot(*end, "D", color=color_of(k), mec="black", markersize=6, zorder=5)
        for end in self.points[self.is_overlap][: MAX_LINES if len(self.prototypes) else 0]:
            ax.plot([0, end[0]], [0, end[1]], color=OVERLAP, linewidth=0.4, alpha=0.6, zorder=1)
