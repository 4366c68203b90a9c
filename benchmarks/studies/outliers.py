"""Outliers and overlap points with defaults: ranks, flags, memberships."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from families import ONE_GROUP, OUTLIER_SETS, outlier_set
from peers import IS_RANDOM, Detector, detectors, standardize
from sklearn.cluster import HDBSCAN
from sklearn.ensemble import IsolationForest
from sklearn.metrics import roc_auc_score

import softkern
from softkern import (
    FuzzyCMeans,
    OneClassMixture,
    OneClassPCM,
    OutlierFuzzyCMeans,
    SoftKernelSpectralClustering,
    WeightedSVDD,
    rank_points,
)
from studies.common import (
    DEFAULT,
    DETECTOR,
    Records,
    Result,
    Run,
    Table,
    count,
    direction,
    draws_made,
    flags_of,
    generator,
    log,
    shares,
    sort_records,
    timed,
)

FALSE_ALARMS = 1.0  # promised per 1000 clean rows
FURTHEST_BEHIND = 0.05  # promised in AUROC, behind the best peer on any data set
SEEDS = 3  # runs of randomized detectors
# peers with quadratic time are skipped on repeated tables
QUADRATIC = ("LOF", "OCSVM", "KDE")


def detector_scores(X: np.ndarray, seed: int) -> np.ndarray:
    return OneClassPCM().fit(X).outlier_scores_


def default_scores(X: np.ndarray, seed: int) -> np.ndarray:
    return softkern.cluster(X).outlier_scores_


def decisions(name: str) -> Detector:
    """Return a detector's scores of training rows, asked again as new rows."""

    def scores(X: np.ndarray, seed: int) -> np.ndarray:
        model = getattr(softkern, name)()
        return -model.fit(X).decision_function(X)

    return scores


OUR_DETECTORS: dict[str, Detector] = {
    DETECTOR: detector_scores,
    DEFAULT: default_scores,
    f"{DETECTOR}, decision_function": decisions(DETECTOR),
    "WeightedSVDD": lambda X, seed: WeightedSVDD().fit(X).outlier_scores_,
    "WeightedSVDD, decision_function": decisions("WeightedSVDD"),
}


def outliers(run: Run) -> Result:
    """Measure AUROC on ADBench without labels, also with every row repeated three times."""
    names = run.either(["Hepatitis", "glass", "WBC", "vowels"], OUTLIER_SETS)
    records: Records = []
    for name, copies in itertools.product(names, (1, 3)):
        X, y = (np.repeat(part, copies, axis=0) for part in outlier_set(name))
        peers = {k: v for k, v in detectors().items() if copies == 1 or k not in QUADRATIC}
        for method, detector in (OUR_DETECTORS | peers).items():
            rows = X if method in OUR_DETECTORS else standardize(X)
            for seed in range(SEEDS if method in IS_RANDOM and copies == 1 else 1):
                scores, record = timed(detector, rows, seed)
                if scores is not None:
                    record["AUROC"] = roc_auc_score(y, np.nan_to_num(scores))
                what = {"set": name, "n": len(X), "d": X.shape[1], "copies": copies, "seed": seed}
                records.append({**what, "method": method, **record})
        log(f"{name}, {'once' if copies == 1 else 'three times'}, done")
    frame = sort_records(records, "AUROC")
    tables, remarks = [], []
    for copies, title in ((1, "AUROC"), (3, "AUROC, every row three times")):
        part = frame[frame["copies"] == copies]
        means = part.pivot_table("AUROC", "set", "method", sort=False)
        peers = means.drop(columns=list(OUR_DETECTORS))
        remarks += [f"{title}: {verdict_on_scores(means, peers, name)}" for name in OUR_DETECTORS]
        means.loc["mean"] = means.mean()
        seconds = part.groupby(["set", "method"])["seconds"].mean().groupby("method").sum()
        means.loc["seconds"] = seconds
        tables.append((title, means))
    return Result(records, tables, remarks)


