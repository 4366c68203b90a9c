"""Writing a membership rule
=========================

A clustering model is a rule from distances to memberships. The loop, the engines and the kernels
stay the same. Here typicality falls slowly, u = 1 / (1 + D²/η), compared with the built-in rule u
= exp(−D²/η).
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np

from softkern import plan
from softkern._utils.arrays import row_sums, weighted_sum
from softkern.rules.base import Evaluation, Rule
from softkern.rules.centers import Mean
from softkern.rules.possibilistic import Possibilistic
from softkern.solvers.alternate import alternate
from softkern.solvers.initialization import INITS


@dataclass(frozen=True)
class Slow:
    """u = 1 / (1 + D²/η), masses w u²: Krishnapuram and Keller 1993, m = 2."""

    eta: float

    def evaluate(self, geometry, centers, weight):
        """Return memberships, masses and objective of one iteration."""
        u = 1 / (1 + geometry.distances / self.eta)
        objective = self.eta * weighted_sum(row_sums(1 - u), weight)
        return Evaluation(u, weight[:, None] * u**2, objective, self)

    def log_memberships(self, geometry, centers=None):
        """Return the logarithms of the memberships of new points."""
        return -np.log1p(geometry.distances / self.eta)


rng = np.random.default_rng(0)
X = np.vstack([rng.normal(0, 1, (150, 2)), rng.normal(6, 1, (150, 2))])
weight = np.ones(len(X))
operator = plan(X, kernel="linear", n_vectors=2).build(X)
masses = INITS["k-means++"](operator, weight, 2, np.random.RandomState(0))
start = Mean().centers(masses, weight, None)
line = np.linspace(-6, 12, 200)
along = operator.cross(np.c_[line, line])  # the line through both centers

figure, axis = plt.subplots(figsize=(8, 4.2), layout="constrained")
rules = {"slow": (Slow(3.0), "#0072B2"), "exponential": (Possibilistic(np.full(2, 3.0)), "#E69F00")}
for name, (membership, color) in rules.items():
    rule = Rule(membership, Mean())
    solution = alternate(operator, rule, start, sample_weight=weight, tol=1e-6, max_iter=300)
    norms = operator.geometry(solution.coefficients).norms
    geometry = along.geometry(solution.coefficients, norms=norms)
    axis.plot(line, np.exp(membership.log_memberships(geometry)), color=color, label=[name, None])
    print(f"{name}: converged {solution.converged}, {solution.n_iter} steps")
axis.plot(X.mean(axis=1), np.full(len(X), -0.03), "|", color="0.5")
axis.legend(frameon=False)
axis.set(
    xlabel="position on the line through both centers",
    ylabel="typicality",
    title="two clusters, two rules",
)
plt.show()
