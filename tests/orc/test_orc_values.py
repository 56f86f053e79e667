"""Values as build and validate read them: of columns that have a UNION beside them."""

import random
from contextlib import suppress
from itertools import accumulate

import pyarrow as pa
import pyorc
import pytest
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.native import _kernel
from parquet_bloom.orc import values
from parquet_bloom.orc.arrays import Texts
from parquet_bloom.orc.values import batches, groups

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
    with open_file(path) as file:
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
    assert (report.ok, report.checked.filters) == (True, 9)
    # That no engine asks those of elements is no fault.
    assert {each.rule for each in report.findings} == {"PB628"}


def of_groups(file, chunk):
    return [group.values.tolist() for group in groups(file, chunk)]


def of_batches(file, chunk):
    """Cut into groups again; what a batch is made of may be overwritten by the next one."""
    found = []
    for batch in batches(file, chunk):
        ends = [*accumulate(batch.counts)]
        for start, end in zip([0, *ends], ends, strict=False):
            found.append(batch.values.part(start, end).tolist())
    return found


def raised_by(read, *arguments):
    with pytest.raises(pb.FormatError) as raised:
        read(*arguments)
    return str(raised.value)


@pytest.mark.parametrize("batch_bytes", [1, 100_000, 1 << 20])
def test_batches_have_the_values_of_their_groups(tmp_path, monkeypatch, batch_bytes):
    monkeypatch.setattr(values, "_BATCH_BYTES", batch_bytes)
    numbers = [None if n % 7 == 0 else n * n for n in range(10_300)]
    columns = {
        "number": pa.array(numbers),
        "double": pa.array(numbers, pa.float64()),
        "text": pa.array([n and "x" * (n % 50) + str(n) for n in numbers]),
        "time": pa.array(numbers, pa.timestamp("ms")),
        "decimal": pa.array(numbers).cast(pa.decimal128(30, 0)),
    }
    path = tmp_path / "a.orc"
    orc.write_table(pa.table(columns), path, row_index_stride=1000)
    with open_file(path) as file:
        (stripe,) = range(file.num_stripes)
        for name in columns:
            (chunk,) = file.chunks(stripe, [file.column(name)])
            assert of_batches(file, chunk) == of_groups(file, chunk)
            assert len(of_batches(file, chunk)) == 11


def test_damage_is_that_of_a_group_and_not_of_its_batch(tmp_path, monkeypatch):
    monkeypatch.setattr(values, "_BATCH_BYTES", 150_000)
    path = tmp_path / "a.orc"
    texts = pa.array([str(n) * (n % 5) for n in range(10_000)])
    orc.write_table(pa.table({"a": texts}), path, row_index_stride=1000, compression="uncompressed")
    with open_file(path) as file:
        (chunk,) = file.chunks(0, [file.column("a")])
        lengths = chunk.stripe.stream_of(chunk.column.id, (2,))
        sound = of_groups(file, chunk)
    stored = bytearray(path.read_bytes())
    end = lengths.offset + lengths.length
    stored[end - lengths.length // 4 : end] = b"\xff" * (lengths.length // 4)
    path.write_bytes(stored)
    with open_file(path) as file:
        (chunk,) = file.chunks(0, [file.column("a")])
        assert raised_by(of_batches, file, chunk) == raised_by(of_groups, file, chunk)
        read = []
        with suppress(pb.FormatError):
            for batch in batches(file, chunk):
                read.append((batch.groups, batch.values.tolist()))
    # The first ones together, and those of the batch that was damaged one by one.
    assert [len(some) for some, _ in read] == [3, 3, 1]
    for some, found in read:
        assert found == [text for group in some for text in sound[group]]


def test_the_first_and_the_last_text_by_their_bytes():
    """Of all lengths around the eight bytes that are compared first."""
    chance = random.Random(1)
    for _ in range(2000):
        letters = chance.choice((b"ab", b"\0\xff", b"abcdefgh"))
        lengths = [chance.choice((0, 1, 2, 7, 8, 9, 17)) for _ in range(chance.randrange(1, 8))]
        front = chance.choice((b"", b"prefix--"))
        texts = [front + bytes(chance.choices(letters, k=length)) for length in lengths]
        held = Texts.of(texts)
        first, last = _kernel.orc_extremes(held.data, held.starts)
        assert (texts[first], texts[last]) == (min(texts), max(texts))
    with pytest.raises(ValueError, match="no text"):
        _kernel.orc_extremes(b"", Texts.of([]).starts)
