"""Reading tables: detected formats, notes, and files that are rejected."""

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import zipfile

import numpy as np
import pandas as pd
import pytest

from softkern._utils.text import quote, quote_list
from softkern.exceptions import DataError
from softkern.tables.io import Format, Reader, TableError, open_table
from softkern.tables.preparation import TablePreparation

TEXT = "a,b\n1,2\n3,4\n5.5,-6\n"
VALUES = [[1, 2], [3, 4], [5.5, -6]]


def npy(values, **kwargs):
    buffer = io.BytesIO()
    np.save(buffer, values, **kwargs)
    return buffer.getvalue()


def parquet(frame):
    pytest.importorskip("pyarrow")
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def make_zip(data, names=("table.csv",)):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name in names:
            archive.writestr(zipfile.ZipInfo(name), data)  # no date: test ids are reproducible
    return buffer.getvalue()


# Kinds of files

PACKED = [
    ("plain", lambda data: data),
    ("gzip", gzip.compress),
    ("bzip2", bz2.compress),
    ("xz", lzma.compress),
    ("zip", make_zip),
]


@pytest.mark.parametrize(("packing", "pack"), PACKED)
@pytest.mark.parametrize("kind", ["csv", "npy", "parquet"])
def test_kind_and_packing_are_detected_from_the_bytes(kind, packing, pack, write):
    frame = pd.DataFrame(VALUES, columns=["a", "b"])
    data = {"csv": lambda: TEXT.encode(), "npy": lambda: npy(np.array(VALUES))}.get(
        kind, lambda: parquet(frame)
    )()
    path = write(pack(data), "a name without extension")
    reader = open_table(path)
    assert kind.upper()[:3] == reader.kind[:3].upper()
    assert (packing in reader.kind) == (packing != "plain")
    assert reader.columns == (["x1", "x2"] if kind == "npy" else ["a", "b"])
    assert reader.read().to_numpy().tolist() == VALUES
    pieces = list(open_table(path).chunks(2))
    assert [len(piece) for piece in pieces] == [2, 1]
    assert np.concatenate([piece.to_numpy() for piece in pieces]).tolist() == VALUES


@pytest.mark.parametrize("data", [TEXT.encode(), gzip.compress(TEXT.encode(), mtime=0)])
def test_standard_input(data, monkeypatch):
    read, write = os.pipe()  # cannot seek
    os.write(write, data)
    os.close(write)
    with open(read, "rb") as stream:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(stream))
        reader = open_table("-")
        assert reader.name == "standard input"
        assert reader.read().to_numpy().tolist() == VALUES


@pytest.mark.parametrize(
    ("text", "form", "columns"),
    [
        ("a;b\n1,5;2\n", Format(decimal=","), ["a", "b"]),
        ("a\tb\n1.5\t2\n", None, ["a", "b"]),
        ("a|b\n1.5|2\n", None, ["a", "b"]),
        ("1.5 2\n", None, ["x1", "x2"]),
        ("1.5,2\n", None, ["x1", "x2"]),
        ('"a,;\tz",b\n1.5,2\n', None, ["a,;\tz", "b"]),
        ("2019,2020\n1.5,2\n", Format(header=True), ["2019", "2020"]),
        ("a, b\n1.5, 2\n", None, ["a", "b"]),
        ("a:b\n1.5:2\n", Format(separator=":"), ["a", "b"]),
        ("\n\na,b\n1.5,2\n", None, ["a", "b"]),
    ],
)
def test_separator_and_header_are_detected(text, form, columns, write):
    reader = open_table(write(text), form)
    assert reader.columns == columns
    assert reader.read().to_numpy().tolist() == [[1.5, 2]]
    assert bool(reader.notes) == (columns[0] == "x1")  # invented names are reported


def test_names_are_made_unique(write):
    reader = open_table(write("a,a,,a.2\n1,2,3,4\n"))
    assert reader.columns == ["a", "a.2", "column 3", "a.2.2"]
    assert reader.read().shape == (1, 4)
    assert "a second column 'a' is called 'a.2'" in reader.notes


