"""Altered model files: the digests are correct, but the contents are not.

A case is the name of an original and a list of changes, each a plain value. A case that failed once
is stored as one line of a file. Loading an altered file raises an error, or the loaded model
returns results without an unclear error. Whether these results make sense is not tested.
"""

from __future__ import annotations

import copy
import json
import random
import tempfile
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from safetensors import safe_open
from safetensors.numpy import save as container
from sklearn.utils.validation import check_is_fitted

import softkern
from softkern import files
from softkern.files import ModelFileError
from tests.fuzz.outcomes import classify_failure, classify_rejection, time_limit
from tests.golden.make import FOLDER

MARKED = [
    {"$": "float", "text": "nan"},
    {"$": "float", "text": "inf"},
    {"$": "tuple", "items": [1]},
    {"$": "slice", "items": [0, 5, 1]},
]
VALUES = [None, True, -1, 0, 1, 10**9, 2**63, 1e308, -1.5, "", "x", [], {}, [1, 2], *MARKED]
TYPES = ["f4", "f8", "i8", "i4", "u1", "?"]
HOWS = ["cut", "type", "turn", "number", "odd number", "largest"]
ODD = ["nan", "inf", "-1e300", "1e-320", "0", "-1", "100"]
METHODS = ("predict", "memberships", "outlier_scores", "overlap_scores", "score_samples")

Document = tuple[dict[str, Any], dict[str, Any]]  # the document and the arrays by name


@dataclass(frozen=True)
class Case:
    """An original, and the changes to make."""

    original: str
    changes: tuple[dict[str, Any], ...]


def read(path: Path) -> Document:
    """Return the document and the arrays of a model file."""
    with safe_open(path, framework="numpy") as file:
        document = json.loads(file.metadata()[files.DOCUMENT])
        return document, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def write(path: Path, document: dict[str, Any], arrays: dict[str, Any]) -> None:
    """Write a model file with correct digests."""
    document = {name: value for name, value in document.items() if name != "digest"}
    document["arrays"] = files._digest_of_arrays(arrays)
    text = json.dumps(document | {"digest": files._digest(document)})
    path.write_bytes(container(arrays, {files.DOCUMENT: text}))


