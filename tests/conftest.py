"""Fixtures for all tests: array libraries, each as (to its array, back to NumPy)."""

import os
from importlib import import_module

import numpy as np
import pytest

from softkern.planning import engines


def _strict(device=None):
    strict = pytest.importorskip("array_api_strict")
    chosen = None if device is None else strict.Device(device)
    back = strict.Device("CPU_DEVICE")
    return (
        lambda values: strict.asarray(values, device=chosen),
        lambda array: np.asarray(strict.asarray(array, device=back)),
    )


def _torch():
    torch = pytest.importorskip("torch")
    return torch.asarray, lambda array: array.numpy()


def _dask():
    dask = pytest.importorskip("dask.array")

    def chunked(values):
        values = np.asarray(values)
        return dask.from_array(values, chunks=(max(1, -(-len(values) // 3)), *values.shape[1:]))

    return chunked, lambda array: np.asarray(array.compute())


LIBRARIES = {
    "numpy": lambda: (np.asarray, np.asarray),
    "torch": _torch,
    "dask": _dask,
    "strict": _strict,
    "refuses conversion": lambda: _strict("device1"),  # like the arrays of a GPU
}


@pytest.fixture(params=list(LIBRARIES))
def library(request):
    return LIBRARIES[request.param]()


@pytest.fixture(autouse=True)
def _engine_of_the_environment(monkeypatch):
    """Use the engine of SOFTKERN_ENGINE instead of "auto" in every test that supports it."""
    wanted, plan_module = os.environ.get("SOFTKERN_ENGINE"), import_module("softkern.planning.plan")

    def choose(prices, patience):
        is_usable = wanted in prices and prices[wanted].cost is not None
        return prices[wanted] if is_usable else engines.choose(prices, patience)

    if wanted:
        monkeypatch.setattr(plan_module, "choose", choose)
        monkeypatch.setattr(engines, "SMALL_ROWS", 0)
