"""A first look: 3,000 generated points, their kernel density, and the least typical of them.

    python examples/first_look.py [folder]

Writes first_look.png and first_look.txt into the folder (default: the current one).
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from softkern import plan


def generate(seed: int = 0) -> np.ndarray:
    """A ring, two groups of unequal spread, and some points that belong nowhere; (3000, 2)."""
    generator = np.random.default_rng(seed)
    angle = generator.uniform(0, 2 * np.pi, 1400)
    ring = np.c_[np.cos(angle), np.sin(angle)] * generator.normal(3, 0.15, (1400, 1))
    inner = generator.normal(0, 0.35, (700, 2))
    outer = generator.normal([5.5, -1.5], 0.8, (840, 2))
    nowhere = generator.uniform([-6, -6], [9, 6], (60, 2))
    return np.vstack([ring, inner, outer, nowhere])


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    X = generate()

    chosen = plan(X)
    operator = chosen.build(X)
    neighbours = operator.degree() - 1  # how much of other points a point has around it
    least = np.argsort(neighbours)[:40]

    side = [np.linspace(X[:, k].min() - 0.5, X[:, k].max() + 0.5, 200) for k in range(2)]
    grid = np.stack(np.meshgrid(*side), axis=-1)
    density = (operator.cross(grid.reshape(-1, 2)) @ np.ones(len(X))).reshape(200, 200)

    figure, axes = plt.subplots(figsize=(8, 5.4), layout="constrained")
    levels = [1, 5, 20, 40, 80, 160]  # neighbours
    axes.contourf(*side, density, levels=levels, cmap="Blues", extend="max", alpha=0.8)
    axes.scatter(*X.T, s=4, color="0.35", linewidths=0, label="3,000 points")
    axes.scatter(
        *X[least].T, s=42, facecolors="none", edgecolors="#d55e00", label="the 40 least typical"
    )
    axes.set_aspect("equal")
    axes.set_title(f"Kernel density by one product, engine “{chosen.engine}”", loc="left")
    figure.legend(loc="outside lower center", ncols=2, frameon=False)
    figure.savefig(folder / "first_look.png", dpi=120)

    rows = [f"{'rank':>4}  {'row':>5}  {'x':>7}  {'y':>7}  neighbours"]
    for rank, row in enumerate(least[:15], start=1):
        x, y = X[row]
        rows.append(f"{rank:>4}  {row:>5}  {x:>7.2f}  {y:>7.2f}  {neighbours[row]:.2g}")
    report = f"{chosen}\n\nThe least typical points\n" + "\n".join(rows) + "\n"
    (folder / "first_look.txt").write_text(report, encoding="utf-8")
    print(report)
    print(f"wrote {folder / 'first_look.png'} and {folder / 'first_look.txt'}")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "."))
