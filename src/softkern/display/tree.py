"""The alpha tree as a picture."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils.validation import check_is_fitted

from softkern._colours import CUT
from softkern.display._base import Display, own_level


class AlphaTreeDisplay(Display):
    """The alpha tree: which clusters there are at every level of the cut.

    Parameters
    ----------
    tree : softkern.alpha_tree.tree.AlphaTree
    alpha : float, default=None
        Level to mark.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.
    """

    def __init__(self, tree: Any, *, alpha: float | None = None) -> None:
        self.tree = tree
        self.alpha = alpha

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **plot_options: Any) -> Self:
        """The tree of a fitted `AlphaCutClustering`, drawn, with its own level marked.

        Parameters
        ----------
        estimator : fitted model
            With `tree_`.
        ax : matplotlib Axes, default=None
        **plot_options
            Passed on to the tree's own `plot`.

        Returns
        -------
        display : AlphaTreeDisplay
        """
        check_is_fitted(estimator)
        if not hasattr(estimator, "tree_"):
            raise TypeError(
                f"{type(estimator).__name__} has no alpha tree; AlphaCutClustering has one."
            )
        display = cls(estimator.tree_, alpha=own_level(estimator))
        return display.plot(ax, **plot_options)

    def plot(self, ax: Any = None, **plot_options: Any) -> Self:
        """Draw; options go to the tree's own `plot`."""
        ax = self._axes(ax)
        self.tree.plot(ax, **plot_options)
        if self.alpha is not None:
            ax.axhline(self.alpha, color=CUT, linestyle="--", label=f"α = {self.alpha:.4g}")
            ax.legend(fontsize="small", frameon=False)
        return self
