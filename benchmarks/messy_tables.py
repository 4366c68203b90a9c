"""Analyze tables as people keep them, and compare the result with the planted clusters.

    python benchmarks/messy_tables.py FOLDER

creates the tables in FOLDER, runs `softkern analyze` on each with only -o, and prints one line per
table: exit code, rows, which of the measurement columns were used, clusters, and the adjusted Rand
index with the planted clusters, followed by the messages. For files that are not tables, the message
must name the problem. With --pages every table gets a report, FOLDER/results/NAME/report.html.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import sqlite3
import subprocess
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

N = 240  # rows of most tables
NBSP = "\N{NO-BREAK SPACE}"


@dataclass
class Case:
    """A file, its measurement columns, and the planted cluster of every row."""

    data: bytes
    columns: tuple[str, ...] = ()
    groups: np.ndarray | None = None


def sales(seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Generate three kinds of customers by revenue, orders and discount."""
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(N) % 3)
    revenue = np.array([3e3, 6e4, 1.2e6])[group] * rng.lognormal(0, 0.25, N)
    orders = np.array([8, 40, 90])[group] + rng.normal(0, 3, N)
    discount = np.array([2.0, 11, 25])[group] + rng.normal(0, 1.2, N)
    table = pd.DataFrame({"revenue": revenue, "orders": orders.round(), "discount": discount})
    return table.astype({"orders": int}), group


def written(values: pd.Series, form: str = "{:,.2f}", swap: str = ",.") -> list[str]:
    """Format numbers as text; `swap` holds the thousands separator and the decimal point."""
    marks = str.maketrans(",.", "\0\1")
    back = str.maketrans("\0\1", swap)
    return [form.format(value).translate(marks).translate(back) for value in values]


def csv(table: pd.DataFrame, separator: str = ",", encoding: str = "utf-8", **options) -> bytes:
    return table.to_csv(index=False, sep=separator, **options).encode(encoding)


FEATURES = ("revenue", "orders", "discount")


def dollars() -> Case:
    table, group = sales(1)
    table["revenue"] = ["$" + word for word in written(table["revenue"])]
    table["discount"] = [f"{value:.1f}%" for value in table["discount"]]
    table.insert(0, "customer", [f"C-{i:05d}" for i in range(N)])
    return Case(csv(table), FEATURES, group)


def euros() -> Case:
    table, group = sales(2)
    table["revenue"] = [word + " €" for word in written(table["revenue"], swap=".,")]
    table["discount"] = written(table["discount"], "{:.2f}", ".,")
    table["region"] = np.array(["Nord", "Süd", "West"])[np.arange(N) % 3]
    return Case(csv(table, ";", "utf-8-sig"), FEATURES, group)


def french() -> Case:
    table, group = sales(3)
    table["revenue"] = written(table["revenue"], swap=NBSP + ",")
    table["discount"] = [word + f"{NBSP}%" for word in written(table["discount"], "{:.1f}", ".,")]
    return Case(csv(table, "\t"), FEATURES, group)


def swiss() -> Case:
    table, group = sales(4)
    table["revenue"] = ["CHF " + word for word in written(table["revenue"], swap="'.")]
    return Case(csv(table, ";"), FEATURES, group)


def title_lines() -> Case:
    table, group = sales(5)
    title = "Sales by customer,,\nPrinted on 2024-01-31,,\n,,\n"
    return Case(title.encode() + csv(table), FEATURES, group)


def titles_without_separators() -> Case:
    table, group = sales(6)
    title = "# export of the web shop\n# all amounts in EUR\n\n"
    table["revenue"] = written(table["revenue"], swap=".,")
    table["discount"] = written(table["discount"], "{:.2f}", ".,")
    return Case(title.encode() + csv(table, ";"), FEATURES, group)


