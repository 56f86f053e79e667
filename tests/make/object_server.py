"""A server of objects on loopback, which counts what it is asked and fails as it is told.

It answers GET with Range and If-Match, HEAD, and S3's ListObjectsV2 for `/bucket?list-type=2`; so it is
also a plain web server, and an Azure or Google store for whoever reads.
"""

import hashlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

from parquet_bloom.storage.objects import requests

SECRET = "wJalrXUtnFEMI"


@dataclass
class Asked:
    """One request: `kind` is GET, HEAD or LIST, `path` without the bucket's slash, `sent` the bytes of
    the answer's body; `began`: when it came, by a clock of its own; `query`: as it was in the URL."""

    kind: str
    path: str
    range: str | None = None
    if_match: str | None = None
    status: int = 0
    sent: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic, compare=False)
    query: str = field(default="", compare=False)


@dataclass
class Fault:
    """What becomes of the next `times` requests that are `matching`, once `skip` were let through:
    a `status` with a `body`, a body that is `cut` after so many bytes, or whatever `do` does."""

    status: int = 0
    body: str = ""
    cut: int | None = None
    times: int = 1
    skip: int = 0
    kind: str = "GET"
    do: Callable[[], object] | None = None
    headers: dict[str, str] = field(default_factory=dict)

    def takes(self, kind: str) -> bool:
        if kind != self.kind or not self.times:
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


@dataclass
class Lost(Fault):
    """The request is done, and the connection broken instead of an answer; with `before`, it is not
    even done."""

    before: bool = False


