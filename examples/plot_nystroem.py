"""A few rows for all: Nyström
===========================

A smooth kernel matrix is nearly made of a few of its columns. ``engine="nystroem"`` picks landmark
rows and computes with those alone: the outlier ranks of all rows soon agree with the exact ones.
"""

import warnings

import matplotlib.pyplot as plt
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from softkern import OneClassPCM
from softkern.exceptions import ApproximationWarning

warnings.simplefilter("ignore", ApproximationWarning)  # that few rows leave much out

X = PCA(6, random_state=0).fit_transform(load_digits().data)  # 1,797 digits
exact = OneClassPCM(bandwidth="global").fit(X).outlier_scores_
ranks = [5, 10, 20, 40, 80, 160, 320]
left_out, agreement = [], []
for rank in ranks:
    options = {"rank": rank, "trace_tolerance": 0}
    model = OneClassPCM(bandwidth="global", engine="nystroem", engine_params=options).fit(X)
    left_out.append(model.approximation_error_)
    agreement.append(spearmanr(model.outlier_scores_, exact).statistic)

figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
left.loglog(ranks, left_out, "o-", color="#0072B2")
left.set(xlabel="landmark rows", ylabel="share of the matrix left out", title="what is left out")
right.semilogx(ranks, agreement, "o-", color="#E69F00")
right.set(
    xlabel="landmark rows", ylabel="rank correlation", title="outlier ranks against the exact ones"
)
for axis in (left, right):
    axis.set_xticks(ranks, [str(rank) for rank in ranks])
    axis.minorticks_off()
print({rank: round(float(value), 4) for rank, value in zip(ranks, agreement, strict=True)})
plt.show()
