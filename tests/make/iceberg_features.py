"""Iceberg tables with partitions of every type."""

import datetime
import decimal
from typing import Any

import pyarrow as pa
from make.delta_tables import rows_of
from make.iceberg_tables import make_table
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import IdentityTransform, Transform
from pyiceberg.types import (
    BinaryType,
    BooleanType,
    DateType,
    DecimalType,
    FixedType,
    FloatType,
    IntegerType,
    LongType,
    NestedField,
    StringType,
    TimestampType,
    TimestamptzType,
    TimeType,
)

MOMENT = datetime.datetime(2026, 11, 22, 6, 30, 1, 123456)
VALUES: dict[str, tuple[Any, list[Any]]] = {
    "s": (StringType(), [None, "", "a b", "a/b", "ä€", "50%25", "a=b&c", "x#y?z"]),
    "i": (IntegerType(), [None, -1, 0, 2**31 - 1]),
    "l": (LongType(), [None, -(2**63), 2**63 - 1]),
    "d": (DateType(), [None, datetime.date(1969, 12, 31), datetime.date(2026, 11, 22)]),
    "ts": (TimestampType(), [None, MOMENT, datetime.datetime(1969, 12, 31, 23, 59)]),
    "tz": (TimestamptzType(), [None, MOMENT.replace(tzinfo=datetime.UTC)]),
    "t": (TimeType(), [None, datetime.time(6, 30, 1, 5)]),
    "dec": (DecimalType(9, 2), [None, decimal.Decimal("-1.50"), decimal.Decimal("12345.67")]),
    "b": (BooleanType(), [None, True, False]),
    "f": (FloatType(), [None, -0.5, 2.0**100]),
    "fx": (FixedType(3), [None, b"\x00\xff/"]),
    "bin": (BinaryType(), [None, b"", b"a b%"]),
}


def make_partitioned(
    column: str, transform: Transform[Any, Any] | None = None
) -> tuple[Table, list[Any]]:
    """A table of one snapshot with every of these values of a column, and the values."""
    kind, values = VALUES[column]
    schema = Schema(
        NestedField(1, "id", StringType(), required=False),
        NestedField(2, "n", LongType(), required=False),
        NestedField(3, column, kind, required=False),
    )
    transform = transform or IdentityTransform()
    name = column if isinstance(transform, IdentityTransform) else f"{column}_{transform.root}"
    spec = PartitionSpec(PartitionField(3, 1000, transform, name))
    table = make_table(commits=0, schema=schema, spec=spec)
    rows = rows_of(0, 40 * len(values)).drop_columns("day")
    partition = pa.array(values * 40, table.schema().as_arrow().field(column).type)
    table.append(rows.append_column(column, partition))
    return table, values
