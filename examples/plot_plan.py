"""Estimating the cost in advance
==============================

`plan` shows which engine will be used, how much memory and time it needs, and why the others were
not chosen. It computes nothing. If no engine fits, it raises an error before any work.
"""

import matplotlib.pyplot as plt
import numpy as np

from softkern import plan

chosen = plan((1_000_000, 3), bandwidth=0.1)
print(chosen)

# %%
# Predicted time of twenty products for more and more rows, by engine:
sizes = np.logspace(3, 7, 9).astype(int)
seconds: dict[str, list[float]] = {}
selected = []
for n in sizes:
    candidate_plan = plan((int(n), 3), bandwidth=0.1, memory_limit=16 * 2**30, patience=np.inf)
    selected.append(candidate_plan.engine)
    for candidate in candidate_plan.candidates:
        cost = candidate.cost
        total = np.nan if cost is None else (cost.setup + 20 * cost.product) * candidate.speed
        seconds.setdefault(candidate.engine, []).append(total)

figure, axis = plt.subplots(figsize=(8, 4.6), layout="constrained")
for engine, times in seconds.items():
    if np.isfinite(times).any():
        axis.plot(sizes, times, "o-", label=engine, markersize=4)
best = [seconds[engine][place] for place, engine in enumerate(selected)]
axis.plot(sizes, best, "o", ms=12, mfc="none", color="black", label="selected")
axis.set(
    xscale="log",
    yscale="log",
    xlabel="rows",
    ylabel="seconds for 20 products",
    title="predicted, three columns, 16 GiB of memory",
)
axis.legend(frameon=False)
plt.show()