@pytest.mark.parametrize(
    ("text", "separator", "columns"),
    [
        ("1,5;2,5\n3,5;4,5\n", ";", ["x1", "x2"]),
        ("1,5\t2,5\n3,5\t4,5\n", "tab", ["x1", "x2"]),
        ("size, cm;weight, kg\n1,5;2,5\n", ";", ["size, cm", "weight, kg"]),
        ("size, cm;weight, kg\n1;2\n", ";", ["size, cm", "weight, kg"]),
    ],
)
def test_decimal_commas_do_not_separate(text, separator, columns, write):
    for decimal in (".", ","):
        with open_table(write(text), Format(decimal=decimal)) as reader:
            assert separator in reader.kind
            assert reader.columns == columns
    with open_table(write(text), Format(decimal=",")) as reader:
        assert reader.read().to_numpy().dtype.kind in "if"


def test_no_decimal_comma_where_commas_separate_the_cells(write):
    """For example, a new table for a model of a table with a decimal comma."""
    with open_table(write("a,b\n1.5,2\n3,4\n"), Format(decimal=",")) as reader:
        assert reader.read().to_numpy().tolist() == [[1.5, 2], [3, 4]]
    assert reader.notes == ["commas separate its cells, so that numbers have a decimal point"]
    with open_table(write("a\n1,5\n3,25\n"), Format(decimal=",")) as reader:
        assert reader.read()["a"].tolist() == [1.5, 3.25]


def test_blanks_separate_columns_below_a_header(write):
    with open_table(write("a b\n1 2\n3 4\n")) as reader:
        assert reader.columns == ["a", "b"]
        assert reader.read().to_numpy().tolist() == [[1, 2], [3, 4]]
    with open_table(write("first name\n1\n3\n")) as reader:
        assert reader.columns == ["first name"]


@pytest.mark.parametrize("name", ["table.csv", "table.jsonl"])
def test_a_file_of_moderate_size_is_read_once(name, write, monkeypatch):
    rows = "5,10\n" * 300_000 if name == "table.csv" else '{"v": 5, "w": 10}\n' * 80_000
    path = write(rows + ("Total,10\n" if name == "table.csv" else ""), name)
    opened = []

    def count(path, mode):
        opened.append(path)
        return open(path, mode)

    monkeypatch.setattr("softkern.tables.io.bytes.open", count, raising=False)
    with open_table(path) as reader:
        assert len(reader.read()) >= 80_000
    assert opened == [path]


def test_long_cells_are_read(write):
    with open_table(write(f"a,b\n1,{'q' * 200_000}\n2,r\n")) as reader:
        assert reader.read()["a"].tolist() == [1, 2]


def test_settings_of_the_process_stay_as_they_are(write, monkeypatch):
    monkeypatch.setattr(csv, "field_size_limit", None)  # the limit is shared by all threads
    with open_table(write(f'a,b\n1,"{"q, " * 200_000}"\n2,r\n')) as reader:
        assert reader.read()["a"].tolist() == [1, 2]


def test_text_cells_do_not_depend_on_other_rows(write):
    path = write("a,k\n1,01\n2,02\n3,0A\n4,NA\n")
    with open_table(path) as reader:
        whole = reader.read(words=["k"])["k"].tolist()
    with open_table(path) as reader:
        parts = [k for part in reader.chunks(1, words=["k"]) for k in part["k"].tolist()]
    assert whole[:3] == parts[:3] == ["01", "02", "0A"]
    assert pd.isna(whole[3])
    assert pd.isna(parts[3])


@pytest.mark.parametrize("index", [None, ["r1", "r2", "r3"]])
def test_parquet_with_an_index_in_chunks(index, write):
    frame = pd.DataFrame(VALUES, columns=["a", "b"], index=index)
    with open_table(write(parquet(frame))) as reader:
        parts = list(reader.chunks(2))
        assert [len(part) for part in parts] == [2, 1]
        assert pd.concat(parts)[["a", "b"]].to_numpy().tolist() == VALUES


@pytest.mark.parametrize("rows", [None, 2])
def test_words_for_missing_values_in_parquet(rows, write):
    cells = ["1", " ", "NA", "?", None]
    frame = pd.DataFrame({"id": cells, "a": cells})
    with open_table(write(parquet(frame)), Format(missing=("?",))) as reader:
        table = pd.concat(reader.chunks(rows, ["id"])) if rows else reader.read(["id"])
    assert table["a"].isna().tolist() == [False, True, True, True, True]
    assert table["id"].tolist()[:4] == cells[:4]


