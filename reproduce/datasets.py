"""Load real data sets by name: from a folder of CSV files, scikit-learn or OpenML.

Each source gives the same rows, columns and labels. The first one that has the data set is used.
Benchmarks and tests load their data here as well.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml, load_iris, load_wine
from sklearn.utils import Bunch

__all__ = [
    "data_folder",
    "load_dataset",
    "load_documents",
    "names",
    "source_of",
]

FOLDER_VARIABLE = "SOFTKERN_DATA"


@dataclass(frozen=True)
class _Source:
    """Where to load a data set outside the folder, and how to make it equal to the folder's."""

    columns: str  # separated by spaces
    openml: int | None = None  # OpenML's data id
    bundled: Callable[[], Bunch] | None = None  # loader of scikit-learn's copy
    labels: dict[str, Any] | None = None  # maps the labels of this source to the folder's
    last_columns: int | None = None  # number of OpenML's columns to keep


_IRIS = "sepal_length sepal_width petal_length petal_width"
_SPECIES = ("setosa", "versicolor", "virginica")
# OpenML's iris is UCI's, which has two wrong rows, so it has its own name. scikit-learn's breast
# cancer data (569 × 30) are not `wbc`.
_SOURCES: dict[str, _Source] = {
    "iris": _Source(
        _IRIS, bundled=load_iris, labels={str(i): name for i, name in enumerate(_SPECIES)}
    ),
    "iris_uci": _Source(_IRIS, openml=61, labels={f"Iris-{name}": name for name in _SPECIES}),
    "wine": _Source(
        "alcohol malic_acid ash alcalinity_of_ash magnesium total_phenols flavanoids "
        "nonflavanoid_phenols proanthocyanins color_intensity hue od280_od315 proline",
        bundled=load_wine,
        labels={"0": 1, "1": 2, "2": 3},
    ),
    "wbc": _Source(
        "clump_thickness cell_size_uniformity cell_shape_uniformity marginal_adhesion "
        "epithelial_cell_size bare_nuclei bland_chromatin normal_nucleoli mitoses",
        openml=15,
    ),
    "ionosphere": _Source(" ".join(f"a{i:02d}" for i in range(1, 35)), openml=59),
    "pima": _Source(
        "npreg glu bp skin insulin bmi ped age",
        openml=37,
        labels={"tested_negative": 0, "tested_positive": 1},
    ),
    "seeds": _Source(
        "area perimeter compactness kernel_length kernel_width asymmetry groove_length",
        openml=1499,
        labels={"1": "Kama", "2": "Rosa", "3": "Canadian"},
    ),
    "biomed": _Source("m1 m2 m3 m4", openml=481, last_columns=4),
}
_IN_FOLDER_ONLY = ("pima_tr", "pima_te")
_SHAPES = (
    "a1 aggregation d31 europe flame graves_ring graves_ring_outliers hdbscan jain mopsi_finland "
    "mopsi_joensuu r15 s1 s2 s3 s4 spiral"
)
_ADBENCH = (
    "breastw cardio glass Hepatitis letter mammography Pima satellite Stamps thyroid vowels "
    "Waveform WBC"
)


def names() -> list[str]:
    """Return the valid names for `load_dataset`.

    Examples
    --------
    >>> {"iris", "wbc", "shapes/r15", "adbench/cardio"} <= set(names())
    True
    """
    shapes = [f"shapes/{name}" for name in _SHAPES.split()]
    adbench = [f"adbench/{name}" for name in _ADBENCH.split()]
    return [*_SOURCES, *_IN_FOLDER_ONLY, *shapes, *adbench]


def data_folder() -> Path | None:
    """Return the folder of CSV files, or None if there is none.

    The environment variable ``SOFTKERN_DATA`` names it. The default is ``../shared/data`` next to
    the checkout.

    Examples
    --------
    >>> folder = data_folder()
    >>> folder is None or folder.is_dir()
    True
    """
    variable = os.environ.get(FOLDER_VARIABLE)
    if variable:
        if not Path(variable).is_dir():
            raise NotADirectoryError(f"{FOLDER_VARIABLE} is {variable!r}, which is not a folder.")
        return Path(variable)
    default = Path(__file__).resolve().parents[2] / "shared" / "data"
    return default if default.is_dir() else None


def _find_file(name: str) -> Path | None:
    """Return the file of a data set in the data folder, or None."""
    folder = data_folder()
    files = [] if folder is None else [folder / f"{name}{end}" for end in (".csv", ".csv.gz")]
    return next((file for file in files if file.is_file()), None)


def source_of(name: str) -> str:
    """Return the source that `load_dataset` would use now. Empty if there is none.

    Examples
    --------
    >>> source_of("iris") in ("data folder", "scikit-learn")
    True
    """
    source = _SOURCES.get(name)
    if _find_file(name) is not None:
        return "data folder"
    if source is None:
        return ""
    return "scikit-learn" if source.bundled is not None else "OpenML"


