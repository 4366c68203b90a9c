"""Saved models: the same predictions again, and nothing that should not be loaded."""

import json
import os
import stat
import subprocess
import sys
import warnings
import zipfile
from contextlib import suppress

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import BaseEstimator
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import softkern
from softkern.files import FORMAT, HEADER, ModelFileError, _digest, inspect, replacing

ESTIMATORS = sorted(
    name
    for name in softkern.__all__
    if isinstance(getattr(softkern, name), type)
    and issubclass(getattr(softkern, name), BaseEstimator)
)
SAID = ("predict", "memberships", "outlier_scores", "overlap_scores", "score_samples")
SAID += ("decision_function", "predict_proba", "typicality")


@pytest.fixture(scope="module")
def X():
    return make_blobs(120, 2, centers=[[0, 0], [6, 6], [0, 8]], random_state=0)[0]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def fitted(name, X, **params):
    if "Spectral" in name:
        params = {"bandwidth": 1.0, **params}  # their search for one takes seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(softkern, name)(**params).fit(X)


def rewritten(path, change, forged=False):
    """The file with its members changed, as someone with a zip program could.

    Forged, it also has the digest of its new members.
    """
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    change(members)
    header = members.pop(HEADER, None)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)
        if forged:
            header = json.loads(header)
            header.pop("digest")
            header = json.dumps(header | {"digest": _digest(archive, header)})
        if header is not None:
            archive.writestr(HEADER, header)
    return path


def assert_says_the_same(again, model, X):
    for method in SAID:
        if hasattr(model, method):
            assert np.array_equal(getattr(again, method)(X), getattr(model, method)(X)), method
    for name in ("outlier_scores", "overlap_scores"):
        if hasattr(model, name):
            assert np.array_equal(getattr(again, name)(), getattr(model, name)()), name


# Round trips


def test_all_estimators_are_here():
    assert {"AlphaCutClustering", "OneClassPCM", "PossibilisticCMeans"} <= set(ESTIMATORS)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_says_the_same_after_loading(name, X, path):
    model = fitted(name, X)
    softkern.save(model, path)
    again = softkern.load(path)
    assert type(again) is type(model)
    new = np.concatenate([X + 0.1, [[40.0, -40.0]]])
    assert_says_the_same(again, model, new)
    fitted_names = {key for key in vars(model) if key.endswith("_") and not key.startswith("_")}
    assert fitted_names <= set(vars(again))
    for key in fitted_names:
        if isinstance(vars(model)[key], np.ndarray):
            assert np.array_equal(vars(again)[key], vars(model)[key]), key
    assert str(again.engine_) == str(model.engine_)
    assert again.get_params().keys() == model.get_params().keys()


@pytest.mark.parametrize("engine", ["dense", "tiled", "fourier", "nystroem"])
def test_engines(engine, X, path):
    model = fitted("OneClassPCM", X, engine=engine)
    softkern.save(model, path)
    assert_says_the_same(softkern.load(path), model, X)


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "laplacian"},
        {"kernel": "linear"},
        {"kernel": "poly", "kernel_params": {"degree": 2, "coef0": 1.0}},
        {"kernel": "cosine"},
        {"kernel": softkern.kernels.Gaussian(1.5)},
        {"bandwidth": [1.0, 2.0]},
        {"random_state": np.random.RandomState(3)},
    ],
    ids=lambda params: "-".join(params),
)
def test_kernels_and_parameters(params, X, path):
    model = fitted("OneClassPCM", X, **params)
    softkern.save(model, path)
    assert_says_the_same(softkern.load(path), model, X)


def test_precomputed_sparse_float32_and_pipelines(X, path):
    gram = np.exp(-np.square(X[:, None] - X).sum(axis=-1))
    for data, model in [
        (gram, fitted("OneClassPCM", gram, kernel="precomputed")),
        (csr_array(X), fitted("OneClassPCM", csr_array(X))),
        (X.astype(np.float32), fitted("AlphaCutClustering", X.astype(np.float32))),
    ]:
        softkern.save(model, path)
        assert_says_the_same(softkern.load(path), model, data)
    pipeline = make_pipeline(StandardScaler(), softkern.AlphaCutClustering()).fit(X)
    softkern.save(pipeline, path)
    assert np.array_equal(softkern.load(path).predict(X), pipeline.predict(X))


def test_a_model_not_fitted(path):
    softkern.save(softkern.AlphaCutClustering(alpha=0.3), path)
    assert softkern.load(path).get_params() == softkern.AlphaCutClustering(alpha=0.3).get_params()


def test_header(path):
    softkern.save(softkern.OneClassPCM(), path, unit="mm", scale=[0.1, 2])
    assert inspect(path) == {
        "format": FORMAT,
        "softkern": softkern.__version__,
        "estimator": "OneClassPCM",
        "metadata": {"unit": "mm", "scale": [0.1, 2]},
    }
    for value in (object(), float("nan")):
        with pytest.raises(TypeError, match="what JSON can hold"):
            softkern.save(softkern.OneClassPCM(), path, value=value)
    assert inspect(path)["metadata"]["unit"] == "mm"  # the file of before is still there


# What is refused


def test_newer_format(path):
    softkern.save(softkern.OneClassPCM(), path)

    def newer(members):
        header = json.loads(members[HEADER]) | {"format": FORMAT + 1, "softkern": "9.9"}
        members[HEADER] = json.dumps(header).encode()

    with pytest.raises(ModelFileError, match=r"format 2, written by softkern 9\.9.*Upgrade"):
        softkern.load(rewritten(path, newer))


