"""What is known of filters, and what they answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from parquet_bloom.container.places import Located, Place
from parquet_bloom.container.records import WHERE_KNOWN, record

if TYPE_CHECKING:
    from parquet_bloom.vocabulary import Verdict


@record
class FilterDescription:
    """The filters of one chunk as they are stored: one, or one for each group.

    `offset` is None inside the footer; `length` is what the file says, None if nothing;
    `stored_bytes` is what they take in the file. `num_bytes`: of all bitsets; `fill` and `fpp`,
    which is computed from the bits, are means over the groups; `worst_fpp` and `ndv_estimate` are
    the most of one group, the latter None if every bit of a filter is set. `encrypted`: they lie in
    envelopes, which count.

    Only split block filters have blocks, a header, an algorithm and a compression; only k-hash
    filters a number of hashes and of bits of each, None too where groups differ; only ORC has
    streams, a bloomEncoding, and the mark of pbloom.
    """

    dialect: str
    offset: int | None
    length: int | None
    stored_bytes: int
    num_filters: int
    num_bytes: int
    fill: float
    fpp: float
    worst_fpp: float
    ndv_estimate: float | None
    encrypted: bool = False
    header_bytes: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_blocks: int | None = field(default=None, metadata=WHERE_KNOWN)
    algorithm: str | None = field(default=None, metadata=WHERE_KNOWN)
    hash: str | None = field(default=None, metadata=WHERE_KNOWN)
    compression: str | None = field(default=None, metadata=WHERE_KNOWN)
    stream: str | None = field(default=None, metadata=WHERE_KNOWN)
    bloom_encoding: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_hashes: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_bits: int | None = field(default=None, metadata=WHERE_KNOWN)
    marked: bool | None = field(default=None, metadata=WHERE_KNOWN)


class Bits(Protocol):
    """A filter in memory, of whichever kind."""

    @property
    def num_bytes(self) -> int: ...
    @property
    def bits_set(self) -> int: ...
    @property
    def fill(self) -> float: ...
    @property
    def fpp(self) -> float: ...
    @property
    def ndv_estimate(self) -> float: ...


@record
class Answer(Located):
    """What the filter of one group says of a value: `num_rows` rows from `first_row`, counted from
    the start of the file. `reason` says why the verdict is `unknown`."""

    place: Place
    verdict: Verdict
    reason: str | None
    num_rows: int
    first_row: int


@dataclass(frozen=True, slots=True)
class Explanation(Located):
    """How one hash of a value meets the filter of one group: see filters.look_up.LookUp.

    `plain`: the stored bytes that are hashed, in hexadecimal. `reason`: why the verdict is `unknown`.
    """

    place: Place
    value: str
    hash: str
    bits: tuple[int, ...]
    clear: tuple[int, ...]
    reason: str | None
    plain: str | None = field(default=None, metadata=WHERE_KNOWN)
    block: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_blocks: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_hashes: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_bits: int | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class ReadFilter:
    """One filter that was read whole. `says`: what must be the same in two filters beside the bits,
    and how a message names it."""

    bits: Bits
    description: FilterDescription
    says: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NoFilters:
    """Why there are none in a chunk; or why those of so many groups are `unreadable`."""

    reason: str
    unreadable: int = 0
