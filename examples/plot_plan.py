"""What it will cost, beforehand
=============================

`plan` says which engine will be taken, how much memory and time it needs, and why the others were
not; nothing is computed for it. Where nothing fits it says so before any work; with a GPU its line
has times as well.
"""

import matplotlib.pyplot as plt
import numpy as np

from softkern import plan

chosen = plan((1_000_000, 3), bandwidth=0.1)
print(chosen)

# %%
# The same question for more and more rows: time of twenty products, by engine.
sizes = np.logspace(3, 7, 9).astype(int)
seconds: dict[str, list[float]] = {}
taken = []
for n in sizes:
    offer = plan((int(n), 3), bandwidth=0.1, memory_limit=16 * 2**30, patience=np.inf)
    taken.append(offer.engine)
    for candidate in offer.candidates:
        cost = candidate.cost
        known = np.nan if cost is None else (cost.setup + 20 * cost.product) * candidate.speed
        seconds.setdefault(candidate.engine, []).append(known)

figure, axis = plt.subplots(figsize=(8, 4.6), layout="constrained")
for engine, times in seconds.items():
    if np.isfinite(times).any():
        axis.plot(sizes, times, "o-", label=engine, markersize=4)
best = [seconds[engine][place] for place, engine in enumerate(taken)]
axis.plot(sizes, best, "o", ms=12, mfc="none", color="black", label="taken")
axis.set(
    xscale="log",
    yscale="log",
    xlabel="rows",
    ylabel="seconds for 20 products",
    title="predicted, three columns, 16 GiB of memory",
)
axis.legend(frameon=False)
plt.show()
