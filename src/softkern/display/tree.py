"""Plot the alpha tree."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

from softkern._utils.colors import CUT
from softkern.density_tree.layout import dendrogram
from softkern.density_tree.tree import AlphaTree
from softkern.display._base import Display
from softkern.fitted import fitted_step, level_of

SPLIT, JOIN = ("C3", 2.0), ("0.4", 1.0)  # color and width of a line


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
