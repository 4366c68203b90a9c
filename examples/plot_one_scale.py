"""Ranks on one scale
==================

Each model measures outliers in its own units. `rank_points` puts them on one scale: a score of 3
means that one typical point in 1,000 would score as high, for every model.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from softkern import AlphaCutClustering, OneClassPCM, PossibilisticCMeans, rank_points
from softkern.display import RankDisplay

# three touching clusters and six outliers
rng = np.random.default_rng(3)
centers = np.repeat([[0, 0], [5, 0], [2, 5]], 120, axis=0)
outliers = [[12, 7], [-6, 8], [9, -7], [-8, -3], [16, 1], [2, 14]]
X = pd.DataFrame(
    np.vstack([centers + rng.normal(size=(360, 2)), outliers]), columns=["width", "height"]
)
models = {
    "OneClassPCM": OneClassPCM(),
    "PossibilisticCMeans": PossibilisticCMeans(3),
    "AlphaCutClustering": AlphaCutClustering(),
}
tables = {name: rank_points(model.fit(X)) for name, model in models.items()}
scores = pd.DataFrame({name: table["outlier_score"] for name, table in tables.items()})
print("outlier scores of the six planted points\n")
print(scores.tail(6).round(1).to_string())

# %%
# Outliers and points between clusters, with their ranks:
RankDisplay.from_estimator(models["PossibilisticCMeans"], X)
plt.show()
