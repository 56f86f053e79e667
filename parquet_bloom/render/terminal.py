"""All output: tables on a terminal, tab-separated lines in a pipe, JSON, progress bars.

Names and values come from files, so control characters are escaped in all text.
"""

from __future__ import annotations

import errno
import io
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import (
    AbstractContextManager,
    contextmanager,
    nullcontext,
    redirect_stdout,
    suppress,
)
from importlib.util import find_spec
from itertools import compress
from typing import TYPE_CHECKING, Final, TextIO
from unicodedata import category

from parquet_bloom.errors import quoted_name, without_secrets
from parquet_bloom.interruptions import undisturbed
from parquet_bloom.render.palette import (
    HEADINGS,
    are_refused,
    in_color,
    is_dumb,
    painted,
    without_colors,
)
from parquet_bloom.render.shell_words import for_shells, in_short
from parquet_bloom.render.table import (
    NAMES,
    cut,
    fitted,
    folded,
    lines,
    natural_widths,
    not_whole,
    records,
)
from parquet_bloom.render.wording import shortened

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer
    from rich.progress import Progress, ProgressColumn, Task, TaskID

# What a terminal shows of a long table.
MOST_ROWS = 40
# The headings of columns whose texts are given whole below, where there is no room for them, and how many of them.
_REMARKS: Final = ("reason", "note", "skipped")
_MOST_REMARKS: Final = 10

# Shorter work needs no progress bar.
PATIENCE_SECONDS = 1.0
# Bars are drawn again that long after they were, where lines are written one after the other: to draw them takes
# longer than to look into a small file.
REST_SECONDS = 0.2

# What cells become below headings that say what they are: a name is never nothing.
_SHOWN: Final[Mapping[str, Callable[[str], str]]] = {
    **dict.fromkeys(HEADINGS, painted),
    NAMES[0]: lambda name: name or quoted_name(""),
}

# A row of a table; a cell is None if it does not apply.
Cells = Sequence[str | None]

# Control characters, which move cursors, paint terminals and end lines; format characters, which cannot be seen or
# change the direction of the text after them; and what ends lines for some.
_UNSEEN: Final = frozenset(("Cc", "Cf", "Zl", "Zp"))


class _Escapes(dict[int, str]):
    """What becomes of characters, found out once for each."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        is_unseen = category(character) in _UNSEEN
        self[code] = character.encode("unicode_escape").decode() if is_unseen else character
        return self[code]


_escapes = _Escapes()

# What tables have besides names, numbers and text.
_IN_ASCII = str.maketrans({"…": "~", "─": "-", "→": ">", "±": "~"})


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
        with _without_bars():
            yield sys.stdout
    except OSError as error:
        _abandon_standard_output()
        kind = NobodyReadsError if error.errno == errno.EPIPE else StandardOutputError
        raise kind(error.errno, error.strerror, error.filename or "standard output") from None


def _abandon_standard_output() -> None:
    """Throw away what is buffered, or the interpreter would complain when it exits."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _Sink(io.RawIOBase):
    """Passes bytes on as long as anybody wants them."""

    def __init__(self, take: Callable[[bytes], object]) -> None:
        self.take: Callable[[bytes], object] | None = take

    def writable(self) -> bool:
        return True

    def write(self, data: ReadableBuffer) -> int:
        if self.take is not None:
            self.take(bytes(data))
        return memoryview(data).nbytes


@contextmanager
def answering_to(take: Callable[[bytes], object]) -> Iterator[None]:
    """The answer goes to `take` instead of standard output, as into a pipe."""
    sink = _Sink(take)
    out = io.TextIOWrapper(io.BufferedWriter(sink), "utf-8", "backslashreplace", newline="")
    try:
        with redirect_stdout(out), without_colors():
            yield
        out.flush()
    finally:
        sink.take = None


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
        out.write(_line(cells))


def _line(cells: Iterable[str]) -> str:
    return in_color("\t".join(map(printable, cells))) + "\n"


def write_text(text: str) -> None:
    """A line to be read: a terminal that is narrower has it folded between words. What can be pasted
    into a shell stays on one line, see hints; of very many columns in it, a terminal has the first."""
    if not sys.stdout.isatty():
        write_line(text)
        return
    shown = printable(in_short(text, "--verbose and a pipe show all"))
    # All at once: no bar comes between its lines.
    with standard_output() as out:
        out.writelines(f"{in_color(line)}\n" for line in folded(shown, terminal_columns()))


def terminal_columns() -> int:
    """How wide the terminal is, or COLUMNS says that it is."""
    from shutil import get_terminal_size

    return get_terminal_size().columns


