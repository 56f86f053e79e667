"""What the files of writers hold, as current pyarrow reads it: for each column, its values in rows.

Knows nothing of the package, so that it cannot be wrong in the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

UNIX_EPOCH = date(1970, 1, 1).toordinal()
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

# Types that pyarrow cannot filter, and durations, which Parquet does not have: those are numbers.
KERNELS = {
    "string_view": pa.string(),
    "binary_view": pa.binary(),
    **{f"duration[{unit}]": pa.int64() for unit in PER_SECOND},
}


class Judge:
    """A file, read whole. `unread`: columns that pyarrow does not read, and why."""

    def __init__(self, path: Path) -> None:
        self.unread: dict[str, str] = {}
        self.kinds: dict[str, str] = {}
        if path.suffix == ".orc":
            self._names, self._tables = [], [_with_local_times(orc.ORCFile(path).read())]
            return
        file = pq.ParquetFile(path)
        columns = [file.schema.column(index) for index in range(len(file.schema))]
        self._names = [column.path for column in columns]
        self.kinds = {column.path: column.logical_type.type for column in columns}
        self._tables = [self._read(path)]
        if any(column.physical_type == "INT96" for column in columns):
            # It goes further than pyarrow's 64 bits of nanoseconds, and is finer than DuckDB's
            # microseconds. (In coarser units, pyarrow takes nanoseconds before the day for huge.)
            query = f"SELECT {{}} FROM '{path}'"
            names = ", ".join(f'"{name}"' for name in self._tables[0].column_names)
            self._tables.append(duckdb.sql(query.format(names)).to_arrow_table())

    def _read(self, path: Path) -> pa.Table:
        file = pq.ParquetFile(path)
        try:
            return file.read()
        except (pa.ArrowException, OSError):
            columns = {}
            for name in dict.fromkeys(path.split(".")[0] for path in self._names):
                try:
                    columns[name] = file.read([name]).column(0)
                except (pa.ArrowException, OSError) as error:
                    self.unread[name] = str(error)
            return pa.table(columns)

    def columns(self, first_row: int, num_rows: int) -> Iterator[tuple[str, pa.Array]]:
        """The distinct values of each column in these rows, without nulls and NaN."""
        slices = [table.slice(first_row, num_rows) for table in self._tables]
        found = [dict(self._leaves(each)) for each in slices]
        for name, array in found[0].items():
            if len(found) > 1 and pa.types.is_timestamp(array.type) and array.type.unit == "ns":
                # Where both agree, the nanoseconds are right; elsewhere they have overflowed.
                coarse = found[1][name]
                micros, nanos = (
                    each.fill_null(pa.scalar(0, pa.int64()).cast(each.type))
                    .cast("int64")
                    .to_numpy()
                    for each in (coarse, array)
                )
                # DuckDB rounds towards the day.
                is_right = pa.array(np.abs(nanos // 1000 - micros) <= 1)
                yield name, distinct(coarse.filter(pc.invert(is_right)))
                array = array.filter(is_right)
            yield name, distinct(array)

    def _leaves(self, table: pa.Table) -> Iterator[tuple[str, pa.Array]]:
        leaves = [
            (name, leaf)
            for field, column in zip(table.schema, table.columns, strict=True)
            for name, leaf in _leaves(field.name, column)
        ]
        if not self._names:
            return iter(leaves)
        names = [name for name in self._names if name.split(".")[0] not in self.unread]
        return zip(names, (leaf for _, leaf in leaves), strict=True)


def _with_local_times(table: pa.Table) -> pa.Table:
    """The numbers that Spark marks as TIMESTAMP_NTZ."""
    for index, field in enumerate(table.schema):
        if (field.metadata or {}).get(b"spark.sql.catalyst.type") == b"timestamp_ntz":
            moments = table.column(index).cast(pa.timestamp("us"))
            table = table.set_column(index, field.name, moments)
    return table


def _leaves(name: str, array: Any) -> Iterator[tuple[str, pa.Array]]:
    """Named as in ORC, in the order of the schema."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _leaves(name, array.storage)
    elif pa.types.is_dictionary(kind):
        yield name, array.dictionary_decode()
    elif str(kind) in KERNELS:
        yield name, array.cast(KERNELS[str(kind)])
    elif pa.types.is_struct(kind):
        for field, child in zip(kind, array.flatten(), strict=True):
            yield from _leaves(f"{name}.{field.name}", child)
    elif pa.types.is_map(kind):
        # Where a map is null, nothing may be left behind it; those of readers are so.
        yield from _leaves(f"{name}._key", array.keys)
        yield from _leaves(f"{name}._value", array.items)
    elif pa.types.is_nested(kind):
        yield from _leaves(f"{name}._elem", array.flatten())
    elif _is_text(kind) and not _is_valid(array):
        yield name, array.cast(pa.binary())
    else:
        yield name, array


def distinct(array: pa.Array) -> pa.Array:
    array = array.drop_null()
    if pa.types.is_floating(array.type):
        numbers = array.to_numpy(zero_copy_only=False)
        # Compared by their bits, which keeps both zeros apart.
        bits = numbers.view(f"u{numbers.itemsize}")
        return pa.array(np.unique(bits[~np.isnan(numbers)]).view(numbers.dtype), array.type)
    try:
        return array.unique()
    except pa.ArrowNotImplementedError:
        return array


