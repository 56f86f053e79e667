"""The streams of one column in one stripe, by kind.

Spec: apache/orc-format, specification/ORCv1.md "Column Encodings".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from parquet_bloom.errors import FormatError
from parquet_bloom.orc.streams import Booleans, Bytes, Integers, Lengths, LongNumbers, Stream
from parquet_bloom.orc.stripe import STREAM_NAMES
from parquet_bloom.parallel import check_fits

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.reader import OrcReader
    from parquet_bloom.orc.stripe import OrcStream, Stripe
    from parquet_bloom.storage.source import Source

# To read at a time: memory that is used again already has its pages.
_PIECE: Final = 256 << 10

PRESENT, DATA, LENGTH, DICTIONARY_DATA, SECONDARY = 0, 1, 2, 3, 5

# The version of run-length encoded integers.
_VERSIONS: Final = {"DIRECT": 1, "DICTIONARY": 1, "DIRECT_V2": 2, "DICTIONARY_V2": 2}


@dataclass(frozen=True, slots=True)
class ChunkStreams:
    """`column`'s streams in a stripe; `where` names the column whose values are read. `reuse`: what is
    taken of each stream holds until more is taken."""

    file: OrcReader
    stripe: Stripe
    column: OrcColumn
    where: str
    reuse: bool = False

    @property
    def encoding(self) -> str:
        """Raises FormatError if it is unknown."""
        encoding = self.stripe.encoding(self.column.id)
        if encoding not in _VERSIONS:
            found = encoding or "none"
            expected = ", ".join(_VERSIONS)
            raise FormatError(f"{self.where}: encoding {found}, expected one of {expected}")
        return encoding

    @property
    def dictionary_size(self) -> int:
        return int(self.stripe.footer.columns[self.column.id].dictionarySize)

    def has(self, kind: int) -> bool:
        return bool(self.stripe.streams_of(self.column.id, (kind,)))

    def stream(self, kind: int) -> Stream:
        """An empty one if there is none. Raises FilterError if there are two, UnsupportedError for
        more than fits the memory budget."""
        found = self.stripe.stream_of(self.column.id, (kind,))
        where = f"{self.where}: {STREAM_NAMES[kind]}"
        if self.column.name and not self.where.endswith(f"column {self.column.name}"):
            where += f" of {self.column.name}"
        if found is None:
            return Stream((), self.file.tail.compression, where)
        check_fits(f"{where}: takes", found.length)
        pieces = _pieces(self.file.source, found)
        return Stream(pieces, self.file.tail.compression, where, reuse=self.reuse)

    def integers(self, kind: int, *, signed: bool, version: int | None = None) -> Integers:
        """Raises FormatError for an unknown encoding, and as stream."""
        return Integers(self.stream(kind), version or _VERSIONS[self.encoding], signed=signed)

    def lengths(self) -> Lengths:
        return Lengths(self.integers(LENGTH, signed=False))

    def tags(self) -> Bytes:
        return Bytes(self.stream(DATA))

    def booleans(self, kind: int) -> Booleans:
        return Booleans(self.stream(kind))

    def long_numbers(self) -> LongNumbers:
        return LongNumbers(self.stream(DATA))


def _pieces(source: Source, stream: OrcStream) -> Iterator[bytes]:
    """The bytes of a stream, all at once if they come from afar."""
    end = stream.offset + stream.length
    step = stream.length if source.is_remote else _PIECE
    for at in range(stream.offset, end, step or 1):
        yield source.read_at(at, min(step, end - at))
