"""What went wrong in Spark, in one line; an interrupt stays an interrupt."""

from __future__ import annotations

import errno
import logging
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from traceback import walk_tb
from typing import Any, Final

from parquet_bloom.errors import ParquetBloomError, RewriteError, SparkError, complaint, for_command
from parquet_bloom.storage.store_kinds import STORE_BY_SCHEME
from parquet_bloom.storage.table_formats import COPIES

# The first line of a traceback, and its last; what Java adds is indented or not a single word.
_TRACEBACK = "Traceback (most recent call last)"
_RAISED = re.compile(r"[A-Za-z_][\w.]*(Error|Exception|Exit|Interrupt)(: |$)")

# What Connect 4.0 puts before where in Java an error was raised.
_JVM = "\nJVM stacktrace:\n"

# How Py4J introduces an exception from Java, and Java the cause of one.
_CALLING = "An error occurred while calling"
_CAUSE = "Caused by: "

# What nobody says who was killed.
_GONE: Final = "the JVM of Spark's driver has gone"
# What one says that was told to end, of each job.
_SHUT_DOWN: Final = "because SparkContext was shut down"

# To which Py4J logs: the root, too.
_LOGGERS: Final = ("", "py4j.clientserver", "py4j.java_gateway")

# What is in the message of a task that has no Python, or another one, or lacks packages there.
_PYTHONS: Final = re.compile(
    r"different version:?\s*\(?'?(\d[\d.]*)\D.*?driver:?\s*'?(\d[\d.]*)", re.DOTALL
)
_NO_PROGRAM: Final = re.compile(r'Cannot run program "([^"]+)"')
# Of a traceback from there; this process may lack pandas, which its own message says.
_NO_MODULE: Final = re.compile(
    r"Traceback.*(?:No module named '?(parquet_bloom|pyarrow|numpy|pandas)\b"
    r"|\b(PyArrow|Pandas) >= \S+ must be installed)",
    re.DOTALL,
)

# What to do where executors lack this package.
SHIP: Final = "send it with --ship (parquet_bloom.spark.ship), or install it there"

# What is wrong with names, whoever tries again.
TOLD: Final = (FileNotFoundError, PermissionError, RewriteError)
# The key, in a document, of what an executor has met.
_MET: Final = "met"

# The scheme of the URL that a message about a store begins with, and an option of it, perhaps as another way.
_SCHEME = re.compile(r"\b(\w+)://")
_OPTION = re.compile(r"(, or )?the storage option (\w+)(=\w+)")


def for_executors(message: str) -> str:
    """A message with what helps on executors: variables in the place of storage options, which they are not sent, as
    others would see them in the job; and no copies, which they do not write."""
    without_copies = message.replace(COPIES, "").replace(for_command(COPIES), "")
    return _with_variables(without_copies, "the executors' variable")


@contextmanager
def naming_variables() -> Iterator[None]:
    """Let errors of this process about an object store name variables in the place of storage options, which no
    command of Spark takes."""
    try:
        yield
    except (ParquetBloomError, OSError) as error:
        message = complaint(error)
        told = _with_variables(message, "the variable")
        if told == message:
            raise
        raise SparkError(told) from error


def as_told(error: OSError | RewriteError | SparkError) -> dict[str, Any]:
    """What an executor tells the driver of one that is TOLD, about a name, or of one about a run: if it raised it,
    Spark would try the same again, and log each time in full, and it would look as if the job had failed. Raises an
    OSError that is about no name."""
    kind = type(error).__name__
    if not isinstance(error, OSError):
        return {_MET: [kind, str(error), None]}
    if not error.filename:
        raise error
    return {_MET: [kind, error.strerror, str(error.filename)]}


def raise_told(document: Any) -> None:
    """Raise what an executor has told, if it has: FileNotFoundError, RewriteError, or SparkError."""
    if not isinstance(document, dict) or _MET not in document:
        return
    kind, problem, path = document[_MET]
    if kind == FileNotFoundError.__name__:
        raise FileNotFoundError(errno.ENOENT, problem, path)
    if path is None:
        raise RewriteError(problem) if kind == RewriteError.__name__ else SparkError(problem)
    raise SparkError(for_executors(f"{path}: {problem}"))


def _with_variables(message: str, title: str) -> str:
    scheme = _SCHEME.search(message)
    store = STORE_BY_SCHEME.get(scheme[1].lower()) if scheme else None
    if store is None or not store.prefix:
        return message

    def as_variable(option: re.Match[str]) -> str:
        other_way, name, value = option.groups(default="")
        variable = f"{store.prefix}{name}".upper()
        is_named = other_way and f"set {variable}" in message
        return "" if is_named else f"{other_way}{title} {variable}{value}"

    return _OPTION.sub(as_variable, message)


