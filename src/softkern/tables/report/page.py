"""Assemble the page: input checks, escaping, and an atomic write.

Names and values from the data reach the page in two ways only: as text that the template escapes,
and as JSON without any character that could end a script element. The scripts insert them as text.
The page's content security policy allows only its own two scripts, identified by their hashes, and
forbids loading anything.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from pandas.api.types import is_numeric_dtype

from softkern._utils.colors import COLORS, NEUTRAL, SCALE
from softkern._utils.typing import Array
from softkern.files import replacing
from softkern.fitted import fitted_step
from softkern.ranking import rank_points
from softkern.tables.explain import Explainer, summary
from softkern.tables.report.data import Drawn, page_data, page_explainer, select_rows
from softkern.tables.report.packing import shorten

RANKS = ["label", "membership", "outlier_score", "outlier_rank", "is_outlier"]
RANKS += ["overlap_score", "overlap_rank", "is_overlap"]
# six colors and seven shapes: 42 clusters before a combination repeats
MARKERS = ("circle", "square", "triangle", "diamond", "inverted_triangle", "plus", "star")
SCRIPTS = ["tree", "data", "dates", "chosen", "color", "legend", "frame", "pictures", "tables"]
SCRIPTS += ["save", "script"]
MAX_TITLE = 160


def write_report(
    path: str | os.PathLike[str],
    model: Any,
    X: pd.DataFrame,
    *,
    ranks: pd.DataFrame | None = None,
    title: str | None = None,
    details: Mapping[str, object] | None = None,
    ids: Sequence[Any] | None = None,
    features: tuple[str, str] | None = None,
    X_model: Array | None = None,
    table: pd.DataFrame | None = None,
    explainer: Explainer | None = None,
    clusters: pd.DataFrame | None = None,
    notes: Sequence[str] = (),
    random_state: int = 0,
) -> None:
    """Write one self-contained HTML page about a fitted model.

    The page needs no other file and no network. It plots the rows over two columns or projections
    of the reader's choice, lists the top outliers and the rows between clusters, and shows the
    distribution of memberships. A slider rejects a share of the rows. For models with a density
    tree, another slider cuts the tree at any level, as `AlphaCutClustering.labels_at` does.

    Parameters
    ----------
    path : str or path
        Output file. An existing file is replaced in one step at the end.
    model : fitted model
        A softkern model, or a pipeline that ends in one.
    X : DataFrame of shape (n_samples, n_features)
        Training rows with the columns to show, in their original units.
    ranks : DataFrame of n_samples rows, default=None
        Result of `softkern.rank_points`, computed by default.
    title : str, default=None
        Title of the page, by default the name of the model.
    details : mapping, default=None
        Texts, numbers, lists or mappings for the last section, such as parameters and versions.
    ids : sequence of length n_samples, default=None
        Names of the rows, by default the index of X.
    features : pair of column names, default=None
        Columns to plot first. By default both of two columns, otherwise the model's eigenspace if
        it has one, directions across the clusters of `softkern.cluster`, or principal components.
    X_model : array of shape (n_samples, n_model_features), default=None
        Values that the model was fitted on, if these are not X.
    table : DataFrame of n_samples rows, default=None
        All columns of the table, if X lacks some. The page lists them with the ranked rows, colors
        rows by them, and compares clusters with categorical ones, such as known labels.
    explainer : softkern.tables.explain.Explainer, default=None
        Explains the listed rows. Needed for text columns and imputed cells, which X lacks.
    clusters : DataFrame, default=None
        Result of `softkern.describe_clusters` for a table with more columns than X.
    notes : sequence of str, default=()
        Sentences on the preparation of the table, for example columns that were left out.
    random_state : int, default=0
        Seed for the sample of rows to draw from a large table.

    Examples
    --------
    >>> import pathlib, tempfile, pandas as pd, softkern
    >>> X = pd.DataFrame(softkern.datasets.make_dense_regions(random_state=0)[0]).add_prefix("x")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     page = pathlib.Path(folder) / "report.html"
    ...     write_report(page, softkern.AlphaCutClustering().fit(X), X, title="Dense regions")
    ...     page.stat().st_size < 2_000_000
    True
    """
    try:
        import bokeh  # noqa: F401
        import jinja2  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "the report needs bokeh, which is not installed: pip install 'softkern[report]'"
        ) from error
    model, _ = fitted_step(model)
    ranks = rank_points(model) if ranks is None else ranks
    _check(X, {"ranks": ranks, "ids": ids, "X_model": X_model, "table": table}, features)
    table = X if table is None else table
    values = X.to_numpy(np.float64, na_value=np.nan) if X_model is None else np.asarray(X_model)
    if explainer is None:
        explainer = page_explainer(model, X, ranks, X_model)
    shown = select_rows(values, ranks, random_state)
    drawn = Drawn(model, X, table, ranks, values, *shown, features, explainer, random_state)
    data = page_data(drawn, ids, clusters)
    data["style"] = {"colors": COLORS, "neutral": NEUTRAL, "markers": MARKERS, "scale": SCALE}
    page = template("page.html", text=_text).render(
        title=shorten(title or type(model).__name__, MAX_TITLE),
        summary=summary(ranks, data["isDetector"]),
        data=data,
        details=details or {},
        notes=notes,
        **_embedded(data),
    )
    with replacing(path) as temporary:
        temporary.write_text(page, encoding="utf-8", errors="replace")


def asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return files("softkern.tables.report").joinpath(name).read_text(encoding="utf-8")


def template(name: str, **filters: Any) -> Any:
    """Return a template that escapes values and raises for missing ones."""
    import jinja2

    environment = jinja2.Environment(
        autoescape=True, undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters |= filters
    # JSON is escaped, too: it has no character that could end a script element
    environment.policies["json.dumps_kwargs"] = {"separators": (",", ":"), "allow_nan": False}
    return environment.from_string(asset(name))


def _check(X: pd.DataFrame, others: Mapping[str, Any], features: tuple[str, str] | None) -> None:
    for name, rows in (("X", X), ("table", others["table"])):
        if rows is not None and not hasattr(rows, "columns"):
            raise TypeError(f"{name} must be a pandas DataFrame, got {type(rows).__name__}.")
    if len(X) == 0 or X.shape[1] == 0:
        raise ValueError(f"X has {len(X)} rows and {X.shape[1]} columns. It must not be empty.")
    missing = [name for name in RANKS if name not in others["ranks"].columns]
    if missing:
        raise ValueError(f"ranks lacks {missing}. Pass the result of softkern.rank_points(model).")
    for name, given in others.items():
        if given is not None and len(given) != len(X):
            raise ValueError(f"{name} has {len(given)} rows, but X has {len(X)}.")
    words = [name for name, dtype in X.dtypes.items() if not is_numeric_dtype(dtype)]
    if words:
        raise ValueError(f"columns {words[:5]} are not numeric. Leave them out of X.")
    names = list(X.columns)
    if features is not None and (not {*features} <= {*names} or len(features) != 2):
        raise ValueError(f"features={features!r} must name two columns of X: {names[:20]}.")


def _text(value: object) -> str:
    """Format a detail: short numbers, lists with commas."""
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return f"{float(value):.6g}"
    if isinstance(value, np.ndarray):
        return np.array2string(value, precision=6, threshold=20)
    if isinstance(value, list | tuple):
        return ", ".join(_text(part) for part in value) or "none"
    return "none" if value is None else str(value)


def _embedded(data: dict[str, Any]) -> dict[str, Any]:
    """Return scripts, styles and figures for the template, and the policy that allows scripts."""
    from bokeh.resources import Resources

    from softkern.tables.report.figures import figures

    library = Resources(mode="inline", components=["bokeh"], minified=True).js_raw[0]
    # one function around all scripts: they share names, and nothing leaks out
    script = "\n".join(["(() => {", *(asset(f"{name}.js") for name in SCRIPTS), "})();"])
    # browsers turn carriage returns into newlines, which would change the hash
    scripts = [re.sub("\r\n?", "\n", text).strip("\n") for text in (library, script)]
    assert "</script" not in "".join(scripts).lower(), "a script of the page ends itself"
    hashes = [base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in scripts]
    allowed = " ".join(f"'sha256-{text}'" for text in hashes)
    policy = (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    return {
        "policy": policy,
        "scripts": scripts,
        "style": asset("style.css"),
        "figures": figures(data["tree"]),
    }
