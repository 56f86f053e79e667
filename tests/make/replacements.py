"""The ways in which stores replace an object: what is so in all of them is tested in one place."""

import json
import tempfile
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Literal
from unittest import mock

import pytest
from conftest import FIXTURES
from make.object_server import Fault, Lost

import parquet_bloom as pb
from parquet_bloom.storage.objects import (
    azure_adapter,
    azure_client,
    gcs_adapter,
    gcs_client,
    replacement,
    s3_adapter,
    s3_client,
)

OLD = (FIXTURES / "pyarrow_types.parquet").read_bytes()
NAME = "lake/day=1/x y%.parquet"
PLACE = "lake/day=1/x%20y%25.parquet"
NOTHING = "nothing was written"


@cache
def made_locally(layout: Literal["append", "replace"] = "append") -> bytes:
    """What a build makes of a local file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "local.parquet"
        path.write_bytes(OLD)
        pb.build(path, columns=["int64"], in_place=True, layout=layout)
        return path.read_bytes()


def is_new(data: bytes) -> bool:
    return len(data) > len(OLD) and data.startswith(OLD) and data.endswith(b"PAR1")


def honours_conditions(server: Any, container: str = "lake") -> None:
    """The store is known to: whether it does has tests of its own."""
    replacement._ignored_in[server.endpoint, container] = ""


def in_xml(code: str) -> str:
    return f"<Error><Code>{code}</Code></Error>"


def in_json(reason: str) -> str:
    return json.dumps({"error": {"errors": [{"reason": reason}]}})


@dataclass(frozen=True)
class Kind:
    """Of a store. `look`: what is asked to look at an object, and how often it is before the last request;
    `unseen`: kinds that do not matter for the order. `codes`: its words for failures, by status. `broken`:
    what its library calls a connection that breaks. `optional`: what may fail, and the object is replaced
    nevertheless. `replacing`: its words for the requests that replace an object, whole or put together. `unmet`: what
    a store is asked to find out whether it honours conditions. `as_its_own`: patches the client so that the server is
    taken for the cloud's own. `versions_are_content`: the same bytes, written again, are the same version."""

    scheme: str
    server: str
    library: tuple[str, str, str]
    look: str
    num_looks: int
    unseen: tuple[str, ...]
    condition: str
    replacing: tuple[str, str]
    error: Callable[[str], str]
    codes: Mapping[int, str]
    broken: str
    optional: tuple[str, ...]
    unmet: tuple[str, ...]
    as_its_own: Callable[[], Any]
    versions_are_content: bool = False

    @property
    def denied(self) -> int:
        return 401 if self.scheme == "gs" else 403

    def fails(self, status: int) -> dict[str, Any]:
        return {"status": status, "body": self.error(self.codes[status])}


S3 = Kind(
    scheme="s3",
    server="s3",
    library=("boto3", "boto3", "s3"),
    look="HEAD",
    num_looks=1,
    unseen=("GET", "LIST"),
    condition="If-Match",
    replacing=("PutObject", "CompleteMultipartUpload"),
    error=in_xml,
    codes={
        403: "AccessDenied",
        409: "ConditionalRequestConflict",
        412: "PreconditionFailed",
        503: "SlowDown",
    },
    broken="ConnectionClosedError",
    optional=("ACL",),
    unmet=("PUT", "CREATE", "PART", "COMPLETE", "ABORT"),
    as_its_own=lambda: mock.patch.object(s3_client, "_is_aws", return_value=True),
    versions_are_content=True,
)
AZURE = Kind(
    scheme="az",
    server="azure",
    library=("azure", "azure-storage-blob", "azure"),
    look="HEAD",
    num_looks=3,
    unseen=("GET", "LIST", "HEAD"),
    condition="If-Match",
    replacing=("Put Blob", "Put Block List"),
    error=in_xml,
    codes={
        403: "AuthorizationFailure",
        409: "BlobBeingRehydrated",
        412: "ConditionNotMet",
        503: "ServerBusy",
    },
    broken="ServiceResponseError",
    optional=("COPY",),
    unmet=("PUT", "COMMIT"),
    as_its_own=lambda: mock.patch.object(azure_client, "_OWN", ("127.0.0.1",)),
)


