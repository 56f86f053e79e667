"""Files that break PB1xx: structure."""

from functools import partial

import pyarrow as pa
from make.defects_files import (
    ROWS,
    Defect,
    integers,
    making,
    sound,
    with_own_header,
    without_filters,
)
from make.filters import (
    bits_of,
    bitset,
    filter_header,
    header_bytes,
    inserted_before_footer,
    stored_filter,
    with_filter_bytes,
    with_header,
)
from make.footers import (
    edited,
    footer_start,
    pointer,
    with_created_by,
    with_extension,
    with_file_type,
    with_index_past_the_end,
    with_meta,
    with_meta_field,
    without_lengths,
)
from make.pages import data_page, int64s
from make.parquet_files import Column, built, forge, written

from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

# Where the ids of the members of algorithm, hash and compression lie in the header of a bitset of
# 32 to 8191 bytes, and the byte that makes them member 2, which the format does not define.
ALGORITHM_AT, HASH_AT, COMPRESSION_AT = 4, 8, 12
MEMBER_2 = 0x2C

# The bits of some value, in two blocks: a bitset that says nothing would be a defect of its own.
FEW_BITS = bits_of([b"value"], 2)


def pointing(offset: int | None, length: int | None, row_group: int = 0) -> bytes:
    """The sound file with another place for the filter of `a`."""
    place = {"bloom_filter_offset": offset, "bloom_filter_length": length}
    return with_meta(sound(), row_group, 0, **place)


def length_changed_by(difference: int) -> bytes:
    offset, length = pointer(sound(), 0, 0)
    return pointing(offset, length + difference)


def last_length(length: int) -> bytes:
    """Another length of the last filter: behind it there is no other that it could reach into."""
    return with_meta(sound(), 1, 1, bloom_filter_length=length)


# ------------------------------------------------------------------------------------------------
# PB101 to PB107: places


def in_a_page() -> bytes:
    """A value of a BYTE_ARRAY column is a whole filter, header and all."""
    value = stored_filter(FEW_BITS)
    data = written(pa.table({"a": [value] * 4}))
    place = {"bloom_filter_offset": data.index(value), "bloom_filter_length": len(value)}
    return with_meta(data, 0, 0, **place)


def into_pages() -> bytes:
    """A filter before the first page claims more bits than there are until there."""
    header = filter_header(128)
    place = {"bloom_filter_offset": 4, "bloom_filter_length": len(header) + 128}
    before = header + FEW_BITS
    page = data_page(int64s(*integers(0)), ROWS)
    meta = {"data_page_offset": 4 + len(before), "total_compressed_size": len(page)} | place
    return forge(Column([before + page], ROWS, meta=meta))


def in_a_page_index() -> bytes:
    """The least value of a page is a whole filter, and stands in the column index."""
    value = stored_filter(FEW_BITS)
    data = written(pa.table({"a": [value] * 4}), write_page_index=True, write_statistics=True)
    footer = footer_start(data)
    place = data.rindex(value, 0, footer)
    assert place > data.index(value)
    return with_meta(data, 0, 0, bloom_filter_offset=place, bloom_filter_length=len(value))


def into_the_footer() -> bytes:
    header = filter_header(4096)
    data, start = inserted_before_footer(without_filters(), header + FEW_BITS)
    place = {"bloom_filter_offset": start, "bloom_filter_length": len(header) + 4096}
    return with_meta(data, 0, 0, **place)


def partly_overlapping() -> bytes:
    """The filter of `a` ends inside that of `s`."""
    inner = stored_filter(bits_of([b"text"], 2))
    outer = filter_header(128) + bytes(128 - len(inner)) + inner[:40]
    data, start = inserted_before_footer(without_filters(), outer + inner[40:])
    first = {"bloom_filter_offset": start, "bloom_filter_length": len(filter_header(128)) + 128}
    second = start + len(outer) - 40
    data = with_meta(data, 0, 0, **first)
    return with_meta(data, 0, 1, bloom_filter_offset=second, bloom_filter_length=len(inner))


def shared() -> bytes:
    return pointing(*pointer(sound(), 0, 0), row_group=1)


# ------------------------------------------------------------------------------------------------
# PB110 to PB116


def with_size(num_bytes: int, header_says: int) -> bytes:
    header = filter_header(header_says)
    return with_own_header(without_filters(), header, bytes(num_bytes))


