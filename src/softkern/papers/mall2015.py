"""Mall, Langone and Suykens 2015: overlap and outlier points by soft kernel spectral clustering.

The paper prints numbers of clusters, counts, row numbers and ranks, but no bandwidths and no sizes
of the training set. Where a bandwidth had to be found, the page says among how many. Row numbers
count from one, in the order of the files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist
from scipy.stats import hypergeom, kendalltau

from softkern.datasets import make_three_gaussians
from softkern.display import EigenspaceDisplay
from softkern.kernels import select_bandwidth
from softkern.models import SoftKernelSpectralClustering
from softkern.papers.checks import (
    CONTRADICTS,
    PARTLY,
    REPRODUCES,
    UNTESTED,
    Check,
    Entry,
    Experiment,
    Measured,
    Picture,
    Setting,
    throughout,
    within_reach,
)
from softkern.papers.drawing import panels
from softkern.selection import select_spectral

__all__ = ["CHECKS"]

THREE = "3 Gaussians"
A1, EUROPE, FINLAND, JOENSUU, R15 = (
    f"shapes/{name}" for name in ("a1", "europe", "mopsi_finland", "mopsi_joensuu", "r15")
)
# Table 1: clusters, overlap points, outlier points
TABLE_1 = {
    A1: (20, 281, 165),
    "shapes/aggregation": (5, 32, 0),
    EUROPE: (2, 0, 81),
    "iris": (3, 3, 0),
    FINLAND: (6, 510, 1),
    JOENSUU: (4, 35, 31),
    R15: (15, 11, 5),
    "seeds": (3, 5, 0),
    THREE: (3, 38, 13),
    "wine": (3, 6, 0),
}
# Table 2, from the least influential on. Three of Europe's exceed its 169,308 rows; without their
# last digit they are 95636, 73516 and 73514.
OUTLIERS = {
    A1: (864, 2951, 2734, 2042, 1263, 1420, 2935, 993, 1983, 2006),
    EUROPE: (163927, 162749, 95636, 157332, 151013, 73516, 126906, 73514, 144385, 95557),
    JOENSUU: (5732, 5734, 5728, 5731, 1951, 1146, 1949, 1647, 1652, 5772),
}
# Table 3
OVERLAPS = {
    A1: (2092, 2000, 2086, 2055, 2093, 2011, 2032, 2069),
    FINLAND: (3172, 3174, 3078, 3105, 2662, 3254, 3462, 458),
    JOENSUU: (5051, 1183, 3911, 3910, 1184, 1721, 1978, 1634),
}
TAU = {A1: (-0.1, -0.005), FINLAND: (0.123, 0.218), JOENSUU: (0.355, 0.45)}
LOW = 0.5  # a correlation that is called low; the largest printed is .45
FACTOR, NEAR_COUNT, LIFT = 1.5, 3.0, 8.0
# powers of two of the median distance
COARSE, FINE = np.arange(-5, 3.1, 0.5), np.array([-0.25, 0.25])
OUTLIER_SIGMAS = {
    A1: (1000.0, 1300.0, 1500.0, 1600.0, 1700.0, 1800.0, 2000.0),
    EUROPE: (8000.0, 12000.0, 16000.0, 24000.0, 32000.0, 40000.0, 48000.0, 64000.0),
    JOENSUU: (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8),
}
OVERLAP_SIGMAS = {
    A1: (1400.0, 1600.0, 1800.0, 2000.0),
    FINLAND: (4000.0, 8000.0, 12000.0, 16000.0, 20000.0, 25000.0, 30000.0),
    JOENSUU: (0.25, 0.3, 0.4, 0.5, 0.6, 0.7),
}
OVERLAP_TRAINING = {A1: 900, FINLAND: 300, JOENSUU: 300}
EQ_5 = {"printed": "2015", "sign turned": "2015-corrected", "1 − |Δ|": "2015-absolute"}
THRESHOLDS = (0.5, 0.6, 0.7, 0.8)
CLASS_OF_A1 = 14  # of all eight rows of A1 in Table 3
WHOLE, OTHER, LACKING = (
    "every class has a code word",
    "another class lacks one",
    "their class lacks one",
)
ECC = 1390  # the document of "Adaptive Development of Connectionist Decoders ..."


def points(setting: Setting, name: str) -> Any:
    """Rows of a set; three Gaussians are generated."""
    if name == THREE:
        return make_three_gaussians(random_state=setting.seed)[0]
    return setting.data(name).data.to_numpy(float)


def fitted(X: Any, k: int, sigma: float, n_train: int | None, seed: int = 0, **more: Any) -> Any:
    """A soft model, or None where this bandwidth does not give k clusters."""
    options: dict[str, Any] = {"bandwidth": sigma, "subset": "random", "random_state": seed}
    model = SoftKernelSpectralClustering(k, n_train=n_train, **{**options, **more})
    try:
        return model.fit(X)
    except ValueError:
        return None


def counted(X: Any, k: int, sigma: float, n_train: int | None, more: dict[str, Any]) -> Any:
    """Overlap and outlier points, or None."""
    model = fitted(X, k, sigma, n_train, **more)
    if model is None:
        return None
    is_outlier, is_overlap = model.detect()
    return int(is_overlap.sum()), int(is_outlier.sum())


# Table 1


def strongest(X: Any, k: int, seed: int) -> tuple[float, int, int]:
    """The bandwidth of the highest AMS on rows kept aside, rows trained on, bandwidths tried."""
    median, n_train = float(select_bandwidth(X, "median")), min(len(X) // 2, 1000)
    sigmas = median * 2.0**COARSE
    found = select_spectral(
        X,
        [k],
        list(sigmas),
        n_train=n_train,
        n_validation=min(len(X) - n_train, 1000),
        random_state=seed,
    )
    return float(found.strongest[1]), n_train, len(sigmas)


def nearest(X: Any, k: int, n_train: int, printed: Sequence[int]) -> tuple[Any, float, int]:
    """Counts nearest to those printed over bandwidths and code books, σ, and how many tried."""
    median, tried = float(select_bandwidth(X, "median")), {}
    for assignment in ("directions", "codebook"):
        around = 0.0
        for grid in (COARSE, FINE):
            for power in around + grid:
                key = assignment, median * 2.0**power
                tried[key] = counted(X, k, key[1], n_train, {"assignment": assignment})
            own = {key: c for key, c in tried.items() if key[0] == assignment and c is not None}
            around = float(np.log2(min(own, key=lambda key: _gap(own[key], printed))[1] / median))
    fits = {key: counts for key, counts in tried.items() if counts is not None}
    best = min(fits, key=lambda key: _gap(fits[key], printed))
    return fits[best], best[1], len(tried)


def count_one(X: Any, name: str, seed: int) -> Any:
    """All that Table 1's check says of a set."""
    k, *printed = TABLE_1[name]
    sigma, n_train, tried = strongest(X, k, seed)
    ours = counted(X, k, sigma, n_train, {"random_state": seed})
    return ours, sigma, tried, nearest(X, k, n_train, printed)


