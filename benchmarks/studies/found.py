"""What a trial of soft results found: before, now, and what other libraries find in the same run.

"Before" is what the trial found, with its own draws.
"""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from families import OUTLIER_SETS, REAL, outlier_set, real, shape
from peers import CLUSTERERS, isolation_forest, robust_ellipsoid, standardize
from posteriors import EQUAL, KNOWN
from scipy.stats import spearmanr
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, roc_auc_score
from sklearn.mixture import GaussianMixture

import softkern
from softkern import (
    AlphaCutClustering,
    FuzzyCMeans,
    OneClassKMeans,
    OneClassMixture,
    OneClassPCM,
    SoftKernelSpectralClustering,
)
from studies.common import (
    DEFAULT,
    TREE,
    Records,
    Result,
    count,
    default_labels,
    generator,
    log,
    timed,
)
from studies.memberships import (
    MODELS,
    NEW_ROWS,
    ROWS,
    Setting,
    installed,
    score_memberships,
)
from studies.thresholds import OUTLIERS, detected, drawn, rejected, with_outliers


class Row(NamedTuple):
    """One line of the table. Numbers are means over seeds unless it says otherwise."""

    before: str
    now: str
    wanted: str
    peers: str = ""


def listed(values: Iterable[float], form: str = ".2f") -> str:
    return ", ".join(format(value, form) for value in values)


def rejections(name: str, jobs: list[list[dict[str, Any]]]) -> str:
    """Return mean shares of new rows that a detector rejects, for each list of draws."""
    means = [np.mean([rejected(name, *drawn(job))["fresh"] for job in part]) for part in jobs]
    return listed(means)


def fresh_normal(setting: Setting) -> Row:
    """OneClassPCM(contamination=.1), new normal rows called outliers, 2 / 5 / 10 / 20 columns"""
    jobs = [
        [{"table": "normal", "d": d, "seed": seed} for seed in range(setting.seeds)]
        for d in (2, 5, 10, 20)
    ]
    peers = "; ".join(f"{name} {rejections(name, jobs)}" for name in ("LOF", "IForest"))
    return Row(".13, .24, .74, .88", rejections("OneClassPCM", jobs), ".08 to .13", peers)


def fresh_tables(setting: Setting) -> Row:
    """the same, held-out 40 % of wine, breast cancer, digits"""
    jobs = [
        [{"table": name, "d": 0, "seed": seed} for seed in range(setting.seeds)]
        for name in ("wine", "breast cancer", "digits")
    ]
    peers = "; ".join(f"{name} {rejections(name, jobs)}" for name in ("LOF", "IForest"))
    return Row(".85, .53, .46", rejections("OneClassPCM", jobs), ".06 to .16", peers)


def one_ranking(setting: Setting) -> Row:
    """OneClassPCM on ADBench: mean AUROC of training rows by decision_function and outlier_scores_"""
    names = ("Hepatitis", "glass", "WBC", "vowels") if setting.is_quick else OUTLIER_SETS
    found = []
    for name in names:
        X, y = outlier_set(name)
        model = OneClassPCM().fit(X)
        pair = -model.decision_function(X), model.outlier_scores_
        others = isolation_forest(standardize(X), 0), robust_ellipsoid(standardize(X), 0)
        aurocs = [roc_auc_score(y, scores) for scores in (*pair, *others)]
        found.append([*aurocs, spearmanr(*pair)[0]])
    decision, scores, forest, ellipsoid, agreement = np.mean(found, axis=0)
    now = f"{decision:.3f}, {scores:.3f}, rank correlation {agreement:.3f}"
    return Row(
        ".704, .741 (22 sets)", now, "the same", f"IForest {forest:.3f}, MCD {ellipsoid:.3f}"
    )


