"""Damaged tables are read, or rejected in one sentence without a traceback."""

import gzip
import io
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from softkern.tables.io import TableError, open_table
from tests.fuzz.outcomes import PASSED
from tests.fuzz.tables import Case, damage, draw, outcome

CORPUS = Path(__file__).with_name("tables.jsonl")  # cases that failed once; never remove any
CASES = 120  # per file format
FRESH = range(100_000, 100_030)


def originals():
    """Return one file of every readable format, as bytes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"])
    table["word"] = [f"w{i % 3}" for i in range(20)]
    files = {"csv": table.to_csv(index=False).encode(), "jsonl": _json_lines(table)}
    for name, write in (("parquet", table.to_parquet), ("xlsx", _excel(table))):
        file = io.BytesIO()
        write(file)
        files[name] = file.getvalue()
    file = io.BytesIO()
    np.save(file, table[["a", "b", "c"]].to_numpy())
    return {**files, "npy": file.getvalue(), "csv.gz": gzip.compress(files["csv"])}


def _json_lines(table):
    return table.to_json(orient="records", lines=True).encode()


def _excel(table):
    return lambda file: table.to_excel(file, index=False)


def corpus():
    lines = map(json.loads, CORPUS.read_text(encoding="utf-8").splitlines())
    return [Case(line["kind"], line["data"], tuple(line["options"])) for line in lines]


@pytest.mark.parametrize("case", corpus(), ids=lambda case: case.kind)
def test_corpus_of_earlier_failures(case):
    word, detail = outcome(case)
    assert word in PASSED, detail


def test_malformed_tables_are_analyzed_and_scored_or_rejected():
    words = []
    for seed in FRESH:
        case = draw(seed)
        word, detail = outcome(case)
        assert word in PASSED, (seed, case, detail)
        words.append(word)
    assert {"works", "rejected"} <= set(words)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xlsx", "npy", "csv.gz"])
@pytest.mark.filterwarnings("ignore")
def test_damaged_tables_are_read_or_rejected(kind, tmp_path):
    original, path = originals()[kind], tmp_path / f"table.{kind}"
    messages = []
    for seed in range(CASES):
        path.write_bytes(damage(original, np.random.default_rng(seed)))
        try:
            with open_table(str(path)) as reader:
                reader.read()
        except (TableError, MemoryError) as error:
            messages.append(str(error))
    assert all("\n" not in words and len(words) < 1000 for words in messages)
    assert len(messages) < CASES or kind in ("xlsx", "csv.gz", "parquet")


def test_thousands_of_columns_with_the_same_name(tmp_path):
    """Each column gets a different number, in one pass."""
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["x"] * 3000) + "\n" + ",".join(["1"] * 3000) + "\n")
    with open_table(str(path)) as reader:
        assert reader.columns[-1] == "x.3000"
        assert sum("second column" in note for note in reader.notes) == 5
        assert "2,994 more columns" in reader.notes[-1]
