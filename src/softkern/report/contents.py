"""What the page shows, gathered from a fitted model's public attributes.

Everything here ends in `contents`: a dictionary of JSON values and packed arrays that `script.js`
reads. Large tables are shown as a sample of rows, which their values choose and not their order,
together with the rows that rank highest; counts on the page are always of all rows.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import is_outlier_detector
from sklearn.decomposition import PCA

from softkern._typing import Array
from softkern.alpha_tree.layout import dendrogram, flatten
from softkern.fitted import choice_of, histogram_bins, level_of, typicality_of, with_tree
from softkern.report.levels import alpha_levels, steps_below
from softkern.rows import priority_sample

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["contents", "shorten", "shown_rows"]

MOST_ROWS = 4_000  # drawn without a sample; more would not let the sliders answer at once
TOP_OUTLIERS, TOP_OVERLAPS = 500, 250  # drawn in any case
LISTED = 40  # rows of a ranked table
MOST_FEATURES = 24  # to choose axes from
COMPONENTS = 3  # of a projection
RIDGE = 0.02  # share of the mean variance that is added, so that directions follow little noise
LONGEST = 60  # letters of a name from the data
REJECTION_STEPS = 400
TICKS = 7  # of the tree's axis
LEAST_OVERLAP = 1e-3  # score from which a point is worth listing


def contents(
    model: Any,
    X: pd.DataFrame,
    ranks: pd.DataFrame,
    *,
    ids: Sequence[Any] | None,
    features: tuple[str, str] | None,
    X_model: Array | None,
    random_state: int,
) -> dict[str, Any]:
    """Everything that the page's script needs, ready for JSON."""
    seen = X.to_numpy(np.float64, na_value=np.nan) if X_model is None else np.asarray(X_model)
    rows, is_sample = shown_rows(seen, ranks, random_state)
    labels = ranks["label"].to_numpy().astype(np.int64)
    is_typical = ~ranks["is_outlier"].to_numpy(dtype=bool)
    axes = _axes(model, X, seen, rows, labels, is_typical, features, random_state)
    names = list(X.index if ids is None else ids)
    rooted = with_tree(model)
    kind, typicality = typicality_of(model if rooted is None else rooted) or (
        "membership",
        ranks["membership"].to_numpy(),
    )
    return {
        "n": len(X),
        "isSample": is_sample,
        "isDetector": bool(is_outlier_detector(model)),
        "outliers": int(ranks["is_outlier"].sum()),
        "overlaps": int(ranks["is_overlap"].sum()),
        "rows": packed(rows, np.int32),
        "ids": [shorten(names[row]) for row in rows.tolist()],
        "labels": packed(labels[rows], np.int32),
        "sizes": np.bincount(labels[labels >= 0]).tolist(),
        "noise": int((labels < 0).sum()),
        "opacity": packed(_opacity(ranks["membership"].to_numpy(dtype=np.float64))[rows]),
        **{
            name: packed(ranks[column].to_numpy()[rows], dtype)
            for name, column, dtype in (
                ("membership", "membership", np.float32),
                ("outlierScore", "outlier_score", np.float32),
                ("outlierRank", "outlier_rank", np.int32),
                ("overlapScore", "overlap_score", np.float32),
                ("overlapRank", "overlap_rank", np.int32),
            )
        },
        "typicality": packed(typicality[rows]) if kind == "typicality" else None,
        **axes,
        "tables": _tables(ranks, rows),
        "rejection": _rejection(ranks),
        "histogram": _histogram(kind, typicality),
        "tree": None if rooted is None else _tree(rooted, labels, rows),
        "choice": choice_of(model),
    }


def shown_rows(seen: Array, ranks: pd.DataFrame, random_state: int) -> tuple[Array, bool]:
    """Numbers of the rows that are drawn, increasing, and whether they are only a part."""
    n = len(ranks)
    if n <= MOST_ROWS + TOP_OUTLIERS + TOP_OVERLAPS:
        return np.arange(n), False
    sample, _ = priority_sample(seen, MOST_ROWS, random_state=random_state)
    overlap_rank = ranks["overlap_rank"].to_numpy()[ranks["overlap_score"] > LEAST_OVERLAP]
    is_top = ranks["outlier_rank"] <= _last_rank(ranks["outlier_rank"].to_numpy(), TOP_OUTLIERS)
    is_top |= ranks["overlap_rank"] <= _last_rank(overlap_rank, TOP_OVERLAPS)
    return np.union1d(sample, np.flatnonzero(is_top)), True