def verdict_on_scores(means: pd.DataFrame, peers: pd.DataFrame, name: str) -> str:
    """Report the mean next to the best peer, with its standard error, and the worst data set."""
    best = peers.mean().idxmax()
    differences = means[name] - peers[best]
    error = differences.std(ddof=1) / np.sqrt(len(differences))
    behind = peers.max(axis=1) - means[name]
    return (
        f"{name} {means[name].mean():.3f}, the best peer, {best}, {peers[best].mean():.3f} "
        f"({differences.mean():+.3f}, standard error {error:.3f}, higher on "
        f"{int((differences > 0).sum())} of {len(means)} sets); furthest behind the best of a set: "
        f"{behind.max():.3f} on {behind.idxmax()} (at most {FURTHEST_BEHIND} is promised)."
    )


Flagger = Callable[[np.ndarray], np.ndarray]  # returns which rows are outliers
FLAGGERS: dict[str, Flagger] = {
    DEFAULT: lambda X: flags_of(softkern.cluster(X)),
    DETECTOR: lambda X: flags_of(OneClassPCM().fit(X)),
    "IForest, its own threshold": lambda X: IsolationForest(random_state=0).fit_predict(X) == -1,
    "HDBSCAN's noise": lambda X: HDBSCAN(copy=True).fit_predict(X) == -1,
}


