"""Decode the values of a column from its streams, without its nulls.

| type                          | DATA                      | other streams                        |
|-------------------------------|---------------------------|--------------------------------------|
| BOOLEAN                       | bits                      |                                      |
| BYTE, UNION (tags)            | bytes                     |                                      |
| SHORT INT LONG DATE           | integers                  |                                      |
| FLOAT DOUBLE                  | IEEE 754, little-endian   |                                      |
| STRING CHAR VARCHAR BINARY    | the bytes                 | LENGTH                               |
| the same in a dictionary      | indices of entries        | LENGTH, DICTIONARY_DATA: its entries |
| DECIMAL                       | numbers in base 128       | SECONDARY: scales                    |
| DECIMAL in version 1.9999     | integers, up to 18 digits |                                      |
| TIMESTAMP, TIMESTAMP_INSTANT  | seconds since 2015        | SECONDARY: nanoseconds               |
| LIST MAP                      |                           | LENGTH: numbers of elements          |

The year 2015 began at midnight by the writer's clock. Times are read as ORC C++ reads them, which takes
a second from those before 1970 that have more than a millisecond of fraction; see keys.timestamps.

Spec: apache/orc-format, specification/ORCv1.md and ORCv2.md "Column Encodings". Source: ORC C++,
ColumnReader.cc, for timestamps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.orc.arrays import Decimals, Numbers, Texts, Times, Values
from parquet_bloom.orc.chunk_streams import (
    DATA,
    DICTIONARY_DATA,
    LENGTH,
    SECONDARY,
    ChunkStreams,
)
from parquet_bloom.orc.columns import MOST_SCALE
from parquet_bloom.orc.keys.zones import from_2015
from parquet_bloom.orc.streams import Integers, naming
from parquet_bloom.orc.writers import LONG_DIGITS, UNSTABLE

_BITS: Final = {"SHORT": 16, "INT": 32, "LONG": 64, "DATE": 32}
_FLOATS: Final[dict[str, tuple[int, Literal["f", "d"]]]] = {"FLOAT": (4, "f"), "DOUBLE": (8, "d")}
_TEXTS: Final = ("STRING", "CHAR", "VARCHAR", "BINARY")


# A dictionary of up to this many entries per value: most are used more than once.
_WORTH_PICKING: Final = 4


@dataclass(frozen=True, slots=True)
class Decoded:
    """Decoded values."""

    all: Values

    def values(self) -> Values:
        return self.all

    def distinct(self) -> Values:
        """Each value at least once."""
        return self.all


@dataclass(frozen=True, slots=True)
class _Picked(Decoded):
    """Entries of a dictionary, which is `all`."""

    all: Texts
    picks: memoryview
    where: str

    def values(self) -> Values:
        return self._pick(self.picks)

    def distinct(self) -> Values:
        size = len(self.all)
        if size > _WORTH_PICKING * len(self.picks):
            return self.values()
        with naming(self.where):
            used = _kernel.orc_used(self.picks, size)
        return self._pick(used)

    def _pick(self, picks: memoryview) -> Values:
        with naming(self.where):
            return self.all.take(picks)


Decoder = Callable[[int], Decoded]


def decoder(streams: ChunkStreams) -> Decoder:
    """Decodes the next values of a column. Raises FormatError for damage, UnsupportedError for values
    that cannot be read, as does what it returns."""
    column = streams.column
    match column.kind:
        case "SHORT" | "INT" | "LONG" | "DATE":
            return _integers(streams.integers(DATA, signed=True), _BITS[column.kind])
        case "BYTE":
            tags = streams.tags()
            return lambda count: _numbers(tags.take(count).cast("b"))
        case "UNION":
            tags = streams.tags()
            return lambda count: _numbers(tags.take(count))
        case "BOOLEAN":
            booleans = streams.booleans(DATA)
            return lambda count: _numbers(booleans.take(count)[0])
        case "FLOAT" | "DOUBLE":
            stream, (width, item) = streams.stream(DATA), _FLOATS[column.kind]
            return lambda count: _numbers(stream.take_bytes(count * width).cast(item))
        case "LIST" | "MAP":
            lengths = streams.integers(LENGTH, signed=False)
            return lambda count: _numbers(lengths.take(count))
        case "STRUCT":
            return lambda count: _numbers(memoryview(b""))
        case "DECIMAL":
            return _decimals(streams)
        case "TIMESTAMP" | "TIMESTAMP_INSTANT":
            return _Times(streams)
        case kind if kind in _TEXTS:
            return _texts(streams)
    raise UnsupportedError(f"{streams.where}: {column.kind}: values cannot be read")


def _numbers(numbers: memoryview[Any]) -> Decoded:
    return Decoded(Numbers(numbers))


def _integers(integers: Integers, bits: int) -> Decoder:
    def decode(count: int) -> Decoded:
        numbers = integers.take(count)
        if bits < 64:
            _kernel.orc_narrow(numbers, bits)
        return _numbers(numbers)

    return decode


# ------------------------------------------------------------------------------------------------
# Text


def _texts(streams: ChunkStreams) -> Decoder:
    if streams.encoding.startswith("DICTIONARY"):
        return Dictionary(streams)
    stream, lengths = streams.stream(DATA), streams.lengths()

    def decode(count: int) -> Decoded:
        starts = lengths.take(count)
        return Decoded(Texts(stream.take_bytes(int(starts[-1])), starts))

    return decode


class Dictionary:
    """Text by its index in the dictionary, which is read for the first value."""

    def __init__(self, streams: ChunkStreams) -> None:
        self._streams = streams
        self._indices = streams.integers(DATA, signed=False)

    def __call__(self, count: int) -> Decoded:
        picks = self._indices.take(count)
        if not count:
            return Decoded(Texts.of([]))
        return _Picked(self._entries, picks, self._indices.stream.where)

    @cached_property
    def _entries(self) -> Texts:
        starts = self._streams.lengths().take(self._streams.dictionary_size)
        data = self._streams.stream(DICTIONARY_DATA)
        return Texts(data.take_bytes(int(starts[-1])), starts)


# ------------------------------------------------------------------------------------------------
# Decimals


def _decimals(streams: ChunkStreams) -> Decoder:
    column = streams.column
    if not 0 <= column.scale <= MOST_SCALE:
        raise UnsupportedError(
            f"{streams.where}: {column.type}: a scale of {column.scale}, expected at most"
            f" {MOST_SCALE}"
        )
    is_unstable = streams.file.generation.file_version == UNSTABLE
    if is_unstable and 0 < column.precision <= LONG_DIGITS:
        integers = streams.integers(DATA, signed=True, version=2)

        def decode_short(count: int) -> Decoded:
            return Decoded(Decimals.of(integers.take(count).tolist(), column.scale))

        return decode_short
    numbers, scales = streams.long_numbers(), streams.integers(SECONDARY, signed=True)

    def decode(count: int) -> Decoded:
        words, of_each = numbers.take(count), scales.take(count)
        # Without a precision (Hive 0.11), each number has a scale of its own.
        scale = column.scale if column.precision else max(of_each, default=0)
        with naming(streams.where):
            _kernel.orc_rescale(words, of_each, scale)
        return Decoded(Decimals(words, scale))

    return decode


# ------------------------------------------------------------------------------------------------
# Timestamps


class _Times:
    def __init__(self, streams: ChunkStreams) -> None:
        self._where = streams.where
        self._seconds = streams.integers(DATA, signed=True)
        self._nanos = streams.integers(SECONDARY, signed=False)
        is_local = streams.column.kind == "TIMESTAMP"
        self._zone = streams.stripe.writer_timezone if is_local else ""

    def __call__(self, count: int) -> Decoded:
        seconds, nanos = self._seconds.take(count), self._nanos.take(count)
        try:
            seconds = from_2015(seconds, self._zone)
        except OverflowError:
            raise UnsupportedError(
                f"{self._where}: a time beyond 64 bits of milliseconds"
            ) from None
        except UnsupportedError as error:
            raise UnsupportedError(f"{self._where}: {error}") from None
        with naming(self._nanos.stream.where):
            _kernel.orc_settle(seconds, nanos)
        return Decoded(Times(seconds, nanos))
