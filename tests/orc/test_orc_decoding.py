"""Values of random tables, as ORC C++ writes and reads them; and damaged streams of each type, which
are one line or values, but never a crash."""

import datetime
import random
from zoneinfo import ZoneInfo

import numpy as np
import pyarrow as pa
import pyorc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make.handmade_orc import DATA, Stream, Stripe, forge, row_index, type_of, write
from make.orc_files import LEAVES, all_types
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import ParquetBloomError, UnsupportedError
from parquet_bloom.files import open_file
from parquet_bloom.orc import streams as of_chunks
from parquet_bloom.orc.stripe import ROW_INDEX
from parquet_bloom.orc.values import groups

STRIDE = 1000


def values_of(path, name):
    """The values of a column, and the row of each."""
    found, rows = [], []
    with open_file(path) as file:
        for part in range(file.num_parts):
            (chunk,) = file.chunks(part, [file.column(name)])
            for index, group in enumerate(groups(file, chunk)):
                first = chunk.stripe.first_row + chunk.stripe.group_first_row(index)
                found += group.values.tolist()
                rows += (first + group.rows).tolist()
                assert set(group.distinct.tolist()) == set(group.values.tolist())
    return found, rows


NUMBERS = {
    pa.int8(): st.integers(-128, 127),
    pa.int16(): st.integers(-(1 << 15), (1 << 15) - 1),
    pa.int32(): st.integers(-(1 << 31), (1 << 31) - 1),
    pa.int64(): st.one_of(st.integers(-100, 100), st.integers(-(1 << 63), (1 << 63) - 1)),
    pa.float64(): st.floats(allow_nan=False),
    pa.float32(): st.floats(allow_nan=False, width=32),
    pa.bool_(): st.booleans(),
    pa.string(): st.text(max_size=8),
    pa.binary(): st.binary(max_size=8),
}  # fmt: skip


@st.composite
def columns(draw):
    """Runs of equal values, of ascending ones, and random ones, with nulls."""
    kind = draw(st.sampled_from(sorted(NUMBERS, key=str)))
    values = []
    for each in draw(st.lists(NUMBERS[kind], max_size=12)):
        values += [each] * draw(st.sampled_from([1, 1, 2, 5, 300]))
        if kind == pa.int64() and draw(st.booleans()):
            step = draw(st.integers(-3, 3))
            values += [n for n in range(0, 40 * step, step or 1) if abs(n) < 1 << 62]
        if draw(st.booleans()):
            values.append(None)
    return pa.array(values, kind)


@given(columns(), st.sampled_from(["uncompressed", "zlib", "zstd"]), st.sampled_from([0.0, 1.0]), st.sampled_from(["0.11", "0.12"]))  # fmt: skip
@settings(max_examples=60)
def test_any_column(tmp_path_factory, column, compression, threshold, version):
    path = tmp_path_factory.mktemp("any") / "a.orc"
    orc.write_table(
        pa.table({"a": column}), path, compression=compression, row_index_stride=STRIDE,
        dictionary_key_size_threshold=threshold, file_version=version,
    )  # fmt: skip
    expected = [(each, row) for row, each in enumerate(column.to_pylist()) if each is not None]
    found, rows = values_of(path, "a")
    texts = [each.encode() if isinstance(each, str) else each for each, _ in expected]
    assert (found, rows) == (texts, [row for _, row in expected])


@pytest.mark.parametrize("zone", ["America/New_York", "Europe/Moscow", "Asia/Kolkata", "UTC"])
def test_the_wall_clock_of_orc_cpp(tmp_path, zone):
    chance = random.Random(1)
    epoch = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
    seconds = [chance.randrange(-9_000_000_000, 9_000_000_000) for _ in range(500)]
    path = tmp_path / "a.orc"
    with path.open("wb") as out, pyorc.Writer(
        out, "struct<a:timestamp>", timezone=ZoneInfo(zone)
    ) as writer:  # fmt: skip
        writer.writerows((epoch + datetime.timedelta(seconds=each),) for each in seconds)
    clock = orc.read_table(path)["a"].cast(pa.int64()).to_pylist()
    assert values_of(path, "a")[0] == [divmod(each, 10**9) for each in clock]


LONG_DECIMALS = {
    # Without a precision (Hive 0.11), each number has its own scale: 1.5, 0.007, -3.
    "own scales": (0, 0, b"\x1e\x0e\x05", b"\xfd\x02\x06\x00", ["1.5", "0.007", "-3"]),
    # With one, digits behind it are cut off, as ORC C++ does.
    "one scale": (5, 2, b"\x1e\x0e\x05", b"\xfd\x02\x06\x00", ["1.50", "0.00", "-3.00"]),
}


