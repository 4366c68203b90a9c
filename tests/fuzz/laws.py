"""Laws that hold for every model on ordinary data, whatever the kernel, the engine and the dtype.

A case names the law and the fit; a law "holds", or is "broken" by so much. A fit that says itself
that it did not come to rest, or that centers coincide, is not asked: there rounding decides.
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
from tests.fuzz.outcomes import failed, limited, refused

CLOSE = 1e-5  # of memberships, where only rounding differs
MARGIN = 1e-4  # of machines: a margin known to a millionth is as much of the width of ½
COARSE = 1e-2  # where half of the digits are left out
RADIAL = ("rbf", "laplacian")
OF_DISTANCES = ("shift", "unit")  # laws of kernels that know distances alone
MACHINES = ("WeightedOneClassSVM", "WeightedSVDD")
UNSURE = (
    ApproximationWarning,
    CollapseWarning,
    ConvergenceWarning,
    ReseedWarning,
    SpectrumWarning,
)


@dataclass(frozen=True)
class Case:
    """A law, and the fit that it is tried on."""

    law: str
    estimator: str
    kernel: str
    engine: str
    n: int
    d: int
    groups: int
    seed: int


class UnsureError(Exception):
    """A fit that says of itself that rounding may decide."""


def draw(seed: int) -> Case:
    """The case of a seed."""
    rng = np.random.default_rng(seed)
    law, estimator = str(rng.choice(list(LAWS))), str(rng.choice(ESTIMATORS))
    kernel = "rbf" if rng.random() < 0.6 else str(rng.choice(["laplacian", "linear", "poly"]))
    if estimator in ("AutoClustering", "AlphaCutClustering") or law in OF_DISTANCES:
        kernel = kernel if kernel in RADIAL else "rbf"
    engine = "auto" if rng.random() < 0.6 else str(rng.choice(ENGINES[kernel]))
    engine = "auto" if engine == "nystroem" else engine  # it draws landmarks
    n, d = int(rng.integers(40, 121)), int(rng.integers(1, 13 if engine != "fourier" else 4))
    return Case(law, estimator, kernel, engine, n, d, int(rng.integers(1, 4)), seed)


def data(case: Case) -> Any:
    """Groups of different sizes, ten spreads apart."""
    rng = np.random.default_rng(case.seed)
    labels = rng.integers(case.groups, size=case.n)
    places = rng.permutation(case.groups)[:, None] * 10.0 * np.ones(case.d)
    return rng.normal(size=(case.n, case.d)) + places[labels]


def model(case: Case) -> Any:
    """The estimator of a case, with as many clusters as there are groups."""
    cls = getattr(softkern, case.estimator)
    wanted = {
        "kernel": case.kernel,
        "engine": case.engine,
        "n_clusters": max(case.groups, 2),
        "tol": 1e-10,
        "max_iter": 5000,
    }
    known = cls().get_params()
    tuned = {} if case.estimator in ("AutoClustering", *MACHINES) else wanted
    fixed = {name: wanted[name] for name in ("kernel", "engine")}
    return cls(**{name: value for name, value in (fixed | tuned).items() if name in known})


def fitted(case: Case, X: Any, weight: Any = None) -> Any:
    """The fit, or an UnsureError."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        found = model(case).fit(X, sample_weight=weight)
    if any(issubclass(w.category, UNSURE) for w in heard):
        raise UnsureError(str(heard[0].message))
    return found


def _apart(one: Any, two: Any, X: Any, Y: Any, most: float) -> str:
    """By how much two models differ in what they say of the same points, X and Y."""
    most = max(most, MARGIN) if type(one).__name__ in MACHINES else most
    first, second = (np.sort(m.memberships(Z), axis=-1) for m, Z in ((one, X), (two, Y)))
    if first.shape != second.shape:
        return f"{first.shape[1:]} and {second.shape[1:]} clusters"
    largest = float(np.abs(first - second).max(initial=0))
    if largest > most:
        return f"memberships differ by {largest:.2g}"
    pairs = set(zip(one.predict(X).tolist(), two.predict(Y).tolist(), strict=True))
    sides = [{pair[side] for pair in pairs} for side in (0, 1)]
    is_sure = _is_sure(first, most)
    if is_sure and not len(pairs) == len(sides[0]) == len(sides[1]):
        return "the partitions differ"
    return ""


def _is_sure(memberships: Any, most: float) -> bool:
    """Whether no point is so near to a boundary that rounding may move it across."""
    if memberships.ndim == 1 or memberships.shape[1] < 2:
        return False
    return bool((memberships[:, -1] - memberships[:, -2]).min() > 10 * most)


def _weights(case: Case) -> str:
    X, rng = data(case), np.random.default_rng(case.seed + 1)
    counts = rng.integers(0, 4, case.n) + (np.arange(case.n) < 3)
    repeated = fitted(case, np.repeat(X, counts, axis=0))
    return _apart(fitted(case, X, counts), repeated, X, X, CLOSE)


def _order(case: Case) -> str:
    X = data(case)
    order = np.random.default_rng(case.seed + 1).permutation(case.n)
    return _apart(fitted(case, X), fitted(case, X[order]), X, X, CLOSE)


def _file(case: Case) -> str:
    X = data(case)
    one = fitted(case, X)
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
    return _apart(fitted(case, X), fitted(case, X * unit), X, X * unit, CLOSE)


def _shift(case: Case) -> str:
    X = np.round(data(case), 3)
    shift = np.random.default_rng(case.seed + 1).integers(-200, 201, case.d)
    return _apart(fitted(case, X), fitted(case, X + shift), X, X + shift, CLOSE)


def _digits(case: Case) -> str:
    X = data(case).astype(np.float32)
    if case.estimator in ("AutoClustering", "AlphaCutClustering") or case.groups == 1:
        raise UnsureError("a group is cut, or not, by what may be chance")
    return _apart(fitted(case, X.astype(np.float64)), fitted(case, X), X, X, COARSE)


def _training(case: Case) -> str:
    X = data(case)
    one = fitted(case, X)
    largest = float(np.abs(one.memberships(X) - one.memberships_).max(initial=0))
    if largest > CLOSE:
        return f"memberships of training points differ by {largest:.2g}"
    is_same = np.array_equal(one.predict(X), getattr(one, "labels_", one.predict(X)))
    return "" if is_same else "predict(X) differs from labels_"


def _nested(case: Case) -> str:
    """Clusters of a higher level lie within those of a lower one."""
    X = data(case)
    one = softkern.AlphaCutClustering(engine=case.engine).fit(X)
    levels = np.sort(np.random.default_rng(case.seed + 1).uniform(0, 1, 6))
    before = one.labels_at(levels[0])
    for level in levels[1:]:
        labels = one.labels_at(level)
        inside = labels >= 0
        if (before[inside] < 0).any():
            return "a point is in a cluster above a level at which it is in none"
        if len(set(zip(labels[inside], before[inside], strict=True))) > labels.max(initial=-1) + 1:
            return "a cluster is part of two below"
        before = labels
    return ""


def _share(case: Case) -> str:
    """At most ν of the training rows lie outside a machine's margin, but for ties on it."""
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
    """Whether the law holds."""
    try:
        with limited(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            said = LAWS[case.law](case)
    except UnsureError as error:
        return "refused", str(error)
    except ValueError as error:
        return refused(error)
    except Exception as error:
        return failed(error)
    return (
        ("broken", f"{case.law} {case.estimator} {case.kernel}: {said}") if said else ("holds", "")
    )
