"""Convert a model to a dictionary of arrays and plain values, and back: the content of files.

``{"estimator": public name, "params": constructor parameters, "fitted": {name: value}}``. Fitted
attributes are those that the classes declare (`softkern.models.state_schema`). Values are arrays,
None, booleans, numbers, strings, lists, and dictionaries of these. Anything else is a dictionary
with the key "$", which names its kind. Objects are identified by the names below and their fields,
never by module or private attributes.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import fields, is_dataclass
from itertools import takewhile
from pkgutil import resolve_name
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

import softkern
from softkern.exceptions import ModelFileError
from softkern.kernels import Kernel
from softkern.kernels.resolve import KERNELS
from softkern.models.state_schema import (
    check_fields,
    fitted_specs,
    stored_names,
    validate_state,
)


def _path(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}".removeprefix("softkern.")


# Objects within models: their names in files, and the classes, which are imported when needed
CLASSES = {
    **{kind.__name__: _path(kind) for kind in KERNELS},
    "AlphaTree": "density_tree.tree:AlphaTree",
    "Candidate": "planning.engines:Candidate",
    "Coordinates": "splitting.coordinates:Coordinates",
    "Cost": "operators.work:Cost",
    "ColumnScaler": "tables.preparation.scaling:ColumnScaler",
    "NearestRowImputer": "tables.preparation.scaling:NearestRowImputer",
    "Note": "tables.preparation.notes:Note",
    "NumberFormat": "tables.preparation.formats:NumberFormat",
    "Plan": "planning.plan:Plan",
    "ProblemSize": "operators.work:ProblemSize",
    "Reach": "splitting.coordinates:NoiseRadius",
    "SignedLog": "tables.preparation.skew:SignedLog",
    "SpectralSearch": "models.spectral_search:SpectralSearch",
    "TablePreparation": "tables.preparation.transformer:TablePreparation",
}
# Names of objects, their fields and parameters in files of earlier versions
RENAMED = {
    "Workload": "ProblemSize",
    "ahead": "surrogate",
    "ahead_rank": "surrogate_rank",
    "candidates": "priced",
    "centres": "centers",
    "instead": "fallback",
    "unresolved": "open_kernel",
    "work": "problem",
}
REMOVED = {"chunks"}
FILE_NAMES = {path: name for name, path in CLASSES.items()}
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
MOST_LETTERS = 2**26  # characters that an array of texts may hold
SPARSE = {
    kind.__name__: kind for kind in (sp.csr_array, sp.csr_matrix, sp.csc_array, sp.csc_matrix)
}


def to_state(model: Any) -> dict[str, Any]:
    """Return the parameters and fitted attributes of a model, or of a pipeline that ends in one.

    Arrays are not copied. Raises a TypeError for values that cannot be saved, such as a lambda, and
    for undeclared attributes.
    """
    last = model
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if _model_class(type(last).__name__) is not type(last):
        raise TypeError(
            f"expected a model of softkern, or a pipeline that ends in one, not {last!r}."
        )
    state: dict[str, Any] = _plain(model, type(model).__name__)
    del state["$"]
    return state


def from_state(state: dict[str, Any], *, trusted: Collection[str] = ()) -> Any:
    """Build the model of a state that `to_state` returned.

    `trusted` are full names of the user's own functions and kernel classes that may be imported.
    """
    return _value({"$": "estimator", **state}, trusted)


def _model_class(name: str) -> Any:
    """Return the public estimator of softkern that has this name, or None."""
    kind = getattr(softkern, name) if name in softkern.__all__ else None
    return kind if isinstance(kind, type) and issubclass(kind, BaseEstimator) else None


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return np.asarray(value)
    is_finite = type(value) is float and math.isfinite(value)
    if value is None or is_finite or type(value) in (bool, int, str):
        return value
    if type(value) is list:
        return [_plain(item, f"{where}[{i}]") for i, item in enumerate(value)]
    if type(value) is dict and "$" not in value and all(type(name) is str for name in value):
        return {name: _plain(item, f"{where}.{name}") for name, item in value.items()}
    kind, parts = _parts(value, where)
    return {"$": kind, **{name: _plain(part, f"{where}.{name}") for name, part in parts.items()}}


def _value(plain: Any, trusted: Collection[str]) -> Any:
    if isinstance(plain, list):
        return [_value(item, trusted) for item in plain]
    if not isinstance(plain, dict):
        return plain
    parts = {name: _value(part, trusted) for name, part in plain.items()}
    return _build(parts.pop("$"), parts, trusted) if "$" in parts else parts


def _parts(value: Any, where: str) -> tuple[str, dict[str, Any]]:
    """Return the kind of a value that is not plain, and its parts."""
    file_name = FILE_NAMES.get(_path(type(value)))
    if file_name or isinstance(value, Kernel):
        name = file_name or _import_name(type(value), where)
        if is_dataclass(value):
            names = [field.name for field in fields(value) if field.init]
        else:
            names = list(vars(value))
        return "object", {"name": name, "fields": {key: getattr(value, key) for key in names}}
    if isinstance(value, BaseEstimator):
        return "estimator", _estimator_parts(value, where)
    if isinstance(value, np.ndarray) and value.dtype.kind in "OU":
        parts = {"shape": list(value.shape), "items": value.ravel().tolist()}
        return "texts" if value.dtype.kind == "U" else "objects", parts
    if isinstance(value, np.generic) and type(value.item()) in (bool, int, float, str):
        return "scalar", {"dtype": value.dtype.str, "value": value.item()}
    if isinstance(value, np.dtype) and value.fields is None:
        return "dtype", {"name": value.str}
    if isinstance(value, type) and issubclass(value, np.generic):
        return "numpy type", {"name": value.__name__}
    if type(value) in SPARSE.values():
        parts = {name: getattr(value, name) for name in ("data", "indices", "indptr")}
        return "sparse", {"name": type(value).__name__, "shape": list(value.shape), **parts}
    if isinstance(value, np.random.RandomState):
        return "RandomState", {"state": value.get_state(legacy=False)}
    if isinstance(value, np.random.Generator):
        return "Generator", {"state": value.bit_generator.state}
    if type(value) is float:
        return "float", {"text": repr(value)}
    if type(value) is tuple:
        return "tuple", {"items": list(value)}
    if type(value) is slice:
        return "slice", {"items": [value.start, value.stop, value.step]}
    if type(value) is dict:
        return "dict", {"items": [list(pair) for pair in value.items()]}
    if isinstance(value, np.ufunc) or (callable(value) and hasattr(value, "__qualname__")):
        return "function", {"name": _import_name(value, where)}
    raise TypeError(f"{where} is of {type(value)}, which cannot be saved in a model file.")


def _estimator_parts(model: Any, where: str) -> dict[str, Any]:
    kind: Any = type(model)
    name = _public_name(kind)
    if name.startswith("sklearn.") and _resolve(name) is kind:
        return {"estimator": name, "attributes": model.__getstate__()}
    if _model_class(kind.__name__) is not kind:
        raise TypeError(
            f"{where} is a {kind.__name__}, which is neither softkern's nor a public class of "
            "scikit-learn, and cannot be saved in a model file."
        )
    params = model.get_params(deep=False)
    unknown = sorted(vars(model).keys() - params.keys() - fitted_specs(kind).keys())
    if unknown:
        raise TypeError(
            f"{where} has attributes that {kind.__name__} does not declare: {', '.join(unknown)}. "
            "Delete them from the model, or save them as metadata."
        )
    values = vars(model.without_rows())  # per-sample Dask arrays are not saved
    fitted = {name: values[key] for name, key in stored_names(kind).items() if key in values}
    return {"estimator": kind.__name__, "params": params, "fitted": fitted}


def _build(kind: str, parts: dict[str, Any], trusted: Collection[str]) -> Any:
    """Build the value of which `_parts` returned the kind and the parts."""
    match kind:
        case "estimator":
            build = _build_of_sklearn if "attributes" in parts else _build_model
            return build(**parts)
        case "object":
            return _build_object(parts["name"], parts["fields"], trusted)
        case "function":
            return _trusted(parts["name"], trusted)
        case "objects":
            return _array_of(**parts)
        case "texts":
            count, longest = len(parts["items"]), max(map(len, parts["items"]), default=0)
            if count * longest > MOST_LETTERS:  # each takes the space of the longest
                raise ValueError(f"{count:,} texts of up to {longest:,} characters are too many.")
            return _array_of(**parts).astype(str)
        case "sparse":
            arrays = parts["data"], parts["indices"], parts["indptr"]
            out = SPARSE[parts["name"]](arrays, shape=tuple(parts["shape"]))
            out.check_format(full_check=True)  # compiled loops trust the indices
            return out
        case "scalar":
            dtype = np.dtype(parts["dtype"])
            if dtype.kind not in "biufU":
                raise ValueError(f"{dtype} is not the dtype of a number or a text.")
            return dtype.type(parts["value"])
        case "dtype":
            return np.dtype(parts["name"])
        case "numpy type":
            number = getattr(np, parts["name"])
            if not (isinstance(number, type) and issubclass(number, np.generic)):
                raise ValueError(f"{parts['name']} is not a number type of NumPy.")
            return number
        case "RandomState":
            random_state = np.random.RandomState(_bit_generator(parts["state"]))
            random_state.set_state(parts["state"])  # with the normal number in store
            return random_state
        case "Generator":
            return np.random.Generator(_bit_generator(parts["state"]))
        case "float":
            return float(parts["text"])
        case "tuple":
            return tuple(parts["items"])
        case "slice":
            return slice(*parts["items"])
        case "dict":
            return dict(parts["items"])
    raise ValueError(f"{kind!r} is not a kind of value.")


def _build_of_sklearn(estimator: str, attributes: dict[str, Any]) -> Any:
    kind: Any = _resolve(estimator) if estimator.startswith("sklearn.") else None
    is_estimator = isinstance(kind, type) and issubclass(kind, BaseEstimator)
    if not is_estimator or _public_name(kind) != estimator:
        raise ValueError(f"{estimator} is not an estimator of scikit-learn.")
    model = kind.__new__(kind)
    model.__setstate__(attributes)
    return model


def _build_model(estimator: str, params: dict[str, Any], fitted: dict[str, Any]) -> Any:
    kind = _model_class(estimator)
    if kind is None:
        raise ValueError(f"{estimator} is not a model of softkern.")
    model = kind(**{RENAMED.get(key, key): value for key, value in params.items()})
    if fitted:
        model._validate_params()
        names, specs = stored_names(kind), fitted_specs(kind)
        attributes = {names.get(stored, stored): value for stored, value in fitted.items()}
        validate_state(kind, attributes)
        # files of older versions lack some private attributes
        lacking = [name for name, spec in specs.items() if spec.optional and spec.nullable]
        older = {name: None for name in lacking if name.startswith("_")}
        vars(model).update(older | attributes)
        model._check_state()
    return model


def _build_object(name: str, fields: dict[str, Any], trusted: Collection[str]) -> Any:
    name = RENAMED.get(name, name)
    if name in CLASSES:
        fields = {RENAMED.get(k, k): value for k, value in fields.items() if k not in REMOVED}
        kind: Any = resolve_name(f"softkern.{CLASSES[name]}")
        check_fields(kind, fields)
    else:
        kind = _trusted(name, trusted)
    takes_fields = is_dataclass(kind)
    if takes_fields:
        return kind(**fields)
    built = kind.__new__(kind)
    vars(built).update(fields)
    return built


def _array_of(shape: list[int], items: list[Any]) -> Any:
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):  # one by one: an item may be a list
        out[i] = item
    return out.reshape(shape)


def _bit_generator(state: dict[str, Any]) -> Any:
    if state["bit_generator"] not in BIT_GENERATORS:
        raise ValueError(f"{state['bit_generator']} is not a bit generator of NumPy.")
    bits = getattr(np.random, state["bit_generator"])()
    bits.state = state
    return bits


# Names of functions and classes


def _import_name(value: Any, where: str) -> str:
    """Return the full name of a function or class, by which it can be imported."""
    if isinstance(value, np.ufunc):  # some versions of NumPy do not store their module
        name = f"numpy.{value.__name__}"
    else:
        name = f"{getattr(value, '__module__', None)}.{value.__qualname__}"
    if _resolve(name) is not value:
        raise TypeError(
            f"{where} is {name}, which cannot be imported by that name, so that the file could not "
            "be loaded. Define it by def or class at the top level of a module."
        )
    return name


def _trusted(name: str, trusted: Collection[str]) -> Any:
    if name not in trusted:
        raise ModelFileError(
            f"uses {name}, which is not part of softkern, and is not loaded. If it is your own and "
            f"you trust the file, pass its name: load(path, trusted=[{str(name)!r}])."
        )
    value = _resolve(name)
    if not callable(value):
        raise ModelFileError(
            f"uses {name}, which cannot be imported here. Make it importable before loading."
        )
    return value


def _resolve(name: str) -> Any:
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return None


def _public_name(kind: type) -> str:
    """Return the name by which users import a class of scikit-learn."""
    parts = takewhile(lambda part: not part.startswith("_"), kind.__module__.split("."))
    return ".".join((*parts, kind.__name__))
