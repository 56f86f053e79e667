"""Decode the value section of a page, in any encoding, into runs of stored values.

PLAIN is used in place. The DELTA encodings, BYTE_STREAM_SPLIT and ALP have decoders of ours: no library has
to be loaded for them, integers with deltas of 33 bits, as DuckDB writes INT32, can be read, and pyarrow 26
does not know ALP. For every other encoding, the section becomes the only page of an in-memory file with one required,
uncompressed column of the physical type without a logical type, from which pyarrow returns the stored
values.

    | PAR1 | PageHeader | value section | FileMetaData | length | PAR1 |

Spec: parquet-format, Encodings.md and AlpEncoding.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from parquet_bloom.container import number_of
from parquet_bloom.errors import PageError, UnreadableError, UnsupportedError
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.pages.runs import FixedRun, PrefixedRun, Run, SlicedRun
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Encoding
from parquet_bloom.values.types import LeafType

MAGIC = b"PAR1"

# Far more than any writer's pages, which aim at 1 MiB.
MAX_DECODED_BYTES = 128 << 20

# Of a value of DELTA_BYTE_ARRAY: the two lengths, where it starts, its hash.
_LENGTHS_BYTES = 32


def plain_run(values: memoryview, leaf: LeafType, count: int, where: str) -> Run:
    """The first `count` PLAIN values. What follows is none, and no reader gets that far: fastparquet fills
    pages with zeros, HVR left two bytes.

    Raises PageError if there are fewer, in `where`; for BYTE_ARRAY, the run does."""
    if leaf.width is None:
        return PrefixedRun(values, count, where)
    size = count * leaf.width
    if len(values) < size:
        raise PageError(
            f"{where}: {number_of(len(values) // leaf.width, 'value')}, expected {count}"
        )
    return FixedRun(values[:size], leaf.width)


def check_encoding(encoding: int) -> None:
    """Raise UnreadableError for an encoding that nothing here can read."""
    if encoding not in Encoding._VALUES_TO_NAMES:
        raise UnreadableError(f"{_named(encoding)} is not supported")


def check_page_types(found: Sequence[int]) -> None:
    """Raise UnreadableError for the first of these types of pages, which nothing here can read."""
    for page_type in found:
        raise UnreadableError(f"page type {page_type} is not supported")


def decoded_runs(encoding: int, leaf: LeafType, values: memoryview, count: int) -> Iterator[Run]:
    """The `count` values of a section in an encoding other than PLAIN and dictionary.

    Raises PageError if the section is damaged or holds another number of values,
    UnreadableError for an encoding that nothing here can read.
    """
    check_encoding(encoding)
    is_text = leaf.physical == "BYTE_ARRAY"
    try:
        if encoding == Encoding.DELTA_BINARY_PACKED and leaf.physical in ("INT32", "INT64"):
            yield from _delta_runs(leaf, values, count)
        elif encoding == Encoding.DELTA_LENGTH_BYTE_ARRAY and is_text:
            yield from _suffix_runs(values, count)
        elif encoding == Encoding.DELTA_BYTE_ARRAY and (is_text or leaf.length):
            yield _joined_run(leaf, values, count)
        elif encoding == Encoding.BYTE_STREAM_SPLIT and leaf.width:
            yield _stream_run(leaf.width, values, count)
        elif encoding == Encoding.ALP:
            yield from alp_runs(leaf, values, count)
        else:
            # The page is copied.
            check_fits(f"{count} values take", 2 * len(values) + count * (leaf.width or 0))
            yield _arrow_run(encoding, leaf, values, count)
    except ValueError as error:
        raise PageError(str(error)) from None


def _deltas(values: memoryview, count: int) -> _kernel.DeltaDecoder:
    decoder = _kernel.DeltaDecoder(values)
    if decoder.count != count:
        raise PageError(
            f"DELTA_BINARY_PACKED: {number_of(decoder.count, 'value')}, expected {count}"
        )
    return decoder


def _delta_runs(leaf: LeafType, values: memoryview, count: int) -> Iterator[Run]:
    for part in _deltas(values, count):
        stored = part.astype("<u4") if leaf.physical == "INT32" else part
        yield FixedRun(stored.data.cast("B"), leaf.width or 0)


def _suffix_runs(values: memoryview, count: int) -> Iterator[Run]:
    """DELTA_LENGTH_BYTE_ARRAY: | lengths | values |"""
    rest = values[_kernel.delta_end(values) :]
    for lengths in _deltas(values, count):
        try:
            starts = _kernel.orc_starts(lengths.view(np.int64), len(rest))
        except (ValueError, OverflowError):
            raise PageError(
                f"DELTA_LENGTH_BYTE_ARRAY: a value that runs past the end of {len(values)} bytes"
            ) from None
        yield SlicedRun(rest, np.asarray(starts))
        rest = rest[starts[-1] :]


def _joined_run(leaf: LeafType, values: memoryview, count: int) -> Run:
    """DELTA_BYTE_ARRAY: | how many bytes each has of the value before it | the others' lengths |
    the others |"""
    suffixes = values[_kernel.delta_end(values) :]
    rest = suffixes[_kernel.delta_end(suffixes) :]
    # Few bytes can repeat the value before them without limit.
    repeated = sum(int(part.sum(dtype="f8")) for part in _deltas(values, count))
    if repeated > MAX_DECODED_BYTES:
        raise UnsupportedError(
            f"DELTA_BYTE_ARRAY: a page of {repeated} bytes, expected at most {MAX_DECODED_BYTES}"
        )
    size = repeated + len(rest)
    check_fits(f"{count} values take", len(values) + size + count * _LENGTHS_BYTES)
    joined, starts = _kernel.delta_join(
        rest, _all_deltas(values, count), _all_deltas(suffixes, count), size
    )
    if not leaf.length:
        return SlicedRun(joined.data, starts)
    if (np.diff(starts) != leaf.length).any():
        raise PageError(f"DELTA_BYTE_ARRAY: values of other than {leaf.length} bytes")
    return FixedRun(joined.data[: starts[-1]], leaf.length)


def _all_deltas(values: memoryview, count: int) -> NDArray[np.int64]:
    numbers = np.empty(count, np.uint64)
    at = 0
    for part in _deltas(values, count):
        numbers[at : at + part.size] = part
        at += part.size
    return numbers.view(np.int64)


def _stream_run(width: int, values: memoryview, count: int) -> Run:
    if len(values) != count * width:
        raise PageError(f"BYTE_STREAM_SPLIT: {len(values)} bytes, expected {count * width}")
    check_fits(f"{count} values take", 2 * len(values))
    return FixedRun(memoryview(_kernel.join_streams(values, width)), width)


def alp_runs(leaf: LeafType, values: memoryview, count: int) -> Iterator[FixedRun]:
    """ALP: | compression mode (1) | integer encoding (1) | ...

    Raises as decoded_runs, and ValueError for damage."""
    if leaf.physical not in ("FLOAT", "DOUBLE") or leaf.width is None:
        raise PageError(f"ALP: values of {leaf.physical}, expected FLOAT or DOUBLE")
    mode, integers = bytes(values[:2]).ljust(2, b"\0")
    if mode or integers:
        raise UnreadableError(
            f"encoding ALP in compression mode {mode} with integer encoding {integers} is not supported"
        )
    decoder = _kernel.AlpDecoder(values, leaf.width)
    if decoder.count != count:
        raise PageError(f"ALP: {number_of(decoder.count, 'value')}, expected {count}")
    for part in decoder:
        yield FixedRun(part.data, leaf.width)


def _arrow_run(encoding: int, leaf: LeafType, values: memoryview, count: int) -> Run:
    import pyarrow as pa
    import pyarrow.parquet as pq

    name = _named(encoding)
    try:
        file = pq.ParquetFile(pa.BufferReader(_one_page_file(encoding, leaf, values, count)))
        # Another thread may let go of the bytes when Python is about to end already, which aborts the process.
        column = file.read(use_threads=False).column(0)
    except (NotImplementedError, OSError, pa.ArrowException) as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        is_missing = isinstance(error, NotImplementedError)
        raise (UnsupportedError if is_missing else PageError)(f"{name}: {first_line}") from None
    if len(column) != count:
        raise PageError(f"{name}: {number_of(len(column), 'value')}, expected {count}")
    return _run(column.combine_chunks(), leaf)


def _named(encoding: int) -> str:
    """`encoding ALP`, or its number if the format has no name for it."""
    return f"encoding {Encoding._VALUES_TO_NAMES.get(encoding, encoding)}"


def _run(array: Any, leaf: LeafType) -> Run:
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
