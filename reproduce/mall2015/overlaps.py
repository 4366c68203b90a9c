"""Table 3 and section 4: which rows are overlap points, and how eq. 4 ranks them.

Models are trained on random subsets. σ is the one of those tried whose mean number of overlap
points is nearest to that of Table 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import kendalltau

from reproduce.checks import Entry, Experiment, Measured, Setting
from reproduce.mall2015.fits import fitted, gap
from reproduce.mall2015.printed import A1, FINLAND, JOENSUU, OVERLAPS, TABLE_1, TAU

__all__ = ["LOW", "a1_overlaps", "correlations", "finland_overlaps", "joensuu_overlaps"]

SIGMAS = {
    A1: (1400.0, 1600.0, 1800.0, 2000.0),
    FINLAND: (4000.0, 8000.0, 12000.0, 16000.0, 20000.0, 25000.0, 30000.0),
    JOENSUU: (0.25, 0.3, 0.4, 0.5, 0.6, 0.7),
}
TRAINING = {A1: 900, FINLAND: 300, JOENSUU: 300}
SPLITS = 20
QUICK_SPLITS = {A1: 20, FINLAND: 6, JOENSUU: 20}  # A1 depends on which classes have a code word
LOW = 0.3  # bound of a low correlation
ENOUGH = 6  # out of eight rows
CLASS_OF_A1 = 14  # of all eight rows of A1 in Table 3
WHOLE, OTHER, LACKING = (
    "every class has a code word",
    "another class lacks one",
    "their class lacks one",
)


def overlap_of(X: Any, name: str, sigma: float, n_train: int, seed: int, y: Any) -> Any:
    """Return counts, flagged printed rows, classes without a cluster, and correlations of eq. 4."""
    model = fitted(X, TABLE_1[name][0], sigma, n_train, seed, assignment="codebook")
    if model is None:
        return None
    is_outlier, is_overlap = model.detect()
    rows = np.array(OVERLAPS[name]) - 1
    return {
        "overlap": int(is_overlap.sum()),
        "outliers": int(is_outlier.sum()),
        "flagged": int(is_overlap[rows].sum()),
        "largest": float(model.memberships_[rows].max(axis=1).mean()),
        "missing": _missing(y, model.labels_),
        "tau": _taus(model, X, is_overlap, seed),
    }


def _missing(y: Any, labels: Any) -> tuple[int, ...]:
    """Return the classes that are not the most frequent one of any cluster."""
    if y is None:
        return ()
    owners = set()
    for label in np.unique(labels):
        classes, counts = np.unique(y[labels == label], return_counts=True)
        owners.add(classes[np.argmax(counts)])
    return tuple(int(c) for c in np.unique(y) if c not in owners)


def _taus(model: Any, X: Any, is_overlap: Any, seed: int) -> Any:
    """Return τ of eq. 4 and of its distances with D-Rank and IR-Rank, over the overlap points."""
    rows = np.flatnonzero(is_overlap)
    if len(rows) < 5:
        return None
    if len(rows) > 400:  # enough for a correlation
        rows = np.random.default_rng(seed).choice(rows, 400, replace=False)
    scores = model.overlap_scores(X[rows], variant="2015")
    similarity = model.mean_similarity_[rows]
    ranks = cdist(model.projections_[rows], model.projections_).sum(axis=1), -similarity
    return [
        float(kendalltau(score, rank).statistic)
        for score in (scores, scores * similarity)  # eq. 4 divides by the similarity
        for rank in ranks
    ]


def _overlaps(setting: Setting, name: str) -> dict[float, list[Any]]:
    """Return the results of random splits by σ."""

    def compute() -> dict[float, list[Any]]:
        bunch = setting.data(name)
        X, y = bunch.data.to_numpy(float), bunch.target
        splits = setting.draws(QUICK_SPLITS[name], SPLITS)
        cases = [
            (X, name, sigma, TRAINING[name], setting.seed + split, y)
            for sigma in SIGMAS[name]
            for split in range(splits)
        ]
        outputs = iter(setting.each(overlap_of, cases, f"splits of {name}"))
        by_sigma = {sigma: [next(outputs) for _ in range(splits)] for sigma in SIGMAS[name]}
        return {s: [a for a in row if a is not None] for s, row in by_sigma.items()}

    output: dict[float, list[Any]] = setting.once(f"overlaps of {name}", compute)
    return output


def _chosen(results: dict[float, list[Any]], name: str) -> float:
    """Return the σ whose mean number of overlap points is nearest to the printed one."""
    return min(results, key=lambda s: gap([_mean(results[s], "overlap")], [TABLE_1[name][1]]))


def _mean(fits: Sequence[Any], what: str) -> float:
    return float(np.mean([fit[what] for fit in fits]))


def _share(fits: Sequence[Any]) -> float:
    """Return the share of fits that flag enough of the rows."""
    return float(np.mean([fit["flagged"] >= ENOUGH for fit in fits]))


def a1_overlaps(setting: Setting) -> Measured:
    """Check Table 3, A1."""
    results = _overlap_check(setting, A1)
    fits = [fit for row in _overlaps(setting, A1).values() for fit in row]
    groups = {WHOLE: [], OTHER: [], LACKING: []}  # type: dict[str, list[bool]]
    for fit in fits:
        name = LACKING if CLASS_OF_A1 in fit["missing"] else OTHER if fit["missing"] else WHOLE
        groups[name].append(fit["flagged"] >= ENOUGH)
    own, others = groups[LACKING], groups[WHOLE] + groups[OTHER]
    text = f"of {len(own)} splits in which their class has no code word {sum(own)} flag them, of "
    text += f"{len(others)} others {sum(others)}."
    experiment = Experiment(
        f"Which splits, of all σ, flag the eight rows, all members of class {CLASS_OF_A1}",
        ("splits in which", "number", f"{ENOUGH} or more of the rows flagged"),
        [(name, str(len(flags)), str(sum(flags))) for name, flags in groups.items()],
        f"A class without a code word has no cluster of its own, and its members lie between "
        f"those of others: {text}",
    )
    why = f"{results.why} At all σ, {text}"
    return Measured(
        results.entries, why, results.draws, results.tried, [*results.experiments, experiment]
    )


def joensuu_overlaps(setting: Setting) -> Measured:
    """Check Table 3, Mopsi Joensuu."""
    return _overlap_check(setting, JOENSUU)


def finland_overlaps(setting: Setting) -> Measured:
    """Check Table 3, Mopsi Finland."""
    return _overlap_check(setting, FINLAND)


def _overlap_check(setting: Setting, name: str) -> Measured:
    results = _overlaps(setting, name)
    n, sigma = setting.used[name].rows, _chosen(results, name)
    fits = results[sigma]
    share, flagged = _share(fits), _mean(fits, "flagged")
    chance = 8 * _mean(fits, "overlap") / n
    excess = [fit["flagged"] - 8 * fit["overlap"] / n for fit in fits]
    error = float(np.std(excess, ddof=1) / np.sqrt(len(fits)))
    entries = [
        Entry(
            f"{ENOUGH} or more of the eight rows flagged in at least half of the splits",
            "8 of 8",
            f"in {share:.0%} of {len(fits)}",
            f"σ {sigma:g}",
            share >= 0.5,
        ),
        Entry(
            "the rows are flagged more often than others",
            "yes",
            f"{flagged:.2f} of 8 a split, {chance:.2f} by chance",
            f"± {error:.2f}",
            np.mean(excess) > 2 * error,
        ),
    ]
    why = (
        f"At σ = {sigma:g}, whose count is nearest to the printed one, {ENOUGH} or more of the "
        f"eight rows are flagged in {share:.0%} of {len(fits)} splits, {flagged:.2f} of them on "
        f"average where {chance:.2f} would be by chance."
    )
    tried = {"σ": len(SIGMAS[name])}
    return Measured(entries, why, len(fits), tried, [_by_sigma(results, name, n)])


def _by_sigma(results: dict[float, list[Any]], name: str, n: int) -> Experiment:
    sigma = _chosen(results, name)
    often = [s for s, fits in results.items() if _share(fits) >= 0.5]
    where = (
        "; ".join(
            f"σ = {s:g}, with {_mean(results[s], 'overlap'):,.0f} overlap points" for s in often
        )
        or "no σ tried"
    )
    return Experiment(
        f"Random splits, {TRAINING[name]} rows trained on",
        (
            "σ",
            "overlap points",
            "outliers",
            f"splits with {ENOUGH} or more printed rows",
            "printed rows a split, and by chance",
            "their mean largest membership",
        ),
        [
            (
                f"{s:g}",
                f"{_mean(fits, 'overlap'):,.0f}",
                f"{_mean(fits, 'outliers'):,.0f}",
                f"{_share(fits):.0%}",
                f"{_mean(fits, 'flagged'):.2f}, {8 * _mean(fits, 'overlap') / n:.2f}",
                f"{_mean(fits, 'largest'):.2f}",
            )
            for s, fits in results.items()
        ],
        f"Table 1 prints {TABLE_1[name][1]} overlap points, to which σ = {sigma:g} is nearest. "
        f"There the rows have a mean largest membership of {_mean(results[sigma], 'largest'):.2f}, "
        f"and overlap points are those below one half. Half of the splits flag them at {where}.",
    )


def correlations(setting: Setting) -> Measured:
    """Check section 4: low correlations with D-Rank and IR-Rank."""
    entries, rows = [], []
    for name in (A1, FINLAND, JOENSUU):
        results = _overlaps(setting, name)
        sigma = _chosen(results, name)
        fits = [fit for fit in results[sigma] if fit["tau"] is not None]
        groups = {"": fits}
        if name == A1:
            groups = {
                ", every class with a code word": [fit for fit in fits if not fit["missing"]],
                ", a class without": [fit for fit in fits if fit["missing"]],
            }
        for place, rank in enumerate(("D-Rank", "IR-Rank")):
            entries += [
                _tau_entry(
                    f"{name}, {rank}{kind}", TAU[name][place], [f["tau"][place] for f in some]
                )
                for kind, some in groups.items()
            ]
        means = np.mean([fit["tau"] for fit in fits], axis=0)
        count = f"{_mean(results[sigma], 'overlap'):,.0f}"
        rows.append((name, f"{sigma:g}", count, *(f"{tau:+.2f}" for tau in means)))
    by_similarity = ", ".join(f"{row[4]} and {row[6]} ({row[0]})" for row in rows)
    experiment = Experiment(
        "Eq. 4, which is distances over similarity, and its distances alone: mean correlations",
        (
            "set",
            "σ",
            "overlap points",
            "eq. 4, D-Rank",
            "eq. 4, IR-Rank",
            "distances alone, D-Rank",
            "distances alone, IR-Rank",
        ),
        rows,
        "The paper gives no formula for either rank; D-Rank is taken as the summed distance to all "
        "projections, IR-Rank as the summed similarity to all points, by which eq. 4 divides. "
        f"Correlations with IR-Rank with and without that division: {by_similarity}.",
    )
    high = [entry.what for entry in entries if entry.holds is False]
    why = f"Correlations of {LOW:g} and more in size: {'; '.join(high) or 'none'}."
    tried = {"σ of the three sets": sum(map(len, SIGMAS.values()))}
    splits = min(len(row) for row in _overlaps(setting, FINLAND).values())
    return Measured(entries, why, splits, tried, [experiment])


def _tau_entry(what: str, printed: float, values: Sequence[float]) -> Entry:
    if not values:
        return Entry(what, f"{printed:g}", "no such split")
    mean, spread = float(np.mean(values)), f"{min(values):+.2f} to {max(values):+.2f}"
    return Entry(what, f"{printed:g}", f"{mean:+.2f}", spread, abs(mean) < LOW)
