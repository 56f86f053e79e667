"""Legacy filters as a Parquet file sees them: a kind of filter that `legacy.kind` implements and
`files.open` registers.

A legacy filter is published if bloom_filter_offset points to it, where readers expect a filter of
the current format; it is private if only a note of ours or the chunk's Statistics lead to it.

`file` is an OpenFile, whose module imports this one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

from parquet_bloom.dataclass import dataclass
from parquet_bloom.native.lazy import NDArray, np

if TYPE_CHECKING:
    from parquet_bloom.container import BuildChange, StripChange
    from parquet_bloom.filters.k_hash import KHashFilter
    from parquet_bloom.filters.look_up import LookUp
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter
    from parquet_bloom.options import BuildOptions, Selection
    from parquet_bloom.parallel import Progress
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.pages.runs import Run
    from parquet_bloom.storage.source import Source
    from parquet_bloom.vocabulary import LegacyDialect

NOT_OF_DIALECT: Final = "no filter of this dialect"


class LegacyFilter(Protocol):
    """A filter of one column chunk whose hash is known.

    `pointer`: what leads to it, in a few words. `offset`: in the file, None inside the footer;
    `stored_bytes`: its size there, of which the header takes `header_bytes`. `layout`: of its
    header; `hash`: how values are hashed, in words. `bits`: the filter in memory.
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
        """The bits that `check` tests."""

    def check_run(self, run: Run) -> NDArray[np.bool_]:
        """`check` for each value of a run: shape (n,). Raises PageError for damage."""

    def header_and_bitset(self) -> tuple[bytes, bytes]:
        """Both as they are stored."""


@dataclass(frozen=True, slots=True)
class UnusableLegacy:
    """A private filter that cannot be asked, for this reason; `pointer`: what leads to it."""

    dialect: LegacyDialect
    pointer: str
    reason: str


class LegacyKind(Protocol):
    """Finds, builds and removes the legacy filters of a file. A filter that may miss values raises FilterError; if
    the values that would tell cannot be read, PageError or UnsupportedError."""

    def is_published(self, file: Any, chunk: ColumnChunk) -> bool:
        """Whether there is a legacy header at bloom_filter_offset, whatever follows it."""

    def published(
        self, file: Any, chunk: ColumnChunk, seed: int | None = None
    ) -> LegacyFilter | None:
        """The legacy filter at bloom_filter_offset, if there is one. `seed`: of its hash, if
        neither a note nor the chunk's values are to tell."""

    def filter_end(self, source: Source, start: int, end: int) -> int | None:
        """Where the filter with a header of its own that begins at `start` ends, by `end`; None if it is
        none."""

    def may_have_private(self, file: Any) -> bool:
        """Whether any chunk may have a private filter."""

    def private(self, file: Any, chunk: ColumnChunk) -> Iterator[LegacyFilter | UnusableLegacy]:
        """The private filters of a chunk."""

    def find(
        self, file: Any, chunk: ColumnChunk, dialect: LegacyDialect, seed: int | None = None
    ) -> LegacyFilter | None:
        """The filter of this dialect; one with a note is preferred to a published one."""

    def num_private(self, file: Any, leaves: Sequence[LeafColumn]) -> Mapping[str, int]:
        """How many private filters there seem to be, by dialect."""

    def build(self, file: Any, options: BuildOptions, progress: Progress | None) -> BuildChange:
        """Add filters of the legacy dialect that `options` ask for; see protocols.Changeable."""

    def strip(self, file: Any, selection: Selection) -> StripChange | None:
        """Remove all filters of a selection; None if none of them is private."""


def private_or_reason(
    file: Any, chunk: ColumnChunk, reason: str
) -> tuple[LegacyFilter | None, str]:
    """The private filter of a chunk without another; or None, and why: `reason` if there is none of that
    kind either."""
    for found in () if file.legacy is None else file.legacy.private(file, chunk):
        if not isinstance(found, UnusableLegacy):
            return found, ""
        reason = found.reason
    return None, reason
