"""Unusual digits
==============

Handwritten digits with 64 gray values each. The least typical ones are hard to read for people,
too. The most typical ones show what a digit should look like.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA

from softkern import OneClassPCM

digits = load_digits()
X = PCA(15, random_state=0).fit_transform(digits.data)
figure, axes = plt.subplots(3, 12, figsize=(12, 3.6), layout="constrained")
for row, digit in zip(axes, (1, 4, 9), strict=True):
    images = digits.images[digits.target == digit]
    order = np.argsort(OneClassPCM().fit(X[digits.target == digit]).outlier_scores_)
    for axis, place in zip(row, [*order[:6], *order[-6:]], strict=True):
        axis.imshow(images[place], cmap="gray_r")
        axis.set_axis_off()
axes[0, 2].set_title("the most typical")
axes[0, 9].set_title("the least typical", color="#D55E00")
plt.show()
