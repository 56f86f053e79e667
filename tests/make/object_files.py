"""Fixtures: object stores, those that pyarrow reads and those that obstore reads."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.azure_server import AzureServer
from make.gcs_server import GoogleServer
from make.object_server import ObjectServer
from make.object_store import FIXTURE, NAME, ObjectStore, forget_tables
from make.s3_server import S3Server

import parquet_bloom as pb
from parquet_bloom.storage import remote
from parquet_bloom.storage.objects import (
    gcs_client,
    listing,
    pace,
    replacement,
    s3_adapter,
    s3_client,
    sending,
    stores,
)
from parquet_bloom.storage.objects.pace import Pace


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


# ------------------------------------------------------------------------------------------------
# Objects that are read through obstore


def send_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails, three times; nothing is known of a store that was asked too often, or of an earlier
    server at the same port, whose credentials held."""
    for opened in (stores._opened, s3_client._client, gcs_client._session):
        opened.cache_clear()
    monkeypatch.setattr(listing, "_stores", set())
    monkeypatch.setattr(s3_adapter, "_silent", set())
    monkeypatch.setattr(sending, "PAUSES", (0.001,) * 3)
    monkeypatch.setattr(sending, "PACE", Pace())
    monkeypatch.setattr(pace, "FIRST", 0.0)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ObjectServer]:
    """A server of objects; requests that fail are sent again at once."""
    send_again_at_once(monkeypatch)
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    server = ObjectServer()
    with server.running():
        yield server


@pytest.fixture(scope="session")
def hundred_groups(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of 100 row groups and ten columns; one, `s`, has 100 filters of 256 KiB."""
    folder = tmp_path_factory.mktemp("groups")
    rows = np.arange(20_000, dtype=np.int64)
    columns: dict[str, Any] = {f"c{number}": rows * (number + 3) for number in range(8)}
    # The chunks of a column are too far apart to be read together.
    columns["padding"] = [bytes(700)] * len(rows)
    columns["s"] = [f"user-{row:08d}" for row in rows.tolist()]
    plain, path = folder / "plain.parquet", folder / "groups.parquet"
    settings: dict[str, Any] = {"use_dictionary": False, "compression": "none"}
    pq.write_table(pa.table(columns), plain, row_group_size=200, **settings)
    pb.build(plain, path, columns=["s"], ndv=100_000, verify=False)
    return path


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """One for all tests: to make a client takes longer than they do."""
    server = S3Server()
    with server.running():
        yield server


@pytest.fixture
def s3(s3_server: S3Server, monkeypatch: pytest.MonkeyPatch) -> S3Server:
    """A server like S3; small objects are uploaded in parts, too."""
    send_again_at_once(monkeypatch)
    monkeypatch.setattr(s3_adapter, "LEAST_BYTES", 1000)
    monkeypatch.setattr(replacement, "_ignored_in", {})
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_REGION"):
        monkeypatch.delenv(name, raising=False)
    forget_tables(monkeypatch)
    s3_server.clear()
    s3_server.least = 1000
    return s3_server


@pytest.fixture(scope="session")
def azure_server() -> Iterator[AzureServer]:
    server = AzureServer()
    with server.running():
        yield server


@pytest.fixture
def azure(azure_server: AzureServer, monkeypatch: pytest.MonkeyPatch) -> AzureServer:
    """A server like Azure; small blobs are put together from blocks, too."""
    from parquet_bloom.storage.objects import azure_adapter

    send_again_at_once(monkeypatch)
    monkeypatch.setattr(azure_adapter, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(replacement, "_ignored_in", {})
    for name in [name for name in os.environ if name.startswith("AZURE_")]:
        monkeypatch.delenv(name)
    forget_tables(monkeypatch)
    azure_server.clear()
    return azure_server


@pytest.fixture(scope="session")
def gcs_server() -> Iterator[GoogleServer]:
    server = GoogleServer()
    with server.running():
        yield server


@pytest.fixture
def gcs(gcs_server: GoogleServer, monkeypatch: pytest.MonkeyPatch) -> GoogleServer:
    """A server like Google Cloud Storage; small objects are composed, too."""
    from parquet_bloom.storage.objects import gcs_adapter

    send_again_at_once(monkeypatch)
    monkeypatch.setattr(gcs_adapter, "WHOLE_BYTES", 1000)
    monkeypatch.setattr(replacement, "_ignored_in", {})
    for name in [name for name in os.environ if name.startswith("GOOGLE_")]:
        monkeypatch.delenv(name)
    forget_tables(monkeypatch)
    gcs_server.clear()
    return gcs_server
