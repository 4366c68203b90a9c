"""Rerun what a new user tried with defaults: the expected and the present results."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from families import ONE_GROUP, apart, blobs, outlier_set, real, shape
from peers import isolation_forest, standardize
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.svm import OneClassSVM

import softkern
from softkern import (
    OutlierFuzzyCMeans,
    PossibilisticCMeans,
    SoftKernelSpectralClustering,
    WeightedOneClassSVM,
    WeightedSVDD,
    datasets,
    rank_points,
)
from studies.common import (
    DEFAULT,
    DETECTOR,
    Records,
    Result,
    Run,
    count,
    default_labels,
    direction,
    flags_of,
    generator,
    log,
    timed,
)
from studies.outliers import (
    SOFT_MODELS,
    between_record,
    default_scores,
    detector_scores,
    with_rows_between,
)

Row = tuple[str, str]  # result, and expected result


def listed(values: Any, form: str = "") -> str:
    return ", ".join(format(value, form) for value in values)


def percent(labels: np.ndarray) -> str:
    return f"{np.mean(labels == -1):.0%} noise"


def drawn(name: str, n: int, d: int, draw: int = 0) -> np.random.Generator:
    return generator("table", name, n, d, draw)


def two_blobs(run: Run) -> Row:
    """Two Gaussian blobs of 500, 5 s.d. apart, 4 / 6 / 10 columns."""
    tables = [apart(drawn("two blobs", 1000, d), (500, 500), d, 5)[0] for d in (4, 6, 10)]
    return f"{listed(count(default_labels(X)) for X in tables)} clusters", "2, 2, 2"


def two_wide_blobs(run: Run) -> Row:
    """The same, 30 columns, 10 s.d. apart, 2 × 2000 rows."""
    half = run.either(500, 2000)
    X, y = apart(drawn("two wide blobs", 2 * half, 30), (half, half), 30, 10)
    labels = default_labels(X)
    found = f"{count(labels)} clusters, {percent(labels)}, ARI {adjusted_rand_score(y, labels):.2f}"
    return found, "2 clusters"


def numbered(X: Any, y: Any) -> str:
    """Return the number of clusters of the default, and ARI."""
    labels = default_labels(X)
    return f"{count(labels)} ({adjusted_rand_score(y, labels):.2f})"


def real_numbers(run: Run) -> Row:
    """Wine, seeds, wbc, biomed."""
    found = [numbered(*real(name)) for name in ("wine", "seeds", "wbc", "biomed")]
    return listed(found), "3, 3, 2, 2 (mixture .90, .79, .84, .61)"


def many_columns(run: Run) -> Row:
    """3 clusters in 200 columns."""
    X, y = apart(drawn("three groups", 600, 200), (200, 200, 200), 200, 10)
    labels = default_labels(X)
    return (
        f"{count(labels)} clusters, ARI {adjusted_rand_score(y, labels):.2f}",
        "3 (spectral 1.00)",
    )


def one_group_of_many_columns(run: Run) -> Row:
    """Uniform or Gaussian, 1000 or 3000 rows, 40 and 100 columns."""
    cells = itertools.product(("uniform", "Gaussian"), run.either((1000,), (1000, 3000)), (40, 100))
    found = [
        count(default_labels(ONE_GROUP[family].draw(drawn(family, n, d), n, d)))
        for family, n, d in cells
    ]
    return f"{listed(found)} clusters", "1 each"


def digits(run: Run) -> Row:
    """Digits."""
    X, y = real("digits")
    labels = default_labels(X)
    return f"{count(labels)} clusters, ARI {adjusted_rand_score(y, labels):.2f}", "10"


def touching_shapes(run: Run) -> Row:
    """jain, flame, spiral, D31."""
    found = [numbered(*shape(name)) for name in ("jain", "flame", "spiral", "d31")]
    return listed(found), "2, 2, 3, 31 (HDBSCAN .90, .61, .98)"


def equal_outliers(run: Run) -> Row:
    """1, 2, 3, 5, 10 equal rows of −999 in 1000 rows, 4 columns."""
    found = []
    for size in (1, 2, 3, 5, 10):
        X = drawn("equal outliers", 1000, 4, size).normal(size=(1000, 4))
        X[:size] = -999
        model = softkern.cluster(X)
        flagged = flags_of(model)
        found.append(f"{flagged[:size].sum()} of {size}, score {model.outlier_scores_[0]:.3g}")
    return f"flagged: {'; '.join(found)}", "all flagged"


def near_outliers(run: Run) -> Row:
    """Two outliers 30 s.d. out and 1 s.d. apart, 10 columns."""
    rng = drawn("near outliers", 1000, 10)
    X = rng.normal(size=(1000, 10))
    X[0] = 30 * direction(rng, 10)
    X[1] = X[0] + direction(rng, 10)
    return f"{flags_of(softkern.cluster(X))[:2].sum()} of 2 flagged", "both flagged"


def repeated_tables(run: Run) -> Row:
    """Every row of a table once, twice, three times: three blobs and 6 outliers."""
    rng = drawn("repeated", 606, 2)
    X = np.concatenate([blobs(3, 2, 8, 1)(rng, 600)[0], far_rows(rng, 6, 2, 40)])
    first = default_labels(X)
    found = []
    for copies in (1, 2, 3):
        model = softkern.cluster(np.repeat(X, copies, axis=0))
        labels, flagged = model.labels_[::copies], flags_of(model)[::copies]
        agreement = adjusted_rand_score(first, labels)
        found.append(
            f"{count(labels)} clusters, {percent(labels)}, {flagged.sum()} outliers, ARI {agreement:.2f}"
        )
    return "; ".join(found), "three times the same answer"


def far_rows(r: np.random.Generator, n: int, d: int, distance: float) -> np.ndarray:
    """Generate rows in random directions, at this distance or up to half more."""
    return np.array([distance * r.uniform(1, 1.5) * direction(r, d) for _ in range(n)])


def clean_blobs(run: Run) -> Row:
    """Clean blobs 10 s.d. apart, 2 columns: draws with more than 1 % noise."""
    draws = run.either(10, 40)
    noisy = 0
    for draw in range(draws):
        X = apart(drawn("clean blobs", 1000, 2, draw), (500, 500), 2, 10)[0]
        noisy += np.mean(default_labels(X) == -1) > 0.01
    return f"{noisy} of {draws}", "0"


def mostly_noise(run: Run) -> Row:
    """adbench/thyroid."""
    labels = default_labels(outlier_set("thyroid")[0])
    return f"{count(labels)} clusters, {percent(labels)}", "no cluster beside mostly noise"


def hard_outlier_sets(run: Run) -> Row:
    """AUROC of cardio, mammography, letter: OneClassPCM, softkern.cluster, IForest."""
    found: dict[str, list[float]] = {}
    for name in run.either(("cardio", "letter"), ("cardio", "mammography", "letter")):
        X, y = outlier_set(name)
        scores = {
            DETECTOR: detector_scores(X, 0),
            DEFAULT: default_scores(X, 0),
            "IForest": isolation_forest(standardize(X), 0),
        }
        for method, values in scores.items():
            found.setdefault(method, []).append(roc_auc_score(y, values))
    text = [f"{method} {listed(values, '.2f')}" for method, values in found.items()]
    return "; ".join(text), "none more than .1 behind the best peer"


def one_class_machines(run: Run) -> Row:
    """WeightedSVDD, WeightedOneClassSVM, OneClassSVM, 5 blobs with outliers: AUROC, new rejected."""
    makers = (WeightedSVDD, WeightedOneClassSVM, OneClassSVM)
    found: dict[str, list[tuple[float, float]]] = {}
    for draw, maker in itertools.product(range(run.either(2, 5)), makers):
        rng = drawn("machines", 525, 2, draw)
        X, _ = blobs(5, 2, 8, 1)(rng, 1000)
        train, fresh = X[::2], X[1::2]
        box = rng.uniform(X.min(axis=0) - 3, X.max(axis=0) + 3, (25, 2))
        model = maker().fit(np.concatenate([train, box]))
        y = np.repeat([0, 1], [len(train), len(box)])
        scores = -model.score_samples(np.concatenate([train, box]))
        rejected = float(np.mean(model.predict(fresh) == -1))
        found.setdefault(maker.__name__, []).append((roc_auc_score(y, scores), rejected))
    means = {name: np.mean(values, axis=0) for name, values in found.items()}
    text = [f"{name} {auroc:.2f}, {rejected:.0%}" for name, (auroc, rejected) in means.items()]
    return "; ".join(text), "at least OneClassSVM's; about 10 % rejected"


def spectral_number(run: Run) -> Row:
    """SoftKernelSpectralClustering(n_clusters="auto"), five plain blobs, d = 2, 5, 10, 30."""
    found = []
    for d in run.either((2, 10), (2, 5, 10, 30)):
        X = blobs(5, d, 8, 1)(drawn("five blobs", 500, d), 500)[0]
        found.append(count(SoftKernelSpectralClustering(n_clusters="auto").fit(X).labels_))
    return listed(found), "5 each"


def missed_outliers(run: Run) -> Row:
    """OutlierFuzzyCMeans(2) on make_two_groups_outliers: draws with an outlier that is not flagged."""
    draws = run.either(10, 50)
    missed = 0
    for draw in range(draws):
        X, y = datasets.make_two_groups_outliers(random_state=draw)
        missed += not flags_of(OutlierFuzzyCMeans(2).fit(X))[y == -1].all()
    return f"{missed} of {draws}", "0"


def rows_between(run: Run) -> Row:
    """Overlap points, 4 and 10 columns, default and fuzzy: how many are flagged, and how many others."""
    found = []
    for d, name in itertools.product((4, 10), (DEFAULT, "fuzzy")):
        record = between_record(SOFT_MODELS[name](with_rows_between(drawn("between", 1000, d), d)))
        own, others = record["flagged between"], record["others between"]
        found.append(f"{name}, d = {d}: {own:.0%}, {others:.1%}")
    return "; ".join(found), "100 %, few"


def possibilistic(run: Run) -> Row:
    """PossibilisticCMeans(2), two blobs 8 s.d. apart, 5 columns, 5 draws: labels, rows between."""
    found = []
    for draw in range(5):
        X = apart(drawn("possibilistic", 400, 5, draw), (200, 200), 5, 8)[0]
        model = PossibilisticCMeans(2).fit(X)
        numbers = listed(sorted(set(model.labels_.tolist())))
        found.append(f"{numbers} ({rank_points(model)['is_overlap'].mean():.0%})")
    return "; ".join(found), "0, 1 (few); or coinciding clusters merged and numbered from 0"


TRIED: list[Callable[[Run], Row]] = [
    two_blobs,
    two_wide_blobs,
    real_numbers,
    many_columns,
    one_group_of_many_columns,
    digits,
    touching_shapes,
    equal_outliers,
    near_outliers,
    repeated_tables,
    clean_blobs,
    mostly_noise,
    hard_outlier_sets,
    one_class_machines,
    spectral_number,
    missed_outliers,
    rows_between,
    possibilistic,
]


def tried(run: Run) -> Result:
    """Rerun what a new user tried."""
    records: Records = []
    for trial in TRIED:
        what = (trial.__doc__ or "").splitlines()[0].rstrip(".")
        row, record = timed(trial, run)
        found, should_be = row or (record["error"], "")
        records.append(
            {
                "what was tried": what,
                "found": found,
                "should be": should_be,
                "method": what,
                **record,
            }
        )
        log(f"{what}: {found}")
    columns = ["what was tried", "found", "should be", "seconds"]
    table = pd.DataFrame(records)[columns].set_index("what was tried")
    return Result(records, [("The table", table)], [])
