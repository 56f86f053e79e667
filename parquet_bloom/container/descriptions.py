"""What a container says of its filters as they are stored, for those who show them.

Beside `container.FilterDescription`: the column around a filter, the groups of an ORC stripe, legacy
filters, and the bytes of one filter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import TYPE_CHECKING, Any, Final, Protocol

from parquet_bloom.container import (
    WHERE_KNOWN,
    Bits,
    Container,
    FilterDescription,
    Located,
    Place,
)
from parquet_bloom.container.records import record

if TYPE_CHECKING:
    from parquet_bloom.vocabulary import Dialect

# Takes the bits of a filter while they are in memory.
Look = Callable[[Bits], None]


def finite(estimate: float) -> float | None:
    """None for an estimate of infinitely many values: of a filter with every bit set."""
    return estimate if isfinite(estimate) else None


@dataclass(frozen=True, slots=True)
class LegacyDescription:
    """A legacy filter to which bloom_filter_offset does not lead, but `pointer` does.

    `layout`: of its header, or of its bits in Statistics. `offset` is None inside the footer.
    `reason` says why it cannot be used, and then what only its bits tell is None.
    """

    dialect: str
    pointer: str
    layout: str | None = None
    hash: str | None = None
    offset: int | None = None
    stored_bytes: int = 0
    header_bytes: int | None = None
    num_bytes: int | None = None
    fill: float | None = None
    fpp: float | None = None
    ndv_estimate: float | None = None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class FilterStream:
    """A stream of filters: `length` bytes from `offset`, as they are stored."""

    stream: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class GroupFilter:
    """The filter of one group; `ndv_estimate` is None if every bit is set."""

    num_hashes: int
    num_bits: int
    fill: float
    fpp: float
    ndv_estimate: float | None


@dataclass(frozen=True, slots=True)
class GroupDescription(Located):
    """One group of a chunk; `first_row` counts from the start of the file.

    `positions`: where it starts in the streams of the column, as stored; None without an index, as
    are the `statistics`: kind, num_values, has_null, min, max, sum.
    """

    place: Place
    first_row: int
    num_rows: int
    positions: tuple[int, ...] | None
    statistics: Any
    filter: GroupFilter | None


@record
class ChunkDescription:
    """One column in one part; `reason` says why `filter` is None.

    `num_values`: None if nobody noted it, and without nulls in ORC; `chunk_bytes`: of its data.
    `notes`: why readers do not look into the filters, and what makes these doubtful. `streams`: all
    that it has of filters. `groups`: those of a part, if they were asked for.
    """

    column: str
    physical_type: str
    logical_type: str | None
    num_values: int | None
    chunk_bytes: int | None
    filter: FilterDescription | None
    reason: str | None
    legacy_filters: tuple[LegacyDescription, ...] = ()
    notes: tuple[str, ...] = ()
    column_id: int | None = field(default=None, metadata=WHERE_KNOWN)
    encoding: str | None = field(default=None, metadata=WHERE_KNOWN)
    streams: tuple[FilterStream, ...] | None = field(default=None, metadata=WHERE_KNOWN)
    groups: tuple[GroupDescription, ...] | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def num_filters(self) -> int:
        """Those that can be used, of whatever dialect."""
        usable_legacy = sum(each.reason is None for each in self.legacy_filters)
        return usable_legacy + (self.filter.num_filters if self.filter else 0)

    @property
    def filter_bytes(self) -> int:
        """What filters take in the file; streams do so whether or not they can be used."""
        if self.streams is not None:
            return sum(each.length for each in self.streams)
        legacy_bytes = sum(each.stored_bytes for each in self.legacy_filters)
        return legacy_bytes + (self.filter.stored_bytes if self.filter else 0)


@dataclass(frozen=True, slots=True)
class PartDescription:
    """One part; without an index it is one group. `writer_timezone` is empty if the writer notes
    none."""

    num_rows: int
    offset: int | None = None
    num_groups: int | None = None
    writer_timezone: str | None = None


@dataclass(frozen=True, slots=True)
class StoredFilter(Located):
    """The bytes of one filter, and what the file says of it.

    `bitset`: the words as they are stored, little-endian. `header`: what stands before them, None
    where they lie in a `message`, which is then the filter as it is encoded. `encrypted`: they are
    in their envelopes, as stored.
    """

    place: Place
    column: str
    dialect: str
    offset: int | None
    length: int | None
    num_bytes: int
    bitset: bytes = field(repr=False)
    encrypted: bool = False
    header: bytes | None = field(default=None, repr=False, metadata=WHERE_KNOWN)
    message: bytes | None = field(default=None, repr=False, metadata=WHERE_KNOWN)
    header_bytes: int | None = field(default=None, metadata=WHERE_KNOWN)
    algorithm: str | None = field(default=None, metadata=WHERE_KNOWN)
    hash: str | None = field(default=None, metadata=WHERE_KNOWN)
    compression: str | None = field(default=None, metadata=WHERE_KNOWN)
    pointer: str | None = field(default=None, metadata=WHERE_KNOWN)
    layout: str | None = field(default=None, metadata=WHERE_KNOWN)
    stream: str | None = field(default=None, metadata=WHERE_KNOWN)
    bloom_encoding: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_hashes: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_bits: int | None = field(default=None, metadata=WHERE_KNOWN)


class Inspectable(Container, Protocol):
    """A container that says what is stored."""

    @property
    def compression(self) -> str | None:
        """Of the whole file; None if every column has its own."""

    def check_has_blocks(self, what: str) -> None:
        """Raise UnsupportedError if `what` shows blocks and the filters have none."""

    def check_has_groups(self) -> None:
        """Raise UnsupportedError if parts have no groups with filters of their own."""

    def describe_part(self, part: int) -> PartDescription:
        """One part, apart from its columns."""

    def describe(
        self, chunk: Any, groups: bool = False, look: Look | None = None
    ) -> ChunkDescription:
        """What there is of filters, or why there is none; `groups`: each of them, too. `look` gets
        the bits of every filter."""

    def stored_filter(
        self,
        column: str,
        part: int,
        group: int | None = None,
        dialect: Dialect | None = None,
        seed: int | None = None,
        decrypt: bool = False,
    ) -> StoredFilter:
        """The bytes of one filter, see verbs.dump."""


# The words of a bitset by dialect: dtype, and shape, (blocks, 8) or (words,).
_BLOCKS: Final = ("<u4", (-1, 8))
_LONGS: Final = ("<u8", (-1,))
WORDS: Final[Mapping[str, tuple[str, tuple[int, ...]]]] = {
    "xxhash": _BLOCKS,
    "murmur3": _BLOCKS,
    "statistics": _LONGS,
    "orc": _LONGS,
}
