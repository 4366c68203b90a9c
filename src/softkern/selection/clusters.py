"""How many clusters? Fits of several numbers side by side, and scorers for scikit-learn's searches.

`suggest_n_clusters` fits a fuzzy model once for every number and gives a table of the indices of
`softkern.metrics.validity`. The scorers give the same indices of any fitted model on any data, with
scikit-learn's signature ``(estimator, X, y=None)`` and higher for better, so that `GridSearchCV`
can compare bandwidths and exponents with numbers of clusters. A pipeline that ends in a model is
scored in the space the model sees.
"""

from __future__ import annotations

from collections.abc import Iterable
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array, get_tags

from softkern._utils.progress import stage
from softkern.metrics.validity import (
    fuzzy_silhouette,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "fuzzy_silhouette_scorer",
    "partition_coefficient_scorer",
    "partition_entropy_scorer",
    "suggest_n_clusters",
    "xie_beni_scorer",
]

# Whether more of an index is better.
CRITERIA = {
    "fuzzy_silhouette": True,
    "xie_beni": False,
    "partition_coefficient": True,
    "partition_entropy": False,
}
COINCIDENT = 1e3  # Xie–Beni index from which two centers are one


def suggest_n_clusters(
    model: Any,
    X: Any,
    n_clusters_range: Iterable[int] = range(2, 11),
    *,
    criterion: str = "fuzzy_silhouette",
    sample_weight: Any = None,
) -> pd.DataFrame:
    """Fit a model with several numbers of clusters, compare the fits, and suggest one.

    Indices are computed in the feature space of the model's kernel, through products K @ A only.
    Where there are more centers than groups, some may meet in one place: its Xie–Beni index is then
    beyond a thousand, its `CollapseWarning` comes through, and the fit is not suggested.

    Parameters
    ----------
    model : FuzzyCMeans, OutlierFuzzyCMeans or alike
        With the parameter `n_clusters` and `memberships_sum_to_one`. It is copied, not fitted.
    X : array, CSR matrix or DataFrame of shape (n, d)
    n_clusters_range : iterable of int, default=range(2, 11)
        Numbers to compare, each at least two.
    criterion : {"fuzzy_silhouette", "xie_beni", "partition_coefficient", "partition_entropy"}, \
default="fuzzy_silhouette"
        The index that decides. The last two favor few clusters.
    sample_weight : array of shape (n,), default=None
        A weight of two counts a row twice.

    Returns
    -------
    table : DataFrame
        One row a number (the index, `n_clusters`), columns `fuzzy_silhouette` (more is better),
        `xie_beni` (less), `partition_coefficient` (more), `partition_entropy` (less), `objective`,
        `m` (the exponent used, lower than asked where memberships would have collapsed),
        `converged`, and `suggested`, true in the one row of the best criterion; in none where all
        fits have collapsed.

    See Also
    --------
    softkern.selection.fuzzy_silhouette_scorer : The same index for `GridSearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import FuzzyCMeans
    >>> X, _ = make_blobs(200, 2, centers=[[0, 0], [8, 0], [0, 8], [8, 8]], random_state=0)
    >>> table = suggest_n_clusters(FuzzyCMeans(), X, range(2, 7))
    >>> table.index[table.suggested].tolist()
    [4]
    """
    import pandas as pd

    numbers = _checked_numbers(n_clusters_range)
    if criterion not in CRITERIA:
        raise ValueError(f"criterion={criterion!r} must be one of {list(CRITERIA)}.")
    if "n_clusters" not in model.get_params(deep=False):
        raise TypeError(f"{model!r} has no parameter n_clusters.")
    _check_shares(model)
    rows = []
    with stage("numbers of clusters", total=len(numbers)) as done:
        for number in numbers:
            fitted = clone(model).set_params(n_clusters=number).fit(X, sample_weight=sample_weight)
            row = _indices(fitted, _operator(fitted, X), fitted.memberships_, sample_weight)
            row |= {"objective": fitted.objective_, "m": _exponent(fitted)}
            rows.append(row | {"converged": fitted.converged_})
            done(len(rows))
    table = pd.DataFrame(rows, index=pd.Index(numbers, name="n_clusters"))
    values = table[criterion].to_numpy() * (1 if CRITERIA[criterion] else -1)
    # points of centers that coincide prefer none, and do not count in the silhouette
    is_sound = ~np.isnan(values) & (table.xie_beni.to_numpy() < COINCIDENT)
    best = np.where(is_sound, values, -np.inf).argmax()
    table["suggested"] = is_sound.any() & (np.arange(len(numbers)) == best)
    return table


