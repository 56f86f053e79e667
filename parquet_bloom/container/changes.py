"""What becomes of a file whose filters are built or removed."""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from parquet_bloom.container.places import Located, Place
from parquet_bloom.container.records import WHERE_KNOWN
from parquet_bloom.storage.new_version import Change


@dataclass(frozen=True, slots=True)
class BuiltFilters(Located):
    """Filters that were added for one chunk: one, or one for each group.

    `num_values`: of the chunk, in a Parquet file with nulls; `num_bytes`: the largest bitset; `fpp`:
    the highest, computed from the bits. `offset` and `length`: where they lie, `offset` None where they became a
    part of the footer. `num_bits` and `num_hashes`: of each k-hash filter.
    """

    place: Place
    column: str
    num_values: int
    num_filters: int
    num_bytes: int
    fpp: float
    offset: int | None
    length: int
    num_bits: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_hashes: int | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class RemovedFilters(Located):
    """Filters that were removed from one chunk. `offset`: where they lay, None inside the footer or
    where nobody knows; `stream` and `length`: the kind and size of the stream that they were."""

    place: Place
    column: str
    num_filters: int
    offset: int | None
    stream: str | None = field(default=None, metadata=WHERE_KNOWN)
    length: int | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class LeftChunk(Located):
    """A chunk to which something was not done that was asked for, and why."""

    place: Place
    column: str
    reason: str


class BuildChange(Change):
    """New filters. Once it is composed, `filters` and `skipped` say what became of each chunk, and
    `notes` what to know of the filters."""

    filters: list[BuiltFilters]
    skipped: list[LeftChunk]
    notes: Sequence[str] = ()

    @property
    def planned(self) -> Sequence[Any]:
        """The Chunks that want filters which can be built elsewhere: by `built` of the same change
        of the same file."""
        return ()

    def built(self, chunks: Sequence[Any]) -> Generator[tuple[Any, Any]]:
        """Each of these Chunks, in turn, with its filter, or with why it gets none."""
        yield from ()

    def take(self, filters: Generator[tuple[Any, Any]]) -> None:
        """Write what `built` has given elsewhere for all that is planned."""


class StripChange(Change):
    """No filters any more: which are `removed`, and what of them is `left`."""

    removed: Sequence[RemovedFilters] = ()
    left: Sequence[LeftChunk] = ()


@dataclass(frozen=True, slots=True)
class Repairs:
    """What is to become of filters, by Chunk in file order.

    `dropped`: they go, unless others are built. `resized`: the file says how long they are. `rebuilt`:
    others are built, if they can be; if not, those stay that are not dropped.
    """

    dropped: tuple[Any, ...] = ()
    resized: tuple[Any, ...] = ()
    rebuilt: tuple[Any, ...] = ()

    @property
    def is_idle(self) -> bool:
        return not (self.dropped or self.resized or self.rebuilt)


class RepairChange(Change):
    """Repairs. Once it is composed, by the keys of Chunks: where filters were `built` or `resized`,
    offset and length, and why some were `not_built`. `remains`: Chunks, and what is still to be seen
    of filters that they have lost."""

    built: Mapping[tuple[int, int], tuple[int, int]]
    not_built: Mapping[tuple[int, int], str]
    resized: Mapping[tuple[int, int], tuple[int, int]] = MappingProxyType({})
    remains: Sequence[tuple[Any, str]] = ()
