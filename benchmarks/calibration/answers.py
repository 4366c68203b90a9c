"""Tuned constants of the default results, with the results for other values.

Data are synthetic with known answers, or published data sets of the data folder. Every function takes
whether to make more draws, and returns rows: the constant, a value, the measurement and its size. A
verdict reports evidence against the value in the code.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import ranking as ranking_study
import real_data
from families import FAMILIES, STRUCTURELESS
from scipy.stats import spearmanr
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, roc_auc_score

import softkern
from calibration.rows import Row, mark, patched
from softkern import AlphaCutClustering, FuzzyCMeans, OneClassMixture, OneClassPCM, plan
from softkern.density_tree import landscape, tree
from softkern.kernels import bandwidths
from softkern.models import (
    alpha_cut,
    kernel_model,
    one_class_mixture,
    one_class_pcm,
    point_scores,
)
from softkern.ranking import calibration as ranks
from softkern.ranking.table import FALSE_ALARMS
from softkern.solvers import collapse, eigen

Draw = tuple[str, np.ndarray, np.ndarray]
CURVES = ("d = 1", "ring", "segment")  # one-dimensional data without clusters
SCALES = (0.6, 0.8, 1.0, 1.25, 1.6)
CONSTANT = re.compile(
    r"(?P<name>[A-Z][A-Z_]+) = (?P<value>[-\d][^#]*?|\([\d.]+[^#]*?)\s*(?:#\s*(?P<comment>.*))?"
)
AGREEMENT = 0.95  # of labels and ranks; above it an approximation counts as equal


def draws(
    families: dict[str, Any], full: bool, seed: int = 1, sizes: tuple[int, ...] = (200, 500)
) -> Iterator[Draw]:
    """Return name, points and labels of every family at a few sizes."""
    for number, (name, draw) in enumerate(families.items()):
        for n in (*sizes, 1000) if full else sizes:
            for k in range(4 if full else 1):
                drawn = draw(np.random.default_rng([seed, number, n, k]), n)
                X, y = drawn if isinstance(drawn, tuple) else (drawn, np.zeros(n, dtype=int))
                yield name, X, y


def found(labels: np.ndarray) -> int:
    return len(set(labels.tolist()) - {-1})


def worse(rows: list[tuple[Any, float]], current: Any, margin: float) -> str:
    """Return a verdict if another value is better than the one in the code by more than the margin."""
    scores = dict(rows)
    top = max(scores, key=lambda value: scores[value])
    return f"{top} is better" if scores[top] > scores[current] + margin else ""


# The tree


@cache
def fitted_trees(full: bool) -> dict[str, list[tuple[str, Any, np.ndarray]]]:
    """Return trees of draws with and without clusters."""
    families = {"clusters": FAMILIES, "none": STRUCTURELESS}
    return {
        kind: [(name, AlphaCutClustering().fit(X), y) for name, X, y in draws(chosen, full)]
        for kind, chosen in families.items()
    }


def significance(full: bool) -> list[Row]:
    """Measure how far branches stand out by chance, and the effect of other critical values."""
    rows = []
    largest: dict[bool, list[tuple[float, str]]] = {True: [], False: []}
    with patched(tree, CRITICAL_ERRORS=(1.0, 1.0)):  # significance in standard errors
        for seed in (1, 2):
            for name, X, _ in draws(STRUCTURELESS, full, seed):
                z = AlphaCutClustering().fit(X).tree_.significance.max(initial=-np.inf)
                largest[any(word in name for word in CURVES)].append((float(z), name))
    for is_curve, value in zip((True, False), tree.CRITICAL_ERRORS, strict=True):
        highest, name = max(largest[is_curve])
        z = np.array([z for z, _ in largest[is_curve]])
        what = "curves and one column" if is_curve else "areas and more dimensions"
        over = int((z > value).sum())
        rows.append(
            Row(
                "tree.CRITICAL_ERRORS",
                f"▸ {value}",
                f"largest z {highest:.2f} ({name}), 95 % below {np.quantile(z, 0.95):.2f}",
                f"{what} without structure, {len(z)} draws",
                f"{over} of {len(z)} exceed it" if over else "",
            )
        )
    trees = fitted_trees(full)
    evidence = f"{len(trees['none'])} draws without structure, {len(trees['clusters'])} with"
    for scale in SCALES:
        split = [found(m.tree_.significant_labels(scale)) > 1 for _, m, _ in trees["none"]]
        right = [
            found(m.tree_.significant_labels(scale)) == found(y) for _, m, y in trees["clusters"]
        ]
        text = f"{sum(split)} false splits, {np.mean(right):.0%} of the numbers right"
        rows.append(Row("tree.CRITICAL_ERRORS, ×", mark(scale, 1.0), text, evidence))
    return rows


def continuity(full: bool) -> list[Row]:
    """Measure observations removed from a branch per cell: one in the plane, half otherwise."""
    rows = []
    cases = list(draws({**FAMILIES, **STRUCTURELESS}, full))
    for in_plane, columns, current in ((True, "up to 2", 1.0), (False, "more than 2", 0.5)):
        chosen = [(X, y) for _, X, y in cases if (X.shape[1] <= landscape.PLANE) == in_plane]
        scores = []
        for value, limit in ((1.0, 10**6), (0.5, 0)):
            with patched(landscape, PLANE=limit):
                fits = [found(AlphaCutClustering().fit(X).labels_) for X, _ in chosen]
            right = np.mean([k == found(y) for k, (_, y) in zip(fits, chosen, strict=True)])
            scores.append((value, float(right)))
        for value, right in scores:
            is_current = value == current
            rows.append(
                Row(
                    f"Evidence.continuity, {columns} columns",
                    mark(value, current),
                    f"{right:.0%} of the numbers right",
                    f"{len(chosen)} draws with and without clusters",
                    worse(scores, current, 1 / len(chosen)) if is_current else "",
                )
            )
    return rows


def noise(full: bool) -> list[Row]:
    """Measure rules for noise: agreement with noise, and false noise without."""

    def nothing(scape: Any, labels: np.ndarray, fit_line: Any) -> np.ndarray:
        return np.full(int(labels.max()) + 1, -np.inf)

    def each_alone(scape: Any, labels: np.ndarray, fit_line: Any) -> np.ndarray:
        inside = [labels == c for c in range(int(labels.max()) + 1)]
        return np.array(
            [landscape._noise_level(scape.level[i], scape.mass[i], fit_line) for i in inside]
        )

    def not_shared(scape: Any, labels: np.ndarray, fit_line: Any) -> np.ndarray:
        is_exempt = labels.max() == 0 or scape.nodes.shape[1] == 1
        return (nothing if is_exempt else each_alone)(scape, labels, fit_line)

    variants = {
        "as they are": alpha_cut.noise_levels,
        "no noise at all": nothing,
        "no level shared": not_shared,
        "also one cluster, column": each_alone,
    }
    noisy = {
        name: FAMILIES[name]
        for name in ("blobs in noise", "2007 dense regions", "2010 six clusters")
    }
    clean = {k: v for k, v in FAMILIES.items() if k not in noisy}
    with_noise = [d for seed in range(3) for d in draws(noisy, full, seed, (500,))]
    without = list(draws({**clean, **STRUCTURELESS}, full, sizes=(300,)))
    evidence = f"{len(with_noise)} draws with noise, {len(without)} without"
    scores, rows = {}, []
    for name, variant in variants.items():
        with patched(alpha_cut, noise_levels=variant):
            fits = [AlphaCutClustering().fit(X).labels_ for _, X, _ in with_noise]
            false = [np.mean(AlphaCutClustering().fit(X).labels_ < 0) for _, X, _ in without]
        agreement = [
            adjusted_rand_score(y, labels)
            for labels, (_, _, y) in zip(fits, with_noise, strict=True)
        ]
        scores[name] = float(np.mean(agreement)) - float(np.mean(false))
        text = f"ARI {np.mean(agreement):.3f} with noise; false noise {np.mean(false):.2%}"
        rows.append(Row("landscape.noise_levels", mark(name, "as they are"), text, evidence))
    verdict = worse(list(scores.items()), "as they are", 0.01)
    return [row._replace(verdict=verdict) if row.value[0] == "▸" else row for row in rows]


# Ranking


class Scored(NamedTuple):
    """Outlier scores of a data set whose last points are planted outliers."""

    model: str
    kind: str
    scores: np.ndarray
    planted: int


@cache
def scored_sets(full: bool) -> list[Scored]:
    """Return data sets without outliers and with 5 %, scored by two models."""
    sets = []
    cases = itertools.product((100, 1000), ("gaussian", "uniform", "blobs"), (1, 2, 5, 10))
    for n, kind, d in cases:
        for draw in range((5 if full else 2) if n == 100 else 1):
            for share in (0.0, 0.05):
                rng = np.random.default_rng([n, d, draw, int(100 * share)])
                X, k = ranking_study.typical(kind, n, d, rng)
                far = round(share * n)
                X[n - far :] = ranking_study.planted(X[: n - far], far, rng)
                for model in (OneClassPCM(), FuzzyCMeans(k, n_init=1)):
                    scores = model.fit(X).outlier_scores_
                    sets.append(Scored(type(model).__name__, kind, scores, far))
    return sets


def is_flagged(scores: np.ndarray) -> np.ndarray:
    calibration = ranks.Calibration(scores, most=ranks.MOST_OUTLIERS)
    return calibration.surprisal(scores) > np.log10(len(scores) / FALSE_ALARMS)


def false_alarms(sets: list[Scored]) -> np.ndarray:
    """Return the number of flagged points in every data set without outliers."""
    return np.array([is_flagged(entry.scores).sum() for entry in sets if not entry.planted])


def share_found(sets: list[Scored]) -> float:
    """Return the share of planted outliers that are flagged."""
    mixed = [entry for entry in sets if entry.planted]
    return float(np.mean([is_flagged(e.scores)[-e.planted :].mean() for e in mixed]))


def tails(full: bool) -> list[Row]:
    """Measure false positives per data set without outliers, and detected outliers."""
    sets, rows = scored_sets(full), []
    groups = sorted({(entry.model, entry.kind) for entry in sets})
    for model, kind in groups:
        own = [entry for entry in sets if (entry.model, entry.kind) == (model, kind)]
        alarms = false_alarms(own)
        error = alarms.std(ddof=1) / np.sqrt(len(alarms))
        over = alarms.mean() - 2 * error > FALSE_ALARMS
        text = f"{alarms.mean():.2f} ± {error:.2f} false alarms a set, {share_found(own):.0%} found"
        what = f"▸ {FALSE_ALARMS} a set promised; {len(alarms)} sets without outliers each"
        verdict = "more than promised" if over else ""
        rows.append(Row("ranking.FALSE_ALARMS", f"  {model}, {kind}", text, what, verdict))
    choices: dict[str, tuple[Any, ...]] = {
        "LEFT_OUT_SURPRISAL": (2.5, 3.5, 5.0),
        "MOST_OUTLIERS": (0.04, 0.2, 0.4),
        "FINAL_TAIL": ((0.1, 0.05, 0.025), (0.2, 0.1, 0.05), (0.4, 0.2, 0.1)),
        "ROUGH_TAIL": ((0.4, 0.1), (0.5, 0.2), (0.6, 0.3)),
        "FEWEST_IN_TAIL": (5.0, 10.0, 30.0),
        "SHAPE_RANGE": ((0.01, 1.0), (0.1, 1.0), (0.3, 1.0)),
        "SHAPE_PRIOR_SPREAD": (0.03, 0.1, 0.3),
    }
    for name, values in choices.items():
        current = getattr(ranks, name)
        for value in sorted({*values, current}):
            with patched(ranks, **{name: value}):
                alarms, share = false_alarms(sets).mean(), share_found(sets)
            text = f"{alarms:.2f} false alarms a set, {share:.0%} found"
            rows.append(Row(f"ranking.{name}", mark(value, current), text, "the same sets"))
    return [*rows, _estimate_spread(full)]


def _estimate_spread(full: bool) -> Row:
    """Return the spread of Pickands' estimate of the shape, times √(points above the last)."""
    rng, n, share = np.random.default_rng(0), 2000, ranks.FINAL_TAIL[-1]
    estimates = []
    for _ in range(2000 if full else 400):
        gaps = np.diff(np.quantile(rng.exponential(size=n), [1 - s for s in ranks.FINAL_TAIL]))
        estimates.append(np.log2(gaps[1] / gaps[0]))
    spread = float(np.std(estimates) * np.sqrt(share * n))
    value = ranks.SHAPE_ESTIMATE_SPREAD
    return Row(
        "ranking.SHAPE_ESTIMATE_SPREAD",
        f"▸ {value}",
        f"{spread:.2f}",
        f"standard deviation over {len(estimates)} draws of exponential scores",
        "" if 0.8 < spread / value < 1.25 else "measured differently",
    )


