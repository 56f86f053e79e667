"""What was asked of object stores: requests by kind, bytes, and requests that were repeated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple
from threading import Lock

from parquet_bloom.dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Requests:
    """How many requests were sent, repeated ones included; `retries`: how many of them repeated one
    that failed; `bytes_down` and `bytes_up`: of the objects that came and were sent, not of listings. `put`: all that
    write, which includes copies, and deletions."""

    get: int = 0
    head: int = 0
    list: int = 0
    put: int = 0
    retries: int = 0
    bytes_down: int = 0
    bytes_up: int = 0

    def __add__(self, other: Requests) -> Requests:
        return Requests(*map(sum, zip(astuple(self), astuple(other), strict=True)))

    def __sub__(self, other: Requests) -> Requests:
        pairs = zip(astuple(self), astuple(other), strict=True)
        return Requests(*(mine - its for mine, its in pairs))

    @property
    def num_requests(self) -> int:
        return self.get + self.head + self.list + self.put


# One of each kind.
GET, HEAD, LIST, PUT = Requests(get=1), Requests(head=1), Requests(list=1), Requests(put=1)


def in_all(parts: Iterable[Requests | None]) -> Requests | None:
    """Those of several files together; None if nobody counts those of any."""
    counted = [part for part in parts if part is not None]
    return sum(counted, Requests()) if counted else None


class Traffic:
    """Counts them, for all threads."""

    def __init__(self) -> None:
        self.requests = Requests()
        self._counting = Lock()

    def add(self, more: Requests) -> None:
        with self._counting:
            self.requests += more


# Of this process.
EVERYTHING = Traffic()


def count(traffic: Traffic, more: Requests) -> None:
    """For a source, and for the process."""
    traffic.add(more)
    EVERYTHING.add(more)
