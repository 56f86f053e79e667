"""Keep secrets out of logs that others write.

This package logs nothing. The libraries that send its requests do at level DEBUG, whole: with the token of
a session, or the signature of a URL. Where a program logs all that, these records are left out; those of
its own requests by the same libraries are not. So are those of what a profile asks for credentials, whose
answers botocore's parsers log.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from threading import local
from typing import Final

# Whose records have been seen to hold secrets.
_LOGGERS: Final = (
    "botocore.auth",
    "botocore.endpoint",
    "botocore.parsers",
    "urllib3.connectionpool",
)

_thread: Final = local()


def _is_of_others(record: logging.LogRecord) -> bool:
    return not getattr(_thread, "is_asking", False)


@contextmanager
def unlogged() -> Iterator[None]:
    """What this thread asks meanwhile is in no log."""
    for name in _LOGGERS:
        # Once, however often it is said.
        logging.getLogger(name).addFilter(_is_of_others)
    before = getattr(_thread, "is_asking", False)
    _thread.is_asking = True
    try:
        yield
    finally:
        _thread.is_asking = before
