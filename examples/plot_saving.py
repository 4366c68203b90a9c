"""Saving and loading a model
==========================

`save` writes a safetensors file without pickle, so loading an untrusted file cannot run code. A
loaded model gives exactly the same results. `reduce` makes a model smaller and bounds the error.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons

import softkern
from softkern.files import inspect

X, _ = make_moons(2000, noise=0.1, random_state=0)
tomorrow = np.vstack(
    [
        make_moons(200, noise=0.1, random_state=1)[0],
        np.random.default_rng(0).uniform([-2, -1.5], [3, 2], (15, 2)),  # noise
    ]
)
model = softkern.OneClassPCM().fit(X)
small = model.reduce(1e-2)
with tempfile.TemporaryDirectory() as folder:
    for name, saved in (("whole", model), ("reduced", small)):
        file = Path(folder) / f"{name}.safetensors"
        softkern.save(saved, file, trained_on="2,000 rows of two moons")
        print(f"{name}: {file.stat().st_size / 1024:.0f} KiB, {inspect(file)['metadata']}")
    whole = softkern.load(Path(folder) / "whole.safetensors")
assert (whole.score_samples(tomorrow) == model.score_samples(tomorrow)).all()

# %%
# Score new rows with the loaded model:
ranks = softkern.rank_points(whole, tomorrow)
flagged = ranks["is_outlier"].to_numpy()
difference = np.abs(small.memberships(tomorrow) - whole.memberships(tomorrow)).max()
print(f"reduced: typicality is off by at most {difference:.1e}, bound {small.reduction_error_:.1e}")
figure, axis = plt.subplots(figsize=(8, 4.4), layout="constrained")
axis.scatter(*X.T, s=3, color="0.8", label="training rows")
axis.scatter(*tomorrow[~flagged].T, s=14, color="#0072B2", label="new rows, typical")
axis.scatter(*tomorrow[flagged].T, s=24, color="#D55E00", marker="x", label="new rows, outliers")
axis.set_aspect("equal")
figure.legend(loc="outside lower center", ncols=3, frameon=False)
plt.show()
