"""Fixtures of the tests below."""

import pytest


@pytest.fixture
def trace(tmp_path):
    """Writes a trace file."""

    def write(text, name="trace.csv"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write
