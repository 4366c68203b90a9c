"""Writing a kernel
================

You can define your own similarity as a class with one method and a few properties. Here the
samples are days of the year, where 31 December is next to 1 January. The Gaussian kernel splits
the winter into two clusters.
"""

from dataclasses import dataclass
from typing import ClassVar

import matplotlib.pyplot as plt
import numpy as np

from softkern import OneClassPCM
from softkern.kernels import Kernel


@dataclass(frozen=True)
class OnACircle(Kernel):
    """exp(κ (cos(x − y) − 1)), for days as angles."""

    kappa: float = 10.0
    constant_diagonal: ClassVar[bool] = True  # all self-similarities are equal
    bound: ClassVar[float] = 1.0
    is_positive_semidefinite: ClassVar[bool] = True  # defines distances

    def block(self, X, Y):
        """Return the similarity of every row of X to every row of Y."""
        angle = 2 * np.pi * (X[:, :1] - Y[:, :1].T) / 365
        return np.exp(self.kappa * (np.cos(angle) - 1))


rng = np.random.default_rng(0)
days = np.r_[rng.normal(0, 18, 160), rng.normal(170, 15, 120)] % 365  # New Year, and midsummer
X = days[:, None]
every_day = np.arange(365.0)[:, None]
figure, axis = plt.subplots(figsize=(9, 4), layout="constrained")
axis.hist(days, bins=73, color="0.85", label="events in five days")
axis.set(xlabel="day of the year", ylabel="events", xlim=(0, 365))
other = axis.twinx()
for name, model, color in (
    ("Gaussian: two ends", OneClassPCM(bandwidth=18.0), "#E69F00"),
    ("on a circle: one winter", OneClassPCM(kernel=OnACircle()), "#0072B2"),
):
    typicality = model.fit(X).memberships(every_day)
    scaled = (typicality - typicality.min()) / np.ptp(typicality)
    other.plot(every_day, scaled, color=color, label=name)
other.set(ylabel="typicality, lowest to highest", ylim=(0, 1.15))
figure.legend(loc="outside upper center", ncols=3, frameon=False)
plt.show()