def _last_rank(rank: Array, most: int) -> int:
    """The last rank that is always drawn: `most`, or less where very many rows share one."""
    top = np.sort(rank[rank <= most])
    if len(top) <= 2 * most:
        return int(top[-1]) if len(top) else 0
    return int(top[-1]) - 1


def shorten(value: Any, longest: int = LONGEST) -> str:
    """A name or a value of the data as text of bounded length."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return text if len(text) <= longest else text[: longest - 1] + "…"


def packed(values: Any, dtype: Any = np.float32) -> dict[str, str]:
    """An array as its kind and its bytes in base64."""
    kept = np.ascontiguousarray(values, dtype=np.dtype(dtype).newbyteorder("<"))
    return {"type": np.dtype(dtype).name, "bytes": base64.b64encode(kept.tobytes()).decode()}


# Axes to choose from


def _axes(
    model: Any,
    X: pd.DataFrame,
    seen: Array,
    rows: Array,
    labels: Array,
    is_typical: Array,
    features: tuple[str, str] | None,
    random_state: int,
) -> dict[str, Any]:
    """Columns and projections of the shown rows, and the two that are drawn first."""
    columns = _chosen_columns(X, labels, features)
    axes = [_axis(shorten(X.columns[k]), _numbers(X.iloc[rows, k])) for k in columns]
    first = [columns.index(list(X.columns).index(name)) for name in features or ()]
    if seen.shape[1] > 2:
        # a few far rows would turn every direction towards themselves
        fitted = is_typical[rows] if is_typical[rows].sum() > 1 else np.ones(len(rows), bool)
        scaled, start = _scaled(seen[rows], fitted), len(axes)
        across = np.empty((len(rows), 0))
        if choice_of(model) is not None and with_tree(model) is None:
            # such clusters differ along directions that principal components need not show
            across = _across_clusters(scaled, np.where(fitted, labels[rows], -1))
        components = _principal_components(scaled, fitted, random_state)
        first = first or [start + k for k in _first_two(across[fitted], components[fitted])]
        for name, found in (("across clusters", across), ("principal component", components)):
            axes += [_axis(f"{name} {k + 1}", values) for k, values in enumerate(found.T)]
    projections = getattr(model, "projections_", None)
    if projections is not None and np.shape(projections)[0] == len(X):
        values = np.asarray(projections, dtype=np.float64).reshape(len(X), -1)[rows]
        if values.shape[1] > 1 and features is None:
            first = [len(axes), len(axes) + 1]
        for k in range(min(values.shape[1], COMPONENTS)):
            axes.append(_axis(f"eigenspace {k + 1}", values[:, k]))
    first = first or list(range(min(2, X.shape[1])))
    return {
        "axes": axes,
        "features": len(columns),
        "columns": X.shape[1],
        # scores are axes too, and the only second one of a single column
        "start": [*first, len(axes)][:2],
    }


def _chosen_columns(X: pd.DataFrame, labels: Array, features: tuple[str, str] | None) -> list[int]:
    """Numbers of the columns that can be chosen; of very many, those that separate clusters."""
    if X.shape[1] <= MOST_FEATURES:
        return list(range(X.shape[1]))
    apart = _apart(np.nan_to_num(X.to_numpy(np.float64, na_value=np.nan)), labels)
    apart[[list(X.columns).index(name) for name in features or ()]] = np.inf
    return sorted(np.argsort(-apart, kind="stable")[:MOST_FEATURES].tolist())


def _apart(values: Array, labels: Array) -> Array:
    """How far apart clusters are in every column, in its spread; of one, if it varies, (d,)."""
    kept = np.unique(labels[labels >= 0])[:MOST_FEATURES]
    spread = values.std(axis=0)
    if len(kept) < 2:
        return (spread > 0).astype(np.float64)
    means = np.stack([values[labels == k].mean(axis=0) for k in kept])
    return np.asarray(means.std(axis=0) / np.where(spread > 0, spread, 1))


def _numbers(column: pd.Series[Any]) -> Array:
    return column.to_numpy(np.float64, na_value=np.nan)


def _axis(name: str, values: Array) -> dict[str, Any]:
    """Values less their middle and in units of their reach: four bytes keep what differs."""
    finite = values[np.isfinite(values)]
    base = float(np.median(finite)) if finite.size else 0.0
    reach = float(np.abs(finite / 2 - base / 2).max(initial=0.0))
    # a power of two, so that nothing is rounded twice
    unit = float(np.ldexp(1.0, min(int(np.frexp(reach)[1]) + 1, 1023))) if reach > 0 else 1.0
    return {"name": name, "base": base, "unit": unit, "values": packed(values / unit - base / unit)}


def _scaled(seen: Array, fitted: Array) -> Array:
    """Every column less the mean of the fitted rows and in units of their spread, (m, d)."""
    values = np.nan_to_num(seen.astype(np.float64))
    reach = np.abs(values).max(axis=0)
    values /= np.where(reach > 0, reach, 1)  # so that no square overflows
    spread = values[fitted].std(axis=0)
    return np.asarray((values - values[fitted].mean(axis=0)) / np.where(spread > 0, spread, 1))


def _principal_components(scaled: Array, fitted: Array, random_state: int) -> Array:
    """Of the fitted rows, for all that are shown, (m, ≤ 3)."""
    count = min(COMPONENTS, int(fitted.sum()), scaled.shape[1])
    if count < 2:
        return np.column_stack([scaled[:, :1], np.zeros((len(scaled), 1))])
    components = PCA(count, random_state=random_state).fit(scaled[fitted])
    return np.asarray(components.transform(scaled))


def _across_clusters(scaled: Array, labels: Array) -> Array:
    """The shown rows along directions in which clusters differ most for their width, (m, ≤ 2).

    Of very many columns, those that differ most between clusters take part: with more, directions
    would follow the rows' noise and show gaps that are not there.
    """
    scaled = scaled[:, np.argsort(-_apart(scaled, labels), kind="stable")[:MOST_FEATURES]]
    kept, place = np.unique(labels[labels >= 0], return_inverse=True)
    if len(kept) < 2:
        return np.empty((len(scaled), 0))
    inside = scaled[labels >= 0]
    means = np.stack([inside[place == k].mean(axis=0) for k in range(len(kept))])  # (c, d)
    within = inside - means[place]
    covariance = within.T @ within / len(inside)
    variance = np.trace(covariance) / len(covariance)
    covariance += (RIDGE * variance or 1.0) * np.eye(len(covariance))
    root = np.linalg.cholesky(covariance)
    between = np.linalg.solve(root, (means - means.mean(axis=0)).T)  # (d, c)
    directions = np.linalg.svd(between, full_matrices=False)[0][:, : min(2, len(kept) - 1)]
    return np.asarray(scaled @ np.linalg.solve(root.T, directions))


def _first_two(across: Array, components: Array) -> list[int]:
    """Places, one table after the other, of the two directions that are drawn first.

    Beside a single direction across clusters, the component that has less to do with it.
    """
    if across.shape[1] != 1:
        return [0, 1]
    shared = [abs(across[:, 0] @ values) / (np.linalg.norm(values) or 1) for values in components.T]
    return [0, 1 + int(np.argmin(shared[:2]))]


# Ranks


def _opacity(membership: Array) -> Array:
    """From 0 for the lowest memberships to 1 for the highest, a few extremes aside, (n,)."""
    low, high = np.quantile(membership, [0.02, 0.9])
    if not high > low:
        return np.ones_like(membership)
    return np.asarray(np.clip((membership - low) / (high - low), 0, 1))


def _tables(ranks: pd.DataFrame, rows: Array) -> dict[str, list[int]]:
    """Places, among the shown rows, of the rows that rank highest, first rank first."""
    shown = ranks.iloc[rows]
    outliers = np.argsort(shown["outlier_rank"].to_numpy(), kind="stable")[:LISTED]
    overlaps = np.argsort(shown["overlap_rank"].to_numpy(), kind="stable")[:LISTED]
    score = shown["overlap_score"].to_numpy()
    return {
        "outliers": outliers.tolist(),
        "overlaps": [place for place in overlaps.tolist() if score[place] > LEAST_OVERLAP],
    }


def _rejection(ranks: pd.DataFrame) -> dict[str, Any]:
    """Ranks up to which the slider rejects, how many rows that is, and where it starts."""
    n = len(ranks)
    rank = np.sort(ranks["outlier_rank"].to_numpy())
    start = int(ranks["is_outlier"].sum())
    few, even = np.arange(min(21, n // 2 + 1)), np.linspace(0, n / 2, REJECTION_STEPS + 1)
    cutoffs = np.unique(np.round([*few, *even, start]).astype(np.int64))
    return {
        "cutoffs": cutoffs.tolist(),
        "counts": np.searchsorted(rank, cutoffs, side="right").tolist(),
        "start": int(np.searchsorted(cutoffs, start)),
    }


def _histogram(kind: str, values: Array) -> dict[str, Any]:
    """Of every row's highest value."""
    highest = values.reshape(len(values), -1).max(axis=1, initial=0.0).astype(np.float64)
    counts, edges = np.histogram(highest, histogram_bins(len(highest)))
    return {"name": kind, "edges": edges.tolist(), "counts": counts.tolist()}


