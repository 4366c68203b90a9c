"""Constants of splitting in few and in many columns, with the splits for other values.

Tables are drawn without clusters, by numbers of rows and columns, and as blobs at known distances. As
in `calibration.answers`, every function takes whether to make more draws, and returns rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from families import FAMILIES as GROUPED
from families import ONE_GROUP, apart, arc, ring_in_columns

from calibration.rows import Row, mark, patched
from softkern import AlphaCutClustering
from softkern.density_tree import bandwidth_search as alpha_scales
from softkern.rows import Rows
from softkern.splitting import coordinates, curvature
from softkern.splitting import split as splitting
from softkern.splitting.coordinates import fit_coordinates
from softkern.splitting.mixture import fit_mixture
from softkern.splitting.observations import make_continuous, observation_rows
from softkern.splitting.settings import SPLITTING

SEED = 71  # different from the studies
CELLS = ((100, 5), (100, 20), (300, 5), (300, 20), (300, 100), (1000, 5), (1000, 20))
BLOBS = (((100, 100), 4), ((100, 100), 30), ((500, 500), 10), ((450, 50), 10), ((60, 60, 60), 13))
FAMILIES = ("uniform", "Gaussian", "autoregressive", "few factors", "t, 3 degrees", "exponential")
FAMILIES += ("lognormal", "ring", "thin ring", "rounded", "whole numbers", "repeated rows")
PROMISED = 0.03  # promised share of false splits
SCALES = (0.8, 1.0, 1.2)


def groups(X: np.ndarray) -> int:
    """Return the number of clusters found in a table."""
    rows = observation_rows(Rows(X), SPLITTING.max_rows)
    return 1 + int(splitting.split(make_continuous(X[rows])).max(initial=0))


def one_group(n: int, d: int, draws: int) -> Iterator[np.ndarray]:
    """Return tables without clusters, from every family with so many columns."""
    for number, name in enumerate(FAMILIES):
        if d in ONE_GROUP[name].columns:
            for k in range(draws):
                yield ONE_GROUP[name].draw(np.random.default_rng([SEED, number, n, d, k]), n, d)


def blobs(distance: float, draws: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    for number, (sizes, d) in enumerate(BLOBS):
        for k in range(draws):
            yield apart(np.random.default_rng([SEED, number, k]), sizes, d, distance)


def valleys(full: bool) -> list[Row]:
    """Measure significant depths of density gaps: false splits, and blobs separated."""
    draws, rows = 4 if full else 1, []
    tables = {(n, d): list(one_group(n, d, draws)) for n, d in CELLS}
    total = sum(map(len, tables.values()))
    for scale in SCALES:
        value = round(scale * SPLITTING.critical_depth, 3)
        with patched(splitting, SPLITTING=replace(SPLITTING, critical_depth=value)):
            split = {cell: sum(groups(X) > 1 for X in drawn) for cell, drawn in tables.items()}
            power = {
                distance: np.mean([groups(X) == y.max() + 1 for X, y in blobs(distance, draws)])
                for distance in (4.0, 5.0, 6.0)
            }
        share = sum(split.values()) / total
        text = f"{share:.1%} false splits; the number right at "
        text += ", ".join(f"{distance:g} s.d. {right:.0%}" for distance, right in power.items())
        is_over = scale == 1 and share > PROMISED
        rows.append(
            Row(
                "SPLITTING.critical_depth",
                mark(value, SPLITTING.critical_depth),
                text,
                f"{total} tables without groups, {len(BLOBS) * draws} of blobs at each distance",
                f"more than {PROMISED:.0%}" if is_over else "",
            )
        )
        if scale == 1:
            by_cell = [
                Row(
                    "SPLITTING.critical_depth",
                    f"  {n} × {d}",
                    f"{split[n, d]} of {len(drawn)}",
                    "split",
                )
                for (n, d), drawn in tables.items()
            ]
    return rows + by_cell


CURVES: dict[str, Callable[..., np.ndarray]] = {
    "ring": lambda r, n, d: ring_in_columns(r, n, d, 0.1),
    "wide ring": lambda r, n, d: ring_in_columns(r, n, d, 0.2),
    "arc of 180°": lambda r, n, d: arc(r, n, d, 180, 0.1),
    "arc of 270°": lambda r, n, d: arc(r, n, d, 270, 0.1),
    "wide arc of 240°": lambda r, n, d: arc(r, n, d, 240, 0.2),
}


def arms(full: bool) -> list[Row]:
    """Measure when two clusters are the arms of a curve: split curves, and joined Gaussians."""
    draws, rows = 6 if full else 2, []
    for scale in (0.5, 1.0, 1.5, np.inf):
        settings = replace(
            SPLITTING,
            curve_symmetric=scale * SPLITTING.curve_symmetric,
            curve_total=scale * SPLITTING.curve_total,
        )
        with patched(curvature, SPLITTING=settings):
            split = {
                name: np.mean([groups(X) > 1 for X in _curves(draw, number, draws)])
                for number, (name, draw) in enumerate(CURVES.items())
            }
            joined = [_is_joined(X, y) for X, y in blobs(4.0, draws) if y.max() == 1]
        text = ", ".join(f"{name} {share:.0%}" for name, share in split.items())
        rows.append(
            Row(
                "SPLITTING.curve_symmetric, curve_total, ×",
                mark(float(scale), 1.0),
                f"split: {text}; normal groups joined: {np.mean(joined):.0%}",
                f"{4 * draws} of each curve; {len(joined)} tables of two groups at 4 s.d.",
                "normal groups are joined" if scale == 1 and any(joined) else "",
            )
        )
    return rows


def _curves(draw: Callable[..., np.ndarray], number: int, draws: int) -> Iterator[np.ndarray]:
    for n in (200, 600):
        for d in (4, 6):
            for k in range(draws):
                yield draw(np.random.default_rng([SEED, number, n, d, k]), n, d)


def _is_joined(X: np.ndarray, y: np.ndarray) -> bool:
    mixture: Any = fit_mixture(X, y, 1)
    way = mixture.centers[1] - mixture.centers[0]
    order = np.random.default_rng(SEED).permutation(len(X))
    return curvature.is_curved(X[order] @ mixture.whitening, way, y[order] == 1)


def beyond(full: bool) -> list[Row]:
    """Measure the noise radius: rows beyond it without noise, and of planted noise."""
    draws, rows = 8 if full else 2, []
    for value in (1.5, 2.0, SPLITTING.noise_factor, 3.5):
        clean, planted = [], []
        with patched(coordinates, SPLITTING=replace(SPLITTING, noise_factor=value)):
            for k in range(draws):
                for d in (4, 10, 30):
                    r = np.random.default_rng([SEED, d, k])
                    X, y = apart(r, (500, 500), d, 8)
                    heavy = r.standard_t(3, X.shape) + (X - X.mean(axis=0)) * (y > 0)[:, None]
                    clean += [_beyond(X, y).mean(), _beyond(heavy, y).mean()]
                    X[:5] = 30 * np.eye(d)[r.integers(d)] + r.normal(size=(5, d))
                    planted.append(_beyond(X, y)[:5].mean())
        rows.append(
            Row(
                "SPLITTING.noise_factor",
                mark(value, SPLITTING.noise_factor),
                f"{np.mean(clean):.2%} of the rows, {np.mean(planted):.0%} of those planted",
                "two groups of 500 in 4, 10, 30 columns, normal and t; five rows at 30 s.d.",
                "planted rows are missed"
                if value == SPLITTING.noise_factor and min(planted) < 1
                else "",
            )
        )
    return rows


def _beyond(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    found = fit_coordinates(X, y)
    fitted = None if found is None else coordinates.fit_noise_radius(X, found[0], found[1].labels)
    return np.zeros(len(X), dtype=bool) if fitted is None else fitted.is_noise(X)


THIN = ("ring", "thin ring", "arc", "S-curve", "spiral arm")  # clusters torn by chance
FLAT = (
    "two rings",
    "three spirals",
    "two moons",
    "2 near blobs",
    "squares",
)  # clusters to separate


def gaps(full: bool) -> list[Row]:
    """Measure the density left in a gap of the alpha tree: torn curves, and separated clusters."""
    draws, rows = 6 if full else 2, []
    names = ("LEFT", "LEFT_CAUTIOUS")
    for scale in (0.5, 1.0, 1.5, np.inf):
        values = {name: scale * getattr(alpha_scales, name) for name in names}
        with patched(alpha_scales, **values):
            torn = [
                AlphaCutClustering().fit(X).n_clusters_ > 1
                for number, name in enumerate(THIN)
                for X in _planes(partial(ONE_GROUP[name].draw, d=2), number, draws)
            ]
            right = [
                AlphaCutClustering().fit(X).n_clusters_ == y.max() + 1
                for number, name in enumerate(FLAT)
                for X, y in _planes(GROUPED[name], number, draws)
            ]
        rows.append(
            Row(
                "alpha_scales.LEFT…, ×",
                mark(float(scale), 1.0),
                f"{np.mean(torn):.0%} of curves torn, the number right in {np.mean(right):.0%}",
                f"{len(torn)} curves, {len(right)} tables of groups; 200 and 1000 rows",
            )
        )
    return rows


def _planes(draw: Callable[..., Any], number: int, draws: int) -> Iterator[Any]:
    for n in (200, 1000):
        for k in range(draws):
            yield draw(np.random.default_rng([SEED, number, n, k]), n)


SPLITS: dict[str, Callable[[bool], list[Row]]] = {
    "valleys": valleys,
    "arms": arms,
    "beyond": beyond,
    "gaps": gaps,
}