def user_kernel(X, Y):
    return X @ Y.T


def test_unknown_types(X, path):
    softkern.save(fitted("OneClassPCM", X, kernel=user_kernel), path)
    with pytest.raises(ModelFileError, match=r"user_kernel, which softkern does not know"):
        softkern.load(path)


def substitute(old, new):
    def change(members):
        text = members["schema.json"].decode()
        assert old in text
        members["schema.json"] = text.replace(old, new).encode()

    return change


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"__class__": "OneClassPCM"', '"__class__": "Popen"'),
        ('"__module__": "softkern.kernels.radial"', '"__module__": "subprocess"'),
        ('"__module__": "softkern.kernels.radial"', '"__module__": "softkern.files"'),
        ('"__class__": "Gaussian"', '"__class__": "resolve"'),
        ('"__class__": "Gaussian"', '"__class__": "NotThere"'),
        ('"__loader__": "NdArrayNode"', '"__loader__": "NoSuchNode"'),
        ('"__loader__": "ObjectNode"', '"__loader__": "FunctionNode"'),
    ],
)
def test_tampered_types(old, new, X, path):
    softkern.save(fitted("OneClassPCM", X), path)
    with pytest.raises(ModelFileError):
        softkern.load(rewritten(path, substitute(old, new), forged=True))


def test_any_change_is_noticed(X, path):
    softkern.save(fitted("OneClassPCM", X), path)
    with pytest.raises(ModelFileError, match="altered since softkern wrote it"):
        softkern.load(rewritten(path, substitute('"content"', '"contents"')))


def test_changed_metadata_are_noticed(path):
    softkern.save(softkern.OneClassPCM(), path, unit="mm", names={1: "one"})
    assert inspect(path)["metadata"]["names"] == {"1": "one"}

    def in_metres(members):
        members[HEADER] = members[HEADER].replace(b'"mm"', b'"m"')

    with pytest.raises(ModelFileError, match="altered since softkern wrote it"):
        inspect(rewritten(path, in_metres))


def test_files_that_unpack_to_very_much(path, monkeypatch):
    softkern.save(softkern.OneClassPCM(), path)
    monkeypatch.setattr("softkern.planning.available_memory", lambda: 1000)
    with pytest.raises(MemoryError, match="unpacks to"):
        softkern.load(path)
    monkeypatch.setattr("softkern.files.MOST_HEADER", 10)
    with pytest.raises(ModelFileError, match="far too long"):
        softkern.load(path)


def test_tampered_arrays(X, path):
    softkern.save(fitted("OneClassPCM", X), path)

    def pickled(members):
        name = next(name for name in members if name.endswith(".npy"))
        members[name] = b"\x80\x04cos\nsystem\n(S'echo hello'\ntR."

    with pytest.raises(ModelFileError, match="damaged or was altered"):
        softkern.load(rewritten(path, pickled, forged=True))


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_flipped_bytes(place, X, path):
    model = fitted("OneClassPCM", X)
    softkern.save(model, path)
    data = bytearray(path.read_bytes())
    data[int(place * len(data))] ^= 0xFF
    path.write_bytes(data)
    try:
        again = softkern.load(path)
    except ModelFileError:
        return
    assert_says_the_same(again, model, X)  # a byte that nobody reads


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("a,b\n1,2\n"),
        lambda path: zipfile.ZipFile(path, "w").close(),
        lambda path: rewritten(path, lambda members: members.pop(HEADER)),
        lambda path: rewritten(path, lambda members: members.pop("schema.json")),
        lambda path: rewritten(path, lambda members: members.update({HEADER: b"[]"})),
        lambda path: rewritten(path, lambda members: members.update({HEADER: b"{"})),
        lambda path: path.write_bytes(path.read_bytes()[:-100]),
    ],
)
def test_no_model_file(make, path):
    softkern.save(softkern.OneClassPCM(), path)
    make(path)
    with pytest.raises(ModelFileError):
        softkern.load(path)


def test_missing_file(path):
    with pytest.raises(FileNotFoundError):
        softkern.load(path)


# Atomic writing


def test_a_failure_leaves_the_old_file_and_no_other(tmp_path):
    path = tmp_path / "file.txt"
    path.write_text("old")
    for error in (ValueError, KeyboardInterrupt, OSError(28, "No space left on device")):
        with suppress(ValueError, KeyboardInterrupt, OSError), replacing(path) as temporary:
            temporary.write_text("half")
            raise error
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["file.txt"]


def test_permissions_links_and_folders(tmp_path):
    target, link = tmp_path / "file.txt", tmp_path / "link.txt"
    link.symlink_to(target)
    with replacing(link) as temporary:
        temporary.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    plain = tmp_path / "plain.txt"
    plain.touch()
    assert stat.S_IMODE(target.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    with pytest.raises(IsADirectoryError), replacing(tmp_path):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="no limit on file sizes there")
def test_disk_full(tmp_path):
    # a limit on the size of files stands in for a full disk: the system itself refuses to write
    code = (
        "import resource, softkern, numpy as np, sys; "
        "model = softkern.OneClassPCM().fit(np.random.default_rng(0).normal(size=(500, 2))); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
        "softkern.save(model, sys.argv[1])"
    )
    path = tmp_path / "model.skops"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert "OSError" in done.stderr
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.skops"]
