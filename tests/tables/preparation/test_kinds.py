"""Recognized kinds of columns: identifiers, few values, long tails, and ordinary numbers."""

import numpy as np
import pandas as pd
import pytest

from softkern.tables.preparation import TablePreparation, recognize
from softkern.tables.preparation.kinds import ROW_NAMES
from softkern.tables.preparation.skew import SignedLog, fit_signed_log

N = 500


def kinds(*columns, names=None, **options):
    return [column.kind for column in recognize(np.column_stack(columns), names, **options)]


def draw(seed=0):
    rng = np.random.default_rng(seed)
    return rng, rng.normal(size=N)


def fit_curve(x):
    return fit_signed_log(*np.unique(x, return_counts=True))


# Row numbers and identifiers


def test_row_numbers_in_any_order():
    rng, y = draw()
    for start in (0, 1, -7, 10_000):
        assert kinds(start + np.arange(N), y)[0] == "row number"
        assert kinds(start + rng.permutation(N), y)[0] == "row number"


def test_identifiers_with_gaps_or_random_digits():
    rng, y = draw()
    with_gaps = np.sort(rng.choice(4 * N, N, replace=False))
    tens = 10 * rng.choice(4 * N, N, replace=False)
    rising = np.sort(rng.integers(10**7, 10**8, N))
    digits = rng.integers(10**7, 10**8, N)
    assert kinds(with_gaps, rng.permutation(with_gaps), tens, rising, digits, y)[:5] == [
        "unique numbers", "unique numbers", "unique numbers", "sequence", "random digits",
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["id", "ID", "customer_id", "CustomerID", "id.2", "patient nr"])
def test_identifiers_are_recognized_by_name(name):
    rng, y = draw()
    salary = 1000 + np.round(rng.lognormal(8, 1, N) + np.arange(N) / N)
    names = [name, "y"]
    if name == "patient nr":  # this name marks only different numbers as identifiers
        salary = np.cumsum(rng.integers(1, 10**6, N)) ** 2 % (2**40)
    assert kinds(salary, y, names=names)[0] == "named identifier"
    assert kinds(salary, y, names=names, features=[name])[0] not in ROW_NAMES


@pytest.mark.parametrize("name", ["acid", "humid", "body mass index", "atomic number", "x"])
def test_measured_whole_numbers_are_not_identifiers(name):
    for seed in range(20):
        rng, y = draw(seed)
        salary = np.round(rng.lognormal(10, 0.5, N))  # some twice, by chance
        population = np.round(rng.lognormal(14, 2, 60))  # none twice
        assert kinds(salary, y, names=[name, "y"])[0] in ("number", "skewed")
        assert kinds(np.sort(population), y[:60], names=[name, "y"])[0] in ("number", "skewed")
        assert kinds(rng.integers(20_000, 90_000, 60), y[:60], names=[name, "y"])[0] == "number"


def test_grid_coordinates_are_not_row_numbers():
    x, y = np.meshgrid(np.arange(30), np.arange(30))
    assert kinds(x.ravel(), y.ravel()) == ["number", "number"]


def test_few_rows_need_a_name_to_be_row_numbers():
    assert kinds([1, 2, 3], [4, 9, 1]) == ["number", "number"]
    assert kinds([1, 2, 3], [4, 9, 1], names=["id", "x"]) == ["row number", "number"]


def test_dates_written_as_numbers():
    rng, y = draw()
    dates = 20_000_000 + 10_000 * rng.integers(25, size=N) + 100 * rng.integers(1, 13, N)
    assert kinds(dates + rng.integers(1, 29, N), y)[0] == "date"
    assert kinds(dates + rng.integers(100, size=N), y)[0] != "date"


# Few values


def test_columns_with_few_values():
    rng, y = draw()
    few = [rng.integers(2, size=N), rng.uniform(size=N) < 0.01, rng.integers(3, size=N)]
    assert kinds(*few, rng.integers(9, size=N), np.ones(N), np.full(N, np.nan), y) == [
        "two values", "two values", "codes", "number", "constant", "empty", "number",
    ]  # fmt: skip


def test_placeholders_of_missing_values():
    _, y = draw()
    spoiled = np.where(np.arange(N) < 7, -999, y)
    far = np.where(np.arange(N) < 7, -1234.5, y)
    for x, expected in ((spoiled, "-999"), (np.abs(spoiled), "999"), (far, ""), (y, "")):
        assert recognize(np.column_stack([x, y]))[0].placeholder == expected


# Long tails