def shorter_than_said() -> bytes:
    """numBytes of fewer blocks than the length in the footer has room for, as in DuckDB's
    bloom_filter_short_numbytes.parquet."""
    bits = bitset(sound())
    header = filter_header(len(bits) // 2)
    return with_own_header(sound(), header, bits)


def with_lost_row_group() -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        footer.row_groups.pop()

    return edited(sound(), edit)


def with_pages_past_the_end() -> bytes:
    return with_meta(sound(), 1, 2, total_compressed_size=1 << 40)


def damaged(checksum: bool) -> bytes:
    """A bit of a page is flipped, which only a checksum tells; or its header is no header."""
    table = pa.table({"a": pa.array(integers(0), pa.int64())})
    data = built(written(table, write_page_checksum=checksum), "a")
    at = 4 + 8 * ROWS // 2 if checksum else 4
    return data[:at] + bytes([data[at] ^ 0xF7]) + data[at + 1 :]


def without_checksums() -> bytes:
    """They are all 0, as HAWQ and Parquet.jl write them."""
    pages = [data_page(int64s(*integers(0)), ROWS, crc=0)]
    return built(forge(Column(pages, ROWS, name="a")), "a")


def with_two_algorithms() -> bytes:
    usual = filter_header(64)
    at = ALGORITHM_AT + 2
    return usual[:at] + b"\x1c\0" + usual[at:]


PLACES = (
    *(
        Defect(f"offset {offset}", "PB101", making(partial(pointing, offset, 47)))
        for offset in (3, -1, 1 << 40)
    ),
    Defect("offset 0", "PB101", making(lambda: pointing(0, None)), issue="B4"),
    Defect("offset of the footer", "PB101", making(lambda: pointing(footer_start(sound()), 47))),
    Defect("no header", "PB102", making(lambda: with_filter_bytes(sound(), 0, 0, b"\xff" * 80))),
    Defect("zeros", "PB102", making(lambda: with_filter_bytes(sound(), 0, 0, bytes(80)))),
    Defect(
        "no numBytes", "PB102", making(lambda: with_own_header(sound(), filter_header(None), b""))
    ),
    Defect("in a page", "PB103", making(in_a_page), issue="B16"),
    Defect("into pages", "PB103", making(into_pages), issue="B16"),
    Defect("in a page index", "PB104", making(in_a_page_index)),
    Defect("into the footer", "PB105", making(into_the_footer), issue="B14"),
    Defect("two overlap", "PB106", making(partly_overlapping), issue="B16"),
    Defect("one for two row groups", "PB107", making(shared), issue="B22"),
)

HEADERS = (
    Defect("member 2", "PB108", making(lambda: with_header(sound(), ALGORITHM_AT, MEMBER_2))),
    Defect(
        "two members",
        "PB108",
        making(lambda: with_own_header(sound(), with_two_algorithms(), FEW_BITS)),
    ),
    Defect(
        "Murmur3", "PB109", making(lambda: with_header(sound(), HASH_AT, MEMBER_2)), issue="B25"
    ),
    *(
        Defect(
            f"numBytes {says}",
            "PB110",
            making(partial(with_size, 64, says)),
            issue=issue,
        )
        for says, issue in ((0, None), (8, "B36"), (16, "B36"), (33, None), (-64, "B14"))
    ),
)

LENGTHS = (
    Defect("old parquet-mr", "PB111", making(lambda: without_lengths(sound())), issue="B1"),
    Defect(
        "Trino",
        "PB111",
        making(lambda: with_created_by(without_lengths(sound()), "Trino version 470 (build n/a)")),
        issue="B2",
    ),
    Defect(
        "Impala, row group 1",
        "PB111",
        making(lambda: with_created_by(without_lengths(sound()), "impala version 4.4.0 (build 1)")),
        row_group=1,
        issue="B3",
    ),
    Defect("one byte less", "PB112", making(lambda: length_changed_by(-1))),
    Defect(
        "without the header", "PB112", making(lambda: length_changed_by(-header_bytes(sound())))
    ),
    Defect("0", "PB112", making(lambda: pointing(pointer(sound(), 0, 0)[0], 0))),
    Defect(
        "one byte more", "PB113", making(lambda: last_length(pointer(sound(), 1, 1)[1] + 1)), 1, "s"
    ),
    Defect("beyond the file", "PB113", making(lambda: last_length(2**31 - 1)), 1, "s", issue="B14"),
    Defect("short numBytes", "PB113", making(shorter_than_said), issue="B14"),
    Defect("no offset", "PB114", making(lambda: pointing(None, 47))),
)


def with_another_end() -> bytes:
    """Filters behind a file whose footer has been changed since."""
    return built(without_filters(), "as", layout="append").replace(b"-arrow", b"-ARROW", 1)


def with_foreign_length(data: bytes) -> bytes:
    """A list where bloom_filter_length belongs, in row group 0, column a."""
    return with_meta_field(data, 15, (compact.TYPE_LIST, bytes([1 << 4 | compact.TYPE_I32, 2])))


REST = (
    Defect("a row group is lost", "PB115", making(with_lost_row_group), None, None),
    # Nobody knows then whether what lies behind these pages is part of them.
    Defect(
        "pages past the end",
        "PB115",
        making(with_pages_past_the_end),
        None,
        None,
        beside=frozenset({"PB103"}),
    ),
    Defect("checksum", "PB116", making(lambda: damaged(checksum=True)), deep=True),
    Defect("page header", "PB116", making(lambda: damaged(checksum=False)), deep=True),
    Defect("FlatBuffers", "PB117", making(lambda: with_extension(sound())), None, None),
    Defect("FILE", "PB118", making(lambda: with_file_type(sound())), None, None),
    Defect("as printed", "PB117", making(lambda: with_extension(sound(), -16384)), None, None),
    Defect("another writer at the first end", "PB119", making(with_another_end), None, None),
    Defect("Dremio", "PB120", making(lambda: with_foreign_length(without_filters())), None),
    Defect("nanoparquet", "PB121", making(lambda: with_index_past_the_end(sound())), None),
    Defect(
        "Dremio, with a filter",
        "PB122",
        making(lambda: built(with_foreign_length(without_filters()), ["a"])),
    ),
    Defect("no checksums", "PB123", making(without_checksums), None, deep=True),
)


STRUCTURE = (*PLACES, *HEADERS, *LENGTHS, *REST)
