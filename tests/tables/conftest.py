"""Fixtures for tests of the command line."""

import pytest


@pytest.fixture
def write(tmp_path):
    """Writes text or bytes into a file, whose name it returns."""

    def write(data, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return str(path)

    return write