def test_a_given_decimal_point_decides_text_in_parquet(write):
    frame = pd.DataFrame({"x": ["1,234", "5,678"]})
    with open_table(write(parquet(frame)), Format(decimal=",")) as reader:
        assert reader.decimal == ","


def test_errors_of_a_spreadsheet_are_missing_values(write):
    with open_table(write("a,b\n1,#DIV/0!\n2,5\n#REF!,6\n")) as reader:
        table = reader.read()
    assert table.isna().to_numpy().tolist() == [[False, True], [False, False], [True, False]]


def test_identifiers_are_kept_as_written(write):
    path = write("id,b\n007,1\nNA,NA\n,3\n")
    whole = open_table(path).read(text=["id"])
    pieces = pd.concat(open_table(path).chunks(1, text=["id"]))
    for table in (whole, pieces):
        assert table["id"].tolist() == ["007", "NA", ""]
        assert table["b"].isna().tolist() == [False, True, False]


def test_chunks_of_wide_tables_are_short():
    class Columns(Reader):
        def _tables(self, rows, text, words):
            raise NotImplementedError

    for width, rows in ((10, 50_000), (10_000, 500)):
        reader = Columns("", Format())
        reader.columns = ["x"] * width
        assert reader.rows_at_once() == rows


def test_thousands_of_columns(write):
    names = [f"feature_{i:030d}" for i in range(4_000)]  # a header longer than any buffer
    rows = ["\t".join(names), *("\t".join(map(str, range(i, i + 4_000))) for i in range(3))]
    reader = open_table(write("\n".join(rows) + "\n"))
    assert reader.columns == names
    prepared = TablePreparation(scale="none").fit_prepare(reader.read())
    assert prepared.values.shape == (3, 4_000)
    assert prepared.values[2, -1] == 4_001


# Layout


@pytest.mark.parametrize(
    ("text", "form", "columns", "rows"),
    [
        ("Sales,,\nof 2024,,\n\na,b,c\n1,2,3\n4,5,6\n", None, ["a", "b", "c"], 2),
        ("# a comment\n# another, with commas\na;b\n1;2\n3;4\n5;6\n", None, ["a", "b"], 3),
        ("sep=;\na;b\n1;2\n3;4\n", None, ["a", "b"], 2),
        ("Weights\nof all\nweight\n1.5\n2.5\n3\n4\n", None, ["weight"], 4),
        ("x,y\nnote,\na,b\n1,2\n3,4\n", Format(skip_rows=2), ["a", "b"], 2),
        ('"A title\nof two lines",\na,b\n1,2\n3,4\n5,6\n', None, ["a", "b"], 3),
        ("Sales, by month\na,b,c\n1,2,3\n4,5,6\n", None, ["a", "b", "c"], 2),
        (",value\n0,1.5\n1,2.5\n", None, ["column 1", "value"], 2),  # a nameless index
        ("a,b,c\n1,,\n2,,\n", None, ["a", "b", "c"], 2),
        ("a,b\n1,2,\n3,4,\n", None, ["a", "b", "column 3"], 2),  # lines that end with a separator
    ],
)
def test_lines_above_the_header(text, form, columns, rows, write):
    path = write(text)
    with open_table(path, form) as reader:
        assert reader.columns == columns
        assert len(reader.read()) == rows
        has_note = any("above the table" in note for note in reader.notes)
        assert has_note == (form is None and text.split("\n")[0] not in (",value", "a,b,c", "a,b"))
    with open_table(path, form) as reader:
        assert sum(len(part) for part in reader.chunks(1)) == rows


@pytest.mark.parametrize("header", ["a,b,,,", "a,b,,", "a,b"])
def test_columns_without_anything_do_not_make_a_header_short(header, write):
    tail = "," * header.count(",")
    text = header + "\n" + "".join(f"{i},{i % 5}{tail[1:]}\n" for i in range(9))
    with open_table(write(text)) as reader:
        assert len(reader.read()) == 9
    assert reader.columns[0] == "a"
    assert not any("above" in note for note in reader.notes)


