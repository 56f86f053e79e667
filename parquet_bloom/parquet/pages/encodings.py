"""Decode the value section of a page, in any encoding, into runs of stored values.

PLAIN is used in place. DELTA_BINARY_PACKED has a decoder of ours, because DuckDB writes INT32 with
33-bit deltas that pyarrow cannot read. For every other encoding, the section becomes the only page
of an in-memory file with one required, uncompressed column of the physical type without a logical
type, from which pyarrow returns the stored values.

    | PAR1 | PageHeader | value section | FileMetaData | length | PAR1 |

Spec: parquet-format, Encodings.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from parquet_bloom.errors import PageError, UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.pages.runs import FixedRun, PrefixedRun, Run, SlicedRun
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Encoding
from parquet_bloom.values.types import LeafType

MAGIC = b"PAR1"

# Far more than any writer's pages, which aim at 1 MiB.
MAX_DECODED_BYTES = 128 << 20

# Of a value of any length: its offset as pyarrow has it, and as we have; and its hash.
_OFFSET_BYTES = 24


def plain_run(values: memoryview, leaf: LeafType) -> Run:
    """PLAIN values that fill a buffer."""
    return PrefixedRun(values) if leaf.width is None else FixedRun(values, leaf.width)


def decoded_runs(encoding: int, leaf: LeafType, values: memoryview, count: int) -> Iterator[Run]:
    """The `count` values of a section in an encoding other than PLAIN and dictionary.

    Raises PageError if the section is damaged or holds another number of values, UnsupportedError
    for an unknown encoding.
    """
    if encoding == Encoding.DELTA_BINARY_PACKED and leaf.physical in ("INT32", "INT64"):
        yield from _delta_runs(leaf, values, count)
    else:
        if encoding == Encoding.DELTA_BYTE_ARRAY:
            _check_decoded_size(values)
        # The page is copied, and offsets are widened.
        check_fits(f"{count} values take", 2 * len(values) + count * (leaf.width or _OFFSET_BYTES))
        yield _arrow_run(encoding, leaf, values, count)


def _delta_runs(leaf: LeafType, values: memoryview, count: int) -> Iterator[Run]:
    try:
        decoder = _kernel.DeltaDecoder(values)
        if decoder.count != count:
            raise PageError(f"DELTA_BINARY_PACKED: {decoder.count} values, expected {count}")
        for part in decoder:
            stored = part.astype("<u4") if leaf.physical == "INT32" else part
            yield FixedRun(stored.data.cast("B"), leaf.width or 0)
    except ValueError as error:
        raise PageError(str(error)) from None


def _check_decoded_size(values: memoryview) -> None:
    """Refuse a page that is too large: each value can repeat a prefix of the previous one, so a few
    bytes can expand without limit."""
    try:
        size = sum(int(part.sum(dtype="f8")) for part in _kernel.DeltaDecoder(values))
    except ValueError as error:
        raise PageError(f"DELTA_BYTE_ARRAY: {error}") from None
    if size > MAX_DECODED_BYTES:
        raise UnsupportedError(
            f"DELTA_BYTE_ARRAY: a page of {size} bytes, expected at most {MAX_DECODED_BYTES}"
        )


def _arrow_run(encoding: int, leaf: LeafType, values: memoryview, count: int) -> Run:
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = f"encoding {Encoding._VALUES_TO_NAMES.get(encoding, encoding)}"
    try:
        file = pq.ParquetFile(pa.BufferReader(_one_page_file(encoding, leaf, values, count)))
        column = file.read().column(0)
    except (NotImplementedError, OSError, pa.ArrowException) as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        is_known = encoding in Encoding._VALUES_TO_NAMES
        is_missing = isinstance(error, NotImplementedError) or not is_known
        raise (UnsupportedError if is_missing else PageError)(f"{name}: {first_line}") from None
    if len(column) != count:
        raise PageError(f"{name}: {len(column)} values, expected {count}")
    return _run(column.combine_chunks(), leaf)


def _run(array: Any, leaf: LeafType) -> Run:
    import numpy as np

    width = leaf.width
    if width is not None:
        data = memoryview(array.buffers()[1] or b"").cast("B")
        return FixedRun(data[array.offset * width : (array.offset + len(array)) * width], width)
    _, offset_buffer, data_buffer = array.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32)[array.offset : array.offset + len(array) + 1]
    return SlicedRun(memoryview(data_buffer or b"").cast("B"), offsets.astype(np.int64))


def _one_page_file(encoding: int, leaf: LeafType, values: memoryview, count: int) -> bytes:
    header = ttypes.PageHeader(
        type=ttypes.PageType.DATA_PAGE,
        uncompressed_page_size=len(values),
        compressed_page_size=len(values),
        data_page_header=ttypes.DataPageHeader(count, encoding, Encoding.RLE, Encoding.RLE),
    )
    page = compact.encode(header) + bytes(values)
    physical = ttypes.Type._NAMES_TO_VALUES[leaf.physical]
    column = ttypes.ColumnMetaData(
        type=physical,
        encodings=[encoding],
        path_in_schema=["values"],
        codec=ttypes.CompressionCodec.UNCOMPRESSED,
        num_values=count,
        total_uncompressed_size=len(page),
        total_compressed_size=len(page),
        data_page_offset=len(MAGIC),
    )
    chunk = ttypes.ColumnChunk(file_offset=0, meta_data=column)
    required = ttypes.FieldRepetitionType.REQUIRED
    footer = compact.encode(
        ttypes.FileMetaData(
            version=2,
            schema=[
                ttypes.SchemaElement(name="schema", num_children=1),
                ttypes.SchemaElement(physical, leaf.length or None, required, "values"),
            ],
            num_rows=count,
            row_groups=[ttypes.RowGroup([chunk], total_byte_size=len(page), num_rows=count)],
        )
    )
    return b"".join([MAGIC, page, footer, len(footer).to_bytes(4, "little"), MAGIC])
