"""What is done to files on the way, of which who only reads should know: told to whoever listens,
such as the command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

_LISTENERS: Final[list[Callable[[str], None]]] = []


@contextmanager
def listening(listener: Callable[[str], None]) -> Iterator[None]:
    """Give each notice to the listener meanwhile."""
    _LISTENERS.append(listener)
    try:
        yield
    finally:
        _LISTENERS.remove(listener)


def notice(text: str) -> None:
    """Tell all who listen."""
    for listener in _LISTENERS:
        listener(text)
