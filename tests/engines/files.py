"""The files that engines are asked about, and the questions.

A file has one column `v` of one type, beside row numbers `n`, in three row groups:

    i        0  1  2  3  4  5  6  7  …  47      values, in their order
    group 0  *           *                *      the first and the last value are in each group, so
    group 1  *  *           *             *      that no minimum or maximum excludes another one
    group 2  *     *           *          *
                      3           7              in none

It is there four times: with filters that `pbloom` built and without, each of them sound, and damaged:
with 0xFF over all pages of groups 1 and 2.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
from make.footers import edited, footer_of, meta_of
from make.leaves import leaf
from make.parquet_files import built
from oracle.stored import Leaf, stored_values

import parquet_bloom as pb
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.values.types import LeafType

GROUPS = 3
LAST = 47
# Values of group 0, in the lower and in the upper half, and one of none.
PRESENT = (4, 40)
ABSENT = (23,)

_FRACTIONS = {"MILLIS": ".123", "MICROS": ".123456", "NANOS": ".123456789"}
_UNITS = {
    "MILLIS": ttypes.MilliSeconds,
    "MICROS": ttypes.MicroSeconds,
    "NANOS": ttypes.NanoSeconds,
}
# INTERVAL has only a ConvertedType.
_ANNOTATIONS = {
    "BSON": ttypes.BsonType,
    "DATE": ttypes.DateType,
    "DECIMAL": ttypes.DecimalType,
    "ENUM": ttypes.EnumType,
    "FLOAT16": ttypes.Float16Type,
    "INTEGER": ttypes.IntType,
    "JSON": ttypes.JsonType,
    "STRING": ttypes.StringType,
    "TIME": ttypes.TimeType,
    "TIMESTAMP": ttypes.TimestampType,
    "UUID": ttypes.UUIDType,
}
# Types of which no order of values is defined, so that no statistics are written.
_WITHOUT_ORDER = ("INT96", "FIXED_LEN_BYTE_ARRAY(12) INTERVAL")

INTEGERS = tuple(
    f"INT{64 if width == 64 else 32} INTEGER({width},{signed})"
    for signed in ("true", "false")
    for width in (8, 16, 32, 64)
)
DECIMALS = (
    "INT32 DECIMAL(9,2)",
    "INT64 DECIMAL(18,3)",
    "FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)",
    "FIXED_LEN_BYTE_ARRAY(8) DECIMAL(18,3)",
    "FIXED_LEN_BYTE_ARRAY(9) DECIMAL(20,3)",
    "FIXED_LEN_BYTE_ARRAY(16) DECIMAL(38,4)",
    "FIXED_LEN_BYTE_ARRAY(32) DECIMAL(76,4)",
    "BYTE_ARRAY DECIMAL(9,2)",
    "BYTE_ARRAY DECIMAL(40,2)",
)
TIMES = tuple(
    f"{'INT32' if unit == 'MILLIS' else 'INT64'} TIME({unit},{utc})"
    for utc in ("false", "true")
    for unit in _UNITS
)
TIMESTAMPS = tuple(f"INT64 TIMESTAMP({unit},{utc})" for utc in ("true", "false") for unit in _UNITS)
TYPES = (
    *INTEGERS,
    "FLOAT",
    "DOUBLE",
    "FIXED_LEN_BYTE_ARRAY(2) FLOAT16",
    *DECIMALS,
    "INT32 DATE",
    *TIMES,
    *TIMESTAMPS,
    "INT96",
    "BYTE_ARRAY STRING",
    "BYTE_ARRAY ENUM",
    "BYTE_ARRAY JSON",
    "BYTE_ARRAY BSON",
    "BYTE_ARRAY",
    "FIXED_LEN_BYTE_ARRAY(5)",
    "FIXED_LEN_BYTE_ARRAY(16) UUID",
    "FIXED_LEN_BYTE_ARRAY(12) INTERVAL",
)
ENCODINGS = ("plain", "dictionary")


def literal(type: LeafType, index: int) -> str:
    """The value of a type at a place in its order."""
    logical = type.logical
    day = date(1960, 1, 1) + timedelta(days=600 * index)
    clock = f"{index // 2:02}:{index % 2 * 30:02}:07"
    match type.logical_name:
        case "INTEGER" if logical:
            # Of 64 bits the middle half, since DataFusion 43 cannot count the numbers of a wider range.
            span = 2 ** min(logical.bit_width, 63) - 1
            middle = 0 if logical.signed else 2 ** (logical.bit_width - 1)
            first = middle - (span + 1) // 2
            return str(first + span * index // LAST)
        case "DECIMAL" if logical:
            largest = 10**logical.precision - 1
            unscaled = 2 * largest * index // LAST - largest
            sign, digits = int(unscaled < 0), tuple(map(int, str(abs(unscaled))))
            return f"{Decimal((sign, digits, -logical.scale)):f}"
        case "DATE":
            return day.isoformat()
        case "TIME" if logical:
            return clock + _FRACTIONS[logical.unit]
        case "TIMESTAMP" if logical:
            return f"{day}T{clock}{_FRACTIONS[logical.unit]}{'Z' if logical.utc else ''}"
        case "STRING":
            return f"naïve {index:02}"
        case "ENUM":
            return f"KIND_{index:02}"
        case "JSON":
            return f'{{"key": {10 + index}}}'
        case "UUID":
            return str(UUID(int=(index << 122) + index))
        case "INTERVAL":
            return "0x" + struct.pack("<3I", index, 3, 1000 * index).hex()
    match type.physical:
        case "FLOAT" | "DOUBLE" | "FIXED_LEN_BYTE_ARRAY" if type.is_float:
            return str(index / 2 - 11.75)
        case "INT96":
            return f"{day}T{clock}.123456Z"
    return "0x" + bytes([5 * index, 0, 255, 39, index]).hex()


def stored(type: LeafType, index: int) -> bytes:
    """Its PLAIN encoding, without the length of a BYTE_ARRAY."""
    spelled = str(type.logical) if type.logical else None
    column = Leaf("v", type.physical, spelled, type.length, repeated=False)
    return stored_values(column, literal(type, index))[0].data


@dataclass(frozen=True)
class Case:
    """A type in an encoding."""

    type: str
    encoding: str

    @property
    def leaf(self) -> LeafType:
        return leaf(self.type)

    @property
    def name(self) -> str:
        return f"{self.type.translate(str.maketrans(' ,', '_-', '()'))}-{self.encoding}"

    def path(self, folder: Path, *, filtered: bool, damaged: bool) -> Path:
        state = ("damaged" if damaged else "sound") + ("-filtered" if filtered else "")
        return folder / f"{self.name}-{state}.parquet"


CASES = tuple(Case(type, encoding) for type in TYPES for encoding in ENCODINGS)


def indexes(group: int) -> list[int]:
    return [i for i in range(LAST + 1) if i in (0, LAST) or i % (GROUPS + 1) == group]


def _array(type: LeafType, group: int) -> pa.Array:
    """The stored form of a group's values: numbers, or bytes."""
    values = [stored(type, index) for index in indexes(group)]
    match type.physical:
        case "BYTE_ARRAY":
            return pa.array(values, pa.binary())
        case "FIXED_LEN_BYTE_ARRAY":
            return pa.array(values, pa.binary(type.length))
        case "INT96":
            pairs = [struct.unpack("<qi", each) for each in values]
            nanos = [nano + (day - 2_440_588) * 86_400 * 10**9 for nano, day in pairs]
            return pa.array(nanos, pa.timestamp("ns"))
    form, kind = {
        "INT32": ("<i", pa.int32()),
        "INT64": ("<q", pa.int64()),
        "FLOAT": ("<f", pa.float32()),
        "DOUBLE": ("<d", pa.float64()),
    }[type.physical]
    return pa.array([struct.unpack(form, each)[0] for each in values], kind)


