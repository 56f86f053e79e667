"""Where what ends the program has to wait: from where a file takes its name until that is counted, so that
what is said at the end is true of what is on disk; while a thread is started; and while a progress bar takes the
terminal or gives it back.

Only what works through files one by one counts. Signals are handled by the main thread, so that other
threads need none of this: whoever waits for them counts what they have done.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _State:
    # Whether somebody counts what is done, and will release what is held.
    is_counted = False
    is_held = False
    is_undisturbed = False
    pending: BaseException | None = None


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def hold() -> None:
    """From here on, until `counted` ends, nothing ends the program, if somebody counts what it does."""
    if _State.is_counted and _is_main():
        _State.is_held = True


def is_postponed(end: BaseException) -> bool:
    """Whether what a signal asks for is held back, to be raised later."""
    waits = _State.is_held or _State.is_undisturbed
    if waits:
        _State.pending = end
    return waits


def _raise_pending() -> None:
    end, _State.pending = _State.pending, None
    if end is not None:
        raise end


@contextmanager
def counted() -> Iterator[None]:
    """Work on one file, of which is told what was done by the end of this: then what was held back is
    raised."""
    before = _State.is_counted
    _State.is_counted = True
    try:
        yield
    finally:
        _State.is_counted = before
        if not before:
            _State.is_held = False
            _raise_pending()


@contextmanager
def undisturbed() -> Iterator[None]:
    """What is soon over and must not be left half done: nothing ends the program before the end of this. Raised in
    the midst of Thread.start, it would leave a thread that nobody waits for, or release the lock of one that then
    never begins; in that of a progress bar, a terminal without a cursor."""
    if not _is_main():
        yield
        return
    before = _State.is_undisturbed
    _State.is_undisturbed = True
    try:
        yield
    finally:
        _State.is_undisturbed = before
        if not (before or _State.is_held):
            _raise_pending()