def total_below() -> Case:
    """Write a file like a German Excel: cp1252, decimal comma, title, total and source."""
    table, group = sales(7)
    total = ["Summe", *written(table.sum(), swap=".,")]
    table["revenue"] = written(table["revenue"], swap=".,")
    table["discount"] = written(table["discount"], swap=".,")
    table.insert(0, "Käufer", [f"Müller {i}" for i in range(N)])
    foot = f";;;\n{';'.join(total)}\nQuelle: Buchführung\n".encode("cp1252")
    title = "Umsätze 2024;;;\n".encode("cp1252")
    return Case(title + csv(table, ";", "cp1252") + foot, FEATURES, group)


def unicode_text() -> Case:
    """Write a file like Excel's "Unicode text", with empty columns."""
    table, group = sales(8)
    table[["", " "]] = ""
    return Case(csv(table, "\t", "utf-16"), FEATURES, group)


def times_and_long_numbers() -> Case:
    table, group = sales(9)
    shapes = ("2024-01-{:02d}", "{:02d}.01.2024", "01/{:02d}/2024")
    table["account"] = [10**17 + 7919 * i for i in range(N)]
    table["when"] = [shapes[i % 3].format(i % 28 + 1) for i in range(N)]
    table["took"] = [f"{i % 5}:{i % 60:02d}:00" for i in range(N)]
    return Case(csv(table), FEATURES, group)


def bank() -> Case:
    rng = np.random.default_rng(7)
    group = rng.permutation(np.arange(N) % 3)
    amount = np.array([-40.0, -950, 2600])[group] + rng.normal(0, 20, N)
    fee = np.array([0.5, 4, 9])[group] + rng.normal(0, 0.3, N)
    days = pd.date_range("2024-01-01", periods=N)
    table = pd.DataFrame({"booked on": days.strftime("%d.%m.%Y")})
    amounts = pd.Series(np.abs(amount))
    table["amount"] = [
        f"({word})" if value < 0 else word
        for value, word in zip(amount, written(amounts), strict=True)
    ]
    table["fee"] = fee.round(2)
    table["text"] = [f"payment {i % 37}" for i in range(N)]
    return Case(csv(table), ("amount", "fee"), group)


def trailing_minus() -> Case:
    rng = np.random.default_rng(8)
    group = rng.permutation(np.arange(N) % 2)
    result = np.where(group == 0, -52_000.0, 61_000) + rng.normal(0, 4000, N)
    share = np.where(group == 0, 12.0, 44) + rng.normal(0, 3, N)
    words = written(pd.Series(np.abs(result)), swap=".,")
    table = pd.DataFrame(
        {
            "Konto": np.arange(N) + 400_000,
            "Ergebnis": [w + "-" * int(v < 0) for v, w in zip(result, words, strict=True)],
            "Anteil": [f"{w} %" for w in written(pd.Series(share), "{:.1f}", ".,")],
        }
    )
    return Case(csv(table, ";"), ("Ergebnis", "Anteil"), group)


