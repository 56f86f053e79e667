"""`pbloom build` on object stores, in processes that can be killed, and need not import what it uses.

    python -m make.killed

Each line of stdin has, as Python writes it, what a child is: its arguments, what of modules is set, and the file for
its stderr. To stdout goes its process id, and at its end its exit code. The process that forks is this
one, which has one thread: that of the tests has threads of Arrow's, and maybe a JVM.
"""

import os
import signal
import subprocess
import sys
from ast import literal_eval
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

IMPORTED = (
    "parquet_bloom.commands.build",
    "parquet_bloom.parquet.edit.build",
    "parquet_bloom.parquet.filters.builder",
    "parquet_bloom.storage.objects.azure_adapter",
    "parquet_bloom.storage.objects.gcs_adapter",
    "parquet_bloom.storage.objects.s3_adapter",
)

# A module, one of its names, and the value.
Setting = tuple[str, str, Any]


class Commands:
    """Starts them, one after the other."""

    def __init__(self, server: "subprocess.Popen[str]", folder: Path) -> None:
        self._server, self._stderr = server, folder / "stderr"
        self._pid: Future[int] = Future()

    def kill(self, number: signal.Signals) -> None:
        """Send a signal to the one that runs, or will have been started in a moment."""
        os.kill(self._pid.result(), number)

    def run(self, arguments: Sequence[str], settings: Sequence[Setting]) -> tuple[int, str]:
        """The exit code, as that of a Popen, and what was written to stderr."""
        assert self._server.stdin is not None
        assert self._server.stdout is not None
        request = [*arguments], [*settings], str(self._stderr)
        print(request, file=self._server.stdin, flush=True)
        self._pid.set_result(int(self._server.stdout.readline()))
        code = int(self._server.stdout.readline())
        self._pid = Future()
        return code, self._stderr.read_text()


@contextmanager
def commands() -> Iterator[Commands]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with (
        TemporaryDirectory() as folder,
        subprocess.Popen(
            [sys.executable, "-m", "make.killed"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment,
        ) as server,
    ):  # fmt: skip
        yield Commands(server, Path(folder))


def requested() -> tuple[list[str], list[Setting], str]:
    """Returns in each child, with what it was asked for."""
    assert len(os.listdir("/proc/self/task")) == 1, "threads do not survive a fork"
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            arguments, settings, stderr = literal_eval(line)
            return arguments, settings, stderr
        tell(child)
        tell(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    os._exit(0)


def tell(number: int) -> None:
    os.write(1, b"%d\n" % number)


def main() -> None:
    for module in IMPORTED:
        import_module(module)
    arguments, settings, stderr = requested()
    nothing = os.open(os.devnull, os.O_RDWR)
    said = os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for descriptor, place in ((nothing, 0), (nothing, 1), (said, 2)):
        os.dup2(descriptor, place)
    for module, name, value in settings:
        setattr(import_module(module), name, value)
    sys.argv = ["pbloom", *arguments]
    from parquet_bloom import cli

    cli.main()


if __name__ == "__main__":
    main()
