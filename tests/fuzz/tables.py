"""Malformed tables through the command line: analyzed and scored, or rejected in one sentence.

A case consists of the extension of a file, its bytes and the options. A case that failed once is
stored as one line of a file. Tables have unusual separators, quotes, encodings, ragged lines and
cells that are not numbers. In every format, some tables are damaged after they are written.
"""

from __future__ import annotations

import base64
import gzip
import io
import json
import tempfile
import warnings
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from softkern.tables.cli import run
from tests.fuzz.outcomes import classify_failure, time_limit

KINDS = ["csv", "tsv", "jsonl", "parquet", "xlsx", "npy", "csv.gz"]
CELLS = [
    *("", " ", "NA", "nan", "-", "n/a", "NULL", "inf", "-inf", "1e400", "1e-400", "-0", "0x10"),
    *("1,5", "1.234,5", "1'000", "1 000", "12%", "€ 3", "(5)", "5-", "--5", "1e", "+", "."),
    *("2024-01-31", "31.12.2024", "12:30", "TRUE", "ja", "=1+1", "@x", "\t", '"', "''", "a,b"),
    *("ä", "Ψ", "\u202e", "\x00", "\x1b[31m", "line\nbreak", "\r", "x" * 300, "9" * 400, "\ufeff"),
]
NAMES = ["a", "a", "", " ", "1", "x,y", 'q"', "ä", "n" * 200, "=x", "\x07", "row", "label", "id"]
OPTIONS = [
    (),
    ("--model", "fuzzy", "--clusters", "2"),
    ("--model", "fuzzy", "--clusters", "900"),
    ("--scale", "standard"),
    ("--missing", "drop"),
    ("--missing", "refuse"),
    ("--id", "a"),
    ("--categories", "a"),
    ("--dates",),
    ("--join",),
    ("--points", "jsonl"),
    ("--contamination", "0.4"),
    ("--separator", ";"),
    ("--decimal", ","),
    ("--encoding", "latin-1"),
    ("--no-header",),
    ("--skip-rows", "2"),
    ("--skip-bad-lines",),
    ("--na", "-"),
]
CODES = {0: "works", 2: "rejected", 3: "rejected", 5: "rejected", 6: "rejected"}


@dataclass(frozen=True)
class Case:
    """The extension of a file, its bytes in base 64, and the options of the command line."""

    kind: str
    data: str
    options: tuple[str, ...]


def draw(seed: int) -> Case:
    """Draw the case of a seed."""
    rng = np.random.default_rng(seed)
    kind = str(rng.choice(KINDS))
    data = _table(kind, rng)
    if rng.random() < 0.4:
        data = damage(data, rng)
    options = OPTIONS[int(rng.integers(len(OPTIONS)))]
    return Case(kind, base64.b64encode(data).decode(), options)


