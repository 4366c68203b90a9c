"""Benchmark of soft results: known posteriors, and the scores of memberships."""

import importlib
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return importlib.import_module


@pytest.fixture
def known(load):
    return load("posteriors").KNOWN


@pytest.fixture
def study(load):
    return load("studies.memberships")


FAMILIES = ["85:15, 3 s.d.", "three unequal, 3 s.d.", "elongated, 3 s.d.", "t(4), 3 scales"]
FAMILIES += ["skewed, 3 s.d.", "discs, 3 s.d.", "moons, noise 0.3"]


@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize("d", [2, 5])
def test_posteriors_are_frequencies(known, study, name, d):
    """Among rows with a posterior of p, the share p is of that cluster."""
    X, y = known[name].draw(np.random.default_rng(0), 4000, d)
    posterior = known[name].posterior(X)
    assert posterior.sum(axis=1) == pytest.approx(np.ones(len(X)))
    for k, share in enumerate(known[name].shares):
        assert posterior[:, k].mean() == pytest.approx(share, abs=0.03)
    assert study.calibration_error(posterior, posterior.argmax(axis=1) == y) < 0.03


@pytest.mark.parametrize("name", FAMILIES)
def test_densities_integrate_to_one(known, name):
    steps = np.arange(-10, 10, 0.2)
    grid = np.stack(np.meshgrid(steps + 3, steps), axis=-1).reshape(-1, 2)
    part = known[name].parts[-1]
    assert np.exp(part.log_density(grid)).sum() * 0.2**2 == pytest.approx(1, abs=0.03)


def test_the_posterior_itself_is_calibrated(known, study):
    clusters = known["three unequal, 3 s.d."]
    X, y = clusters.draw(np.random.default_rng(0), 4000, 2)
    posterior = clusters.posterior(X)
    record = study.score_memberships(posterior[:, [2, 0, 1]], y, posterior)  # any order
    assert record["accuracy"] == record["Bayes"]
    assert record["RMSE"] == pytest.approx(0)
    assert record["slope"] == pytest.approx(1)
    assert record["slope, middle"] == pytest.approx(1)
    assert record["excess loss"] == pytest.approx(0)
    assert record["ECE"] < 0.02


@pytest.mark.parametrize("power", [0.5, 2.0])
def test_slope_of_softer_and_harder_memberships(known, study, power):
    clusters = known["two equal, 2 s.d."]
    X, y = clusters.draw(np.random.default_rng(0), 2000, 2)
    posterior = clusters.posterior(X)
    tempered = study.scale_to_one(posterior**power)
    record = study.score_memberships(tempered, y, posterior)
    assert record["slope, middle"] == pytest.approx(power)
    assert record["RMSE"] > 0.05
    assert record["excess loss"] > 0


def test_too_few_and_too_many_columns(study):
    y = np.repeat([0, 1, 2], 100)
    posterior = np.eye(3)[y]
    few = study.score_memberships(np.eye(2)[np.minimum(y, 1)], y, posterior)
    assert few["accuracy"] == pytest.approx(2 / 3)
    assert few["is found"] == 0
    many = study.score_memberships(np.eye(6)[2 * y + np.arange(300) % 2], y, posterior)
    assert many["accuracy"] == pytest.approx(1 / 2)
    assert "RMSE" not in many


def test_rows_without_memberships_are_undecided(study):
    scaled = study.scale_to_one(np.array([[0.0, 0.0], [1.0, 3.0]]))
    assert scaled.tolist() == [[0.5, 0.5], [0.25, 0.75]]


def test_stored_measurements_are_not_repeated(load, tmp_path):
    stored = load("studies.stored")
    store, calls = stored.Store(tmp_path), []

    def measure(job, names):
        calls.append((job["seed"], names))
        return [{**job, "method": name, "value": len(calls)} for name in names]

    jobs = [{"seed": seed} for seed in range(2)]
    first = store.measure("part", jobs, ["ours", "theirs"], measure)
    assert store.measure("part", jobs, ["ours", "theirs"], measure) == first
    assert calls == [(0, ["ours", "theirs"]), (1, ["ours", "theirs"])]
    store.forget({"ours"})
    again = store.measure("part", jobs, ["ours", "theirs"], measure)
    assert calls[2:] == [(0, ["ours"]), (1, ["ours"])]
    assert [record["value"] for record in again] == [3, 1, 4, 2]


def test_a_cell_is_measured(study):
    job = {"cell": "two equal, 5 s.d.", "d": 2, "seed": 0}
    records = study.measure_given(job, ["FuzzyCMeans", "GMM, full"])
    assert [record["error"] for record in records] == ["", ""]
    assert records[1]["is found"] == 1
    assert 0.5 < records[1]["slope"] < 2
