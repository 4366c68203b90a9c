"""Section 4: the NIPS papers. Neither kernel nor number of clusters is printed."""

from __future__ import annotations

import numpy as np

from reproduce.checks import Entry, Experiment, Measured, Setting
from reproduce.mall2015.printed import ECC
from softkern import SoftKernelSpectralClustering

__all__ = ["documents"]

OVERLAP = 188
NUMBERS = (2, 3, 4, 5, 6, 8, 10)


def documents(setting: Setting) -> Measured:
    """Check section 4: the NIPS papers."""
    counts = setting.data("nips").data
    present = np.asarray((counts > 0).sum(axis=0)).ravel()
    weights = np.log(counts.shape[0] / np.maximum(present, 1))
    weighted = counts.multiply(weights).tocsr()
    rows, ranks, overlaps = [], [], []
    for kind, table in (("word counts", counts), ("tf-idf", weighted)):
        for k in NUMBERS:
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
    near = min(overlaps, key=lambda n: abs(n - OVERLAP))
    best = f"best rank {min(ranks)}" if ranks else "never an overlap point"
    entries = [
        Entry(
            "overlap documents",
            str(OVERLAP),
            f"{min(overlaps)}–{max(overlaps)} over k and weights",
            f"nearest {near}",
            min(overlaps) <= OVERLAP <= max(overlaps),
        ),
        Entry(
            "the paper on error-correcting codes is the most influential",
            "rank 1",
            best,
            f"an overlap point in {len(ranks)} of {len(rows)} fits",
            1 in ranks,
        ),
    ]
    experiment = Experiment(
        "Cosine kernel, by number of clusters",
        ("documents as", "k", "overlap/outliers", f"rank of document {ECC}"),
        rows,
        f"Kernel, weighting of words and k are not printed; with the cosine the document is first "
        f"in {ranks.count(1)} of {len(rows)} fits.",
    )
    why = (
        "Kernel and k are not printed; with the cosine kernel the document is an overlap point in "
        f"{len(ranks)} of {len(rows)} fits ({best})."
    )
    return Measured(entries, why, 1, {"k and weighting": len(rows)}, [experiment])
