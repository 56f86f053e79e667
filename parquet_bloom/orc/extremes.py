"""The least and the greatest value of an index group, and the bounds that statistics give it, in one order.

| type                      | order                     | bounds, and what is left out                               |
|---------------------------|---------------------------|------------------------------------------------------------|
| BOOLEAN                   | false, true               | all are true, or none, by their number                     |
| BYTE SHORT INT LONG, DATE | numbers                   |                                                            |
| FLOAT, DOUBLE             | numbers                   | NaN; bounds beside a sum that is NaN: nobody uses them     |
| STRING, CHAR, VARCHAR     | bytes                     | what is no text; Java before HIVE-8732                     |
| DECIMAL                   | numbers                   | to the digits of the column; of up to 18, not of Java      |
|                           |                           | before ORC-517                                             |
| TIMESTAMP*                | milliseconds, nanoseconds | times of which readers read several, see clocks; bounds    |
|                           | within one                | that are not in UTC                                        |

Bounds may be wider than the values: those of long text are cut, the upper one upwards.

Sources: orc-core, ColumnStatisticsImpl, OrcFile.WriterVersion; ORC C++, Statistics.cc.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal, InvalidOperation
from math import isnan
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.orc.arrays import Decimals, Numbers, Texts, Times, Values, as_array
from parquet_bloom.orc.clocks import DAY, instant_keys, wall_clock_keys
from parquet_bloom.orc.keys import literals
from parquet_bloom.orc.writers import HIVE_8732, JAVA, LONG_DIGITS, ORC_517

if TYPE_CHECKING:
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.orc.wire import Message
    from parquet_bloom.orc.writers import Generation

_INTEGERS: Final = ("BYTE", "SHORT", "INT", "LONG")
_FLOATS: Final = ("FLOAT", "DOUBLE")
_TEXTS: Final = ("STRING", "CHAR", "VARCHAR")
_TIMES: Final = ("TIMESTAMP", "TIMESTAMP_INSTANT")
_ORDERED: Final = ("BOOLEAN", *_INTEGERS, "DATE", *_FLOATS, *_TEXTS, "DECIMAL", *_TIMES)

# ORC Java has it for bytes that are no text.
_NO_TEXT: Final = "\ufffd".encode()

# Digits of any bound that somebody wrote.
_CONTEXT: Final = Context(prec=200)

_SUB_MILLI: Final = 1_000_000

# Seconds, beyond which no calendar has a date: more than a thousand years from 1970.
_FAR: Final = 50 * 10**9


class Extreme(NamedTuple):
    """A value: its place in the order, and its position among the values."""

    key: Any
    position: int


class Extremes(NamedTuple):
    least: Extreme
    greatest: Extreme


class Bound(NamedTuple):
    """What statistics say of one end: its place in the order, and how it is shown."""

    key: Any
    show: Callable[[], str]


class Bounds(NamedTuple):
    """None: statistics say nothing that could exclude a value."""

    low: Bound | None = None
    high: Bound | None = None


# ------------------------------------------------------------------------------------------------
# Values


def extremes_of(column: OrcColumn, values: Values, zone: str) -> Extremes | None:
    """None if no value has a place in the order. `zone`: of the writer."""
    if column.kind not in _ORDERED or not len(values):
        return None
    match values:
        case Texts(data, starts):
            first, last = _kernel.orc_extremes(data, starts)
            return _extremes(lambda at: _text_at(values, at), first, last)
        case Decimals():
            return _of_decimals(values)
        case Times():
            return _of_times(column, values, zone)
    return _of_numbers(values.numbers)


def _extremes(key_at: Callable[[int], Any], first: int, last: int) -> Extremes:
    return Extremes(Extreme(key_at(first), first), Extreme(key_at(last), last))


def _text_at(values: Texts, position: int) -> bytes:
    start, end = values.starts[position], values.starts[position + 1]
    return bytes(values.data[start:end])


def _of_numbers(numbers: NDArray[Any]) -> Extremes | None:
    if numbers.dtype.kind == "f" and np.isnan(numbers).any():
        positions = np.flatnonzero(~np.isnan(numbers))
        return _among(_of_numbers(numbers[positions]), positions) if positions.size else None
    return _extremes(lambda at: numbers[at].item(), int(numbers.argmin()), int(numbers.argmax()))


def _among(found: Extremes | None, positions: NDArray[np.int64]) -> Extremes | None:
    """The same of those at some positions, by their positions among all."""
    if found is None:
        return None
    return Extremes(*(Extreme(each.key, int(positions[each.position])) for each in found))


def _of_decimals(values: Decimals) -> Extremes:
    low, high = values.words[:, 0], values.words.view(np.int64)[:, 1]

    def key_at(position: int) -> Decimal:
        unscaled = int(high[position]) << 64 | int(low[position])
        return _CONTEXT.scaleb(Decimal(unscaled), -values.scale)

    return _extremes(key_at, *_ends(high, lambda positions: low[positions]))


def _of_times(column: OrcColumn, values: Times, zone: str) -> Extremes | None:
    is_instant = column.kind == "TIMESTAMP_INSTANT"
    keys = instant_keys(values) if is_instant else wall_clock_keys(values, zone)
    millis, nanos = as_array(keys.numbers), values.nanos
    if keys.others or millis.min() < DAY:
        is_doubtful = (millis < DAY) & (nanos != 0)
        for positions, _ in keys.others:
            is_doubtful[positions] = True
        certain = np.flatnonzero(~is_doubtful)
        return _among(_of_pairs(millis[certain], nanos[certain]), certain)
    return _of_pairs(millis, nanos)


def _of_pairs(millis: NDArray[np.int64], nanos: NDArray[np.int64]) -> Extremes | None:
    if not millis.size:
        return None
    first, last = _ends(millis, lambda positions: nanos[positions])
    return _extremes(lambda at: (int(millis[at]), int(nanos[at]) % _SUB_MILLI), first, last)


def _ends(
    numbers: NDArray[Any], then: Callable[[NDArray[np.int64]], NDArray[Any]]
) -> tuple[int, int]:
    """The positions of the least and the greatest of numbers, and among equal ones, of what `then` has of them."""
    first, last = (np.flatnonzero(numbers == end) for end in (numbers.min(), numbers.max()))
    return int(first[then(first).argmin()]), int(last[then(last).argmax()])


# ------------------------------------------------------------------------------------------------
# Bounds


def bounds_in(generation: Generation, column: OrcColumn, statistics: Message) -> Bounds:
    """Those of a ColumnStatistics, as far as they can be compared with values."""
    is_java, version, kind = generation.writer == JAVA, generation.version, column.kind
    if kind in _TEXTS and not (is_java and version < HIVE_8732):
        return _of_text(column, statistics.stringStatistics)
    if kind == "DECIMAL" and not (
        is_java and version < ORC_517 and column.precision <= LONG_DIGITS
    ):
        return _of_decimal_text(column, statistics.decimalStatistics)
    if kind in _INTEGERS:
        return _plain(statistics.intStatistics, str)
    if kind == "DATE":
        return _plain(statistics.dateStatistics, lambda day: _shown(column, day))
    if kind in _FLOATS and not isnan(statistics.doubleStatistics.sum):
        return _plain(statistics.doubleStatistics, lambda number: f"{number!r}".removesuffix(".0"))
    if kind in _TIMES:
        return _of_times_told(column, statistics.timestampStatistics)
    if kind == "BOOLEAN" and statistics.HasField("bucketStatistics"):
        return _of_count(statistics.numberOfValues, sum(statistics.bucketStatistics.count))
    return Bounds()


def ends_there(column: OrcColumn, statistics: Message) -> tuple[bool, bool] | None:
    """Whether a ColumnStatistics has a minimum, and a maximum, cut ones included; None for types that have none of
    their own, and beside a sum that is NaN."""
    kind = column.kind
    low, high = ["minimum"], ["maximum"]
    if kind in _TEXTS:
        told, low, high = statistics.stringStatistics, [*low, "lowerBound"], [*high, "upperBound"]
    elif kind == "DECIMAL":
        told = statistics.decimalStatistics
    elif kind in _INTEGERS:
        told = statistics.intStatistics
    elif kind == "DATE":
        told = statistics.dateStatistics
    elif kind in _FLOATS and not isnan(statistics.doubleStatistics.sum):
        told = statistics.doubleStatistics
    elif kind in _TIMES:
        told, low, high = statistics.timestampStatistics, ["minimumUtc"], ["maximumUtc"]
    else:
        return None
    return any(map(told.HasField, low)), any(map(told.HasField, high))


def _plain(told: Message, shown: Callable[[Any], str]) -> Bounds:
    def bound(name: str) -> Bound | None:
        number = getattr(told, name)
        # Nothing is compared with NaN.
        is_there = told.HasField(name) and not isnan(number)
        return Bound(number, lambda: shown(number)) if is_there else None

    return Bounds(bound("minimum"), bound("maximum"))


def _of_count(num_values: int, num_true: int) -> Bounds:
    low = Bound(True, lambda: "only true") if num_values and num_true == num_values else None
    return Bounds(low, None if num_true else Bound(False, lambda: "only false"))


def _of_text(column: OrcColumn, told: Message) -> Bounds:
    def bound(whole: str, cut: str) -> Bound | None:
        name = whole if told.HasField(whole) else cut
        text = getattr(told, name)
        if not told.HasField(name) or _NO_TEXT in text:
            return None
        return Bound(text, lambda: literals(column, Texts.of([text]))[0])

    return Bounds(bound("minimum", "lowerBound"), bound("maximum", "upperBound"))


def _of_decimal_text(column: OrcColumn, told: Message) -> Bounds:
    """Readers round a value that was written with more digits than its column has."""

    def bound(name: str, rounding: str) -> Bound | None:
        try:
            number = Decimal(getattr(told, name).decode())
            unit = Decimal(1).scaleb(-column.scale)
            key = number.quantize(unit, rounding, _CONTEXT) if column.precision else number
        except (InvalidOperation, UnicodeDecodeError):
            return None
        return Bound(key, lambda: str(number)) if key.is_finite() else None

    return Bounds(bound("minimum", ROUND_FLOOR), bound("maximum", ROUND_CEILING))


def _of_times_told(column: OrcColumn, told: Message) -> Bounds:
    def bound(end: str, unknown: int) -> Bound | None:
        if not told.HasField(f"{end}Utc"):
            return None
        millis, nanos = getattr(told, f"{end}Utc"), getattr(told, f"{end}Nanos") - 1
        nanos = nanos if 0 <= nanos < _SUB_MILLI else unknown
        return Bound((millis, nanos), lambda: _shown_time(column, millis, nanos))

    return Bounds(bound("minimum", 0), bound("maximum", _SUB_MILLI - 1))


def _shown_time(column: OrcColumn, millis: int, nanos: int) -> str:
    seconds, rest = divmod(millis, 1000)
    if abs(seconds) >= _FAR:
        return str(millis)
    time = Times(np.array([seconds]), np.array([rest * _SUB_MILLI + nanos]))
    return literals(column, time)[0]


def _shown(column: OrcColumn, number: int) -> str:
    return literals(column, Numbers(np.array([number], np.int64)))[0]


# ------------------------------------------------------------------------------------------------
# The two together


def is_before(column: OrcColumn, one: Any, other: Any) -> bool:
    """Whether one place in the order is before another one."""
    if column.kind == "CHAR":
        # Some writers pad what they compare, and not all characters come after blanks.
        return bool(one < other and one.rstrip(b" ") < other.rstrip(b" "))
    return bool(one < other)
