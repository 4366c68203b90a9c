"""How steady detectors are, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from softkern._utils.colors import COLORS
from softkern._utils.typing import Array
from softkern.display._base import Display


class StabilityDisplay(Display):
    """Box plots of stability scores, one box a detector.

    Parameters
    ----------
    scores : dict of str to array
        Jaccard's coefficient of every draw, by the detector's name.
    chance : float, default=None
        What a detector that knows nothing would get.

    Attributes
    ----------
    ax_, figure_
        What was drawn into.

    Examples
    --------
    >>> from sklearn.neighbors import KernelDensity
    >>> from softkern.datasets import make_gaussian_outliers
    >>> from softkern.selection import stability_score
    >>> X, _ = make_gaussian_outliers(random_state=0)
    >>> results = {f"bandwidth {b}": stability_score(KernelDensity(bandwidth=b), X, n_draws=5)
    ...            for b in (0.5, 1)}
    >>> display = StabilityDisplay.from_results(results)
    """

    def __init__(self, scores: Mapping[str, Array], *, chance: float | None = None) -> None:
        self.scores = dict(scores)
        self.chance = chance

    @classmethod
    def from_results(cls, results: Mapping[str, Any], *, ax: Any = None) -> Self:
        """Draw results of `softkern.stability_score` by name.

        Parameters
        ----------
        results : dict of str to StabilityResult
            Or to arrays of scores.
        ax : matplotlib Axes, default=None

        Returns
        -------
        display : StabilityDisplay
        """
        if not results:
            raise ValueError("there are no results to draw.")
        scores = {name: np.asarray(getattr(r, "scores", r)) for name, r in results.items()}
        levels = {getattr(result, "chance", None) for result in results.values()}
        return cls(scores, chance=levels.pop() if len(levels) == 1 else None).plot(ax)

    def plot(self, ax: Any = None) -> Self:
        """Draw, the first name at the top."""
        ax = self._axes(ax)
        names = list(self.scores)
        parts = ax.boxplot(
            [self.scores[name] for name in names],
            orientation="horizontal",
            tick_labels=names,
            patch_artist=True,
            widths=0.6,
            medianprops={"color": "black", "linewidth": 1.6},
            flierprops={"marker": ".", "markersize": 4, "markeredgecolor": "0.4"},
        )
        for k, box in enumerate(parts["boxes"]):
            box.set(facecolor=COLORS[k % len(COLORS)], alpha=0.75)
        if self.chance is not None:
            ax.axvline(self.chance, color="0.4", linestyle=":", label="chance")
            ax.legend(fontsize="small", frameon=False)
        ax.set(xlabel="Jaccard coefficient of the outliers found", xlim=(-0.02, 1.02))
        ax.invert_yaxis()
        return self
