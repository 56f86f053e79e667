"""A REST catalog of Iceberg on loopback, which keeps what it is told in an SQL catalog of PyIceberg's.

A commit whose requirements are not met gets the status 409. Faults are told by `fail`.
Spec: Iceberg, open-api/rest-catalog-open-api.yaml.
"""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from pydantic import ValidationError
from pyiceberg.catalog.rest import CreateTableRequest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import (
    CommitFailedException,
    NamespaceAlreadyExistsError,
    NoSuchTableError,
    TableAlreadyExistsError,
)
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import CommitTableRequest, Table
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

STATUS = {
    CommitFailedException: 409,
    NamespaceAlreadyExistsError: 409,
    TableAlreadyExistsError: 409,
    NoSuchTableError: 404,
}


@dataclass
class Fault:
    """What becomes of the next commit: it is made with `is_made`, and then the answer is a `status`, or
    the connection breaks. `before`: is done before."""

    status: int | None = 500
    is_made: bool = False
    before: Callable[[], object] = lambda: None


@dataclass
class RestCatalog:
    """`config`: what tables tell of their store; `token`: that every request has to have."""

    catalog: SqlCatalog
    config: dict[str, str] = field(default_factory=dict)
    credentials: list[dict[str, Any]] = field(default_factory=list)
    token: str | None = None
    faults: list[Fault] = field(default_factory=list)
    conflicts: int = 0
    uri: str = ""

    def answer(self, method: str, path: str, body: bytes) -> Any:
        """The document of an answer."""
        match method, path.split("/")[2:]:
            case "GET", ["config"]:
                return {"defaults": {}, "overrides": {}}
            case "POST", ["namespaces"]:
                name = tuple(json.loads(body)["namespace"])
                self.catalog.create_namespace(name)
                return {"namespace": name, "properties": {}}
            case "POST", ["namespaces", namespace, "tables"]:
                asked = CreateTableRequest.model_validate({"location": None} | json.loads(body))
                return self.loaded(
                    self.catalog.create_table(
                        (namespace, asked.name),
                        asked.table_schema,
                        asked.location,
                        asked.partition_spec or UNPARTITIONED_PARTITION_SPEC,
                        asked.write_order or UNSORTED_SORT_ORDER,
                        asked.properties,
                    )
                )
            case "GET", ["namespaces", namespace, "tables", name]:
                return self.loaded(self.catalog.load_table((namespace, name)))
            case "POST", ["namespaces", namespace, "tables", name]:
                return self.commit((namespace, name), CommitTableRequest.model_validate_json(body))
        raise NotImplementedError(method, path)

    def commit(self, name: tuple[str, str], asked: CommitTableRequest) -> Any:
        fault = self.faults.pop(0) if self.faults else None
        if fault is not None:
            fault.before()
            if not fault.is_made:
                raise Failure(fault.status)
        table = self.catalog.load_table(name)
        try:
            made = self.catalog.commit_table(table, asked.requirements, asked.updates)
        except CommitFailedException:
            self.conflicts += 1
            raise
        if fault is not None and fault.status != 200:
            raise Failure(fault.status)
        return json.loads(made.model_dump_json(by_alias=True))

    def loaded(self, table: Table) -> Any:
        return {
            "metadata-location": table.metadata_location,
            "metadata": json.loads(table.metadata.model_dump_json(by_alias=True)),
            "config": self.config,
            "storage-credentials": self.credentials,
        }

    @contextmanager
    def running(self) -> Iterator["RestCatalog"]:
        handler = type("Handler", (_Handler,), {"of": self})
        server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.uri = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()
            thread.join()


class Failure(Exception):
    """Instead of an answer; a status of None breaks the connection."""

    def __init__(self, status: int | None) -> None:
        super().__init__(status)
        self.status = status


class _Handler(BaseHTTPRequestHandler):
    of: RestCatalog
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._do("GET")

    def do_POST(self) -> None:
        self._do("POST")

    def _do(self, method: str) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        status, document = self._answered(method, unquote(urlsplit(self.path).path), body)
        if status is None:
            self.close_connection = True
            return
        data = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _answered(self, method: str, path: str, body: bytes) -> tuple[int | None, Any]:
        try:
            if self.of.token and self.headers.get("Authorization") != f"Bearer {self.of.token}":
                raise Failure(401)
            return 200, self.of.answer(method, path, body)
        except Failure as failure:
            status, message, kind = failure.status, "as it was told", "Fault"
        except tuple(STATUS) as error:
            status, message, kind = STATUS[type(error)], str(error), type(error).__name__
        except (NotImplementedError, ValidationError) as error:
            status, message, kind = 501, str(error), type(error).__name__
        return status, {"error": {"message": message, "type": kind, "code": status}}

    def log_message(self, *args: Any) -> None: ...


def rest_catalog(folder: Path, warehouse: str | None = None, **properties: str) -> RestCatalog:
    """With its tables in a folder, or wherever; `properties`: of the catalog behind it."""
    uri = f"sqlite:///{folder}/behind.db?check_same_thread=false"
    place = warehouse or f"file://{folder}/warehouse"
    return RestCatalog(SqlCatalog("behind", uri=uri, warehouse=place, **properties))