def _annotate(element: ttypes.SchemaElement, type: LeafType) -> None:
    """The logical type, in the current spelling and, where there is one, in the older one."""
    logical = type.logical
    if logical is None:
        return
    made, older = _ANNOTATIONS.get(logical.name), logical.name
    arguments: dict[str, Any] = {}
    match logical.name:
        case "INTEGER":
            arguments = {"bitWidth": logical.bit_width, "isSigned": logical.signed}
            older = f"{'' if logical.signed else 'U'}INT_{logical.bit_width}"
        case "DECIMAL":
            arguments = {"precision": logical.precision, "scale": logical.scale}
            element.precision, element.scale = logical.precision, logical.scale
        case "TIME" | "TIMESTAMP":
            unit = ttypes.TimeUnit(**{logical.unit: _UNITS[logical.unit]()})
            arguments = {"unit": unit, "isAdjustedToUTC": logical.utc}
            older = f"{logical.name}_{logical.unit}" if logical.utc else ""
        case "STRING":
            older = "UTF8"
    element.converted_type = ttypes.ConvertedType._NAMES_TO_VALUES.get(older)
    if made is not None:
        element.logicalType = ttypes.LogicalType(**{logical.name: made(**arguments)})


def plain_file(case: Case) -> bytes:
    """A sound file without filters."""
    type = case.leaf
    sink = pa.BufferOutputStream()
    fields = [pa.field("n", pa.int32(), nullable=False)]
    fields.append(pa.field("v", _array(type, 0).type, nullable=False))
    options = {
        "compression": "none",
        "store_schema": False,
        "use_dictionary": ["v"] if case.encoding == "dictionary" else False,
        "use_deprecated_int96_timestamps": type.physical == "INT96",
    }
    with pq.ParquetWriter(sink, pa.schema(fields), **options) as writer:
        for group in range(GROUPS):
            rows = pa.array([1000 * group + index for index in indexes(group)], pa.int32())
            writer.write_table(pa.table([rows, _array(type, group)], schema=pa.schema(fields)))

    def edit(footer: ttypes.FileMetaData) -> None:
        _annotate(footer.schema[2], type)
        for group in range(GROUPS):
            meta = meta_of(footer, group, 1)
            meta.statistics = None
            if case.type not in _WITHOUT_ORDER:
                bounds = {"min_value": stored(type, 0), "max_value": stored(type, LAST)}
                meta.statistics = ttypes.Statistics(null_count=0, **bounds)

    return edited(bytes(sink.getvalue()), edit)