def table_1(setting: Setting) -> Measured:
    """Table 1: overlap and outlier points of ten sets."""
    names = [name for name in TABLE_1 if not (setting.quick and name == EUROPE)]
    cases = [(points(setting, name), name, setting.seed) for name in names]
    found = setting.each(count_one, cases, "counts of the sets")
    entries, rows, reached = [], [], 0
    for name, (ours, sigma, _, (fit, best, _)) in zip(names, found, strict=True):
        k, *printed = TABLE_1[name]
        entries.append(
            Entry(
                f"{name}, k = {k}",
                _counts(printed),
                f"{_counts(ours)} at the σ of the highest AMS, {sigma:.4g}",
                f"nearest of the scan: {_counts(fit)} at {best:.4g}",
                _is_near(ours, printed),
            )
        )
        reached += _is_near(fit, printed)
        rows.append((name, _counts(printed), _counts(ours), _counts(fit)))
    if setting.quick:
        entries.append(Entry(EUROPE, _counts(TABLE_1[EUROPE][1:]), "not in the quick run"))
    held = sum(bool(entry.holds) for entry in entries)
    tried = {"σ by AMS, each set": found[0][2], "σ by nearest counts, each set": found[0][3][2]}
    why = (
        f"No σ is printed. At the σ of the highest AMS {held} of {len(names)} sets have both "
        f"counts within a factor {FACTOR:g}; with σ fitted to the counts {reached} have."
    )
    experiment = Experiment(
        "Counts follow σ: overlap/outlier points",
        ("set", "printed", "highest AMS", "fitted"),
        rows,
        "A σ that is fitted to two counts says nothing of them.",
    )
    return Measured(entries, why, 1, tried, [experiment])


# Table 2


def _outliers(setting: Setting, name: str) -> Any:
    """The model whose number of outliers is nearest to the printed one, and what was tried."""

    def compute() -> Any:
        X = points(setting, name)
        k, _, wanted = TABLE_1[name]
        n_train = 2000 if name == EUROPE else None
        rows = []
        best: Any = None
        for sigma in OUTLIER_SIGMAS[name]:
            model = fitted(X, k, sigma, n_train, assignment="codebook")
            if model is None:
                continue
            is_outlier = model.detect()[0]
            ids = np.array(OUTLIERS[name]) - 1
            count = int(is_outlier.sum())
            rows.append((f"{sigma:g}", f"{count:,}", f"{int(is_outlier[ids].sum())} of 10"))
            if best is None or _gap([count], [wanted]) < best[0]:
                best = _gap([count], [wanted]), sigma, model, is_outlier
        return X, best[1:], rows

    return setting.once(f"outliers of {name}", compute)


