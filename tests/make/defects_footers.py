"""Files that break PB128 to PB130: footers that are not as the format defines them."""

from collections.abc import Callable, Sequence
from typing import Any

from make.defects_files import Defect, making, sound
from make.defects_pages import paged, pages
from make.footers import (
    edited,
    footer_of,
    footer_start,
    meta_of,
    with_created_by,
    with_field,
    with_meta,
)

from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

# The ways to structs of a footer, as with_field takes them.
ELEMENT, GROUP = (2, 1), (4, 0)
CHUNK, META_DATA, STATISTICS = (*GROUP, 1, 0), (*GROUP, 1, 0, 3), (*GROUP, 1, 0, 3, 12)

SHORT = compact.TYPE_I16, compact.zigzag(4)
NO_TEXT = compact.TYPE_BINARY, b"\2\xe9x"


def with_one(field: str, **fields: Any) -> Callable[[], bytes]:
    """A file of pages with something else in a struct of the first ColumnMetaData."""

    def edit(footer: ttypes.FileMetaData) -> None:
        for name, value in fields.items():
            setattr(getattr(meta_of(footer, 0, 0), field), name, value)

    return lambda: edited(paged(), edit)


def with_orders() -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        del footer.column_orders[1:]

    return edited(sound(), edit)


def with_no_meta_data() -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        footer.row_groups[0].columns[0].meta_data = None

    return edited(sound(), edit)


def cut_by(size: int, created_by: str | None = None) -> bytes:
    """The dictionary of column `s` in row group 0 takes more than 14 bytes, its header fewer."""
    data = paged() if created_by is None else with_created_by(paged(), created_by)
    said = meta_of(footer_of(data), 0, 1).total_compressed_size
    return with_meta(data, 0, 1, total_compressed_size=said - size)


def of_file(
    name: str, path: Sequence[int], number: int, value: Any = None, rule: str = "PB128", **more: Any
) -> Defect:
    """A field of the sound file that is another, or missing."""
    make = making(lambda: with_field(sound(), path, number, value))
    return Defect(name, rule, make, **{"row_group": None, "column": None, **more})


def of_chunk(name: str, path: Sequence[int], number: int, value: Any = None, **more: Any) -> Defect:
    """The same in a chunk of the file with pages, where only --pages looks at it."""
    return pages(name, "PB128", lambda: with_field(paged(), path, number, value), **more)


def with_no_arrow_schema() -> bytes:
    """Some bytes of it are zeros."""
    data = sound()
    start = data.index(b"/////", footer_start(data))
    return data[: start + 40] + b"A" * 40 + data[start + 80 :]


IN_A: dict[str, Any] = {"row_group": 0, "column": "a"}

FOOTERS = (
    of_file("no version", (), 1),
    of_file("a version of 16 bits", (), 1, SHORT),
    of_file("no name", ELEMENT, 4),
    of_file("no UTF-8", ELEMENT, 4, NO_TEXT),
    Defect("column orders", "PB128", making(with_orders), None, None),
    Defect("no ColumnMetaData", "PB128", making(with_no_meta_data)),
    of_file("no codec", META_DATA, 4, **IN_A),
    Defect("a codec that is none", "PB128", making(lambda: with_meta(sound(), 0, 0, codec=-2))),
    of_file("no num_values", META_DATA, 5, **IN_A),
    of_chunk("a type of 16 bits", META_DATA, 1, (compact.TYPE_I16, compact.zigzag(2))),
    of_chunk("Statistics as bytes", META_DATA, 12, NO_TEXT),
    of_chunk("a null_count of 16 bits", STATISTICS, 3, SHORT),
    of_chunk(
        "encodings as text",
        META_DATA,
        2,
        (compact.TYPE_LIST, b"\x18\1x"),
        beside=frozenset({"PB116"}),
    ),
    of_chunk("another path", META_DATA, 3, (compact.TYPE_LIST, b"\x18\1s")),
    of_chunk("no file_offset", CHUNK, 2),
    pages(
        "no total_byte_size",
        "PB128",
        lambda: with_field(paged(), GROUP, 2, None),
        column=None,
    ),
    pages("levels", "PB128", with_one("size_statistics", definition_level_histogram=[1, 2, 3])),
    of_file("created_by", (), 6, NO_TEXT, "PB129"),
    Defect("a schema of Arrow", "PB129", making(with_no_arrow_schema), None, None),
    pages(
        "an encoding that is none",
        "PB129",
        lambda: with_meta(paged(), 0, 0, encodings=[0, 3, 8, 77]),
    ),
    pages("a byte", "PB130", lambda: cut_by(1), column="s"),
    pages("too much for a header", "PB130", lambda: cut_by(101, "parquet-mr"), column="s"),
    pages("a new writer", "PB130", lambda: cut_by(14, "parquet-mr version 1.2.9"), column="s"),
    pages("an old writer", "PB127", lambda: cut_by(14, "parquet-mr version 1.2.8"), column="s"),
    pages("a writer of no version", "PB127", lambda: cut_by(14, "parquet-mr"), column="s"),
)
