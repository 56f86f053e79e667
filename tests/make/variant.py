"""Files with a shredded VARIANT.

    v (VARIANT) | metadata | value | typed_value | a | value | typed_value INT32
                             all that is no object     all that is no INT32

Spec: parquet-format, VariantEncoding.md and VariantShredding.md.
"""

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq
from make.footers import edited

from parquet_bloom.parquet.thrift import ttypes

TYPED, RESIDUAL = "v.typed_value.a.typed_value", "v.typed_value.a.value"

# Version 1, one name of one byte.
_METADATA = b"\x01\x01\x00\x01a"
_FIELD = pa.struct([pa.field("value", pa.binary()), pa.field("typed_value", pa.int32())])
_VARIANT = pa.struct(
    [
        pa.field("metadata", pa.binary(), nullable=False),
        pa.field("value", pa.binary()),
        pa.field("typed_value", pa.struct([pa.field("a", _FIELD, nullable=False)])),
    ]
)
_SCHEMA = pa.schema([pa.field("n", pa.int32()), pa.field("v", _VARIANT, nullable=False)])


def shredded(
    groups: Sequence[Sequence[tuple[int, int | str]]],
    dictionary: bool = False,
    annotated: bool = True,
) -> bytes:
    """A row group for each of `groups`: rows of a number `n` and an object `{a: …}`, whose text is
    not shredded. `annotated`: as a VARIANT, which Spark can leave out
    (spark.sql.parquet.variant.annotateLogicalType.enabled)."""
    sink = pa.BufferOutputStream()
    options = {"compression": "none", "use_dictionary": dictionary, "store_schema": False}
    with pq.ParquetWriter(sink, _SCHEMA, **options) as writer:
        for rows in groups:
            writer.write_table(pa.Table.from_pylist([_row(*row) for row in rows], _SCHEMA))

    def annotate(footer: ttypes.FileMetaData) -> None:
        (group,) = (each for each in footer.schema if each.name == "v")
        variant = ttypes.VariantType(specification_version=1)
        group.logicalType = ttypes.LogicalType(VARIANT=variant)

    data = bytes(sink.getvalue())
    return edited(data, annotate) if annotated else data


def _row(n: int, value: int | str) -> dict[str, object]:
    field: dict[str, object] = {"value": None, "typed_value": value}
    if isinstance(value, str):
        # A short string: its length in the upper six bits of the first byte.
        text = value.encode()
        field = {"value": bytes([len(text) << 2 | 1]) + text, "typed_value": None}
    return {"n": n, "v": {"metadata": _METADATA, "value": None, "typed_value": {"a": field}}}