def _ids_check(setting: Setting, name: str) -> Measured:
    X, (sigma, model, is_outlier), rows = _outliers(setting, name)
    ids = np.array(OUTLIERS[name]) - 1
    count, hit = int(is_outlier.sum()), int(is_outlier[ids].sum())
    order = np.argsort(-model.outlier_scores_)
    ranks = np.empty(len(X), dtype=int)
    ranks[order] = np.arange(1, len(X) + 1)
    top = len(set(order[:10]) & set(ids))
    chance = float(hypergeom.sf(hit - 1, len(X), count, 10))
    top_chance = float(hypergeom.sf(top - 1, max(count, 10), hit, 10)) if top else 1.0
    entries = [
        Entry("printed rows that are outliers here", "10 of 10", f"{hit} of 10", "", hit >= 8),
        Entry(
            "more of them than by chance",
            "yes",
            f"{10 * count / len(X):.2f} would be by chance",
            f"p = {chance:.1g}",
            chance < 1e-3,
        ),
        Entry(
            "own ten of lowest similarity",
            "the same ten",
            f"{top} of them",
            f"among {count} outliers, p = {top_chance:.1g}",
            top_chance < 0.01,
        ),
    ]
    places = ", ".join(str(rank) for rank in sorted(ranks[ids]))
    experiments = [
        Experiment(
            "Outliers by σ",
            ("σ", "outliers", "printed rows among them"),
            rows,
            f"The σ of the entries is the one nearest to the {TABLE_1[name][2]} outliers of "
            f"Table 1. There the printed rows have the ranks {places} by isolation.",
        ),
        Experiment(
            "Four scores, over the outliers found",
            (
                "score",
                "printed rows in its first ten",
                "rank correlation with isolation",
                "largest",
            ),
            _four_scores(model, X, is_outlier, ids),
            "Printed scores are all below one.",
        ),
    ]
    why = (
        f"{hit} of the ten printed rows are among {count} outliers at σ = {sigma:g}; the ten of "
        f"lowest similarity hold {top} of them."
    )
    if name == EUROPE:
        why += " Three printed numbers exceed the number of rows and are read without a digit."
    tried = {"σ": len(OUTLIER_SIGMAS[name])}
    return Measured(entries, why, 1, tried, experiments)


def _four_scores(model: Any, X: Any, is_outlier: Any, ids: Any) -> list[tuple[str, ...]]:
    rows, isolation = np.flatnonzero(is_outlier), model.outlier_scores_[is_outlier]
    scores = {"isolation, −log similarity": isolation}
    scores |= {
        name: model.outlier_scores(X[is_outlier], variant=variant) for name, variant in EQ_5.items()
    }
    return [
        (
            f"eq. 5, {name}" if name in EQ_5 else name,
            str(len(set(rows[np.argsort(-score)[:10]]) & set(ids))),
            f"{kendalltau(score, isolation).statistic:.2f}",
            f"{score.max():.3g}",
        )
        for name, score in scores.items()
    ]


def joensuu_outliers(setting: Setting) -> Measured:
    """Table 2, Mopsi Joensuu."""
    return _ids_check(setting, JOENSUU)


def europe_outliers(setting: Setting) -> Measured:
    """Table 2, Europe."""
    return _ids_check(setting, EUROPE)


def a1_outliers(setting: Setting) -> Measured:
    """Table 2, A1."""
    return _ids_check(setting, A1)


def eq_5(setting: Setting) -> Measured:
    """Eq. 5: the higher the score, the less similar the point."""
    entries, rows = [], []
    for name in (R15, A1, JOENSUU):
        if name == R15:
            X = points(setting, name)
            model = fitted(X, 15, float(select_bandwidth(X, "median")) * 2**-3.75, None)
            is_outlier = model.detect()[0]
        else:
            X, (_, model, is_outlier), _ = _outliers(setting, name)
        isolation = model.outlier_scores_[is_outlier]
        taus = {
            form: float(
                kendalltau(
                    model.outlier_scores(X[is_outlier], variant=variant), isolation
                ).statistic
            )
            for form, variant in EQ_5.items()
        }
        count = int(is_outlier.sum())
        entries.append(
            Entry(
                f"{name}: rank correlation of eq. 5 with isolation",
                "positive",
                f"{taus['printed']:+.2f}",
                f"{count} outliers",
                taus["printed"] > 0,
            )
        )
        rows.append((name, str(count), *(f"{taus[form]:+.2f}" for form in EQ_5)))
    experiment = Experiment(
        "Rank correlation (Kendall) with isolation, over the outliers",
        ("set", "outliers", *(f"eq. 5, {form}" for form in EQ_5)),
        rows,
        "e = b for a point that nothing is similar to, which scores one; as printed, a point "
        "nearer to the clusters has a negative Δ and scores more.",
    )
    values = ", ".join(f"{entry.what.split(':')[0]} {entry.ours}" for entry in entries)
    why = f"Rank correlations with isolation: {values}."
    return Measured(entries, why, experiments=[experiment])


