"""The way out: tables on a terminal, tab-separated lines in a pipe, JSON, progress bars.

The only place that knows rich. Everything here writes; nothing here computes. Names and values come
from files, so their control characters are escaped wherever text goes out.
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

# Nothing shorter than this needs a progress bar.
PATIENCE_SECONDS = 1.0

# A cell is None where there is no such thing.
Row = Sequence[str | None]


# C0, DEL and C1, which move cursors, paint terminals and end lines.
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
# What turns the direction of the text behind it.
_ESCAPES |= {
    code: f"\\u{code:04x}"
    for code in (0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
_ESCAPES |= {ord("\t"): "\\t", ord("\n"): "\\n", ord("\r"): "\\r"}


class StandardOutputError(OSError):
    """The answer cannot be written, which is the end of the command, not of one file."""


class NobodyReadsError(StandardOutputError):
    """The reader has seen enough, like `head`: no trouble, and no answer either."""


@contextmanager
def standard_output() -> Iterator[TextIO]:
    """stdout, whose errors are StandardOutputErrors; one error is that there is none."""
    if sys.stdout is None:
        raise StandardOutputError(errno.EBADF, "is closed", "standard output")
    try:
        yield sys.stdout
    except OSError as error:
        _abandon_standard_output()
        kind = NobodyReadsError if error.errno == errno.EPIPE else StandardOutputError
        raise kind(error.errno, error.strerror, "standard output") from None


def _abandon_standard_output() -> None:
    """What is buffered goes nowhere: the interpreter would complain of it when it ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prepare() -> None:
    """Before anything is done: there is a stdout, and no name of a file is trouble afterwards."""
    with standard_output() as out:
        for stream in (out, sys.stderr):
            # A name need not be UTF-8.
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="backslashreplace")


def flush() -> None:
    with standard_output() as out:
        out.flush()


def write_bytes(data: bytes) -> None:
    with standard_output() as out:
        out.buffer.write(data)


def write_line(*cells: str) -> None:
    """Cells with tabs between them."""
    with standard_output() as out:
        out.write("\t".join(map(printable, cells)) + "\n")


def write_json(document: Any) -> None:
    """One document on one line."""
    from parquet_bloom.verbs.documents import as_json

    fields = document if isinstance(document, dict) else asdict(document)
    with standard_output() as out:
        # JSON is UTF-8; a stream that is anything else gets what is the same in all of them.
        in_ascii = out.encoding.lower() != "utf-8"
        out.write((json.dumps(fields) if in_ascii else as_json(fields)) + "\n")


def complain(message: str) -> None:
    """One line on stderr."""
    # If nobody reads stderr either, there is nobody to tell.
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"pbloom: {printable(message.strip())}\n")
            sys.stderr.flush()


def printable(text: str) -> str:
    """`text` with control characters as escapes."""
    return text.translate(_ESCAPES)


def write_table(header: Row, rows: Sequence[Row]) -> None:
    """A table on a terminal; in a pipe the header and rows, tab-separated and complete. A column is
    left out that has a cell in no row."""
    there = [any(row[at] is not None for row in rows) for at in range(len(header))]
    kept = there if rows else [True] * len(header)
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
    """A progress bar on a terminal's stderr, once it has been worth the wait."""
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