def test_skip_rows_0_skips_no_line(write):
    with open_table(write("Sales,,\na,b,c\n1,2,3\n"), Format(skip_rows=0)) as reader:
        assert reader.columns == ["Sales", "column 2", "column 3"]
    with pytest.raises(TableError, match="no row after 9 lines"):
        open_table(write("a,b\n1,2\n"), Format(skip_rows=9))


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("1,,3\n4,5,6\n7,8,9\n", [1, None, 3]),
        (",2,3\n4,5,6\n", None),  # columns with numbers as names, and one without a name
        (",2019\n0,5.5\n1,6\n2,7\n", None),  # as pandas writes a table with its index
        (",2.5,3\n4,5,6\n", [None, 2.5, 3]),
        ("NA,5,6\n4,5,6\n", [None, 5, 6]),
        ("2024-01-31,5,6\n2024-02-01,5,6\n", ["2024-01-31", 5, 6]),
    ],
)
def test_a_first_row_with_a_missing_cell_is_data(text, first, write):
    with open_table(write(text)) as reader:
        table = reader.read()
    assert len(table) == text.count("\n") - (first is None)
    if first is not None:
        found = [None if pd.isna(cell) else cell for cell in table.iloc[0]]
        assert found == first


@pytest.mark.parametrize(
    ("text", "form", "name", "cells"),
    [
        ("x\n1,5\n2,25\n3\n", None, "x", [1.5, 2.25, 3]),
        ("x\n1,5\n2,25\n3\n", Format(decimal=","), "x", [1.5, 2.25, 3]),
        ("1,5\n2,25\n3\n", Format(decimal=","), "x1", [1.5, 2.25, 3]),
        ('"1"\n"2"\n"4"\n', None, "x1", [1, 2, 4]),
        ('"a name"\n"1"\n"2"\n', None, "a name", [1, 2]),
        ("x\n1\n\n3\n\n\n5\n\n\n", None, "x", [1, None, 3, None, None, 5]),
        ("1\n\n3\n", None, "x1", [1, None, 3]),
        ("\n\nx\n1\n2\n", None, "x", [1, 2]),
    ],
)
def test_one_column_is_read(text, form, name, cells, write):
    path = write(text)
    with open_table(path, form) as reader:
        assert reader.columns == [name]
        table = reader.read()
        assert "one column" in reader.kind
    with open_table(path, form) as reader:
        parts = pd.concat(list(reader.chunks(2)))
    for found in (table, parts):
        assert [None if pd.isna(cell) else cell for cell in found[name]] == cells


def test_a_header_of_several_lines(write):
    path = write(',"line\nbreak",b\n1,p|q,3\n4,"r,s",6\n7,8,9,10\n')
    with open_table(path, Format(skip_bad_lines=True)) as reader:
        assert reader.columns == ["column 1", "line\nbreak", "b"]
        assert reader.read()["b"].tolist() == [3, 6]
    with pytest.raises(TableError, match="in line 5, saw 4"):
        open_table(path).read()


def test_a_single_cell_does_not_decide_on_a_decimal_comma(write):
    with open_table(write('a,b\n1.338,"1,5"\n2.225,large\n3.125,small\n')) as reader:
        assert reader.decimal is None
        assert reader.read()["a"].tolist() == [1.338, 2.225, 3.125]


def test_a_decimal_comma_is_detected_and_points_separate_thousands(write):
    text = "a;b;c\n1,5;1.234;x\n22,25;5.678;y\n3;9.000;z\n"
    for form in (None, Format(decimal=",")):
        with open_table(write(text), form) as reader:
            table = reader.read()
            assert reader.decimal == ","
            assert any("decimal comma" in note for note in reader.notes) == (form is None)
        prepared = TablePreparation(scale="none", decimal=reader.decimal).fit_prepare(table)
        assert prepared.features.to_numpy().tolist() == [[1.5, 1234], [22.25, 5678], [3, 9000]]


# JSON lines and workbooks


