"""The key form of a stored filter, which differs between writers of ORC files."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyForm:
    """One key form. The defaults are those of current writers.

    `utf8`: the stream is BLOOM_FILTER_UTF8, whose timestamps are wall-clock times taken as UTC;
    otherwise BLOOM_FILTER, whose timestamps are instants in `writer_timezone`, a name of the IANA
    database, or empty for UTC. `logical_shifts`: integers are hashed with unsigned shifts, as in ORC
    C++ 1.6.0 to 1.6.11 and 1.7.0 (ORC-1024).
    """

    utf8: bool = True
    logical_shifts: bool = False
    writer_timezone: str = ""
