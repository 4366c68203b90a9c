"""Arrays of other libraries as data.

`array_api_dispatch` needs a setting of SciPy before its import, so that its test runs in a separate
process.
"""

import os
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs

import softkern
from softkern.operators.geometry import Geometry
from softkern.operators.gpu.operator import GpuOperator
from softkern.rules.base import Centers
from softkern.rules.one_class import SVDD, Hard

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'softkern[gpu]'")
X = np.random.default_rng(0).normal(size=(60, 2))
MODELS = [softkern.OneClassPCM(), softkern.FuzzyCMeans(2), softkern.AlphaCutClustering()]


@pytest.mark.parametrize("model", MODELS)
def test_tensors_are_accepted_as_data(model):
    there = torch.asarray(X)
    expected, result = model.fit(X).predict(X), model.fit(there).predict(there)
    assert isinstance(result, np.ndarray)
    assert np.array_equal(result, expected)
    assert np.array_equal(model.fit(there, sample_weight=torch.ones(60)).predict(there), expected)


def test_results_are_on_the_device_of_the_data():
    code = """
import numpy as np, torch, softkern
from sklearn import config_context
X = torch.asarray(np.random.default_rng(0).normal(size=(60, 2)))
with config_context(array_api_dispatch=True):
    model = softkern.FuzzyCMeans(2).fit(X)
    for name in ("predict", "memberships", "predict_proba", "outlier_scores", "overlap_scores"):
        result = getattr(model, name)(X)
        assert isinstance(result, torch.Tensor), name
        assert result.device == X.device
    assert isinstance(model.fit_predict(X), torch.Tensor)
    assert isinstance(model.predict(X.numpy()), np.ndarray)
    expected = torch.asarray(model.memberships(X.numpy()))
    assert torch.equal(model.memberships(X), expected)
    detector = softkern.OneClassPCM().fit(X)
    assert isinstance(detector.decision_function(X), torch.Tensor)
"""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True)
    assert done.returncode == 0, done.stderr.decode()


class Guarded(torch.Tensor):
    """A tensor that must be copied to the host before NumPy can read it, like on a GPU."""

    def __array__(self, *arguments, **options):
        raise TypeError("can't convert a tensor of the device to numpy")

    numpy = __array__

    def cpu(self):
        return super().cpu().as_subclass(torch.Tensor)


@pytest.fixture
def device(monkeypatch):
    """Make the CPU behave like a device whose arrays NumPy cannot read."""
    to_device = GpuOperator.to_device
    monkeypatch.setattr(
        GpuOperator, "to_device", lambda self, array: to_device(self, array).as_subclass(Guarded)
    )


ON_DEVICE = {"engine": "gpu", "engine_params": {"device": "cpu"}}


@pytest.mark.parametrize(
    "model",
    [
        softkern.FuzzyCMeans(3, **ON_DEVICE),
        softkern.FuzzyCMeans(3, init="k-means", **ON_DEVICE),
        softkern.OutlierFuzzyCMeans(3, **ON_DEVICE),
        softkern.PossibilisticCMeans(3, **ON_DEVICE),
        softkern.OneClassPCM(**ON_DEVICE),
        softkern.OneClassKMeans(3, **ON_DEVICE),
        softkern.OneClassMixture(3, **ON_DEVICE),
        softkern.WeightedSVDD(**ON_DEVICE),
        softkern.WeightedOneClassSVM(**ON_DEVICE),
        softkern.KernelSpectralClustering(3, **ON_DEVICE),
        softkern.SoftKernelSpectralClustering(3, **ON_DEVICE),
        softkern.AlphaCutClustering(**ON_DEVICE),
    ],
)
def test_device_arrays_are_copied_to_the_host_first(device, model):
    data = np.repeat(make_blobs(50, 2, centers=3, random_state=1)[0], 2, axis=0)
    expected = clone(model).set_params(engine="auto", engine_params=None).fit(data)
    data.flags.writeable = False
    model.fit(data)
    assert np.array_equal(model.predict(data), expected.predict(data))


def test_an_empty_cluster_is_seeded_again_on_a_device():
    distances = torch.asarray([[1.0, 9.0], [4.0, 9.0], [0.0, 9.0]]).as_subclass(Guarded)
    rule = Hard(SVDD, 0.0, lambda row: np.abs(np.arange(3.0) - row)[:, None])
    geometry = Geometry(-distances, torch.zeros(2), distances)
    result = rule.evaluate(geometry, Centers(distances), torch.ones(3, dtype=torch.float64))
    assert result.mass[:, 1].tolist() == [0, 1, 0]