# Bandwidths


def outlier_sets(full: bool) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """Return data sets with labeled outliers: synthetic ones, and ADBench if available."""
    sets = []
    for kind in ("gaussian", "uniform", "blobs"):
        for d in (2, 10):
            rng = np.random.default_rng(d)
            X, _ = ranking_study.typical(kind, 500, d, rng)
            box = rng.uniform(1.3 * X.min(axis=0), 1.3 * X.max(axis=0), size=(50, d))
            sets.append((f"{kind}, {d}", np.vstack([X, box]), np.repeat([0, 1], [500, 50])))
    if real_data.data_folder() is None:
        return sets
    named = ("Hepatitis", "Pima", "Stamps", "WBC", "breastw", "glass")
    for name in (*named, "cardio", "vowels", "letter") if full else named:
        bunch = real_data.load_dataset(f"adbench/{name}")
        sets.append((name, bunch.data.to_numpy(float), np.asarray(bunch.target)))
    return sets


def scanned(
    module: Any, name: str, values: Iterable[Any], measure: Callable[[], float], what: str,
    unit: str, margin: float,
) -> list[Row]:  # fmt: skip
    """Return one row per value of a constant, with a verdict if another value is clearly better."""
    current = getattr(module, name)
    scores = []
    for value in dict.fromkeys((*values, current)):
        with patched(module, **{name: value}):
            scores.append((value, measure()))
    title = f"{module.__name__.split('.')[-1]}.{name}"
    verdict = worse(scores, current, margin)
    if np.ptp([score for _, score in scores]) < 1e-3:
        verdict = "no effect on these data"
    return [
        Row(title, mark(v, current), f"{unit} {s:.3f}", what, verdict if v == current else "")
        for v, s in sorted(scores)
    ]


