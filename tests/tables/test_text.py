"""Formatting of numbers, days, ranges and notes."""

import numpy as np
import pytest

from softkern import OneClassPCM, rank_points
from softkern.tables.preparation.notes import Note
from softkern.tables.text import (
    format_day,
    format_number,
    format_percent,
    format_ratio,
    format_span,
    grade,
    join_words,
    note_text,
    summary,
)


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (format_number(999999.0), "999,999"),
        (format_number(0.144), "0.144"),
        (format_number(12345.678), "12,346"),
        (format_number(1e-7), "1e-07"),
        (format_number(-0.0), "0"),
        (format_day(18915.0), "2021-10-15"),
        (format_day(18915.75), "2021-10-15 18:00"),
        (format_span(19.92, 8973.0), "19.9 to 8,970"),
        (format_span(3.0, 3.0), "3"),
        (format_span(100.01, 100.02), "100.01 to 100.02"),
        (format_ratio(12.3), "12 times"),
        (format_ratio(2.34), "2.3 times"),
        (format_ratio(0.52), "half"),
        (format_ratio(0.08), "1/12 of"),
        (join_words(["a", "b", "c"]), "a, b and c"),
        (join_words(["a"]), "a"),
        (join_words(["a", "b"], "or"), "a or b"),
        (format_percent(0.5), "50 %"),
        (format_percent(0.001), "under 1 %"),
        (format_percent(0.999), "over 99 %"),
    ],
)
def test_short_texts(found, expected):
    assert found == expected


def test_rows_that_are_not_flagged_have_no_grade():
    assert [grade(score) for score in (4.5, 7.0, 40.0)] == ["mild", "strong", "extreme"]
    assert grade(4.5, is_outlier=False) == ""


def test_results_are_summarized_in_one_sentence():
    X = np.random.default_rng(0).normal(size=(300, 2))
    X[0] = 30
    ranks = rank_points(OneClassPCM().fit(X))
    assert summary(ranks, is_detector=True) == "300 rows: 1 is an outlier (1 extreme)."


def test_remedies_are_spelled_by_the_caller():
    note = Note("dates", ["when"])
    text = note_text(note, lambda remedy: f"--{remedy.parameter}")
    assert text == "left out 'when': dates; use --dates to include them as days"
