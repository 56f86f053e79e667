"""How a container describes its stored filters to whoever shows them.

Besides FilterDescription: the column around a filter, the groups of an ORC stripe, legacy filters,
and the bytes of one filter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from math import isfinite
from typing import Any

from parquet_bloom.container import WHERE_KNOWN, Bits, FilterDescription, Located, Place, record
from parquet_bloom.container.shown_names import NamedAsShown
from parquet_bloom.dataclass import dataclass
from parquet_bloom.vocabulary import is_no_filter

# Called while the bits of a filter are in memory, with a function that returns them.
GetBits = Callable[[], Bits]
OnBits = Callable[[GetBits], None]


def finite(estimate: float) -> float | None:
    """None for an infinite estimate: every bit of the filter is set."""
    return estimate if isfinite(estimate) else None


@dataclass(frozen=True, slots=True)
class LegacyDescription:
    """A legacy filter that is found by `pointer`, not by bloom_filter_offset.

    `layout`: of its header, or of its bits in Statistics. `offset` is None inside the footer.
    `reason`: why it cannot be used; what only its bits tell is then None.
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
    """A stream of filters: `length` bytes from `offset`, as stored."""

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

    `positions`: where it starts in the column's streams, as stored. `statistics`: kind, num_values,
    has_null, min, max, sum. Both are None without an index.
    """

    place: Place
    first_row: int
    num_rows: int
    positions: tuple[int, ...] | None
    statistics: Any
    filter: GroupFilter | None


@record
class ChunkDescription(NamedAsShown):
    """One column in one part; `reason`: why `filter` is None.

    `num_values`: None if not recorded; nulls do not count in ORC. `chunk_bytes`: of its data.
    `notes`: why readers ignore the filters, or what makes them doubtful. `streams`: all its filter
    streams. `groups`: of the part, if asked for.
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
        """How many can be used, of any dialect."""
        usable_legacy = sum(each.reason is None for each in self.legacy_filters)
        return usable_legacy + (self.filter.num_filters if self.filter else 0)

    @property
    def why_unusable(self) -> tuple[str, ...]:
        """What keeps filters that are there, or may be, from being used: damage, or lack of a key."""
        reasons = (self.reason, *(each.reason for each in self.legacy_filters))
        return tuple(each for each in reasons if each and not is_no_filter(each))

    @property
    def filter_bytes(self) -> int:
        """The size of the filters in the file; streams count whether or not they can be used."""
        if self.streams is not None:
            return sum(each.length for each in self.streams)
        legacy_bytes = sum(each.stored_bytes for each in self.legacy_filters)
        return legacy_bytes + (self.filter.stored_bytes if self.filter else 0)


@dataclass(frozen=True, slots=True)
class PartDescription(NamedAsShown, Located):
    """One part. Of a stripe: `num_groups`, 1 without an index, and `writer_timezone`, empty if the
    writer recorded none."""

    place: Place
    num_rows: int
    columns: tuple[ChunkDescription, ...] = ()
    offset: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_groups: int | None = field(default=None, metadata=WHERE_KNOWN)
    writer_timezone: str | None = field(default=None, metadata=WHERE_KNOWN)

    def with_columns(self, columns: tuple[ChunkDescription, ...]) -> PartDescription:
        """The same part with the descriptions of its chunks."""
        return PartDescription(
            self.place, self.num_rows, columns, self.offset, self.num_groups, self.writer_timezone
        )


@dataclass(frozen=True, slots=True)
class FilterBytes(Located):
    """The bytes of one filter, and what the file says about it.

    `bitset`: the words as stored, little-endian. `header`: what precedes them, None if they are part
    of a `message`, which is then the encoded filter. `encrypted`: both are in their envelopes.
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
