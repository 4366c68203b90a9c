"""Clusters with known densities, so that the posterior of every row is known.

Distances between centers lie in one column and are in standard deviations of the first cluster. The
other columns hold noise only. `studies/memberships.py` compares memberships with these posteriors. The
constants of the package were not tuned on these draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from families import Draw, disc
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from scipy.stats import lognorm, multivariate_t, norm

FREEDOM = 4  # degrees of the heavy-tailed clusters
SKEW = 0.5  # standard deviation of the logarithms of the skewed clusters
ARC_POINTS = 500  # of the sum that approximates the integral along a moon


class Part(NamedTuple):
    """One cluster: its generator (takes generator, rows, columns) and its log density."""

    sample: Callable[[np.random.Generator, int, int], np.ndarray]
    log_density: Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Known:
    """Clusters with known shares and densities.

    `degrees` turns the first two columns.
    """

    shares: tuple[float, ...]
    parts: tuple[Part, ...]
    degrees: float = 0.0

    def draw(self, r: np.random.Generator, n: int, d: int) -> Draw:
        """Return rows, (n, d), and their clusters, (n,)."""
        y = r.choice(len(self.shares), n, p=self.shares)
        X = np.empty((n, d))
        for k, part in enumerate(self.parts):
            X[y == k] = part.sample(r, int((y == k).sum()), d)
        return self._turned(X, self.degrees), y

    def posterior(self, X: np.ndarray) -> np.ndarray:
        """Return the probability of each cluster, (n, clusters)."""
        straight = self._turned(X, -self.degrees)
        logs = np.column_stack([part.log_density(straight) for part in self.parts])
        logs += np.log(self.shares)
        return np.exp(logs - logsumexp(logs, axis=1, keepdims=True))

    def _turned(self, X: np.ndarray, degrees: float) -> np.ndarray:
        if degrees == 0:
            return X
        cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))
        turned = X.copy()
        turned[:, :2] = X[:, :2] @ np.array([[cos, sin], [-sin, cos]])
        return turned


# Noise with mean zero and standard deviation one in every column (t: scale one)


def _sample_t(r: np.random.Generator, n: int, d: int) -> np.ndarray:
    return r.normal(size=(n, d)) / np.sqrt(r.chisquare(FREEDOM, (n, 1)) / FREEDOM)


def _t_log_density(Z: np.ndarray) -> np.ndarray:
    return np.atleast_1d(multivariate_t(shape=np.eye(Z.shape[1]), df=FREEDOM).logpdf(Z))


_LOG_MEAN, _LOG_SCALE = lognorm(SKEW).mean(), lognorm(SKEW).std()


def _sample_skewed(r: np.random.Generator, n: int, d: int) -> np.ndarray:
    return (np.exp(SKEW * r.normal(size=(n, d))) - _LOG_MEAN) / _LOG_SCALE


def _skewed_log_density(Z: np.ndarray) -> np.ndarray:
    density = lognorm(SKEW, loc=-_LOG_MEAN / _LOG_SCALE, scale=1 / _LOG_SCALE)
    return np.asarray(density.logpdf(Z).sum(axis=1))


def _sample_disc(r: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.c_[2 * disc(r, n), np.sqrt(3) * r.uniform(-1, 1, (n, d - 2))]


def _disc_log_density(Z: np.ndarray) -> np.ndarray:
    is_inside = np.hypot(Z[:, 0], Z[:, 1]) <= 2
    is_inside &= (np.abs(Z[:, 2:]) <= np.sqrt(3)).all(axis=1)
    volume = 4 * np.pi * (2 * np.sqrt(3)) ** (Z.shape[1] - 2)
    with np.errstate(divide="ignore"):
        return np.log(is_inside / volume)


NOISE: dict[str, Part] = {
    "normal": Part(lambda r, n, d: r.normal(size=(n, d)), lambda Z: norm.logpdf(Z).sum(axis=1)),
    "t": Part(_sample_t, _t_log_density),
    "skewed": Part(_sample_skewed, _skewed_log_density),
    "disc": Part(_sample_disc, _disc_log_density),
}


def placed(noise: str, place: float, scale: float = 1.0, stretch: float = 1.0) -> Part:
    """Return a cluster at a place in the first column.

    All columns are multiplied by `scale`, the second by `stretch` too.
    """

    def columns(d: int) -> tuple[np.ndarray, np.ndarray]:
        center, scales = np.zeros(d), np.full(d, scale)
        center[0] = place
        scales[1:2] *= stretch
        return center, scales

    def sample(r: np.random.Generator, n: int, d: int) -> np.ndarray:
        center, scales = columns(d)
        return center + scales * NOISE[noise].sample(r, n, d)

    def log_density(X: np.ndarray) -> np.ndarray:
        center, scales = columns(X.shape[1])
        return NOISE[noise].log_density((X - center) / scales) - np.log(scales).sum()

    return Part(sample, log_density)


def moon(is_second: bool, width: float) -> Part:
    """Return a half circle as in scikit-learn's make_moons, with normal noise in all columns."""

    def points(angle: np.ndarray, d: int) -> np.ndarray:
        line = np.zeros((len(angle), d))
        line[:, 0], line[:, 1] = np.cos(angle), np.sin(angle)
        if is_second:
            line[:, 0], line[:, 1] = 1 - line[:, 0], 0.5 - line[:, 1]
        return line

    def sample(r: np.random.Generator, n: int, d: int) -> np.ndarray:
        return points(r.uniform(0, np.pi, n), d) + width * r.normal(size=(n, d))

    def log_density(X: np.ndarray) -> np.ndarray:
        d = X.shape[1]
        angles = (np.arange(ARC_POINTS) + 0.5) * np.pi / ARC_POINTS
        squares = cdist(X, points(angles, d), "sqeuclidean") / width**2
        constant = np.log(ARC_POINTS) + d * np.log(np.sqrt(2 * np.pi) * width)
        return np.asarray(logsumexp(-squares / 2, axis=1) - constant)

    return Part(sample, log_density)


