"""Loading an altered file raises an error, or the model returns results."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

import softkern
from softkern import files
from softkern.models.state_schema import fitted_specs, validate_state
from tests.fuzz.files import Case, draw, originals, outcome, read, write
from tests.fuzz.outcomes import PASSED
from tests.golden.make import golden_file

CORPUS = Path(__file__).with_name("files.jsonl")  # cases that failed once; never remove any
FRESH = 240


def corpus():
    lines = map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines())
    return [Case(line["original"], tuple(line["changes"])) for line in lines]


@pytest.mark.parametrize("name", originals())
def test_unaltered_files_work(name, tmp_path):
    assert outcome(Case(name, ()), tmp_path / "model.safetensors") == ("works", "")


@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.original)
def test_corpus_of_earlier_failures(case, tmp_path):
    word, detail = outcome(case, tmp_path / "model.safetensors")
    assert word in PASSED, detail


def test_altered_files_are_rejected_or_work(tmp_path):
    words = []
    for seed in range(FRESH):
        case = draw(seed)
        word, detail = outcome(case, tmp_path / "model.safetensors")
        assert word in PASSED, (case, detail)
        words.append(word)
    assert FRESH / 2 < words.count("rejected") < FRESH


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [
        ("eta_", 0.0, "eta_ of OneClassPCM holds 0.0, too small"),
        ("eta_", "1", "is a str, not a number"),
        ("converged_", 1, "converged_ of OneClassPCM is a int"),
        ("memberships_", np.ones(5), "the inconsistent shape (5,)"),
        ("memberships_", np.full(12, np.nan), "not a finite number"),
        ("support_", np.arange(1, 13), "holds 12, an index out of range"),
        ("n_features_in_", 3, "the support has 2 columns, not 3"),
        ("mine", 1, "OneClassPCM has no attribute mine"),
    ],
)
def test_inconsistent_attributes_are_named(entry, value, message):
    model = softkern.load(golden_file("OneClassPCM"))
    specs = fitted_specs(type(model))
    fitted = {name: value for name, value in vars(model).items() if name in specs}
    _check(model, fitted)
    with pytest.raises(ValueError, match=re.escape(message)):
        _check(model, fitted | {entry: value})


def _check(model, fitted):
    validate_state(type(model), fitted)
    other = clone(model)
    vars(other).update(fitted)
    other._check_state()


@pytest.mark.parametrize("name", ["support", "dual_coef_", "sample_weight_", "plan_", "kernel_"])
@pytest.mark.parametrize("change", ["gone", "None", "text", "cut", "nan"])
def test_inconsistent_parts_are_rejected(name, change, tmp_path):
    document, arrays = read(golden_file("OneClassPCM"))
    fitted, path = document["state"]["fitted"], tmp_path / "model.safetensors"
    if change == "gone":
        del fitted[name]
    elif change in ("cut", "nan"):
        if name in ("plan_", "kernel_"):
            pytest.skip("no array")
        place = fitted[name]["name"]
        array = np.array(arrays[place])
        array.flat[0] = np.nan
        arrays[place] = array if change == "nan" else array[:-1].copy()
    else:
        fitted[name] = None if change == "None" else "x"
    write(path, document, arrays)
    with pytest.raises(files.ModelFileError):
        softkern.load(path)


def test_texts_that_would_fill_the_memory_are_rejected(tmp_path):
    document, arrays = read(golden_file("AlphaCutClustering"))
    items = ["x"] * 5000 + ["y" * 1_000_000]
    document["state"]["fitted"]["feature_names_in_"] = {
        "$": "texts",
        "shape": [len(items)],
        "items": items,
    }
    write(tmp_path / "model.safetensors", document, arrays)
    with pytest.raises(files.ModelFileError, match="too many"):
        softkern.load(tmp_path / "model.safetensors")