# Table 3


def overlap_of(X: Any, name: str, sigma: float, n_train: int, seed: int, y: Any) -> Any:
    """Counts, printed rows flagged, classes without a cluster, and τ with D-Rank and IR-Rank."""
    model = fitted(X, TABLE_1[name][0], sigma, n_train, seed, assignment="codebook")
    if model is None:
        return None
    is_outlier, is_overlap = model.detect()
    flagged = int(is_overlap[np.array(OVERLAPS[name]) - 1].sum())
    own = float(model.memberships_[np.array(OVERLAPS[name]) - 1].max(axis=1).mean())
    return {
        "counts": (int(is_overlap.sum()), int(is_outlier.sum())),
        "flagged": flagged,
        "own": own,
        "missing": _missing(y, model.labels_),
        "tau": _taus(model, X, is_overlap, seed),
    }


def _missing(y: Any, labels: Any) -> tuple[int, ...]:
    """Classes that are the most frequent one of no cluster."""
    if y is None:
        return ()
    owners = set()
    for label in np.unique(labels):
        classes, counts = np.unique(y[labels == label], return_counts=True)
        owners.add(classes[np.argmax(counts)])
    return tuple(int(c) for c in np.unique(y) if c not in owners)


def _taus(model: Any, X: Any, is_overlap: Any, seed: int) -> tuple[float, ...] | None:
    """τ of eq. 4 with the summed distance and with the summed similarity, over overlap points.

    And how far the logarithms of its two parts, distances and similarities, vary over them.
    """
    rows = np.flatnonzero(is_overlap)
    if len(rows) < 5:
        return None
    if len(rows) > 400:  # enough for a correlation
        rows = np.random.default_rng(seed).choice(rows, 400, replace=False)
    scores = model.overlap_scores(X[rows], variant="2015")
    distance = cdist(model.projections_[rows], model.projections_).sum(axis=1)
    similarity = -model.mean_similarity_[rows]
    one, two = (float(kendalltau(scores, other).statistic) for other in (distance, similarity))
    # eq. 4 is a product of distances over a sum of similarities: which of the two varies more
    logs = np.log(-similarity)
    return one, two, float(np.std(np.log(scores) + logs)), float(np.std(logs))


def _overlaps(setting: Setting, name: str) -> dict[float, list[Any]]:
    """Results of random splits by σ."""

    def compute() -> dict[float, list[Any]]:
        found = setting.data(name)
        X, y = found.data.to_numpy(float), found.target
        splits, sigmas = setting.draws(6, 20), OVERLAP_SIGMAS[name]
        cases = [
            (X, name, sigma, OVERLAP_TRAINING[name], setting.seed + split, y)
            for sigma in sigmas
            for split in range(splits)
        ]
        answers = iter(setting.each(overlap_of, cases, f"splits of {name}"))
        by_sigma = {sigma: [next(answers) for _ in range(splits)] for sigma in sigmas}
        return {s: [a for a in row if a is not None] for s, row in by_sigma.items()}

    answer: dict[float, list[Any]] = setting.once(f"overlaps of {name}", compute)
    return answer


def _overlap_check(setting: Setting, name: str) -> Measured:
    found, printed = _overlaps(setting, name), TABLE_1[name][1]
    n = setting.used[name].rows
    means = {sigma: float(np.mean([a["counts"][0] for a in row])) for sigma, row in found.items()}
    near = [s for s, mean in means.items() if printed / NEAR_COUNT <= mean <= printed * NEAR_COUNT]
    fits = {s: [a for a in found[s] if name != A1 or not a["missing"]] for s in near}
    share = {s: float(np.mean([a["flagged"] >= 6 for a in row])) for s, row in fits.items() if row}
    most = max(share.values(), default=0.0)
    # rows of the table among the flagged, against all rows among the flagged
    lift = max((_rate(found[s]) / (means[s] / n) for s in near), default=0.0)
    splits = max(len(row) for row in found.values())
    where = ", every class with a code word" if name == A1 else ""
    entries = [
        Entry(
            f"six or more of the rows flagged in at least half of the splits{where}",
            "8 of 8",
            f"in {most:.0%} of the splits at the best σ",
            f"σ {', '.join(f'{s:g}' for s in near)}",
            most >= 0.5,
        ),
        Entry(
            f"the rows are flagged {LIFT:g} times as often as others",
            "yes",
            f"{lift:.1f} times at the best σ",
            "",
            lift >= LIFT,
        ),
    ]
    rows = [
        (
            f"{sigma:g}",
            f"{means[sigma]:,.0f}",
            f"{np.mean([a['counts'][1] for a in row]):,.0f}",
            f"{np.mean([a['flagged'] >= 6 for a in row]):.0%}",
            f"{np.mean([a['own'] for a in row]):.2f}",
        )
        for sigma, row in found.items()
    ]
    experiments = [
        Experiment(
            f"Random splits, {OVERLAP_TRAINING[name]} rows trained on",
            (
                "σ",
                "overlap points",
                "outliers",
                "splits with six or more printed rows",
                "mean largest membership of these rows",
            ),
            rows,
            f"Table 1 prints {printed} overlap points; σ within a factor {NEAR_COUNT:g} of that "
            "count are judged.",
        )
    ]
    if name == A1:
        groups = _by_word([a for s in near for a in found[s]])
        experiments.append(_words_experiment(groups))
    why = (
        f"Where counts are near the printed ones, six or more of the eight rows are flagged in at "
        f"most {most:.0%} of {splits} splits{where}, the rows {lift:.1f} times as often as others."
    )
    if name == A1:
        lacking, others = (
            [flags for name, flags in groups.items() if (name == LACKING) == is_it]
            for is_it in (True, False)
        )
        why += (
            f" Of {sum(map(len, lacking))} splits in which their class has no code word "
            f"{sum(map(sum, lacking))} flag them, of {sum(map(len, others))} others "
            f"{sum(map(sum, others))}."
        )
    tried = {"σ": len(found)}
    return Measured(entries, why, splits, tried, experiments)


