"""Saved models make the same predictions, and untrusted files are rejected."""

import json
import os
import pickle
import stat
import subprocess
import sys
import warnings
import zipfile
from contextlib import suppress
from dataclasses import dataclass
from pkgutil import resolve_name

import numpy as np
import pytest
import safetensors.numpy
from numpy.typing import NDArray
from scipy.sparse import csc_matrix, csr_array
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_blobs
from sklearn.impute import SimpleImputer
from sklearn.metrics.pairwise import linear_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import softkern
from softkern import kernels
from softkern.files import DOCUMENT, FORMAT, ModelFileError, _digest, inspect, replacing
from softkern.kernels import resolve
from softkern.kernels.dot import Sigmoid
from softkern.kernels.wrapped import CallableKernel, PairwiseKernel, Precomputed
from softkern.models import state
from softkern.models.state import from_state, to_state
from softkern.models.state_schema import check_fields, fitted_specs
from tests.golden.make import FOLDER, METHODS, MODELS, golden_file, results

ESTIMATORS = list(MODELS)
RESULT_METHODS = (*METHODS, "decision_function", "predict_proba", "typicality", "outlier_weights")


@pytest.fixture(scope="module")
def X():
    return make_blobs(120, 2, centers=[[0, 0], [6, 6], [0, 8]], random_state=0)[0]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.safetensors"


def fitted(name, X, **params):
    if "Spectral" in name:
        params = {"bandwidth": 1.0, **params}  # the search for it takes seconds
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(softkern, name)(**params).fit(X)