def _as_googles_own() -> Any:
    client = gcs_client.GoogleClient
    init: Callable[..., None] = client.__init__

    def of_google(*given: Any) -> None:
        init(*given)
        given[0].is_google = True

    return mock.patch.object(client, "__init__", of_google)


GOOGLE = Kind(
    scheme="gs",
    server="gcs",
    library=("google.auth.compute_engine", "google-auth", "gcs"),
    look="LOOK",
    num_looks=1,
    unseen=("GET", "LIST"),
    condition="ifGenerationMatch",
    replacing=("objects.insert", "objects.compose"),
    error=in_json,
    codes={401: "authError", 409: "conflict", 412: "conditionNotMet", 503: "backendError"},
    broken="ConnectionError",
    optional=(),
    unmet=("INSERT", "INSERT", "COMPOSE", "DELETE"),
    as_its_own=_as_googles_own,
)


@dataclass(frozen=True)
class Way:
    """What is asked to replace an object once it has been read, in order; the `last` request is that which
    replaces it. `is_whole`: all of the new version is sent. `settings`: what of a module is set to."""

    kind: Kind
    asks: tuple[str, ...]
    last: str
    is_whole: bool = False
    settings: Sequence[tuple[Any, str, int]] = ()
    # If the footer takes the place of the old one; if filters are removed again.
    replaces: tuple[str, ...] = ()
    strips: tuple[str, ...] = ()
    has_blocks: bool = False
    # Where conditions may be ignored.
    unconditionally: tuple[str, ...] = ()

    @property
    def nth(self) -> int:
        """Which one of its kind the last request is."""
        return self.asks.count(self.last) - 1

    @property
    def until_last(self) -> tuple[str, ...]:
        """The kinds of requests, up to that of the last."""
        at = len(self.asks) - 1 - self.asks[::-1].index(self.last)
        return tuple(dict.fromkeys(self.asks[: at + 1]))


