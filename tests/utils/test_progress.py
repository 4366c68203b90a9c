"""Stages of long computations: named, nested, ended, and silent where nobody watches."""

import pytest
from sklearn.datasets import make_blobs

from softkern import AlphaCutClustering, FuzzyCMeans, SoftKernelSpectralClustering, cluster
from softkern._utils.progress import progress_listener, stage
from softkern.operators import tiled


class Listing:
    """Keeps what it is told."""

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
        assert self.open.pop() == task_id  # the innermost ends first


def stages_of(work):
    listing = Listing()
    with progress_listener(listing):
        work()
    assert not listing.open
    for key, done in listing.done.items():
        assert done == sorted(done)
        if listing.totals[key] is not None:
            assert all(0 <= value <= listing.totals[key] for value in done)
    return listing


def test_without_a_watcher_nothing_happens():
    with stage("nobody looks", total=3) as done:
        done(1)


def test_an_error_ends_its_stages():
    listing = Listing()
    with pytest.raises(ValueError, match="stop"), progress_listener(listing):  # noqa: SIM117
        with stage("outer"), stage("inner"):
            raise ValueError("stop")
    assert listing.names == ["outer", "inner"]
    assert not listing.open
    with stage("later"):
        pass
    assert len(listing.names) == 2  # the watcher is gone


def test_the_stages_of_fits():
    X = make_blobs(400, 2, centers=3, random_state=0)[0]
    assert stages_of(lambda: AlphaCutClustering().fit(X)).names[0].startswith("searching")
    assert "density tree" in stages_of(lambda: AlphaCutClustering().fit(X)).names
    assert "bandwidths" in stages_of(lambda: SoftKernelSpectralClustering(3).fit(X)).names
    assert "the number of clusters" in stages_of(lambda: FuzzyCMeans("auto").fit(X)).names
    wide = make_blobs(300, 5, centers=3, random_state=0)[0]
    names = stages_of(lambda: cluster(wide)).names
    assert any(name.startswith("searching for separated clusters") for name in names)
    assert "outlier scores" in names


def test_long_products_say_how_far_they_are(monkeypatch):
    monkeypatch.setattr(tiled, "LONG_WORK", 1e6)
    X = make_blobs(3000, 2, random_state=0)[0]
    listing = stages_of(lambda: FuzzyCMeans(2, engine="tiled", n_init=1).fit(X))
    parts = [key for key, name in enumerate(listing.names) if name == "similarities"]
    assert parts
    assert all(listing.done[key][-1] == listing.totals[key] for key in parts)
