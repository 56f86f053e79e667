"""PyIceberg: whether it is here, in a version whose private parts are known, and its errors as ours."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Final

from parquet_bloom.errors import (
    ParquetBloomError,
    RewriteError,
    UnsupportedError,
    install,
    lacking,
)

# A commit takes what only PyIceberg itself is meant to use.
TESTED: Final = ("0.12.0",)

# Pydantic, of a table's metadata.
_FORMAT: Final = re.compile(
    r"tag '([^']*)' found using '?format_version'?.* does not match any of the expected tags: ([\d, ]+\d)"
)

# Of a catalog that is nowhere configured; `--uri` is an option of its own command.
_NO_URI: Final = re.compile(
    r"URI missing, please provide using --uri, the config or environment variable (\S+)"
)

_INSTALL: Final = install("iceberg")


def check_installed(where: str) -> None:
    """Raise UnsupportedError unless PyIceberg is here."""
    try:
        version("pyiceberg")
    except PackageNotFoundError:
        raise lacking(where, "pyiceberg", "iceberg") from None


def other_version() -> str | None:
    """What stands in the way of a commit, if anything."""
    found = version("pyiceberg")
    if found in TESTED:
        return None
    return f"pyiceberg is {found}, expected {' or '.join(TESTED)}: {_INSTALL}"


@contextmanager
def asking(where: str) -> Iterator[None]:
    """Whatever PyIceberg or a catalog raises becomes a RewriteError, but for an OSError about a file."""
    try:
        yield
    except (ParquetBloomError, MemoryError):
        raise
    except ImportError as error:
        raise UnsupportedError(f"{where}: {error}: {_INSTALL}") from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise
        raise RewriteError(f"{where}: PyIceberg: {said(error)}") from error


def said(error: Exception) -> str:
    """In one line."""
    # How PyIceberg says it is the business of whoever wrote its classes.
    if found := _FORMAT.search(str(error)):
        return f"format version {found[1]}, which it does not read: expected one of {found[2]}"
    if missing := _NO_URI.search(str(error)):
        return f"no URI: expected in .pyiceberg.yaml, or in the environment as {missing[1]}"
    return " ".join(str(error).split()) or type(error).__name__