def sensor() -> Case:
    rng = np.random.default_rng(9)
    group = np.repeat([0, 1, 2], N // 3)
    table = pd.DataFrame({"time": pd.date_range("2024-03-01", periods=N, freq="10min").astype(str)})
    for name, levels in {"temp": (20, 60, 90), "bar": (1, 3, 8), "rpm": (300, 900, 2000)}.items():
        values = np.array(levels)[group] * (1 + 0.05 * rng.normal(size=N))
        words = [f"{value:.3f}" for value in values]
        holes = rng.uniform(size=N) < 0.08
        table[name] = ["" if hole else word for hole, word in zip(holes, words, strict=True)]
    table.loc[table.index[5], "temp"] = "n/a"
    return Case(csv(table), ("temp", "bar", "rpm"), group)


def survey() -> Case:
    rng = np.random.default_rng(10)
    group = rng.permutation(np.arange(N) % 2)
    table = pd.DataFrame({"respondent": np.arange(1, N + 1)})
    table["age"] = (np.where(group == 0, 24, 61) + rng.normal(0, 4, N)).round().astype(int)
    table["hours a week"] = (np.where(group == 0, 31, 9) + rng.normal(0, 3, N)).round(1)
    table["satisfied"] = rng.integers(1, 6, N)
    table["would recommend"] = np.where(rng.uniform(size=N) < 0.5, "yes", "no")
    table["country"] = "Austria"
    table["comment"] = [f"free text, number {i}" for i in range(N)]
    return Case(csv(table), ("age", "hours a week", "satisfied"), group)


def ids() -> Case:
    table, group = sales(11)
    rng = np.random.default_rng(11)
    table.insert(0, "", np.arange(N))
    table.insert(1, "CustomerID", rng.permutation(N) + 70_000)
    table["token"] = [f"{value:016x}" for value in rng.integers(2**62, size=N)]
    return Case(csv(table), FEATURES, group)


def wide() -> Case:
    rng = np.random.default_rng(12)
    group = rng.permutation(np.arange(N) % 3)
    X = rng.normal(size=(N, 200))
    X[:, :8] += 4 * rng.normal(size=(3, 8))[group]
    names = [f"measurement {j:03d}" for j in range(200)]
    return Case(csv(pd.DataFrame(X, columns=names)), tuple(names), group)


def repeated() -> Case:
    table, group = sales(13)
    return Case(csv(pd.concat([table] * 3)), FEATURES, np.tile(group, 3))


def two_heaps(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    group = rng.permutation(np.arange(N) % 2)
    return np.where(group == 0, 12.0, 31) + rng.normal(0, 1.5, N), group


def one_column() -> Case:
    values, group = two_heaps(14)
    words = written(pd.Series(values), "{:.2f}", ".,")
    return Case("\n".join(["Gewicht", *words, ""]).encode(), ("Gewicht",), group)


def one_quoted_column() -> Case:
    values, group = two_heaps(15)
    return Case("\n".join(f'"{value:.2f}"' for value in values).encode(), ("x1",), group)


def one_column_with_blanks() -> Case:
    values, group = two_heaps(16)
    lines = [f"{value:.2f}" for value in values]
    for place in (3, 50, 51):
        lines[place] = ""
    return Case("\n".join(["weight", *lines, ""]).encode(), ("weight",), group)


def hole_in_the_first_row() -> Case:
    table, group = sales(17)
    table.insert(0, "first", table["revenue"] ** 0.5)
    lines = csv(table).decode().splitlines()[1:]
    lines[0] = "," + lines[0].split(",", 1)[1]
    return Case("\n".join(lines).encode(), ("x1", "x2", "x3", "x4"), group)


def thousands_only() -> Case:
    table, group = sales(18)
    table["revenue"] = written(table["revenue"], "{:,.0f}")
    return Case(csv(table, quoting=1), FEATURES, group)


def stand_ins() -> Case:
    table, group = sales(19)
    table.loc[[3, 9, 70], "discount"] = -999
    table["currency"], table["year"] = "EUR", 2024
    return Case(csv(table.round(3)), FEATURES, group)


def excel() -> Case:
    table, group = sales(20)
    table.insert(0, "since", pd.date_range("2020-01-01", periods=N, freq="3D"))
    table["share"] = [f"{value:.1f} %" for value in table["discount"]]
    buffer = io.BytesIO()
    with pd.ExcelWriter(buffer, engine="openpyxl") as book:
        table.to_excel(book, sheet_name="Customers", index=False, startrow=3)
        book.sheets["Customers"]["A1"] = "Customers of the year"
        pd.DataFrame({"note": ["nothing"]}).to_excel(book, sheet_name="Notes", index=False)
    return Case(buffer.getvalue(), (*FEATURES, "share"), group)


def json_lines() -> Case:
    table, group = sales(21)
    rows = table.round(3).to_dict("records")
    for i, row in enumerate(rows):
        row["user"] = {"name": f"u{i}", "country": "AT"}
        if i % 11 == 0:
            del row["discount"]
    return Case("\n".join(json.dumps(row) for row in rows).encode(), FEATURES, group)


def json_array() -> Case:
    return Case(json.dumps(sales(22)[0].to_dict("records"), indent=1).encode())


def old_excel() -> Case:
    return Case(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000))


def database() -> Case:
    connection = sqlite3.connect(":memory:")
    sales(23)[0].to_sql("sales", connection)
    return Case(connection.serialize())


def several_files() -> Case:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for year in (2022, 2023):
            archive.writestr(f"sales_{year}.csv", csv(sales(year)[0]))
    return Case(buffer.getvalue())


CASES: dict[str, Callable[[], Case]] = {
    "sales in dollars.csv": dollars,
    "umsatz in euro.csv": euros,
    "ventes.tsv": french,
    "schweiz.csv": swiss,
    "title lines.csv": title_lines,
    "comments above.csv": titles_without_separators,
    "total below, cp1252.csv": total_below,
    "unicode text.txt": unicode_text,
    "times and long numbers.csv": times_and_long_numbers,
    "bank statement.csv": bank,
    "trailing minus.csv": trailing_minus,
    "sensor log.csv": sensor,
    "survey.csv": survey,
    "identifiers.csv": ids,
    "200 columns.csv": wide,
    "rows three times.csv": repeated,
    "one column, decimal comma.csv": one_column,
    "one quoted column.csv": one_quoted_column,
    "one column, blank lines.txt": one_column_with_blanks,
    "hole in the first row.csv": hole_in_the_first_row,
    "thousands only.csv": thousands_only,
    "stand-ins and constants.csv": stand_ins,
    "workbook.xlsx": excel,
    "events.jsonl": json_lines,
    "array.json": json_array,
    "old.xls": old_excel,
    "shop.sqlite": database,
    "two years.zip": several_files,
}


def look_at(name: str, case: Case, folder: Path, is_page: bool) -> None:
    path, out = folder / name, folder / "results" / name
    path.write_bytes(case.data)
    command = [sys.executable, "-m", "softkern.tables.cli", "analyze", str(path), "-o", str(out)]
    command += ["--force", *([] if is_page else ["--no-report"])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    print(f"{name}: exit {done.returncode}, {answer(case, out) if done.returncode == 0 else '–'}")
    messages = [line.strip() for line in done.stdout.splitlines() if line.startswith("  · ")]
    for line in [*messages, *done.stderr.strip().splitlines()[-1:]]:
        print(f"    {line.replace(str(folder) + '/', '')[:220]}")


def answer(case: Case, out: Path) -> str:
    record = json.loads((out / "run.json").read_text())
    points = pd.read_csv(out / "points.csv")
    read = record["preparation"]["features"]
    lacking = [name for name in case.columns if name not in read]
    more = [name for name in read if name not in case.columns]
    words = [f"{record['input']['rows']} rows", f"{len(read)} columns used"]
    words += [f"lacks {', '.join(lacking[:4])}"] if lacking else []
    words += [f"beside them {', '.join(more[:4])}"] if more else []
    words.append(f"{record['result']['clusters']} clusters, {record['result']['outliers']} flagged")
    if case.groups is not None:
        index = points["row"].to_numpy() - 1
        is_there = index < len(case.groups)
        truth = case.groups[index[is_there]]
        agreement = adjusted_rand_score(truth, points["label"][is_there])
        words.append(f"ARI {agreement:.2f} with the {case.groups.max() + 1} planted")
    return "; ".join(words)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--pages", action="store_true", help="write the report pages too")
    given = parser.parse_args()
    folder: Path = given.folder
    (folder / "results").mkdir(parents=True, exist_ok=True)
    for name, make in CASES.items():
        try:
            case = make()
        except ImportError as error:
            print(f"{name}: not made, {error}")
            continue
        look_at(name, case, folder, given.pages)
        with contextlib.suppress(BrokenPipeError):
            sys.stdout.flush()


if __name__ == "__main__":
    main()
