"""Dates and times that Python's datetime cannot hold: nanoseconds, and years beyond 9999."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Days:
    """A date as days since 1970."""

    days: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class TimeNanos:
    """A time of day as nanoseconds since midnight."""

    nanos: int
    text: str

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class TimestampNanos:
    """A timestamp as nanoseconds since 1970, in UTC if `zoned`."""

    nanos: int
    text: str
    zoned: bool = False

    def __str__(self) -> str:
        return self.text
