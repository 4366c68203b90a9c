"""Text about tables: numbers, notes and reasons in words.

The one place that renders facts of `softkern.tables.preparation` and `softkern.tables.explain`,
for the terminal, the report page and notebooks. `spell` turns a `Remedy` into text: a keyword
argument in Python, an option on the command line.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from softkern._utils.text import plural, quote, quote_list
from softkern.exceptions import Remedy
from softkern.tables.preparation.formats import NumberFormat
from softkern.tables.preparation.notes import Note

if TYPE_CHECKING:
    import pandas as pd

    from softkern.tables.explain.clusters import ClusterColumn
    from softkern.tables.explain.reasons import Reason
    from softkern.tables.explain.row_view import RowView

MOST_DAYS = 700_000  # days since 1970 that a calendar has
GRADES = {"extreme": 10.0, "strong": 6.0, "mild": 0.0}  # outlier scores: −log10 of a share of rows
SKEWED = 2.0  # least ratio of a range above the median to that below it, or to the median
RATIO = 1.5  # least ratio of medians that is reported as a multiple
SHIFT = 0.1  # share of the range of all rows up to which a median counts as that of all
MOST_SHOWN = 6  # values of a category in a note
MOST_COLUMNS = 5  # columns with missing values in a note
Spell = Callable[[Remedy], str]
# Notes of the preparation. Words in braces agree in number with the columns, or are values.
LEFT_OUT = {
    "empty": "{it} {has} no values",
    "mostly empty": "{it} {lacks} more than half of {its} values",
    "constant": "{it} {has} one value",
    "row number": "{it} {numbers} the rows",
    "named identifier": "{it} {holds} whole numbers and {is_named} like an identifier",
    "unique numbers": "{it} {holds} a different whole number in every row",
    "sequence": "{it} {holds} whole numbers that increase evenly with the rows",
    "random digits": "{it} {holds} random numbers with the same number of digits",
    "date": "{it} {holds} dates written as numbers",
    "categories": "text column",
    "text": "text column",
    "constant text": "text column with one value",
    "times": "times of day or durations; convert them to minutes or hours",
    "dates": "dates",
    "mixed dates": "dates in several formats; use one format",
    "long numbers": "whole numbers with {digits} or more digits",
    "several units": "amounts in several units ({units}); convert them to one",
}
NOTES = {
    "days": "{columns}: read as days{doubt}",
    "number format": "{columns}: read as {format}{doubt}",
    "two values": "{columns} {has} two values, scaled to a typical distance of other columns",
    "codes": "{columns} {has} {n_values} values, neighboring ones scaled to a typical distance of "
    "other columns",
    "skewed": "{columns} {is_skewed}: used on a log scale",
    "placeholder": "{columns} {contains} {value}, far from all other values",
    "identifiers used": "all columns {look} like identifiers; they are used because there are no "
    "others",
    "category": "{columns}: {n_categories} categories as one column, {shown}",
    "new value": "{columns}: {rows} with values not seen in the fit, such as '{example}'",
    "duplicates": "duplicate rows: {rows:,} of {of:,}",
    "not compared": "not compared: {columns} ({reason})",
    "rows without values": "left out {rows} without any value",
}
MISSING = {
    "refuse": "{cells} in {rows} of {of}, in {where}",
    "drop": "left out {rows} of {of}: {cells}, in {where}",
    "impute": "filled in {cells} in {rows} of {of}, in {where}, with the column's median",
    "neighbors": "filled in {cells} in {rows} of {of}, in {where}, from the nearest rows",
}
PLURALS = {
    "it": "they", "its": "their", "has": "have", "holds": "hold", "lacks": "lack",
    "numbers": "number", "contains": "contain", "is_named": "are named", "is_skewed": "are skewed",
}  # fmt: skip


def grade(score: float, is_outlier: bool = True) -> str:
    """Return the grade of an outlier score of `rank_points`, empty if the row is not flagged."""
    graded = next((name for name, least in GRADES.items() if score >= least), "mild")
    return graded if is_outlier else ""


def format_number(value: float, digits: int = 4) -> str:
    """Return a number with few digits, whole ones with separators."""
    if not math.isfinite(value):
        return "nothing" if math.isnan(value) else "infinite" if value > 0 else "minus infinite"
    if value == 0:
        return "0"
    size = abs(value)
    if size >= 1e15 or size < 1e-4:
        return f"{value:.{digits - 1}g}"
    if value == round(value) or size >= 10.0 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def format_day(value: float) -> str:
    """Return the date of days since 1970, with the time if it is not midnight."""
    if not math.isfinite(value) or abs(value) > MOST_DAYS:
        return format_number(value)
    minutes = round(24 * 60 * value)
    moment = datetime(1970, 1, 1) + timedelta(minutes=minutes)
    return f"{moment:%Y-%m-%d}" if minutes % (24 * 60) == 0 else f"{moment:%Y-%m-%d %H:%M}"


def format_span(low: float, high: float, are_days: bool = False) -> str:
    """Return a range of days since 1970, or of numbers with three digits if these differ."""
    if low == high:
        return format_day(low) if are_days else format_number(low)
    if are_days:
        return f"{format_day(low)} to {format_day(high)}"
    for digits in (3, 5, 8, 17):
        ends = [format_number(float(f"{end:.{digits}g}"), max(digits, 4)) for end in (low, high)]
        if ends[0] != ends[1]:
            break
    return f"{ends[0]} to {ends[1]}"


def format_ratio(ratio: float) -> str:
    """Return a ratio in words."""
    if ratio >= 1:
        return f"{ratio:,.0f} times" if ratio >= 9.5 else f"{ratio:.1f} times"
    part = 1 / ratio
    if part >= 2.5:
        return f"1/{part:,.0f} of"
    return "half" if part >= 1.75 else "two thirds of"


def join_words(words: Sequence[str], conjunction: str = "and") -> str:
    """Join words with commas, the last one with a conjunction."""
    return f" {conjunction} ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def format_percent(share: float) -> str:
    """Return a share in percent, never 0 % of something nor 100 % of less than all."""
    whole = round(100 * share)
    if whole == 100 and share < 1:
        return "over 99 %"
    return "under 1 %" if whole == 0 and share > 0 else f"{whole} %"


def summary(ranks: pd.DataFrame, is_detector: bool = False) -> str:
    """Return a sentence on the table of `softkern.rank_points`. A detector has no clusters."""
    labels = ranks["label"]
    clusters, noise = int(labels[labels >= 0].nunique()), int((labels < 0).sum())
    overlaps, outliers = int(ranks["is_overlap"].sum()), int(ranks["is_outlier"].sum())
    lead = plural(len(ranks), "row") + ("" if is_detector else f" in {plural(clusters, 'cluster')}")
    parts = ["none is an outlier"]
    if outliers:
        grades = ranks["outlier_score"][ranks["is_outlier"].astype(bool)].map(grade).tolist()
        counts = ", ".join(f"{grades.count(name):,} {name}" for name in GRADES if name in grades)
        parts = [f"{outliers:,} {'is an outlier' if outliers == 1 else 'are outliers'} ({counts})"]
    if overlaps:
        parts.append(f"{overlaps:,} {'lies' if overlaps == 1 else 'lie'} between clusters")
    elif clusters > 1 and not is_detector:
        parts.append("none lies between clusters")
    if noise:
        parts.append(f"{noise:,} {'is' if noise == 1 else 'are'} in no cluster")
    return f"{lead}: {join_words(parts)}."


# Explanations


def reasons_text(reasons: Sequence[Reason], rows: RowView, i: int) -> str:
    """Return the reasons of row i as text."""
    texts = (_reason_text(reason, rows, i) for reason in reasons)
    return "; ".join(texts) or "no column stands out"


def _reason_text(reason: Reason, rows: RowView, i: int) -> str:
    names = [quote(rows.names[j], 40) for j in reason.columns]
    values = [rows.format_value(i, j) for j in reason.columns]
    cells = [f"{name} {value}" for name, value in zip(names, values, strict=True)]
    ranges = zip(2 * reason.columns, reason.ranges, strict=False)
    spans = [rows.format_range(j, usual.low, usual.high) for j, usual in ranges]
    match reason.kind:
        case "outside":
            where = "" if reason.cluster is None else f" in cluster {reason.cluster}"
            return f"{cells[0]}, usual {spans[0]}{where}"
        case "combination":
            usual = f"for {names[1]} near {values[1]}, {names[0]} is usually {spans[0]}"
            return f"unusual combination: {usual} (here {values[0]})"
        case "together":
            if len(rows.names) == 1:
                return f"{cells[0]}, a rare value"
            if len(cells) == 1:
                return f"{cells[0]} is usual alone, but not with the other columns"
            return f"{join_words(cells)} are unusual together, but not alone"
    a, b = reason.clusters
    both = zip(cells, spans, spans[len(cells) :], strict=False)
    parts = [f"{cell} ({in_a} in {a}, {in_b} in {b})" for cell, in_a, in_b in both]
    side = "halfway" if reason.cluster is None else f"nearer to cluster {reason.cluster}"
    return f"{side} in {join_words(parts)}"


def cluster_column_text(part: ClusterColumn, is_one: bool) -> str:
    """Return a column of a cluster compared with all rows, or alone if there is one cluster."""
    if not part.column:
        return ""
    name = quote(part.column, 40)
    if part.value is not None:
        text = f"{name} {quote(part.value, 30)} in {format_percent(part.value_share)}"
        return text if is_one else f"{text} (all rows {format_percent(part.all_share)})"
    low, middle, high = part.all_low, part.all_median, part.all_high
    text = f"{name} {format_span(part.low, part.high, part.is_date)}"
    median = format_number(part.median, 3)
    if is_one:
        return text if part.is_date else f"{text}, median {median}"
    is_skewed = high - middle > SKEWED * max(middle - low, middle)
    if part.has_ratios and is_skewed and part.median > 0 and middle > 0:
        ratio = part.median / middle
        if ratio >= RATIO or ratio <= 1 / RATIO:
            return f"{name} {format_ratio(ratio)} the median ({median})"
    is_narrow = part.shift <= SHIFT and part.high - part.low < high - low
    if part.is_date or is_narrow or part.median == middle:
        return f"{text} (all rows {format_span(low, high, part.is_date)})"
    side = "high" if part.median > middle else "low"
    return f"{name} {side} (median {median}, all rows {format_number(middle, 3)})"


# Notes of the preparation


def note_text(note: Note, spell: Spell = str) -> str:
    """Return a note as one line."""
    columns = quote_list(note.columns)
    if note.kind in LEFT_OUT:
        return f"left out {columns}: {content_text(note)}{_remedy(note, spell)}"
    if note.kind == "columns can be named":
        return f"use {spell(Remedy('columns'))} to include a column in any case"
    if note.kind == "missing values":
        return _missing_text(**note.values)
    fields = note.values | {"columns": columns} | _fields(note, spell)
    return NOTES[note.kind].format(**_words(note), **fields)


def content_text(note: Note) -> str:
    """Return why columns are left out."""
    values = {k: ", ".join(v) if isinstance(v, list) else v for k, v in note.values.items()}
    return LEFT_OUT[note.kind].format(**_words(note), **values)


def _words(note: Note) -> dict[str, str]:
    is_one = len(note.columns) == 1
    return {word: word.replace("_", " ") for word in PLURALS} if is_one else PLURALS


def _remedy(note: Note, spell: Spell) -> str:
    """Return how to use a column that is left out."""
    if note.kind in ("dates", "date"):
        return f"; use {spell(Remedy('dates', True))} to include them as days"
    if note.kind in ("categories", "long numbers"):
        parameter = "categories" if note.kind == "categories" else "columns"
        them = "it" if len(note.columns) == 1 else "them"
        return f"; use {spell(Remedy(parameter, note.columns))} to include {them}"
    return ""


def _fields(note: Note, spell: Spell) -> dict[str, Any]:
    """Return the words of a note that follow from its values."""
    values = note.values
    match note.kind:
        case "days":
            first = "month" if values.get("is_month_first") else "day"
            example = values["ambiguous"]
            return {"doubt": f" ({example} is read with the {first} first)" if example else ""}
        case "number format":
            doubts = "; ".join(_format_doubts(values, spell))
            text = _format_text(values["format"])
            return {"format": text, "doubt": f" ({doubts})" if doubts else ""}
        case "category":
            shown = [quote(value, 20) for value in values["values"][:MOST_SHOWN]]
            shown += ["…"] * (len(values["values"]) > MOST_SHOWN)
            return {"n_categories": len(values["values"]), "shown": ", ".join(shown)}
        case "identifiers used":
            return {"look": "lack most of their values or look" if values["is_sparse"] else "look"}
        case "new value" | "rows without values":
            return {"rows": plural(values["rows"], "row")}
    return {}


def _format_text(read: NumberFormat) -> str:
    details = ["thousands separators"] * bool(read.thousands)
    details += ["a decimal comma"] * (read.decimal == ",")
    parts = ["numbers" + (f" with {join_words(details)}" if details else "")]
    parts += [f"in {read.unit}"] * bool(read.unit)
    parts += [f"negative ones {read.negative}"] * bool(read.negative)
    return ", ".join(parts)


def _format_doubts(values: dict[str, Any], spell: Spell) -> Iterator[str]:
    read: NumberFormat = values["format"]
    if values["ambiguous"]:
        other = spell(Remedy("decimal", "," if read.decimal == "." else "."))
        meaning = "thousands" if read.thousands else "decimals"
        yield f"{values['ambiguous']} is read as {meaning} unless {other}"
    if values["bare"]:
        yield f"{plural(values['bare'], 'cell')} without {read.unit}, read as if they had it"


def _missing_text(action: str, cells: dict[str, int], rows: int, of: int) -> str:
    where = [f"'{quote(column)}' ({number:,})" for column, number in cells.items()]
    more = len(where) - MOST_COLUMNS
    others = f" and {plural(more, 'more column')}" if more > 0 else ""
    return MISSING[action].format(
        cells=plural(sum(cells.values()), "missing value"),
        rows=plural(rows, "row") if action == "drop" else f"{rows:,}",
        of=f"{of:,} rows",
        where=", ".join(where[:MOST_COLUMNS]) + others,
    )
