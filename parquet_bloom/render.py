"""What a person sees: tables on a terminal, tab-separated lines in a pipe, JSON, progress bars.

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
from typing import TYPE_CHECKING, Any, TextIO

from parquet_bloom.errors import ParquetBloomError

if TYPE_CHECKING:
    from parquet_bloom.verbs.build import BuildReport, BuiltFilter, SkippedChunk
    from parquet_bloom.verbs.inspect import ColumnInspection, FileInspection
    from parquet_bloom.verbs.probe import BlockExplanation, ProbeReport
    from parquet_bloom.verbs.strip import StripReport

# Nothing shorter than this needs a progress bar.
PATIENCE_SECONDS = 1.0

Row = Sequence[str]


# C0, DEL and C1, which move cursors, paint terminals and end lines.
_ESCAPES = {code: f"\\x{code:02x}" for code in (*range(0x20), *range(0x7F, 0xA0))}
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
    fields = document if isinstance(document, dict) else asdict(document)
    with standard_output() as out:
        # JSON is UTF-8; a stream that is anything else gets what is the same in all of them.
        in_ascii = out.encoding.lower() != "utf-8"
        out.write(json.dumps(fields, ensure_ascii=in_ascii, allow_nan=False) + "\n")


def complain(message: str) -> None:
    """One line on stderr."""
    # If nobody reads stderr either, there is nobody to tell.
    with suppress(OSError):
        if sys.stderr is not None:
            sys.stderr.write(f"pbloom: {printable(message.strip())}\n")
            sys.stderr.flush()


def complaint(error: Exception) -> str:
    """What went wrong, for the one who ran the command."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ParquetBloomError | ValueError | OSError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    return f"internal error, please report: {type(error).__name__}: {error}"


def complaint_about(path: str, error: Exception) -> str:
    """The same for one file among many, which it names if the error does not."""
    message = complaint(error)
    names_a_file = isinstance(error, ParquetBloomError) or getattr(error, "filename", None)
    return message if names_a_file or path in message else f"{path}: {message}"


def printable(text: str) -> str:
    """`text` with control characters as escapes."""
    return text.translate(_ESCAPES)


def write_table(header: Row, rows: Sequence[Row]) -> None:
    """A table on a terminal; in a pipe the header and rows, tab-separated and complete."""
    if not sys.stdout.isatty():
        for row in [header, *rows]:
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


def size(num_bytes: int) -> str:
    """Bytes for people: `2.0 MiB`."""
    amount = float(num_bytes)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if abs(amount) < 1024:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} TiB"


def percent(fraction: float) -> str:
    """`1.05 %`, with two significant digits."""
    return f"{100 * fraction:.2g} %"


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


def write_build(report: BuildReport) -> None:
    """What was added to one file, by column; what was skipped, by reason."""
    target = report.output or f"{report.path} (dry run)"
    write_line(
        f"{target}: {len(report.filters)} filters, {size(report.bytes_added)} added"
        f" ({percent(report.bytes_added / report.size_before)}), {report.seconds:.2f} s"
    )
    if report.filters:
        write_table(
            ("column", "filters", "bytes", "largest", "highest FPP"),
            [
                _column_row(column, [item for item in report.filters if item.column == column])
                for column in dict.fromkeys(item.column for item in report.filters)
            ],
        )
    for line in _skipped_lines(report.skipped):
        write_line(line)


def _column_row(column: str, filters: list[BuiltFilter]) -> Row:
    return (
        column,
        str(len(filters)),
        size(sum(item.length for item in filters)),
        size(max(item.num_bytes for item in filters)),
        percent(max(item.fpp for item in filters)),
    )


def _skipped_lines(skipped: Sequence[SkippedChunk]) -> list[str]:
    groups: dict[tuple[str, str], list[str]] = {}
    for chunk in skipped:
        groups.setdefault((chunk.column, chunk.reason), []).append(str(chunk.row_group))
    return [
        f"skipped {column}, row groups {_shortened(row_groups)}: {reason}"
        for (column, reason), row_groups in groups.items()
    ]


def _shortened(items: Sequence[str]) -> str:
    shown = ", ".join(items[:10])
    return f"{shown}, … ({len(items)} in all)" if len(items) > 10 else shown


def write_inspection(report: FileInspection) -> None:
    """One line about the file, then one row per column chunk."""
    write_line(
        f"{report.path}: {report.num_rows:,} rows in {report.num_row_groups} row groups,"
        f" {size(report.size)}, written by {report.created_by or 'an unnamed writer'};"
        f" filters take {size(report.filter_bytes)} ({percent(report.filter_share)})"
    )
    write_table(
        ("group", "column", "type", "chunk", "filter", "offset", "fill", "FPP", "NDV", "note"),
        [
            (str(group.row_group), *_inspection_row(column))
            for group in report.row_groups
            for column in group.columns
        ],
    )


def _inspection_row(column: ColumnInspection) -> Row:
    found = column.filter
    about = (
        column.column,
        column.logical_type or column.physical_type,
        size(column.chunk_bytes or 0),
    )
    if found is None:
        return (*about, "", "", "", "", "", column.reason or "")
    return (
        *about,
        size(found.num_bytes),
        str(found.offset),
        percent(found.fill),
        percent(found.fpp),
        "all bits set" if found.ndv_estimate is None else f"{found.ndv_estimate:,.0f}",
        "" if found.length is not None else "bloom_filter_length is missing",
    )


def write_probe(report: ProbeReport) -> None:
    """One row per value: the verdict, and the row groups that remain."""
    write_line(f"{report.path}: {report.column}, {report.bytes_read:,} bytes read")
    write_table(("value", "verdict", "row groups to read", "rows to read", "reason"), [
        (
            result.value,
            result.verdict,
            _shortened([str(g.row_group) for g in result.row_groups if g.verdict != "absent"]),
            str(result.rows_to_read),
            next((group.reason for group in result.row_groups if group.reason), "") or "",
        )
        for result in report.results
    ])  # fmt: skip


def write_rows_to_read(report: ProbeReport) -> None:
    """`path, row group, rows` for each row group that any of the values may be in."""
    worth = {
        group.row_group: group.num_rows
        for result in report.results
        for group in result.row_groups
        if group.verdict != "absent"
    }
    for row_group in sorted(worth):
        write_line(report.path, str(row_group), str(worth[row_group]))


def write_explanations(path: str, explanations: Sequence[BlockExplanation]) -> None:
    """One row per stored form of a value and row group."""
    write_line(path)
    write_table(
        ("row group", "value", "stored bytes", "XXH64", "block", "bits of words 0 to 7",
         "clear in words", "reason"),
        [
            (
                str(item.row_group),
                item.value,
                item.plain,
                item.hash,
                "" if item.block is None else f"{item.block} of {item.num_blocks}",
                " ".join(str(bit) for bit in item.bits),
                " ".join(str(word) for word in item.clear),
                item.reason or "",
            )
            for item in explanations
        ],
    )  # fmt: skip


def write_strip(report: StripReport) -> None:
    target = report.output or f"{report.path} (dry run)"
    write_line(
        f"{target}: {len(report.removed)} filters removed, {size(report.bytes_removed)} less,"
        f" {report.seconds:.2f} s"
    )