def test_skewed_columns_are_transformed():
    for seed in range(10):
        rng, _ = draw(seed)
        for x in (
            rng.lognormal(size=1500),
            rng.lognormal(3, 2, 1500),
            rng.exponential(size=5000),
            rng.pareto(2, 1500),
            rng.negative_binomial(1, 0.03, 5000) * 1.0,  # counts
            np.where(
                rng.uniform(size=3000) < 0.6,
                rng.lognormal(2, 1, 3000),
                1000 * rng.lognormal(2, 1, 3000),
            ),
        ):
            assert fit_curve(x).sign == 1
            assert fit_curve(-x).sign == -1


def test_other_columns_are_not_transformed():
    for seed in range(10):
        rng, y = draw(seed)
        for x in (
            y,
            rng.uniform(size=N),
            rng.standard_t(3, N),
            rng.standard_cauchy(N),
            rng.lognormal(0, 0.4, N),
            rng.poisson(3, N) * 1.0,
        ):
            assert fit_curve(x) is None


@pytest.mark.parametrize("centers", [(0, 100), (0, 10), (0, 1e6), (0, 20, 50), (0, 5, 20, 50)])
@pytest.mark.parametrize("share", [0.6, 0.8, 0.9])
def test_distant_groups_are_not_skew(centers, share):
    others = [(1 - share) / (len(centers) - 1)] * (len(centers) - 1)
    for seed in range(10):
        rng, y = draw(seed)
        assert fit_curve(y + rng.choice(centers, N, p=[share, *others])) is None


@pytest.mark.parametrize("share", [0.002, 0.01, 0.03, 0.07])
def test_far_values_are_not_skew(share):
    for seed in range(10):
        rng, y = draw(seed)
        far = rng.uniform(size=N) < share
        assert fit_curve(np.where(far, rng.uniform(10, 40, N), y)) is None
        assert fit_curve(np.where(far, -999, y)) is None
        assert fit_curve(np.where(far, 1e9, y)) is None


def test_outliers_of_a_skewed_column_stay_outliers():
    rng, _ = draw()
    x = np.append(rng.lognormal(size=1000), [-999, 1e9])
    z = fit_curve(x).transform(x)
    others = z[:-2]
    assert z[-2] < others.min() - 10 * others.std()
    assert z[-1] > others.max() + 10 * others.std()


def test_signed_log_is_monotone_and_invertible():
    x = np.linspace(-50, 1e4, 999)
    for sign in (1.0, -1.0):
        curve = SignedLog(sign, origin=3.0, unit=0.2)
        assert (np.diff(curve.transform(x)) > 0).all()
        assert curve.inverse_transform(curve.transform(x)) == pytest.approx(x, rel=1e-9)
        slope = np.gradient(curve.transform(x), x)
        assert np.exp(curve.log_derivative(x))[300:600] == pytest.approx(slope[300:600], rel=0.05)


# Invariance


def table(seed=0):
    rng, y = draw(seed)
    return np.column_stack(
        [rng.permutation(N), y, rng.lognormal(size=N), rng.integers(2, size=N), rng.poisson(4, N)]
    )


def test_neither_order_nor_unit_nor_repeats_matter():
    X = table()
    first = recognize(X)
    assert [c.kind for c in first] == ["row number", "number", "skewed", "two values", "number"]
    for again in (X[::-1], np.random.default_rng(1).permutation(X), np.tile(X, (3, 1))):
        assert recognize(again) == first
    scaled = recognize(X * [1, 1000, 1000, 1000, 0.001])
    assert [c.kind for c in scaled] == [c.kind for c in first]
    assert scaled[2].signed_log.unit == pytest.approx(1000 * first[2].signed_log.unit)


def test_missing_cells_do_not_matter():
    X = table()
    X[5:50, 1:] = np.nan
    assert [c.kind for c in recognize(X)][1:] == ["number", "skewed", "two values", "number"]
    assert recognize(np.where(np.isnan(X), np.inf, X)) == recognize(X)
    assert recognize(np.empty((0, 1)))[0].kind == "empty"


def test_every_decision_is_reported_once():
    columns = pd.DataFrame(np.column_stack([table(), table(1)]), columns=list("abcdefghij"))
    assert [str(note) for note in TablePreparation().fit(columns).notes_] == [
        "left out 'a', 'f': they number the rows",
        "'c', 'h' are skewed: used on a log scale",
        "'d', 'i' have two values, scaled to a typical distance of other columns",
        "use columns=… to include a column in any case",
    ]


def test_rows_with_missing_cells_may_be_equal():
    """NaN differs from itself, and Python's recursion is limited."""
    X = np.repeat([[0.0, np.nan], [1.0, 2.0], [np.nan, 3.0]], 1200, axis=0)
    assert recognize(X) == recognize(X[::1200])