def outlier_bandwidth(full: bool) -> list[Row]:
    """Measure the bandwidth of the detectors: mean AUROC of OneClassPCM."""
    sets = outlier_sets(full)

    def auroc() -> float:
        return float(
            np.mean([roc_auc_score(y, OneClassPCM().fit(X).outlier_scores_) for _, X, y in sets])
        )

    what = f"mean over {len(sets)} sets with labeled outliers"
    return [
        *scanned(
            bandwidths,
            "AUTO_FACTORS",
            ((0.2, 0.5), (0.4, 0.5), (0.5, 0.5), (0.3, 0.3), (0.3, 0.7)),
            auroc,
            what,
            "AUROC",
            0.005,
        ),
        *scanned(bandwidths, "AUTO_CLIP", (0.5, 0.75, 1.0), auroc, what, "AUROC", 0.005),
        *scanned(one_class_pcm, "WIDE", (1.4, 2.0, 5.0), auroc, what, "AUROC", 0.005),
        *scanned(one_class_pcm, "WIDEST", (0.5, 1.4, 2.0), auroc, what, "AUROC", 0.005),
    ]


def tree_bandwidth(full: bool) -> list[Row]:
    """Measure the bandwidth of the alpha tree: correct numbers of clusters."""
    families = {**FAMILIES, **STRUCTURELESS}
    cases = list(draws(families, full, sizes=(300,)))

    def right() -> float:
        return float(
            np.mean([found(AlphaCutClustering().fit(X).labels_) == found(y) for _, X, y in cases])
        )

    what = f"share of {len(cases)} draws with and without clusters"
    factors = (1 / 16, 1 / 8, 1 / 2, 1.0)
    rows = scanned(bandwidths, "TREE_FACTOR", factors, right, what, "right", 1.5 / len(cases))
    cases = [
        (name, X, y)
        for seed in range(24)
        for name, X, y in (
            ("blobs", *make_blobs(40, 2, centers=[[0, 0], [6, 0]], random_state=seed)),
            ("one", np.random.default_rng(seed).normal(size=(40, 2)), np.zeros(40, dtype=int)),
        )
    ]
    what = f"share of {len(cases)} draws of 40 points, one cluster or two"
    few = scanned(bandwidths, "LEAST_NEIGHBOR", (2, 3, 8), right, what, "right", 1.5 / len(cases))
    return rows + few