def write_json(document: object) -> None:
    """One document, or a report as one, on one line."""
    import json

    from parquet_bloom.verbs.documents import as_json

    line = as_json(document)
    with standard_output() as out:
        # JSON is UTF-8; ASCII is the same in any other encoding.
        if out.encoding.lower() != "utf-8":
            line = json.dumps(json.loads(line)).encode()
        out.flush()
        out.buffer.write(line)
        out.buffer.write(b"\n")


def complain(message: str) -> None:
    """One line on stderr, with what helps."""
    from parquet_bloom.render.hints import in_options, with_hint

    # Without a stderr there is nobody to tell.
    with suppress(OSError):
        if sys.stderr is not None:
            with _without_bars():
                said = without_secrets(with_hint(in_options(message.strip())))
                text = f"pbloom: {printable(said)}"
                is_terminal = sys.stderr.isatty()
                folds = folded(text, terminal_columns()) if is_terminal else [text]
                sys.stderr.writelines(f"{line}\n" for line in folds)
                sys.stderr.flush()


def write_traceback(error: BaseException) -> None:
    """Where an error comes from, on stderr; for those who look for its cause."""
    import traceback

    with suppress(OSError):
        if sys.stderr is not None:
            with _without_bars():
                for lines in traceback.format_exception(error):
                    shown = (printable(without_secrets(line)) for line in lines.splitlines())
                    sys.stderr.writelines(f"{line}\n" for line in shown)


def printable(text: str) -> str:
    """`text` with control characters escaped, in commands as shells take them."""
    return text if text.isprintable() else for_shells(text).translate(_escapes)


def is_cut(num_rows: int) -> bool:
    """Whether a terminal shows the first of so many rows only."""
    return num_rows > MOST_ROWS and sys.stdout.isatty()


def write_table(
    header: Cells,
    rows: Sequence[Cells],
    gives: Sequence[str] = (),
    full: bool = False,
    more: str = "",
    whole_in: str = "a pipe",
) -> None:
    """A table on a terminal; in a pipe, header and rows separated by tabs and never cut. Columns
    without a cell are left out, and on a terminal empty ones, too.

    `gives`: what gives way on a narrow terminal, see render.table. full: nothing does; where not all fits, each row
    becomes a record instead, as where names could not be told apart. more: what shows all rows, of which otherwise
    only MOST_ROWS are on a terminal. whole_in: where nothing gives way, if a pipe has another table.
    """
    kept = [not rows or any(row[at] is not None for row in rows) for at in range(len(header))]
    left = len(rows) - MOST_ROWS if more and not full and is_cut(len(rows)) else 0
    shown = [_SHOWN.get(name or "", str) for name in compress(header, kept)]
    table = [
        [
            "" if cell is None else show(cell)
            for show, cell in zip(shown, compress(row, kept), strict=True)
        ]
        for row in (header, *(rows[:MOST_ROWS] if left else rows))
    ]
    if not sys.stdout.isatty():
        with standard_output() as out:
            out.writelines(map(_line, table))
        return
    used = [not rows or any(column[1:]) for column in zip(*table, strict=True)]
    table = [[printable(cell) for cell in compress(row, used)] for row in table]
    room, natural = terminal_columns(), natural_widths(table)
    widths = fitted(table[0], natural, room, gives)
    short = None if full and widths != natural else cut(table, widths)
    for line in records(table, room) if short is None else lines(short):
        _write_row(line)
    if left:
        write_text(f"And {left:,} more rows: {more}.")
    if short is not None:
        _write_what_gave_way(table, widths, whole_in)


def _write_what_gave_way(
    table: Sequence[Sequence[str]], widths: Sequence[int], whole_in: str
) -> None:
    """The remarks that are not whole above, as their end says what to do; the names of other columns that are left
    out."""
    remarks = [
        f"{name}{f', {shortened(subjects)}' * bool(subjects)}: {text}"
        for name in _REMARKS
        for text, subjects in not_whole(table, widths, name).items()
    ]
    for remark in remarks[:_MOST_REMARKS]:
        write_text(remark)
    if len(remarks) > _MOST_REMARKS:
        write_text(
            f"and {len(remarks) - _MOST_REMARKS:,} more of them, which are whole in {whole_in}"
        )
    gone = [name for name, width in zip(table[0], widths, strict=True) if not width]
    if left_out := [name for name in gone if name not in _REMARKS]:
        write_text(f"Left out for lack of room, but not in {whole_in}: {', '.join(left_out)}.")


def _write_row(line: str) -> None:
    """A line of a table, in ASCII if the terminal has nothing else."""
    with standard_output() as out:
        is_unicode = out.encoding.lower().startswith("utf")
        out.write(in_color(line if is_unicode else line.translate(_IN_ASCII)) + "\n")