def rewrite(path, change, forged=False):
    """Change the arrays and the document of a file by means of safetensors.

    If forged, the document also has the digest of its new content.
    """
    with safetensors.safe_open(path, "numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        document = json.loads(file.metadata()[DOCUMENT])
    document = change(arrays, document) or document
    if forged:
        document.pop("digest")
        document["digest"] = _digest(document)
    text = document if isinstance(document, str) else json.dumps(document)
    path.write_bytes(safetensors.numpy.save(arrays, {DOCUMENT: text}))
    return path


def assert_same_results(again, model, X):
    for method in RESULT_METHODS:
        if hasattr(model, method):
            assert np.array_equal(getattr(again, method)(X), getattr(model, method)(X)), method


def assert_same(a, b):
    """Assert that type and value are equal, recursively."""
    assert type(a) is type(b)
    if isinstance(a, np.ndarray):
        assert a.dtype == b.dtype
        assert a.flags.fnc == b.flags.fnc  # equal layout: sums have equal rounding
        np.testing.assert_array_equal(a, b)
    elif isinstance(a, dict):
        assert list(a) == list(b)
        for name in a:
            assert_same(a[name], b[name])
    elif isinstance(a, list | tuple):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            assert_same(x, y)
    elif hasattr(a, "tocsr"):
        assert_same(a.toarray(), b.toarray())
    elif isinstance(a, np.random.RandomState | np.random.Generator):
        assert a.uniform() == b.uniform()
    elif hasattr(a, "__dict__") and type(a).__module__.startswith("softkern."):
        assert_same(dict(sorted(vars(a).items())), dict(sorted(vars(b).items())))
    else:
        assert a == b or (a != a and b != b)


# Round trips


@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_estimator_is_equal_after_loading(name, X, path):
    model = fitted(name, X)
    undeclared = vars(model).keys() - model.get_params().keys() - fitted_specs(type(model)).keys()
    assert not undeclared, "not in _fitted of the class"
    new = np.concatenate([X + 0.1, [[40.0, -40.0]]])
    softkern.save(model, path)
    assert_same(to_state(softkern.load(path)), to_state(model))
    assert_same_results(softkern.load(path), model, new)
    assert_same(to_state(from_state(to_state(model))), to_state(model))
    assert_same_results(pickle.loads(pickle.dumps(model)), model, new)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_golden_files(name):
    file = golden_file(name)
    assert file.exists(), f"{file} is missing: run `python tests/golden/make.py` and commit it"
    model, metadata = softkern.load(file), inspect(file)["metadata"]
    assert type(model).__name__ == name
    current = results(model, np.array(metadata["new"]))
    assert current.keys() == metadata["answers"].keys()
    for method, expected in metadata["answers"].items():
        np.testing.assert_allclose(
            current[method], expected, rtol=1e-10, atol=1e-10, err_msg=method
        )


def test_names_of_earlier_versions(X):
    model = fitted("OutlierFuzzyCMeans", X)
    state = to_state(model)
    state["params"]["centres"] = state["params"].pop("centers")
    plan = state["fitted"]["plan_"]["fields"]
    plan["instead"], plan["work"] = plan.pop("fallback"), plan.pop("problem")
    plan["work"]["name"], plan["work"]["fields"]["chunks"] = "Workload", 0
    assert_same(to_state(from_state(state)), to_state(model))


def test_only_declared_attributes_are_saved(X, path):
    model = fitted("OneClassPCM", X)
    model.note = "mine"
    with pytest.raises(TypeError, match="does not declare: note.*metadata"):
        softkern.save(model, path)
    assert not path.exists()
    state = to_state(fitted("FuzzyCMeans", X))
    assert not [name for name in state["fitted"] if name.startswith("_")]
    assert "softkern." not in json.dumps(state, default=lambda array: array.tolist())


def test_one_array_is_stored_once(X, path):
    model = fitted("FuzzyCMeans", X)
    model.outlier_scores_ = model.overlap_scores_
    softkern.save(model, path)
    again = softkern.load(path)
    assert again.outlier_scores_ is again.overlap_scores_


@pytest.mark.parametrize("engine", ["dense", "tiled", "fourier", "nystroem"])
@pytest.mark.parametrize("name", ["OneClassPCM", "FuzzyCMeans"])
def test_engines(name, engine, X, path):
    model = fitted(name, X, engine=engine)
    softkern.save(model, path)
    assert_same_results(softkern.load(path), model, X)


@pytest.mark.parametrize(
    "params",
    [
        {"kernel": "laplacian"},
        {"kernel": "linear"},
        {"kernel": "poly", "kernel_params": {"degree": 2, "coef0": 1.0}},
        {"kernel": "cosine"},
        {"kernel": kernels.Gaussian(1.5)},
        {"kernel": kernels.Gaussian([1.5, 2.0])},
        {"kernel": kernels.Laplacian(2.0)},
        {"kernel": PairwiseKernel("rbf", {"gamma": 0.5})},
        {"bandwidth": [1.0, 2.0]},
        {"bandwidth": np.array([1.0, 2.0])},
        {"random_state": np.random.RandomState(3)},
        {"eta_scale": np.float32(1.5)},
    ],
    ids=lambda params: "-".join(params),
)
def test_kernels_and_parameters(params, X, path):
    model = fitted("OneClassPCM", X, **params)
    softkern.save(model, path)
    assert_same_results(softkern.load(path), model, X)


KERNELS = [
    kernels.Gaussian([1.0, 2.0]),
    kernels.Laplacian(0.5),
    kernels.Linear(),
    kernels.Polynomial(2, 0.5, 0.1),
    Sigmoid(0.5, 0.1),
    PairwiseKernel("chi2", {"gamma": 0.1}),
    CallableKernel(linear_kernel, {"dense_output": True}),
    Precomputed(),
]


def test_all_kernels(path):
    assert {type(kernel) for kernel in KERNELS} == set(resolve.KERNELS)
    for kernel in KERNELS:
        softkern.save(softkern.OneClassPCM(kernel=kernel), path)
        again = softkern.load(path, trusted=["sklearn.metrics.pairwise.linear_kernel"])
        assert again.kernel == kernel


def test_values(path):
    values = {
        "plain": [None, True, 3, 10**30, 0.1, "µ", (1, (2.5, "a")), {"a": [1]}],
        "floats": [float("inf"), float("-inf"), float("nan")],
        "dictionaries": {1: "one", "$": "dollar", (1, 2): {"$": 3}},
        "scalars": [
            np.float32(0.1),
            np.int8(3),
            np.bool_(True),
            np.str_("four"),
            np.float64("nan"),
        ],
        "dtypes": [np.dtype("f4"), np.float64, np.dtype(object), np.int16],
        "numbers": [np.arange(6, dtype=kind).reshape(2, 3) for kind in "bhilBHILefdFD"],
        "odd arrays": [
            np.array(2.5),
            np.zeros((0, 3)),
            np.asfortranarray(np.arange(6.0).reshape(2, 3)),
            np.asfortranarray(np.arange(6.0).reshape(2, 3) * 1j),
            np.arange(12.0)[::2],
            np.arange(3, dtype=">f8"),
            np.array([True, False]),
        ],
        "strings": [np.array(["a", "bc"]), np.array(["a", None, [1]], dtype=object)],
        "sparse": [csr_array(np.eye(3)), csc_matrix(np.eye(2, 3))],
        "generators": [np.random.RandomState(1), np.random.default_rng(2)],
        "slashes": {"a/b": np.ones(1), "a": {"b": np.zeros(1)}},
        "slice": slice(1, None),
    }
    values["generators"][0].normal()  # has a second number in store
    model = softkern.OneClassPCM(kernel_params=values)
    softkern.save(model, path)
    assert_same(softkern.load(path).kernel_params, values)


def test_precomputed_sparse_and_float32(X, path):
    gram = np.exp(-np.square(X[:, None] - X).sum(axis=-1))
    for data, model in [
        (gram, fitted("OneClassPCM", gram, kernel="precomputed")),
        (csr_array(X), fitted("OneClassPCM", csr_array(X))),
        (X.astype(np.float32), fitted("AlphaCutClustering", X.astype(np.float32))),
    ]:
        softkern.save(model, path)
        assert_same_results(softkern.load(path), model, data)


def test_searches_and_reduced_models(path):
    X = np.concatenate([np.random.default_rng(0).normal(size=(20, 2)) + 9 * i for i in range(2)])
    for model in (
        softkern.SoftKernelSpectralClustering("auto", bandwidth=2.0).fit(X),
        softkern.KernelSpectralClustering(2, bandwidth=2.0, engine="nystroem").fit(X),
        softkern.OneClassPCM().fit(X).reduce(),
    ):
        softkern.save(model, path)
        assert_same(to_state(softkern.load(path)), to_state(model))
        assert_same_results(softkern.load(path), model, X)


def test_pipelines(X, path):
    columns = make_column_transformer((StandardScaler(), [0]), remainder="passthrough")
    for steps in [(StandardScaler(),), (SimpleImputer(), columns)]:
        pipeline = make_pipeline(*steps, softkern.AlphaCutClustering()).fit(X)
        softkern.save(pipeline, path)
        assert inspect(path)["estimator"] == "Pipeline"
        assert np.array_equal(softkern.load(path).predict(X), pipeline.predict(X))
    pipeline = make_pipeline(FunctionTransformer(np.log1p), softkern.OneClassPCM()).fit(abs(X))
    softkern.save(pipeline, path)
    with pytest.raises(ModelFileError, match=r"numpy\.log1p, which is not part of softkern"):
        softkern.load(path)
    again = softkern.load(path, trusted=["numpy.log1p"])
    assert np.array_equal(again.predict(abs(X)), pipeline.predict(abs(X)))


class Mine(TransformerMixin, BaseEstimator):
    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X


def test_values_that_cannot_be_saved(X, path):
    path.write_text("old")
    for model, words in [
        (StandardScaler(), "a model of softkern, or a pipeline that ends in one"),
        (make_pipeline(softkern.OneClassPCM(), StandardScaler()), "pipeline that ends in one"),
        (make_pipeline(Mine(), softkern.OneClassPCM()), "Mine, which is neither"),
        (softkern.OneClassPCM(kernel=lambda X, Y: X @ Y.T), "kernel is .*lambda.*imported.*def"),
        (softkern.OneClassPCM(kernel=CallableKernel(lambda X, Y: X @ Y.T)), "lambda"),
        (softkern.OneClassPCM(kernel_params={"a": object()}), "kernel_params.a is of"),
        (type("Heir", (softkern.OneClassPCM,), {})(), "a model of softkern"),
    ]:
        with pytest.raises(TypeError, match=words):
            softkern.save(model, path)
    assert path.read_text() == "old"
    assert os.listdir(path.parent) == [path.name]


def test_unfitted_models_can_be_saved(path):
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
        with pytest.raises(TypeError, match="must be JSON values"):
            softkern.save(softkern.OneClassPCM(), path, value=value)
    assert inspect(path)["metadata"]["unit"] == "mm"  # the old file is unchanged


# Rejected files


def test_header_length_that_looks_like_a_zip_archive(path):
    model = softkern.OneClassPCM().fit(np.arange(6.0)[:, None])

    def save_and_read_start(pad):
        softkern.save(model, path, note="x" * pad)
        return path.read_bytes()[:8]

    mark = int.from_bytes(b"PK", "little")
    short = mark - int.from_bytes(save_and_read_start(0), "little")
    assert save_and_read_start(short).startswith(b"PK")
    assert softkern.load(path).predict([[2.0]]) == model.predict([[2.0]])


def test_other_formats(path):
    softkern.save(softkern.OneClassPCM(), path)

    def make_newer(arrays, document):
        document |= {"format": FORMAT + 1, "softkern": "9.9"}

    with pytest.raises(ModelFileError, match=r"format 3, written by softkern 9\.9.*Upgrade"):
        softkern.load(rewrite(path, make_newer))
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("softkern.json", '{"format": 1}')
    with pytest.raises(ModelFileError, match=r"format 1.*Fit the model again and save it"):
        softkern.load(path)


def user_kernel(X, Y):
    return X @ Y.T


@dataclass(frozen=True)
class UserKernel(kernels.Kernel):
    scale: float = 1.0

    def block(self, X, Y):
        return self.scale * X @ Y.T


class PlainKernel(kernels.Kernel):
    def __init__(self, scale):
        self.scale = scale

    def block(self, X, Y):
        return self.scale * X @ Y.T


@pytest.mark.parametrize("kernel", [user_kernel, UserKernel(0.5), PlainKernel(0.5)])
def test_kernels_of_the_user(kernel, X, path):
    name = f"{__name__}.{getattr(kernel, '__name__', type(kernel).__name__)}"
    model = fitted("OneClassPCM", X, kernel=kernel)
    softkern.save(model, path)
    words = f"{path}.*{name}, which is not part of softkern.*trus"
    with pytest.raises(ModelFileError, match=words):
        softkern.load(path)
    assert_same_results(softkern.load(path, trusted=[name]), model, X)

    def rename_package(arrays, document):
        moved = json.dumps(document).replace(__name__, "no_such_package")
        document |= json.loads(moved)

    with pytest.raises(ModelFileError, match="cannot be imported here"):
        softkern.load(
            rewrite(path, rename_package, True), trusted=[name.replace(__name__, "no_such_package")]
        )


UNTRUSTED = {"$": "function", "name": "os.system"}


@pytest.mark.parametrize(
    "kernel",
    [
        UNTRUSTED,
        {"$": "function", "name": {"$": "scalar", "dtype": "<U9", "value": "os.system"}},
        {"$": "object", "name": "os.system", "fields": {}},
        {"$": "object", "name": "Popen", "fields": {}},
        {"$": "object", "name": "resolve", "fields": {}},
        {"$": "object", "name": "Kernel", "fields": {}},
        {"$": "object", "name": "Gaussian", "fields": {"bandwidth": -1.0}},
        {"$": "object", "name": "Gaussian", "fields": {"width": 1.0}},
        {"$": "estimator", "estimator": "subprocess.Popen", "attributes": {}},
        {"$": "estimator", "estimator": "sklearn.base.BaseEstimator.__init__", "attributes": {}},
        {"$": "estimator", "estimator": "sklearn.utils.os.system", "attributes": {}},
        {"$": "estimator", "estimator": "Popen", "params": {"args": "true"}, "fitted": {}},
        {"$": "estimator", "estimator": "OneClassPCM", "params": {"shell": 1}, "fitted": {}},
        {"$": "estimator", "estimator": "OneClassPCM", "params": {}, "fitted": {"__class__": 1}},
        {"$": "numpy type", "name": "load"},
        {"$": "scalar", "dtype": "V", "value": 10**15},
        {"$": "Generator", "state": {"bit_generator": "seed"}},
        {"$": "dtype", "name": "no such"},
        {"$": "array", "name": "no such"},
        {
            "$": "sparse",
            "name": "csr_array",
            "shape": [1, 1],
            "data": [1],
            "indices": [9],
            "indptr": [0, 1],
        },
        {"$": "no such"},
        {"$": ["tuple"]},
    ],
    ids=str,
)
def test_untrusted_states_are_rejected(kernel, path):
    softkern.save(softkern.OneClassPCM(), path)

    def attack(arrays, document):
        document["state"]["params"]["kernel"] = kernel

    with pytest.raises(ModelFileError):
        softkern.load(rewrite(path, attack, forged=True))


def test_any_change_is_detected(X, path):
    softkern.save(fitted("OneClassPCM", X), path, unit="mm", names={1: "one"})
    assert inspect(path)["metadata"]["names"] == {"1": "one"}
    whole = path.read_bytes()

    def array(arrays, document):
        arrays["state/fitted/support"][0, 0] += 1e-9

    def shape(arrays, document):
        arrays["state/fitted/support"] = arrays["state/fitted/support"].T.copy()

    def fewer(arrays, document):
        arrays.pop("state/fitted/support")

    def parameter(arrays, document):
        document["state"]["params"]["eta_scale"] = 3.0

    def metadata(arrays, document):
        document["metadata"]["unit"] = "m"

    for change in (array, shape, fewer, parameter, metadata):
        path.write_bytes(whole)
        with pytest.raises(ModelFileError, match="altered since softkern wrote it"):
            softkern.load(rewrite(path, change))
        if change in (parameter, metadata):
            with pytest.raises(ModelFileError, match="altered since softkern wrote it"):
                inspect(path)


def test_another_spelling_of_the_same_number_is_detected(path):
    softkern.save(softkern.OneClassPCM(eta_scale=19.877405199103606), path)
    data = path.read_bytes()
    assert float("19.877405199103607") == 19.877405199103606
    path.write_bytes(data.replace(b"19.877405199103606", b"19.877405199103607"))
    with pytest.raises(ModelFileError, match="altered since softkern wrote it"):
        softkern.load(path)


def test_flipped_bytes_and_truncation(X, path):
    model = fitted("OneClassPCM", X)
    softkern.save(model, path)
    whole = path.read_bytes()
    for place in np.linspace(0, len(whole) - 1, 60).astype(int):
        data = bytearray(whole)
        data[place] ^= 0x01
        path.write_bytes(data)
        with pytest.raises(ModelFileError):
            softkern.load(path)
        path.write_bytes(whole[:place])
        with pytest.raises(ModelFileError):
            softkern.load(path)
    path.write_bytes(whole + b"\0")
    with pytest.raises(ModelFileError):
        softkern.load(path)


def test_headers_and_files_that_are_too_large(path, monkeypatch):
    softkern.save(softkern.OneClassPCM(), path)
    whole = path.read_bytes()
    path.write_bytes((2**62).to_bytes(8, "little") + whole[8:])
    with pytest.raises(ModelFileError, match="not a safetensors file, or is incomplete"):
        softkern.load(path)
    path.write_bytes(whole)
    monkeypatch.setattr("softkern.files.available_memory", lambda: 100)
    with pytest.raises(MemoryError, match="more than the free memory"):
        softkern.load(path)
    monkeypatch.setattr("softkern.files.MOST_HEADER", 10)
    with pytest.raises(ModelFileError, match="has a header of"):
        softkern.load(path)
    with pytest.raises(ValueError, match="can hold at most 5"):
        softkern.save(softkern.OneClassPCM(), path)


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.write_bytes(b""),
        lambda path: path.write_text("a,b\n1,2\n"),
        lambda path: path.write_bytes(safetensors.numpy.save({"weights": np.ones(3)})),
        lambda path: path.write_bytes(safetensors.numpy.save({}, {"format": "pt"})),
        lambda path: rewrite(path, lambda arrays, document: "[]"),
        lambda path: rewrite(path, lambda arrays, document: "{"),
        lambda path: rewrite(path, lambda arrays, document: "[" * 100_000),
        lambda path: rewrite(path, lambda arrays, document: document.pop("format")),
        lambda path: rewrite(path, lambda arrays, document: document.pop("state") and None, True),
        lambda path: rewrite(path, lambda arrays, document: document.pop("metadata"), True),
    ],
)
def test_other_files_are_rejected(make, path):
    softkern.save(softkern.OneClassPCM(), path)
    make(path)
    with pytest.raises(ModelFileError, match=str(path)):
        inspect(path), softkern.load(path)


