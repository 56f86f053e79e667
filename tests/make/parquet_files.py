"""Parquet files by hand, by pyarrow and by `build`, as bytes.

`forge` puts columns of pages together, so that no writer needs to have written them; make.footers
and make.filters change one thing in a file that is there.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from make.footers import MAGIC, with_footer

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import (
    CompressionCodec,
    Encoding,
    FieldRepetitionType,
    Type,
)


def open_parquet(path: str | PathLike[str], keys: pb.Keys | None = None) -> ParquetContainer:
    """As pb.open, for type checkers, too."""
    file: object = open_file(path, keys)
    assert isinstance(file, ParquetContainer)
    return file


def written(table: pa.Table, **options: Any) -> bytes:
    """What pyarrow makes of a table: neither compressed nor with dictionaries, in one row group,
    unless told otherwise."""
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, **{"compression": "none", "use_dictionary": False} | options)
    return bytes(sink.getvalue())


def built(data: bytes, columns: Iterable[str], **options: Any) -> bytes:
    """The same file with filters that `build` makes for these columns."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "built.parquet"
        path.write_bytes(data)
        pb.build(path, in_place=True, columns=list(columns), **options)
        return path.read_bytes()


@dataclass
class Column:
    """One column of a forged file of one row group. `meta` overrides fields of its ColumnMetaData,
    `element` of its SchemaElement."""

    pages: Sequence[bytes]
    num_values: int
    name: str = "a"
    type: int = Type.INT64
    codec: int = CompressionCodec.UNCOMPRESSED
    repetition: int = FieldRepetitionType.REQUIRED
    meta: dict[str, Any] = field(default_factory=dict)
    element: dict[str, Any] = field(default_factory=dict)


def forge(*columns: Column, num_rows: int | None = None) -> bytes:
    """A file of one row group with these columns, below a root."""
    data = MAGIC
    chunks = []
    for column in columns:
        pages = b"".join(column.pages)
        told = {
            "type": column.type,
            "encodings": [Encoding.PLAIN],
            "path_in_schema": [column.name],
            "codec": column.codec,
            "num_values": column.num_values,
            "total_uncompressed_size": len(pages),
            "total_compressed_size": len(pages),
            "data_page_offset": len(data),
        }
        meta = ttypes.ColumnMetaData(**(told | column.meta))
        chunks.append(ttypes.ColumnChunk(file_offset=0, meta_data=meta))
        data += pages
    rows = columns[0].num_values if num_rows is None else num_rows
    return with_footer(
        data,
        ttypes.FileMetaData(
            version=2,
            schema=[
                ttypes.SchemaElement(name="schema", num_children=len(columns)),
                *(_element(column) for column in columns),
            ],
            num_rows=rows,
            row_groups=[ttypes.RowGroup(columns=chunks, total_byte_size=1, num_rows=rows)],
            created_by="forged",
        ),
    )


def _element(column: Column) -> ttypes.SchemaElement:
    told = {"name": column.name, "type": column.type, "repetition_type": column.repetition}
    return ttypes.SchemaElement(**(told | column.element))


def forged(path: Path, pages: Sequence[bytes], num_values: int, **column: Any) -> Path:
    """A file of one column `values`, of BYTE_ARRAY unless told otherwise."""
    told = {"name": "values", "type": Type.BYTE_ARRAY} | column
    path.write_bytes(forge(Column(pages, num_values, **told)))
    return path
