"""Files whose values are stored in unusual forms: INT96 outside its day, integers that do not fit, long
and empty decimals.

INT96    | nanoseconds of the day (8) | Julian day (4) |
"""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from make.filters import bits_of, stored_filter, with_filter_bytes
from make.pages import byte_arrays, data_page
from make.parquet_files import Column, forge

from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Type

NANOS_PER_DAY = 86_400 * 10**9
JULIAN_1970 = 2_440_588

# 1938-05-26T13:58:52.36Z
OLD_NANOS, OLD_DAY = 50_332_360_000_000, 2_429_045


def int96(nanos: int, day: int) -> bytes:
    return struct.pack("<qi", nanos, day)


def days_late(late: int) -> bytes:
    """The moment of 1938 with its day so much too late, and nanoseconds that make up for it."""
    return int96(OLD_NANOS - late * NANOS_PER_DAY, OLD_DAY + late)


def timestamps(stored: Sequence[bytes]) -> bytes:
    """A file with these INT96."""
    return forge(Column([data_page(b"".join(stored), len(stored))], len(stored), "t", Type.INT96))


def decimals(stored: Sequence[bytes], precision: int = 9, **fields: Any) -> bytes:
    """A file with these DECIMAL(precision, 2) in a BYTE_ARRAY."""
    kind = {"converted_type": ttypes.ConvertedType.DECIMAL, "precision": precision, "scale": 2}
    pages = [data_page(byte_arrays(*stored), len(stored))]
    return forge(Column(pages, len(stored), "d", Type.BYTE_ARRAY, element=kind, **fields))


def hashed_as(data: bytes, values: Iterable[bytes], num_blocks: int = 16) -> bytes:
    """The file with a filter of these values, as a writer hashed them."""
    return with_filter_bytes(data, 0, 0, stored_filter(bits_of(values, num_blocks)))


def narrow_integers(stored: Sequence[int], converted_type: str) -> bytes:
    """A file with these INT32 in a column `n` that is INT_8, UINT_8, INT_16 or UINT_16."""
    kind = {"converted_type": getattr(ttypes.ConvertedType, converted_type)}
    values = b"".join(struct.pack("<i", each) for each in stored)
    return forge(
        Column([data_page(values, len(stored))], len(stored), "n", Type.INT32, element=kind)
    )
