"""`pbloom` in this process and in one of its own, and what it must do with any file."""

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

import parquet_bloom as pb
from parquet_bloom.commands.pbloom import cli

NO_ADVICE = re.compile(r": no column that advise would build; `pbloom advise .*` says why$")

# For a machine on which much else is going on.
PATIENCE_SECONDS = 300


@dataclass(frozen=True)
class Outcome:
    """What the command did: its exit code, and the two streams."""

    code: int
    stdout: str
    stderr: str
    stdout_bytes: bytes = b""

    @property
    def output(self) -> str:
        return self.stdout + self.stderr

    @property
    def complaint(self) -> str:
        """The only line on stderr, but for what `build --auto` says before it builds; anything but
        one clear line is a failure."""
        lines = [line for line in self.stderr.splitlines() if not NO_ADVICE.search(line)]
        assert len(lines) == 1, self
        assert lines[0].startswith("pbloom: "), self
        assert "internal error" not in lines[0], self
        assert "Traceback" not in self.output, self
        return lines[0].removeprefix("pbloom: ")


def outcome(
    *arguments: object,
    program: click.Command = cli,
    environment: Mapping[str, str | None] | None = None,
    input: str | None = None,
) -> Outcome:
    """Run `pbloom` with these arguments in this process."""
    texts = [str(each) for each in arguments]
    result = CliRunner().invoke(program, texts, input, environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr, result.stdout_bytes)


# What a process does before it is the command: no code of ours runs between fork and exec, where
# the threads of this process are gone and their locks are not.
LIMITED = """
import resource, runpy, sys
# What is too large would be cut there, and be found by whoever imports it next.
sys.dont_write_bytecode = True
for name, limit in {limits}.items():
    resource.setrlimit(getattr(resource, name), (limit, limit))
runpy.run_module("parquet_bloom", run_name="__main__", alter_sys=True)
"""


def pbloom(
    *arguments: object,
    address_space: int | None = None,
    file_size: int | None = None,
    timeout: float = PATIENCE_SECONDS,
    **more: Any,
) -> Outcome:
    """Run the command in a process of its own, within limits. `more`: as of subprocess.run."""
    limits = {"RLIMIT_AS": address_space, "RLIMIT_FSIZE": file_size}
    limits = {name: limit for name, limit in limits.items() if limit is not None}
    program = ["-c", LIMITED.format(limits=limits)] if limits else ["-m", "parquet_bloom"]
    done = subprocess.run(
        [sys.executable, *program, *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, check=False, **more,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr)


END = b"\x00end"


def on_a_terminal(columns: int, *arguments: object, code: int = 0) -> list[str]:
    """The lines that the command shows on a terminal of some width, without what moves the cursor
    or colours the text."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", sent_to_a_terminal(columns, *arguments, code=code))
    return [line.rstrip() for line in text.splitlines()]


def sent_to_a_terminal(columns: int, *arguments: object, code: int = 0) -> str:
    """All that a terminal of some width gets from the command, which ends with an exit code."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    unwanted = {"COLUMNS", "NO_COLOR", "FORCE_COLOR"}
    environment = {name: value for name, value in os.environ.items() if name not in unwanted}
    with subprocess.Popen(
        [sys.executable, "-m", "parquet_bloom", *map(str, arguments)],
        stdin=theirs, stdout=theirs, stderr=subprocess.DEVNULL,
        env=environment | {"TERM": "xterm", "PYTHONUTF8": "1"},
    ) as process:  # fmt: skip
        # What is in a terminal may be lost if nobody else has it open: it ends when this has come through.
        end = threading.Thread(target=lambda: (process.wait(), os.write(theirs, END)))
        end.start()
        shown = b""
        while not shown.endswith(END):
            shown += os.read(ours, 1 << 16)
        end.join()
    os.close(theirs)
    os.close(ours)
    assert process.returncode == code
    return shown.removesuffix(END).decode().replace("\r", "")


# ------------------------------------------------------------------------------------------------
# Whatever the file is


def run_printed(text: str) -> list[str]:
    """Run the commands that are printed in backticks, as `next:`, in order, with `moved` for FILE..."""
    printed = [
        found[0] or found[1] for found in re.findall(r"`(pbloom .*?)`|next: (pbloom .*)", text)
    ]
    for each in printed:
        words = shlex.split(each.replace("FILE...", "moved"))[1:]
        told = outcome(*words)
        assert told.code == 0, (each, told)
    return printed


def commands(path: Path, output: Path) -> list[tuple[object, ...]]:
    """Every way to make the command read a file."""
    build = ("build", path, "-c", "a,s,l.list.element", "-o", output, "--overwrite")
    return [
        ("inspect", path),
        ("probe", path, "-c", "a", "-v", "7"),
        ("probe", path, "-c", "s", "-v", "z"),
        (*build, "--existing", "keep"),
        (*build, "--existing", "replace"),
        ("strip", path, "-o", output, "--overwrite"),
        ("dump", path, "-c", "a"),
        ("dump", path, "--footer"),
        ("dump", path, "--footer", "--json"),
        ("validate", path, "--diagnose", "--no-config"),
        ("validate", path, "--no-deep", "--no-config", "--json"),
        ("repair", path, "-o", output, "--overwrite"),
        ("repair", path, "--rebuild", "-o", output, "--overwrite"),
        ("diff", path, path),
        ("advise", path),
        ("build", path, "--auto", "-o", output, "--overwrite"),
        ("report", path, "-o", output.with_suffix(".html"), "--overwrite"),
        ("inspect", path, "--histogram"),
    ]


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones included, with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def refuses(path: Path, *names: str) -> str:
    """Every command refuses `path` in one line that names it, and leaves nothing; the last line."""
    before = files_in(path.parent)
    output = path.parent / "out.parquet"
    complaint = ""
    for arguments in commands(path, output):
        result = outcome(*arguments)
        assert result.code == 2, (arguments, result)
        complaint = result.complaint
        assert complaint.startswith(f"{path}: "), complaint
        assert result.stdout == ""
        for name in names:
            assert name in complaint
    assert files_in(path.parent) == before
    return complaint


def build_refused(path: Path, column: str = "a") -> str:
    """build refuses `path` in one line that names it, and leaves nothing; that line."""
    before = files_in(path.parent)
    result = outcome("build", path, "-c", column, "-o", path.parent / "out.parquet")
    assert result.code == 2, result
    assert files_in(path.parent) == before
    assert result.complaint.startswith(f"{path}: "), result
    return result.complaint


def survives(path: Path, turn: int | None = None) -> None:
    """Every command gives a right answer or one line, and `absent` is never wrong.

    turn: which quarter of the commands is run, where there are many files to run some on."""
    output = path.parent / "out.parquet"
    every = commands(path, output)
    for arguments in every if turn is None else every[turn % 4 :: 4]:
        result = outcome(*arguments)
        assert result.code in (0, 1, 2), (arguments, result)
        if result.code == 2:
            assert result.complaint.startswith(f"{path}: "), (arguments, result)
    for written in (output, output.with_suffix(".html")):
        written.unlink(missing_ok=True)
    assert os.listdir(path.parent) == [path.name]


def verdicts(path: Path, column: str, value: object) -> list[str]:
    with pb.open(path) as file:
        return [group.verdict for group in file.probe(column, value)]
