"""Laws that hold for every model on ordinary data, for any kernel, engine and dtype.

A case names the law and the fit. The law "holds" or is "broken". Fits that warn that they did not
converge, or that centers coincide, are skipped, because rounding may decide their results.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import softkern
from softkern.exceptions import (
    ApproximationWarning,
    CollapseWarning,
    ReseedWarning,
    SpectrumWarning,
)
from tests.fuzz.arrays import ENGINES, ESTIMATORS
from tests.fuzz.outcomes import classify_failure, classify_rejection, time_limit

CLOSE = 1e-5  # difference of memberships by rounding
MARGIN = 1e-4  # the same for one-class SVMs, whose margin is known to a millionth
COARSE = 1e-2  # the same in float32
RADIAL = ("rbf", "laplacian")
DISTANCE_LAWS = ("shift", "unit")  # for kernels of distances only
ONE_CLASS_SVMS = ("WeightedOneClassSVM", "WeightedSVDD")
UNCERTAIN = (
    ApproximationWarning,
    CollapseWarning,
    ConvergenceWarning,
    ReseedWarning,
    SpectrumWarning,
)


@dataclass(frozen=True)
class Case:
    """A law, and the fit on which it is tested."""

    law: str
    estimator: str
    kernel: str
    engine: str
    n: int
    d: int
    groups: int
    seed: int


class UncertainError(Exception):
    """A fit that warns of results that rounding may decide."""


def draw(seed: int) -> Case:
    """Draw the case of a seed."""
    rng = np.random.default_rng(seed)
    law, estimator = str(rng.choice(list(LAWS))), str(rng.choice(ESTIMATORS))
    kernel = "rbf" if rng.random() < 0.6 else str(rng.choice(["laplacian", "linear", "poly"]))
    if estimator in ("AutoClustering", "AlphaCutClustering") or law in DISTANCE_LAWS:
        kernel = kernel if kernel in RADIAL else "rbf"
    engine = "auto" if rng.random() < 0.6 else str(rng.choice(ENGINES[kernel]))
    engine = "auto" if engine == "nystroem" else engine  # it draws landmarks
    n, d = int(rng.integers(40, 121)), int(rng.integers(1, 13 if engine != "fourier" else 4))
    return Case(law, estimator, kernel, engine, n, d, int(rng.integers(1, 4)), seed)


def data(case: Case) -> Any:
    """Draw groups of different sizes, ten standard deviations apart."""
    rng = np.random.default_rng(case.seed)
    labels = rng.integers(case.groups, size=case.n)
    places = rng.permutation(case.groups)[:, None] * 10.0 * np.ones(case.d)
    return rng.normal(size=(case.n, case.d)) + places[labels]


def model(case: Case) -> Any:
    """Return the estimator of a case, with as many clusters as there are groups."""
    cls = getattr(softkern, case.estimator)
    params = {
        "kernel": case.kernel,
        "engine": case.engine,
        "n_clusters": max(case.groups, 2),
        "tol": 1e-10,
        "max_iter": 5000,
    }
    accepted = cls().get_params()
    if case.estimator in ("AutoClustering", *ONE_CLASS_SVMS):
        accepted = {"kernel", "engine"} & accepted.keys()
    return cls(**{name: value for name, value in params.items() if name in accepted})


def fit_case(case: Case, X: Any, weight: Any = None) -> Any:
    """Fit the model of a case, or raise an UncertainError."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = model(case).fit(X, sample_weight=weight)
    if any(issubclass(w.category, UNCERTAIN) for w in caught):
        raise UncertainError(str(caught[0].message))
    return result


def _difference(one: Any, two: Any, X: Any, Y: Any, allowed: float) -> str:
    """Describe how the results of two models differ on the same points X and Y."""
    allowed = max(allowed, MARGIN) if type(one).__name__ in ONE_CLASS_SVMS else allowed
    first, second = (np.sort(m.memberships(Z), axis=-1) for m, Z in ((one, X), (two, Y)))
    if first.shape != second.shape:
        return f"{first.shape[1:]} and {second.shape[1:]} clusters"
    largest = float(np.abs(first - second).max(initial=0))
    if largest > allowed:
        return f"memberships differ by {largest:.2g}"
    pairs = set(zip(one.predict(X).tolist(), two.predict(Y).tolist(), strict=True))
    sides = [{pair[side] for pair in pairs} for side in (0, 1)]
    is_certain = _is_certain(first, allowed)
    if is_certain and not len(pairs) == len(sides[0]) == len(sides[1]):
        return "the partitions differ"
    return ""


