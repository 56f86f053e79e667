"""ministack: an emulator of AWS by others, which honours conditions."""

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import missing

PATIENCE_SECONDS = 60


@contextmanager
def running_ministack(services: str) -> Iterator[dict[str, str]]:
    """The storage options that reach it."""
    program = shutil.which("ministack", path=Path(sys.executable).parent)
    if program is None:
        missing("ministack")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    # By default it listens to everyone.
    environment = os.environ | {"BIND_HOST": "127.0.0.1", "GATEWAY_PORT": str(port)}
    environment |= {"SERVICES": services, "LOG_LEVEL": "ERROR"}
    with subprocess.Popen(
        [program], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as server:
        try:
            until = time.monotonic() + PATIENCE_SECONDS
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), 1).close()
                    break
                except OSError:
                    assert time.monotonic() < until
                    time.sleep(0.05)
            yield {
                "endpoint": f"http://127.0.0.1:{port}",
                "region": "us-east-1",
                "access_key_id": "KEY",
                "secret_access_key": "secret",
            }
        finally:
            server.terminate()
