"""The Java that PySpark starts on this machine."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final

from pyspark import SparkContext, java_gateway

from parquet_bloom.errors import SparkError
from parquet_bloom.interruptions import undisturbed

_STDERR: Final = 2

# How Java, or the scripts that start it, say why there will be none; the rest is a stack trace,
# or says that this is the end.
_WHY: Final = re.compile(
    r"^(?:Exception in thread \S+ [\w.$]+: |Error: (?!Could not create|A (?:fatal|JNI))"
    r"|(?=Invalid |Unrecognized ))(.+)$",
    re.MULTILINE,
)


class _Stderr:
    """What a Java says there: kept while it starts, and then passed on as it comes."""

    def __init__(self, java: subprocess.Popen[bytes]) -> None:
        self._java = java
        self._kept: list[bytes] = []
        self._is_passed_on = False
        self._lock = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._java.stderr is not None
        # Nobody may read what is passed on.
        with suppress(OSError), self._java.stderr as lines:
            for line in lines:
                with self._lock:
                    if self._is_passed_on:
                        os.write(_STDERR, line)
                    else:
                        self._kept.append(line)

    def pass_on(self) -> None:
        """What was kept, and from now on everything."""
        with self._lock:
            os.write(_STDERR, b"".join(self._kept))
            self._is_passed_on = True

    def why(self) -> str | None:
        """Why there is no Java, if it has ended and says so; else what it says is passed on."""
        if self._java.poll() is None:
            return None
        self._reader.join()
        found = _WHY.search(b"".join(self._kept).decode(errors="replace"))
        if found is None:
            self.pass_on()
            return None
        return found[1]


@contextmanager
def starting() -> Iterator[None]:
    """End a Java that is still starting when this is interrupted: it would find no place to say where it listens, and
    go on for ever. Once PySpark is connected, it sees by itself that nobody is there any more, and cleans up. Raises
    SparkError with the words of a Java that does not start, which PySpark does not know."""
    started: list[subprocess.Popen[bytes]] = []
    told: list[_Stderr] = []

    def start(*arguments: Any, **settings: Any) -> subprocess.Popen[bytes]:
        # An exception in the midst of a fork is lost, or the process.
        with undisturbed():
            started.append(subprocess.Popen(*arguments, **settings | {"stderr": subprocess.PIPE}))
            told.append(_Stderr(started[-1]))
        return started[-1]

    names = vars(java_gateway)
    before = names["Popen"]
    names["Popen"] = start
    try:
        yield
    except Exception as error:
        # The error of one that has started says what is wrong.
        for each in told:
            if why := each.why():
                raise SparkError(f"no Spark session: {why}") from error
        raise
    except KeyboardInterrupt:
        if SparkContext._gateway is None:
            for java in started:
                java.kill()
                java.wait()
        raise
    else:
        for each in told:
            each.pass_on()
        _let_hang_up()
    finally:
        names["Popen"] = before


def _let_hang_up() -> None:
    """Let PySpark print no traceback where it waits for the next accumulator of a Java that has gone: whoever waits
    for what it does says so."""
    server = getattr(SparkContext._active_spark_context, "_accumulatorServer", None)
    if server is None:
        return
    tell = server.handle_error

    def tell_others(request: Any, client_address: Any) -> None:
        if not isinstance(sys.exc_info()[1], (EOFError, ConnectionError)):
            tell(request, client_address)

    server.handle_error = tell_others
