"""Fixtures for tests of the command line."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Return a function that writes text or bytes to a file and returns its path."""

    def write(data, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(path)

    return write
