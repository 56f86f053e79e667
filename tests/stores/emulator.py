"""What a store that others emulate is to its checks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from conftest import ROOT

HERE = ROOT / ".stores"

# Where the objects of the checks are, in any bucket.
KEY = "day=1/a b%.parquet"


class Emulator(Protocol):
    """A store on loopback with the bucket `lake`, and what another library finds in it."""

    # As people call it, with its version.
    title: str
    # Of the bucket.
    url: str
    # What reaches it.
    options: Mapping[str, str]
    # Whether it looks at the conditions of requests that write.
    honours_conditions: bool
    # With which layouts nothing of a large object is sent that stays.
    copies: tuple[str, ...]

    def install(self) -> None:
        """Raises subprocess.CalledProcessError."""

    def running(self) -> AbstractContextManager[object]:
        """The context in which it runs, empty at first."""

    def put(self, key: str, data: bytes, *, in_parts: bool = False) -> None:
        """Write an object, with all that can be said of one."""

    def get(self, key: str) -> bytes:
        """Its bytes."""

    def said(self, key: str) -> dict[str, Any]:
        """What is said of an object, and has to be kept."""

    def keys(self) -> Sequence[str]:
        """All there are, hidden ones and unfinished ones included."""

    def before_the_last_request(self, do: Callable[[], object]) -> AbstractContextManager[object]:
        """A context in which `do` is done before the next request that would replace an object."""
