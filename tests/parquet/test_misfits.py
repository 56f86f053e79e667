"""What of a footer readers refuse: all that is wrong is found, and nothing where nothing is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FIXTURES
from make.defects_files import sound
from make.defects_footers import CHUNK, ELEMENT, GROUP, META_DATA, NO_TEXT, SHORT, STATISTICS
from make.defects_pages import paged
from make.footers import with_field
from make.parquet_files import open_parquet

import parquet_bloom as pb
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.misfits import Misfits
from parquet_bloom.parquet.open_file import OpenFile

EMPTY_STRUCT = compact.TYPE_STRUCT, b"\0"
Write = Callable[[bytes], Path]


def misfits(file: OpenFile) -> list[str]:
    """What is wrong, in the order of the footer, each as one text."""
    looked_at = Misfits(file.footer)
    found = [*looked_at.of_head()]
    for row_group in range(file.num_row_groups):
        found += looked_at.of_row_group(row_group)
        for leaf in file.leaves:
            found += looked_at.of_chunk(file.footer.chunk(row_group, leaf))
    return [
        f"{each.path} {each.problem}: {each.expected}, {each.found}, {each.is_vital}"
        for each in found
    ]


def of(write: Write, data: bytes) -> list[str]:
    with open_parquet(write(data)) as file:
        return misfits(file)


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("**/*.parquet")), ids=lambda path: path.stem)
def test_no_writer_at_hand_has_any(path: Path) -> None:
    with open_parquet(path) as file:
        assert misfits(file) == []


@pytest.mark.parametrize(
    ("path", "number", "value", "expected"),
    [
        ((), 6, NO_TEXT, "created_by is not UTF-8: None, 0xe978, False"),
        ((), 6, SHORT, "created_by is of another type: string, i16, True"),
        (ELEMENT, 4, None, "schema[1].name is missing: None, None, True"),
        ((2, 0), 3, (compact.TYPE_I32, b"\x0e"), "schema[0].repetition_type is no FieldRepetitionType: None, 7, False"),
        (ELEMENT, 6, (compact.TYPE_I32, compact.zigzag(99)), "schema[1].converted_type is no ConvertedType: None, 99, False"),
        (GROUP, 3, None, "num_rows is missing: None, None, True"),
        (GROUP, 4, (compact.TYPE_LIST, b"\x1c\x15\0\0"), "sorting_columns[0].descending is missing: None, None, True"),
        (CHUNK, 2, None, "file_offset is missing: None, None, True"),
        (CHUNK, 3, None, "meta_data is missing: None, None, True"),
        (META_DATA, 3, (compact.TYPE_LIST, b"\x28\1a\1b"), "meta_data.path_in_schema is not that of the column: a, a.b, True"),
        (META_DATA, 2, (compact.TYPE_LIST, b"\x16\0"), "meta_data.encodings is of another type: list<Encoding>, list<i64>, True"),
        (STATISTICS, 3, NO_TEXT, "meta_data.statistics.null_count is of another type: i64, binary, True"),
    ],
)  # fmt: skip
def test_the_first_is_said(
    write: Write, path: tuple[int, ...], number: int, value: tuple[int, bytes], expected: str
) -> None:
    # Of chunks, more follows from a damaged schema.
    found = of(write, with_field(paged(), path, number, value))
    assert found[0] == expected
    assert len(found) == 1 or path == ELEMENT


@pytest.mark.parametrize(
    ("path", "number", "value"),
    [
        # Lists by Dremio, and filters of an older dialect.
        (META_DATA, 14, (compact.TYPE_LIST, b"\x16\0")),
        (META_DATA, 15, (compact.TYPE_LIST, b"\x16\0")),
        (STATISTICS, 7, EMPTY_STRUCT),
        # What only newer versions of the format know.
        ((), 99, NO_TEXT),
        (META_DATA, 99, EMPTY_STRUCT),
        # Lists of nothing, as fastparquet writes them, and the long form of a length.
        ((), 5, (compact.TYPE_LIST, b"\0")),
        (META_DATA, 3, (compact.TYPE_LIST, b"\xf8\1\1a")),
    ],
)
def test_what_readers_take(
    write: Write, path: tuple[int, ...], number: int, value: tuple[int, bytes]
) -> None:
    assert of(write, with_field(paged(), path, number, value)) == []


def test_a_struct_of_too_many_fields(write: Write) -> None:
    fields = b"\x15\0" * 1100
    data = with_field(sound(), (), 8000, (compact.TYPE_STRUCT, fields + b"\0"))
    assert of(write, data) == []
    path = write(with_field(sound(), STATISTICS[:-1], 12, (compact.TYPE_STRUCT, fields + b"\0")))
    with open_parquet(path) as file, pytest.raises(pb.FooterError) as caught:
        misfits(file)
    assert str(caught.value).endswith("byte 2138: more fields than any struct has")
