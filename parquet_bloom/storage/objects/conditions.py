"""Whether a store looks at the conditions of requests that write. One that does not would overwrite what
others have written, so whoever does not know asks it to replace, on a condition that cannot hold, an
object that is not there."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from typing import Final
from urllib.parse import urlsplit

from parquet_bloom.errors import RewriteError
from parquet_bloom.storage.address import Address

# Of no object.
NO_ETAG: Final = f'"{"0" * 32}"'

# What those that were asked do, by endpoint and bucket, and who is asking them.
_honouring: dict[tuple[str, str], bool] = {}
_asking: Final[dict[tuple[str, str], Lock]] = {}


def check_conditions(
    address: Address, endpoint: str, honours: Callable[[], bool], condition: str = "If-Match"
) -> None:
    """`honours`: asks the store; once for each bucket in this process. `condition`: as the store calls
    it. Raises RewriteError if it does not, and what `honours` raises."""
    place = endpoint, address.host
    # One of the threads that would ask the same at the same time; others need not wait for its answer.
    with _asking.setdefault(place, Lock()):
        if place not in _honouring:
            _honouring[place] = honours()
    if not _honouring[place]:
        raise RewriteError(
            f"{address}: not changed in place: the store at {urlsplit(endpoint).netloc} replaces objects"
            f" whatever {condition} says, so that what others write meanwhile would be lost: use"
            " unconditional if nobody else writes"
        )
