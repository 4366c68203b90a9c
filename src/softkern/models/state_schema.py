"""What a fitted model holds: kind, shape and range of every entry, and how entries fit each other.

Shapes are written in letters, each of which is one size throughout a model: n rows of the fit, d
columns, c clusters, s points of the support, p of their columns, k centers, q directions, t points
of a tree, m of its joins; ``+`` is c + 1. What is there but not declared, or declared but not
there, is refused as what has another kind, shape or range is.

Called by `softkern.models.state`, which builds models of files; a model that was fitted holds what
is declared here, as the tests see to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import numpy as np
import scipy.sparse as sp

from softkern.dask.fit import ROW_ATTRIBUTES
from softkern.kernels import Kernel, Precomputed
from softkern.models.base import SAMPLE_ATTRIBUTES
from softkern.planning import Plan

__all__ = ["Sizes", "check_fields", "check_fitted", "check_shapes", "entries_of"]

Sizes = dict[str, int]  # of the letters that are known
Check = Callable[[Any, Sizes], str]  # what is wrong with a value; nothing where it is well


@dataclass(frozen=True)
class Number:
    """One number, a whole one where `whole`; `low` itself is too little where it is `above`."""

    low: float = -np.inf
    above: bool = False
    whole: bool = False
    finite: bool = True

    def __call__(self, value: Any, sizes: Sizes) -> str:
        """What is wrong."""
        if not isinstance(value, Integral if self.whole else Real) or isinstance(value, bool):
            return f"is a {type(value).__name__} where a number is"
        return _out_of_range(np.asarray(value), self)


@dataclass(frozen=True)
class Numbers:
    """An array of floats, or of whole numbers below a size, with or without sparse rows."""

    shape: str
    low: float = -np.inf
    above: bool = False
    finite: bool = True
    below: str = ""  # the size that whole numbers stay below
    sparse: bool = False

    def __call__(self, value: Any, sizes: Sizes) -> str:
        """What is wrong."""
        if not isinstance(value, np.ndarray) and not (self.sparse and sp.issparse(value)):
            return f"is a {type(value).__name__} where an array is"
        if value.dtype.kind not in ("iu" if self.below else "f"):
            return f"is an array of {value.dtype}"
        if not _bound(value.shape, self.shape, sizes):
            return f"is of shape {value.shape}, which does not fit the rest"
        values = value.data if sp.issparse(value) else value
        if self.below and values.size and values.max() >= sizes.get(self.below, np.inf):
            return f"holds {values.max()}, which is no place in the rest"
        return _out_of_range(values, self)


def _out_of_range(values: Any, asked: Number | Numbers) -> str:
    if np.isnan(values).any() or (asked.finite and not np.isfinite(values).all()):
        return "holds what is no finite number"
    is_low = values <= asked.low if asked.above else values < asked.low
    return f"holds {np.asarray(values)[is_low].flat[0]}, too small" if is_low.any() else ""


def _bound(shape: tuple[int, ...], letters: str, sizes: Sizes) -> bool:
    """Whether a shape is that of the letters; those not known yet are from now on."""
    if len(shape) != len(letters):
        return False
    for letter, size in zip(letters, shape, strict=True):
        if size != (int(letter) if letter.isdigit() else sizes.setdefault(letter, size)):
            return False
    return True


def _either(*checks: Check) -> Check:
    def either(value: Any, sizes: Sizes) -> str:
        said = [check(value, sizes) for check in checks]
        return "" if "" in said else said[-1]

    return either


def _of(*kinds: type | str) -> Check:
    """An object of these classes, which are given by name where they are not imported here."""

    def of(value: Any, sizes: Sizes) -> str:
        names = {kind.__name__ for kind in type(value).__mro__}
        is_one = any(k in names if isinstance(k, str) else isinstance(value, k) for k in kinds)
        return "" if is_one else f"is a {type(value).__name__}"

    return of


def _kernel(value: Any, sizes: Sizes) -> str:
    if not isinstance(value, Kernel):
        return f"is a {type(value).__name__}"
    widths = getattr(value, "bandwidth", 1.0)
    if isinstance(widths, tuple) and len(widths) != sizes.get("p", len(widths)):
        return f"has {len(widths)} bandwidths for {sizes['p']} columns"
    return ""


def _names(value: Any, sizes: Sizes) -> str:
    is_named = isinstance(value, np.ndarray) and value.dtype.kind in "OU" and value.ndim == 1
    if not is_named or not all(isinstance(name, str) for name in value.tolist()):
        return "is no array of names"
    return "" if _bound(value.shape, "d", sizes) else f"has {len(value)} names"


def _lists(value: Any, sizes: Sizes) -> str:
    """Columns of plain values, all of one length."""
    if not isinstance(value, dict) or not all(isinstance(part, list) for part in value.values()):
        return "is no table of lists"
    plain = all(isinstance(item, str | Real | NoneType) for part in value.values() for item in part)
    return "" if plain and len({len(part) for part in value.values()}) <= 1 else "is uneven"


def _history(value: Any, sizes: Sizes) -> str:
    """Lists of numbers, one for a step."""
    parts = value.values() if isinstance(value, dict) else [None]
    is_plain = all(
        isinstance(part, list) and all(isinstance(item, Real) for item in part) for part in parts
    )
    return "" if is_plain else "is no history of numbers"


def _texts(value: Any, sizes: Sizes) -> str:
    is_plain = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return "" if is_plain else "is no list of texts"


def _density(value: Any, sizes: Sizes) -> str:
    """Points and their coefficients, of log densities."""
    if not isinstance(value, tuple) or len(value) != 2:
        return f"is a {type(value).__name__}"
    own: Sizes = {letter: size for letter, size in sizes.items() if letter in "pk"}
    points = Numbers("sp", sparse=True)(value[0], own)
    return points or _either(Numbers("s", low=0), Numbers("sk", low=0))(value[1], own)


def _float_type(value: Any, sizes: Sizes) -> str:
    is_one = isinstance(value, np.dtype) and value.kind == "f"
    return "" if is_one else "is no type of floats"


def _tree(value: Any, sizes: Sizes) -> str:
    if type(value).__name__ != "AlphaTree":
        return f"is a {type(value).__name__}"
    sizes["t"] = len(value.heights)
    return ""


WHOLE, POSITIVE, NOT_NEGATIVE = Number(0, whole=True), Number(0, above=True), Number(0)
NONE, FLAG, TEXT = _of(NoneType), _of(bool, np.bool_), _of(str)

# In this order: sizes are known before what they bound.
BASE: dict[str, Check] = {
    "n_features_in_": Number(1, whole=True),
    "feature_names_in_": _names,
    "sample_weight_": Numbers("n", low=0),
    "sample_rows_": Numbers("r", low=0, below="rows of all chunks"),
    "sample_row_weights_": Numbers("r", low=0),
    "sample_outlier_scores_": Numbers("r", finite=False),
}
SUPPORT: dict[str, Check] = {
    "support": Numbers("sp", sparse=True),
    "support_": Numbers("s", low=0, below="n"),
    "density": _either(NONE, _density),
}
FIT: dict[str, Check] = {
    "kernel_": _kernel,
    "bandwidth_": _either(NONE, POSITIVE, Numbers("w", low=0, above=True)),
    "plan_": _of(Plan),
    "engine_": TEXT,
    "approximation_error_": NOT_NEGATIVE,
    "n_iter_": WHOLE,
    "converged_": FLAG,
    "objective_": Number(finite=False),
    "history_": _history,
}
CLUSTERS: dict[str, Check] = {
    "n_clusters_": WHOLE,
    "labels_": Numbers("n", low=-1, below="c"),
    "memberships_": Numbers("nc", low=0),
    "outlier_scores_": Numbers("n", finite=False),
    "overlap_scores_": Numbers("n", low=0),
}
# of models that hold others, which have the support; of centers; of one class
HOLDER = BASE | FIT | CLUSTERS
CENTERS: dict[str, Check] = (
    BASE
    | SUPPORT
    | FIT
    | CLUSTERS
    | {"dual_coef_": Numbers("sc"), "norms": Numbers("c"), "inner": Numbers("cc")}
)
DETECTOR: dict[str, Check] = (
    BASE
    | SUPPORT
    | FIT
    | {
        "dual_coef_": Numbers("s"),
        "norms": Numbers("1"),
        "memberships_": Numbers("n", low=0),
        "outlier_scores_": Numbers("n", finite=False),
        "offset_": Number(),
    }
)
MACHINES: dict[str, Check] = {
    "cluster_weights_": Numbers("c", low=0),
    "offset_": Numbers("c"),
    "radius_": Numbers("c", low=0),
    "totals": Numbers("c"),
    "least_width": NOT_NEGATIVE,
}
FUZZY: dict[str, Check] = {"m_": Number(1, above=True), "collapse_ratio_": _either(NONE, Number())}
SPECTRAL: dict[str, Check] = (
    BASE
    | SUPPORT
    | FIT
    | CLUSTERS
    | {
        "dual_coef_": Numbers("sq"),
        "eigenvalues_": Numbers("q"),
        "bias_": Numbers("q"),
        "projections_": Numbers("nq"),
        "prototypes_": Numbers("cq"),
        "codes_": Numbers("cq"),
        "mean_similarity_": Numbers("n", low=0),
        "degree_coef": Numbers("s"),
        "total_weight": POSITIVE,
        "search_": _either(NONE, _of("SpectralSearch")),
    }
)
VECTORS: dict[str, Check] = DETECTOR | {
    "radius_": NOT_NEGATIVE,
    "gap_": Number(),
    "decision_scale": POSITIVE,
}
KERNEL_OR_NONE = _either(NONE, _kernel)
MODELS: dict[str, dict[str, Check]] = {
    "AlphaCutClustering": HOLDER
    | {
        "typicality_": Numbers("n", low=0),
        "alpha_": NOT_NEGATIVE,
        "eta_": POSITIVE,
        "tree_": _tree,
        "node_": Numbers("n", low=0, below="t"),
        "level_": Numbers("n", low=0),
        "one_class_": _of("OneClassPCM"),
        "noise_levels": _either(NONE, Numbers("c", finite=False)),
        "cluster_coefficients": Numbers("s+"),
        "membership_kernel": KERNEL_OR_NONE,
    },
    "AutoClustering": HOLDER
    | {
        "preparation_": _either(NONE, _of("Preparation")),
        "notes_": _texts,
        "model_": _either(NONE, _of("KernelModel")),
        "one_class_": _either(NONE, _of("OneClassPCM")),
        "reason_": TEXT,
        "repeats_": WHOLE,
        "comparison": _lists,
        "coordinates": _either(NONE, _of("Coordinates")),
        "reach": _either(NONE, _of("Reach")),
        "clusters": _either(NONE, Numbers("c", low=0, below="columns")),
    },
    "FuzzyCMeans": CENTERS | FUZZY,
    "KernelSpectralClustering": SPECTRAL,
    "OneClassKMeans": CENTERS | MACHINES | {"tie_error": NOT_NEGATIVE},
    "OneClassMixture": CENTERS | MACHINES | {"scale_": POSITIVE, "critical_scale_": NOT_NEGATIVE},
    "OneClassPCM": DETECTOR
    | {
        "eta_": POSITIVE,
        "reduction_error_": NOT_NEGATIVE,
        "wide": KERNEL_OR_NONE,
        "evidence": Numbers("s", low=0),
        "company": NOT_NEGATIVE,
        "standards": Numbers("22"),
    },
    "OutlierFuzzyCMeans": CENTERS
    | FUZZY
    | {
        "outlier_weights_": Numbers("n", low=0),
        "weight_unit": NOT_NEGATIVE,
        "least_weight": NOT_NEGATIVE,
    },
    "PossibilisticCMeans": CENTERS
    | {"eta_": Numbers("c", low=0, above=True), "eta_scale_": POSITIVE},
    "SoftKernelSpectralClustering": SPECTRAL,
    "WeightedOneClassSVM": VECTORS,
    "WeightedSVDD": VECTORS,
}
# Of these some fits have none; the class says what holds then.
OPTIONAL = {
    *SAMPLE_ATTRIBUTES,
    "clusters",
    "feature_names_in_",
    "membership_kernel",
    "reach",
    "search_",
    "wide",
    "reduction_error_",
}
OBJECTS: dict[str, dict[str, Check]] = {
    "AlphaTree": {
        "heights": Numbers("t", low=0),
        "weight": Numbers("t", low=0),
        "edges": Numbers("m2", low=0, below="t"),
        "saddles": Numbers("m", low=0),
        "masses": Numbers("m2", low=0),
        "peaks": Numbers("m2", low=0),
        "significance": _of(np.ndarray),
    },
    "Coordinates": {
        "values": Numbers("pk"),
        "images": Numbers("pk"),
        "directions": Numbers("pq"),
        "origin": Numbers("q"),
    },
    "ProblemSize": {"n": WHOLE, "d": WHOLE, "dtype": _float_type},
    "Reach": {"centers": Numbers("cq"), "farthest": NOT_NEGATIVE},
}


def entries_of(kind: type) -> dict[str, Check]:
    """What a model of this class holds, by the names that files have.

    Examples
    --------
    >>> from softkern import OneClassPCM
    >>> entries_of(OneClassPCM)["eta_"](-1.0, {})
    'holds -1.0, too small'
    """
    return MODELS[kind.__name__]


def check_fitted(kind: type, fitted: Mapping[str, Any]) -> None:
    """Refuse entries of a fitted model that are not declared, not there, or do not fit."""
    if not fitted:
        return
    name, entries = kind.__name__, entries_of(kind)
    is_without_rows = "sample_rows_" in fitted  # fitted to chunks
    optional = OPTIONAL | set(ROW_ATTRIBUTES) if is_without_rows else OPTIONAL
    missing = [entry for entry in entries if entry not in fitted and entry not in optional]
    if missing:
        raise ValueError(f"{name} lacks {', '.join(missing)}.")
    if not fitted.keys() <= entries.keys():
        raise ValueError(f"{name} holds {', '.join(sorted(fitted.keys() - entries.keys()))}.")
    sizes: Sizes = {}
    for entry, check in entries.items():
        if entry not in fitted:
            continue
        wrong = check(fitted[entry], sizes)
        if wrong:
            raise ValueError(f"{entry} of {name} {wrong}.")
        if entry == "n_features_in_":
            sizes["d"] = fitted[entry]
        elif entry == "sample_rows_":
            del sizes["n"]  # which is that of other rows
        elif entry == "n_clusters_":
            sizes |= {"c": fitted[entry], "+": fitted[entry] + 1}
    wrong = _misfit(name, fitted, sizes)
    if wrong:
        raise ValueError(f"{name}: {wrong}.")


def _misfit(name: str, fitted: Mapping[str, Any], sizes: Sizes) -> str:
    """What does not fit between the parts of a model."""
    d = fitted["n_features_in_"]
    if "support" in fitted:
        columns = fitted["support"].shape[1]
        is_matrix = isinstance(fitted["kernel_"], Precomputed)
        if is_matrix and d != sizes["n"]:
            return f"a matrix of {sizes['n']} rows has {d} columns"
        asked = sizes["s"] if is_matrix else d
        return "" if columns == asked else f"the support has {columns} columns, not {asked}"
    if name == "AlphaCutClustering":
        inner = fitted["one_class_"]
        fits = inner.n_features_in_ == d and len(inner._support) == sizes["s"]
        return "" if fits else "its one class is of other rows"
    return _misfit_of_parts(fitted, sizes)


def _misfit_of_parts(fitted: Mapping[str, Any], sizes: Sizes) -> str:
    """The same of a model that holds one of the columns, and one of directions in them."""
    model, whole, coordinates = (fitted[part] for part in ("model_", "one_class_", "coordinates"))
    preparation, reach = fitted["preparation_"], fitted.get("reach")
    p = fitted["n_features_in_"] if preparation is None else len(preparation.features)
    if model is None and whole is None:
        return "it holds no model"
    if model is not None and getattr(model, "n_clusters_", None) != sizes["c"]:
        return "its model has another number of clusters"
    if whole is not None and whole.n_features_in_ != p:
        return "its one class has other columns"
    if model is None or whole is None:
        seen = p if model is not None else 0
        return (
            "" if model is None or model.n_features_in_ == seen else "its model has other columns"
        )
    if coordinates is None or coordinates.directions.shape != (p, model.n_features_in_):
        return "its directions do not fit its model"
    if reach is not None and reach.coordinates.values.shape[0] != p:
        return "its reach has other columns"
    return ""


def check_shapes(name: str, fields: Mapping[str, Any]) -> None:
    """Refuse arrays of a part that do not fit each other."""
    sizes: Sizes = {}
    if name == "Reach":
        sizes["q"] = len(fields["coordinates"].origin)
    for entry, check in OBJECTS.get(name, {}).items():
        wrong = check(fields[entry], sizes) if entry in fields else "is not there"
        if wrong:
            raise ValueError(f"{entry} of {name} {wrong}.")


def check_fields(kind: type, fields: Mapping[str, Any]) -> None:
    """Refuse fields that are of another kind than the dataclass says."""
    hints = get_type_hints(kind)
    for name, value in fields.items():
        if name in hints and not _fits(value, hints[name]):
            raise ValueError(f"{name} of {kind.__name__} is a {type(value).__name__}.")


def _fits(value: Any, hint: Any) -> bool:
    origin, parts = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(_fits(value, part) for part in parts)
    if origin is Literal:
        return value in parts
    if origin is tuple:
        if parts[-1] is Ellipsis:
            return isinstance(value, tuple) and all(_fits(item, parts[0]) for item in value)
        return isinstance(value, tuple) and len(value) == len(parts)
    if origin is list:
        return isinstance(value, list) and all(_fits(item, parts[0]) for item in value)
    if origin is dict:
        pairs = value.items() if isinstance(value, dict) else [(None, None)]
        return all(_fits(key, parts[0]) and _fits(item, parts[1]) for key, item in pairs)
    if hint in (int, float):
        is_number = isinstance(value, Integral if hint is int else Real)
        return is_number and not isinstance(value, bool)
    kind = hint if origin is None else origin
    if hasattr(kind, "__value__"):  # the name of a type, as NumPy's own from 2.5 on
        kind = get_origin(kind.__value__)
    return isinstance(value, kind) if isinstance(kind, type) else callable(value)