def test_json_lines(write):
    rows = [
        {"x": 1, "user": {"name": "a"}},
        {"x": 2.5, "y": None, "tags": ["p", "q"]},
        {"y": "1,234", "x": 3, "new": True},
    ]
    text = "\n".join(json.dumps(row) for row in rows) + "\n\n"
    for data, name in ((text, "rows.jsonl"), (gzip.compress(text.encode()), "rows.gz")):
        with open_table(write(data, name)) as reader:
            assert reader.kind.startswith("JSON lines")
            assert reader.columns == ["x", "user.name", "y", "tags", "new"]
            table = reader.read()
        assert table["x"].tolist() == [1, 2.5, 3]
        assert table["y"].isna().tolist() == [True, True, False]
        assert table["tags"].tolist()[1] == '["p", "q"]'
        with open_table(write(data, name)) as reader:
            assert [len(part) for part in reader.chunks(2)] == [2, 1]
    with pytest.raises(TableError, match="line 2 is not JSON"):
        open_table(write('{"x": 1}\n{"x": \n'))
    with pytest.raises(TableError, match="line 2 is not an object"):
        open_table(write('{"x": 1}\n5\n'))


def workbook(sheets):
    openpyxl = pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    book = openpyxl.Workbook()
    book.remove(book.active)
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    buffer = io.BytesIO()
    book.save(buffer)
    return buffer.getvalue()


def test_workbooks(write):
    rows = [["Sales of 2024"], [], ["name", "sum", "share", "when"]]
    rows += [["007", 1.5, "12 %", pd.Timestamp("2024-01-31")], [], ["b", None, "7 %", None]]
    rows += [["c", "#DIV/0!", "8 %", pd.Timestamp("2024-02-01")], [None, None, None, None]]
    path = write(workbook({"Empty": [], "Sales": rows, "Other": [["x"], [1]]}), "book.xlsx")
    with open_table(path) as reader:
        assert reader.kind == "Excel (sheet 'Sales')"
        assert reader.columns == ["name", "sum", "share", "when"]
        table = reader.read(text=["name"])
    printed = "\n".join(reader.notes)
    for words in ("--sheet names 'Other'", "'Sales of 2024'", "1 cell with an error"):
        assert words in printed
    assert table["name"].tolist() == ["007", "b", "c"]
    assert table["sum"].tolist()[0] == 1.5
    assert table["sum"].isna().tolist() == [False, True, True]
    assert table["when"].dtype.kind == "M"
    for sheet in ("Other", "3"):
        with open_table(path, Format(sheet=sheet)) as reader:
            assert reader.read()["x"].tolist() == [1]
    with open_table(path) as reader:
        assert [len(part) for part in reader.chunks(2)] == [2, 1]
    with pytest.raises(TableError, match=r"no sheet 'Salse' \(did you mean 'Sales'\?\)"):
        open_table(path, Format(sheet="Salse"))
    with pytest.raises(TableError, match="holds nothing"):
        open_table(path, Format(sheet="Empty"))
    with pytest.raises(TableError, match="not a workbook .*, and has no sheets"):
        open_table(write(TEXT), Format(sheet="1"))


def test_a_workbook_without_openpyxl(write, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "openpyxl", None)
    path = write(make_zip(b"x", ["[Content_Types].xml", "xl/workbook.xml"]), "book.xlsx")
    with pytest.raises(TableError, match=r"softkern\[excel\]"):
        open_table(path)


def test_a_broken_workbook_is_rejected(write):
    pytest.importorskip("openpyxl", reason="openpyxl is not installed")
    with pytest.raises(TableError, match="cannot be read"):
        open_table(write(make_zip(b"x", ["[Content_Types].xml", "xl/workbook.xml"]), "book.xlsx"))


@pytest.mark.parametrize(
    ("data", "what"),
    [
        (b'[{"x": 1}, {"x": 2}]', "is JSON, one array; .*jq"),
        (b'[\n {\n  "x": 1}]', "is JSON, one array"),
        (b'{\n "x": 1\n}', "one object over several lines"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600), r"old Excel workbook \(.xls\)"),
        (b"SQLite format 3\x00" + bytes(100), "SQLite database; .*select"),
        (b"<html><table><tr><td>1</td></tr></table></html>", "web page"),
        (b"<?xml version='1.0'?><a/>", "is XML"),
        (b"%PDF-1.7\n", "PDF"),
        (b"ARROW1\x00\x00", "Arrow"),
        (b"\x89HDF\r\n\x1a\n", "HDF5"),
        (b"\x80\x05\x95", "pickle"),
        (make_zip(b"x", ["xl/workbook.bin"]), "xlsb"),
        (make_zip(b"x", ["mimetype", "content.xml"]), "OpenDocument"),
        (make_zip(b"x", ["a.csv", "b.csv"]), r"zip of 2 files \(a.csv, b.csv\)"),
    ],
)
def test_files_of_other_programs_are_named(data, what, write):
    with pytest.raises(TableError, match=what):
        open_table(write(data))