@pytest.mark.parametrize("name", LONG_DECIMALS)
def test_scales_of_decimals(tmp_path, name):
    precision, scale, data, scales, texts = LONG_DECIMALS[name]
    types = [
        type_of("STRUCT", 1, names=[b"a"]),
        type_of("DECIMAL", precision=precision, scale=scale),
    ]
    index = row_index({"numberOfValues": 3, "hasNull": False})
    streams = [Stream(ROW_INDEX, 1, index), Stream(DATA, 1, data), Stream(5, 1, scales)]
    footer = {"columns": [{"kind": 0}, {"kind": 0}]}
    path = write(tmp_path / "a.orc", forge(types, [Stripe(3, streams, footer=footer)], stride=10))
    assert [float(each) for each in values_of(path, "a")[0]] == [float(each) for each in texts]
    pb.build(path, in_place=True, columns=["a"])
    results = pb.probe(path, "a", [pb.literal(each) for each in (*texts, "7")]).results
    assert [each.verdict for each in results] == ["maybe"] * 3 + ["absent"]


@pytest.fixture(scope="module", params=["uncompressed", "zlib"])
def of_all_types(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("types") / f"{request.param}.orc"
    orc.write_table(
        all_types(rows=60), path, row_index_stride=20, compression=request.param,
        dictionary_key_size_threshold=1.0,
    )  # fmt: skip
    return path


@pytest.mark.parametrize("piece", [1, 7, 100])
def test_streams_that_are_read_in_pieces(of_all_types, piece, monkeypatch):
    expected = {name: values_of(of_all_types, name) for name in LEAVES}
    monkeypatch.setattr(of_chunks, "_READ_BYTES", piece)
    assert {name: values_of(of_all_types, name) for name in LEAVES} == expected


def problem_in(file, chunk):
    """What is said of the values; None if they decode."""
    try:
        for group in groups(file, chunk):
            group.values.tolist()
            assert len(group.rows) == group.num_values
    except ParquetBloomError as error:
        return str(error)
    return None


def decode_all(path):
    """How many columns decode. Anything but our errors is a failure."""
    decoded = 0
    with open_file(path) as file:
        for name in LEAVES:
            (chunk,) = file.chunks(0, [file.column(name)])
            problem = problem_in(file, chunk)
            decoded += problem is None
            if problem is not None:
                assert problem.startswith(f"{path}: stripe 0, column {name}")
                assert "\n" not in problem
    return decoded


def spans(path):
    with open_file(path) as file:
        streams = [each for each in file.stripe(0).streams if not each.is_index]
    return [(each.offset, each.length) for each in streams]


def test_every_byte_of_the_data_may_be_another(of_all_types, tmp_path):
    """One in a hundred, in turn; what is not changed is read."""
    data = of_all_types.read_bytes()
    damaged = tmp_path / "b.orc"
    places = [at for start, length in spans(of_all_types) for at in range(start, start + length)]
    counts = set()
    for number, at in enumerate(places[::101]):
        changed = bytearray(data)
        changed[at] ^= (0x01, 0x80, 0xFF)[number % 3]
        damaged.write_bytes(changed)
        counts.add(decode_all(damaged))
    assert counts <= {len(LEAVES), len(LEAVES) - 1, len(LEAVES) - 2}
    assert len(counts) > 1


def shorter(data, start, length):
    """The file with zeros in place of the end of a stream: as long, but nothing to decode."""
    return data[:start] + bytes(length) + data[start + length :]


def test_streams_without_content(of_all_types, tmp_path):
    data = of_all_types.read_bytes()
    damaged = tmp_path / "b.orc"
    for start, length in spans(of_all_types):
        for cut in {0, 1, length // 2}:
            damaged.write_bytes(shorter(data, start + cut, length - cut))
            assert decode_all(damaged) >= len(LEAVES) - 3


def test_nothing_is_allocated_for_a_claim(tmp_path):
    """A stripe of 2^40 rows, whose 8 bytes hold 10."""
    types = [type_of("STRUCT", 1, names=[b"a"]), type_of("LONG")]
    streams = [Stream(DATA, 1, bytes([7, 14]))]
    forged = forge(types, [Stripe(1 << 40, streams)], stride=0)
    path = write(tmp_path / "a.orc", forged)
    with pytest.raises(UnsupportedError) as found:
        values_of(path, "a")
    assert str(found.value) == (
        f"{path}: stripe 0, column a: DATA: {1 << 40} values in an index group,"
        f" expected at most {1 << 27}"
    )
    path = write(tmp_path / "b.orc", forge(types, [Stripe(1 << 24, streams)], stride=0))
    with pytest.raises(pb.FormatError, match=r"DATA: ends after 10 values, expected 16777216$"):
        values_of(path, "a")


def test_booleans_and_tags_are_read(tmp_path):
    path = tmp_path / "a.orc"
    with path.open("wb") as out, pyorc.Writer(
        out, "struct<b:boolean,u:uniontype<int,string>>", row_index_stride=STRIDE
    ) as writer:  # fmt: skip
        writer.writerows((n % 3 == 0, n if n % 2 else f"{n}") for n in range(2500))
    assert values_of(path, "b")[0] == [n % 3 == 0 for n in range(2500)]
    assert values_of(path, "u")[0] == [n % 2 == 0 for n in range(2500)]
    assert values_of(path, "u.0") == ([*range(1, 2500, 2)], [*range(1, 2500, 2)])
    assert np.array_equal(values_of(path, "u.1")[1], np.arange(0, 2500, 2))
