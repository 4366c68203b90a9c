"""What the rows can be drawn over: columns, and views that show many columns in two directions.

A view is a pair of axes: directions across the clusters, principal components, the eigenspace of a
model that has one, and a neighbor map (t-SNE) of tables with many columns. Directions are those of
the inner 98 % of the rows, because a few far ones would turn all towards themselves.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors

from softkern._utils.progress import stage
from softkern._utils.typing import Array
from softkern.fitted import choice_of, with_tree
from softkern.tables.report.packing import holds_numbers, packed, shorten

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["MOST_FEATURES", "axes_of"]

MOST_FEATURES = 24  # to choose axes from, whatever the number of rows
MOST_NUMBERS = 250_000  # of all columns that can be chosen: one and a third megabytes
COMPONENTS = 3  # of a projection
RIDGE = 0.02  # share of the mean variance that is added, so that directions follow little noise
TYPICALITY = 2  # its place among the scores, which `data.js` puts behind these axes
INNER = 0.98  # share of the rows that directions are of
NAMED = 3  # columns that the name of a direction has
MAPPED = 1_000  # rows of a neighbor map: a few seconds
FEWEST_MAPPED = 30
MAP_COLUMNS = 3  # of more than these there is a neighbor map
PRINCIPAL = 30  # components that a neighbor map is made of
PERPLEXITY = 30.0  # neighbors that a row of the map is placed by


def axes_of(
    model: Any,
    X: pd.DataFrame,
    table: pd.DataFrame,
    seen: Array,
    rows: Array,
    is_usual: Array,
    labels: Array,
    features: tuple[str, str] | None,
    dates: Set[int],
    has_typicality: bool,
    random_state: int,
) -> dict[str, Any]:
    """Columns and views of the shown rows, and the two axes that are drawn first.

    `is_usual` are the shown rows that directions may be of, (m,): those of a sample that are no
    outliers.
    """
    columns = _chosen_columns(X, labels, features, len(rows))
    axes = [
        _axis(shorten(X.columns[k]), _numbers(X.iloc[rows, k])) | {"isDate": k in dates}
        for k in columns
    ]
    first = [columns.index(list(X.columns).index(name)) for name in features or ()]
    views: list[dict[str, Any]] = []

    def add(name: str, help_: str, found: Array, names: Sequence[str]) -> None:
        if found.shape[1] > 1:
            views.append({"name": name, "help": help_, "axes": [len(axes), len(axes) + 1]})
        axes.extend(_axis(*pair) for pair in zip(names, found.T, strict=True))

    if seen.shape[1] > 2:
        fitted = _inner(seen[rows], is_usual)
        scaled, start = _scaled(seen[rows], fitted), len(axes)
        names = list(X.columns) if seen.shape[1] == X.shape[1] else []
        across = np.empty((len(rows), 0))
        if choice_of(model) is not None and with_tree(model) is None:
            # such clusters differ along directions that principal components need not show
            across = _across_clusters(scaled, np.where(fitted, labels[rows], -1))
        components, shares = _principal_components(scaled, fitted, random_state)
        first = first or [start + k for k in _first_two(across[fitted], components[fitted])]
        made_of = [_made_of(found, scaled, fitted, names) for found in (across, components)]
        add(
            "across the clusters",
            "directions in which the clusters differ most for their width",
            across,
            [f"across clusters {k + 1}{what}" for k, what in enumerate(made_of[0])],
        )
        add(
            "principal components",
            "directions in which the inner 98 % of the rows spread most, with their share of it",
            components,
            [
                f"component {k + 1}, {share:.0%}{what}".replace("%", " %")
                for k, (share, what) in enumerate(zip(shares, made_of[1], strict=True))
            ],
        )
        if across.shape[1] == 1 and features is None:
            help_ = "the direction in which the clusters differ most for their width, and another"
            views.insert(0, {"name": "across the clusters", "help": help_, "axes": first})
        if seen.shape[1] > MAP_COLUMNS:
            found, help_ = _neighbor_map(scaled, is_usual, random_state)
            names = [f"neighbor map {k + 1}" for k in range(found.shape[1])]
            add("neighbor map", help_, found, names)
    projections = getattr(model, "projections_", None)
    if projections is not None and np.shape(projections)[0] == len(X):
        values = np.asarray(projections, dtype=np.float64).reshape(len(X), -1)[rows, :COMPONENTS]
        if values.shape[1] > 1 and features is None:
            first = [len(axes), len(axes) + 1]
        names = [f"eigenspace {k + 1}" for k in range(values.shape[1])]
        add("eigenspace", "the directions in which the model itself sees clusters", values, names)
    for k in _other_numbers(X, table, len(rows)):
        axes.append(_axis(shorten(table.columns[k]), _numbers(table.iloc[rows, k])))
    first = first or list(range(min(2, X.shape[1])))
    return {
        "axes": axes,
        "views": views,
        "features": len(columns),
        "columns": X.shape[1],
        # scores are axes too, and the only second one of a single column: over how typical rows
        # are its groups are hills
        "start": [*first, len(axes) + (TYPICALITY if has_typicality else 0)][:2],
    }


# Columns


def _chosen_columns(
    X: pd.DataFrame, labels: Array, features: tuple[str, str] | None, count: int
) -> list[int]:
    """Numbers of the columns that can be chosen; of very many, those that separate clusters."""
    most = max(MOST_FEATURES, MOST_NUMBERS // max(count, 1))
    if X.shape[1] <= most:
        return list(range(X.shape[1]))
    apart = _apart(np.nan_to_num(X.to_numpy(np.float64, na_value=np.nan)), labels)
    apart[[list(X.columns).index(name) for name in features or ()]] = np.inf
    return sorted(np.argsort(-apart, kind="stable")[:most].tolist())


def _other_numbers(X: pd.DataFrame, table: pd.DataFrame, count: int) -> list[int]:
    """Numbers of the columns of numbers that are no features; as many as features may be."""
    most = max(MOST_FEATURES, MOST_NUMBERS // max(count, 1))
    known = set(X.columns)
    return [
        k
        for k, (name, kind) in enumerate(table.dtypes.items())
        if name not in known and holds_numbers(kind)
    ][:most]


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


# Directions


def _inner(seen: Array, is_usual: Array) -> Array:
    """The usual rows less the 2 % that lie farthest from the middle, (m,)."""
    if is_usual.sum() < 2:
        return np.ones(len(seen), bool)
    values = np.nan_to_num(seen.astype(np.float64))
    reach = np.abs(values).max(axis=0)
    values = values / np.where(reach > 0, reach, 1)  # so that no square overflows
    low, middle, high = np.quantile(values[is_usual], [0.16, 0.5, 0.84], axis=0)
    spread = np.where(high > low, high - low, values[is_usual].std(axis=0))
    distance = np.linalg.norm((values - middle) / np.where(spread > 0, spread, 1), axis=1)
    return np.asarray(is_usual & (distance <= np.quantile(distance[is_usual], INNER)))


def _scaled(seen: Array, fitted: Array) -> Array:
    """Every column less the mean of the fitted rows and in units of their spread, (m, d)."""
    values = np.nan_to_num(seen.astype(np.float64))
    reach = np.abs(values).max(axis=0)
    values /= np.where(reach > 0, reach, 1)  # so that no square overflows
    spread = values[fitted].std(axis=0)
    return np.asarray((values - values[fitted].mean(axis=0)) / np.where(spread > 0, spread, 1))


def _principal_components(scaled: Array, fitted: Array, random_state: int) -> tuple[Array, Array]:
    """Of the fitted rows, for all that are shown, (m, ≤ 3), and their shares of the spread."""
    count = min(COMPONENTS, int(fitted.sum()), scaled.shape[1])
    if count < 2 or not scaled[fitted].any():
        return np.column_stack([scaled[:, :1], np.zeros((len(scaled), 1))]), np.array([1.0, 0.0])
    components = PCA(count, random_state=random_state).fit(scaled[fitted])
    return np.asarray(components.transform(scaled)), components.explained_variance_ratio_


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


def _made_of(found: Array, scaled: Array, fitted: Array, names: Sequence[Any]) -> list[str]:
    """For every direction, the columns that go with it most, "−" before those that go against.

    Directions are turned, in place, so that the first column goes with them.
    """
    if not names or not found.size:
        return [""] * found.shape[1]
    said = []
    for direction in found.T:
        values = direction[fitted] - direction[fitted].mean()
        together = values @ scaled[fitted]
        together /= np.linalg.norm(values) * np.sqrt(fitted.sum()) or 1  # correlations, (d,)
        if together[np.argmax(np.abs(together))] < 0:
            direction *= -1
            together *= -1
        strongest = np.abs(together).max()
        order = np.argsort(-np.abs(together), kind="stable")[:NAMED]
        kept = [k for k in order if strongest > 0 and abs(together[k]) >= 0.5 * strongest]
        words = [("−" if together[k] < 0 else "") + shorten(names[k], 20) for k in kept]
        said.append(f": {', '.join(words)}" if words else "")
    return said


# Neighbors


def _neighbor_map(scaled: Array, is_usual: Array, random_state: int) -> tuple[Array, str]:
    """Two coordinates that keep neighbors together (t-SNE), (m, 2), and what they are.

    Of more rows than a map is made of in a few seconds, the others lie where their nearest row
    on the map does. Without columns where there are too few rows to map.
    """
    mapped = np.arange(len(scaled))
    if len(mapped) > MAPPED:
        generator = np.random.default_rng(random_state)
        unusual = generator.permutation(np.flatnonzero(~is_usual))[: MAPPED // 3]
        others = generator.permutation(np.flatnonzero(is_usual))[: MAPPED - len(unusual)]
        mapped = np.sort(np.concatenate([unusual, others]))
    if len(np.unique(scaled[mapped], axis=0)) < FEWEST_MAPPED:
        return np.empty((len(scaled), 0)), ""
    if scaled.shape[1] > PRINCIPAL:
        count = min(PRINCIPAL, len(mapped))
        scaled = PCA(count, random_state=random_state).fit(scaled[mapped]).transform(scaled)
    neighbors = TSNE(
        perplexity=min(PERPLEXITY, (len(mapped) - 1) / 3),
        max_iter=500,
        init="pca",
        random_state=random_state,
    )
    with stage("the map of neighbors"):
        found = neighbors.fit_transform(scaled[mapped])
    nearest = NearestNeighbors(n_neighbors=1).fit(scaled[mapped])
    place = nearest.kneighbors(scaled, return_distance=False)[:, 0]
    place[mapped] = np.arange(len(mapped))
    help_ = (
        "t-SNE: rows that are alike in all columns lie side by side; distances between groups, and "
        "their sizes, say little"
    )
    if len(mapped) < len(scaled):
        help_ += f"; made of {len(mapped):,} rows, the others lie at the nearest of these"
    return np.asarray(found[place], dtype=np.float64), help_