def test_headers_may_begin_like_files_of_other_programs(write):
    for header in ("ORC,b", "RDX,b", "Rar,b", "[x],b", "{x},b"):
        with open_table(write(f"{header}\n1,2\n3,4\n")) as reader:
            assert reader.columns[1] == "b"
            assert reader.read().shape == (2, 2)


# Encodings


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_byte_order_marks(encoding, write):
    reader = open_table(write("größe,b\n1,2\n".encode(encoding)))
    assert reader.columns == ["größe", "b"]  # the mark is not part of the first name
    assert len(reader.read()) == 1


def test_mixed_encodings_are_rejected_with_the_line(write):
    path = write("id,b\nä,1\n".encode() + "é,2\n".encode("latin-1"))
    with pytest.raises(TableError, match=r"not utf-8: byte 0xe9 in line 3.*encoding="):
        open_table(path).read()
    with pytest.raises(TableError, match=r"0xe9 in line 3"):
        list(open_table(path).chunks(1))
    table = open_table(path, Format(encoding="latin-1")).read()
    assert table["b"].tolist() == [1, 2]
    with pytest.raises(TableError, match="no encoding 'klingon'"):
        open_table(path, Format(encoding="klingon"))


def test_text_other_than_utf8_is_read_as_cp1252_with_a_note(write):
    text = "straße;größe\nZürich;1\nKöln – „Spaß“;2\n"
    with open_table(write(text.encode("cp1252"))) as reader:
        assert reader.columns == ["straße", "größe"]
        assert reader.read()["straße"].tolist() == ["Zürich", "Köln – „Spaß“"]
        assert "cp1252" in reader.kind
        assert reader.style.encoding == "cp1252"  # also used to write the table
    (note,) = reader.notes
    assert "read as cp1252, in which a word of it is 'straße' (--encoding" in note
    # a given encoding is used without a note
    with open_table(write(text.encode("mac-roman")), Format(encoding="mac-roman")) as reader:
        assert reader.columns == ["straße", "größe"]
        assert reader.notes == []


@pytest.mark.parametrize("limit", [2**20, 2**26])  # bytes in memory; a longer file is read again
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_letters_far_down_also_decide_the_encoding(pack, limit, write, monkeypatch):
    monkeypatch.setattr("softkern.tables.io.bytes.IN_MEMORY", limit)
    rows = "x,1\n" * 400_000
    path = write(pack(("a,b\n" + rows + "Köln,2\n").encode("cp1252")))
    with open_table(path) as reader:
        last = list(reader.chunks())[-1]
    assert last["a"].iloc[-1] == "Köln"
    assert "'Köln'" in reader.notes[0]
    with open_table(write(pack(("a,b\n" + rows + "Köln,2\n").encode()))) as reader:
        assert list(reader.chunks())[-1]["a"].iloc[-1] == "Köln"
        assert reader.notes == []


@pytest.mark.parametrize("broken", [b"\x81", b"\xff\x01", b"\xc3"])
def test_bytes_that_are_not_letters_are_rejected(broken, write):
    with pytest.raises(TableError, match=r"not utf-8: byte 0x.. in line 3"):
        open_table(write("a,b\nä,1\n".encode() + b"x" + broken + b",2\n")).read()


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_without_a_mark_is_detected(encoding, write):
    with open_table(write("größe\tb\n1\t2\n".encode(encoding))) as reader:
        assert reader.columns == ["größe", "b"]
        assert reader.read().to_numpy().tolist() == [[1, 2]]
    assert f"read as {encoding}" in reader.notes[0]


# Rejected files


def test_a_missing_file_is_rejected(tmp_path):
    with pytest.raises(TableError, match="there is no file"):
        open_table(str(tmp_path / "nothing.csv"))
    with pytest.raises(TableError, match="is a folder"):
        open_table(str(tmp_path))


@pytest.mark.parametrize("data", ["", "\n \n", gzip.compress(b"", mtime=0)])
def test_an_empty_file_is_rejected(data, write):
    with pytest.raises(TableError, match="is empty"):
        open_table(write(data))


