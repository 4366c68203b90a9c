"""Thresholds of the detectors: shares of new rows that are rejected, and planted outliers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from families import labeled, outlier_set, real
from sklearn.base import clone
from sklearn.datasets import load_diabetes
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.neighbors import LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM

from softkern import OneClassPCM, WeightedOneClassSVM, WeightedSVDD, rank_points
from studies.common import Records, Result, generator, log, timed
from studies.memberships import Setting
from studies.stored import Job

SHARE = 0.1  # contamination and nu
ROWS, NEW_ROWS = 500, 2000
COLUMNS = (2, 5, 10, 20, 50, 100)
HELD_OUT = 0.4  # share of a real table
MOST_ROWS = 2000  # of a real table
NORMAL_BAND, TABLE_BAND = (0.08, 0.13), (0.06, 0.16)  # promised shares
PROBABLE = 0.9  # outlier probability that a tenth of typical rows exceeds
OUTLIERS = 50

DETECTORS: dict[str, Callable[[], Any]] = {
    "OneClassPCM": lambda: OneClassPCM(contamination=SHARE),
    "WeightedSVDD": lambda: WeightedSVDD(nu=SHARE),
    "WeightedOneClassSVM": lambda: WeightedOneClassSVM(nu=SHARE),
    "LOF": lambda: make_pipeline(
        StandardScaler(), LocalOutlierFactor(novelty=True, contamination=SHARE)
    ),
    "IForest": lambda: IsolationForest(contamination=SHARE, random_state=0),
    "OneClassSVM": lambda: make_pipeline(StandardScaler(), OneClassSVM(nu=SHARE)),
}
OURS = tuple(DETECTORS)[:3]


def _bundled(name: str) -> Callable[[], np.ndarray]:
    return lambda: np.asarray(real(name)[0], float)


TABLES: dict[str, Callable[[], np.ndarray]] = {
    **{name: _bundled(name) for name in ("iris", "wine", "breast cancer", "digits")},
    "diabetes": lambda: load_diabetes().data,
    **{name: _bundled(name) for name in ("seeds", "biomed", "wbc", "ionosphere", "pima")},
    **{
        name: lambda name=name: outlier_set(name)[0]
        for name in ("glass", "vowels", "Stamps", "Waveform", "cardio")
    },
}


def drawn(job: Job) -> tuple[np.ndarray, np.ndarray]:
    """Return rows to fit and new rows."""
    rng = generator("fresh", job["table"], ROWS, job["d"], job["seed"])
    if job["table"] == "normal":
        X = rng.normal(size=(ROWS + NEW_ROWS, job["d"]))
        return X[:ROWS], X[ROWS:]
    X = TABLES[job["table"]]()
    X = X[rng.permutation(len(X))[:MOST_ROWS]]
    return train_test_split(X, test_size=HELD_OUT, random_state=job["seed"])


def rejected(name: str, X: np.ndarray, new: np.ndarray) -> dict[str, float]:
    """Return the shares of training and new rows that a detector rejects."""
    model = DETECTORS[name]().fit(X)
    record = {"fresh": np.mean(model.predict(new) == -1)}
    if name != "LOF":  # as a novelty detector it does not judge training rows
        record["training"] = np.mean(model.predict(X) == -1)
    if hasattr(model, "outlier_probability"):
        record["probable"] = np.mean(np.asarray(model.outlier_probability(new)) > PROBABLE)
    return {key: float(value) for key, value in record.items()}


def measure_fresh(job: Job, methods: list[str]) -> Records:
    X, new = drawn(job)
    records = []
    for name in methods:
        result, record = timed(rejected, name, X, new)
        records.append({**job, "method": name, **record, **(result or {})})
    return records


def available_tables() -> list[str]:
    """Return the tables that can be loaded. The others are named in the log."""
    found = []
    for name, load in TABLES.items():
        try:
            load()
        except Exception as error:
            log(f"without {name}: {error}")
        else:
            found.append(name)
    return found


def fresh(setting: Setting) -> Result:
    """Measure the share of new rows that are called outliers at contamination = nu = 0.1."""
    seeds = range(setting.seeds)
    jobs = [{"table": "normal", "d": d, "seed": seed} for seed in seeds for d in COLUMNS]
    jobs += [{"table": name, "d": 0, "seed": seed} for seed in seeds for name in available_tables()]
    methods = setting.methods or list(DETECTORS)
    records = setting.store.measure("fresh", jobs, methods, measure_fresh)
    frame = pd.DataFrame(records)
    is_normal = frame["table"] == "normal"
    tables = [
        (
            f"Normal rows, {ROWS} fitted: new rows rejected, by columns",
            share_table(frame[is_normal], "d"),
        ),
        ("Held-out 40 % of real tables: rejected", share_table(frame[~is_normal], "table")),
        ("Normal rows: training rows rejected", share_table(frame[is_normal], "d", "training")),
        (
            "Real tables: training rows rejected",
            share_table(frame[~is_normal], "table", "training"),
        ),
    ]
    if "probable" in frame:
        title = (
            f"New rows with an outlier probability above {PROBABLE:g} (wanted {1 - PROBABLE:.1f})"
        )
        tables += [
            (f"{title}, normal", share_table(frame[is_normal], "d", "probable")),
            (f"{title}, tables", share_table(frame[~is_normal], "table", "probable")),
        ]
    remarks = []
    for title, part, key, band in (
        ("normal rows", frame[is_normal], "d", NORMAL_BAND),
        ("real tables", frame[~is_normal], "table", TABLE_BAND),
    ):
        means = share_table(part, key)
        inside = {name: f"{means[name].between(*band).sum()}/{len(means)}" for name in means}
        text = ", ".join(f"{name} {count}" for name, count in inside.items())
        remarks.append(f"{title}, between {band[0]:g} and {band[1]:g}: {text}.")
    return Result(records, tables, remarks)


def share_table(frame: pd.DataFrame, key: str, value: str = "fresh") -> pd.DataFrame:
    """Return mean shares, one row per table and one column per detector that has them."""
    if value not in frame:
        return pd.DataFrame()
    table = frame.pivot_table(value, key, "method", sort=False)
    return table[[name for name in DETECTORS if name in table]]


def with_outliers(job: Job) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return normal rows and a tenth of uniform ones around, which are these, and new normal rows."""
    d = job["d"]
    rng = generator("planted tenth", "box", ROWS, d, job["seed"])
    X = 5 + rng.normal(size=(ROWS - OUTLIERS + NEW_ROWS, d))
    inliers, new = X[: ROWS - OUTLIERS], X[ROWS - OUTLIERS :]
    return *labeled([inliers, rng.uniform(-5, 5, (OUTLIERS, d))]), new


