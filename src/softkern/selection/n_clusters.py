"""Choose the number of clusters: `suggest_n_clusters`, and scorers for scikit-learn's searches.

`suggest_n_clusters` fits a fuzzy model with several numbers of clusters and tabulates the indices
of `softkern.metrics.validity`. `validity_scorer` returns the same indices as scorers, so that
`GridSearchCV` can search over bandwidths and exponents as well.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
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

# sign that makes higher values better, and the index as a function of operator, U, m and weight
INDICES: dict[str, tuple[int, Callable[..., float]]] = {
    "fuzzy_silhouette": (1, lambda operator, U, _, weight: fuzzy_silhouette(operator, U, weight)),
    "xie_beni": (-1, xie_beni),
    "partition_coefficient": (1, lambda _, U, m, weight: partition_coefficient(U, weight)),
    "partition_entropy": (-1, lambda _, U, m, weight: partition_entropy(U, weight)),
}
COINCIDENT = 1e3  # Xie–Beni index from which two centers coincide


def suggest_n_clusters(
    model: Any,
    X: Any,
    n_clusters_range: Iterable[int] = range(2, 11),
    *,
    criterion: str = "fuzzy_silhouette",
    sample_weight: Any = None,
) -> pd.DataFrame:
    """Fit a model with several numbers of clusters, compare the fits, and suggest one.

    The indices are computed in the feature space of the model's kernel. If there are more centers
    than clusters, some centers may coincide: the Xie–Beni index is then above a thousand, the fit
    emits a `CollapseWarning`, and it is not suggested.

    Parameters
    ----------
    model : FuzzyCMeans, OutlierFuzzyCMeans or similar
        Must have the parameter `n_clusters` and memberships that sum to one. It is cloned, not
        fitted.
    X : array, CSR matrix or DataFrame of shape (n_samples, n_features)
        The data.
    n_clusters_range : iterable of int, default=range(2, 11)
        Numbers of clusters to compare, each at least two.
    criterion : {"fuzzy_silhouette", "xie_beni", "partition_coefficient", "partition_entropy"}, \
default="fuzzy_silhouette"
        The index that decides. The last two favor few clusters.
    sample_weight : array of shape (n_samples,), default=None
        Weights of the samples. A weight of two counts a sample twice.

    Returns
    -------
    table : DataFrame
        One row per number of clusters (the index). Columns: `fuzzy_silhouette` (higher is better),
        `xie_beni` (lower), `partition_coefficient` (higher), `partition_entropy` (lower),
        `objective`, `m` (the exponent used, reduced if memberships would have collapsed),
        `converged`, and `suggested`, which is true for the best row, or for none if all fits have
        collapsed.

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

    numbers: list[int] = []
    for number in n_clusters_range:
        if not isinstance(number, Integral) or isinstance(number, bool) or number < 2:
            raise ValueError(f"n_clusters_range contains {number!r}. Use integers ≥ 2.")
        numbers.append(int(number))
    if not numbers:
        raise ValueError("n_clusters_range is empty. Use for example range(2, 8).")
    _check_index(criterion, "criterion")
    if "n_clusters" not in model.get_params(deep=False):
        raise TypeError(f"{model!r} has no parameter n_clusters.")
    _check_memberships(model)
    rows = []
    with stage("numbers of clusters", total=len(numbers)) as done:
        for number in numbers:
            fitted = clone(model).set_params(n_clusters=number).fit(X, sample_weight=sample_weight)
            operator, m = _operator(fitted, X), _exponent(fitted)
            row = {
                index: compute(operator, fitted.memberships_, m, sample_weight)
                for index, (_, compute) in INDICES.items()
            }
            row |= {"objective": fitted.objective_, "m": m, "converged": fitted.converged_}
            rows.append(row)
            done(len(rows))
    table = pd.DataFrame(rows, index=pd.Index(numbers, name="n_clusters"))
    values = INDICES[criterion][0] * table[criterion].to_numpy()
    # Samples of coinciding centers have equal memberships, which the silhouette ignores.
    is_valid = ~np.isnan(values) & (table.xie_beni.to_numpy() < COINCIDENT)
    best = np.where(is_valid, values, -np.inf).argmax()
    table["suggested"] = is_valid.any() & (np.arange(len(numbers)) == best)
    return table


def validity_scorer(index: str) -> Callable[..., float]:
    """Return a scorer for `GridSearchCV` that computes a validity index; higher is better.

    The model may be the last step of a pipeline. Each fold must contain samples of every cluster.
    If the data are sorted by cluster, use ``cv=KFold(shuffle=True, random_state=0)``, because the
    score may be NaN with the default folds.

    Parameters
    ----------
    index : {"fuzzy_silhouette", "xie_beni", "partition_coefficient", "partition_entropy"}
        A function of `softkern.metrics.validity`. The sign of the second and of the last is
        changed, because their low values are good.

    Returns
    -------
    scorer : callable
        ``scorer(estimator, X, y=None)`` returns a float.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from sklearn.model_selection import GridSearchCV
    >>> from softkern import FuzzyCMeans
    >>> X, _ = make_blobs(200, 2, centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> scorer = validity_scorer("fuzzy_silhouette")
    >>> GridSearchCV(FuzzyCMeans(), {"n_clusters": [2, 3, 4]}, scoring=scorer).fit(X).best_params_
    {'n_clusters': 3}
    """
    _check_index(index, "index")
    return partial(_score, index=index)


def _score(estimator: Any, X: Any, y: Any = None, *, index: str) -> float:
    while isinstance(estimator, Pipeline):
        if len(estimator) > 1:
            X = estimator[:-1].transform(X)
        estimator = estimator[-1]
    _check_memberships(estimator)
    memberships, operator = estimator.memberships(X), None
    if index in ("fuzzy_silhouette", "xie_beni"):
        if get_tags(estimator).input_tags.pairwise and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"{index} of held-out samples needs their kernel values with each other, which a "
                "precomputed kernel does not provide. Pass the samples and a kernel."
            )
        operator = _operator(estimator, X)
    sign, compute = INDICES[index]
    return sign * compute(operator, memberships, _exponent(estimator), None)


def _operator(estimator: Any, X: Any) -> Any:
    """Return the operator of the fitted model's kernel between the samples X, on its engine."""
    X = check_array(X, accept_sparse="csr", dtype=[np.float64, np.float32])
    return estimator.plan_.prediction_operator(X, estimator.kernel_)


def _exponent(estimator: Any) -> float:
    """Return the fuzzy exponent; two for models without one, as in Xie and Beni's paper."""
    return float(getattr(estimator, "m_", 2.0))


def _check_index(index: str, name: str) -> None:
    if index not in INDICES:
        raise ValueError(f"{name}={index!r} must be one of {list(INDICES)}.")


def _check_memberships(estimator: Any) -> None:
    if not getattr(estimator, "memberships_sum_to_one", False):
        raise TypeError(
            f"The memberships of {type(estimator).__name__} do not sum to one, which validity "
            "indices require. Use FuzzyCMeans or OutlierFuzzyCMeans."
        )
