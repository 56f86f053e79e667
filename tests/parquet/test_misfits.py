"""What of a footer readers refuse: all that is wrong is found, and nothing where nothing is."""

from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import FIXTURES
from make.defects_files import sound
from make.defects_footers import CHUNK, ELEMENT, GROUP, META_DATA, NO_TEXT, SHORT, STATISTICS
from make.defects_pages import paged
from make.footers import edited, with_field
from make.parquet_files import open_parquet

import parquet_bloom as pb
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.misfits import Misfits
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.thrift import ttypes

EMPTY_STRUCT = compact.TYPE_STRUCT, b"\0"
Write = Callable[[bytes], Path]


def misfits(file: OpenFile) -> list[str]:
    """What is wrong, in the order of the footer, each as one text."""
    looked_at = Misfits(file.footer)
    found = [*looked_at.of_head()]
    for leaf in file.leaves:
        found += looked_at.of_column(leaf)
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


INT32, INT64, TEXT, FIXED = (
    ttypes.Type._NAMES_TO_VALUES[name]
    for name in ("INT32", "INT64", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
)
MILLIS = ttypes.TimeUnit(MILLIS=ttypes.MilliSeconds())


def annotated(type: int, length: int | None = None, **fields: object) -> bytes:
    """A file whose first column is another, as the schema has it."""

    def edit(footer: ttypes.FileMetaData) -> None:
        element = footer.schema[1]
        element.type, element.type_length = type, length
        element.logicalType = element.converted_type = None
        for name, value in fields.items():
            setattr(element, name, value)

    return edited(sound(), edit)


def logical(**member: object) -> ttypes.LogicalType:
    return ttypes.LogicalType(**member)


def decimal(precision: int, scale: int) -> ttypes.LogicalType:
    return logical(DECIMAL=ttypes.DecimalType(precision=precision, scale=scale))


def integer(bits: int) -> ttypes.LogicalType:
    return logical(INTEGER=ttypes.IntType(bitWidth=bits, isSigned=True))


@pytest.mark.parametrize(
    ("type", "length", "annotation", "found"),
    [
        (INT32, None, decimal(3, 5), "DECIMAL(3,5) on INT32"),
        (INT32, None, decimal(3, -1), "DECIMAL(3,-1) on INT32"),
        (INT32, None, decimal(0, 0), "DECIMAL(0,0) on INT32"),
        (INT32, None, decimal(10, 2), "DECIMAL(10,2) on INT32"),
        (INT64, None, decimal(19, 2), "DECIMAL(19,2) on INT64"),
        (FIXED, 5, decimal(12, 2), "DECIMAL(12,2) on FIXED_LEN_BYTE_ARRAY(5)"),
        (INT64, None, decimal(2**31 - 1, 2), "DECIMAL(2147483647,2) on INT64"),
        (INT32, None, integer(7), "INTEGER(7,true) on INT32"),
        (INT32, None, integer(64), "INTEGER(64,true) on INT32"),
        (INT64, None, integer(8), "INTEGER(8,true) on INT64"),
        (TEXT, None, logical(UUID=ttypes.UUIDType()), "UUID on BYTE_ARRAY"),
        (FIXED, 15, logical(UUID=ttypes.UUIDType()), "UUID on FIXED_LEN_BYTE_ARRAY(15)"),
        (FIXED, 4, logical(FLOAT16=ttypes.Float16Type()), "FLOAT16 on FIXED_LEN_BYTE_ARRAY(4)"),
        (INT32, None, logical(STRING=ttypes.StringType()), "STRING on INT32"),
        (INT64, None, logical(DATE=ttypes.DateType()), "DATE on INT64"),
        (INT32, None, logical(LIST=ttypes.ListType()), "LIST on INT32"),
        (
            INT64, None, logical(TIME=ttypes.TimeType(isAdjustedToUTC=True, unit=MILLIS)),
            "TIME(MILLIS,true) on INT64",
        ),
        (
            INT32, None, logical(TIMESTAMP=ttypes.TimestampType(isAdjustedToUTC=True, unit=MILLIS)),
            "TIMESTAMP(MILLIS,true) on INT32",
        ),
        (INT32, None, ttypes.ConvertedType.UTF8, "STRING on INT32"),
        (INT32, None, ttypes.ConvertedType.DECIMAL, "DECIMAL(0,0) on INT32"),
        (INT32, None, ttypes.ConvertedType.MAP_KEY_VALUE, "MAP_KEY_VALUE on INT32"),
        (FIXED, 4, ttypes.ConvertedType.INTERVAL, "INTERVAL on FIXED_LEN_BYTE_ARRAY(4)"),
    ],
)  # fmt: skip
def test_annotations_that_columns_cannot_have(
    write: Write, type: int, length: int | None, annotation: object, found: str
) -> None:
    """They hinder nobody who takes the stored bytes."""
    name = "converted_type" if isinstance(annotation, int) else "logicalType"
    path = write(annotated(type, length, **{name: annotation}))
    findings = [each for each in pb.validate(path, deep=False).findings if each.rule == "PB128"]
    assert [(each.column, each.message, each.found) for each in findings] == [
        ("a", "annotation is not allowed by the format", found)
    ]
    with open_parquet(path) as file:
        assert file.obstacles == ()


@pytest.mark.parametrize(
    ("type", "length", "fields"),
    [
        (INT32, None, {"logicalType": decimal(9, 9)}),
        (INT64, None, {"logicalType": decimal(18, 0)}),
        (FIXED, 5, {"logicalType": decimal(11, 0)}),
        (TEXT, None, {"logicalType": decimal(100, 0)}),
        (INT32, None, {"logicalType": logical(UNKNOWN=ttypes.NullType())}),
        (INT32, None, {"converted_type": ttypes.ConvertedType.DECIMAL, "precision": 5}),
    ],
)
def test_annotations_that_they_can_have(
    write: Write, type: int, length: int | None, fields: dict[str, object]
) -> None:
    findings = pb.validate(write(annotated(type, length, **fields)), deep=False).findings
    assert not [each for each in findings if each.rule in ("PB128", "PB129")]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"\0", ["logicalType is empty: None, None, True"]),
        (b"\x8c\x11\x1c\0\0\0", ["logicalType.TIMESTAMP.unit is empty: None, None, True"]),
        # A member that only a newer version knows.
        (b"\x0c\xc6\1\0\0", []),
    ],
)
def test_a_union_needs_a_member(write: Write, value: bytes, expected: list[str]) -> None:
    found = of(write, with_field(sound(), ELEMENT, 10, (compact.TYPE_STRUCT, value)))
    assert [each for each in found if "logicalType" in each] == expected


@pytest.mark.parametrize(
    ("number", "name"), [(1, "max"), (2, "min"), (5, "max_value"), (6, "min_value")]
)
@pytest.mark.parametrize("length", [0, 7, 9])
def test_bounds_are_as_long_as_values(write: Write, number: int, name: str, length: int) -> None:
    value = compact.TYPE_BINARY, bytes([length]) + bytes(length)
    expected = f"meta_data.statistics.{name} is not as long as any INT64: 8, {length}, True"
    assert of(write, with_field(paged(), STATISTICS, number, value)) == [expected]


def test_a_struct_of_too_many_fields(write: Write) -> None:
    fields = b"\x15\0" * 1100
    data = with_field(sound(), (), 8000, (compact.TYPE_STRUCT, fields + b"\0"))
    assert of(write, data) == []
    path = write(with_field(sound(), STATISTICS[:-1], 12, (compact.TYPE_STRUCT, fields + b"\0")))
    with open_parquet(path) as file, pytest.raises(pb.FooterError) as caught:
        misfits(file)
    assert str(caught.value).endswith("byte 2138: more fields than any struct has")