def load_dataset(name: str) -> Bunch:
    """Load a real data set by name.

    Sources are tried in this order: the data folder, scikit-learn, OpenML (which needs a network
    connection and caches downloads in scikit-learn's data home). Rows with missing values are
    dropped. Nothing is scaled.

    Parameters
    ----------
    name : str
        One of `names()`.

    Returns
    -------
    data : Bunch
        ``data`` (DataFrame of numbers), ``target`` (array of labels, or None),
        ``feature_names`` (list), ``name`` and ``source``.

    Examples
    --------
    >>> iris = load_dataset("iris")
    >>> iris.data.shape, sorted(set(iris.target.tolist()))
    ((150, 4), ['setosa', 'versicolor', 'virginica'])
    """
    if name not in names():
        raise ValueError(f"unknown data set {name!r}. Choose from {', '.join(names())}.")
    file = _find_file(name)
    if file is not None:
        return _read(name, file)
    source = _SOURCES.get(name)
    if source is not None and source.bundled is not None:
        copy = source.bundled()
        return _bunch(name, copy.data, copy.target, source, "scikit-learn")
    if source is not None and source.openml is not None:
        return _fetch(name, source)
    raise FileNotFoundError(f"{name!r} is not on OpenML. {_remedy(name)}")


def load_documents() -> Bunch:
    """Load the NIPS papers as word counts: 1,500 documents × 7,605 words, sparse.

    The data folder must hold ``nips/nips_counts.csv.gz`` (doc, word, count, starting from 1) and
    ``nips/nips_vocab.csv`` (word, term): the words of UCI's bag of words that occur more than 20
    times.

    Returns
    -------
    data : Bunch
        ``data`` (CSR matrix of counts), ``target`` (None), ``feature_names`` (the words), ``name``
        and ``source``.

    Examples
    --------
    >>> load_documents().data.shape  # doctest: +SKIP
    (1500, 7605)
    """
    import pandas as pd
    from scipy.sparse import csr_matrix

    counts, words = _find_file("nips/nips_counts"), _find_file("nips/nips_vocab")
    if counts is None or words is None:
        raise FileNotFoundError(
            "nips/nips_counts.csv.gz and nips/nips_vocab.csv are missing. Set the environment "
            f"variable {FOLDER_VARIABLE} to the folder that holds them."
        )
    table = pd.read_csv(counts)
    terms = pd.read_csv(words, keep_default_na=False).term.tolist()  # "null" is a word
    shape = int(table.doc.max()), len(terms)
    places = table.doc.to_numpy() - 1, table.word.to_numpy() - 1
    data = csr_matrix((table["count"].to_numpy(np.float64), places), shape=shape)
    return Bunch(name="nips", data=data, target=None, feature_names=terms, source=str(counts))


def _read(name: str, file: Path) -> Bunch:
    import pandas as pd

    table = pd.read_csv(file)
    target = table.pop("label").to_numpy() if "label" in table else None
    return Bunch(
        name=name, data=table, target=target, feature_names=list(table.columns), source=str(file)
    )


def _fetch(name: str, source: _Source) -> Bunch:
    try:
        with warnings.catch_warnings():  # about retries
            warnings.simplefilter("ignore", (UserWarning, RuntimeWarning))
            copy = fetch_openml(data_id=source.openml, as_frame=True, parser="auto")
    except (OSError, ValueError) as error:  # no network, a proxy's page, or withdrawn data
        raise ConnectionError(
            f"{name!r} could not be fetched from OpenML (data id {source.openml}): {error}. "
            f"{_remedy(name)}"
        ) from error
    data = copy.data if source.last_columns is None else copy.data.iloc[:, -source.last_columns :]
    complete = data.notna().all(axis=1).to_numpy()
    place = f"OpenML, data id {source.openml}"
    return _bunch(name, data[complete], np.asarray(copy.target)[complete], source, place)


def _bunch(name: str, data: Any, target: Any, source: _Source, place: str) -> Bunch:
    """Give data of another source the folder's column names and labels."""
    import pandas as pd

    columns = source.columns.split()
    values = np.asarray(data, dtype=np.float64)
    words = [str(label) for label in target]
    if source.labels is not None:
        words = [source.labels[word] for word in words]
    return Bunch(
        name=name,
        data=pd.DataFrame(values, columns=pd.Index(columns)),
        target=np.asarray(words),
        feature_names=columns,
        source=place,
    )


def _remedy(name: str) -> str:
    return (
        f"Save it as {name}.csv (header, numbers, last column 'label') in a folder and set the "
        f"environment variable {FOLDER_VARIABLE} to that folder."
    )