def _rate(fits: Sequence[Any]) -> float:
    """Share of the eight rows that is flagged, over splits."""
    return float(np.mean([fit["flagged"] for fit in fits])) / 8


def _by_word(fits: Sequence[Any]) -> dict[str, list[bool]]:
    """Whether six or more rows are flagged, by which classes have no code word."""
    groups: dict[str, list[bool]] = {WHOLE: [], OTHER: [], LACKING: []}
    for fit in fits:
        name = LACKING if CLASS_OF_A1 in fit["missing"] else OTHER if fit["missing"] else WHOLE
        groups[name].append(fit["flagged"] >= 6)
    return groups


def _words_experiment(groups: dict[str, list[bool]]) -> Experiment:
    return Experiment(
        f"Which splits flag the eight rows, all members of class {CLASS_OF_A1}",
        ("splits in which", "number", "six or more of the rows flagged"),
        [(name, str(len(flags)), str(sum(flags))) for name, flags in groups.items()],
        "Where a class has no code word, its members belong to none of the clusters and look like "
        "overlap: an artefact of the code book.",
    )


def a1_overlaps(setting: Setting) -> Measured:
    """Table 3, A1."""
    return _overlap_check(setting, A1)


def joensuu_overlaps(setting: Setting) -> Measured:
    """Table 3, Mopsi Joensuu."""
    return _overlap_check(setting, JOENSUU)


def finland_overlaps(setting: Setting) -> Measured:
    """Table 3, Mopsi Finland."""
    return _overlap_check(setting, FINLAND)


def correlations(setting: Setting) -> Measured:
    """Section 4: low correlations with D-Rank and IR-Rank."""
    entries, rows = [], []
    for name in (A1, FINLAND, JOENSUU):
        found, printed = _overlaps(setting, name), TABLE_1[name][1]
        means = {s: float(np.mean([a["counts"][0] for a in row])) for s, row in found.items()}
        sigma = min(means, key=lambda s: _gap([means[s]], [printed]))
        fits = [a for a in found[sigma] if a["tau"] is not None]
        groups = {"": fits}
        if name == A1:
            groups = {
                ", every class with a code word": [a for a in fits if not a["missing"]],
                ", a class without": [a for a in fits if a["missing"]],
            }
        for place, rank in enumerate(("D-Rank", "IR-Rank")):
            for kind, group in groups.items():
                values = np.array([a["tau"][place] for a in group])
                mean = float(np.abs(values).mean()) if len(values) else np.nan
                entries.append(
                    Entry(
                        f"{name}, {rank}{kind}",
                        f"{TAU[name][place]:g}",
                        f"{values.mean():+.2f}" if len(values) else "no such split",
                        f"{values.min():+.2f} to {values.max():+.2f}" if len(values) else "",
                        bool(mean < LOW) if len(values) else None,
                    )
                )
        parts = [f"{np.mean([a['tau'][place] for a in fits]):.2f}" for place in (2, 3)]
        rows.append((name, f"{sigma:g}", f"{means[sigma]:,.0f}", *parts))
    high = [entry.what for entry in entries if entry.holds is False]
    experiment = Experiment(
        "Which part of eq. 4, distances or similarities, varies over the overlap points",
        (
            "set",
            "σ nearest to the printed count",
            "overlap points",
            "distances (standard deviation of the logarithm)",
            "similarities",
        ),
        rows,
        "The paper gives no formula for either rank; D-Rank is taken as the summed distance to all "
        "projections, IR-Rank as the summed similarity to all points. Eq. 4 divides by the latter: "
        "the more it varies, the more the two orders agree.",
    )
    why = f"Correlations of {LOW:g} and more in size: {', '.join(high) or 'none'}."
    splits = max(len(row) for row in _overlaps(setting, A1).values())
    tried = {"σ of the three sets": sum(map(len, OVERLAP_SIGMAS.values()))}
    return Measured(entries, why, splits, tried, [experiment])


