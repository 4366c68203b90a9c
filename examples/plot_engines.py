"""Engines and their errors
========================

The same product can be computed exactly (dense, tiled, blocked), up to a given error (fourier),
or from a few landmark rows (nystroem), whose error is known after construction. Errors are
relative to the largest kernel value. Outlier ranks need only a few digits.
"""

import time

import matplotlib.pyplot as plt
import numpy as np

from softkern import plan

rng = np.random.default_rng(0)
X = rng.normal(size=(6000, 2))
A = np.full((6000, 1), 1 / 6000)  # the mean of all rows
settings = {
    "dense": ("dense", {}),
    "tiled": ("tiled", {}),
    "blocked": ("blocked", {}),
    "fourier, 1e-12": ("fourier", {"tolerance": 1e-12}),
    "fourier, 1e-6": ("fourier", {"tolerance": 1e-6}),
    "nystroem, 100 rows": ("nystroem", {"rank": 100, "trace_tolerance": 0}),
    "nystroem, 30 rows": ("nystroem", {"rank": 30, "trace_tolerance": 0}),
}
exact = plan(X, bandwidth=0.5, engine="dense").build(X) @ A
results = {}
for name, (engine, options) in settings.items():
    operator = plan(X, bandwidth=0.5, engine=engine, engine_params=options).build(X)
    operator @ A  # the first product may compile
    times = []
    for _ in range(3):
        start = time.perf_counter()
        product = operator @ A
        times.append(time.perf_counter() - start)
    results[name] = np.abs(product - exact).max(), min(times)
    print(f"{name}: error {results[name][0]:.0e}, {1e3 * results[name][1]:.1f} ms per product")

figure, axis = plt.subplots(figsize=(8, 4.6), layout="constrained")
for name, (error, seconds) in results.items():
    axis.plot(1e3 * seconds, max(error, 1e-17), "o", color="#0072B2")
    axis.annotate(name, (1e3 * seconds, max(error, 1e-17)), (7, -3), textcoords="offset points")
axis.set(
    xscale="log",
    yscale="log",
    xlabel="time of a product, ms",
    ylabel="largest error",
    title="6,000 rows, 2 columns, one core",
)
axis.margins(x=0.25, y=0.1)
plt.show()
