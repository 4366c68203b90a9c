"""Totals and notes below a table are detected, left out and reported."""

import bz2
import io

import numpy as np
import pytest

from softkern.tables.cli import run
from softkern.tables.io import Format, TableError, open_table

ROWS = "name;year;sales;cost\na;2001;1.000,5;1\nb;2002;2.000;-3\nc;2003;500,5;2\n"


def read(path, **form):
    with open_table(path, Format(**form)) as reader:
        return reader.read(), reader.notes


@pytest.mark.parametrize(
    "foot",
    [
        "Total;;3.501;0\n",
        "\nGesamtsumme:;;3.501,00;0\n",
        ";;;\nGrand total;;3501;0\n;;;\n",
        "Total;;3501;\nSource: a report; page 7\n",
        "Average;;1.167;0\nSUM;6.006;3.501;0",
        "Total;;;\n",
        ";Summe;3.501;0\n",
        "* preliminary\n",
        "Quelle: Amt, 2024; eigene Rechnung; Stand; Mai; Juni; Juli\n",
        "\nprinted by us;;;\n",
        "\nprinted by;us;;\nin March;;;\n",
        "Total;;3.501;0\nprinted by us;;;\n",
        "no separator\n",
    ],
)
def test_totals_and_notes_are_left_out(foot, write):
    table, notes = read(write(ROWS + foot))
    plain, printed = read(write(ROWS, "plain.csv"))
    assert table.equals(plain), "lines below the table must not change how rows are read"
    assert printed == notes[: len(printed)]
    assert len(notes) == len(printed) + 1
    assert "below the table, such as '" in notes[-1]
    assert "--skip-footer 0" in notes[-1]
    everything, notes = read(write(ROWS + foot), skip_footer=0, skip_bad_lines=True)
    assert not any("below the table" in note for note in notes)
    lines = sum(bool(line.strip("; ")) for line in foot.splitlines())
    kept = lines - ("Juli" in foot)  # that line has too many fields
    assert len(everything.dropna(how="all")) == 3 + kept
    skipped, notes = read(write(ROWS + foot), skip_footer=lines)
    assert skipped.equals(plain)


@pytest.mark.parametrize(
    "last",
    [
        "d;2004;7;8\n",
        "d;2004;;\n",
        "d;;;\n",  # a name without values is a row of missing ones
        "\nd;2004;7;8\n",
        "Source;2004;7;8\n",
        "Totally;2004;7;8\n",
        'd;2004;7;"8"\n',
        "2004;2004;3501;0\n",  # sums without a word
    ],
)
def test_last_rows_with_data_are_kept(last, write):
    table, notes = read(write(ROWS + last))
    assert len(table) == 4
    assert notes == read(write(ROWS, "plain.csv"))[1]


def test_a_total_that_is_not_a_sum_is_kept_and_reported(write):
    table, notes = read(write(ROWS + "Total:;2004;77;8\nSource: us\n"))
    assert table["name"].tolist() == ["a", "b", "c", "Total:"]
    assert "'Total:' at the end is no sum of the columns above it: kept" in notes[-2]
    assert "--skip-footer 2 " in notes[-2]
    table, _ = read(write(ROWS + "Total:;2004;77;8\nSource: us\n"), skip_footer=2)
    assert table["name"].tolist() == ["a", "b", "c"]
    table, notes = read(write(ROWS + "Total S.A.;2004;77;8\n"))
    assert table["name"].tolist() == ["a", "b", "c", "Total S.A."]  # a company: no note
    assert not any("Total" in note for note in notes)


def test_a_rounded_total_is_recognized(write):
    numbers = np.random.default_rng(0).uniform(0, 100, 500)
    text = "name,value\n" + "".join(f"r{i},{v:.0f}\n" for i, v in enumerate(numbers))
    for total, left in ((numbers.sum(), 500), (numbers.sum() * 1.01, 501)):
        assert len(read(write(f"{text}Total,{total:.2f}\n"))[0]) == left


