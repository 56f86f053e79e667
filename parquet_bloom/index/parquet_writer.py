"""Writes the Parquet files of an index: flat, uncompressed, every value there, so that offsets can be told
without a footer. Any reader of Parquet can read them. `index check` writes them again, and what differs is damage: as
soon as other bytes are written here, it has to know those of before, too.

Spec: parquet-format, README.md, PageIndex.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Final, Protocol

from parquet_bloom.dataclass import dataclass
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes as thrift

MAGIC: Final = b"PAR1"

# What is in a list, by the names that the format wants.
_LIST: Final = ("list", "element")


@dataclass(frozen=True, slots=True)
class PlainColumn:
    """A column: its physical type and encoding as Thrift's enums have them. `length`: of a
    FIXED_LEN_BYTE_ARRAY. `is_list`: whether a row has a list of such values, which may be empty."""

    name: str
    type: int
    encoding: int
    is_text: bool = False
    length: int | None = None
    is_list: bool = False

    @property
    def path(self) -> list[str]:
        return [self.name, *_LIST] if self.is_list else [self.name]


@dataclass(frozen=True, slots=True)
class WrittenPage:
    """A page, header and all: its bytes in the file, its rows, and the least and greatest value as they are
    stored; None if nobody may go by them. `num_values`: of lists, those that are empty counted, too; of others, there
    are as many as rows."""

    size: int
    num_rows: int
    least: bytes | None = None
    most: bytes | None = None
    num_values: int | None = None


class Writable(Protocol):
    """What is written to."""

    def write(self, data: bytes | bytearray | memoryview, /) -> object: ...


class ParquetWriter:
    """Writes row groups chunk by chunk, in the order of `leaves`. Methods raise OSError."""

    def __init__(
        self, file: Writable, name: str, leaves: Sequence[PlainColumn], about: Mapping[str, str]
    ) -> None:
        self._file, self._name, self._leaves, self._about = file, name, leaves, about
        self.position = 0
        self._groups: list[thrift.RowGroup] = []
        self._chunks: list[thrift.ColumnChunk] = []
        self._pages: list[tuple[thrift.ColumnChunk, int, Sequence[WrittenPage]]] = []
        self.write(MAGIC)

    def write(self, data: bytes | bytearray | memoryview) -> int:
        """Write bytes, and return where they begin. Those that are no pages are nobody's but ours."""
        start = self.position
        self._file.write(data)
        self.position += len(data)
        return start

    def add_chunk(
        self, data: Iterable[bytes | bytearray | memoryview], pages: Sequence[WrittenPage]
    ) -> int:
        """Write the pages of the next column, and return where they begin."""
        leaf, start = self._leaves[len(self._chunks)], self.position
        for part in data:
            self.write(part)
        size, least, most = self.position - start, pages[0].least, pages[-1].most
        chunk = thrift.ColumnChunk(
            file_offset=0,
            meta_data=thrift.ColumnMetaData(
                type=leaf.type,
                encodings=[leaf.encoding, *([thrift.Encoding.RLE] if leaf.is_list else [])],
                path_in_schema=leaf.path,
                codec=thrift.CompressionCodec.UNCOMPRESSED,
                num_values=sum(
                    page.num_rows if page.num_values is None else page.num_values for page in pages
                ),
                total_uncompressed_size=size,
                total_compressed_size=size,
                data_page_offset=start,
                statistics=None
                if least is None
                else thrift.Statistics(null_count=0, min_value=least, max_value=most),
            ),
        )
        self._chunks.append(chunk)
        if least is not None or leaf.is_list:
            self._pages.append((chunk, start, pages))
        return start

    def end_group(self) -> None:
        sizes = [chunk.meta_data.total_compressed_size for chunk in self._chunks]
        self._groups.append(
            thrift.RowGroup(
                columns=self._chunks,
                total_byte_size=sum(sizes),
                num_rows=self._chunks[0].meta_data.num_values,
                file_offset=self._chunks[0].meta_data.data_page_offset,
                total_compressed_size=sum(sizes),
                ordinal=len(self._groups),
            )
        )
        self._chunks = []

    def close(self) -> int:
        """Write page indexes and the footer; returns the size of the file."""
        for chunk, start, pages in self._pages:
            self._write_indexes(chunk, start, pages)
        footer = compact.encode(
            thrift.FileMetaData(
                version=1,
                schema=[self._root(), *chain(*map(self._schema_elements, self._leaves))],
                num_rows=sum(group.num_rows for group in self._groups),
                row_groups=self._groups,
                key_value_metadata=[
                    thrift.KeyValue(key=key, value=value) for key, value in self._about.items()
                ],
                created_by="pbloom index",
                column_orders=[
                    thrift.ColumnOrder(TYPE_ORDER=thrift.TypeDefinedOrder()) for _ in self._leaves
                ],
            )
        )
        self.write(footer)
        self.write(len(footer).to_bytes(4, "little"))
        self.write(MAGIC)
        return self.position

    def _write_indexes(
        self, chunk: thrift.ColumnChunk, start: int, pages: Sequence[WrittenPage]
    ) -> None:
        places, row = [], 0
        for page in pages:
            places.append(thrift.PageLocation(start, page.size, row))
            start += page.size
            row += page.num_rows
        if pages[0].least is not None:
            index = thrift.ColumnIndex(
                null_pages=[False] * len(pages),
                min_values=[page.least for page in pages],
                max_values=[page.most for page in pages],
                boundary_order=thrift.BoundaryOrder.ASCENDING,
                null_counts=[0] * len(pages),
            )
            data = compact.encode(index)
            chunk.column_index_offset, chunk.column_index_length = self.write(data), len(data)
        data = compact.encode(thrift.OffsetIndex(page_locations=places))
        chunk.offset_index_offset, chunk.offset_index_length = self.write(data), len(data)

    def _root(self) -> thrift.SchemaElement:
        return thrift.SchemaElement(name=self._name, num_children=len(self._leaves))

    @staticmethod
    def _schema_elements(leaf: PlainColumn) -> Iterator[thrift.SchemaElement]:
        if leaf.is_list:
            yield thrift.SchemaElement(
                name=leaf.name,
                num_children=1,
                repetition_type=thrift.FieldRepetitionType.REQUIRED,
                converted_type=thrift.ConvertedType.LIST,
                logicalType=thrift.LogicalType(LIST=thrift.ListType()),
            )
            yield thrift.SchemaElement(
                name=_LIST[0],
                num_children=1,
                repetition_type=thrift.FieldRepetitionType.REPEATED,
            )
        yield thrift.SchemaElement(
            name=leaf.path[-1],
            type=leaf.type,
            type_length=leaf.length,
            repetition_type=thrift.FieldRepetitionType.REQUIRED,
            converted_type=thrift.ConvertedType.UTF8 if leaf.is_text else None,
            logicalType=thrift.LogicalType(STRING=thrift.StringType()) if leaf.is_text else None,
        )


def plain_page(body: bytes | bytearray, num_rows: int) -> bytes:
    """A page of PLAIN values, with its header."""
    return plain_header(len(body), num_rows) + bytes(body)


def plain_header(size: int, num_rows: int) -> bytes:
    """The header of a page of PLAIN values of `size` bytes."""
    header = thrift.PageHeader(
        type=thrift.PageType.DATA_PAGE,
        uncompressed_page_size=size,
        compressed_page_size=size,
        data_page_header=thrift.DataPageHeader(
            num_values=num_rows,
            encoding=thrift.Encoding.PLAIN,
            definition_level_encoding=thrift.Encoding.RLE,
            repetition_level_encoding=thrift.Encoding.RLE,
        ),
    )
    return compact.encode(header)
