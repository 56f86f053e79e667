"""Two of our commands and a stranger at one object: the requests of the clients that are used, to the
servers of tests/make, each of them a step.
"""

import os
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Self
from unittest import mock

from interleavings.local import parquet
from interleavings.outcomes import Command, Outcomes, sorted_out
from interleavings.search import READ, WRITE, Process, Scenario, Touched, running, step
from make.azure_server import AzureServer
from make.gcs_server import GoogleServer
from make.s3_server import S3Server

import parquet_bloom as pb
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.storage import table_formats
from parquet_bloom.storage.objects import (
    adapter,
    azure_adapter,
    gcs_adapter,
    replacement,
    requests,
    s3_adapter,
)
from parquet_bloom.storage.temporary_files import is_temporary
from parquet_bloom.storage.traffic import EVERYTHING, Requests, Traffic

NAME: Final = "lake/f.parquet"
SERVERS: Final = {"s3": S3Server, "az": AzureServer, "gs": GoogleServer}


@dataclass(frozen=True)
class Sharp:
    """What of a store is made so small that it matters for a small object."""

    module: Any
    name: str
    value: int


SMALL: Final = (
    Sharp(s3_adapter, "LEAST_BYTES", 100),
    Sharp(azure_adapter, "WHOLE_BYTES", 100),
    Sharp(gcs_adapter, "WHOLE_BYTES", 100),
)


class AtOnce:
    """In place of a pool of threads: whoever submits does the work."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def submit(self, work: Callable[..., Any], *arguments: Any) -> "Future[Any]":
        future: Future[Any] = Future()
        try:
            future.set_result(work(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future

    def shutdown(self, **_: Any) -> None:
        pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return


class Bucket:
    """A World: what one server has."""

    def __init__(self, touched: Touched, server: Any, kind: str) -> None:
        self._touched, self.server, self.kind = touched, server, kind
        self._patches = ExitStack()
        server.clear()
        if kind == "s3":
            server.least = 100
        server.put(NAME, parquet())

    @property
    def url(self) -> str:
        return f"{self.kind}://{NAME}"

    def state(self) -> Hashable:
        """With what is on its way, but for its numbers."""
        pending = [
            sorted(map(str, getattr(self.server, name, {}).values()))
            for name in ("uploads", "staged")
        ]
        return hash((tuple(sorted(self.server.objects.items())), str(pending)))

    def bury(self, process: Process) -> None:
        """A store knows nothing of it."""

    def __enter__(self) -> Self:
        bucket, add = self, Traffic.add

        def adds(traffic: Traffic, more: Requests) -> None:
            if traffic is not EVERYTHING and more.num_requests:
                bucket.step(READ if not more.put else WRITE)
            add(traffic, more)

        enter = self._patches.enter_context
        enter(mock.patch.object(Traffic, "add", adds))
        enter(mock.patch.object(requests, "_threads", AtOnce()))
        enter(mock.patch.object(adapter, "ThreadPoolExecutor", AtOnce))
        # Whether the store honours conditions is asked once for all runs, and not searched.
        enter(mock.patch.object(replacement, "check_conditions"))
        # Nor whether its folder is a table's, which is asked again each minute: no run may have a step more
        # than the same run before it.
        enter(mock.patch.object(table_formats, "_remote_table", return_value=None))
        for each in SMALL:
            enter(mock.patch.object(each.module, each.name, each.value))
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()

    def step(self, how: str) -> None:
        step(self._touched, lambda: [("object", how)])
        process = running()
        if process is not None:
            # Uploads of others have numbers that it does not know; blocks of others are there for all.
            blocks = str(self.server.staged) if self.kind == "az" else ""
            process.sees(*sorted(self.server.objects.items()), blocks)


# While they run.
_servers: dict[str, Any] = {}


@contextmanager
def servers() -> Iterator[None]:
    """One of each kind, which all runs share: to make a client takes longer than they do."""
    names = [name for name in os.environ if name.startswith(("AWS_", "AZURE_", "GOOGLE_"))]
    with ExitStack() as stack, mock.patch.dict(os.environ):
        for name in names:
            del os.environ[name]
        for kind, make in SERVERS.items():
            _servers[kind] = stack.enter_context(make().running())
        yield
        _servers.clear()


def build(column: str, unconditional: bool = False) -> Command:
    def work(bucket: Bucket) -> Any:
        return pb.build(
            bucket.url,
            columns=[column],
            in_place=True,
            threads=1,
            unconditional=unconditional,
            storage_options=bucket.server.options,
        )

    return Command(f"build {column}", work)


def strip() -> Command:
    def work(bucket: Bucket) -> Any:
        return pb.strip(bucket.url, in_place=True, storage_options=bucket.server.options)

    return Command("strip", work)


def replace() -> Command:
    """Another program's request."""

    def work(bucket: Bucket) -> None:
        bucket.step(WRITE)
        bucket.server.put(NAME, parquet(7))

    return Command("replace", work, is_ours=False)


def remove() -> Command:
    def work(bucket: Bucket) -> None:
        bucket.step(WRITE)
        del bucket.server.objects[NAME]

    return Command("remove", work, is_ours=False)


def objects_at_rest(bucket: Bucket) -> Hashable:
    found = sorted(bucket.server.objects.items())
    return tuple((name, data) for name, data in found if not is_temporary(name.rpartition("/")[2]))


def scenario(kind: str, commands: Sequence[Command], kills: bool = True) -> Scenario:
    def make(touched: Touched) -> Bucket:
        return Bucket(touched, _servers[kind], kind)

    ours = [number for number, command in enumerate(commands) if command.is_ours]
    check = partial(_check, commands, Outcomes(make, objects_at_rest))
    return Scenario(make, commands, check, ours if kills else ())


def _check(
    commands: Sequence[Command],
    outcomes: Outcomes,
    bucket: Bucket,
    processes: Sequence[Process],
) -> None:
    sure, unsure = sorted_out(commands, processes, is_strict=True)
    killed = [c for c, p in zip(commands, processes, strict=True) if p.is_dead]
    found = objects_at_rest(bucket)
    everything = [name for name in bucket.server.objects if name != NAME]
    assert killed or not (everything or getattr(bucket.server, "uploads", None)), "left"
    said = [str(p.error or ("killed" if p.is_dead else "done")) for p in processes]
    again = []
    for command in killed:
        if NAME in bucket.server.objects:
            try:
                command.work(bucket)
            except (ParquetBloomError, OSError) as error:
                raise AssertionError(f"cannot be run again: {error}") from None
            again.append((Command(f"{command.name} again", command.work), objects_at_rest(bucket)))
    # From here on, the server is another world's.
    assert found in set(outcomes.allowed(sure, unsure)), f"no order of {said} comes to this"
    for command, then in again:
        assert then in set(outcomes.allowed([*sure, command], unsure)), f"after another run: {said}"
