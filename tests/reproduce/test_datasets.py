"""Real data sets by name: each source gives the same rows, columns and labels."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.utils import Bunch

from reproduce import datasets
from reproduce.datasets import _SOURCES


@pytest.fixture
def folder():
    path = datasets.data_folder()
    if path is None:
        pytest.skip("no data folder: set SOFTKERN_DATA")
    return path


def test_unknown_name_lists_the_names():
    with pytest.raises(ValueError, match="unknown data set 'irsi'. Choose from iris, .*WBC"):
        datasets.load_dataset("irsi")


def test_every_data_set_can_be_loaded_from_the_folder(folder):
    for name in datasets.names():
        bunch = datasets.load_dataset(name)
        assert len(bunch.data) > 0, name
        assert bunch.feature_names == list(bunch.data.columns)
        assert bunch.data.notna().all(axis=None), name
        assert "label" not in bunch.feature_names
        assert bunch.target is None or len(bunch.target) == len(bunch.data)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_data_of_scikit_learn_equal_those_of_the_folder(name, folder, tmp_path, monkeypatch):
    ours = datasets.load_dataset(name)
    monkeypatch.setenv("SOFTKERN_DATA", str(tmp_path))
    theirs = datasets.load_dataset(name)
    assert theirs.source == "scikit-learn"
    pd.testing.assert_frame_equal(ours.data, theirs.data, check_dtype=False)
    assert np.array_equal(ours.target, theirs.target)


def imitate_openml(name, bunch):
    """Return the data of the folder with the labels, extra rows and columns of OpenML."""
    source = _SOURCES[name]
    back = {ours: theirs for theirs, ours in (source.labels or {}).items()}
    data = bunch.data.rename(columns=str.upper)
    if source.last_columns:
        data.insert(0, "OBSERVATION", 1.0)
    missing = data.iloc[[0]].astype(float)
    missing.iloc[0, -1] = np.nan
    target = pd.Series([back.get(label, label) for label in bunch.target]).astype("category")
    target = pd.concat([target, target.iloc[[0]]], ignore_index=True)
    return Bunch(data=pd.concat([data, missing], ignore_index=True), target=target)


@pytest.mark.parametrize("name", [n for n, s in _SOURCES.items() if s.openml])
def test_data_of_openml_get_the_labels_of_the_folder(name, folder, tmp_path, monkeypatch):
    ours = datasets.load_dataset(name)
    monkeypatch.setattr("reproduce.datasets.fetch_openml", lambda **_: imitate_openml(name, ours))
    monkeypatch.setenv("SOFTKERN_DATA", str(tmp_path))
    theirs = datasets.load_dataset(name)
    pd.testing.assert_frame_equal(ours.data, theirs.data, check_dtype=False)
    assert np.array_equal(ours.target, theirs.target)


def test_a_failed_download_names_the_remedy(tmp_path, monkeypatch):
    def unreachable(**_):
        raise OSError("no route to host")

    monkeypatch.setattr("reproduce.datasets.fetch_openml", unreachable)
    monkeypatch.setenv("SOFTKERN_DATA", str(tmp_path))
    with pytest.raises(ConnectionError, match="no route to host.*wbc.csv.*SOFTKERN_DATA"):
        datasets.load_dataset("wbc")
    with pytest.raises(FileNotFoundError, match="shapes/r15.*SOFTKERN_DATA"):
        datasets.load_dataset("shapes/r15")


def test_the_environment_variable_names_the_folder(tmp_path, monkeypatch):
    (tmp_path / "wbc.csv").write_text("a,b,label\n1,2,benign\n3,4,malignant\n")
    monkeypatch.setenv("SOFTKERN_DATA", str(tmp_path))
    bunch = datasets.load_dataset("wbc")
    assert bunch.data.to_numpy().tolist() == [[1, 2], [3, 4]]
    assert bunch.target.tolist() == ["benign", "malignant"]
    assert Path(bunch.source) == tmp_path / "wbc.csv"


def test_a_missing_folder_in_the_environment_variable_is_rejected(monkeypatch):
    monkeypatch.setenv("SOFTKERN_DATA", "/nowhere/at/all")
    with pytest.raises(NotADirectoryError, match="SOFTKERN_DATA is '/nowhere/at/all'"):
        datasets.load_dataset("iris")


def test_documents_are_loaded(folder):
    bunch = datasets.load_documents()
    assert bunch.data.shape == (1500, 7605)
    assert bunch.data.sum() == 1_870_706
    assert "null" in bunch.feature_names  # a word, not a missing value
    assert bunch.target is None


def test_missing_documents_are_rejected(tmp_path, monkeypatch):
    monkeypatch.setenv("SOFTKERN_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"nips_counts.csv.gz and .* SOFTKERN_DATA"):
        datasets.load_documents()
