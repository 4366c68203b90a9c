"""Declarations of fitted attributes.

Every class declares the attributes that it fits once, in the mapping ``_fitted`` from names to
specs. From it follows what is saved (`softkern.models.state`), what is checked when a file is
loaded, what pickling drops, and which attributes are Dask arrays after a fit to Dask data.

Shapes are written in letters. Each letter is one size throughout a model: n samples of the fit, d
features, c clusters, s support points, p of their columns, q directions, t points of a tree, m of
its joins, l points of a coarser density and k their columns. ``+`` stands for c + 1, a digit for
itself, and ``|`` separates shapes that are allowed: that of ``"|w"`` is a number or an array.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp

from softkern.kernels import Kernel

Sizes = dict[str, int]  # of the letters that are known


@dataclass(frozen=True, kw_only=True)
class Spec:
    """One fitted attribute. Subclasses check values of one kind."""

    nullable: bool = False  # None is a value of it
    optional: bool = False  # some fits do not set it
    method: str = ""  # returns the same for new samples: a Dask array after a fit to Dask data
    stored_as: str = ""  # name in files; by default without the leading underscore
    transient: bool = False  # a cache, which is neither saved nor pickled

    def problem(self, value: Any, sizes: Sizes) -> str:
        """Return what is wrong with a value, or an empty string; sets unknown sizes."""
        return "" if value is None and self.nullable else self._problem(value, sizes)

    def _problem(self, value: Any, sizes: Sizes) -> str:
        return ""


@dataclass(frozen=True)
class Number(Spec):
    """A number of at least `low`, or `above` it. It is the size of the letter `size`."""

    low: float = -np.inf
    above: bool = False
    whole: bool = False
    finite: bool = True
    size: str = ""

    def _problem(self, value: Any, sizes: Sizes) -> str:
        if not isinstance(value, Integral if self.whole else Real) or isinstance(value, bool):
            return f"is a {type(value).__name__}, not a number"
        wrong = _out_of_range(np.asarray(value), self)
        if isinstance(value, Integral) and self.size and not wrong:
            sizes[self.size] = int(value)
        return wrong


@dataclass(frozen=True)
class Floats(Spec):
    """An array of floats, dense or also sparse, of at least `low`, or above it."""

    shape: str
    low: float = -np.inf
    above: bool = False
    finite: bool = True
    sparse: bool = False
    kinds = "f"

    def _problem(self, value: Any, sizes: Sizes) -> str:
        if isinstance(value, Real) and self.shape.startswith("|"):
            value = np.asarray(float(value))
        if not isinstance(value, np.ndarray) and not (self.sparse and sp.issparse(value)):
            return f"is a {type(value).__name__}, not an array"
        if value.dtype.kind not in self.kinds:
            return f"is an array of {value.dtype}"
        if not _matches(value.shape, self.shape, sizes):
            return f"has the inconsistent shape {value.shape}"
        return _out_of_range(value.data if sp.issparse(value) else value, self)


@dataclass(frozen=True)
class Indices(Floats):
    """An array of whole numbers from `low` on, below the size of a letter."""

    low: float = 0
    below: str = ""
    kinds = "iu"

    def _problem(self, value: Any, sizes: Sizes) -> str:
        wrong = super()._problem(value, sizes)
        if not wrong and value.size and value.max() >= sizes.get(self.below, np.inf):
            return f"holds {value.max()}, an index out of range"
        return wrong


@dataclass(frozen=True)
class Typed(Spec):
    """A value of a type, such as ``dict[str, float]``, or of a class that is given by name."""

    hint: Any
    name: str = ""  # of what is expected, where the type of a wrong value explains little

    def _problem(self, value: Any, sizes: Sizes) -> str:
        bases = [kind.__name__ for kind in type(value).__mro__]
        is_right = self.hint in bases if isinstance(self.hint, str) else _has_type(value, self.hint)
        wrong = f"is not {self.name}" if self.name else f"is a {type(value).__name__}"
        return "" if is_right else wrong


@dataclass(frozen=True)
class Pair(Spec):
    """A tuple of two values."""

    first: Spec
    second: Spec

    def _problem(self, value: Any, sizes: Sizes) -> str:
        if not isinstance(value, tuple) or len(value) != 2:
            return f"is a {type(value).__name__}"
        return self.first.problem(value[0], sizes) or self.second.problem(value[1], sizes)


@dataclass(frozen=True)
class Check(Spec):
    """A value in which a function finds no problem."""

    find_problem: Callable[[Any, Sizes], str]

    def _problem(self, value: Any, sizes: Sizes) -> str:
        return self.find_problem(value, sizes)


def kernel_problem(value: Any, sizes: Sizes) -> str:
    """Check a kernel, with one bandwidth for all columns of the support or one for each."""
    if not isinstance(value, Kernel):
        return f"is a {type(value).__name__}"
    widths = getattr(value, "bandwidth", 1.0)
    if isinstance(widths, tuple) and len(widths) != sizes.get("p", len(widths)):
        return f"has {len(widths)} bandwidths for {sizes['p']} columns"
    return ""


def names_problem(value: Any, sizes: Sizes) -> str:
    """Check an array of the d column names."""
    if not isinstance(value, np.ndarray) or not _has_type(value.tolist(), list[str]):
        return "is not an array of names"
    return "" if _matches(value.shape, "d", sizes) else f"has {len(value)} names"


def table_problem(value: Any, sizes: Sizes) -> str:
    """Check columns of equal length with plain values, by name."""
    is_plain = _has_type(value, dict[str, list[str | float | bool | None]])
    is_table = is_plain and len(set(map(len, value.values()))) <= 1
    return "" if is_table else "is not a table of plain values"


def _dtype_problem(value: Any, sizes: Sizes) -> str:
    return "" if isinstance(value, np.dtype) and value.kind == "f" else "is not a dtype of floats"


def _out_of_range(values: Any, spec: Number | Floats) -> str:
    if np.isnan(values).any() or (spec.finite and not np.isfinite(values).all()):
        return "holds a value that is not a finite number"
    is_low = values <= spec.low if spec.above else values < spec.low
    return f"holds {np.asarray(values)[is_low].flat[0]}, too small" if is_low.any() else ""


def _matches(shape: tuple[int, ...], letters: str, sizes: Sizes) -> bool:
    """Return whether a shape is that of the letters. Unknown letters get their size from it."""
    if "|" in letters:
        return any(_matches(shape, choice, sizes) for choice in letters.split("|"))
    if len(shape) != len(letters):
        return False
    for letter, size in zip(letters, shape, strict=True):
        if letter == "+":
            expected = sizes.get("c", size - 1) + 1
        else:
            expected = int(letter) if letter.isdigit() else sizes.setdefault(letter, size)
        if size != expected:
            return False
    return True


# What follows from the declarations of a class


@cache
def fitted_specs(kind: type) -> dict[str, Spec]:
    """Return the specs that a class and its bases declare, those of the bases first."""
    bases = reversed(kind.__mro__)
    return {name: spec for base in bases for name, spec in vars(base).get("_fitted", {}).items()}


def stored_names(kind: type) -> dict[str, str]:
    """Return the attributes of a class that are saved, by their names in files."""
    return {
        spec.stored_as or name.removeprefix("_"): name
        for name, spec in fitted_specs(kind).items()
        if not spec.transient
    }


def row_methods(kind: type) -> dict[str, str]:
    """Return the per-sample attributes and the methods that give them for new samples."""
    return {name: spec.method for name, spec in fitted_specs(kind).items() if spec.method}


def without_rows(model: Any) -> Any:
    """Copy a fitted model without its results for the training rows."""
    small = copy.copy(model)
    for name in row_methods(type(model)):
        vars(small).pop(name, None)
    small.sample_weight_ = np.ones(1, dtype=model.sample_weight_.dtype)
    return small


def validate_state(kind: type, fitted: Mapping[str, Any]) -> None:
    """Raise a ValueError for fitted attributes that are unknown, missing or inconsistent."""
    name = kind.__name__
    specs = {key: spec for key, spec in fitted_specs(kind).items() if not spec.transient}
    unknown = sorted(fitted.keys() - specs.keys())
    if unknown:
        raise ValueError(f"{name} has no attribute {', '.join(unknown)}.")
    is_without_rows = "sample_rows_" in fitted  # fitted to Dask data
    missing = [
        attribute
        for attribute, spec in specs.items()
        if attribute not in fitted and not (spec.optional or (spec.method and is_without_rows))
    ]
    if missing:
        raise ValueError(f"{name} lacks {', '.join(missing)}.")
    _check_values(name, {key: spec for key, spec in specs.items() if key in fitted}, fitted, {})


def _check_values(
    owner: str, specs: Mapping[str, Spec], values: Mapping[str, Any], sizes: Sizes
) -> None:
    # numbers and arrays set the sizes that others are compared with
    for name in sorted(specs, key=lambda name: not isinstance(specs[name], Number | Floats)):
        wrong = specs[name].problem(values[name], sizes) if name in values else "is missing"
        if wrong:
            raise ValueError(f"{name} of {owner} {wrong}.")
        if name == "sample_rows_":
            del sizes["n"]  # the weights are those of other rows


# Objects within models

OBJECTS: dict[str, dict[str, Spec]] = {
    "AlphaTree": {
        "heights": Floats("t", low=0),
        "weight": Floats("t", low=0),
        "edges": Indices("m2", below="t"),
        "saddles": Floats("m", low=0),
        "masses": Floats("m2", low=0),
        "peaks": Floats("m2", low=0),
        "significance": Typed(np.ndarray),
    },
    "Coordinates": {
        "values": Floats("pk"),
        "images": Floats("pk"),
        "directions": Floats("pq"),
        "origin": Floats("q"),
    },
    "ProblemSize": {
        "n": Number(low=0, whole=True),
        "d": Number(low=0, whole=True),
        "dtype": Check(_dtype_problem),
    },
    "NoiseRadius": {"centers": Floats("cq"), "farthest": Number(low=0)},
}


def check_fields(kind: type, fields: Mapping[str, Any]) -> None:
    """Raise a ValueError for fields that are missing, inconsistent or not of the declared type."""
    hints = get_type_hints(kind)
    missing = [name for name in hints if name not in fields and not name.startswith("_")]
    if missing and any(name.endswith("_") for name in fields):  # a fitted transformer
        raise ValueError(f"{kind.__name__} lacks {', '.join(missing)}.")
    specs: dict[str, Spec] = {name: Typed(hint) for name, hint in hints.items() if name in fields}
    sizes = {"q": len(fields["coordinates"].origin)} if kind.__name__ == "NoiseRadius" else {}
    _check_values(kind.__name__, specs | OBJECTS.get(kind.__name__, {}), fields, sizes)


def _has_type(value: Any, hint: Any) -> bool:
    kind, parts = get_origin(hint) or hint, get_args(hint)
    if hint is Any:
        return True
    if kind in (Union, UnionType):
        return any(_has_type(value, part) for part in parts)
    if kind in (list, tuple):
        return isinstance(value, kind) and all(_has_type(item, parts[0]) for item in value)
    if kind is dict:
        return isinstance(value, dict) and all(
            _has_type(key, parts[0]) and _has_type(item, parts[1]) for key, item in value.items()
        )
    if kind in (int, float):
        is_number = isinstance(value, Integral if kind is int else Real)
        return is_number and not isinstance(value, bool)
    if hasattr(kind, "__value__"):  # the name of a type, as NumPy's own from 2.5 on
        kind = get_origin(kind.__value__)
    return isinstance(value, kind) if isinstance(kind, type) else callable(value)
