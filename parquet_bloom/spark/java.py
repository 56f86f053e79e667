"""The Java that PySpark starts on this machine."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import SparkContext, java_gateway

from parquet_bloom.interruptions import undisturbed


@contextmanager
def ended_if_interrupted() -> Iterator[None]:
    """End a Java that is still starting when this is interrupted: it would find no place to say where it listens, and
    go on for ever. Once PySpark is connected, it sees by itself that nobody is there any more, and cleans up."""
    started: list[subprocess.Popen[bytes]] = []

    def start(*arguments: Any, **settings: Any) -> subprocess.Popen[bytes]:
        # An exception in the midst of a fork is lost, or the process.
        with undisturbed():
            started.append(subprocess.Popen(*arguments, **settings))
        return started[-1]

    names = vars(java_gateway)
    before = names["Popen"]
    names["Popen"] = start
    try:
        yield
    except KeyboardInterrupt:
        if SparkContext._gateway is None:
            for java in started:
                java.kill()
                java.wait()
        raise
    finally:
        names["Popen"] = before