def test_missing_file(path):
    with pytest.raises(FileNotFoundError):
        softkern.load(path)


# Atomic writing


def test_a_failure_leaves_only_the_old_file(tmp_path):
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


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no named pipes")
def test_saving_to_a_pipe(tmp_path, path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        softkern.save(softkern.OneClassPCM(), pipe)
        path.write_bytes(reader.communicate(timeout=60)[0])
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert isinstance(softkern.load(path), softkern.OneClassPCM)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit on file sizes")
def test_disk_full(tmp_path):
    # a limit on file sizes has the effect of a full disk
    code = (
        "import resource, softkern, numpy as np, sys; "
        "model = softkern.OneClassPCM().fit(np.random.default_rng(0).normal(size=(500, 2))); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000)); "
        "softkern.save(model, sys.argv[1])"
    )
    path = tmp_path / "model.safetensors"
    path.write_text("old")
    done = subprocess.run([sys.executable, "-c", code, path], capture_output=True, text=True)
    assert "OSError" in done.stderr
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["model.safetensors"]


def test_loading_imports_only_what_the_file_needs(path, X):
    """A detector needs neither the density tree nor spectral search, nor their imports."""
    softkern.save(softkern.OneClassPCM().fit(X), path)
    code = (
        "import sys, softkern; softkern.load(sys.argv[1]); "
        "print([m for m in sys.modules if m.startswith('softkern.models.')]); "
        "print('sklearn.neighbors' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    loaded, has_neighbors = done.stdout.splitlines()
    assert "softkern.models.one_class_pcm" in loaded
    for other in ("alpha_cut", "auto", "fuzzy", "spectral", "one_class_mixture"):
        assert f"'softkern.models.{other}'" not in loaded
    assert has_neighbors == "False"


def test_every_model_and_object_is_importable():
    assert {path.stem for path in FOLDER.glob("*.safetensors")} == set(MODELS)
    for path in state.CLASSES.values():
        assert state._path(resolve_name(f"softkern.{path}")) == path
    with pytest.raises(ValueError, match="not a model"):
        from_state({"estimator": "SpectralSearch", "params": {}, "fitted": {}})
    with pytest.raises(ValueError, match="not a model"):
        from_state({"estimator": "CollapseWarning", "params": {}, "fitted": {}})


def test_named_types_are_checked_like_the_type():
    """NumPy defines the type of arrays in this way from 2.5 on."""
    names = pytest.importorskip("typing_extensions")

    class Part:
        values: names.TypeAliasType("Named", NDArray[np.float64])

    check_fields(Part, {"values": np.ones(3)})
    with pytest.raises(ValueError, match="values of Part is a str"):
        check_fields(Part, {"values": "ones"})