@contextmanager
def failing(what: str, *known: type[Exception]) -> Iterator[None]:
    """Turn whatever Spark raises into a SparkError that says what failed, and why. Errors of this package stay what
    they are, and so do `known` ones, which Spark does not raise there."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (ParquetBloomError, *known)):
            raise
        _raise_interrupt_behind(error)
        raise SparkError(_about_executors(str(error)) or f"{what}: {said(error)}") from error


@contextmanager
def leaving(tidy_up: Callable[[], object]) -> Iterator[None]:
    """Tidy up afterwards. What fails of that does not take the place of an error: of a Java that has gone, only the
    first one says what became of the run."""
    try:
        yield
    except BaseException:
        with suppress(Exception):
            tidy_up()
        raise
    tidy_up()


def _raise_interrupt_behind(error: Exception) -> None:
    """Raise the interrupt that this error has followed: PySpark cancels the job, and raises what this leads to; and
    who ends this program may have ended Java, too, which then answers nobody who tidies up."""
    for behind in _chain(error):
        if isinstance(behind, KeyboardInterrupt):
            raise behind from None


def _about_executors(text: str) -> str | None:
    """What to do about their Python, if that is what is wrong by the message of a task."""
    if found := _PYTHONS.search(text):
        there, here = found.groups()
        return (
            f"executors: Python {there.rstrip('.')}, expected {here.rstrip('.')} as here: set"
            " PYSPARK_PYTHON, or send an environment by spark.archives"
        )
    if found := _NO_PROGRAM.search(text):
        return (
            f"executors: no program {found[1]}: set PYSPARK_PYTHON to Python {sys.version.split()[0]}"
            " there"
        )
    if found := _NO_MODULE.search(text):
        name = (found[1] or found[2]).lower()
        others = "install pyarrow and numpy there, or send an environment by spark.archives"
        return f"executors: no package {name}: {SHIP if name == 'parquet_bloom' else others}"
    return None


@contextmanager
def in_one_line(what: str) -> Iterator[None]:
    """Turn what Spark itself raises, and no other error, into a SparkError that says what failed, and why; after an
    interrupt, into that."""
    try:
        yield
    except Exception as error:
        if not _is_of_spark(error):
            raise
        _raise_interrupt_behind(error)
        raise SparkError(f"{what}: {said(error)}") from error


def _is_of_spark(error: Exception) -> bool:
    """Whether it is of PySpark, or of one of the two ways in which it talks with Java."""
    if _is_lost(error):
        return True
    modules = {each.__module__.partition(".")[0] for each in type(error).__mro__}
    return not modules.isdisjoint({"pyspark", "py4j", "grpc"})


@contextmanager
def untold_ends() -> Iterator[None]:
    """Let Py4J log no traceback of what ends the program, whose user knows, nor of the end of Java, which whoever
    waits for it tells."""
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    for logger in loggers:
        logger.addFilter(_is_told)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(_is_told)


def _is_told(record: logging.LogRecord) -> bool:
    error = record.exc_info[1] if record.exc_info else None
    behind = _chain(error)
    return not any(isinstance(each, KeyboardInterrupt) or _is_lost(each) for each in behind)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those in whose midst it was raised, the latest first."""
    while error is not None:
        yield error
        error = error.__context__


def _is_lost(error: BaseException) -> bool:
    """Whether it says that nobody answers Py4J. A PySpark that is a client of servers alone has none."""
    if type(error).__name__ == "Py4JNetworkError":
        return True
    return isinstance(error, ConnectionError) and any(
        frame.f_globals.get("__name__", "").startswith("py4j.")
        for frame, _ in walk_tb(error.__traceback__)
    )


def said(error: Exception) -> str:
    """The message in one line; for a traceback from the executors, its last line, as they can be helped. Of a Java
    that has gone, that it has: Py4J only says that connections are refused."""
    if any(map(_is_lost, _chain(error))):
        return _GONE
    if _SHUT_DOWN in str(error):
        return "Spark's driver was shut down"
    text, _, _ = str(error).partition(_JVM)
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    ends = [line for line in lines if _RAISED.match(line)] if _TRACEBACK in text else []
    if ends:
        return for_executors(ends[-1])
    if len(lines) > 1 and lines[0].startswith(_CALLING):
        lines = lines[1:]
    if not lines:
        return type(error).__name__
    first = lines[0].strip(": ")
    causes = [line.removeprefix(_CAUSE) for line in lines if line.startswith(_CAUSE)]
    return f"{first}: {causes[-1]}" if causes and lines[0].endswith(":") else first