# Clusters


def labeled_sets() -> list[tuple[np.ndarray, np.ndarray]]:
    """Return fast labeled data sets of the one-class mixture's study."""
    sets = [
        make_blobs(150, d, centers=k, cluster_std=std, random_state=d)
        for d, k, std in ((2, 3, 1.0), (2, 4, 2.0), (5, 3, 2.5), (10, 4, 4.0))
    ]
    for name in ("iris", "wine") if real_data.data_folder() is not None else ():
        bunch = real_data.load_dataset(name)
        X = bunch.data.to_numpy(float)
        sets.append((X / X.std(axis=0), np.asarray(bunch.target)))
    return sets


def mixture_scale(full: bool) -> list[Row]:
    """Measure the softness of the one-class mixture, relative to its critical scale."""
    sets, seeds = labeled_sets(), range(4 if full else 1)
    rows = []
    for formulation in ("svdd", "ocsvm"):

        def agreement(formulation: str = formulation) -> float:
            values = []
            for X, y in sets:
                for seed in seeds:
                    options = {"formulation": formulation, "random_state": seed}
                    model = OneClassMixture(found(y), n_init=2, max_iter=100, **options).fit(X)
                    values.append(adjusted_rand_score(y, model.labels_))
            return float(np.mean(values))

        what = f"{formulation}, mean over {len(sets)} sets, {len(seeds)} seeds"
        shares = (0.02, 0.05, 0.2, 0.5)
        rows += scanned(one_class_mixture, "AUTO_SCALE", shares, agreement, what, "ARI", 0.02)
    return rows


