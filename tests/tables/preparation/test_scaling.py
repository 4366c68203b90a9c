"""Scaling of columns, and imputation of missing cells from the nearest rows."""

import numpy as np
import pytest
from sklearn.preprocessing import RobustScaler

from softkern.tables.preparation import recognize
from softkern.tables.preparation.scaling import ColumnScaler, NearestRowImputer


def table(n=600, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(2, size=n)
    near = rng.normal(size=(n, 3)) + 8 * group[:, None]
    return np.column_stack([near, np.exp(near[:, 0]), rng.integers(2, size=n)])


def fit_scaler(X):
    return ColumnScaler.fit(X, [column.signed_log for column in recognize(X)])


def test_columns_are_scaled_and_restored():
    X = table()
    scaling = fit_scaler(X)
    Z = scaling.transform(X)
    assert np.median(Z, axis=0)[:4] == pytest.approx(0, abs=0.05)
    assert scaling.inverse_transform(Z) == pytest.approx(X, rel=1e-9)
    unit = np.array([1, 1000, 0.01, 7, 3])
    assert fit_scaler(X * unit).transform(X * unit) == pytest.approx(Z)


@pytest.mark.parametrize("share", [0.5, 0.2, 0.05, 0.01])
def test_two_values_are_one_spread_apart(share):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=1000), rng.uniform(size=1000) < share])
    assert np.ptp(fit_scaler(X).transform(X)[:, 1]) == pytest.approx(1)


def test_the_unit_of_a_rare_value_does_not_matter_unlike_in_robust_scaler():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=1000), 1000.0 * (rng.uniform(size=1000) < 0.05)])
    assert np.ptp(fit_scaler(X).transform(X)[:, 1]) == pytest.approx(1)
    assert np.ptp(RobustScaler().fit_transform(X)[:, 1]) == 1000


def test_missing_cells_do_not_affect_scales():
    X = table()
    spoiled = X.copy()
    spoiled[np.random.default_rng(0).uniform(size=X.shape) < 0.1] = np.nan
    assert fit_scaler(spoiled).spread == pytest.approx(fit_scaler(X).spread, rel=0.2)


def test_missing_cells_are_imputed_from_the_same_cluster():
    X = table()
    spoiled = X.copy()
    hole = np.random.default_rng(1).uniform(size=X.shape) < 0.15
    hole[:, 3:] = False
    spoiled[hole] = np.nan
    filled = NearestRowImputer.fit(spoiled, fit_scaler(spoiled)).transform(spoiled)
    assert not np.isnan(filled).any()
    assert np.array_equal(filled[~hole], X[~hole])
    error = np.abs(filled - X)[hole]
    from_median = np.abs(np.nanmedian(spoiled, axis=0) - X)[hole]
    assert error.mean() < 1.2  # within a group of spread 1
    assert from_median.mean() > 3


def test_imputation_does_not_depend_on_other_rows():
    X = table()
    neighbors = NearestRowImputer.fit(X, fit_scaler(X))
    new = table(50, seed=3)
    new[::2, 1] = np.nan
    whole = neighbors.transform(new)
    assert np.concatenate([neighbors.transform(row[None]) for row in new]) == pytest.approx(whole)
    shuffled = NearestRowImputer.fit(X[::-1], fit_scaler(X[::-1]))
    assert shuffled.transform(new) == pytest.approx(whole)


def test_donors_are_bounded():
    X = table(5000)
    X[::3, 2] = np.nan
    neighbors = NearestRowImputer.fit(X, fit_scaler(X))
    assert len(neighbors.donors) == 1000
    wide = np.random.default_rng(0).normal(size=(60, 5000))
    assert len(NearestRowImputer.fit(wide, fit_scaler(wide)).donors) == 10


def test_imputation_of_few_rows():
    X = np.array([[1.0, np.nan], [np.nan, 2.0], [3.0, np.nan], [5.0, np.nan]])
    filled = NearestRowImputer.fit(X, fit_scaler(X)).transform(X)
    assert filled[:, 1] == pytest.approx(2.0)
    assert np.isfinite(filled).all()
