"""Stages of long computations: they have names, may be nested, end, and need no listener."""

import pytest
from sklearn.datasets import make_blobs

from softkern import AlphaCutClustering, FuzzyCMeans, SoftKernelSpectralClustering, cluster
from softkern._utils.progress import progress_listener, stage
from softkern.operators import tiled


class Recorder:
    """Records the stages and their progress."""

    def __init__(self):
        self.names, self.open, self.done, self.totals = [], [], {}, {}

    def begin(self, name, total):
        key = len(self.names)
        self.names.append(name)
        self.open.append(key)
        self.totals[key], self.done[key] = total, []
        return key

    def advance(self, task_id, done):
        assert task_id in self.open
        self.done[task_id].append(done)

    def end(self, task_id):
        assert self.open.pop() == task_id  # the innermost stage ends first


def record_stages(work):
    recorder = Recorder()
    with progress_listener(recorder):
        work()
    assert not recorder.open
    for key, done in recorder.done.items():
        assert done == sorted(done)
        if recorder.totals[key] is not None:
            assert all(0 <= value <= recorder.totals[key] for value in done)
    return recorder


def test_stages_need_no_listener():
    with stage("not recorded", total=3) as done:
        done(1)


def test_an_error_ends_its_stages():
    recorder = Recorder()
    with pytest.raises(ValueError, match="stop"), progress_listener(recorder):  # noqa: SIM117
        with stage("outer"), stage("inner"):
            raise ValueError("stop")
    assert recorder.names == ["outer", "inner"]
    assert not recorder.open
    with stage("later"):
        pass
    assert len(recorder.names) == 2  # no longer recorded


def test_fits_report_their_stages():
    X = make_blobs(400, 2, centers=3, random_state=0)[0]
    assert record_stages(lambda: AlphaCutClustering().fit(X)).names[0].startswith("searching")
    assert "density tree" in record_stages(lambda: AlphaCutClustering().fit(X)).names
    assert "bandwidths" in record_stages(lambda: SoftKernelSpectralClustering(3).fit(X)).names
    assert "the number of clusters" in record_stages(lambda: FuzzyCMeans("auto").fit(X)).names
    wide = make_blobs(300, 5, centers=3, random_state=0)[0]
    names = record_stages(lambda: cluster(wide)).names
    assert any(name.startswith("searching for separated clusters") for name in names)
    assert "outlier scores" in names


def test_long_products_report_their_progress(monkeypatch):
    monkeypatch.setattr(tiled, "LONG_WORK", 1e6)
    X = make_blobs(3000, 2, random_state=0)[0]
    recorder = record_stages(lambda: FuzzyCMeans(2, engine="tiled", n_init=1).fit(X))
    parts = [key for key, name in enumerate(recorder.names) if name == "similarities"]
    assert parts
    assert all(recorder.done[key][-1] == recorder.totals[key] for key in parts)