def _is_certain(memberships: Any, allowed: float) -> bool:
    """Whether every point is so far from the boundaries that rounding cannot change its label."""
    if memberships.ndim == 1 or memberships.shape[1] < 2:
        return False
    return bool((memberships[:, -1] - memberships[:, -2]).min() > 10 * allowed)


def _weights(case: Case) -> str:
    X, rng = data(case), np.random.default_rng(case.seed + 1)
    counts = rng.integers(0, 4, case.n) + (np.arange(case.n) < 3)
    repeated = fit_case(case, np.repeat(X, counts, axis=0))
    return _difference(fit_case(case, X, counts), repeated, X, X, CLOSE)


def _order(case: Case) -> str:
    X = data(case)
    order = np.random.default_rng(case.seed + 1).permutation(case.n)
    return _difference(fit_case(case, X), fit_case(case, X[order]), X, X, CLOSE)


def _file(case: Case) -> str:
    X = data(case)
    one = fit_case(case, X)
    with tempfile.TemporaryDirectory() as folder:
        softkern.save(one, Path(folder) / "model.safetensors")
        two = softkern.load(Path(folder) / "model.safetensors")
    names = ("predict", "memberships", "outlier_scores", "overlap_scores")
    for name in (name for name in names if hasattr(one, name)):
        if not np.array_equal(getattr(one, name)(X), getattr(two, name)(X)):
            return f"{name} differs"
    return ""


def _unit(case: Case) -> str:
    X = data(case)
    unit = 2.0 ** np.random.default_rng(case.seed + 1).integers(-30, 31)
    return _difference(fit_case(case, X), fit_case(case, X * unit), X, X * unit, CLOSE)


def _shift(case: Case) -> str:
    X = np.round(data(case), 3)
    shift = np.random.default_rng(case.seed + 1).integers(-200, 201, case.d)
    return _difference(fit_case(case, X), fit_case(case, X + shift), X, X + shift, CLOSE)


def _digits(case: Case) -> str:
    X = data(case).astype(np.float32)
    if case.estimator in ("AutoClustering", "AlphaCutClustering") or case.groups == 1:
        raise UncertainError("whether a group is split may be chance")
    return _difference(fit_case(case, X.astype(np.float64)), fit_case(case, X), X, X, COARSE)


def _training(case: Case) -> str:
    X = data(case)
    one = fit_case(case, X)
    largest = float(np.abs(one.memberships(X) - one.memberships_).max(initial=0))
    if largest > CLOSE:
        return f"memberships of training points differ by {largest:.2g}"
    is_same = np.array_equal(one.predict(X), getattr(one, "labels_", one.predict(X)))
    return "" if is_same else "predict(X) differs from labels_"


def _nested(case: Case) -> str:
    """Clusters at a higher level lie within those at a lower level."""
    X = data(case)
    one = softkern.AlphaCutClustering(engine=case.engine).fit(X)
    levels = np.sort(np.random.default_rng(case.seed + 1).uniform(0, 1, 6))
    before = one.labels_at(levels[0])
    for level in levels[1:]:
        labels = one.labels_at(level)
        inside = labels >= 0
        if (before[inside] < 0).any():
            return "a point is noise at a lower level only"
        if len(set(zip(labels[inside], before[inside], strict=True))) > labels.max(initial=-1) + 1:
            return "a cluster lies in two clusters of the level below"
        before = labels
    return ""


def _share(case: Case) -> str:
    """At most a share ν of the training rows lies outside the margin, apart from ties."""
    rng = np.random.default_rng(case.seed + 1)
    nu, X = float(rng.uniform(0.05, 0.6)), data(case)
    kind = softkern.WeightedSVDD if rng.random() < 0.5 else softkern.WeightedOneClassSVM
    one = kind(nu=nu, kernel=case.kernel, threshold="margin").fit(X)
    scores = one.decision_function(X)
    outside = int((scores < -1e-6 * np.abs(scores).max()).sum())
    return "" if outside <= nu * case.n + 1e-6 else f"{outside} of {case.n} outside at ν = {nu:.3f}"


LAWS: dict[str, Callable[[Case], str]] = {
    "weights": _weights,
    "order": _order,
    "file": _file,
    "unit": _unit,
    "shift": _shift,
    "digits": _digits,
    "training": _training,
    "nested": _nested,
    "share": _share,
}


def outcome(case: Case) -> tuple[str, str]:
    """Test the law of a case."""
    try:
        with time_limit(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = LAWS[case.law](case)
    except UncertainError as error:
        return "rejected", str(error)
    except ValueError as error:
        return classify_rejection(error)
    except Exception as error:
        return classify_failure(error)
    if problem:
        return "broken", f"{case.law} {case.estimator} {case.kernel}: {problem}"
    return "holds", ""
