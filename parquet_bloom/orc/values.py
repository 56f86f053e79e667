"""Read the values of one column by index group.

Only the column's own streams and those of the columns above it are read, from the start of the stripe
to its end, one index group at a time:

    STRUCT          a child has a value for each struct that is not null
    LIST, MAP       as many as the LENGTH of each that is not null
    UNION           one for each that is not null and has the child's tag

The streams of each type, without those of nulls:

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
a second from those before 1970 that have more than a millisecond of fraction; see clocks.

Spec: apache/orc-format, specification/ORCv1.md and ORCv2.md "Column Encodings". Source: ORC C++,
ColumnReader.cc, for timestamps.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError, UnsupportedError, quoted_name
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.orc.arrays import Decimals, Held, Numbers, Texts, Times, Values
from parquet_bloom.orc.clocks import from_2015
from parquet_bloom.orc.columns import MOST_SCALE, OrcColumn, above
from parquet_bloom.orc.streams import (
    DATA,
    DICTIONARY_DATA,
    MOST_VALUES,
    PRESENT,
    SECONDARY,
    ChunkStreams,
    StoredNumbers,
    naming,
)
from parquet_bloom.orc.writers import LONG_DIGITS, UNSTABLE

if TYPE_CHECKING:
    from parquet_bloom.orc.reader import OrcReader
    from parquet_bloom.orc.stripe import OrcChunk, Stripe

# Not recorded (Hive 0.11), Hive 0.11, all writers since, and the unstable ORC 2.
FILE_VERSIONS = ((), (0, 11), (0, 12), (1, 9999))

# Values that are held at a time, and how many bytes they take: each as a number or the offset of a
# text, and what is stored, decoded.
_BATCH_BYTES: Final = 1 << 21
_BYTES_PER_VALUE: Final = 16
_EXPANSION: Final = 3

_BITS: Final = {"SHORT": 16, "INT": 32, "LONG": 64, "DATE": 32}
_FLOATS: Final[dict[str, tuple[int, Literal["f", "d"]]]] = {"FLOAT": (4, "f"), "DOUBLE": (8, "d")}
_TEXTS: Final = ("STRING", "CHAR", "VARCHAR", "BINARY")

# A dictionary of up to this many entries per value: most are used more than once.
_WORTH_PICKING: Final = 4


def reason_unreadable(file: OrcReader, column: OrcColumn) -> str | None:
    """Why the values of a column cannot be read; None if they can."""
    if len(file.columns_called(column.name)) > 1:
        return f"two columns are named {quoted_name(column.name)}: values cannot be told apart"
    return None


def check_readable(file: OrcReader, stripe: Stripe) -> None:
    """Raise UnsupportedError for a version of the format that is not read, FilterError if it is uncertain where the
    streams of a stripe are."""
    if file.generation.file_version not in FILE_VERSIONS:
        version = ".".join(map(str, file.generation.file_version))
        raise UnsupportedError(f"{file.path}: file version {version}: values cannot be read")
    stripe.check_index()


@dataclass(frozen=True)
class GroupValues:
    """The values of an index group, without nulls, of which there are `num_nulls`.

    `distinct`: each of them at least once, in no order. `values`: all in order, and `rows`: the row
    of each, counted from the start of the group, int64, shape (n,). They are only made when asked for.
    """

    num_values: int
    num_nulls: int
    _decoded: Decoded = field(repr=False)
    _rows: Callable[[], NDArray[np.int64]] = field(repr=False)

    @cached_property
    def distinct(self) -> Values:
        return self._decoded.distinct()

    @cached_property
    def values(self) -> Values:
        return self._decoded.values()

    @cached_property
    def rows(self) -> NDArray[np.int64]:
        return self._rows()


@dataclass(frozen=True, slots=True)
class ValueBatch:
    """The values of consecutive index groups, each of them at least once, and in `counts` how many of
    `values` each group has, int64. They hold until the next batch is read. `num_values`: of each group,
    those that repeat included."""

    groups: range
    num_values: Sequence[int]
    values: Values = field(repr=False)
    counts: array[int] = field(repr=False)


def groups(file: OrcReader, chunk: OrcChunk) -> Iterator[GroupValues]:
    """Each index group of a chunk, in order.

    For a column below a LIST or MAP, the values of all elements in the group's rows. Raises
    UnsupportedError for what cannot be read, FormatError for damage.
    """
    stripe, reader = chunk.stripe, _Reader(file, chunk)
    for group in range(stripe.num_index_groups):
        steps: list[_Step] = []
        slots = reader.slots(group, steps)
        count = reader.present(slots, steps)
        rows = _Rows(stripe.group_num_rows(group), steps)
        yield GroupValues(count, slots - count, reader.decode(count), rows)


def batches(file: OrcReader, chunk: OrcChunk) -> Iterator[ValueBatch]:
    """The same, some index groups at a time. Raises as groups, and for the same group: what is damaged
    or too large is read again by itself."""
    reader, done = _Reader(file, chunk, reuse=True), 0
    everything = range(chunk.stripe.num_index_groups)
    step = _groups_at_a_time(chunk) if reader.is_even else 1
    try:
        for start in everything[::step]:
            yield reader.batch(everything[start : start + step])
            done = start + step
    except (FormatError, UnsupportedError):
        if step == 1:
            raise
        reader = _Reader(file, chunk, reuse=True)
        for group in everything:
            batch = reader.batch(range(group, group + 1))
            if group >= done:
                yield batch


def room_for_values(file: OrcReader, chunk: OrcChunk) -> int:
    """The most that reading and hashing the values takes, in bytes."""
    stripe, column = chunk.stripe, chunk.column
    read = (column, *above(file.tail.columns, column))
    stored = sum(each.length for one in read for each in stripe.streams_of(one.id))
    return _BYTES_PER_VALUE * stripe.num_rows + _EXPANSION * stored


def _groups_at_a_time(chunk: OrcChunk) -> int:
    """As many as have values for a processor's cache."""
    stripe = chunk.stripe
    held = _BYTES_PER_VALUE * stripe.num_rows + _EXPANSION * chunk.stored_bytes
    return max(1, _BATCH_BYTES * stripe.num_index_groups // max(1, held))


class _Reader:
    """Reads the values of a chunk from its start to its end. Raises as groups."""

    def __init__(self, file: OrcReader, chunk: OrcChunk, *, reuse: bool = False) -> None:
        stripe, columns = chunk.stripe, file.tail.columns
        if reason := reason_unreadable(file, chunk.column):
            raise UnsupportedError(f"{chunk.where}: {reason}")
        check_readable(file, stripe)
        path = [*[*above(columns, chunk.column)][::-1], chunk.column]
        streams = [ChunkStreams(file, stripe, each, chunk.where, reuse) for each in path]
        self._stripe = stripe
        self._levels = [
            _level(each, below) for each, below in zip(streams[:-1], path[1:], strict=True)
        ]
        self.present: Final = _present(streams[-1])
        self.decode: Final = decoder(streams[-1])
        # A row of these has one value, and index groups share no entries.
        self.is_even: Final = not isinstance(self.decode, Dictionary) and all(
            each.kind == "STRUCT" for each in path[:-1]
        )

    def slots(self, group: int, steps: list[_Step]) -> int:
        """The number of values in the next group with nulls, which adds its steps."""
        slots = self._stripe.group_num_rows(group)
        for level in self._levels:
            slots = level(slots, steps)
        return slots

    def batch(self, groups: range) -> ValueBatch:
        """The values of the next groups."""
        num_values = [self.present(self.slots(group, []), []) for group in groups]
        values = self.decode(sum(num_values)).distinct()
        counts = num_values if len(groups) > 1 else [len(values)]
        return ValueBatch(groups, num_values, values, array("q", counts))


# What became of the values of a column: which of them have one in the column below, bool, or where
# those of each start there, int64, one more than values.
_Step: TypeAlias = memoryview

# Takes the number of values in a column, with nulls, adds its steps, and returns the number in the next
# column.
_Level = Callable[[int, list[_Step]], int]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The row of each value, found when asked for."""

    num_rows: int
    steps: Sequence[_Step]

    def __call__(self) -> NDArray[np.int64]:
        rows = np.arange(self.num_rows)
        for step in map(np.asarray, self.steps):
            rows = rows[step] if step.dtype == np.bool_ else np.repeat(rows, np.diff(step))
        return rows


def _present(streams: ChunkStreams) -> _Level:
    if not streams.has(PRESENT):
        return lambda slots, steps: slots
    booleans = streams.booleans(PRESENT)

    def level(slots: int, steps: list[_Step]) -> int:
        bits, num_set = booleans.take(slots)
        steps.append(bits)
        return num_set

    return level


def _level(streams: ChunkStreams, below: OrcColumn) -> _Level:
    """A column and the one below it."""
    present, column = _present(streams), streams.column
    if column.kind == "STRUCT":
        return present
    if column.kind == "UNION":
        tags, wanted = streams.tags(), column.children.index(below.id)

        def union(slots: int, steps: list[_Step]) -> int:
            is_wanted = np.asarray(tags.take(present(slots, steps))) == wanted
            steps.append(is_wanted.data)
            return int(np.count_nonzero(is_wanted))

        return union
    lengths = streams.lengths()

    def lists(slots: int, steps: list[_Step]) -> int:
        starts = lengths.take_starts(present(slots, steps), MOST_VALUES)
        steps.append(starts)
        return starts[-1]

    return lists


# ------------------------------------------------------------------------------------------------
# From streams to values


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
            lengths = streams.lengths()
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


def _numbers(numbers: Held) -> Decoded:
    return Decoded(Numbers(numbers))


def _integers(integers: StoredNumbers, bits: int) -> Decoder:
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
        starts = lengths.take_starts(count)
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
        starts = self._streams.lengths().take_starts(self._streams.dictionary_size)
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
