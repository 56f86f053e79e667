"""Values as build and validate read them: of columns that have a UNION beside them."""

import pyorc
import pytest

import parquet_bloom as pb
from parquet_bloom.orc.values import groups

UNION = "uniontype<int,string>"
SCHEMA = (
    f"struct<l:array<struct<a:int,u:{UNION}>>,m:map<int,struct<b:int,u:{UNION}>>,"
    f"s:struct<u:{UNION},c:int>>"
)
ROWS, STRIDE = 2500, 1000


def row(number):
    """Every third struct is null."""
    some = None if number % 3 == 0 else (number, number)
    swapped = some and some[::-1]
    return [some, some][: number % 4], {number: some}, swapped


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "a.orc"
    with open(path, "wb") as file:
        writer = pyorc.Writer(
            file, SCHEMA, struct_repr=pyorc.StructRepr.TUPLE, row_index_stride=STRIDE
        )
        writer.writerows(row(number) for number in range(ROWS))
        writer.close()
    return path


@pytest.mark.parametrize(
    ("column", "of_row"),
    [
        ("l._elem.a", lambda number: [number] * min(2, number % 4) if number % 3 else []),
        ("m._value.b", lambda number: [number] if number % 3 else []),
        ("s.c", lambda number: [number] if number % 3 else []),
    ],
)
def test_a_union_beside_a_column_does_not_end_the_process(path, column, of_row):
    with pb.open(path) as file:
        (stripe,) = range(file.num_stripes)
        (chunk,) = file.chunks(stripe, [file.column(column)])
        found = [group.values.tolist() for group in groups(file, chunk)]
    assert found == [
        [value for number in range(start, min(start + STRIDE, ROWS)) for value in of_row(number)]
        for start in range(0, ROWS, STRIDE)
    ]


def test_filters_beside_a_union_are_right(path):
    pb.build(path, in_place=True, columns=["l._elem.a", "m._value.b", "s.c"])
    report = pb.validate(path)
    assert (report.ok, report.checked.filters, report.findings) == (True, 9, ())