_S3 = ("HEAD", "TAGS", "ACL")
_S3_PARTS = (*_S3, "CREATE", "COPY", "PART", "COMPLETE")
_AZURE_COPIED = ("TAGS", "BLOCKS", "COPY", "BLOCK", "COMMIT")
_GOOGLE_WHOLE = ("LOOK", "INSERT")
_HALF = (gcs_adapter, "SENT_BYTES", len(OLD) // 2)

WAYS = {
    "s3 parts": Way(
        S3,
        _S3_PARTS,
        "COMPLETE",
        replaces=_S3_PARTS,
        strips=(*_S3, "CREATE", "COPY", "COMPLETE"),
        unconditionally=(*_S3_PARTS[:-1], "HEAD", "COMPLETE"),
    ),
    "s3 whole": Way(
        S3,
        (*_S3, "PUT"),
        "PUT",
        is_whole=True,
        settings=[(s3_adapter, "LEAST_BYTES", 5 << 20)],
        replaces=(*_S3, "PUT"),
        strips=(*_S3, "PUT"),
        unconditionally=(*_S3, "HEAD", "PUT"),
    ),
    "azure copied": Way(
        AZURE,
        _AZURE_COPIED,
        "COMMIT",
        replaces=_AZURE_COPIED,
        strips=("TAGS", "BLOCKS", "COMMIT"),
        unconditionally=_AZURE_COPIED,
    ),
    "azure named": Way(
        AZURE,
        ("TAGS", "BLOCKS", "BLOCK", "COMMIT"),
        "COMMIT",
        has_blocks=True,
        # What stays of a block that does not stay whole is copied.
        replaces=_AZURE_COPIED,
        strips=("TAGS", "BLOCKS", "COMMIT"),
        unconditionally=("TAGS", "BLOCKS", "BLOCK", "COMMIT"),
    ),
    "azure whole": Way(
        AZURE,
        ("TAGS", "PUT"),
        "PUT",
        is_whole=True,
        settings=[(azure_adapter, "WHOLE_BYTES", 4 << 20)],
        replaces=("TAGS", "PUT"),
        strips=("TAGS", "PUT"),
        unconditionally=("TAGS", "PUT"),
    ),
    "google append": Way(
        GOOGLE,
        ("LOOK", "INSERT", "COMPOSE", "DELETE"),
        "COMPOSE",
        replaces=_GOOGLE_WHOLE,
        strips=_GOOGLE_WHOLE,
        unconditionally=("LOOK", "INSERT", "COMPOSE", "LOOK", "COMPOSE", "DELETE", "DELETE"),
    ),
    "google whole": Way(
        GOOGLE,
        _GOOGLE_WHOLE,
        "INSERT",
        is_whole=True,
        settings=[(gcs_adapter, "WHOLE_BYTES", 5 << 20)],
        replaces=_GOOGLE_WHOLE,
        strips=_GOOGLE_WHOLE,
        unconditionally=("LOOK", "LOOK", "INSERT"),
    ),
    "google parts": Way(
        GOOGLE,
        ("LOOK", "BEGIN", "PART", "PART", "PART"),
        "PART",
        is_whole=True,
        settings=[(gcs_adapter, "WHOLE_BYTES", 5 << 20), _HALF],
        replaces=("LOOK", "BEGIN", "PART", "PART", "PART"),
        strips=("LOOK", "BEGIN", "PART", "PART", "PART"),
        unconditionally=("LOOK", "BEGIN", "PART", "PART", "LOOK", "PART"),
    ),
}


@dataclass
class Replaced:
    """The object of a server, which is replaced in a way."""

    server: Any
    way: Way
    kind: Kind = field(init=False)

    def __post_init__(self) -> None:
        self.kind = self.way.kind
        self.url = f"{self.kind.scheme}://{PLACE}"
        self.options: dict[str, str] = self.server.options
        self.changed = (
            f"{self.url}: changed by another writer while it was read: {NOTHING}; try again"
        )
        honours_conditions(self.server)
        self.reset()

    def reset(self) -> None:
        """The old version is there, and nothing else."""
        self.server.objects.clear()
        self.server.faults.clear()
        getattr(self.server, "uploads", {}).clear()
        if self.way.has_blocks:
            put_blocks(self.server)
        else:
            self.server.put(NAME, OLD)
        self.server.forget()
        self.server.received = 0

    def build(self, **options: Any) -> Any:
        given: dict[str, Any] = {"columns": ["int64"], "in_place": True} | options
        return pb.build(self.url, storage_options=self.options, **given)

    @property
    def words(self) -> list[str]:
        """For the command."""
        return [f"--storage-option={name}={value}" for name, value in self.options.items()]

    def written(self) -> tuple[str, ...]:
        """What was asked to look at an object and to change it, in order; copies and what is sent at the
        same time are said so."""
        kinds = [kind for kind in self.server.kinds() if kind not in self.kind.unseen]
        text = " ".join(kinds)
        return tuple(
            text.replace("PART COPY", "COPY PART").replace("BLOCK COPY", "COPY BLOCK").split()
        )

    def pending(self) -> Any:
        """Uploads that were begun, and not ended."""
        return getattr(self.server, "uploads", {})

    def version(self) -> Any:
        """What tells it from all others."""
        name = getattr(self.server, "resources", self.server._etags).get(NAME)
        return name["generation"] if isinstance(name, dict) else name

    def lost(self, **given: Any) -> list[Fault]:
        """The last request gets no answer."""
        lost = Lost(kind=self.way.last, skip=self.way.nth, times=99, **given)
        return [lost, Lost(kind="STATUS", times=99)] if self.way.last == "PART" else [lost]

    def looks_again(self, **given: Any) -> Fault:
        """What becomes of the first look after the last request."""
        return Fault(kind=self.kind.look, skip=self.kind.num_looks, **given)

    @property
    def leaves_blocks(self) -> bool:
        return self.way.last == "COMMIT"


def replaced(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, way: str) -> Replaced:
    chosen = WAYS[way]
    server = request.getfixturevalue(chosen.kind.server)
    for module, name, value in chosen.settings:
        monkeypatch.setattr(module, name, value)
    return Replaced(server, chosen)


def put_blocks(azure: Any, name_bytes: int = 48, cuts: Sequence[int] = (40_000, 80_000)) -> None:
    """The blob, uploaded in blocks by others. No name is text."""
    names = [(bytes([255, number]) * name_bytes)[:name_bytes] for number in range(len(cuts) + 1)]
    bounds = zip((0, *cuts), (*cuts, len(OLD)), strict=True)
    blocks = [
        (b64encode(name).decode(), OLD[start:end])
        for name, (start, end) in zip(names, bounds, strict=True)
    ]
    azure.put_blocks(NAME, blocks)
