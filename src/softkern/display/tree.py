"""The alpha tree as a picture."""

from __future__ import annotations

from typing import Any, Self

from softkern._utils.colors import CUT
from softkern.density_tree.layout import dendrogram
from softkern.density_tree.tree import AlphaTree
from softkern.display._base import Display
from softkern.fitted import fitted_step, level_of

SPLIT, JOIN = ("C3", 2.0), ("0.4", 1.0)  # color and width of a line


class AlphaTreeDisplay(Display):
    """The alpha tree as a dendrogram: which clusters there are at every level of the cut.

    Parameters
    ----------
    tree : softkern.density_tree.tree.AlphaTree
    alpha : float, default=None
        Level to mark.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from softkern import AlphaCutClustering
    >>> X, _ = make_moons(200, noise=0.05, random_state=0)
    >>> display = AlphaTreeDisplay.from_estimator(AlphaCutClustering().fit(X))
    >>> display.ax_.get_xlabel()
    'branches'
    """

    def __init__(self, tree: AlphaTree, *, alpha: float | None = None) -> None:
        self.tree = tree
        self.alpha = alpha

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """The tree of a fitted `AlphaCutClustering`, drawn, with its own level marked.

        Parameters
        ----------
        estimator : fitted model, or a pipeline that ends in one
            With `tree_`.
        ax : matplotlib Axes, default=None
        **plot_options
            Passed on to `plot`.

        Returns
        -------
        display : AlphaTreeDisplay
        """
        model, _ = fitted_step(estimator)
        if not hasattr(model, "tree_"):
            raise TypeError(
                f"{type(model).__name__} has no alpha tree; AlphaCutClustering has one."
            )
        return cls(model.tree_, alpha=level_of(model)).plot(ax, **plot_options)

    def plot(self, ax: Any = None, *, smallest: float = 0.01, threshold: float = 1.0) -> Self:
        """Draw; significant joins and the branches that they join are bold.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
        smallest : float, default=0.01
            A branch that holds less than this share of the mass is drawn as a part of what it
            joins.
        threshold : float, default=1.0
            Significance from which a join is drawn bold.
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
