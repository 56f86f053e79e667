"""A shell on a terminal, on which somebody types a command with the Tab key."""

import os
import pty
import select
import signal
import sys
import time
from pathlib import Path
from typing import Self

from make.commands import PATIENCE_SECONDS

# Without what whoever runs the tests has set up; what a shell answers to is its own completion.
_STARTED = {
    "bash": (["bash", "--norc", "--noprofile", "-i"], 'eval "$(pbloom completion bash)"'),
    "zsh": (
        ["zsh", "-f", "-i"],
        'autoload -U compinit; compinit -u; eval "$(pbloom completion zsh)"',
    ),
    "fish": (["fish", "--no-config", "-i"], "pbloom completion fish | source"),
}

# Completes, and keeps the words that it was given otherwise.
_PBLOOM = """\
#!/bin/sh
if [ -n "$_PBLOOM_COMPLETE" ] || [ "$1" = completion ]; then exec {python} -m parquet_bloom "$@"; fi
printf '%s\\0' "$@" > {folder}/words.new
mv {folder}/words.new {folder}/words
"""


class Shell:
    """A context manager; `folder`: where it runs."""

    def __init__(self, name: str, folder: Path) -> None:
        self._words = folder / "words"
        (folder / "bin").mkdir()
        program = folder / "bin" / "pbloom"
        program.write_text(_PBLOOM.format(python=sys.executable, folder=folder))
        program.chmod(0o755)
        command, setup = _STARTED[name]
        environment = os.environ | {
            "PATH": f"{folder / 'bin'}:{os.environ['PATH']}",
            "HOME": str(folder),
            "TERM": "xterm",
            "LC_ALL": "C.UTF-8",
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        self._pid, self._terminal = pty.fork()
        if self._pid == 0:
            os.chdir(folder)
            os.execvpe(command[0], command, environment)
        # What is typed before a shell reads keys is not all kept.
        self._read_until(time.monotonic() + 1)
        assert self.words(f"{setup}; pbloom ready") == ["ready"]

    def words(self, line: str) -> list[str] | None:
        """What pbloom is given by a line, with tabs where the key is pressed; None if the shell waits for more."""
        self._words.unlink(missing_ok=True)
        os.write(self._terminal, f"{line}\n".encode())
        self._read_until(time.monotonic() + PATIENCE_SECONDS)
        if not self._words.exists():
            os.write(self._terminal, b"\x03")
            self._read_until(time.monotonic() + 1)
            return None
        return self._words.read_text().split("\0")[:-1]

    def _read_until(self, end: float) -> None:
        """Take what the shell shows, until there are words or it is too late."""
        while time.monotonic() < end and not self._words.exists():
            if select.select([self._terminal], [], [], 0.05)[0]:
                os.read(self._terminal, 65536)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._terminal)