@pytest.mark.parametrize("pack", [bytes, bz2.compress])
def test_the_end_of_a_large_table_is_examined(pack, write, monkeypatch):
    rows = 150_000  # longer than the part from which the kind is detected
    text = "name,value\n" + "r,10\n" * rows + "r,5\n" * rows
    path = write(pack(f"{text}\nTotal,{15 * rows}\nSource: us\n".encode()))
    with open_table(path) as reader:
        pieces = list(reader.chunks())
    assert sum(map(len, pieces)) == 2 * rows
    assert {str(piece["value"].dtype) for piece in pieces} == {"int64"}
    assert "left out 2 lines" in reader.notes[-1]
    with open_table(path, Format(skip_footer=1)) as reader:
        assert sum(map(len, reader.chunks())) == 2 * rows + 1


def test_the_end_of_a_long_stream_is_unknown(write, monkeypatch):
    text = "name,value\n" + "r,10\n" * 300_000 + "Total,3000000\n"
    for skip, message in ((None, None), (1, "save it into a file")):
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        if message:
            with pytest.raises(TableError, match=message):
                open_table("-", Format(skip_footer=skip))
        else:
            assert len(open_table("-").read()) == 300_001


def test_lines_within_quotes_are_not_notes(write):
    text = 'value,remark\n1,x\n2,"long\nremark\nSource: us"\n'
    table, notes = read(write(text))
    assert len(table) == 2
    assert notes == []


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-8-sig", "cp1252", "utf-7"])
def test_encodings(encoding, write):
    text = "größe,wert\nmaß,1\nfuß,2\nSumme für alle,3\nQuelle: für alle\n"
    mark = b"\xfe\xff" if encoding == "utf-16-be" else b""
    given = {"encoding": encoding} if encoding == "utf-7" else {}
    table, notes = read(write(mark + text.encode(encoding)), **given)
    assert table.to_numpy().tolist()[:2] == [["maß", 1], ["fuß", 2]]
    assert len(table) == 2
    assert "below the table" in notes[-1]


def test_one_column(write):
    table, notes = read(write("value\n1\n2\n\n4\nSource: us\n"))
    assert table["value"].isna().tolist() == [False, False, True, False]
    assert "'Source: us'" in notes[0]


def test_workbooks(write):
    book = pytest.importorskip("openpyxl").Workbook()
    rows = [("name", "v"), ("a", 1.5), ("b", "2,5 €"), (), ("Total", 4), (None, None), ("* x",)]
    for row in rows[:3] + rows[4:5]:
        book.active.append(row)
    book.active.cell(8, 1, "Source: us")
    buffer = io.BytesIO()
    book.save(buffer)
    path = write(buffer.getvalue(), "table.xlsx")
    table, notes = read(path, decimal=",")
    assert table["name"].tolist() == ["a", "b"]
    assert "left out 2 lines below the table, such as 'Total'" in notes[-1]
    assert len(read(path, skip_footer=1)[0]) == 3
    assert len(read(path, skip_footer=0)[0]) == 4


def test_skipping_all_rows_is_rejected(write):
    with pytest.raises(TableError, match="no row of the table is left if 3 lines"):
        read(write(ROWS), skip_footer=3)


def test_analyze_score_and_join_leave_out_the_same_lines(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(60, 2)), rng.normal(size=(60, 2)) + 8]).round(2)
    lines = [f"n{i};{a:.2f};{b:.2f}".replace(".", ",") for i, (a, b) in enumerate(X)]
    total = f"Summe;{X[:, 0].sum():.2f};{X[:, 1].sum():.2f}".replace(".", ",")
    (tmp_path / "t.csv").write_text("\n".join(["name;x;y", *lines, "", total, ""]))
    assert run(["analyze", "t.csv", "-o", "out", "--join", "--no-report"]) == 0
    assert "left out 1 line below the table, such as 'Summe' (--skip" in capsys.readouterr().out
    joined = (tmp_path / "out" / "joined.csv").read_text().splitlines()
    assert len(joined) == 121
    assert not any("Summe" in line for line in joined)
    assert run(["score", "out/model.safetensors", "t.csv", "--join", "-o", "s.csv"]) == 0
    assert len((tmp_path / "s.csv").read_text().splitlines()) == 121
    score = ["score", "out/model.safetensors", "t.csv", "--chunk", "60"]
    assert run([*score, "-o", "c.csv"]) == 0
    assert len((tmp_path / "c.csv").read_text().splitlines()) == 121
    assert run([*score, "-o", "k.csv", "--skip-footer", "0"]) == 0
    assert len((tmp_path / "k.csv").read_text().splitlines()) == 122
