"""How the keys of a stored filter were made: what differs between writers of ORC files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyForm:
    """One way to make keys. The defaults are those of writers of today.

    `utf8`: the stream is BLOOM_FILTER_UTF8, whose timestamps are wall clocks read as UTC; otherwise
    it is BLOOM_FILTER, whose timestamps are instants in `writer_timezone`, a name of the IANA
    database; empty: UTC. `logical_shifts`: integers are hashed with unsigned shifts, as ORC C++ did
    in 1.6.0 to 1.6.11 and 1.7.0 (ORC-1024).
    """

    utf8: bool = True
    logical_shifts: bool = False
    writer_timezone: str = ""
