"""Arrays of other libraries as data. `array_api_dispatch` needs a setting of scipy's own, made
before it is imported: what depends on it runs in a process of its own.
"""

import os
import subprocess
import sys

import numpy as np
import pytest

import softkern
from softkern.models.elsewhere import answering

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install 'softkern[gpu]'")
X = np.random.default_rng(0).normal(size=(60, 2))
MODELS = [softkern.OneClassPCM(), softkern.FuzzyCMeans(2), softkern.AlphaCutClustering()]


@pytest.mark.parametrize("model", MODELS)
def test_tensors_are_data(model):
    there = torch.asarray(X)
    expected, found = model.fit(X).predict(X), model.fit(there).predict(there)
    assert isinstance(found, np.ndarray)
    assert np.array_equal(found, expected)
    assert np.array_equal(model.fit(there, sample_weight=torch.ones(60)).predict(there), expected)


def test_answers_are_where_the_data_are():
    code = """
import numpy as np, torch, softkern
from sklearn import config_context
X = torch.asarray(np.random.default_rng(0).normal(size=(60, 2)))
with config_context(array_api_dispatch=True):
    model = softkern.FuzzyCMeans(2).fit(X)
    for name in ("predict", "memberships", "predict_proba", "outlier_scores", "overlap_scores"):
        answer = getattr(model, name)(X)
        assert isinstance(answer, torch.Tensor), name
        assert answer.device == X.device
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


def test_methods_answer_once():
    method = softkern.FuzzyCMeans.predict
    assert answering(method) is method
