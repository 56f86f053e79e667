"""Files that break PB124 to PB127: what pages hold, against what is said of them."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
from make.defects_files import Defect, making
from make.filters import inserted_before_footer
from make.footers import edited, meta_of, with_meta
from make.pages import data_page, data_page_v2, int64s, page, v2
from make.parquet_files import Column, forge, written
from oracle.specification import rle_run

from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Encoding, FieldRepetitionType, PageType

STRUCTS = {"column_index": ttypes.ColumnIndex, "offset_index": ttypes.OffsetIndex}
OPTIONAL = {"repetition": FieldRepetitionType.OPTIONAL}


def paged() -> bytes:
    """Two row groups of several pages with nulls and a page index; no filter."""
    numbers = [None if row % 7 == 0 else row * 37 % 1000 - 500 for row in range(600)]
    texts = [None if row % 5 == 0 else f"text {row * 41 % 997:03}" for row in range(600)]
    return written(
        pa.table({"a": numbers, "s": texts}),
        row_group_size=300,
        use_dictionary=["s"],
        data_page_size=500,
        write_batch_size=50,
        write_page_index=True,
        data_page_version="2.0",
    )


def with_statistics(**changed: Any) -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        for name, value in changed.items():
            setattr(meta_of(footer, 0, 0).statistics, name, value)

    return edited(paged(), edit)


def with_index(kind: str, change: Callable[[Any], None]) -> bytes:
    """The page index of column `a` in row group 0, changed."""
    data = paged()
    found: dict[str, int] = {}

    def look(footer: ttypes.FileMetaData) -> None:
        chunk = footer.row_groups[0].columns[0]
        found["start"] = getattr(chunk, f"{kind}_offset")

    edited(data, look)
    index, _ = compact.decode(STRUCTS[kind], data[found["start"] :])
    change(index)
    text = compact.encode(index)
    grown, start = inserted_before_footer(data, text)

    def point(footer: ttypes.FileMetaData) -> None:
        chunk = footer.row_groups[0].columns[0]
        setattr(chunk, f"{kind}_offset", start)
        setattr(chunk, f"{kind}_length", len(text))

    return edited(grown, point)


def narrower(index: Any) -> None:
    index.min_values[1] = index.max_values[1]


def other_nulls(index: Any) -> None:
    index.null_counts[2] += 1


def null_page(index: Any) -> None:
    index.null_pages[0] = True


def other_place(index: Any) -> None:
    index.page_locations[1].offset += 1


def other_row(index: Any) -> None:
    index.page_locations[1].first_row_index += 1


def fewer_pages(index: Any) -> None:
    del index.page_locations[-1]


def fewer_bounds(index: Any) -> None:
    for values in (index.null_pages, index.min_values, index.max_values, index.null_counts):
        del values[-1]


def v2_page(**fields: Any) -> bytes:
    header = v2(3, num_nulls=1, definition_levels_byte_length=4, **fields)
    body = rle_run(1, 2, 1) + rle_run(0, 1, 1) + int64s(4, 5)
    return forge(
        Column([page(PageType.DATA_PAGE_V2, body, data_page_header_v2=header)], 3, **OPTIONAL)
    )


def nulls_in_the_header() -> bytes:
    levels = rle_run(1, 2, 1) + rle_run(0, 1, 1)
    return forge(Column([data_page_v2(levels, int64s(4, 5), 3, 2)], 3, **OPTIONAL))


def bounds_in_the_header() -> bytes:
    header = ttypes.DataPageHeader(
        3,
        Encoding.PLAIN,
        Encoding.RLE,
        Encoding.RLE,
        ttypes.Statistics(min_value=int64s(4), max_value=int64s(5)),
    )
    return forge(Column([page(PageType.DATA_PAGE, int64s(4, 5, 6), data_page_header=header)], 3))


def first_page_displaced() -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        meta_of(footer, 0, 1).data_page_offset += 1

    return edited(paged(), edit)


def only_dictionaries() -> bytes:
    """As the footer says, and there is another page."""

    def edit(footer: ttypes.FileMetaData) -> None:
        meta = meta_of(footer, 0, 0)
        stats = ttypes.PageEncodingStats(PageType.DATA_PAGE, Encoding.RLE_DICTIONARY, 1)
        meta.encoding_stats = [stats]

    return edited(forge(Column([data_page(int64s(4, 5, 6), 3)], 3)), edit)


def pages(name: str, rule: str, edit: Callable[[], bytes], **more: Any) -> Defect:
    return Defect(name, rule, making(edit), pages=True, **more)


PAGES = (
    pages("rows in a header", "PB124", lambda: v2_page(num_rows=2)),
    pages("nulls in a header", "PB124", nulls_in_the_header),
    pages("a minimum", "PB125", lambda: with_statistics(min_value=int64s(-400))),
    pages("a maximum", "PB125", lambda: with_statistics(max_value=int64s(400))),
    pages(
        "no exact minimum",
        "PB125",
        lambda: with_statistics(min_value=int64s(-9999), is_min_value_exact=True),
    ),
    pages("two maxima", "PB125", lambda: with_statistics(max_value=int64s(9999), max=int64s(500))),
    pages("nulls", "PB125", lambda: with_statistics(null_count=3)),
    pages("bounds in a header", "PB125", bounds_in_the_header),
    pages("bounds of a page", "PB125", lambda: with_index("column_index", narrower)),
    pages("nulls of a page", "PB125", lambda: with_index("column_index", other_nulls)),
    pages("a page of nulls", "PB125", lambda: with_index("column_index", null_page)),
    pages("the place of a page", "PB126", lambda: with_index("offset_index", other_place)),
    pages("the first row of a page", "PB126", lambda: with_index("offset_index", other_row)),
    pages("a page less", "PB126", lambda: with_index("offset_index", fewer_pages)),
    pages("bounds of a page less", "PB126", lambda: with_index("column_index", fewer_bounds)),
    pages("a size", "PB127", lambda: with_meta(paged(), 0, 0, total_uncompressed_size=99)),
    pages("the first data page", "PB127", first_page_displaced, column="s"),
    pages("only dictionaries", "PB127", only_dictionaries),
    pages(
        "encodings",
        "PB127",
        lambda: with_meta(paged(), 0, 0, encodings=[Encoding.DELTA_BINARY_PACKED]),
    ),
)
