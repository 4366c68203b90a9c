"""What a fitted model says of some points, each part computed once, when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from softkern._utils.typing import Array
from softkern.rules.memberships import runner_up

__all__ = ["Reading"]

TIE = 16.0  # roundings by which two logarithms may differ and be the same


class Reading:
    """Labels, memberships, outlier and overlap scores of the same points, from one product.

    Parameters
    ----------
    **parts : callables
        What a model computes its own way, by the names of the attributes below.
        `log_memberships` (or `memberships`) and `outlier_scores` are needed.

    Attributes
    ----------
    log_memberships : array of shape (m, c)
        They do not underflow.
    memberships : array of shape (m, c)
    labels : array of shape (m,)
        The cluster of highest membership, also where all of them underflow.
    outlier_scores : array of shape (m,)
        The higher, the further out.
    overlap_scores : array of shape (m,)
        One where two clusters tie; by default the second largest membership over the largest.
    """

    def __init__(self, **parts: Callable[[], Array]) -> None:
        self._parts = parts

    @classmethod
    def known(cls, **parts: Array) -> Reading:
        """Of arrays that have been computed already."""
        return cls(**{name: partial(np.asarray, part) for name, part in parts.items()})

    @classmethod
    def fitted(cls, model: Any) -> Reading:
        """Of the rows of the fit, as the model's attributes have it."""
        names = ("labels", "memberships", "outlier_scores", "overlap_scores")
        return cls(**{name: partial(getattr, model, f"{name}_") for name in names})

    def _take(self, name: str, derive: Callable[[], Any]) -> Any:
        part: Callable[[], Any] = self._parts.get(name, derive)
        return part()

    @cached_property
    def scores(self) -> Array:
        """Of a detector's `score_samples`, (m,)."""
        return self._parts["scores"]()

    @cached_property
    def typicality(self) -> Array:
        """In the one cluster of all data, (m,), of a model that has one beside its clusters."""
        return self._parts["typicality"]()

    @cached_property
    def log_memberships(self) -> Array:
        """Logarithms of memberships, (m, c)."""
        return self._parts["log_memberships"]()

    @cached_property
    def memberships(self) -> Array:
        """Memberships, (m, c)."""
        return self._take("memberships", lambda: np.exp(self.log_memberships))

    @cached_property
    def labels(self) -> NDArray[np.intp]:
        """Clusters, (m,)."""
        return self._take("labels", lambda: _first_of_largest(self.log_memberships))

    @cached_property
    def outlier_scores(self) -> Array:
        """How far out, (m,)."""
        return self._parts["outlier_scores"]()

    @cached_property
    def overlap_scores(self) -> Array:
        """How far between clusters, (m,)."""
        return self._take("overlap_scores", self._ratio_of_memberships)

    def _ratio_of_memberships(self) -> Array:
        logs = self.log_memberships
        if logs.shape[1] < 2:
            return np.zeros(len(logs), dtype=logs.dtype)
        first, second = runner_up(logs)
        return np.exp(second - first)


def _first_of_largest(logs: Array) -> NDArray[np.intp]:
    """The first column that is the largest up to rounding, (m,): equal centers make ties."""
    if not logs.shape[1]:
        return np.argmax(logs, axis=1)
    least = logs.max(axis=1, keepdims=True) - TIE * np.finfo(logs.dtype).eps
    return np.argmax(logs >= least, axis=1)
