"""Plot the histogram of memberships and the alpha tree, with the levels that cut them."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np

from softkern._utils.colors import CUT
from softkern._utils.typing import Array
from softkern.density_tree.layout import dendrogram
from softkern.density_tree.tree import AlphaTree, histogram_valley
from softkern.display._base import Display, color_of
from softkern.fitted import fitted_step, histogram_bins, level_of, typicality_of

SPLIT, JOIN = ("C3", 2.0), ("0.4", 1.0)  # color and width of a line of the tree


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
                ax.hist(column, edges, histtype="step", color=color_of(k), label=f"cluster {k}")
        if self.valley:
            label = f"valley {self.valley:.4g}"
            ax.axvline(self.valley, color=color_of(0), linestyle="--", label=label)
        if self.alpha is not None:
            ax.axvline(self.alpha, color=CUT, label=f"α = {self.alpha:.4g}")
        ax.set(xlabel="membership", ylabel="samples")
        if ax.get_legend_handles_labels()[0]:
            ax.legend(fontsize="small", frameon=False)
        return self


@dataclass(eq=False, repr=False)
class AlphaTreeDisplay(Display):
    """Dendrogram of the alpha tree: the clusters at every level of the cut.

    Parameters
    ----------
    tree : softkern.density_tree.tree.AlphaTree
        The tree.
    alpha : float, default=None
        Level to mark.

    Attributes
    ----------
    ax_, figure_
        The matplotlib axes and figure.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softkern import AlphaCutClustering
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> display = AlphaTreeDisplay.from_estimator(AlphaCutClustering().fit(X))
    >>> display.ax_.get_xlabel()
    'branches'
    """

    tree: AlphaTree
    _: KW_ONLY
    alpha: float | None = None

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """Plot the tree of a fitted `AlphaCutClustering`, with its own level marked.

        Parameters
        ----------
        estimator : fitted model, or a pipeline that ends in one
            Must have `tree_`.
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.
        **plot_options
            Passed to `plot`.

        Returns
        -------
        display : AlphaTreeDisplay
            The display, already drawn.
        """
        model, _ = fitted_step(estimator)
        if not hasattr(model, "tree_"):
            raise TypeError(f"{type(model).__name__} has no alpha tree. Use AlphaCutClustering.")
        return cls(model.tree_, alpha=level_of(model)).plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, smallest: float = 0.01, threshold: float = 1.0) -> Self:
        """Draw the display; significant joins and the branches that they join are bold.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into. None creates a figure.
        smallest : float, default=0.01
            Branches with less than this share of the mass are drawn as part of their parent.
        threshold : float, default=1.0
            Significance from which a join is bold.

        Returns
        -------
        display : AlphaTreeDisplay
            The display itself.
        """
        ax = self._axes(ax)
        for line in dendrogram(self.tree, smallest, threshold):
            color, width = SPLIT if line.is_split else JOIN
            ax.plot([line.x0, line.x1], [line.y0, line.y1], color=color, linewidth=width)
        if self.alpha is not None:
            ax.axhline(self.alpha, color=CUT, linestyle="--", label=f"α = {self.alpha:.4g}")
            ax.legend(fontsize="small", frameon=False)
        ax.set(xticks=[], xlabel="branches", ylabel="α")
        return self