# Figures and claims


def three_gaussians(setting: Setting) -> Measured:
    """Fig. 1: three Gaussians that overlap."""
    draws = setting.draws(5, 20)
    counts = setting.each(
        three, [(setting.seed + draw,) for draw in range(draws)], "draws of three Gaussians"
    )
    printed = TABLE_1[THREE][1:]
    means = np.mean([c for c, _ in counts], axis=0)
    entries = [
        Entry(
            f"{kind} points at the σ of the highest AMS",
            str(wanted),
            f"{mean:.1f}",
            f"{min(c[place] for c, _ in counts)}–{max(c[place] for c, _ in counts)}",
            min(c[place] for c, _ in counts) / FACTOR
            <= wanted
            <= FACTOR * max(c[place] for c, _ in counts),
        )
        for place, (kind, wanted, mean) in enumerate(
            zip(("overlap", "outlier"), printed, means, strict=True)
        )
    ]
    rows = []
    for distance in (2.5, 3.0, 3.5, 4.0):
        found = [three(setting.seed + draw, distance) for draw in range(3)]
        overlap, outliers = np.mean([c for c, _ in found], axis=0)
        rows.append((f"{distance:g}", f"{overlap:.0f}", f"{outliers:.0f}"))
    experiment = Experiment(
        "How far apart the Gaussians are (means of three draws)",
        ("distance of the centres", "overlap points", "outlier points"),
        rows,
        "The set is not public: places and widths are read off a picture, and counts follow them.",
    )
    X = make_three_gaussians(random_state=setting.seed)[0]
    model = fitted(X, 3, counts[0][1], None)
    figure, axes = panels(1, 2)
    EigenspaceDisplay.from_estimator(model, ax=axes[0])
    EigenspaceDisplay.from_estimator(model, X, space="input", ax=axes[1])
    picture = Picture(
        "Fig. 1: overlap and outlier points in the eigenspace and among the data",
        "lines of prototypes with overlap points between them and outliers at the bias, and the "
        "same points among the data: overlap between the groups, outliers outside.",
        figure,
    )
    why = f"{means[0]:.0f} overlap and {means[1]:.0f} outlier points on average over {draws} draws."
    tried = {"σ by AMS": len(COARSE)}
    return Measured(entries, why, draws, tried, [experiment], [picture])


def three(seed: int, distance: float = 4.0) -> tuple[tuple[int, int], float]:
    """Counts of one draw, and the bandwidth of the highest AMS."""
    X = make_three_gaussians(distance=distance, random_state=seed)[0]
    sigma, n_train, _ = strongest(X, 3, seed)
    counts = counted(X, 3, sigma, n_train, {"random_state": seed})
    return counts, sigma


def surface(X: Any, numbers: Sequence[int], powers: Any, seed: int) -> Any:
    """AMS on rows kept aside by number of clusters and bandwidth, (K, S)."""
    sigmas = float(select_bandwidth(X, "median")) * 2.0**powers
    found = select_spectral(X, numbers, sigmas, n_train=1000, n_validation=1000, random_state=seed)
    return found.strength


