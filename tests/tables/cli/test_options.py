"""Options of commands: each is declared once, with its type."""

from dataclasses import dataclass, fields

import pytest
import typer

from softkern.exceptions import Remedy
from softkern.tables.cli import options, run
from softkern.tables.cli.commands import command
from softkern.tables.cli.errors import spell_option
from softkern.tables.cli.options import AnalyzeSettings, ReadOptions, ScoreSettings, option
from softkern.tables.io import Format


@dataclass(frozen=True, kw_only=True)
class Extended(AnalyzeSettings):
    """The settings of analyze with one additional option."""

    depth: int = option("How deep to look.", default=3)


def call(settings, *arguments):
    app, received = typer.Typer(), []

    def keep():
        return received.append

    app.command()(command(settings, keep))
    typer.main.get_command(app).main(list(arguments), standalone_mode=False)
    return received[0] if received else None


def test_a_new_option_needs_only_a_field(capsys):
    assert call(Extended, "data.csv", "-o", "out").depth == 3
    assert call(Extended, "data.csv", "-o", "out", "--depth", "7").depth == 7
    call(Extended, "--help")
    assert "How deep to look." in capsys.readouterr().out


@pytest.mark.parametrize("settings", [AnalyzeSettings, ScoreSettings])
def test_options_of_shared_classes_reach_the_settings(settings):
    given = ["m"] if settings is ScoreSettings else []
    found = call(settings, *given, "data.csv", "-o", "out", "--na", "?", "--na", "-", "--join")
    assert found.na == ["?", "-"]
    assert found.join
    with pytest.raises(AttributeError):
        found.data = "other.csv"


def test_reading_options_equal_the_fields_of_the_format():
    options = {"missing" if field.name == "na" else field.name for field in fields(ReadOptions)}
    assert options == {field.name for field in fields(Format)}
    assert ReadOptions(separator=";", na=["?"]).format == Format(separator=";", missing=("?",))
    assert ReadOptions().format == Format()


def test_errors_of_two_options_are_not_errors_of_one_value(capsys):
    assert run(["analyze", "data.csv", "-o", "out", "--decimal", ",", "--separator", ","]) == 2
    assert "softkern: --decimal , must differ" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("value", "expected"),
    [("two words", "--columns 'two words'"), (5, "--columns 5"), (["a", "b"], "--columns a,b")],
)
def test_remedies_are_spelled_as_options(value, expected):
    assert spell_option(Remedy("columns", value)) == expected


@pytest.mark.parametrize(
    ("remedy", "expected"),
    [
        (Remedy("missing", "drop"), "--missing drop"),
        (Remedy("n_clusters", 2), "--clusters 2"),
        (Remedy("categories"), "--categories"),
        (Remedy("na_values", "?"), "--na '?'"),
        (Remedy("skip_bad_lines", True), "--skip-bad-lines"),
        (Remedy("header", False), "--no-header"),
    ],
)
def test_options_may_have_other_names_than_parameters(remedy, expected):
    assert spell_option(remedy) == expected


@pytest.mark.parametrize(
    ("parse", "word", "expected"),
    [
        (options.parse_share, "0.05", 0.05),
        (options.parse_share, "5%", 0.05),
        (options.parse_clusters, "3", 3),
        (options.parse_clusters, "auto", None),
        (options.parse_separator, "tab", "\t"),
        (options.parse_separator, ";", ";"),
        (options.number_parser(int, 1, 100, 10), "7", 7),
        (options.choice_parser(["fuzzy", "auto"]), "fuzzy", "fuzzy"),
    ],
)
def test_values_of_options_are_parsed(parse, word, expected):
    assert parse(word) == expected
