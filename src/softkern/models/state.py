"""A model as a dictionary of arrays and plain values, and back: what a model file holds.

``{"estimator": public name, "params": constructor parameters, "fitted": {name: value}}``. What is
fitted is declared by the classes: each names its own attributes in ``_state``, and those that can
be made again at any time in ``_caches``. Values are arrays, None, truth values, numbers, strings,
lists, and dictionaries of these; everything else is a dictionary with the key "$", which names its
kind. Objects are known by their public names and fields, never by module or by private attributes.

Called by `softkern.files`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from itertools import takewhile
from pkgutil import resolve_name
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import Pipeline

from softkern import kernels, models
from softkern._utils.lazy import importer
from softkern.exceptions import ModelFileError
from softkern.kernels import Kernel
from softkern.models.state_schema import check_fields, check_fitted, check_shapes

__all__ = ["declared", "from_state", "to_state"]

# By their names, so that a file waits for what it names only.
MODELS = tuple(name for name in models.__all__ if name != "SpectralSearch")
HOMES = {
    **{name: "kernels" for name in kernels.__all__ if isinstance(getattr(kernels, name), type)},
    "AlphaTree": "density_tree.tree",
    "Bend": "tables.preparation",
    "Candidate": "planning",
    "Coordinates": "splitting.coordinates",
    "Cost": "operators.base",
    "Neighbors": "tables.preparation",
    "Plan": "planning",
    "Preparation": "tables.preparation",
    "Reach": "splitting.noise",
    "Scaling": "tables.preparation",
    "SpectralSearch": "models.spectral_search",
    "ProblemSize": "operators.base",
    "Writing": "tables.preparation",
}
_object = importer("softkern", HOMES)
BIT_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
MOST_LETTERS = 2**26  # that an array of texts has room for
SPARSE = {
    f"{name}_{kind}": getattr(sp, f"{name}_{kind}")
    for name in ("csr", "csc")
    for kind in ("array", "matrix")
}


def declared(kind: type, names: str = "_state") -> tuple[str, ...]:
    """Attributes that a class and its bases declare, those of the bases first.

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> {"kernel_", "eta_"} <= set(declared(OneClassPCM))
    True
    """
    found = (name for base in reversed(kind.__mro__) for name in vars(base).get(names, ()))
    return tuple(dict.fromkeys(found))


def to_state(model: Any) -> dict[str, Any]:
    """The model's declared state; arrays are the model's own, not copies.

    Raises a TypeError where something cannot be kept, such as a lambda, or is not declared.

    Parameters
    ----------
    model : estimator
        One of softkern's, fitted or not, or a scikit-learn pipeline that ends in one.

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> state = to_state(OneClassPCM(eta_scale=2.0))
    >>> state["estimator"], state["params"]["eta_scale"], state["fitted"]
    ('OneClassPCM', 2.0, {})
    """
    last = model
    while isinstance(last, Pipeline):
        last = last.steps[-1][1]
    if not _is_model(type(last)):
        raise TypeError(
            f"a model of softkern, or a pipeline that ends in one, is needed, not {last!r}."
        )
    state: dict[str, Any] = _plain(model, type(model).__name__)
    return {name: value for name, value in state.items() if name != "$"}


def from_state(state: dict[str, Any], *, trusted: Collection[str] = ()) -> Any:
    """The model of a state that `to_state` gave.

    Parameters
    ----------
    state : dict
    trusted : collection of str, default=()
        Functions and kernel classes of the user's own that may be imported, by their full names.

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> from_state(to_state(OneClassPCM(eta_scale=2.0)))
    OneClassPCM(eta_scale=2.0)
    """
    return _value({"$": "estimator", **state}, trusted)


def _is_model(kind: type) -> bool:
    name = kind.__name__
    return name in MODELS and getattr(models, name) is kind


def _plain(value: Any, where: str) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "biufc":
        return np.asarray(value)
    if value is None or type(value) in (bool, int, str):
        return value
    if type(value) is float and math.isfinite(value):
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
    return BUILDERS[parts.pop("$")](trusted, **parts) if "$" in parts else parts


def _parts(value: Any, where: str) -> tuple[str, dict[str, Any]]:
    """The kind of a value that is not plain, and what it is made of."""
    name = type(value).__name__
    known = name in HOMES and _object(name) is type(value)
    if isinstance(value, BaseEstimator):
        return "estimator", _estimator_parts(value, where)
    if known or isinstance(value, Kernel):
        name = name if known else _import_name(type(value), where)
        return "object", {"name": name, "fields": _fields(value)}
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
    raise TypeError(f"{where} is of {type(value)}, which a model file cannot hold.")


def _estimator_parts(model: Any, where: str) -> dict[str, Any]:
    kind = type(model)
    if kind.__module__.startswith("sklearn."):
        name = _public_name(kind)
        if _found(name) is kind:
            return {"estimator": name, "attributes": model.__getstate__()}
    if not _is_model(kind):
        raise TypeError(
            f"{where} is a {kind.__name__}, which is neither softkern's nor a public class of "
            "scikit-learn, and a model file cannot hold it."
        )
    params, names = model.get_params(deep=False), declared(kind)
    unknown = sorted(
        vars(model).keys() - params.keys() - set(names) - set(declared(kind, "_caches"))
    )
    if unknown:
        raise TypeError(
            f"{where} has attributes that {kind.__name__} does not declare: {', '.join(unknown)}. "
            "Delete them from the model; what should travel with it can be given as metadata."
        )
    fitted = {name.lstrip("_"): vars(model)[name] for name in names if name in vars(model)}
    return {"estimator": kind.__name__, "params": params, "fitted": fitted}


def _build_estimator(
    trusted: Collection[str],
    *,
    estimator: str,
    params: dict[str, Any] | None = None,
    fitted: dict[str, Any] | None = None,
    attributes: dict[str, Any] | None = None,
) -> Any:
    if params is not None and fitted is not None:
        if estimator not in MODELS:
            raise ValueError(f"{estimator} is no model of softkern.")
        kind = getattr(models, estimator)
        model = kind(**params)
        if fitted:
            model._validate_params()  # as before the fit
        names = {name.lstrip("_"): name for name in declared(kind)}
        check_fitted(kind, fitted)
        vars(model).update({names[name]: value for name, value in fitted.items()})
        return model
    found: Any = _found(estimator) if estimator.startswith("sklearn.") else None
    is_estimator = isinstance(found, type) and issubclass(found, BaseEstimator)
    if not is_estimator or _public_name(found) != estimator:
        raise ValueError(f"{estimator} is no estimator of scikit-learn.")
    model = found.__new__(found)
    model.__setstate__(attributes)
    return model


def _fields(value: Any) -> dict[str, Any]:
    """What an object declares: ``_state``, or the fields that its constructor takes."""
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    return {name: vars(value)[name] for name in declared(type(value)) or vars(value)}


def _build_object(trusted: Collection[str], *, name: str, fields: dict[str, Any]) -> Any:
    kind: Any = _object(name) if name in HOMES else _trusted(name, trusted)
    if name in HOMES:
        check_shapes(name, fields)
    takes_fields = is_dataclass(kind)
    if takes_fields:
        check_fields(kind, fields)
        return kind(**fields)
    built = kind.__new__(kind)
    vars(built).update(fields)
    return built


def _import_name(found: Any, where: str) -> str:
    """The full name of a function or class that another program can import."""
    if isinstance(found, np.ufunc):  # not all versions of NumPy say where theirs are
        name = f"numpy.{found.__name__}"
    else:
        name = f"{getattr(found, '__module__', None)}.{found.__qualname__}"
    if _found(name) is not found:
        raise TypeError(
            f"{where} is {name}, which cannot be imported by that name, so that the file could not "
            "be loaded. Define it by def or class at the top level of a module."
        )
    return name


def _trusted(name: str, trusted: Collection[str]) -> Any:
    if name not in trusted:
        raise ModelFileError(
            f"uses {name}, which softkern does not know, and is not loaded. Where it is your own "
            f"and you trust the file's maker, name it: load(path, trusted=[{str(name)!r}])."
        )
    found = _found(name)
    if not callable(found):
        raise ModelFileError(
            f"uses {name}, which cannot be imported here; make it importable before loading."
        )
    return found


def _found(name: str) -> Any:
    try:
        return resolve_name(name)
    except (ImportError, AttributeError, ValueError):
        return None


def _public_name(kind: type) -> str:
    """Where scikit-learn's users import a class from."""
    parts = takewhile(lambda part: not part.startswith("_"), kind.__module__.split("."))
    return ".".join((*parts, kind.__name__))


