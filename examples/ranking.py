"""The same points ranked by several models: what is far out, and what lies between clusters.

    python examples/ranking.py [folder]

Three blobs that touch, and six outliers. Models measure outlierness in units of their own, and
`rank_points` puts them on one scale: the score is the number of zeros in "one typical point in
1000…". Prints the first rows, and writes ranking.png into the folder given (here by default).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import numpy as np
import pandas as pd

from softkern import AlphaCutClustering, OneClassPCM, PossibilisticCMeans, rank_points
from softkern.display import RankDisplay


def blobs_with_outliers() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    centres = np.repeat([[0, 0], [5, 0], [2, 5]], 120, axis=0)
    outliers = [[12, 7], [-6, 8], [9, -7], [-8, -3], [16, 1], [2, 14]]
    points = np.vstack([centres + rng.normal(size=(360, 2)), outliers])
    return pd.DataFrame(points, columns=["width", "height"])


def main(folder: Path) -> None:
    X = blobs_with_outliers()
    models = {
        "OneClassPCM": OneClassPCM(),
        "PossibilisticCMeans": PossibilisticCMeans(3),
        "AlphaCutClustering": AlphaCutClustering(),
    }
    tables = {name: rank_points(model.fit(X)) for name, model in models.items()}
    scores = pd.DataFrame({name: table["outlier_score"] for name, table in tables.items()})
    print("outlier scores of the six planted points\n")
    print(scores.tail(6).round(1).to_string())
    print("\nflagged:", {name: int(table["is_outlier"].sum()) for name, table in tables.items()})

    display = RankDisplay.from_estimator(models["PossibilisticCMeans"], X)
    folder.mkdir(parents=True, exist_ok=True)
    display.figure_.savefig(folder / "ranking.png", dpi=120)
    print(f"wrote {folder / 'ranking.png'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