def detected(name: str, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> dict[str, float]:
    """Return how many planted outliers are flagged, and false flags."""
    model = DETECTORS[name]()
    if name == "LOF":
        local = LocalOutlierFactor(contamination=SHARE)
        is_flagged = make_pipeline(StandardScaler(), local).fit_predict(X) == -1
        scores = -local.negative_outlier_factor_
        model.fit(X)
    else:
        is_flagged = clone(model).fit_predict(X) == -1
        scores = -model.fit(X).decision_function(X)
    record = {
        "fit_predict": is_flagged[y == 1].sum(),
        "others": is_flagged[y == 0].sum(),
        "AUROC": roc_auc_score(y, scores),
        "new rejected": np.mean(model.predict(new) == -1),
    }
    if name in OURS:
        ranked = rank_points(model)["is_outlier"].to_numpy()
        record |= {"rank_points": ranked[y == 1].sum(), "others ranked": ranked[y == 0].sum()}
    return {key: float(value) for key, value in record.items()}


def measure_planted(job: Job, methods: list[str]) -> Records:
    X, y, new = with_outliers(job)
    records = []
    for name in methods:
        result, record = timed(detected, name, X, y, new)
        records.append({**job, "method": name, **record, **(result or {})})
    return records


def planted(setting: Setting) -> Result:
    """Measure how many of 50 planted outliers in 500 rows are flagged."""
    jobs = [{"d": d, "seed": seed} for seed in range(setting.seeds) for d in (2, 5, 20)]
    methods = setting.methods or list(DETECTORS)
    records = setting.store.measure("planted", jobs, methods, measure_planted)
    frame = pd.DataFrame(records)
    values = ["fit_predict", "others", "rank_points", "others ranked", "AUROC", "new rejected"]
    values = [name for name in values if name in frame]
    table = frame.groupby(["d", "method"], sort=False)[values].mean()
    return Result(records, [(f"Means; flagged of {OUTLIERS}, and of the others", table)], [])
