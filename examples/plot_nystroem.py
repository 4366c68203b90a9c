"""Nyström approximation
=====================

A smooth kernel matrix is nearly determined by a few of its columns. ``engine="nystroem"``
computes with landmark rows only. With enough landmarks, the outlier ranks agree with the exact
ones.
"""

import warnings

import matplotlib.pyplot as plt
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from softkern import OneClassPCM
from softkern.exceptions import ApproximationWarning

warnings.simplefilter("ignore", ApproximationWarning)  # expected for few landmarks

X = PCA(6, random_state=0).fit_transform(load_digits().data)  # 1,797 digits
exact = OneClassPCM(bandwidth="global").fit(X).outlier_scores_
ranks = [5, 10, 20, 40, 80, 160, 320]
errors, agreement = [], []
for rank in ranks:
    options = {"rank": rank, "trace_tolerance": 0}
    model = OneClassPCM(bandwidth="global", engine="nystroem", engine_params=options).fit(X)
    errors.append(model.approximation_error_)
    agreement.append(spearmanr(model.outlier_scores_, exact).statistic)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.loglog(ranks, errors, "o-", color="#0072B2")
left.set(xlabel="landmark rows", ylabel="relative trace error", title="approximation error")
right.semilogx(ranks, agreement, "o-", color="#E69F00")
right.set(
    xlabel="landmark rows",
    ylabel="rank correlation",
    title="outlier ranks compared with exact ones",
)
for axis in (left, right):
    axis.set_xticks(ranks, [str(rank) for rank in ranks])
    axis.minorticks_off()
print({rank: round(float(value), 4) for rank, value in zip(ranks, agreement, strict=True)})
plt.show()
