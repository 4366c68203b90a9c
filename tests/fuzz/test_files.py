"""Model files that were altered with care: the digests are right, what they hold is not.

Each is refused by a ModelFileError, or loads; loading raises nothing else.
"""

import copy
import json
import random
from pathlib import Path

import numpy as np
import pytest
from safetensors import safe_open
from safetensors.numpy import save as container

import softkern
from softkern import files

GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.safetensors"))
CASES = 25  # of every model
MARKED = [
    {"$": "float", "text": "nan"},
    {"$": "tuple", "items": [1]},
    {"$": "slice", "items": [0, 5, 1]},
]
VALUES = [None, True, -1, 0, 10**9, 2**63, 1e308, -1.5, "", "x", [], {}, [1, 2], *MARKED]


def read(path):
    with safe_open(path, framework="numpy") as file:
        document = json.loads(file.metadata()[files.DOCUMENT])
        return document, {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118


def write(path, document, arrays):
    document = {k: v for k, v in document.items() if k != "digest"}
    document["arrays"] = files._digest_of_arrays(arrays)
    text = json.dumps(document | {"digest": files._digest(document)})
    path.write_bytes(container(arrays, {files.DOCUMENT: text}))


def places(state):
    """Every entry of a state, as what holds it and its key."""
    keys = (
        state if isinstance(state, dict) else range(len(state)) if isinstance(state, list) else ()
    )
    return [place for key in keys for place in ((state, key), *places(state[key]))]


def alter_plain(document, rng):
    holder, key = rng.choice(places(document["state"]))
    if rng.random() < 0.3 and isinstance(holder, dict):
        del holder[key]
    else:
        holder[key] = copy.deepcopy(rng.choice(VALUES))


def alter_array(arrays, rng):
    name = rng.choice(sorted(arrays))
    array = np.array(arrays[name])
    how = rng.choice(["cut", "type", "turn", "value"])
    if how == "cut" and array.ndim:
        array = array[:-1]
    elif how == "type":
        array = array.astype(rng.choice(["f4", "f8", "i8", "u1", "?"]))
    elif how == "turn":
        array = array.reshape(-1) if array.ndim > 1 else array.reshape(-1, 1)
    elif array.size and array.dtype.kind == "f":
        array.flat[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -1e300, 0.0])
    elif array.size and array.dtype.kind in "iu":
        array.flat[rng.randrange(array.size)] = np.iinfo(array.dtype).max
    arrays[name] = np.ascontiguousarray(array)


@pytest.mark.parametrize("original", GOLDEN, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_altered_files_are_refused_or_load(original, tmp_path):
    document, arrays = read(original)
    path, refused = tmp_path / "model.safetensors", 0
    for seed in range(CASES):
        rng = random.Random(f"{original.stem} {seed}")
        other, changed = copy.deepcopy(document), dict(arrays)
        if rng.random() < 0.5:
            alter_plain(other, rng)
        else:
            alter_array(changed, rng)
        write(path, other, changed)
        try:
            softkern.load(path)
        except softkern.files.ModelFileError:
            refused += 1
    assert refused > 0


@pytest.mark.parametrize("name", ["support", "dual_coef_", "sample_weight_", "plan_", "kernel_"])
@pytest.mark.parametrize("change", ["gone", "None", "text", "cut", "nan"])
def test_parts_that_do_not_fit_are_refused(name, change, tmp_path):
    document, arrays = read(GOLDEN[[path.stem for path in GOLDEN].index("OneClassPCM")])
    fitted, path = document["state"]["fitted"], tmp_path / "model.safetensors"
    if change == "gone":
        del fitted[name]
    elif change in ("cut", "nan"):
        if name in ("plan_", "kernel_"):
            pytest.skip("no array")
        place = fitted[name]["name"]
        if name == "sample_weight_" and change == "cut":
            pytest.skip("of the training points, which are not compared")
        array = np.array(arrays[place])
        array.flat[0] = np.nan
        arrays[place] = array if change == "nan" else array[:-1].copy()
    else:
        fitted[name] = None if change == "None" else "x"
    write(path, document, arrays)
    with pytest.raises(files.ModelFileError):
        softkern.load(path)


def test_texts_that_would_take_all_memory_are_refused(tmp_path):
    document, arrays = read(GOLDEN[0])
    items = ["x"] * 5000 + ["y" * 1_000_000]
    document["state"]["fitted"]["feature_names_in_"] = {
        "$": "texts",
        "shape": [len(items)],
        "items": items,
    }
    write(tmp_path / "model.safetensors", document, arrays)
    with pytest.raises(files.ModelFileError, match="too many"):
        softkern.load(tmp_path / "model.safetensors")
