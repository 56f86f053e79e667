"""Legacy filters as a Parquet file knows them: a kind that `legacy.kind` implements and `files.open`
registers.

A legacy filter is published if bloom_filter_offset leads to it, where readers look for filters of
today; private if only a note of ours or the chunk's Statistics do.

A `file` is the ParquetFile, which is not named here because it imports this.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from parquet_bloom.filters.k_hash import KHashFilter
    from parquet_bloom.filters.look_up import LookUp
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.pages.runs import Run
    from parquet_bloom.vocabulary import LegacyDialect

NOT_OF_DIALECT: Final = "no filter of this dialect"


class LegacyFilter(Protocol):
    """A filter of one column chunk, in a place of its own, whose hash is known.

    `pointer`: what leads to it, in a few words. `offset`: where it lies in the file, None inside the
    footer; `stored_bytes`: what it takes there, `header_bytes` of them for its header. `layout`:
    of its header; `hash`: what values are hashed by, in words. `bits`: the filter in memory.
    """

    @property
    def dialect(self) -> LegacyDialect: ...
    @property
    def pointer(self) -> str: ...
    @property
    def layout(self) -> str: ...
    @property
    def hash(self) -> str: ...
    @property
    def offset(self) -> int | None: ...
    @property
    def stored_bytes(self) -> int: ...
    @property
    def header_bytes(self) -> int: ...
    @property
    def bits(self) -> SplitBlockBloomFilter | KHashFilter: ...

    def check(self, plain: bytes) -> bool:
        """False if the value with these stored bytes was certainly never inserted."""

    def look_up(self, plain: bytes) -> LookUp:
        """The same, bit by bit."""

    def check_run(self, run: Run) -> NDArray[np.bool_]:
        """The same for each value of a run: shape (n,). Damage is a PageError."""

    def header_and_bitset(self) -> tuple[bytes, bytes]:
        """Both as they are stored."""


@dataclass(frozen=True, slots=True)
class UnusableLegacy:
    """A private filter that cannot be asked, for this reason; `pointer`: what leads to it."""

    dialect: LegacyDialect
    pointer: str
    reason: str


class LegacyKind(Protocol):
    """What a file asks. Filters that cannot be trusted to find every value are a FilterError; a
    PageError or UnsupportedError, if values that would tell cannot be read."""

    def is_published(self, file: Any, chunk: ColumnChunk) -> bool:
        """Whether there is a legacy header at bloom_filter_offset, whatever is behind it."""

    def published(
        self, file: Any, chunk: ColumnChunk, seed: int | None = None
    ) -> LegacyFilter | None:
        """The legacy filter at bloom_filter_offset; None if there is none, or one of today. `seed`:
        of its hash; otherwise a note, or the chunk's values, tell it."""

    def private(self, file: Any, chunk: ColumnChunk) -> Iterator[LegacyFilter | UnusableLegacy]:
        """The filters to which bloom_filter_offset does not lead."""

    def find(
        self, file: Any, chunk: ColumnChunk, dialect: LegacyDialect, seed: int | None = None
    ) -> LegacyFilter | None:
        """The filter of this dialect: one with a note rather than one that is published."""

    def reason_for_none(self, file: Any, chunk: ColumnChunk) -> str:
        """Why a chunk has no filter of today, with the dialects that may be asked for instead."""

    def num_private(self, file: Any, leaves: Sequence[LeafColumn]) -> Mapping[str, int]:
        """How many private filters there seem to be, by dialect."""