# The alpha tree


def _tree(model: Any, labels: Array, rows: Array) -> dict[str, Any]:
    """The tree as `tree.js` reads it, and the rows' places in it."""
    tree, own = model.tree_, level_of(model)
    levels = alpha_levels(tree, own)
    order, gaps = flatten(len(tree.heights), tree.edges, tree.saddles)
    heights, rank = np.unique(tree.heights, return_inverse=True)
    counts = np.bincount(model.node_, minlength=len(order))
    label_of = np.full(len(order), -1)
    label_of[model.node_] = labels
    start = np.searchsorted(levels, np.quantile(tree.heights, 0.05) if own is None else own)
    # clusters that were chosen one by one need not be those of any level
    has_level = own is not None and (model.alpha != "auto" or model.rejection is not None)
    return {
        "levels": levels.tolist(),
        "own": own if has_level else None,
        "ownStep": -1 if own is None else int(np.searchsorted(levels, own)),
        "start": int(min(start, len(levels) - 1)),
        "order": packed(order, np.int32),
        "gaps": packed(steps_below(levels, gaps), np.uint16),
        "rank": packed(rank, np.int32),
        "above": packed(np.searchsorted(heights, levels, side="right"), np.int32),
        "weight": None if (tree.weight == 1).all() else packed(tree.weight, np.float64),
        "rows": None if (counts == 1).all() else packed(counts, np.int32),
        "node": packed(model.node_[rows], np.int32),
        "steps": packed(steps_below(levels, model.level_[rows]), np.uint16),
        "noise": np.searchsorted(np.sort(model.level_), levels, side="right").tolist(),
        "ticks": {str(k): f"{levels[k]:.4g}" for k in _ticks(len(levels))},
        "lines": [
            {
                "x0": line.x0,
                "x1": line.x1,
                # in steps of the slider, which spread the tree over the picture
                "y0": float(np.interp(line.y0, levels, np.arange(len(levels)))),
                "y1": float(np.interp(line.y1, levels, np.arange(len(levels)))),
                "peak": line.peak,
                "share": line.share,
                "isSplit": line.is_split,
                # the model's own cluster, where all branches above are of one
                "label": int(label_of[line.tips[0]]) if _is_one(label_of[list(line.tips)]) else -2,
            }
            for line in dendrogram(tree)
        ],
    }


def _ticks(steps: int) -> list[int]:
    ticks: list[int] = np.unique(np.linspace(0, steps - 1, TICKS).astype(int)).tolist()
    return ticks


def _is_one(labels: Array) -> bool:
    return bool((labels == labels[0]).all())