def safe_ratio(full: bool) -> list[Row]:
    """Measure the collapse ratio for m="auto": clear memberships, and iterations."""
    rows = []
    sets = [(X, y) for X, y in labeled_sets() if len(X) < 200]
    goals = (1.01, 1.05, 1.1, 1.2, 1.5, 2.0)
    for goal in goals:
        spread, steps, agreement, done = [], [], [], []
        for X, y in sets:
            bandwidth = 0.4 * np.asarray(bandwidths.select_bandwidth(X, "global"))
            operator = plan(X, bandwidth=bandwidth).build(X)
            eigenvalue = collapse.collapse_eigenvalue(operator, np.ones(len(X)))
            m = collapse.largest_m(eigenvalue, 2.0, goal=goal)
            model = FuzzyCMeans(found(y), m=m, bandwidth=bandwidth, max_iter=1000).fit(X)
            spread.append(model.memberships_.max(axis=1).mean() * found(y))
            steps.append(model.n_iter_)
            done.append(model.converged_)
            agreement.append(adjusted_rand_score(y, model.labels_))
        text = (
            f"largest membership {np.mean(spread):.2f}/c, ARI {np.mean(agreement):.3f}, "
            f"{np.mean(steps):.0f} steps, {np.mean(done):.0%} converged"
        )
        what = f"{len(sets)} sets, narrow kernel, the m of this ratio (2 at most)"
        rows.append(Row("collapse.SAFE_RATIO", mark(goal, collapse.SAFE_RATIO), text, what))
    return rows


def same_points(full: bool) -> list[Row]:
    """Measure the cosine of two centers' coefficients: distance and accuracy of clusters."""
    fits = []
    for seed in range(10 if full else 4):
        for distance in (0.0, 2.0, 2.5, 3.0, 3.5, 4.0, 6.0):
            X, y = make_blobs(200, 2, centers=[[0, 0], [distance, 0]], random_state=seed)
            for model in (FuzzyCMeans(2), softkern.PossibilisticCMeans(2)):
                labels = model.fit(X).labels_
                # above the larger half: information of the labels, at most 1
                right = 2 * abs(np.mean(labels == y) - 0.5) if distance else 0.0
                fits.append((_cosine(model, len(X)), right))
    cosine, right = np.array(fits).T
    bounds = (0.0, 0.9, 0.97, 0.99, 0.999, 1.0 + 1e-9)
    rows = []
    for low, high in itertools.pairwise(bounds):
        inside = (cosine > low) & (cosine <= high)
        if inside.any():
            text = f"{inside.sum()} fits; labels know {right[inside].mean():.0%} of the groups, "
            text += f"{right[inside].max():.0%} at most"
            value = mark(low, collapse.SAME_POINTS)
            what = f"cosines above the value; {len(fits)} fits of two clusters to one blob or two"
            rows.append(Row("collapse.SAME_POINTS", value, text, what))
    return rows