def _table(kind: str, rng: np.random.Generator) -> bytes:
    n, d = int(rng.integers(0, 40)), int(rng.integers(1, 6))
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 6, size=d)
    X[: n // 2] += 50
    names = [f"c{k}" if rng.random() < 0.7 else str(rng.choice(NAMES)) for k in range(d)]
    if kind == "npy":
        return _npy(X)
    cells: list[list[Any]] = [[repr(float(value)) for value in row] for row in X]
    share = rng.choice([0.0, 0.02, 0.3])
    cells = [[str(rng.choice(CELLS)) if rng.random() < share else c for c in r] for r in cells]
    if kind in ("parquet", "xlsx"):
        return _columnar(kind, cells, names)
    if kind == "jsonl":
        rows = [dict(zip(names, row, strict=True)) for row in cells]
        return "\n".join(json.dumps(row) for row in rows).encode()
    text = _format_lines(
        names, cells, "\t" if kind == "tsv" else str(rng.choice([",", ";", "|"])), rng
    )
    data = text.encode(str(rng.choice(["utf-8", "utf-8-sig", "latin-1", "utf-16"])), "replace")
    return gzip.compress(data, mtime=0) if kind == "csv.gz" else data


def _npy(X: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, X)
    return file.getvalue()


def _columnar(kind: str, cells: list[list[Any]], names: list[str]) -> bytes:
    own = [name if names.index(name) == k else f"{name}{k}" for k, name in enumerate(names)]
    own = ["".join(c for c in name if c.isprintable()) or f"x{k}" for k, name in enumerate(own)]
    clean = [["".join(c for c in cell if c.isprintable())[:100] for cell in row] for row in cells]
    table = pd.DataFrame(clean, columns=own)
    for name in own[1:]:  # columns of numbers too
        table[name] = pd.to_numeric(table[name], errors="coerce")
    file = io.BytesIO()
    if kind == "parquet":
        table.to_parquet(file)
    else:
        table.to_excel(file, index=False)
    return file.getvalue()


def _format_lines(
    names: list[str], rows: list[list[str]], mark: str, rng: np.random.Generator
) -> str:
    """Return lines of text. Required quotes are sometimes missing, some lines too long or short."""
    is_quoted = rng.random() < 0.7

    def line(cells: list[str]) -> str:
        if rng.random() < 0.02:
            cells = cells[:-1] if rng.random() < 0.5 else [*cells, "1"]
        special = (mark, '"', "\n", "\r")
        return mark.join(
            '"' + c.replace('"', '""') + '"' if is_quoted and any(s in c for s in special) else c
            for c in cells
        )

    lines = [line(names), *(line(row) for row in rows)]
    if rng.random() < 0.2:
        lines.insert(0, "a title above all")
    if rng.random() < 0.2:
        lines.append(mark.join(["total", *("1" for _ in names[1:])]))
    end = str(rng.choice(["\n", "\r\n", "\r"]))
    return end.join(lines) + (end if rng.random() < 0.8 else "")


def damage(original: bytes, rng: np.random.Generator) -> bytes:
    """Return a copy with some bytes changed, removed or repeated, or without its end."""
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


@cache
def _model() -> bytes:
    """Return the file of a model with two columns, to score other tables."""
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 9])
    with tempfile.TemporaryDirectory() as folder:
        table, out = Path(folder) / "t.csv", Path(folder) / "out"
        pd.DataFrame(X, columns=["c0", "c1"]).to_csv(table, index=False)
        assert run(["analyze", str(table), "-o", str(out), "--no-report", "-q"]) == 0
        return (out / "model.safetensors").read_bytes()


def outcome(case: Case) -> tuple[str, str]:
    """Analyze and score the table. Return the outcome in one word, and details."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        table, model, out = folder / f"table.{case.kind}", folder / "m.safetensors", folder / "out"
        table.write_bytes(base64.b64decode(case.data))
        model.write_bytes(_model())
        commands = [
            ["analyze", str(table), "-o", str(out), "--no-report", "-q", *case.options],
            ["score", str(model), str(table), "-o", str(folder / "s.csv"), "-q"],
        ]
        for command in commands:
            word, detail = _run_quietly(command)
            if word not in ("works", "rejected"):
                return word, f"{command[0]}: {detail}"
            left = sorted(path.name for path in folder.iterdir() if path.name.startswith("."))
            if left:
                return "leftovers", f"{command[0]}: {left}"
            if command[0] == "analyze":
                first = word, detail
                if word == "works" and not (out / "run.json").exists():
                    return "incomplete", "no run.json"
    return first


def _run_quietly(command: list[str]) -> tuple[str, str]:
    errors, output = io.StringIO(), io.StringIO()
    with (
        warnings.catch_warnings(),
        time_limit(),
        redirect_stderr(errors),
        redirect_stdout(output),
    ):
        warnings.simplefilter("ignore")
        try:
            code = run(command)
        except BaseException as error:
            return classify_failure(error)
    lines = errors.getvalue().splitlines()
    if code not in CODES:
        return "unclear", f"exit {code}: {lines[-1:]}"
    if code and (len(lines) != 1 or not lines[0].startswith("softkern: ") or len(lines[0]) > 2100):
        return "unclear", f"exit {code} with {lines[:3]}"
    return CODES[code], " ".join(lines)