def load(as_json: bool) -> None:
    """Import what documents or tables need here: after the work, an import that failed would hide
    that it was done."""
    if as_json:
        from parquet_bloom.verbs import documents

        documents.as_json(None)
        return
    from parquet_bloom.render.hints import command

    command("repair")
    if sys.stdout is not None and sys.stdout.isatty():
        terminal_columns()


def no_progress(label: str) -> AbstractContextManager[Callable[[int, int], None]]:
    return nullcontext(_unshown)


def _unshown(done: int, total: int) -> None:
    return


def progress(label: str) -> AbstractContextManager[Callable[[int, int], None]]:
    """A progress bar on stderr if that is a terminal and the work takes long enough; within the work
    of another, below its bar."""
    return progress_in_words(lambda done, total: label)


def progress_in_words(
    said: Callable[[int, int], str],
) -> AbstractContextManager[Callable[[int, int], None]]:
    """The same, whose label says how far it is: `said` of what is done, and of all. None of 0 is not known
    yet."""
    # On a dumb terminal, each would be an empty line.
    has_bars = sys.stderr is not None and sys.stderr.isatty() and not is_dumb()
    if not _are_wanted or not has_bars or find_spec("rich") is None:
        return nullcontext(_unshown)
    return _shown(said)


# Whether there may be bars.
_are_wanted = True


@contextmanager
def without_progress() -> Iterator[None]:
    """However long it takes, no bar is shown meanwhile."""
    global _are_wanted
    before, _are_wanted = _are_wanted, False
    try:
        yield
    finally:
        _are_wanted = before


@contextmanager
def _shown(said: Callable[[int, int], str]) -> Iterator[Callable[[int, int], None]]:
    with _bars() as bars:
        started = time.monotonic()
        tasks: list[TaskID] = []

        def show(done: int, total: int) -> None:
            if time.monotonic() - started <= PATIENCE_SECONDS:
                return
            label = printable(said(done, total))
            # To add it draws all of them, which no small file is worth.
            if not tasks:
                with _writing, undisturbed():
                    tasks.append(bars.add_task(label, total=None))
            # Of one there is no part of which it is known whether it is done.
            bars.update(
                tasks[0], description=label, completed=done, total=total if total > 1 else None
            )
            _draw(bars)

        try:
            yield show
        finally:
            for task in tasks:
                bars.remove_task(task)


# The bars on the terminal, if there are any; and the last that were.
_live: list[Progress] = []
_last: list[Progress] = []


@contextmanager
def _bars() -> Iterator[Progress]:
    if _live:
        yield _live[0]
        return
    from rich.console import Console
    from rich.progress import Progress

    bars = Progress(
        _label(),
        *Progress.get_default_columns()[1:],
        console=Console(stderr=True, no_color=are_refused()),
        transient=True,
        disable=False,
        redirect_stdout=False,
        redirect_stderr=False,
        # The time left is told from all that was done: tasks on Spark may end minutes apart.
        speed_estimate_period=float("inf"),
    )
    try:
        _live.append(bars)
        yield bars
    finally:
        with undisturbed():
            _live.clear()
            bars.stop()


def _label() -> ProgressColumn:
    """What is shown of the label: on one line, and the first to be cut where there is no room for all."""
    from rich.progress import ProgressColumn
    from rich.text import Text

    class Label(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(task.description, "progress.description", no_wrap=True, overflow="ellipsis")

    return Label()


def show_cursor() -> None:
    """Once more, if there were bars: where ^C is typed, a terminal drops what it was sent and has not shown, so what
    showed the cursor after them, too."""
    for bars in _last:
        bars.console.show_cursor()


# When bars were drawn, and who may draw or write: what another thread does must not bring them back meanwhile.
_drawn = 0.0
_writing = threading.RLock()


def _draw(bars: Progress) -> None:
    """On the terminal, unless they are there, or were there just now."""
    global _drawn
    now = time.monotonic()
    if (
        not bars.live.is_started
        and now - _drawn >= REST_SECONDS
        and _writing.acquire(blocking=False)
    ):
        try:
            with undisturbed():
                _last[:] = [bars]
                bars.start()
                _drawn = now
        finally:
            _writing.release()


def _without_bars() -> AbstractContextManager[None]:
    """Take the bars off the terminal, so that something else can be written there."""
    if _live and _live[0].tasks:
        return _stopped(_live[0])
    return nullcontext()


@contextmanager
def _stopped(bars: Progress) -> Iterator[None]:
    with _writing:
        with undisturbed():
            bars.stop()
        try:
            yield
        finally:
            _draw(bars)
