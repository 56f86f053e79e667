"""Azurite, which Microsoft offers for tests of programs that use Azure. It checks signatures, and honours
conditions."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from azure.core.rest import HttpRequest, HttpResponse
from azure.storage.blob import (
    BlobClient,
    BlobServiceClient,
    ContentSettings,
    StandardBlobTier,
)
from make.servers import started
from stores.emulator import HERE

from parquet_bloom.storage.objects.azure_client import _EMULATOR as ACCOUNT
from parquet_bloom.storage.objects.azure_client import VERSION, AzureClient

PACKAGE = "azurite@3.37.0"


class Azurite:
    title = PACKAGE.replace("@", " ")
    url = "az://lake"
    honours_conditions = True
    copies = ("append", "replace")

    def __init__(self) -> None:
        self.options: Mapping[str, str] = {}

    def install(self) -> None:
        folder = HERE / PACKAGE
        if not (folder / "installed").exists():
            folder.mkdir(parents=True, exist_ok=True)
            quiet = ("--silent", "--no-audit", "--no-fund")
            subprocess.run(("npm", "install", *quiet, "--prefix", str(folder), PACKAGE), check=True)
            (folder / "installed").touch()

    @contextmanager
    def running(self) -> Iterator[None]:
        program = HERE / PACKAGE / "node_modules" / ".bin" / "azurite-blob"
        settings = ("--inMemoryPersistence", "--disableTelemetry", "--silent")
        where = ("--blobHost", "127.0.0.1", "--blobPort")
        with started(lambda port: (str(program), *settings, *where, str(port))) as port:
            endpoint = f"http://127.0.0.1:{port}/{ACCOUNT['account_name']}"
            self.options = {**ACCOUNT, "endpoint": endpoint}
            # Blocks of their own from 1 MiB on, if it is said to send some.
            self._service = BlobServiceClient(
                endpoint, dict(ACCOUNT), api_version=VERSION, max_block_size=1 << 20
            )
            self._service.create_container("lake")
            yield

    def _blob(self, key: str) -> BlobClient:
        return self._service.get_blob_client("lake", key)

    def put(self, key: str, data: bytes, *, in_parts: bool = False) -> None:
        self._service._config.max_single_put_size = 1 << 20 if in_parts else 1 << 30
        self._blob(key).upload_blob(
            data,
            overwrite=True,
            metadata={"Who": "me"},
            tags={"team": "a b"},
            standard_blob_tier=StandardBlobTier.COOL,
            content_settings=ContentSettings(
                content_type="application/x-parquet",
                content_encoding="identity",
                content_language="de",
                content_disposition="inline",
                cache_control="max-age=60",
            ),
        )

    def get(self, key: str) -> bytes:
        found: bytes = self._blob(key).download_blob().readall()
        return found

    def said(self, key: str) -> dict[str, Any]:
        found = self._blob(key).get_blob_properties()
        said = dict(found.content_settings)
        # Of the content.
        del said["content_md5"]
        tags = self._blob(key).get_blob_tags()
        return said | {"metadata": found.metadata, "tags": tags, "tier": found.blob_tier}

    def keys(self) -> Sequence[str]:
        lake = self._service.get_container_client("lake")
        return [blob.name for blob in lake.list_blobs(include=["uncommittedblobs"])]

    @contextmanager
    def before_the_last_request(self, do: Callable[[], object]) -> Iterator[None]:
        answer, waiting = AzureClient._answer, [do]

        def late(client: AzureClient, request: HttpRequest) -> HttpResponse:
            is_last = "comp=blocklist" in request.url or "comp=" not in request.url
            if waiting and request.method == "PUT" and is_last:
                waiting.pop()()
            return answer(client, request)

        with mock.patch.object(AzureClient, "_answer", late):
            yield
