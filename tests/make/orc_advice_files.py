"""ORC files to be advised on, and what there is to know about them."""

from collections.abc import Iterable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, cast

import numpy as np
import pyarrow as pa
import pyorc
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.orc.file import OrcContainer

STRIDE = 100
ROWS = 1150
# Of 12 index groups the last one is half full.
GROUPS = 12

_UNIX_EPOCH = date(1970, 1, 1)


def write(
    path: str = "a.orc",
    rows: int = ROWS,
    seed: int = 1,
    stride: int = STRIDE,
    compression: str = "zlib",
    **columns: Any,
) -> str:
    """id: unique and shuffled; seq: sorted; low: five values."""
    random = np.random.default_rng(seed)
    table = columns or {
        "id": pa.array(random.permutation(rows) * 7, pa.int64()),
        "seq": pa.array(range(rows), pa.int64()),
        "low": pa.array(random.integers(0, 5, rows), pa.int32()),
    }
    orc.write_table(pa.table(table), path, row_index_stride=stride, compression=compression)
    return path


def column(report: Any, name: str) -> Any:
    (found,) = [advice for advice in report.columns if advice.column == name]
    return found


def write_column(
    type: str, values: Iterable[Any], path: str = "a.orc", stride: int = STRIDE
) -> str:
    """One column x of a type that pyarrow may not have."""
    with (
        open(path, "wb") as file,
        pyorc.Writer(file, f"struct<x:{type}>", row_index_stride=stride) as writer,
    ):
        writer.writerows([(value,) for value in values])
    return path


def fpps_of(path: str, name: str) -> list[float]:
    """Of the filters that `build` writes."""
    pb.build(path, "built.orc", columns=[name], existing="replace", overwrite=True)
    with open_file("built.orc") as opened:
        file = cast("OrcContainer", opened)
        stored = file.filters(0, file.column(name))
    assert stored is not None
    return [filter.fpp for filter in stored.filters]


RANDOM = np.random.default_rng(5)
NUMBERS = [int(number) for number in RANDOM.integers(-3000, 3000, ROWS)]
# Groups have ranges of their own that overlap, so that statistics exclude some.
CLUSTERED = [number + 1000 * (row // STRIDE) for row, number in enumerate(NUMBERS)]

# By kind: how pyorc spells the type, and values.
TYPES = {
    "BYTE": ("tinyint", [number % 100 - 50 + row // 30 for row, number in enumerate(NUMBERS)]),
    "SHORT": ("smallint", CLUSTERED),
    "INT": ("int", CLUSTERED),
    "LONG": ("bigint", [number * 2**40 for number in CLUSTERED]),
    "DOUBLE": ("double", [number / 7 or 0.5 for number in CLUSTERED]),
    "FLOAT": ("float", [number / 8 or 0.5 for number in CLUSTERED]),
    "STRING": ("string", [f"{'s3://' * 20}{number + 9000:05d} ü" for number in CLUSTERED]),
    "VARCHAR(9)": ("varchar(9)", [f"v{number + 9000:05d}" for number in CLUSTERED]),
    "CHAR(9)": ("char(9)", [f"c{number + 9000:05d}".ljust(9) for number in CLUSTERED]),
    "DATE": ("date", [_UNIX_EPOCH + timedelta(number) for number in CLUSTERED]),
    "DECIMAL(12,2)": ("decimal(12,2)", [Decimal(number).scaleb(-2) for number in CLUSTERED]),
    "TIMESTAMP": (
        "timestamp",
        [datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=number) for number in CLUSTERED],
    ),
}