# --------------------------------------------------------------------------------------------------
# The forms in which they are asked for


def forms(array: pa.Array, logical: str) -> Iterator[tuple[str, Any]]:
    """A list or an array as long as `array`, in each form, with None for what the form does not have.
    `logical`: the type in Parquet, as pyarrow calls it."""
    yield "python", python(array)
    numbers = numpy(array)
    if numbers is not None:
        yield "numpy", numbers
    yield "arrow", array
    yield "literal", literals(array, logical)


def python(array: pa.Array) -> list[Any]:
    kind = array.type
    if pa.types.is_timestamp(kind):
        start = datetime(1970, 1, 1, tzinfo=UTC if kind.tz else None)
        return [
            start + timedelta(microseconds=each)
            if each is not None and _is_in_years(each)
            else None
            for each in _micros(array)
        ]
    if pa.types.is_time(kind):
        return [
            None if each is None else (datetime.min + timedelta(microseconds=each)).time()
            for each in _micros(array)
        ]
    if pa.types.is_date(kind):
        return [date.fromordinal(day) if _is_day(day) else None for day in _ordinals(array)]
    found: list[Any] = array.to_pylist()
    return found


def numpy(array: pa.Array) -> np.ndarray[Any, Any] | list[Any] | None:
    """None for types that numpy does not have."""
    kind = array.type
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return array.to_numpy(zero_copy_only=False)
    if pa.types.is_timestamp(kind):
        return np.array(_integers(array), "i8").view(f"M8[{kind.unit}]")
    if pa.types.is_date(kind):
        return np.array([each - UNIX_EPOCH for each in _ordinals(array)], "i8").view("M8[D]")
    # numpy cuts NULs from the end of its own texts and bytes.
    if _is_text(kind):
        return [None if each.endswith("\0") else np.str_(each) for each in array.to_pylist()]
    if _is_bytes(kind):
        return [None if each.endswith(b"\0") else np.bytes_(each) for each in array.to_pylist()]
    return None


def literals(array: pa.Array, logical: str) -> list[str | None]:
    """As text on the command line."""
    kind = array.type
    if pa.types.is_floating(kind):
        return [repr(float(each)) for each in array.to_numpy(zero_copy_only=False)]
    if pa.types.is_decimal(kind):
        return [f"{each:f}" for each in array.to_pylist()]
    if pa.types.is_timestamp(kind):
        return [_moment(kind, each) for each in _integers(array)]
    if pa.types.is_time(kind):
        return [_clock(each * (10**9 // PER_SECOND[kind.unit])) for each in _integers(array)]
    if pa.types.is_date(kind):
        return [None if each is None else each.isoformat() for each in python(array)]
    if _is_text(kind):
        # In quotes, which are not part of the value except in JSON.
        return [each if logical == "JSON" else f'"{each}"' for each in array.to_pylist()]
    if _is_bytes(kind):
        if logical == "UUID":
            return [str(UUID(bytes=each)) for each in array.to_pylist()]
        # In a column of text, 0x… would be text.
        prefix = "\\x" if logical in ("ENUM", "JSON", "STRING") else "0x"
        return [f"{prefix}{each.hex()}" if each else '""' for each in array.to_pylist()]
    return [str(each) for each in array.to_pylist()]


def comparable(array: pa.Array) -> list[Any]:
    """As values that have a hash, and that Python has."""
    return _integers(array) if pa.types.is_temporal(array.type) else array.to_pylist()


def _is_text(kind: pa.DataType) -> bool:
    return str(kind) in ("string", "large_string", "string_view")


def _is_valid(array: pa.Array) -> bool:
    """Whether all of it is UTF-8, which some writers do not care for."""
    try:
        array.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def _is_bytes(kind: pa.DataType) -> bool:
    return "binary" in str(kind)


def _integers(array: pa.Array) -> list[int]:
    width = {32: pa.int32(), 64: pa.int64()}[array.type.bit_width]
    return array.cast(width).to_pylist()


def _micros(array: pa.Array) -> Iterator[int | None]:
    """None for a fraction of one."""
    for number in _integers(array):
        micros, rest = divmod(number * 10**6, PER_SECOND[array.type.unit])
        yield None if rest else micros


def _ordinals(array: pa.Array) -> list[int]:
    """Dates by Python's numbers. (date64 has milliseconds.)"""
    step = 1 if array.type.bit_width == 32 else 86_400_000
    return [each // step + UNIX_EPOCH for each in _integers(array)]


def _is_in_years(micros: int) -> bool:
    return _is_day(micros // 86_400_000_000 + UNIX_EPOCH)


def _is_day(ordinal: int) -> bool:
    """Whether it is in the years 1 to 9999."""
    return 1 <= ordinal <= date.max.toordinal()


def _moment(kind: Any, number: int) -> str | None:
    days, nanos = divmod(number * (10**9 // PER_SECOND[kind.unit]), 86_400 * 10**9)
    if not _is_day(days + UNIX_EPOCH):
        return None
    zone = "Z" if kind.tz else ""
    return f"{date.fromordinal(days + UNIX_EPOCH).isoformat()}T{_clock(nanos)}{zone}"


def _clock(nanos: int) -> str:
    seconds, fraction = divmod(nanos, 10**9)
    whole = time(seconds // 3600, seconds // 60 % 60, seconds % 60).isoformat()
    return f"{whole}.{fraction:09}" if fraction else whole
