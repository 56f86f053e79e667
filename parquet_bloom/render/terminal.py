"""All output: tables on a terminal, tab-separated lines in a pipe, JSON, progress bars.

Only this module uses rich. Names and values come from files, so control characters are escaped in
all text.
"""

from __future__ import annotations

import errno
import io
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from itertools import compress
from typing import Any, TextIO

# Shorter work needs no progress bar.
PATIENCE_SECONDS = 1.0

# A cell is None if it does not apply.
Row = Sequence[str | None]

# C0, DEL and C1, which move cursors, paint terminals and end lines.
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
# Characters that change the direction of the text after them.
_ESCAPES |= {
    code: f"\\u{code:04x}"
    for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_ESCAPES |= {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}


class StandardOutputError(OSError):
    """The answer cannot be written, which ends the command, not only the file."""


class NobodyReadsError(StandardOutputError):
    """The reader, such as `head`, has seen enough: no trouble, and no answer either."""


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """stdout, whose errors become StandardOutputErrors, even the lack of it."""
    if sys.stdout is None:
        raise StandardOutputError(errno.EBADF, "is closed", "standard output")
    try:
        yield sys.stdout
    except OSError as error:
        _abandon_standard_output()
        kind = NobodyReadsError if error.errno == errno.EPIPE else StandardOutputError
        raise kind(error.errno, error.strerror, "standard output") from None


def _abandon_standard_output() -> None:
    """Throw away what is buffered, or the interpreter would complain when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare() -> None:
    """Make sure that there is a stdout, and that it can take any file name."""
    with standard_output() as out:
        for stream in (out, sys.stderr):
            # File names need not be UTF-8.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    with standard_output() as out:
        out.flush()


def write_bytes(data: bytes) -> None:
    with standard_output() as out:
        out.buffer.write(data)


def write_line(*cells: str) -> None:
    """Cells separated by tabs."""
    with standard_output() as out:
        out.write("\t".join(map(printable, cells)) + "\n")


def write_json(document: Any) -> None:
    """One document on one line."""
    from parquet_bloom.verbs.documents import as_json

    fields = document if isinstance(document, dict) else asdict(document)
    with standard_output() as out:
        # JSON is UTF-8; ASCII is the same in any other encoding.
        in_ascii = out.encoding.lower() != "utf-8"
        out.write((json.dumps(fields) if in_ascii else as_json(fields)) + "\n")


def complain(message: str) -> None:
    """One line on stderr."""
    # Without a stderr there is nobody to tell.
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"pbloom: {printable(message.strip())}\n")
            sys.stderr.flush()


def complain_if_unverified(path: str, reason: str | None) -> None:
    """`reason`: why the footer is not verified, None if it is."""
    if reason is not None:
        complain(f"{path}: footer signature not verified: {reason}")


def printable(text: str) -> str:
    """`text` with control characters escaped."""
    return text.translate(_ESCAPES)


def write_table(header: Row, rows: Sequence[Row]) -> None:
    """A table on a terminal; in a pipe, header and rows separated by tabs and never cut. Columns
    without a cell are left out."""
    kept = [not rows or any(row[at] is not None for row in rows) for at in range(len(header))]
    header, *rows = ([cell or "" for cell in compress(row, kept)] for row in (header, *rows))
    if not sys.stdout.isatty():
        for row in (header, *rows):
            write_line(*row)
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    with standard_output() as out:
        Console(file=out).print(table)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None]]:
    """A progress bar on stderr if that is a terminal and the work takes long enough."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=False) as bars:
        started = time.monotonic()
        task = bars.add_task(escape(printable(label)), visible=False, total=None)

        def show(done: int, total: int) -> None:
            late = time.monotonic() - started > PATIENCE_SECONDS
            bars.update(task, completed=done, total=total, visible=late)

        yield show
