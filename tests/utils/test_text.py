import pytest

from softkern._utils.text import closest_match, one_line, plural, quote, shorten, unknown_names


def test_plural():
    assert plural(1, "row") == "1 row"
    assert plural(3000, "row") == "3,000 rows"


def test_line_breaks_become_spaces():
    assert one_line("Revenue\r\n (EUR)") == "Revenue (EUR)"


def test_both_ends_of_a_long_text_are_preserved():
    assert shorten("temperature of the room, morning", 20) == "temperature o…orning"
    assert shorten("short", 20) == "short"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("two\nlines", "two lines"),
        ("no\N{NO-BREAK SPACE}break", "no break"),
        ("bell\a", "bell\\x07"),
        ("a\N{ZERO WIDTH JOINER}b", "a\N{ZERO WIDTH JOINER}b"),
    ],
)
def test_quotes_are_printable(text, expected):
    assert quote(text) == expected


def test_the_closest_name_is_suggested():
    assert closest_match("Revnue", ["revenue", "region"]) == "revenue"
    assert closest_match("x", ["revenue"]) == ""
    assert unknown_names(["Revnue"], ["revenue", "region"]) == (
        "'Revnue' (did you mean 'revenue'?); its columns are 'revenue', 'region'."
    )