def planted_outliers(setting: Setting) -> Row:
    """WeightedSVDD, WeightedOneClassSVM, 5 columns: of 50 planted outliers flagged by fit_predict / rank_points"""

    def means(name: str) -> str:
        records = [
            detected(name, *with_outliers({"d": 5, "seed": seed})) for seed in range(setting.seeds)
        ]
        table = pd.DataFrame(records).mean()
        ranked = f" / {table['rank_points']:.0f}" if "rank_points" in table else ""
        return f"{name} {table['fit_predict']:.0f}{ranked}"

    return Row(
        f"0 / 0 of {OUTLIERS}",
        "; ".join(map(means, ("WeightedSVDD", "WeightedOneClassSVM"))),
        "at least 45 of 50",
        "; ".join(map(means, ("OneClassPCM", "LOF", "IForest"))),
    )


def draws(
    setting: Setting, cell: str, d: int, n: int = ROWS
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the rows and clusters of a cell, one pair per seed."""
    return [
        KNOWN[cell].draw(generator("soft", cell, n, d, seed), n, d) for seed in range(setting.seeds)
    ]


def mean_ari(
    cluster: Callable[[np.ndarray], np.ndarray], data: list[tuple[np.ndarray, np.ndarray]]
) -> float:
    return float(np.mean([adjusted_rand_score(y, cluster(X)) for X, y in data]))


def split_into(X: np.ndarray, k: int) -> np.ndarray:
    return softkern.cluster(X, k).labels_


def mixture_into(X: np.ndarray, k: int) -> np.ndarray:
    return GaussianMixture(k, n_init=5, random_state=0).fit_predict(X)


def mixture_bic(X: np.ndarray) -> np.ndarray:
    """Return labels of the Gaussian mixture of any covariance type with the lowest BIC."""
    models = [
        GaussianMixture(k, covariance_type=kind, n_init=2, random_state=0).fit(X)
        for k in range(1, 5)
        for kind in ("full", "tied", "diag", "spherical")
    ]
    return min(models, key=lambda model: model.bic(X)).predict(X)


def k_means_into(X: np.ndarray, k: int) -> np.ndarray:
    return KMeans(k, n_init=10, random_state=0).fit_predict(standardize(X))


def unequal_shares(setting: Setting) -> Row:
    """cluster(X, 2), 85:15 at 4 s.d., 5 / 20 columns: ARI"""
    data = [draws(setting, "85:15, 4 s.d.", d) for d in (5, 20)]
    now = listed(mean_ari(lambda X: split_into(X, 2), part) for part in data)
    peer = listed(mean_ari(lambda X: mixture_into(X, 2), part) for part in data)
    return Row(".01, .01", now, "at least .85, .80", f"GMM {peer}")


def unequal_widths(setting: Setting) -> Row:
    """cluster(X, 3), sizes .6/.3/.1, s.d. 1/.5/.8, 4 s.d., 5 columns: ARI"""
    data = draws(setting, "three unequal, 4 s.d.", 5)
    now = mean_ari(lambda X: split_into(X, 3), data)
    peer = mean_ari(lambda X: mixture_into(X, 3), data)
    return Row(".46", f"{now:.2f}", "at least .95", f"GMM {peer:.2f}")


def accuracy(model: str, cell: str, d: int, setting: Setting) -> float:
    """Return the mean accuracy with the number of clusters given."""
    found = []
    for X, y in draws(setting, cell, d):
        clusters = len(KNOWN[cell].shares)
        fitted = MODELS[model](X, clusters)
        record = score_memberships(fitted.predict(X), y, np.eye(clusters)[y])
        found.append(record["accuracy"])
    return float(np.mean(found))


def accuracies(cells: list[tuple[str, int]], setting: Setting) -> tuple[str, str]:
    """Return accuracies of fuzzy c-means and of peers."""
    models = installed(("FuzzyCMeans", "scikit-fuzzy", "k-means, hard", "GMM, full"))
    texts = [
        f"{model} {listed(accuracy(model, *cell, setting) for cell in cells)}" for model in models
    ]
    return texts[0].removeprefix("FuzzyCMeans "), "; ".join(texts[1:])


def fuzzy_unequal(setting: Setting) -> Row:
    """FuzzyCMeans(2), 85:15 at 4 s.d., 2 columns: accuracy"""
    now, peers = accuracies([("85:15, 4 s.d.", 2)], setting)
    return Row(".51", now, "at least .91", peers)


def fuzzy_wide(setting: Setting) -> Row:
    """FuzzyCMeans(2), equal, 3 / 4 s.d., 20 columns: accuracy"""
    now, peers = accuracies([(f"{EQUAL}, {s} s.d.", 20) for s in (3, 4)], setting)
    return Row(".54, .75", now, "at least .92, .97", peers)


def judged(model: str, cell: str, d: int, seed: int) -> dict[str, float]:
    """Return the scores of memberships of new rows, with the number given."""
    known = KNOWN[cell]
    X, _ = known.draw(generator("soft", cell, ROWS, d, seed), ROWS, d)
    new, y = known.draw(generator("soft, new", cell, NEW_ROWS, d, seed), NEW_ROWS, d)
    fitted = MODELS[model](X, len(known.shares))
    return score_memberships(fitted.predict(new), y, known.posterior(new))


def slopes(setting: Setting) -> Row:
    """slope of logit membership on logit posterior, two equal, 3 to 5 s.d., 2 and 5 columns: median"""
    models = ("FuzzyCMeans", DEFAULT, "OneClassMixture", TREE, "GMM, full")
    cells = itertools.product((3, 4, 5), (2, 5), range(setting.seeds))
    records = [
        {"model": model, **judged(model, f"{EQUAL}, {s} s.d.", d, seed)}
        for s, d, seed in cells
        for model in models
    ]
    frame = pd.DataFrame(records)
    medians = frame[frame["is found"] == 1].groupby("model")["slope"].median()
    texts = [f"{name} {medians.get(name, np.nan):.2f}" for name in models]
    return Row(
        "FuzzyCMeans .24, cluster .54, OneClassMixture 2.1, AlphaCut .60 (all cells)",
        ", ".join(texts[:-1]),
        ".8 to 1.25",
        texts[-1],
    )


def error_at_five(setting: Setting) -> Row:
    """RMSE of memberships of cluster(X, 2), two equal, 5 s.d., 5 columns"""
    means = {
        model: np.mean(
            [judged(model, f"{EQUAL}, 5 s.d.", 5, seed)["RMSE"] for seed in range(setting.seeds)]
        )
        for model in (DEFAULT, "k-means, hard", "GMM, full")
    }
    ours, hard, mixture = (f"{value:.3f}" for value in means.values())
    return Row(".096", ours, "at most .03", f"k-means, hard {hard}; GMM, full {mixture}")


def share_of_two(
    cluster: Callable[[np.ndarray], np.ndarray], data: list[tuple[np.ndarray, np.ndarray]]
) -> float:
    return float(np.mean([count(cluster(X)) == 2 for X, _ in data]))


def overlapping_two(setting: Setting) -> Row:
    """cluster(X), two equal, 2 / 2.5 / 3 / 3.5 s.d., 2, 5 and 20 columns: share with two clusters"""
    data = [
        [draw for d in (2, 5, 20) for draw in draws(setting, f"{EQUAL}, {s:g} s.d.", d)]
        for s in (2, 2.5, 3, 3.5)
    ]
    now = listed(share_of_two(default_labels, part) for part in data)
    peer = listed(share_of_two(mixture_bic, part) for part in data)
    return Row("0, 0, .28, .89", now, "GMM's: .5 to 1 from 2 s.d. on", f"GMM by BIC {peer}")


def power_by_rows(setting: Setting) -> Row:
    """cluster(X), two equal, 3 s.d., 20 columns, 250 to 4,000 rows: share with two clusters"""
    sizes = (250, 500, 1000, 2000) if setting.is_quick else (250, 500, 1000, 2000, 4000)
    more = replace(setting, seeds=2 * setting.seeds)
    data = [draws(more, f"{EQUAL}, 3 s.d.", 20, n) for n in sizes]
    now = listed(share_of_two(default_labels, part) for part in data)
    peer = listed(share_of_two(mixture_bic, part) for part in data)
    return Row(".12, .25, .38, .38, .50", now, "1 at 4,000 rows", f"GMM by BIC {peer}")


def clusters_and_ari(labels: np.ndarray, y: np.ndarray) -> str:
    return f"{count(labels)} ({adjusted_rand_score(y, labels):.2f})"


def best_known_blobs(setting: Setting) -> Row:
    """make_blobs(1000, centers=4, random_state=0): clusters (ARI)"""
    X, y = make_blobs(1000, centers=4, random_state=0)
    peers = [f"{name} {clusters_and_ari(peer(X), y)}" for name, peer in CLUSTERERS.items()]
    return Row("1", clusters_and_ari(default_labels(X), y), "4", "; ".join(peers))


def many_rows(setting: Setting) -> Row:
    """make_blobs(n, centers=8, cluster_std=2, random_state=0), 10⁵ rows: clusters (ARI)"""
    n = 20_000 if setting.is_quick else 100_000
    X, y = make_blobs(n, centers=8, cluster_std=2, random_state=0)
    now = clusters_and_ari(default_labels(X), y)
    peer = adjusted_rand_score(y, mixture_into(X, 8))
    return Row("2 (.08)", f"{now}, {n} rows", "as many as a mixture", f"GMM, 8 given ({peer:.2f})")


def touching(setting: Setting) -> Row:
    """d31, s3, s4, a1, 1,000 rows: clusters (ARI)"""
    ours, peers = [], []
    for name in ("d31", "s3", "s4", "a1"):
        X, y = shape(name)
        kept = generator("found", name, 1000, 2, 0).permutation(len(X))[:1000]
        X, y = X[kept], y[kept]
        ours.append(clusters_and_ari(default_labels(X), y))
        given = (k_means_into(X, count(y)), mixture_into(X, count(y)))
        peers.append(max(adjusted_rand_score(y, labels) for labels in given))
    return Row(
        "ARI .34, .18, .04, .67",
        ", ".join(ours),
        "ARI at least .9, .6, .5, .95",
        f"k-means or GMM, number given: {listed(peers)}",
    )


def far_row(setting: Setting) -> Row:
    """a row at (10⁴, 10⁴, …) beside two blobs, 1, 2, 3, 5 columns: label, highest membership"""
    found = []
    for d in (1, 2, 3, 5):
        rng = generator("found", "far row", 300, d, 0)
        X = rng.normal(size=(300, d))
        X[150:] += 8
        model = softkern.cluster(X)
        far = np.full((1, d), 1e4)
        found.append(f"{model.predict(far)[0]}, {model.memberships(far).max():.2f}")
    return Row("a cluster, 1.00", "; ".join(found), "−1")


def caught(action: Callable[[], Any]) -> tuple[Any, str]:
    """Return a result, and the names of the warnings."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        result = action()
    return result, ", ".join(sorted({warning.category.__name__ for warning in found}))


def twenty_clusters(setting: Setting) -> Row:
    """AlphaCutClustering(n_clusters=20), 100 rows in three blobs: clusters, warnings"""
    centers = [[0.0, 5.0, 0.0, 0.0, 0.0], [1.0, 1.0, 4.0, 0.0, 0.0], [1.0, 0.0, 0.0, 5.0, 1.0]]
    X, _ = make_blobs(100, centers=np.array(centers), random_state=42)
    model, names = caught(lambda: AlphaCutClustering(n_clusters=20).fit(X))
    return Row("19, none", f"{count(model.labels_)}, {names or 'none'}", "20, or a warning")


def spectral_number(setting: Setting) -> Row:
    """SoftKernelSpectralClustering("auto"), two or three normal clusters, 2 and 5 columns: right / too many"""
    names = (f"{EQUAL}, 4 s.d.", f"{EQUAL}, 5 s.d.", "85:15, 4 s.d.", "three unequal, 4 s.d.")
    found = []
    for name, d in itertools.product(names, (2, 5)):
        for X, y in draws(setting, name, d):
            model = SoftKernelSpectralClustering("auto").fit(X)
            found.append(count(model.labels_) - count(y))
    differences = np.array(found)
    now = f"{np.mean(differences == 0):.0%} / {np.mean(differences > 0):.0%}"
    return Row("52 % / 42 %", now, "too many in at most 5 %")


def as_detectors(setting: Setting) -> Row:
    """OneClassMixture(2), OneClassKMeans(2) on ADBench: lowest AUROC, and that of OneClassPCM there"""
    names = ("Hepatitis", "glass", "WBC", "vowels") if setting.is_quick else OUTLIER_SETS
    found = []
    for maker in (OneClassMixture, OneClassKMeans):
        pairs = []
        for name in names:
            X, y = outlier_set(name)
            X, y = X[:2000], y[:2000]
            if len(np.unique(y)) == 2:
                models = maker(2), OneClassPCM()
                pairs.append(
                    [roc_auc_score(y, model.fit(X).outlier_scores_) for model in models] + [name]
                )
        lowest, density, name = min(pairs)
        found.append(f"{maker.__name__} {lowest:.2f} ({density:.2f}, {name})")
    return Row("sometimes below .5", "; ".join(found), "not below the density's")


def fuzzy_collapse(setting: Setting) -> Row:
    """FuzzyCMeans(3, m=40), three blobs: warnings"""
    X, _ = make_blobs(300, centers=3, random_state=0)
    _, names = caught(lambda: FuzzyCMeans(3, m=40).fit(X))
    return Row("none", names or "none", "a warning")


def real_tables(setting: Setting) -> Row:
    """eight real tables: mean ARI with nothing given"""
    names = [name for name in REAL if not (setting.is_quick and name == "digits")]
    found = []
    for name in names:
        X, y = real(name)
        peers = [adjusted_rand_score(y, peer(standardize(X))) for peer in CLUSTERERS.values()]
        found.append([adjusted_rand_score(y, default_labels(X)), *peers])
    ours, *means = np.mean(found, axis=0)
    peers = ", ".join(f"{name} {mean:.3f}" for name, mean in zip(CLUSTERERS, means, strict=True))
    return Row(
        ".16 on eight other tables",
        f"{ours:.3f} ({len(names)} tables)",
        ".05 above the best peer (full benchmark: compare_libraries.py)",
        peers,
    )


FOUND: list[Callable[[Setting], Row]] = [
    fresh_normal,
    fresh_tables,
    one_ranking,
    planted_outliers,
    unequal_shares,
    unequal_widths,
    fuzzy_unequal,
    fuzzy_wide,
    slopes,
    error_at_five,
    overlapping_two,
    power_by_rows,
    best_known_blobs,
    many_rows,
    touching,
    far_row,
    twenty_clusters,
    spectral_number,
    as_detectors,
    fuzzy_collapse,
    real_tables,
]


def found(setting: Setting) -> Result:
    """Rerun what a trial found, with other libraries in the same run. Nothing is stored."""
    records: Records = []
    for trial in FOUND:
        what = (trial.__doc__ or "").splitlines()[0]
        row, record = timed(trial, setting)
        row = row or Row("", record["error"], "")
        records.append({"what was tried": what, "method": what, **row._asdict(), **record})
        log(f"{what}: {row.now}")
    columns = ["what was tried", "before", "now", "wanted", "peers", "seconds"]
    table = pd.DataFrame(records)[columns].set_index("what was tried")
    return Result(records, [("The table", table)], [])
