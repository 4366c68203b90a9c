"""The private parts of scikit-learn that softkern uses, in one place, for when they change."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_feature_names, _check_n_features

__all__ = ["Estimator", "HasMethods", "Interval", "StrOptions", "check_columns"]


class Estimator(BaseEstimator):  # type: ignore[misc]
    """BaseEstimator with HTML of its own below scikit-learn's diagram in notebooks."""

    def _fitted_html(self) -> str:
        """Return the HTML to append, empty for an unfitted model."""
        return ""

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._fitted_html()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        if "text/html" in bundle:
            bundle["text/html"] += self._fitted_html()
        return bundle


def check_columns(estimator: Any, X: Any, *, reset: bool) -> None:
    """Set `n_features_in_` and `feature_names_in_` of an estimator, or compare X with them."""
    _check_n_features(estimator, X, reset=reset)
    if reset or hasattr(X, "columns"):  # an array has no names to compare
        _check_feature_names(estimator, X, reset=reset)
