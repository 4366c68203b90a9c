"""Axes of the page's scatter plot: columns, and projections that show many columns.

Projections are discriminant directions, principal components, a neighbor map, and the eigenspace of
spectral models. Directions are computed from the inner 98% of the typical rows, because a few
distant rows would otherwise dominate them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.linalg import eigh
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import StandardScaler

from softkern._utils.progress import stage
from softkern._utils.typing import Array
from softkern.fitted import choice_of, with_tree
from softkern.tables.explain.clusters import holds_numbers
from softkern.tables.report.packing import pack, shorten

if TYPE_CHECKING:
    from softkern.tables.report.data import Drawn

MIN_FEATURES = 24  # columns offered as axes, however many rows are drawn
MAX_VALUES = 250_000  # values of all columns offered as axes (1.3 megabytes)
TYPICALITY = 2  # place of typicality among the scores that `data.js` appends to the axes
MAX_COLUMNS = 24  # columns of the discriminant directions, and clusters that separate columns
MAX_COMPONENTS = 3
RIDGE = 0.02  # share of the mean variance added to covariances, against overfitting
INNER_SHARE = 0.98  # share of the typical rows that directions are computed from
MAX_NAMED = 3  # columns in the name of a direction
MAX_MAPPED, MIN_MAPPED = 1_000, 30  # rows of a neighbor map (a few seconds)
MAP_COLUMNS = 3  # a neighbor map is drawn for more columns
MAP_COMPONENTS = 30  # principal components that a neighbor map starts from
PERPLEXITY = 30.0


def make_axes(drawn: Drawn, has_typicality: bool) -> dict[str, Any]:
    """Return the axes and views of the drawn rows, and the two axes to draw first."""
    X, rows, dates = drawn.X, drawn.rows, drawn.explainer.rows.dates
    most = max(MIN_FEATURES, MAX_VALUES // max(len(rows), 1))
    first_columns = [list(X.columns).index(name) for name in drawn.features or ()]
    columns = list(range(X.shape[1]))
    if len(columns) > most:  # those that separate the clusters best
        values = np.nan_to_num(X.to_numpy(np.float64, na_value=np.nan))
        separation = separation_by_column(values, drawn.labels)
        separation[first_columns] = np.inf
        columns = sorted(np.argsort(-separation, kind="stable")[:most].tolist())
    axes = [_column_axis(X, k, rows) | {"isDate": k in dates} for k in columns]
    start = [columns.index(k) for k in first_columns] or list(range(min(2, X.shape[1])))
    views: list[dict[str, Any]] = []
    for projection in projections(drawn):
        if projection.shown:
            places = [len(axes) + k for k in projection.shown]
            views.append({"name": projection.view, "help": projection.help, "axes": places})
        axes += map(_axis, projection.names, projection.values.T)
    if views and drawn.features is None:
        start = views[0]["axes"]
    others = [  # numeric columns that are no features
        k
        for k, (name, dtype) in enumerate(drawn.table.dtypes.items())
        if name not in X.columns and holds_numbers(dtype)
    ]
    axes += [_column_axis(drawn.table, k, rows) for k in others[:most]]
    return {
        "axes": axes,
        "views": views,
        "features": len(columns),
        "columns": X.shape[1],
        # a single column is drawn against typicality, where clusters are density peaks
        "start": [*start, len(axes) + (TYPICALITY if has_typicality else 0)][:2],
    }


def _column_axis(table: pd.DataFrame, k: int, rows: Array) -> dict[str, Any]:
    values = table.iloc[rows, k].to_numpy(np.float64, na_value=np.nan)
    return _axis(shorten(table.columns[k]), values)


def _axis(name: str, values: Array) -> dict[str, Any]:
    """Return an axis whose values are centered and scaled, so that four bytes resolve them."""
    finite = values[np.isfinite(values)]
    base = float(np.median(finite)) if finite.size else 0.0
    reach = float(np.abs(finite / 2 - base / 2).max(initial=0.0))
    # a power of two, so that nothing is rounded twice
    unit = float(np.ldexp(1.0, min(int(np.frexp(reach)[1]) + 1, 1023))) if reach > 0 else 1.0
    return {"name": name, "base": base, "unit": unit, "values": pack(values / unit - base / unit)}


# Projections


class Projection(NamedTuple):
    """Axes that are no columns, and a view of two of them."""

    names: list[str]
    values: Array  # of the drawn rows, (m, k)
    view: str
    help: str
    shown: tuple[int, ...] = (0, 1)  # two axes, counted from the first of these, or none


def projections(drawn: Drawn) -> Iterator[Projection]:
    """Yield views of more than two columns, the one to draw first in front."""
    yield from _eigenspace(drawn)
    values = bound(drawn.values[drawn.rows])
    if values.shape[1] <= 2:
        return
    columns = list(drawn.X.columns) if values.shape[1] == drawn.X.shape[1] else []
    is_inner = _inner_rows(values, drawn.is_typical)
    scaled = StandardScaler().fit(values[is_inner]).transform(values)
    components, shares = _principal_components(scaled, is_inner, drawn.random_state)
    if choice_of(drawn.model) is not None and with_tree(drawn.model) is None:
        # clusters of `softkern.cluster` differ along directions that components need not show
        labels = np.where(is_inner, drawn.labels[drawn.rows], -1)
        across = _discriminant_directions(scaled, labels)
        names = [f"across clusters {i + 1}" for i in range(across.shape[1])]
        names = _name_directions(names, across, scaled, is_inner, columns)
        if len(names) == 2:
            help_text = "directions that separate the clusters best, relative to their width"
            yield Projection(names, across, "across the clusters", help_text)
        elif names:
            help_text = "the direction that separates the clusters best, and a principal component"
            inner = components[is_inner, :2]
            lengths = np.linalg.norm(inner, axis=0)
            overlap = np.abs(across[is_inner, 0] @ inner) / np.where(lengths > 0, lengths, 1)
            shown = (0, 1 + int(np.argmin(overlap))) if drawn.features is None else ()
            yield Projection(names, across, "across the clusters", help_text, shown)
    names = [f"component {i + 1}, {round(100 * share)} %" for i, share in enumerate(shares)]
    names = _name_directions(names, components, scaled, is_inner, columns)
    help_text = "directions of the largest variance of the inner 98 % of the rows, with its share"
    yield Projection(names, components, "principal components", help_text)
    if values.shape[1] > MAP_COLUMNS:
        yield from _neighbor_map(scaled, drawn.is_typical, drawn.random_state)


def _eigenspace(drawn: Drawn) -> Iterator[Projection]:
    """Yield the eigenspace of a spectral model."""
    values = np.asarray(getattr(drawn.model, "projections_", ()), dtype=np.float64)
    if len(values) == len(drawn.X):
        values = values[drawn.rows, :MAX_COMPONENTS]
        names = [f"eigenspace {k + 1}" for k in range(values.shape[1])]
        help_text = "coordinates in which the model clusters"
        yield Projection(names, values, "eigenspace", help_text, (0, 1) if len(names) > 1 else ())


def separation_by_column(values: Array, labels: Array) -> Array:
    """Return the spread of the cluster means in each column relative to its own, (d,).

    With a single cluster: 1 for columns that vary, 0 for the others.
    """
    clusters = np.unique(labels[labels >= 0])[:MAX_COLUMNS]
    spread = values.std(axis=0)
    if len(clusters) < 2:
        return (spread > 0).astype(np.float64)
    means = np.stack([values[labels == k].mean(axis=0) for k in clusters])
    return np.asarray(means.std(axis=0) / np.where(spread > 0, spread, 1))


def bound(values: Array) -> Array:
    """Fill gaps with zero and scale each column by its largest value, so no square overflows."""
    values = np.nan_to_num(values.astype(np.float64))
    largest = np.abs(values).max(axis=0)
    return np.asarray(values / np.where(largest > 0, largest, 1))


def _inner_rows(values: Array, is_typical: Array) -> Array:
    """Return a mask of the typical rows without the 2% farthest from the center, (m,)."""
    if is_typical.sum() < 2:
        return np.ones(len(values), bool)
    low, middle, high = np.quantile(values[is_typical], [0.16, 0.5, 0.84], axis=0)
    spread = np.where(high > low, high - low, values[is_typical].std(axis=0))
    distance = np.linalg.norm((values - middle) / np.where(spread > 0, spread, 1), axis=1)
    return np.asarray(is_typical & (distance <= np.quantile(distance[is_typical], INNER_SHARE)))


def _principal_components(scaled: Array, is_inner: Array, random_state: int) -> tuple[Array, Array]:
    """Return components of the inner rows for all rows, (m, ≤ 3), and their variance shares."""
    size = min(MAX_COMPONENTS, int(is_inner.sum()), scaled.shape[1])
    if size < 2 or not scaled[is_inner].any():
        return np.column_stack([scaled[:, :1], np.zeros((len(scaled), 1))]), np.array([1.0, 0.0])
    pca = PCA(size, random_state=random_state).fit(scaled[is_inner])
    return np.asarray(pca.transform(scaled)), pca.explained_variance_ratio_


def _discriminant_directions(scaled: Array, labels: Array) -> Array:
    """Return all rows along the directions that separate the clusters best, (m, ≤ 2).

    Only the columns with the largest separation take part: with too many, the directions would fit
    noise and show gaps that do not exist.
    """
    order = np.argsort(-separation_by_column(scaled, labels), kind="stable")
    scaled = scaled[:, order[:MAX_COLUMNS]]
    clusters, place = np.unique(labels[labels >= 0], return_inverse=True)
    if len(clusters) < 2:
        return np.empty((len(scaled), 0))
    inside = scaled[labels >= 0]
    means = np.stack([inside[place == k].mean(axis=0) for k in range(len(clusters))])  # (c, d)
    within = inside - means[place]
    covariance = within.T @ within / len(inside)
    variance = np.trace(covariance) / len(covariance)
    covariance += (RIDGE * variance or 1.0) * np.eye(len(covariance))
    between = means - means.mean(axis=0)
    directions = eigh(between.T @ between, covariance)[1][:, ::-1]  # the best first
    return np.asarray(scaled @ directions[:, : min(2, len(clusters) - 1)])


def _name_directions(
    names: list[str], directions: Array, scaled: Array, is_inner: Array, columns: Sequence[Any]
) -> list[str]:
    """Add the most correlated columns to names, with "−" for negative correlations.

    Directions are flipped in place so that the first column correlates positively.
    """
    if not columns:
        return names
    named = []
    for name, direction in zip(names, directions.T, strict=True):
        values = direction[is_inner] - direction[is_inner].mean()
        correlation = values @ scaled[is_inner]
        correlation /= np.linalg.norm(values) * np.sqrt(is_inner.sum()) or 1  # (d,)
        if correlation[np.argmax(np.abs(correlation))] < 0:
            direction *= -1
            correlation *= -1
        strongest = np.abs(correlation).max()
        order = np.argsort(-np.abs(correlation), kind="stable")[:MAX_NAMED]
        top = [k for k in order if strongest > 0 and abs(correlation[k]) >= 0.5 * strongest]
        texts = [("−" if correlation[k] < 0 else "") + shorten(columns[k], 20) for k in top]
        named.append(f"{name}: {', '.join(texts)}" if texts else name)
    return named


def _neighbor_map(scaled: Array, is_typical: Array, random_state: int) -> Iterator[Projection]:
    """Yield t-SNE coordinates of all rows, unless they are few.

    Beyond `MAX_MAPPED` rows a sample is mapped, and the others are placed at their nearest
    neighbor in the sample.
    """
    mapped = np.arange(len(scaled))
    if len(mapped) > MAX_MAPPED:
        generator = np.random.default_rng(random_state)
        atypical = generator.permutation(np.flatnonzero(~is_typical))[: MAX_MAPPED // 3]
        others = generator.permutation(np.flatnonzero(is_typical))[: MAX_MAPPED - len(atypical)]
        mapped = np.sort(np.concatenate([atypical, others]))
    if len(np.unique(scaled[mapped], axis=0)) < MIN_MAPPED:
        return
    if scaled.shape[1] > MAP_COMPONENTS:
        size = min(MAP_COMPONENTS, len(mapped))
        scaled = PCA(size, random_state=random_state).fit(scaled[mapped]).transform(scaled)
    perplexity = min(PERPLEXITY, (len(mapped) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, max_iter=500, init="pca", random_state=random_state)
    with stage("neighbor map"):
        coordinates = tsne.fit_transform(scaled[mapped])
    nearest = NearestNeighbors(n_neighbors=1).fit(scaled[mapped])
    place = nearest.kneighbors(scaled, return_distance=False)[:, 0]
    place[mapped] = np.arange(len(mapped))
    help_text = (
        "t-SNE: rows that are similar in all columns lie side by side; distances between clusters, "
        "and their sizes, mean little"
    )
    if len(mapped) < len(scaled):
        help_text += f"; computed from {len(mapped):,} rows, others lie at the nearest of these"
    names = ["neighbor map 1", "neighbor map 2"]
    yield Projection(names, coordinates[place].astype(np.float64), "neighbor map", help_text)