@cache
def originals() -> dict[str, Document]:
    """Return a file of every model, and files of fits that store other attributes."""
    found = {path.stem: read(path) for path in sorted(FOLDER.glob("*.safetensors"))}
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(15, 6)), rng.normal(size=(15, 6)) + 6])
    table = pd.DataFrame(X).add_prefix("c").assign(city=["a", "b"] * 15, one=range(30))
    table.iloc[3, 1] = np.nan
    few = X[:, :2]
    gram = np.exp(-((few[:, [0]] - few[:, 0]) ** 2))
    made = {
        "a table": softkern.cluster(table, 2),
        "many columns": softkern.AutoClustering(2).fit(X),
        "one group": softkern.AutoClustering().fit(rng.normal(size=(30, 5))),
        "the density tree": softkern.AlphaCutClustering().fit(few),
        "names": softkern.WeightedSVDD().fit(pd.DataFrame(few, columns=["a", "b"])),
        "a search": softkern.SoftKernelSpectralClustering("auto", bandwidth=2.0).fit(few),
        "landmarks": softkern.FuzzyCMeans(2, engine="nystroem").fit(few),
        "sparse rows": softkern.OneClassPCM().fit(sp.csr_array(few)),
        "a matrix": softkern.OneClassPCM(kernel="precomputed").fit(gram),
        "float32": softkern.OneClassMixture(2).fit(few.astype(np.float32)),
        "a polynomial": softkern.OneClassKMeans(2, kernel="poly").fit(few),
        "reduced": softkern.OneClassPCM().fit(few).reduce(),
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, model in made.items():
            path = Path(folder) / "model.safetensors"
            softkern.save(model, path)
            found[name] = read(path)
    return found


def draw(seed: int) -> Case:
    """Draw the case of a seed: one to three changes."""
    rng = random.Random(seed)
    name = rng.choice(sorted(originals()))
    document, arrays = originals()[name]
    paths = _paths(document["state"])
    changes = [
        _draw_array_change(arrays, rng)
        if rng.random() < 0.5
        else _draw_entry_change(document, paths, rng)
        for _ in range(rng.choice([1, 1, 1, 2, 3]))
    ]
    return Case(name, tuple(changes))


def _paths(state: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the path to every entry of a nested state, as a tuple of keys and indices."""
    keys: Any = state if isinstance(state, dict) else ()
    keys = range(len(state)) if isinstance(state, list) else keys
    return [found for key in keys for found in ((*path, key), *_paths(state[key], (*path, key)))]


def _draw_entry_change(
    document: Any, paths: list[tuple[Any, ...]], rng: random.Random
) -> dict[str, Any]:
    path, how = rng.choice(paths), rng.randrange(4)
    if how == 0:
        return {"at": list(path), "drop": True}
    if how == 1:  # another part of the same file
        found = document["state"]
        for key in rng.choice(paths):
            found = found[key]
        return {"at": list(path), "to": found}
    return {"at": list(path), "to": rng.choice(VALUES)}


def _draw_array_change(arrays: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    name = rng.choice(sorted(arrays))
    change = {"array": name, "how": rng.choice(HOWS), "place": rng.randrange(10**6)}
    return change | {"type": rng.choice(TYPES), "number": rng.choice(ODD)}


def alter(case: Case) -> Document:
    """Return the document and arrays of a case. Skip changes that earlier ones made impossible."""
    document, arrays = originals()[case.original]
    document, arrays = copy.deepcopy(document), dict(arrays)
    for change in case.changes:
        if "array" in change:
            with np.errstate(all="ignore"):
                arrays[change["array"]] = _change_array(np.array(arrays[change["array"]]), change)
        else:
            _change_entry(document["state"], change)
    return document, arrays


def _change_entry(state: Any, change: dict[str, Any]) -> None:
    *path, last = change["at"]
    try:
        for key in path:
            state = state[key]
        if "drop" in change:
            del state[last]
        else:
            state[last] = copy.deepcopy(change["to"])
    except (LookupError, TypeError):
        return


def _change_array(array: Any, change: dict[str, Any]) -> Any:
    how, at = change["how"], change["place"] % (array.size or 1)
    if how == "cut" and array.ndim:
        array = array[:-1]
    elif how == "type":
        array = array.astype(change["type"])
    elif how == "turn":
        array = array.reshape(-1) if array.ndim > 1 else array.reshape(-1, 1)
    elif array.size and array.dtype.kind == "f":
        array.flat[at] = float(change["number"])
    elif array.size and array.dtype.kind in "iu":
        array.flat[at] = np.iinfo(array.dtype).max if how == "largest" else at % 7 - 1
    return np.ascontiguousarray(array)


def outcome(case: Case, path: Path) -> tuple[str, str]:
    """Write the file, load it and use the model. Return the outcome in one word, and details."""
    write(path, *alter(case))
    with warnings.catch_warnings(), time_limit():
        warnings.simplefilter("ignore")
        try:
            model = softkern.load(path)
        except ModelFileError as error:
            return "rejected", str(error)
        except Exception as error:
            return classify_failure(error)
        try:
            _call_methods(model)
        except ValueError as error:
            return classify_rejection(error)
        except Exception as error:
            return classify_failure(error)
    return "works", ""


def _call_methods(model: Any) -> None:
    """Call every method of a model that returns results, and its representations."""
    check_is_fitted(model)
    rng, d = np.random.default_rng(0), model.n_features_in_
    X: Any = rng.normal(size=(7, d))
    if getattr(model, "preparation_", None) is not None:
        X = pd.DataFrame(
            X[:, : len(model.preparation_.columns_)], columns=model.preparation_.columns_
        )
    elif hasattr(model, "feature_names_in_"):
        X = pd.DataFrame(X, columns=model.feature_names_in_)
    for name in METHODS:
        if hasattr(model, name):
            getattr(model, name)(X)
    softkern.rank_points(model)
    repr(model), str(model.plan_), model._repr_html_inner()
    if hasattr(model, "labels_at"):
        model.labels_at(0.3)
    if hasattr(model, "comparison_"):
        repr(model.comparison_)