def fuzzy_silhouette_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """`metrics.validity.fuzzy_silhouette` of a fitted model on X, for `GridSearchCV`.

    The model may be the last step of a pipeline. Folds must hold points of every group: with a
    table that is sorted by group, the default folds of `GridSearchCV` do not, and the score may be
    NaN; give ``cv=KFold(shuffle=True, random_state=0)``. This holds for all scorers here.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.model_selection import GridSearchCV
    >>> from softkern import FuzzyCMeans
    >>> X, _ = make_blobs(200, 2, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> grid = {"n_clusters": [2, 3, 4]}
    >>> search = GridSearchCV(FuzzyCMeans(), grid, scoring=fuzzy_silhouette_scorer).fit(X)
    >>> search.best_params_
    {'n_clusters': 3}
    """
    return _score(estimator, X, "fuzzy_silhouette")


def xie_beni_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """Minus `metrics.validity.xie_beni` of a fitted model on X, for `GridSearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import FuzzyCMeans
    >>> X, _ = make_blobs(200, 2, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> scores = [xie_beni_scorer(FuzzyCMeans(c).fit(X), X) for c in (2, 3, 4)]
    >>> scores.index(max(scores)) + 2
    3
    """
    return -_score(estimator, X, "xie_beni")


def partition_coefficient_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """`metrics.validity.partition_coefficient` of a fitted model on X, for `GridSearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import FuzzyCMeans
    >>> X, _ = make_blobs(200, 2, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> scores = [partition_coefficient_scorer(FuzzyCMeans(c).fit(X), X) for c in (2, 3, 4)]
    >>> scores.index(max(scores)) + 2
    3
    """
    return _score(estimator, X, "partition_coefficient")


def partition_entropy_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """Minus `metrics.validity.partition_entropy` of a fitted model on X, for `GridSearchCV`.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from softkern import FuzzyCMeans
    >>> X, _ = make_blobs(200, 2, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> scores = [partition_entropy_scorer(FuzzyCMeans(c).fit(X), X) for c in (2, 3, 4)]
    >>> scores.index(max(scores)) + 2
    3
    """
    return -_score(estimator, X, "partition_entropy")


def _score(estimator: Any, X: Any, index: str) -> float:
    while isinstance(estimator, Pipeline):
        if len(estimator) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator[-1]
    _check_shares(estimator)
    memberships = estimator.memberships(X)
    needs_pairs = index in ("fuzzy_silhouette", "xie_beni")
    if needs_pairs and get_tags(estimator).input_tags.pairwise and X.shape[0] != X.shape[1]:
        raise ValueError(
            f"{index} of points left out needs their kernel values with each other, which a "
            "precomputed kernel's rows do not hold; give the points and a kernel."
        )
    operator = _operator(estimator, X) if needs_pairs else None
    return _indices(estimator, operator, memberships, None)[index]


def _indices(
    estimator: Any, operator: Any, memberships: Any, sample_weight: Any
) -> dict[str, float]:
    found = {"fuzzy_silhouette": np.nan, "xie_beni": np.nan}
    if operator is not None:
        found["fuzzy_silhouette"] = fuzzy_silhouette(operator, memberships, sample_weight)
        found["xie_beni"] = xie_beni(operator, memberships, _exponent(estimator), sample_weight)
    found["partition_coefficient"] = partition_coefficient(memberships, sample_weight)
    found["partition_entropy"] = partition_entropy(memberships, sample_weight)
    return found


def _operator(estimator: Any, X: Any) -> Any:
    """Products with the fitted model's kernel between the rows of X, on its engine."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    return estimator.plan_.over(X, estimator.kernel_)


def _exponent(estimator: Any) -> float:
    """The fuzzy exponent; two, as Xie and Beni have it, for models without one."""
    return float(getattr(estimator, "m_", 2.0))


def _check_shares(estimator: Any) -> None:
    if not getattr(estimator, "memberships_sum_to_one", False):
        raise TypeError(
            f"{type(estimator).__name__}'s memberships do not sum to one, so these indices say "
            "nothing of them; use FuzzyCMeans or OutlierFuzzyCMeans."
        )


def _checked_numbers(n_clusters_range: Iterable[int]) -> list[int]:
    numbers = list(n_clusters_range)
    if not numbers:
        raise ValueError("n_clusters_range is empty; give numbers such as range(2, 8).")
    for number in numbers:
        if not isinstance(number, Integral) or isinstance(number, bool) or number < 2:
            raise ValueError(f"n_clusters_range holds {number!r}; numbers must be whole, ≥ 2.")
    return [int(number) for number in numbers]
