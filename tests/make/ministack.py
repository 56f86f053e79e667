"""ministack: an emulator of AWS by others, which honours conditions."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conftest import missing
from make.servers import started


@contextmanager
def running_ministack(services: str) -> Iterator[dict[str, str]]:
    """The storage options that reach it."""
    program = shutil.which("ministack", path=Path(sys.executable).parent)
    if program is None:
        missing("ministack")
    # By default it listens to everyone.
    fixed = {"BIND_HOST": "127.0.0.1", "SERVICES": services, "LOG_LEVEL": "ERROR"}
    with started(lambda _: [program], lambda port: {**fixed, "GATEWAY_PORT": str(port)}) as port:
        yield {
            "endpoint": f"http://127.0.0.1:{port}",
            "region": "us-east-1",
            "access_key_id": "KEY",
            "secret_access_key": "secret",
        }
