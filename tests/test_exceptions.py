"""Errors that name their remedies."""

import pickle

import pytest

from softkern.exceptions import DataError, Remedy

DROP = Remedy("missing", "drop", "to drop these rows")


@pytest.mark.parametrize(
    ("remedies", "end"),
    [
        ([], ""),
        ([Remedy("scale", True)], " Use scale=True."),
        ([DROP, Remedy("columns")], " Use missing='drop' to drop these rows or columns=…."),
        ([DROP] * 3, f" Use {', '.join([f'{DROP} to drop these rows'] * 2)} or {DROP} to drop"),
    ],
)
def test_the_text_ends_with_the_remedies(remedies, end):
    assert str(DataError("Bad.", remedies)).startswith(f"Bad.{end}")
    assert str(DataError("Bad.", remedies).render(lambda _: "--x")).count("--x") == len(remedies)


def test_remedies_survive_pickling():
    error = pickle.loads(pickle.dumps(DataError("Bad.", [DROP])))
    assert error.remedies == (DROP,)
    assert str(error) == "Bad. Use missing='drop' to drop these rows."