def two(noise: str, apart: float, share: float = 0.5) -> Known:
    """Return two clusters of the same shape; `share` is that of the first one."""
    return Known((share, 1 - share), (placed(noise, 0), placed(noise, apart)))


def three_unequal(apart: float) -> Known:
    """Return a large wide cluster between two smaller ones, with standard deviations 1, .5, .8."""
    places = ((0.0, 1.0), (apart, 0.5), (-apart, 0.8))
    return Known((0.6, 0.3, 0.1), tuple(placed("normal", *place) for place in places))


def elongated(apart: float) -> Known:
    """Return two normal clusters side by side, of standard deviations 1 and 3, turned."""
    parts = tuple(placed("normal", place, stretch=3) for place in (0, apart))
    return Known((0.5, 0.5), parts, degrees=30)


def two_moons(width: float) -> Known:
    return Known((0.5, 0.5), (moon(False, width), moon(True, width)))


EQUAL = "two equal"
NORMAL: dict[str, Known] = {
    **{f"{EQUAL}, {s:g} s.d.": two("normal", s) for s in (1, 2, 3, 4, 5)},
    **{f"85:15, {s:g} s.d.": two("normal", s, 0.85) for s in (3, 4, 5)},
    **{f"three unequal, {s:g} s.d.": three_unequal(s) for s in (3, 4, 5)},
    **{f"elongated, {s:g} s.d.": elongated(s) for s in (3, 4)},
}
# only with nothing given, where the question is from which distance on two are found
BETWEEN: dict[str, Known] = {f"{EQUAL}, {s:g} s.d.": two("normal", s) for s in (2.5, 3.5)}
OTHER: dict[str, Known] = {
    **{f"t({FREEDOM}), {s:g} scales": two("t", s) for s in (3, 4, 5)},
    **{f"skewed, {s:g} s.d.": two("skewed", s) for s in (3, 4, 5)},
    **{f"discs, {s:g} s.d.": two("disc", s) for s in (2.5, 3, 3.5)},
    **{f"moons, noise {s:g}": two_moons(s) for s in (0.1, 0.2, 0.3)},
}
KNOWN = NORMAL | BETWEEN | OTHER

Cell = tuple[str, int]  # name and number of columns


def cells(families: dict[str, Known], columns: tuple[int, ...] = (2, 5, 20)) -> list[Cell]:
    """Return all combinations. Discs and moons have at most five columns."""
    few = ("discs", "moons")
    return [
        (name, d)
        for name, d in itertools.product(families, columns)
        if d <= 5 or not name.startswith(few)
    ]
