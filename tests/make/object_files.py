"""Fixtures: an object store with one file."""

import tempfile

import pytest
from make.object_store import FIXTURE, NAME, ObjectStore

from parquet_bloom.storage import remote


@pytest.fixture(params=[True, False], ids=["etags", "times"])
def store(request, monkeypatch, tmp_path):
    """A store with one object; uploads come in many pieces."""
    store = ObjectStore(request.param)
    store.install(monkeypatch)
    store.put(NAME, FIXTURE.read_bytes())
    monkeypatch.setattr(remote, "COPY_CHUNK", 10_000)
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    yield store
    assert not any(temporary.iterdir())