def surfaces(setting: Setting) -> Measured:
    """Fig. 2: AMS over k and σ."""
    grids = {
        A1: (range(15, 25), np.arange(-4, -1.9, 0.25)),
        FINLAND: (range(2, 12), np.arange(0, 2.6, 0.25)),
    }
    splits = setting.draws(2, 10)
    entries, rows = [], []
    figure, axes = panels(1, 2)
    for ax, (name, (numbers, powers)) in zip(axes, grids.items(), strict=True):
        X, wanted = points(setting, name), TABLE_1[name][0]
        cases = [(X, list(numbers), powers, setting.seed + split) for split in range(splits)]
        each = np.array(setting.each(surface, cases, f"AMS of {name}"))  # (splits, K, S)
        mean, spread = np.nanmean(each, axis=0), np.nanmax(each, axis=2).std(axis=0, ddof=1)
        best = np.nanmax(mean, axis=1)
        padded = np.concatenate([[-np.inf], best, [-np.inf]])
        peaks = [k for i, k in enumerate(numbers) if best[i] >= max(padded[i], padded[i + 2])]
        said = ", ".join(map(str, peaks))
        entries.append(
            Entry(f"{name}: {wanted} is a local maximum", "yes", said, "", wanted in peaks)
        )
        entries.append(
            Entry(
                f"{name}: a local maximum within one of {wanted}",
                "yes",
                said,
                "",
                any(abs(k - wanted) <= 1 for k in peaks),
            )
        )
        rows += [
            (name, str(k), f"{value:.3f}", f"{error:.3f}")
            for k, value, error in zip(numbers, best, spread, strict=True)
        ]
        image = ax.pcolormesh(powers, list(numbers), mean, shading="nearest", cmap="viridis")
        ax.axhline(wanted, color="white", linestyle=":")
        ax.set(xlabel="log₂ of σ over the median distance", ylabel="k", title=name)
        figure.colorbar(image, ax=ax, label="AMS")
    experiment = Experiment(
        "Highest AMS by number of clusters",
        ("set", "k", "AMS", "standard deviation over splits"),
        rows,
        "AMS of neighbouring numbers is to be seen beside how far it varies between random splits "
        "of the same data.",
    )
    picture = Picture(
        "Fig. 2: AMS on rows kept aside; dotted, the table's k",
        "surfaces of AMS over k and σ with a maximum at k = 20 for A1 and at 6 for Mopsi Finland, "
        "and the points found.",
        figure,
    )
    why = "; ".join(f"{e.what.split(':')[0]}: maxima at k = {e.ours}" for e in entries[::2]) + "."
    tried = {f"k and σ of {name}": len(n) * len(p) for name, (n, p) in grids.items()}
    return Measured(entries, why, splits, tried, [experiment], [picture])


def thresholds(setting: Setting) -> Measured:
    """Section 3.1: outliers are consistent for thresholds above .5."""
    entries, rows = [], []
    for name in (R15, A1, JOENSUU):
        if name == R15:
            X = points(setting, name)
            model = fitted(X, 15, float(select_bandwidth(X, "median")) * 2**-3.75, None)
        else:
            model = _outliers(setting, name)[1][1]
        low, top = model.mean_similarity_ < 0.01, model.memberships_.max(axis=1)
        counts = [int((low & (top > t)).sum()) for t in THRESHOLDS]
        far = model.support_vectors_.max(axis=0) + 1e3 * np.ptp(model.support_vectors_, axis=0)
        at_bias = float(model.memberships(far[None]).max())
        change = 1 - counts[-1] / counts[0]
        entries.append(
            Entry(
                f"{name}: outliers lost from .5 to .8",
                "few",
                f"{change:.0%}",
                f"{counts[0]} to {counts[-1]}",
                change < 0.1,
            )
        )
        rows.append((name, *map(str, counts), f"{at_bias:.2f}"))
    experiment = Experiment(
        "Outliers by the membership that they must have",
        ("set", *(f"above {t:g}" for t in THRESHOLDS), "membership at the bias"),
        rows,
        "A far point's projection is the bias. Outliers on the way there have memberships between "
        "that of the bias and one, and a threshold in between parts them.",
    )
    held = [entry.what.split(":")[0] for entry in entries if entry.holds]
    why = f"Below 10 % change up to .8 on {', '.join(held) or 'none'} of three sets."
    return Measured(entries, why, experiments=[experiment])


def documents(setting: Setting) -> Measured:
    """Section 4: the NIPS papers."""
    counts = setting.data("nips").data
    present = np.asarray((counts > 0).sum(axis=0)).ravel()
    weights = np.log(counts.shape[0] / np.maximum(present, 1))
    weighted = counts.multiply(weights).tocsr()
    rows, ranks, overlaps = [], [], []
    for kind, table in (("word counts", counts), ("tf-idf", weighted)):
        for k in (2, 3, 4, 5, 6, 8, 10):
            model = SoftKernelSpectralClustering(k, kernel="cosine").fit(table)
            is_outlier, is_overlap = model.detect()
            place = "not an overlap point"
            if is_overlap[ECC - 1]:
                scores = model.overlap_scores(table[np.flatnonzero(is_overlap)], variant="2015")
                own = model.overlap_scores(table[ECC - 1], variant="2015")[0]
                ranks.append(int((scores < own).sum()) + 1)
                place = f"{ranks[-1]} of {int(is_overlap.sum())}"
            overlaps.append(int(is_overlap.sum()))
            rows.append((kind, str(k), f"{overlaps[-1]}/{int(is_outlier.sum())}", place))
    near = min(overlaps, key=lambda n: abs(n - 188))
    entries = [
        Entry(
            "overlap documents",
            "188",
            f"{min(overlaps)}–{max(overlaps)} over k and weights",
            f"nearest {near}",
            min(overlaps) <= 188 <= max(overlaps),
        ),
        Entry(
            "the paper on error-correcting codes is the most influential",
            "rank 1",
            f"best rank {min(ranks)}" if ranks else "never an overlap point",
            f"an overlap point in {len(ranks)} of {len(rows)} fits",
            1 in ranks,
        ),
    ]
    experiment = Experiment(
        "Cosine kernel, by number of clusters",
        ("documents as", "k", "overlap/outliers", f"rank of document {ECC}"),
        rows,
        "Kernel, weighting of words and k are not printed; with the cosine the document is never "
        "first.",
    )
    why = (
        "Kernel and k are not printed; with the cosine kernel the document is an overlap point in "
        f"{len(ranks)} of {len(rows)} fits, at best of rank {min(ranks) if ranks else '–'}."
    )
    tried = {"k and weighting": len(rows)}
    return Measured(entries, why, 1, tried, [experiment])


