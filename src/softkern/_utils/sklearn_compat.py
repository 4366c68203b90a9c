"""The private parts of scikit-learn that softkern uses, in one place, for when they change."""

from __future__ import annotations

from typing import Any

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_feature_names, _check_n_features

__all__ = ["HasMethods", "Interval", "StrOptions", "check_columns"]


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Set `n_features_in_` and `feature_names_in_` of an estimator, or compare X with them."""
    _check_n_features(estimator, X, reset=reset)
    if reset or hasattr(X, "columns"):  # an array has no names to compare
        _check_feature_names(estimator, X, reset=reset)