class ObjectServer:
    """Objects by `bucket/key`; `delay` in seconds is added to every request."""

    handler: type["Handler"]

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.asked: list[Asked] = []
        self.faults: list[Fault] = []
        self.most_at_once = self._at_once = 0
        self._lock = threading.Lock()
        self._etags: dict[str, str] = {}
        self._changed: dict[str, float] = {}
        # Headers of objects that whoever wrote them chose.
        self.properties: dict[str, dict[str, str]] = {}
        self._begin()
        # Which are known by their ports, of which this may get one that an earlier server had.
        requests._listing.clear()
        handler = type("Handler", (self.handler,), {"store": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self.port = self._server.server_address[1]
        self.endpoint = f"http://127.0.0.1:{self.port}"

    def _begin(self) -> None:
        """What tests set, as it is in the beginning."""
        self.delay = 0.0
        self.page = 1000
        # What other stores lack.
        self.has_suffixes = self.has_etags = self.has_conditions = self.has_ranges = True

    def clear(self) -> None:
        """As if it were new."""
        for each in (self.objects, self.properties, self.faults):
            each.clear()
        self.forget()
        self._begin()

    def put(self, name: str, data: bytes) -> None:
        self.objects[name] = data
        self._etags[name] = f'"{hashlib.md5(data, usedforsecurity=False).hexdigest()}"'
        self._changed[name] = 1_700_000_000 + len(self._changed)

    @property
    def options(self) -> dict[str, str]:
        """What reaches this server as S3."""
        return {
            "endpoint": self.endpoint,
            "region": "us-east-1",
            "access_key_id": "KEY",
            "secret_access_key": SECRET,
        }

    def etag(self, name: str) -> str:
        return self._etags[name]

    def count(self, kind: str = "GET") -> int:
        return sum(each.kind == kind for each in self.asked)

    @property
    def bytes_down(self) -> int:
        return sum(each.sent for each in self.asked if each.kind == "GET")

    def forget(self) -> None:
        """What was asked so far."""
        self.asked.clear()
        self.most_at_once = 0

    @contextmanager
    def running(self) -> Iterator["ObjectServer"]:
        thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._server.shutdown()
            self._server.server_close()
            thread.join()

    @contextmanager
    def one_more(self) -> Iterator[None]:
        with self._lock:
            self._at_once += 1
            self.most_at_once = max(self.most_at_once, self._at_once)
        try:
            yield
        finally:
            with self._lock:
                self._at_once -= 1


class _Server(ThreadingHTTPServer):
    """Whose end is that of its connections, too: clients keep them for whoever has its port next."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self._open: set[socket.socket] = set()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        super().server_close()
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # Otherwise each request takes 40 ms.
    disable_nagle_algorithm = True
    wbufsize = -1
    store: ObjectServer

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._do("HEAD")

    def do_GET(self) -> None:
        self._do("GET")

    def _do(self, kind: str) -> None:
        store, split = self.store, urlsplit(self.path)
        options = {name: values[0] for name, values in parse_qs(split.query).items()}
        is_list = self._is_list(options)
        asked = Asked(
            "LIST" if is_list else kind,
            unquote(split.path).lstrip("/"),
            self.headers.get("Range") or self.headers.get("x-ms-range"),
            self.headers.get("If-Match"),
            headers=dict(self.headers.items()),
            query=split.query,
        )
        store.asked.append(asked)
        with store.one_more():
            if store.delay:
                time.sleep(store.delay)
            fault = next((each for each in store.faults if each.takes(asked.kind)), None)
            if fault is not None and fault.do is not None:
                fault.do()
            if fault is not None and fault.status:
                self._send(asked, fault.status, fault.body.encode(), fault.headers)
            elif isinstance(fault, Lost):
                self.close_connection = True
            elif is_list:
                self._list(asked, options)
            else:
                self._object(asked, fault)

    def _is_list(self, options: dict[str, str]) -> bool:
        return "list-type" in options

    def _object(self, asked: Asked, fault: Fault | None) -> None:
        store, name = self.store, asked.path
        if name not in store.objects:
            code = "<Error><Code>NoSuchKey</Code><Message>no such key</Message></Error>"
            self._send(asked, 404, code.encode())
            return
        data, etag = store.objects[name], store.etag(name)
        headers = {"Last-Modified": self.date_time_string(int(store._changed[name]))}
        headers |= store.properties.get(name, {})
        if store.has_etags:
            headers["ETag"] = etag
        if store.has_conditions and asked.if_match not in (None, etag):
            self._send(asked, 412, b"<Error><Code>PreconditionFailed</Code></Error>", headers)
            return
        status, body = 200, memoryview(data)
        if asked.range and store.has_ranges:
            first, _, last = asked.range.removeprefix("bytes=").partition("-")
            if not first and not store.has_suffixes:
                self._send(asked, 400, b"<Error><Code>InvalidHeaderValue</Code></Error>")
                return
            start = int(first) if first else max(0, len(data) - int(last))
            end = min(len(data), int(last) + 1) if first and last else len(data)
            if start >= len(data):
                self._send(asked, 416, b"<Error><Code>InvalidRange</Code></Error>")
                return
            status, body = 206, body[start:end]
            headers["Content-Range"] = f"bytes {start}-{end - 1}/{len(data)}"
        self._send(asked, status, body, headers, cut=fault.cut if fault else None)

    def _list(self, asked: Asked, options: dict[str, str]) -> None:
        store, bucket = self.store, asked.path.partition("/")[0]
        prefix, delimiter = options.get("prefix", ""), options.get("delimiter")
        after = options.get("continuation-token", options.get("start-after", ""))
        keys = sorted(
            name.partition("/")[2] for name in store.objects if name.startswith(bucket + "/")
        )
        found: dict[str, str] = {}
        for key in keys:
            if key.startswith(prefix) and key > after:
                rest = key[len(prefix) :]
                if delimiter and delimiter in rest:
                    folder = prefix + rest.partition(delimiter)[0] + delimiter
                    found[folder] = (
                        f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
                    )
                    continue
                name = f"{bucket}/{key}"
                found[key] = (
                    f"<Contents><Key>{escape(key)}</Key><Size>{len(store.objects[name])}</Size>"
                    f"<ETag>{escape(store.etag(name))}</ETag>"
                    "<LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
                )
        items = list(found.items())
        page, more = items[: store.page], len(items) > store.page
        token = (
            f"<NextContinuationToken>{escape(page[-1][0])}</NextContinuationToken>" if more else ""
        )
        body = (
            f"<ListBucketResult><IsTruncated>{'true' if more else 'false'}</IsTruncated>{token}"
            + "".join(text for _, text in page)
            + "</ListBucketResult>"
        )
        self._send(asked, 200, body.encode(), {"Content-Type": "application/xml"})

    def _send(
        self,
        asked: Asked,
        status: int,
        body: bytes | memoryview,
        headers: dict[str, str] | None = None,
        cut: int | None = None,
    ) -> None:
        asked.status = status
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        sent = body if cut is None else body[:cut]
        asked.sent = len(sent)
        self.wfile.write(sent)
        self.wfile.flush()
        if cut is not None:
            self.close_connection = True


ObjectServer.handler = Handler