def _cosine(model: Any, n: int) -> float:
    A = np.zeros((n, 2))
    A[model.support_] = model.dual_coef_
    return float(A[:, 0] @ A[:, 1] / np.linalg.norm(A[:, 0]) / np.linalg.norm(A[:, 1]))


def isolated(full: bool) -> list[Row]:
    """Measure which points are excluded from spectral clustering: blobs with distant single points."""
    cases = []
    for seed in range(8 if full else 3):
        X, y = make_blobs(200, 2, centers=[[0, 0], [6, 0], [0, 7]], random_state=seed)
        for reach in (3, 4, 5, 6, 8):  # bandwidths beyond three standard deviations of the blobs
            angles = np.random.default_rng(seed).uniform(0, 2 * np.pi, 6)
            far = 12 + reach * np.arange(1, 7)
            cases.append(
                (np.vstack([X, np.c_[np.cos(angles), np.sin(angles)] * far[:, None]]), y, len(X))
            )

    def agreement() -> float:
        values = []
        for X, y, inside in cases:
            model = softkern.KernelSpectralClustering(3, bandwidth=1.0).fit(X)
            values.append(adjusted_rand_score(y, model.labels_[:inside]))
        return float(np.mean(values))

    what = f"ARI of three blobs, {len(cases)} sets with 6 single points far away, bandwidth 1"
    values = (1e-1, 1e-2, 1e-4, 1e-6, 1e-9)
    return scanned(eigen, "ISOLATED", values, agreement, what, "ARI", 0.02)


# Approximations


class LowRank(NamedTuple):
    """Agreement of a low-rank fit with the exact one."""

    model: str
    error: float  # relative to the trace
    labels: float  # adjusted Rand index; for detectors the share of equal predictions
    ranks: float  # rank correlation of the outlier scores

    @property
    def agrees(self) -> bool:
        """Whether the approximation has the same result."""
        return min(self.labels, self.ranks) >= AGREEMENT


def low_ranks(full: bool) -> list[LowRank]:
    """Fit all models at ranks from a few landmarks to nearly all."""
    fits = []
    for seed, d in ((s, d) for s in range(3 if full else 1) for d in (2, 6)):
        X = make_blobs(200, d, centers=3, cluster_std=1.5, random_state=seed)[0]
        for name, model in ranking_study.models(3):
            exact = model.set_params(engine="dense", engine_params=None).fit(X)
            labels, scores = exact.predict(X), exact.outlier_scores_
            for rank in (3, 5, 8, 15, 30, 60, 120):
                model.set_params(engine="nystroem", engine_params={"rank": rank}).fit(X)
                found_labels = model.predict(X)
                is_equal = float(np.mean(found_labels == labels))
                is_detector = not hasattr(model, "labels_")
                agreement = is_equal if is_detector else adjusted_rand_score(labels, found_labels)
                order = agreement_of_ranks(scores, model.outlier_scores_)
                fits.append(LowRank(name, model.approximation_error_, agreement, order))
    return fits


def agreement_of_ranks(one: np.ndarray, two: np.ndarray) -> float:
    return float(spearmanr(np.round(one, 6), np.round(two, 6)).statistic)


