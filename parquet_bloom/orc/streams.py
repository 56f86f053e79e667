"""Decode the streams of a column, a number of values at a time, into memoryviews: numpy would take longer
to import than most files take to build.

A stream is a sequence of compressed chunks, of which only a few are held in memory at a time. Nothing is
allocated for values that a file only claims to have: large arrays grow with what is decoded.

Spec: apache/orc-format, specification/ORCv1.md "Run Length Encoding", "Column Encodings".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError, UnsupportedError, placing
from parquet_bloom.native import _kernel
from parquet_bloom.orc.arrays import MOST_BYTES
from parquet_bloom.orc.stripe import STREAM_NAMES
from parquet_bloom.parallel import check_fits

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.compression import Compression
    from parquet_bloom.orc.reader import OrcReader
    from parquet_bloom.orc.stripe import OrcStream, Stripe
    from parquet_bloom.storage.source import Source

PRESENT, DATA, LENGTH, DICTIONARY_DATA, SECONDARY = 0, 1, 2, 3, 5

# The version of run-length encoded integers.
_VERSIONS: Final = {"DIRECT": 1, "DICTIONARY": 1, "DIRECT_V2": 2, "DICTIONARY_V2": 2}

# To read at a time: memory that is used again already has its pages.
_READ_BYTES: Final = 256 << 10

# More values than any index group has: 13,000 times the usual number of rows.
MOST_VALUES: Final = 1 << 27

# Of each value: in pieces and as one array, and while it is hashed.
_VALUE_BYTES: Final = 48

# Values to allocate at a time.
_PIECE: Final = 1 << 20

# Decodes from a byte of a part into items; returns how many values those are, and the next byte.
_Decode = Callable[[memoryview | bytes, int, memoryview], tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Layout:
    """How values are held: memoryview items of a format, so many for each value."""

    format: Literal["B", "q", "Q"]
    num_items: int = 1

    def num_bytes(self, count: int) -> int:
        """For so many values."""
        return count * self.num_items * (1 if self.format == "B" else 8)


_INTEGERS: Final = _Layout("q")
_BYTES: Final = _Layout("B")
_WORD_PAIRS: Final = _Layout("Q", 2)


def _copied(part: memoryview | bytes, at: int, room: memoryview) -> tuple[int, int]:
    count = min(len(part) - at, len(room))
    room[:count] = memoryview(part)[at : at + count]
    return count, at + count


# Errors of the kernel and of codecs as ours, which name their place.
naming = partial(
    placing,
    kinds={
        UnsupportedError: UnsupportedError,
        OverflowError: UnsupportedError,
        FormatError: FormatError,
        ValueError: FormatError,
    },
)


class Stream:
    """The bytes of a stream, `stored` in pieces that may end anywhere; `where` names file, stripe, column
    and stream."""

    def __init__(
        self,
        stored: Iterable[bytes],
        compression: Compression,
        where: str,
        *,
        reuse: bool = False,
    ) -> None:
        """`reuse`: what is taken is put in place of what was taken before: memory that is new takes
        longer than to decode into it."""
        self.where = where
        self._reuse = reuse
        self._memory = bytearray()
        self._parts = compression.parts(stored)
        self._part: memoryview | bytes = b""
        self._at = 0

    def take_bytes(self, count: int) -> memoryview:
        """A copy of the next bytes. Raises FormatError if there are fewer, UnsupportedError."""
        return self._taken(_copied, _BYTES, count, "bytes")

    def fill(self, decode: _Decode, layout: _Layout, count: int) -> memoryview:
        """The next `count` values. Raises as take_bytes."""
        if count > MOST_VALUES:
            raise UnsupportedError(
                f"{self.where}: {count} values in an index group, expected at most {MOST_VALUES}"
            )
        check_fits(f"{self.where}: {count} values take", _VALUE_BYTES * count)
        return self._taken(decode, layout, count, "values")

    def _taken(self, decode: _Decode, layout: _Layout, count: int, what: str) -> memoryview:
        size = layout.num_bytes(count)
        if count <= _PIECE or size <= len(self._memory):
            memory = self._memory if size <= len(self._memory) else bytearray(size)
            items = memoryview(memory)[:size].cast(layout.format)
            filled = self._fill(decode, items, count, layout.num_items)
            if filled < count:
                raise self._too_short(filled, count, what)
        else:
            pieces = []
            for start in range(0, count, _PIECE):
                room = min(_PIECE, count - start)
                piece = memoryview(bytearray(layout.num_bytes(room))).cast(layout.format)
                filled = self._fill(decode, piece, room, layout.num_items)
                if filled < room:
                    raise self._too_short(start + filled, count, what)
                pieces.append(piece)
            memory = bytearray().join(pieces)
            items = memoryview(memory).cast(layout.format)
        if self._reuse:
            self._memory = memory
        return items

    def _fill(self, decode: _Decode, items: memoryview, count: int, num_items: int) -> int:
        filled = 0
        while True:
            with naming(self.where):
                decoded, self._at = decode(self._part, self._at, items[filled * num_items :])
            filled += decoded
            if filled == count or not self._refill():
                return filled

    def _refill(self) -> bool:
        """Put the next part behind what is left of this one."""
        with naming(self.where):
            part = self._parts.following(self._part[self._at :])
        if part is None:
            return False
        self._part, self._at = part, 0
        return True

    def _too_short(self, found: int, expected: int, what: str) -> FormatError:
        return FormatError(f"{self.where}: ends after {found} {what}, expected {expected}")


@dataclass(frozen=True, slots=True)
class StoredNumbers:
    """The numbers in a stream."""

    stream: Stream
    _decode: _Decode
    _layout: _Layout

    def take(self, count: int) -> memoryview:
        """The next ones, shape (count,). Raises FormatError if there are fewer, or for damage,
        UnsupportedError."""
        return self.stream.fill(self._decode, self._layout, count)

    def take_starts(self, count: int, most: int = MOST_BYTES) -> memoryview:
        """The next ones as the lengths of texts or lists: their starts, and the end of the last one, int64,
        shape (count + 1,). Raises as take."""
        lengths = self.take(count)
        with naming(self.stream.where):
            return _kernel.orc_starts(lengths, most)


def integers(stream: Stream, version: int, *, signed: bool) -> StoredNumbers:
    """Run-length encoded, in version 1 or 2: int64."""
    return StoredNumbers(stream, _kernel.OrcIntegers(version, signed).decode, _INTEGERS)


class Booleans:
    """Bits of run-length encoded bytes, the highest first."""

    def __init__(self, numbers: StoredNumbers) -> None:
        self._bytes = numbers
        self._last = b""
        self._left = 0

    def take(self, count: int) -> tuple[memoryview, int]:
        """bool, shape (count,), and how many are set. Raises as StoredNumbers.take."""
        # The bits that are left begin within the first byte.
        packed, first = self._last, -self._left % 8
        if count > self._left:
            packed = b"".join([packed, self._bytes.take((count - self._left + 7) // 8)])
        bits, num_set = _kernel.orc_bits(packed, first, count)
        self._left = 8 * len(packed) - first - count
        self._last = packed[len(packed) - (self._left + 7) // 8 :]
        return bits, num_set


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

    def integers(self, kind: int, *, signed: bool, version: int | None = None) -> StoredNumbers:
        """Raises FormatError for an unknown encoding, and as stream."""
        return integers(self.stream(kind), version or _VERSIONS[self.encoding], signed=signed)

    def lengths(self) -> StoredNumbers:
        return self.integers(LENGTH, signed=False)

    def tags(self) -> StoredNumbers:
        """uint8"""
        return self._bytes(DATA)

    def booleans(self, kind: int) -> Booleans:
        return Booleans(self._bytes(kind))

    def _bytes(self, kind: int) -> StoredNumbers:
        return StoredNumbers(self.stream(kind), _kernel.OrcBytes().decode, _BYTES)

    def long_numbers(self) -> StoredNumbers:
        """Zigzag numbers in base 128, of up to 128 bits: two words for each, the low one first, uint64,
        shape (2 * count,)."""
        return StoredNumbers(self.stream(DATA), _kernel.orc_decimals, _WORD_PAIRS)


def _pieces(source: Source, stream: OrcStream) -> Iterator[bytes]:
    """The bytes of a stream, all at once if they come from afar."""
    end = stream.offset + stream.length
    step = stream.length if source.is_remote else _READ_BYTES
    for at in range(stream.offset, end, step or 1):
        yield source.read_at(at, min(step, end - at))
