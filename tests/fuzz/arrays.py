"""Extreme arrays: a seed determines the fit, and the outcome is one word.

A case consists of a few names and numbers, so that one that failed can be stored as one line of a
file and reproduced. The outcome is "fitted" or "rejected" (with a clear message), or the problem.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import softkern
from softkern.models.state import from_state, to_state
from tests.fuzz.outcomes import PASSED, classify_failure, classify_rejection, time_limit
from tests.golden.make import MODELS

ESTIMATORS = list(MODELS)
ENGINES = {  # engines that support the kernel
    "rbf": ["blocked", "dense", "fourier", "nystroem", "tiled"],
    "laplacian": ["blocked", "dense", "nystroem", "tiled"],
    "linear": ["dense", "features"],
    "poly": ["blocked", "dense", "nystroem"],
    "cosine": ["dense", "features"],
}
RULES = ["auto", "boundary", "global", "knn", "loo", "median", "scott", "tree", "within"]
METHODS = ("memberships", "outlier_scores", "overlap_scores", "decision_function")
RESULTS = ("labels_", "memberships_", "outlier_scores_", "overlap_scores_", "dual_coef_")


@dataclass(frozen=True)
class Case:
    """One fit, described by names and numbers."""

    estimator: str
    values: str
    weights: str
    dtype: str
    n: int
    d: int
    kernel: str
    engine: str
    bandwidth: str | float
    seed: int


def _normal(rng: np.random.Generator, n: int, d: int) -> Any:
    return rng.normal(size=(n, d))


def _far_point(rng: np.random.Generator, n: int, d: int) -> Any:
    X = _normal(rng, n, d)
    X[rng.integers(n)] = 10.0 ** rng.integers(3, 17)
    return X


def _one_huge(rng: np.random.Generator, n: int, d: int) -> Any:
    X = _normal(rng, n, d)
    X[rng.integers(n), rng.integers(d)] = rng.choice([1e100, 1e154, 1e200, 1e300, -1e308])
    return X


def _mixed_scales(rng: np.random.Generator, n: int, d: int) -> Any:
    return _normal(rng, n, d) * 10.0 ** rng.integers(-300, 300, size=d)


def _mixed_rows(rng: np.random.Generator, n: int, d: int) -> Any:
    return _normal(rng, n, d) * 10.0 ** rng.integers(-12, 12, size=(n, 1))


def _two_values(rng: np.random.Generator, n: int, d: int) -> Any:
    return rng.integers(2, size=(n, d)) * 10.0 ** rng.integers(-300, 300)


def _repeated(rng: np.random.Generator, n: int, d: int) -> Any:
    return _normal(rng, max(1, n // 5), d)[rng.integers(max(1, n // 5), size=n)]


def _some_constant(rng: np.random.Generator, n: int, d: int) -> Any:
    X = _normal(rng, n, d)
    X[:, rng.integers(d)] = rng.choice([0.0, 1e-320, 1e300, -7.5])
    return X


VALUES: dict[str, Callable[[np.random.Generator, int, int], Any]] = {
    "normal": _normal,
    "zero": lambda rng, n, d: np.zeros((n, d)),
    "constant": lambda rng, n, d: np.full((n, d), rng.choice([1.0, 0.1, 1e300, -1e-300, 5e-324])),
    "repeated": _repeated,
    "huge": lambda rng, n, d: _normal(rng, n, d) * rng.choice([1e150, 1e200, 1e300]),
    "tiny": lambda rng, n, d: _normal(rng, n, d) * rng.choice([1e-150, 1e-200, 1e-300]),
    "denormal": lambda rng, n, d: rng.integers(-9, 9, size=(n, d)) * 5e-324,
    "mixed scales": _mixed_scales,
    "mixed rows": _mixed_rows,
    "far point": _far_point,
    "one huge": _one_huge,
    "offset": lambda rng, n, d: _normal(rng, n, d) + 10.0 ** rng.integers(6, 18),
    "two values": _two_values,
    "some constant": _some_constant,
    "largest": lambda rng, n, d: rng.choice([-1.0, 1.0], size=(n, d)) * np.finfo(float).max,
}
WEIGHTS: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "none": lambda rng, n: None,
    "uniform": lambda rng, n: rng.uniform(0.1, 3, size=n),
    "whole": lambda rng, n: rng.integers(0, 4, size=n) + np.eye(n)[0],
    "least": lambda rng, n: np.full(n, 5e-324),
    "large": lambda rng, n: np.full(n, 1e300),
    "small": lambda rng, n: rng.uniform(size=n) * 1e-300,
    "mixed": lambda rng, n: 10.0 ** rng.integers(-300, 300, size=n),
    "one": lambda rng, n: np.eye(n)[rng.integers(n)],
    "one large": lambda rng, n: np.where(np.arange(n) == rng.integers(n), 1e300, 1.0),
    "few": lambda rng, n: (rng.uniform(size=n) < 0.2) + np.eye(n)[0],
}
DTYPES = ["float64", "float32", "int64", "int8", "bool"]


def draw(seed: int) -> Case:
    """Draw the case of a seed. Half of the cases are ordinary in all but one or two aspects."""
    rng = np.random.default_rng(seed)
    is_plain = rng.uniform(size=5) < 0.5

    def pick(which: int, usual: str, names: list[str]) -> str:
        return usual if is_plain[which] else str(rng.choice(names))

    kernel = pick(2, "rbf", list(ENGINES))
    return Case(
        estimator=str(rng.choice(ESTIMATORS)),
        values=str(rng.choice(list(VALUES))),
        weights=pick(0, "none", list(WEIGHTS)),
        dtype=pick(1, "float64", DTYPES),
        n=int(rng.integers(1, 51)),
        d=int(rng.integers(1, 6)),
        kernel=kernel,
        engine=pick(3, "auto", ENGINES[kernel]),
        bandwidth=_bandwidth(pick(4, "auto", [*RULES, "1e-300", "1.0", "1e300"]), kernel),
        seed=seed,
    )


def _bandwidth(word: str, kernel: str) -> str | float:
    if kernel not in ("rbf", "laplacian"):
        return "auto"
    return word if word in RULES else float(word)


def arrays(case: Case) -> tuple[Any, Any]:
    """Return X and the weights of a case."""
    rng = np.random.default_rng(case.seed)
    with np.errstate(all="ignore"):
        X = np.asarray(VALUES[case.values](rng, case.n, case.d))
        if np.dtype(case.dtype).kind != "f":
            X = np.clip(X, -100, 100)
        return X.astype(case.dtype), WEIGHTS[case.weights](rng, case.n)


def model(case: Case) -> Any:
    """Return the unfitted estimator of a case."""
    cls = getattr(softkern, case.estimator)
    params = {"kernel": case.kernel, "engine": case.engine, "bandwidth": case.bandwidth}
    accepted = cls().get_params()
    return cls(**{name: value for name, value in params.items() if name in accepted})


@cache
def _warm_up() -> None:
    """Import and compile before the time limit, since an interrupted import stays broken."""
    X = np.arange(8.0)[:, None]
    for engine in ("tiled", "fourier"):
        softkern.WeightedSVDD(engine=engine).fit(X).predict(X)


def outcome(case: Case) -> tuple[str, str]:
    """Return the outcome of a case in one word, and details."""
    _warm_up()
    X, weight = arrays(case)
    with warnings.catch_warnings(record=True) as caught, time_limit():
        warnings.simplefilter("always")
        try:
            fitted = model(case).fit(X, sample_weight=weight)
            word, detail = _check_results(fitted, X)
        except ValueError as error:
            word, detail = classify_rejection(error)
        except Exception as error:
            return classify_failure(error)
    internal = [w for w in caught if issubclass(w.category, RuntimeWarning)]
    if internal and word in PASSED:
        first = internal[0]
        return "warned", f"{Path(first.filename).name}:{first.lineno} {first.message}"
    return word, detail


def _check_results(fitted: Any, X: Any) -> tuple[str, str]:
    for name in RESULTS:
        if np.isnan(np.asarray(getattr(fitted, name, 0.0), dtype=float)).any():
            return "nan", name
    again = fitted.predict(X)
    labels = getattr(fitted, "labels_", again)
    if not np.array_equal(labels, again):
        return "differs", f"predict(X) and labels_ in {int((labels != again).sum())} rows"
    try:
        from_state(to_state(fitted))
    except ValueError as error:  # an attribute that `state_schema` does not declare
        return "undeclared", str(error)
    new = _new_points(X)
    for name in (name for name in METHODS if hasattr(fitted, name)):
        if np.isnan(np.asarray(getattr(fitted, name)(new), dtype=float)).any():
            return "nan", f"{name} of new points"
    return "fitted", ""


def _new_points(X: Any) -> Any:
    """Return rows near the data and very far away, in the dtype of X."""
    largest = np.finfo(X.dtype).max if X.dtype.kind == "f" else 100
    places = [0, 1, -1, largest * 1e-30, largest * 1e-3]
    return np.repeat(np.array(places)[:, None], X.shape[1], axis=1).astype(X.dtype)
