"""What the executors of the cluster tests run: the package, stopped where the test wants it.

The workers have this folder on their path. Nothing of it is in the package.
"""

import importlib
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any
from unittest.mock import patch

from pyspark import TaskContext

from parquet_bloom.storage.local_output import Replacement


def stopping(request: dict[str, Any], batches: Any) -> Iterator[Any]:
    """`function` of `module`, which stops before each of `places`, methods of Replacement, for the
    file that is called `name`."""
    stop = request["stop"]
    work = getattr(importlib.import_module(request["module"]), request["function"])
    with ExitStack() as patches:
        for place in stop["places"]:
            patches.enter_context(patch.object(Replacement, place, stopped(place, stop)))
        yield from work(request["request"], batches)


def stopped(place: str, stop: dict[str, Any]) -> Callable[..., Any]:
    original = getattr(Replacement, place)

    def method(self: Replacement, *arguments: Any) -> Any:
        if os.path.basename(self.path) == stop["name"]:
            ask(stop["port"], place)
        return original(self, *arguments)

    return method


def ask(port: int, place: str) -> None:
    """Tell the test who has come so far, and wait for its answer, or to be killed."""
    task, executor = TaskContext.get(), os.getpid()
    assert task is not None
    while not is_java(executor):
        executor = parent_of(executor)
    about = {
        "attempt": task.attemptNumber(), "executor": executor, "place": place,
        "worker": parent_of(executor),
    }  # fmt: skip
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(json.dumps(about).encode() + b"\n")
        connection.recv(1)


def parent_of(process: int) -> int:
    return int(status_of(process)["PPid"])


def is_java(process: int) -> bool:
    return status_of(process)["Name"] == "java"


def status_of(process: int) -> dict[str, str]:
    with open(f"/proc/{process}/status") as lines:
        return {name: value for name, _, value in (line.strip().partition(":\t") for line in lines)}
