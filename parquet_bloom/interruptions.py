"""What ends the program, held back from where a file takes its name until that is counted: what is said
at the end is then true of what is on disk.

Only what works through files one by one opens such a stretch. Signals are handled by the main thread, so
that those of other threads need none: whoever waits for them counts what they have done.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class _State:
    # Whether somebody counts what is done, and will release what is held.
    is_counted = False
    is_held = False
    pending: BaseException | None = None


def hold() -> None:
    """From here on, up to `released`, nothing ends the program, if somebody counts what it does."""
    if _State.is_counted and threading.current_thread() is threading.main_thread():
        _State.is_held = True


def is_postponed(end: BaseException) -> bool:
    """Whether what a signal asks for is held back, to be raised later."""
    if _State.is_held:
        _State.pending = end
    return _State.is_held


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
            end, _State.pending = _State.pending, None
            if end is not None:
                raise end