@pytest.mark.parametrize("text", ["a,b\n", "a,b"])
def test_a_header_without_rows_is_rejected(text, write):
    table = open_table(write(text)).read()
    assert table.shape == (0, 2)
    with pytest.raises(DataError, match="0 rows; at least two"):
        TablePreparation().fit_prepare(table)


def test_ragged_lines_are_rejected_or_skipped(write):
    path = write("a,b\n1,2\n3,4,5\n6,7\n")
    with pytest.raises(TableError, match=r"2 fields in line 3, saw 3.*skip_bad_lines=True"):
        open_table(path).read()
    reader = open_table(path, Format(skip_bad_lines=True))
    assert reader.read().to_numpy().tolist() == [[1, 2], [6, 7]]
    assert reader.notes == ["left out 1 line with too many fields"]
    # pandas alone would use the first column as an index and shift the others
    with pytest.raises(TableError, match=r"header has 2 fields and the line after it 3"):
        open_table(write("a,b\n1,2,3\n4,5,6\n"))
    short = open_table(write("a,b\n1\n3,4\n")).read()
    assert short["b"].isna().tolist() == [True, False]  # reported later as a missing value


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (gzip.compress(TEXT.encode() * 1000, mtime=0)[:40], "cannot be read"),
        (lzma.compress(TEXT.encode() * 1000)[:60], "cannot be read"),
        (b"PK\x03\x04 no zip", "cannot be read"),
        (make_zip(b"x", ["a.csv", "b.csv"]), "zip of 2 files"),
        (make_zip(b"x", ["[Content_Types].xml", "sheet.xml"]), "save its table as .xlsx or CSV"),
        (b"\x28\xb5\x2f\xfd zstd", "zstd"),
        (b"\x93NUMPY nonsense", "cannot be read"),
        (b"\x89PNG\r\n\x1a\n\x00\x00", "no table"),
        (npy(np.zeros((2, 2, 2))), "array of shape"),
        (npy(np.array([{}, 1], dtype=object), allow_pickle=True), "cannot be read"),
        ('a,b\n"never closed,1\n2,3\n', "do not fit"),
    ],
)
def test_broken_files_are_rejected(data, message, write):
    with pytest.raises(TableError, match=message):
        open_table(write(data)).read()


@pytest.mark.parametrize("encoding", ["base64", "idna"])
def test_codecs_that_are_not_text_encodings_are_rejected(encoding, write):
    with pytest.raises(TableError, match="no encoding of text"):
        open_table(write(TEXT), Format(encoding=encoding))


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.zeros(3, dtype=[("x", "f8"), ("v", "f8", (2,))]), "one value per field"),
        (np.zeros((3, 2), dtype=[("x", "f8")]), "one record per sample"),
    ],
)
def test_records_that_are_not_tables_are_rejected(values, words, write):
    with pytest.raises(TableError, match=words):
        open_table(write(npy(values), "table.npy"))


def test_closed_standard_input_is_rejected(write, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    with pytest.raises(TableError, match="standard input is closed"):
        open_table("-")
    with open_table(write(TEXT)) as reader:
        assert reader.read().to_numpy().tolist() == VALUES


def test_broken_parquet_is_rejected(write):
    with pytest.raises(TableError, match="cannot be read"):
        open_table(write(parquet(pd.DataFrame({"a": [1.0]}))[:-5]))


def test_parquet_without_pyarrow(write, monkeypatch):
    path = write(b"PAR1 and so on")
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"softkern\[parquet\]"):
        open_table(path)


def test_names_in_messages_are_printable_and_short():
    assert quote("a\x1b[31m\nb") == "a\\x1b[31m b"
    assert quote("x" * 100) == "x" * 40 + "…" + "x" * 19
    assert quote_list(list("abcdefg")) == "'a', 'b', 'c', 'd', 'e' and 2 more"


def test_decimal_commas_are_read(write):
    path = write("a;b\n1,5;2\n3,25;4\n5;7\n")
    prepared = TablePreparation(scale="none").fit_prepare(open_table(path).read())
    assert prepared.values.tolist() == [[1.5, 2], [3.25, 4], [5, 7]]
    table = open_table(path, Format(decimal=",")).read()
    prepared = TablePreparation(scale="none").fit_prepare(table)
    assert prepared.values.tolist() == [[1.5, 2], [3.25, 4], [5, 7]]
