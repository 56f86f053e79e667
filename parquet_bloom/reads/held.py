"""Files that are looked into twice, and stay open in between: in a store, to open one takes a request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container

# With the last bytes of each, 16 MB.
_MOST: Final = 64


class HeldFiles:
    """The latest of those that were opened. To be closed, as by `with`."""

    def __init__(self, opener: Callable[[str], Container]) -> None:
        self._opener = opener
        self._held: dict[str, Container] = {}
        self._lock = Lock()

    @contextmanager
    def opened(self, path: str) -> Iterator[Container]:
        """A file, which is held afterwards unless something is wrong with it. Raises as the opener."""
        with self._lock:
            file = self._held.pop(path, None)
        file = file or self._opener(path)
        try:
            yield file
        except BaseException:
            file.close()
            raise
        with self._lock:
            self._held[path] = file
            oldest = next(iter(self._held)) if len(self._held) > _MOST else None
            dropped = None if oldest is None else self._held.pop(oldest)
        if dropped is not None:
            dropped.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        for file in self._held.values():
            file.close()
        self._held.clear()