def _gap(counts: Sequence[float], printed: Sequence[float]) -> float:
    return float(np.abs(np.log1p(counts) - np.log1p(printed)).sum())


def _is_near(counts: Sequence[float] | None, printed: Sequence[float]) -> bool:
    """Whether counts, plus one, are within the factor of those printed."""
    if counts is None:
        return False
    return all(
        (p + 1) / FACTOR <= c + 1 <= FACTOR * (p + 1) for c, p in zip(counts, printed, strict=True)
    )


def _counts(counts: Sequence[int] | None) -> str:
    return "no fit" if counts is None else "/".join(map(str, counts))


REAL = tuple(name for name in TABLE_1 if name != THREE)
IDS = "at least 8 of 10 detected; more than by chance (p < .001); own ten hold more than by chance"
FLAGGED = (
    "six of eight flagged in at least half of the splits; flagged "
    f"{LIFT:g} times as often as other rows; at a σ whose count is within a factor "
    f"{NEAR_COUNT:g} of the printed one"
)
CHECKS = (
    Check(
        "2015-T1",
        "Numbers of overlap and outlier points of ten sets (Table 1)",
        f"both counts within a factor {FACTOR:g} on every set, at the σ of the highest AMS",
        table_1,
        UNTESTED,
        within_reach,
        REAL,
    ),
    Check(
        "2015-T2a",
        "The ten least influential rows of Mopsi Joensuu (Table 2)",
        IDS,
        joensuu_outliers,
        REPRODUCES,
        sets=(JOENSUU,),
    ),
    Check(
        "2015-T2b",
        "The ten least influential rows of Europe (Table 2)",
        IDS,
        europe_outliers,
        PARTLY,
        sets=(EUROPE,),
    ),
    Check(
        "2015-T2c",
        "The ten least influential rows of A1 (Table 2)",
        IDS,
        a1_outliers,
        PARTLY,
        sets=(A1,),
    ),
    Check(
        "2015-T2d",
        "The higher the score of eq. 5, the less similar an outlier is to all points",
        "a positive rank correlation with isolation on every set",
        eq_5,
        CONTRADICTS,
        throughout,
        (R15, A1, JOENSUU),
    ),
    Check(
        "2015-T3a",
        "The eight most influential rows of A1 (Table 3)",
        FLAGGED + "; of splits in which every class has a code word",
        a1_overlaps,
        CONTRADICTS,
        sets=(A1,),
    ),
    Check(
        "2015-T3b",
        "The eight most influential rows of Mopsi Joensuu (Table 3)",
        FLAGGED,
        joensuu_overlaps,
        PARTLY,
        sets=(JOENSUU,),
    ),
    Check(
        "2015-T3c",
        "The eight most influential rows of Mopsi Finland (Table 3)",
        FLAGGED,
        finland_overlaps,
        CONTRADICTS,
        sets=(FINLAND,),
    ),
    Check(
        "2015-tau",
        "Eq. 4 has low correlations with D-Rank and IR-Rank (section 4)",
        f"mean size below {LOW:g} on every set and for both",
        correlations,
        CONTRADICTS,
        throughout,
        (A1, FINLAND, JOENSUU),
    ),
    Check(
        "2015-F1",
        "Three overlapping Gaussians have 38 overlap and 13 outlier points (Fig. 1)",
        f"within the draws' range, widened by a factor {FACTOR:g}, at the σ of the highest AMS",
        three_gaussians,
        PARTLY,
    ),
    Check(
        "2015-F2",
        "AMS chooses k = 20 for A1 and 6 for Mopsi Finland (Fig. 2)",
        "the table's k is a local maximum of AMS over k; within one of it",
        surfaces,
        PARTLY,
        sets=(A1, FINLAND),
    ),
    Check(
        "2015-C1",
        "Outliers stay more or less the same for thresholds above .5 (section 3.1)",
        "less than 10 % of them lost from .5 to .8",
        thresholds,
        PARTLY,
        sets=(R15, A1, JOENSUU),
    ),
    Check(
        "2015-N",
        "Of 1,500 NIPS papers 188 overlap and none is an outlier; one on error-correcting codes is "
        "the most influential (section 4)",
        "188 within the range over k; rank 1",
        documents,
        UNTESTED,
        within_reach,
        ("nips",),
    ),
)
