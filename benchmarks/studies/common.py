"""Shared by the studies of the defaults: amount of work, measurements and tables."""

from __future__ import annotations

import sys
import time
import warnings
import zlib
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
from peers import Clusterer
from sklearn.metrics import adjusted_rand_score

import softkern
from softkern import AlphaCutClustering, AutoClustering, rank_points

DEFAULT = "softkern.cluster"
TREE = "AlphaCutClustering"
DETECTOR = "OneClassPCM"

Table = tuple[str, pd.DataFrame]
Records = list[dict[str, Any]]
Cell = TypeVar("Cell", bound=Hashable)


class Result(NamedTuple):
    """Result of a section."""

    records: Records  # one per measurement
    tables: list[Table]
    remarks: list[str]


@dataclass(frozen=True)
class Run:
    """Amount of work."""

    quick: bool
    minutes: float  # time limit of the section
    started: float = field(default_factory=time.perf_counter)

    def either(self, few: Any, many: Any) -> Any:
        """Return the first in a quick run, otherwise the second."""
        return few if self.quick else many

    def rounds(self, cells: list[Cell], draws: Callable[[Cell], int]) -> Iterator[tuple[Cell, int]]:
        """Yield every cell once, then again for further draws, until the time is over.

        The order is random, so that a time limit within a round affects all kinds of cells.
        """
        order = np.random.default_rng(0).permutation(len(cells))
        for draw in range(max(map(draws, cells))):
            for i in order:
                if draw < draws(cells[i]):
                    if time.perf_counter() - self.started > 60 * self.minutes:
                        log(f"time limit reached in round {draw + 1}")
                        return
                    yield cells[i], draw
            log(f"round {draw + 1} done")


def log(message: str) -> None:
    print(f"  {message}", file=sys.stderr, flush=True)


def generator(section: str, family: str, n: int, d: int, draw: int) -> np.random.Generator:
    """Return the generator of one draw, independent of all others."""
    return np.random.default_rng([zlib.crc32(f"{section}/{family}".encode()), n, d, draw])


# Measurements


def default_labels(X: np.ndarray) -> np.ndarray:
    return softkern.cluster(X).labels_


def default_model(X: np.ndarray) -> AutoClustering:
    return softkern.cluster(X)


def tree_labels(X: np.ndarray) -> np.ndarray:
    return AlphaCutClustering().fit(X).labels_


# the default returns its model, for the kind of its evidence
OURS: dict[str, Clusterer] = {DEFAULT: default_model, TREE: tree_labels}
SEPARATED, OVERLAPPING = "separated", "overlapping"


def evidence(model: Any) -> str:
    """Return the kind of evidence for the clusters of a default model, such as "overlapping".

    Models without it have separated clusters or a single one. It is empty for other models.
    """
    if not isinstance(model, AutoClustering):
        return ""
    found = getattr(model, "evidence_", None)
    if found is None:
        return SEPARATED if count(model.labels_) > 1 else "none"
    if isinstance(found, str):
        return found
    get = found.get if isinstance(found, dict) else partial(getattr, found)
    return str(get("kind", "") or get("answer", ""))


def count(labels: np.ndarray) -> int:
    """Return the number of clusters, without noise."""
    return len(set(labels.tolist()) - {-1})


def timed(function: Callable[..., Any], *arguments: Any) -> tuple[Any, dict[str, Any]]:
    """Return a result and its time, or None and the error. A failure does not end the run."""
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result, error = function(*arguments), ""
    except Exception as exception:
        result, error = None, f"{type(exception).__name__}: {exception}"
        log(error)
    return result, {"seconds": time.perf_counter() - start, "error": error}


def score_clusterers(
    methods: dict[str, Clusterer], X: np.ndarray, y: np.ndarray, **what: Any
) -> Records:
    """Return one record per method: number of clusters and agreement with y."""
    records = []
    for name, method in methods.items():
        result, record = timed(method, X)
        if result is not None:
            record["evidence"] = evidence(result)
            labels = getattr(result, "labels_", result)
            record |= {
                "found": count(labels),
                "right": count(labels) == count(y),
                "ARI": adjusted_rand_score(y, labels),
                "noise": np.mean(labels == -1),
            }
        records.append({**what, "clusters": count(y), "method": name, **record})
    return records


def failures(records: Records) -> list[str]:
    """Count the errors of each method, and quote the last one."""
    failed: dict[str, list[str]] = {}
    for record in records:
        if record.get("error"):
            failed.setdefault(record["method"], []).append(record["error"])
    return [f"{name} failed {len(errors)} times: {errors[-1]}" for name, errors in failed.items()]


def flags_of(model: Any) -> np.ndarray:
    return rank_points(model)["is_outlier"].to_numpy()


def direction(r: np.random.Generator, d: int) -> np.ndarray:
    """Return a random unit vector."""
    v = r.normal(size=d)
    return v / np.linalg.norm(v)


# Tables


def shares(values: pd.Series) -> str:
    """Format as "k/n"."""
    return f"{int(values.sum())}/{len(values)}"


def sort_records(records: Records, measured: str, **orders: Any) -> pd.DataFrame:
    """Return the records with a measured value, sorted by the given orders of the keys."""
    places = {key: {value: i for i, value in enumerate(order)} for key, order in orders.items()}
    done = [record for record in records if measured in record]
    done.sort(key=lambda record: [place[record[key]] for key, place in places.items()])
    return pd.DataFrame(done)


def by_method(frame: pd.DataFrame, keys: list[str], values: list[str]) -> pd.DataFrame:
    """Return means, one column per value and method, with a last row over all."""
    means = frame.pivot_table(values, keys, "method", sort=False)
    means.loc["mean" if len(keys) == 1 else ("mean", *[""] * (len(keys) - 1))] = means.mean()
    order = [(value, name) for value in values for name in frame["method"].unique()]
    means = means[[pair for pair in order if pair in means]]
    means.columns = [f"{name}, {value}" for value, name in means]
    return means


def draws_made(frame: pd.DataFrame) -> list[str]:
    made = frame.groupby("method", sort=False).size()
    return [f"{int(made.max())} draws were made."]


def as_text(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return "–" if np.isnan(value) else f"{value:.3f}"
    return "–" if value is None else str(value).replace("|", "/")


def markdown(table: pd.DataFrame) -> str:
    """Format a Markdown table with the index in the first columns."""
    names = [name or "" for name in table.index.names]
    rows = [
        [*(key if isinstance(key, tuple) else (key,)), *values]
        for key, values in zip(table.index, table.to_numpy(dtype=object), strict=True)
    ]
    titles = [f"{name:g}" if isinstance(name, float) else name for name in table.columns]
    lines = [[*names, *titles], ["---"] * (len(names) + table.shape[1]), *rows]
    return "\n".join(f"| {' | '.join(map(as_text, line))} |" for line in lines)