def approximation(full: bool) -> list[Row]:
    """Measure labels and ranks of all models by the missing part of the trace."""
    bounds = (0.0, 1e-4, 1e-3, 0.01, 0.05, 0.1, 0.3, 1.0)
    rows, table = [], low_ranks(full)
    what = f"errors up to the value and above the one before, {len(table)} fits of all models"
    for low, high in itertools.pairwise(bounds):
        inside = [fit for fit in table if low < fit.error <= high]
        if inside:
            share = np.mean([fit.agrees for fit in inside])
            labels = min(inside, key=lambda fit: fit.labels)
            order = min(inside, key=lambda fit: fit.ranks)
            text = f"{share:.0%} of {len(inside)} agree; lowest: labels {labels.labels:.2f} "
            text += f"({labels.model}), ranks {order.ranks:.2f} ({order.model})"
            verdict = "disagreement without a warning" if high <= kernel_model.LARGE_ERROR else ""
            verdict = verdict if share < 1 else ""
            value = mark(high, kernel_model.LARGE_ERROR)
            rows.append(Row("models.kernel_model.LARGE_ERROR", value, text, what, verdict))
    for name in dict.fromkeys(fit.model for fit in table):
        own = sorted((fit for fit in table if fit.model == name), key=lambda fit: fit.error)
        wrong = [fit for fit in own if not fit.agrees]
        reached = max(
            (fit.error for fit in own if not wrong or fit.error < wrong[0].error), default=0
        )
        what = f"by model: the error up to which labels and ranks agree to {AGREEMENT}"
        verdict = (
            "below the value in the code" if reached < kernel_model.LARGE_ERROR and wrong else ""
        )
        rows.append(
            Row("models.kernel_model.LARGE_ERROR", f"  {name}", f"{reached:.2g}", what, verdict)
        )
    return rows


def least_left(full: bool) -> list[Row]:
    """Measure what remains of an approximate sum without a point's own term."""
    X = make_blobs(200, 2, centers=[[0, 0], [6, 6], [0, 8]], random_state=0)[0]
    X = np.vstack([X, np.random.default_rng(0).uniform(-8, 16, size=(20, 2))])
    makers = {
        "OneClassPCM": lambda **own: OneClassPCM(**own),
        "FuzzyCMeans": lambda **own: FuzzyCMeans(3, **own),
        "PossibilisticCMeans": lambda **own: softkern.PossibilisticCMeans(3, **own),
    }
    narrow = 0.5 * np.asarray(bandwidths.select_bandwidth(X))  # nearly isolated points
    exact = {
        name: make(engine="dense", bandwidth=narrow).fit(X).outlier_scores_
        for name, make in makers.items()
    }

    def agreement() -> float:
        values = []
        for name, make in makers.items():
            for rank in (40, 80, 160):
                options = {"engine": "nystroem", "engine_params": {"rank": rank}}
                model = make(bandwidth=narrow, **options).fit(X)
                values.append(agreement_of_ranks(exact[name], model.outlier_scores_))
        return float(np.mean(values))

    what = "rank correlation with the exact scores, 3 models at 3 ranks, narrow kernel, 20 outliers"
    values = (1e-1, 1e-2, 1e-4, 1e-6)
    return scanned(point_scores, "LEAST_LEFT", values, agreement, what, "correlation", 0.01)


# Constants without a measurement


def unmeasured(full: bool) -> list[Row]:
    """List constants without a measurement, with their comments in the code."""
    source, rows = Path(softkern.__file__).parent, []
    measured = Path(__file__).read_text()
    for folder in (
        "density_tree",
        "kernels",
        "metrics",
        "models",
        "ranking",
        "rules",
        "solvers",
        "selection",
    ):
        for path in sorted((source / folder).glob("*.py")):
            for line in path.read_text().splitlines():
                match = CONSTANT.fullmatch(line)
                if match and match["name"] not in measured:
                    title = f"{folder}.{path.stem}"
                    value = f"{match['name']} = {match['value']}"
                    rows.append(Row(title, value, match["comment"] or "", "not measured here"))
    return rows


ANSWERS: dict[str, Callable[[bool], list[Row]]] = {
    "significance": significance,
    "continuity": continuity,
    "noise": noise,
    "tails": tails,
    "outlier-bandwidth": outlier_bandwidth,
    "tree-bandwidth": tree_bandwidth,
    "mixture-scale": mixture_scale,
    "safe-ratio": safe_ratio,
    "same-points": same_points,
    "isolated": isolated,
    "approximation": approximation,
    "least-left": least_left,
    "unmeasured": unmeasured,
}