def _build_objects(_: Any, *, shape: list[int], items: list[Any]) -> Any:
    out = np.empty(len(items), dtype=object)
    for i, item in enumerate(items):  # one by one: an item may be a list
        out[i] = item
    return out.reshape(shape)


def _build_texts(_: Any, *, shape: list[int], items: list[str]) -> Any:
    longest = max(map(len, items), default=0)
    if len(items) * longest > MOST_LETTERS:  # all take the room of the longest
        raise ValueError(f"{len(items):,} texts of up to {longest:,} letters are too many.")
    return _build_objects(_, shape=shape, items=items).astype(str)


def _build_scalar(_: Any, *, dtype: str, value: Any) -> Any:
    kind = np.dtype(dtype)
    if kind.kind not in "biufU":
        raise ValueError(f"{dtype} is no type of a number or a text.")
    return kind.type(value)


def _build_sparse(
    _: Any, *, name: str, shape: list[int], data: Any, indices: Any, indptr: Any
) -> Any:
    out = SPARSE[name]((data, indices, indptr), shape=tuple(shape))
    out.check_format(full_check=True)  # compiled loops trust the indices
    return out


def _build_numpy_type(_: Any, *, name: str) -> Any:
    kind = getattr(np, name)
    if not (isinstance(kind, type) and issubclass(kind, np.generic)):
        raise ValueError(f"{name} is no type of NumPy's numbers.")
    return kind


def _bits(state: dict[str, Any]) -> Any:
    name = state["bit_generator"]
    if name not in BIT_GENERATORS:
        raise ValueError(f"{name} is no bit generator of NumPy.")
    return getattr(np.random, name)()


def _build_random_state(_: Any, *, state: dict[str, Any]) -> np.random.RandomState:
    out = np.random.RandomState(_bits(state))
    out.set_state(state)
    return out


def _build_generator(_: Any, *, state: dict[str, Any]) -> np.random.Generator:
    bits = _bits(state)
    bits.state = state
    return np.random.Generator(bits)


BUILDERS: dict[str, Callable[..., Any]] = {
    "estimator": _build_estimator,
    "object": _build_object,
    "function": lambda trusted, name: _trusted(name, trusted),
    "objects": _build_objects,
    "texts": _build_texts,
    "scalar": _build_scalar,
    "dtype": lambda _, name: np.dtype(name),
    "numpy type": _build_numpy_type,
    "sparse": _build_sparse,
    "RandomState": _build_random_state,
    "Generator": _build_generator,
    "float": lambda _, text: float(text),
    "tuple": lambda _, items: tuple(items),
    "slice": lambda _, items: slice(*items),
    "dict": lambda _, items: dict(items),
}
