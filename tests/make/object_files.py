"""Fixtures: an object store with one file."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from make.object_store import FIXTURE, NAME, ObjectStore

from parquet_bloom.storage import remote


@pytest.fixture(params=[True, False], ids=["etags", "times"])
def store(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[ObjectStore]:
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
