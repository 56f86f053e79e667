"""Programs of others that are servers: run on a free port of loopback while they are needed."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

PATIENCE_SECONDS = 120


@contextmanager
def started(
    command: Callable[[int], Sequence[str]],
    environment: Callable[[int], Mapping[str, str]] = lambda port: {},
    log: Path | None = None,
) -> Iterator[int]:
    """Run a server on a free port, which goes into its command and environment, and is returned once it
    listens. `log`: where what it says goes, and the folder that it runs in. Raises RuntimeError."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with (
        open(log or os.devnull, "wb") as said,
        subprocess.Popen(
            command(port),
            stdout=said,
            stderr=said,
            cwd=log and log.parent,
            env={**os.environ, **environment(port)},
        ) as server,
    ):
        try:
            until = time.monotonic() + PATIENCE_SECONDS
            while not _listens(port):
                if time.monotonic() > until or server.poll() is not None:
                    raise RuntimeError(f"{command(port)[0]}: it does not start")
                time.sleep(0.05)
            yield port
        finally:
            server.terminate()


def _listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
    except OSError:
        return False
    return True
