"""Sample weights
==============

Every model accepts sample weights. An integer weight equals repeated rows. Use them for rows that
are less reliable, or that represent many others.
"""

import matplotlib.pyplot as plt
import numpy as np

from softkern import OneClassPCM
from softkern.display import MembershipDisplay

rng = np.random.default_rng(0)
X = np.vstack([rng.normal([-2, 0], 0.8, (150, 2)), rng.normal([2.5, 0], 0.8, (150, 2))])
weight = np.where(X[:, 0] > 0, 0.1, 1.0)  # the right cluster is less reliable

# %%
# Integer weights equal repeated rows:
counts = rng.integers(1, 4, len(X))
by_weight = OneClassPCM(bandwidth=0.7).fit(X, sample_weight=counts)
by_repeating = OneClassPCM(bandwidth=0.7).fit(np.repeat(X, counts, axis=0))
difference = np.abs(by_weight.memberships(X) - by_repeating.memberships(X)).max()
print(f"largest difference of typicalities: {difference:.1e}")

figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained")
for axis, sample_weight, title in (
    (axes[0], None, "all equal"),
    (axes[1], weight, "0.1 on the right"),
):
    model = OneClassPCM(bandwidth=0.7).fit(X, sample_weight=sample_weight)
    MembershipDisplay.from_estimator(model, X, np.ones(len(X), int), ax=axis, size=4, legend=False)
    axis.set_title(f"weights: {title}")
plt.show()
