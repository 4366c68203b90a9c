"""Damaged tables: read, or refused in one sentence; never a traceback, never another exit code."""

import gzip
import io

import numpy as np
import pandas as pd
import pytest

from softkern.cli.tables import TableError, open_table

CASES = 120  # of every kind of file


def originals():
    """Files of every kind that can be read, as bytes."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(20, 3)), columns=["a", "b", "c"])
    table["word"] = [f"w{i % 3}" for i in range(20)]
    found = {"csv": table.to_csv(index=False).encode(), "jsonl": _json_lines(table)}
    for name, write in (("parquet", table.to_parquet), ("xlsx", _excel(table))):
        file = io.BytesIO()
        write(file)
        found[name] = file.getvalue()
    file = io.BytesIO()
    np.save(file, table[["a", "b", "c"]].to_numpy())
    return {**found, "npy": file.getvalue(), "csv.gz": gzip.compress(found["csv"])}


def _json_lines(table):
    return table.to_json(orient="records", lines=True).encode()


def _excel(table):
    return lambda file: table.to_excel(file, index=False)


def altered(original, rng):
    """Some bytes changed, cut out, doubled, or the end cut off."""
    data = bytearray(original)
    for _ in range(int(rng.integers(1, 6))):
        at, length = int(rng.integers(len(data) or 1)), int(rng.integers(1, 9))
        kind = rng.integers(4)
        if kind == 0:
            data[at : at + length] = rng.integers(0, 256, length, dtype=np.uint8).tobytes()
        elif kind == 1:
            del data[at : at + length]
        elif kind == 2:
            data[at:at] = data[at : at + length]
        elif rng.random() < 0.2:
            del data[at:]
    return bytes(data)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xlsx", "npy", "csv.gz"])
@pytest.mark.filterwarnings("ignore")
def test_damaged_tables(kind, tmp_path):
    original, path = originals()[kind], tmp_path / f"table.{kind}"
    said = []
    for seed in range(CASES):
        path.write_bytes(altered(original, np.random.default_rng(seed)))
        try:
            with open_table(str(path)) as reader:
                reader.read()
        except (TableError, MemoryError) as error:
            said.append(str(error))
    assert all("\n" not in words and len(words) < 1000 for words in said)
    assert len(said) < CASES or kind in ("xlsx", "csv.gz", "parquet")


def test_thousands_of_columns_of_one_name(tmp_path):
    """Each gets a number of its own, in one pass."""
    path = tmp_path / "wide.csv"
    path.write_text(",".join(["x"] * 3000) + "\n" + ",".join(["1"] * 3000) + "\n")
    with open_table(str(path)) as reader:
        assert reader.columns[-1] == "x.3000"
        assert sum("second column" in note for note in reader.notes) == 5
        assert "2,994 more columns" in reader.notes[-1]
