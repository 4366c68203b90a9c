"""Memberships compared with the true posterior: accuracy, error, slope and calibration."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from posteriors import BETWEEN, EQUAL, KNOWN, NORMAL, OTHER, Cell, cells
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture

import softkern
from studies.common import DEFAULT, TREE, Records, Result, count, evidence, generator, timed
from studies.stored import Job, Store

ROWS, NEW_ROWS = 500, 2000  # to fit, and to judge
EDGE = 1e-6  # memberships and posteriors are clipped to this, for logits
MIDDLE = 0.01  # posteriors beyond it and below 1 − it are certain
NEAR = 0.03  # accuracy below Bayes' at which clusters count as found
SLOPES = 0.8, 1.25  # promised where the clusters were found
MOST_COMPONENTS = 6  # tried by BIC
BINS = 10

Predict = Callable[[np.ndarray], np.ndarray]  # rows to memberships, (n, clusters)


class Fitted(NamedTuple):
    """A fitted model."""

    clusters: int
    predict: Predict
    evidence: str = ""


Fit = Callable[[np.ndarray, int | None], Fitted]  # None: the number is not given

# Models


def probabilities(model: Any) -> Predict:
    """Return `predict_proba`, or memberships where there is none."""
    return getattr(model, "predict_proba", None) or model.memberships


def of_softkern(name: str) -> Fit:
    def fit(X: np.ndarray, k: int | None) -> Fitted:
        if name == DEFAULT:
            model = softkern.cluster(X, "auto" if k is None else k)
        elif name == TREE:
            model = softkern.AlphaCutClustering(n_clusters=k).fit(X)
        else:
            model = getattr(softkern, name)("auto" if k is None else k).fit(X)
        return Fitted(count(model.labels_), probabilities(model), evidence(model))

    return fit


def mixture(covariance: str) -> Fit:
    def fit(X: np.ndarray, k: int | None) -> Fitted:
        numbers = range(1, MOST_COMPONENTS + 1) if k is None else (k,)
        models = [
            GaussianMixture(k, covariance_type=covariance, n_init=5, random_state=0).fit(X)
            for k in numbers
        ]
        best = min(models, key=lambda model: model.bic(X))
        return Fitted(best.n_components, best.predict_proba)

    return fit


def k_means(X: np.ndarray, k: int | None) -> Fitted:
    """Fit k-means, whose memberships are zero or one."""
    model = KMeans(k, n_init=10, random_state=0).fit(X)
    return Fitted(model.n_clusters, lambda new: np.eye(model.n_clusters)[model.predict(new)])


def scikit_fuzzy(X: np.ndarray, k: int | None) -> Fitted:
    """Fit fuzzy c-means with m = 2, the best of five starts."""
    cluster = importlib.import_module("skfuzzy").cluster
    options = {"m": 2, "error": 1e-5, "maxiter": 1000}
    starts = [cluster.cmeans(X.T, k, seed=seed, **options) for seed in range(5)]
    centers = min(starts, key=lambda start: start[4][-1])[0]  # by the objective
    return Fitted(
        len(centers), lambda new: cluster.cmeans_predict(new.T, centers, seed=0, **options)[0].T
    )


def hdbscan_vectors(X: np.ndarray, k: int | None) -> Fitted:
    """Fit hdbscan and its membership vectors, scaled to one by the caller."""
    package = importlib.import_module("hdbscan")
    if k is None:
        model = package.HDBSCAN(min_cluster_size=15, prediction_data=True).fit(X)
        return Fitted(count(model.labels_), lambda new: package.membership_vector(model, new))
    flat = importlib.import_module("hdbscan.flat")
    model = flat.HDBSCAN_flat(X, n_clusters=k, min_cluster_size=15, prediction_data=True)
    return Fitted(
        count(model.labels_), lambda new: flat.membership_vector_flat(model, new, n_clusters=k)
    )


OURS = (
    DEFAULT,
    "FuzzyCMeans",
    "OutlierFuzzyCMeans",
    "PossibilisticCMeans",
    "OneClassMixture",
    "OneClassKMeans",
    "SoftKernelSpectralClustering",
    "KernelSpectralClustering",
    TREE,
)
MODELS: dict[str, Fit] = {
    **{name: of_softkern(name) for name in OURS},
    "GMM, full": mixture("full"),
    "GMM, spherical": mixture("spherical"),
    "k-means, hard": k_means,
    "scikit-fuzzy": scikit_fuzzy,
    "hdbscan": hdbscan_vectors,
}
NUMBER_NEEDED = ("PossibilisticCMeans", "k-means, hard", "scikit-fuzzy")
# the others choose the number as one of the remaining ones does
LEFT_OUT_OF_QUICK = ("OutlierFuzzyCMeans", "OneClassKMeans", "KernelSpectralClustering")
PACKAGES = {"scikit-fuzzy": "skfuzzy", "hdbscan": "hdbscan"}


def installed(models: Iterable[str]) -> list[str]:
    """Return the models whose packages are installed."""
    return [
        name
        for name in models
        if name not in PACKAGES or importlib.util.find_spec(PACKAGES[name]) is not None
    ]


# Scores


def logit(p: np.ndarray) -> np.ndarray:
    p = np.clip(p, EDGE, 1 - EDGE)
    return np.log(p / (1 - p))


def scale_to_one(memberships: np.ndarray) -> np.ndarray:
    """Divide each row by its sum. Rows of zeros become equal memberships."""
    total = memberships.sum(axis=1, keepdims=True)
    equal = 1 / max(1, memberships.shape[1])
    return np.where(total > 0, memberships / np.where(total > 0, total, 1), equal)


def align(memberships: np.ndarray, y: np.ndarray, clusters: int) -> tuple[np.ndarray, np.ndarray]:
    """Return memberships in the order of the true clusters, and labels.

    The matching is the one with the highest accuracy. Columns without a cluster are left out, and
    their rows have the label −1. Clusters without a column have memberships of zero.
    """
    columns = memberships.shape[1]
    winner = memberships.argmax(axis=1)
    table = np.zeros((columns, clusters), int)
    np.add.at(table, (winner, y), 1)
    own, true = linear_sum_assignment(-table)
    aligned = np.zeros((len(y), clusters))
    aligned[:, true] = memberships[:, own]
    names = np.full(columns, -1)
    names[own] = true
    return aligned, names[winner]


def slope(memberships: np.ndarray, posterior: np.ndarray) -> float:
    """Return the slope of logit membership on logit posterior: below one is too soft."""
    if posterior.size < 2 or np.ptp(posterior) < EDGE:
        return float("nan")
    return float(np.polyfit(logit(posterior), logit(memberships), 1)[0])


def calibration_error(memberships: np.ndarray, is_right: np.ndarray) -> float:
    """Return the mean difference of accuracy and highest membership, in ten bins of the latter."""
    highest = memberships.max(axis=1)
    place = np.minimum((highest * BINS).astype(int), BINS - 1)
    differences = np.bincount(place, is_right - highest, BINS)
    return float(np.abs(differences).sum() / len(highest))


def score_memberships(
    memberships: np.ndarray, y: np.ndarray, posterior: np.ndarray
) -> dict[str, float]:
    """Compare memberships with the clusters and the posterior.

    The error, slopes and log loss are missing where there are too many clusters.
    """
    clusters = posterior.shape[1]
    memberships = scale_to_one(np.asarray(memberships, float))
    aligned, labels = align(memberships, y, clusters)
    bayes = float(np.mean(posterior.argmax(axis=1) == y))
    record = {
        "accuracy": float(np.mean(labels == y)),
        "Bayes": bayes,
        "ECE": calibration_error(memberships, labels == y),
    }
    record["is found"] = float(record["accuracy"] >= bayes - NEAR)
    if memberships.shape[1] > clusters:
        return record
    is_open = (posterior > MIDDLE) & (posterior < 1 - MIDDLE)
    rows = np.arange(len(y))
    losses = [-np.log(np.clip(p[rows, y], EDGE, 1)).mean() for p in (aligned, posterior)]
    return record | {
        "RMSE": float(np.sqrt(np.mean((aligned - posterior) ** 2))),
        "slope": slope(aligned.ravel(), posterior.ravel()),
        "slope, middle": slope(aligned[is_open], posterior[is_open]),
        "excess loss": float(losses[0] - losses[1]),
    }


# Measurements


@dataclass(frozen=True)
class Setting:
    """Draws and methods."""

    store: Store
    seeds: int
    cells: list[Cell]
    methods: list[str] = field(default_factory=list)  # all if empty
    is_quick: bool = False

    @property
    def jobs(self) -> list[Job]:
        """One job per seed and cell."""
        return [
            {"cell": name, "d": d, "seed": seed}
            for seed in range(self.seeds)
            for name, d in self.cells
        ]


def measure_cell(job: Job, methods: list[str], is_given: bool) -> Records:
    """Fit every method to one draw, and judge it on new rows."""
    known, d = KNOWN[job["cell"]], job["d"]
    X, _ = known.draw(generator("soft", job["cell"], ROWS, d, job["seed"]), ROWS, d)
    new, y = known.draw(generator("soft, new", job["cell"], NEW_ROWS, d, job["seed"]), NEW_ROWS, d)
    posterior, clusters = known.posterior(new), len(known.shares)

    def judged(fit: Fit) -> dict[str, Any]:
        fitted = fit(X, clusters if is_given else None)
        record = {"clusters": clusters, "found": fitted.clusters, "evidence": fitted.evidence}
        if fitted.clusters == 0:  # all noise
            return record
        return record | score_memberships(fitted.predict(new), y, posterior)

    records = []
    for name in methods:
        result, record = timed(judged, MODELS[name])
        records.append({**job, "method": name, **record, **(result or {})})
    return records


def measure_given(job: Job, methods: list[str]) -> Records:
    return measure_cell(job, methods, is_given=True)


def measure_auto(job: Job, methods: list[str]) -> Records:
    return measure_cell(job, methods, is_given=False)


def frame_of(records: Records) -> pd.DataFrame:
    """Return the measurements. A failed fit counts as not found."""
    frame = pd.DataFrame(records)
    for name in ("accuracy", "is found", "RMSE", "slope", "slope, middle", "ECE", "excess loss"):
        if name not in frame:
            frame[name] = np.nan
    frame["is found"] = frame["is found"].fillna(0.0)
    frame["family"] = frame["cell"].str.replace(r",.*|\(.*", "", regex=True)
    return frame


def given(setting: Setting) -> Result:
    """Measure memberships with the number of clusters given."""
    methods = setting.methods or installed(MODELS)
    records = setting.store.measure("given", setting.jobs, methods, measure_given)
    frame = frame_of(records)
    tables = []
    for title, families in (("Normal clusters", NORMAL), ("Other clusters", OTHER)):
        part = frame[frame["cell"].isin(families)]
        if not part.empty:
            tables.append((title + COLUMNS, summary(part)))
            tables.append((f"{title}: mean accuracy", by_cell(part, "accuracy", "mean")))
            found = part[part["is found"] == 1]
            tables.append((f"{title}: median slope where found", by_cell(found, "slope", "median")))
            tables.append((f"{title}: median RMSE where found", by_cell(found, "RMSE", "median")))
    return Result(records, tables, slopes_promised(frame))


COLUMNS = (
    f": share of runs with accuracy within {NEAR:g} of Bayes, mean accuracy and RMSE of all runs, "
    "and medians over the runs where the clusters were found"
)


def summary(frame: pd.DataFrame) -> pd.DataFrame:
    """Return one row per method."""
    rows = {}
    for name, part in frame.groupby("method", sort=False):
        found = part[part["is found"] == 1]
        medians = found[["RMSE", "slope", "slope, middle", "ECE", "excess loss"]].median()
        low, high = SLOPES
        rows[name] = {
            "found": part["is found"].mean(),
            "accuracy": part["accuracy"].mean(),
            "RMSE, all": part["RMSE"].mean(),
            **medians,
            f"slope in {low:g} to {high:g}": found["slope"].between(low, high).mean(),
            "s": part["seconds"].mean(),
        }
    return pd.DataFrame(rows).T


def by_cell(frame: pd.DataFrame, value: str, how: str) -> pd.DataFrame:
    """Return a value by family, distance and columns, one column per method."""
    frame = frame.astype({value: float})
    table = frame.pivot_table(value, ["cell", "d"], "method", aggfunc=how, sort=False)
    return table[[name for name in MODELS if name in table]]


def slopes_promised(frame: pd.DataFrame) -> list[str]:
    """Report how often the slopes are in the promised interval, for our models."""
    low, high = SLOPES
    remarks = []
    for name in OURS:
        found = frame[(frame["method"] == name) & (frame["is found"] == 1)]
        if not found.empty:
            share = found["slope"].between(low, high).mean()
            remarks.append(
                f"{name}: slope {found['slope'].median():.2f}, within {low:g} to {high:g} in "
                f"{share:.0%} of the {len(found)} runs where the clusters were found."
            )
    return remarks


def auto(setting: Setting) -> Result:
    """Measure the number of clusters and the memberships with nothing given."""
    methods = setting.methods or installed(MODELS)
    left_out = NUMBER_NEEDED + (LEFT_OUT_OF_QUICK if setting.is_quick else ())
    methods = [name for name in methods if name not in left_out]
    records = setting.store.measure("auto", setting.jobs, methods, measure_auto)
    frame = frame_of(records)
    frame["right"] = frame["found"] == frame["clusters"]
    frame["too many"] = frame["found"] > frame["clusters"]
    tables = []
    for title, families in (("Normal clusters", NORMAL | BETWEEN), ("Other clusters", OTHER)):
        part = frame[frame["cell"].isin(families)]
        if part.empty:
            continue
        numbers = part.groupby("method", sort=False)[["right", "too many"]].mean()
        right = part[part["right"]].groupby("method", sort=False)
        medians = right[["RMSE", "slope", "slope, middle", "ECE"]].median()
        table = numbers.join(part.groupby("method", sort=False)["accuracy"].mean()).join(medians)
        table["s"] = part.groupby("method", sort=False)["seconds"].mean()
        tables.append((f"{title}: shares of runs, and medians where the number is right", table))
        tables.append(
            (f"{title}: share of runs with the right number", by_cell(part, "right", "mean"))
        )
    kinds = frame[frame["evidence"].fillna("") != ""]
    if not kinds.empty:
        counts = kinds.groupby(["method", "family", "evidence"], sort=False).size()
        tables.append(("Kind of evidence", counts.unstack(fill_value=0)))
    return Result(records, tables, [])


ALL_GIVEN = cells(NORMAL | OTHER)
ALL_AUTO = cells(NORMAL | BETWEEN | OTHER)
QUICK = [
    *((f"{EQUAL}, {s} s.d.", d) for s in (2, 3, 4, 5) for d in (2, 5, 20)),
    *(("85:15, 4 s.d.", d) for d in (2, 5, 20)),
    *(("three unequal, 4 s.d.", d) for d in (2, 5, 20)),
    *(("elongated, 4 s.d.", d) for d in (2, 5)),
    *((name, d) for name in ("t(4), 4 scales", "skewed, 4 s.d.") for d in (2, 5)),
    ("discs, 3 s.d.", 2),
    ("moons, noise 0.2", 2),
]
