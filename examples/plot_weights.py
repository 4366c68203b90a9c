"""Rows that count more
====================

Every model takes weights, and a weight of two is the same as the row twice. Rows that are trusted
less, or that stand for many, move the answer as they should.
"""

import matplotlib.pyplot as plt
import numpy as np

from softkern import OneClassPCM
from softkern.display import MembershipDisplay

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([-2, 0], 0.8, (150, 2)), rng.normal([2.5, 0], 0.8, (150, 2))])
weight = np.where(X[:, 0] > 0, 0.1, 1.0)  # the right group is trusted less

# %%
# The law, first: weights 1, 2, 3 give what repeated rows give.
counts = rng.integers(1, 4, len(X))
by_weight = OneClassPCM(bandwidth=0.7).fit(X, sample_weight=counts)
by_copies = OneClassPCM(bandwidth=0.7).fit(np.repeat(X, counts, axis=0))
difference = np.abs(by_weight.memberships(X) - by_copies.memberships(X)).max()
print(f"largest difference of typicalities: {difference:.1e}")

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for axis, given, title in ((axes[0], None, "all alike"), (axes[1], weight, "the right at 0.1")):
    model = OneClassPCM(bandwidth=0.7).fit(X, sample_weight=given)
    MembershipDisplay.from_estimator(model, X, np.ones(len(X), int), ax=axis, size=4, legend=False)
    axis.set_title(f"weights: {title}")
plt.show()