def damaged(data: bytes) -> bytes:
    """The same file without a sound page in any but the first group."""
    new = bytearray(data)
    footer = footer_of(data)
    for group in range(1, GROUPS):
        for column in range(len(footer.row_groups[group].columns)):
            meta = meta_of(footer, group, column)
            start = min(meta.dictionary_page_offset or meta.data_page_offset, meta.data_page_offset)
            size = meta.total_compressed_size
            new[start : start + size] = b"\xff" * size
    return bytes(new)


def write(folder: Path) -> None:
    """The files of all cases, each of them in one go, as somebody may be reading them."""
    folder.mkdir(parents=True, exist_ok=True)
    new = folder / "new"
    for case in CASES:
        plain = plain_file(case)
        for filtered in (False, True):
            data = built(plain, ["v"]) if filtered else plain
            for is_damaged in (False, True):
                new.write_bytes(damaged(data) if is_damaged else data)
                new.rename(case.path(folder, filtered=filtered, damaged=is_damaged))
        _check(case, folder)


def _check(case: Case, folder: Path) -> None:
    """The filters exclude what the questions are about, or nobody could show that he uses them."""
    with pb.open(case.path(folder, filtered=True, damaged=False)) as file:
        for index in (*PRESENT, *ABSENT):
            of_group = [0] if index in PRESENT else []
            text = literal(case.leaf, index)
            answers = file.probe("v", pb.literal(text))
            kept = [each.row_group for each in answers if each.verdict != "absent"]
            assert kept == of_group, f"{case.name}, {text}: {kept}"