def three_blobs(r: np.random.Generator, n: int, d: int) -> np.ndarray:
    """Generate equal, well-separated blobs on a line."""
    parts = [np.full(d, 12 / np.sqrt(d) * k) + r.normal(size=(n // 3, d)) for k in range(3)]
    return np.concatenate([*parts, r.normal(size=(n - 3 * (n // 3), d))])


CLEAN: dict[str, Callable[..., np.ndarray]] = {
    **{name: ONE_GROUP[name].draw for name in ("uniform", "Gaussian", "t, 3 degrees")},
    "three blobs": three_blobs,
}
LIGHT = ("uniform", "Gaussian", "three blobs")  # without outliers by chance


PLANTED = {  # planted into 1000 Gaussian rows: quick and full run
    "size": ((1, 2, 5), (1, 2, 3, 5, 10)),
    "spread": ((0.0,), (0.0, 0.01, 1.0)),  # duplicates, near duplicates, as wide as the others
    "d": ((2, 10), (2, 4, 10, 30)),
    "distance": ((30.0,), (12.0, 30.0)),  # from the mean, in standard deviations
}


def flags(run: Run) -> Result:
    """Measure rows flagged per 1000 without outliers, and planted clusters that are detected."""
    clean = clean_records(Run(run.quick, run.minutes / 2))
    planted = planted_records(Run(run.quick, run.minutes / 2))
    tables, remarks = clean_tables(clean)
    return Result([*clean, *planted], [*tables, *planted_tables(planted)], remarks)


def flagged(X: np.ndarray, outliers: int, **what: Any) -> Records:
    """Return missed outliers (the first rows) and false positives for every method."""
    records = []
    for name, flagger in FLAGGERS.items():
        found, record = timed(flagger, X)
        if found is not None:
            record["missed"] = outliers - int(found[:outliers].sum())
            record["flagged"] = int(found[outliers:].sum())
        records.append({**what, "clean rows": len(X) - outliers, "method": name, **record})
    return records


def clean_records(run: Run) -> Records:
    """Measure flags on data without outliers."""
    sizes = run.either({100: 2, 1000: 1}, {100: 10, 1000: 3, 5000: 1})  # rows: draws
    cells = list(itertools.product(CLEAN, sizes, run.either((2, 10), (1, 2, 5, 10, 20, 50))))
    records: Records = []
    for (family, n, d), draw in run.rounds(cells, lambda cell: sizes[cell[1]]):
        X = CLEAN[family](generator("flags", family, n, d, draw), n, d)
        records += flagged(X, 0, kind="clean", family=family, n=n, d=d, draw=draw)
    return records


def clean_tables(records: Records) -> tuple[list[Table], list[str]]:
    """Tabulate false positives, and check the promise."""
    frame = sort_records(records, "flagged", family=CLEAN, n=(100, 1000, 5000), d=range(1000))
    tables = [
        (f"False alarms for each 1000 rows, by {title}", alarms_by(frame, key))
        for key, title in (("family", "family"), ("n", "rows"), ("d", "columns"))
    ]
    light = frame[frame["family"].isin(LIGHT)].groupby("method")[["flagged", "clean rows"]].sum()
    remarks = [
        f"{name}: {1000 * light['flagged'][name] / light['clean rows'][name]:.2f} false alarms for "
        f"each 1000 rows of {', '.join(LIGHT)} ({FALSE_ALARMS:g} is promised)."
        for name in (DEFAULT, DETECTOR)
    ]
    return tables, remarks


def alarms_by(frame: pd.DataFrame, key: str) -> pd.DataFrame:
    """Return clean rows flagged per 1000, by method and key."""
    sums = frame.groupby(["method", key], sort=False)[["flagged", "clean rows"]].sum()
    return (1000 * sums["flagged"] / sums["clean rows"]).unstack(sort=False)


def planted_records(run: Run) -> Records:
    """Measure small distant clusters: duplicates, near duplicates, and as wide as the data."""
    cells = list(itertools.product(*(run.either(*values) for values in PLANTED.values())))
    n, records = 1000, []
    for (size, spread, d, distance), draw in run.rounds(cells, lambda cell: 1):
        rng = generator("planted", f"{size}, {spread}, {distance}", n, d, draw)
        X = rng.normal(size=(n, d))
        X[:size] = distance * direction(rng, d) + spread * rng.normal(size=(size, d))
        what = {"size": size, "spread": spread, "n": n, "d": d, "distance": distance}
        records += flagged(X, size, kind="planted", **what, draw=draw)
    return records


def planted_tables(records: Records) -> list[Table]:
    """Tabulate detected clusters by their properties, and false positives."""
    orders = {key: in_full for key, (_, in_full) in PLANTED.items()}
    frame = sort_records(records, "flagged", **orders)
    frame["whole"] = frame["missed"] == 0
    tables = [
        (
            f"Planted clusters with every row flagged, by {key}",
            frame.groupby(["method", key], sort=False)["whole"].agg(shares).unstack(sort=False),
        )
        for key in PLANTED
    ]
    return [*tables, ("False alarms for each 1000 rows beside them", alarms_by(frame, "d"))]


MIDDLE_ROWS = 5
SOFT_MODELS: dict[str, Callable[[np.ndarray], Any]] = {
    DEFAULT: lambda X: softkern.cluster(X),
    "fuzzy": lambda X: FuzzyCMeans(2).fit(X),
    "outlier-fuzzy": lambda X: OutlierFuzzyCMeans(2).fit(X),
    "mixture": lambda X: OneClassMixture(2).fit(X),
    "spectral": lambda X: SoftKernelSpectralClustering(2).fit(X),
}


def with_rows_between(r: np.random.Generator, d: int, distance: float = 6.0) -> np.ndarray:
    """Generate two blobs of 500. The last rows are half way between them."""
    line = direction(r, d)
    half = distance / 2 * line
    middle = r.normal(size=(MIDDLE_ROWS, d))
    middle -= np.outer(middle @ line, line)
    return np.concatenate([r.normal(size=(500, d)) - half, r.normal(size=(500, d)) + half, middle])


def between_record(model: Any) -> dict[str, float]:
    """Measure the memberships and flags of the overlap points, and of the others."""
    table = rank_points(model)
    memberships = np.asarray(model.memberships_)
    highest = np.sort(memberships[-MIDDLE_ROWS:], axis=1)[:, ::-1]
    is_between = table["is_overlap"].to_numpy()
    return {
        "clusters": count(model.labels_),
        "highest membership": highest[:, 0].mean(),
        "second": highest[:, 1].mean() if highest.shape[1] > 1 else 0.0,
        "flagged between": is_between[-MIDDLE_ROWS:].mean(),
        "flagged outliers": table["is_outlier"].to_numpy()[-MIDDLE_ROWS:].mean(),
        "others between": is_between[:-MIDDLE_ROWS].mean(),
    }


def between(run: Run) -> Result:
    """Measure overlap points between two blobs 6 standard deviations apart."""
    columns = run.either((2, 10), (2, 4, 10, 30))
    records: Records = []
    for d, draw in run.rounds(list(columns), lambda cell: run.either(1, 5)):
        X = with_rows_between(generator("between", "two blobs", 1000, d, draw), d)
        for name, fit in SOFT_MODELS.items():
            model, record = timed(fit, X)
            results = {} if model is None else between_record(model)
            records.append({"d": d, "draw": draw, "method": name, **record, **results})
    frame = sort_records(records, "second", d=columns)
    values = [name for name in frame.columns if name not in ("d", "draw", "method", "error")]
    table = frame.groupby(["d", "method"], sort=False)[values].mean()
    return Result(records, [("Means over draws", table)], draws_made(frame))
