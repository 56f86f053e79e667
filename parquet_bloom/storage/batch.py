"""Some of the files that a manifest lists, which is read batch by batch."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from parquet_bloom.storage.address import Listed


class Batch(NamedTuple):
    """Some of the files that a manifest lists: their paths, and what it says of the one at an index."""

    paths: list[str]
    listed: Callable[[int], Listed]


def moment_of(found: object) -> datetime | None:
    """A time in ISO 8601, in UTC unless it says otherwise; None for none. Raises ValueError."""
    if found is None:
        return None
    found = found if isinstance(found, datetime) else datetime.fromisoformat(str(found))
    return found if found.tzinfo else found.replace(tzinfo=UTC)
