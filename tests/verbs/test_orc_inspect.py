"""What `inspect` and `dump` say of ORC files."""

import io
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.commands import on_a_terminal, outcome
from make.handmade_orc import (
    DATA,
    Stream,
    Stripe,
    filter_of,
    forge,
    index_of,
    row_index,
    table,
    type_of,
    write,
)
from make.orc_defects import damaged_row_index
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.bloom import encode_filters
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, ROW_INDEX

PARQUET = FIXTURES / "spark_filters.parquet"

# 64 of 128 bits: fill 1/2, with three hashes FPP 1/8.
HALF = KHashFilter.from_bytes(bytes(8) + b"\xff" * 8, 3)
FULL = KHashFilter.from_bytes(b"\xff" * 16, 3)
EMPTY = KHashFilter.empty(128, 3)


def described(low, high, num_values=10):
    return {"numberOfValues": num_values, "hasNull": True,
            "intStatistics": {"minimum": low, "maximum": high, "sum": low + high}}  # fmt: skip


STRIPE = Stripe(
    15,
    [Stream(ROW_INDEX, 1, row_index(described(1, 5), described(-2, 3, 4))),
     Stream(BLOOM_FILTER_UTF8, 1, index_of([HALF, EMPTY])),
     Stream(ROW_INDEX, 2, row_index({}, {})),
     Stream(DATA, 1, b"12345"), Stream(DATA, 2, b"678")],
    timezone=b"Europe/Berlin",
)  # fmt: skip
TYPES = table(id="LONG", name="STRING")


@pytest.fixture
def file(tmp_path):
    return write(tmp_path / "a.orc", forge(TYPES, [STRIPE], stride=10))


def test_a_file(file):
    report = pb.inspect(file)
    stream = report.stripes[0].columns[0].streams[0]
    assert stream.offset == 3 + len(STRIPE.streams[0].data)
    assert (report.path, report.format, report.size) == (str(file), "orc", file.stat().st_size)
    assert (report.created_by, report.compression) == ("ORC Java 2.3.0", "NONE")
    assert (report.encrypted, report.num_rows, report.num_parts) == (False, 15, 1)
    assert report.row_index_stride == 10
    assert report.filter_bytes == stream.length == len(STRIPE.streams[1].data)
    assert report.filter_share == stream.length / report.size
    (stripe,) = report.stripes
    assert (stripe.stripe, stripe.offset, stripe.num_rows, stripe.num_groups) == (0, 3, 15, 2)
    assert stripe.writer_timezone == "Europe/Berlin"


def test_a_column(file):
    with_filter, without = pb.inspect(file).stripes[0].columns
    assert (with_filter.column, with_filter.column_id, with_filter.physical_type) == (
        "id",
        1,
        "LONG",
    )
    assert (with_filter.encoding, with_filter.num_values) == ("DIRECT_V2", 14)
    assert (with_filter.chunk_bytes, with_filter.reason) == (5, None)
    assert with_filter.notes == ("no bit is set in 1 index group that may have values",)
    assert with_filter.groups is None
    assert (without.filter, without.reason, without.streams) == (None, "no filter", ())
    assert (without.num_values, without.chunk_bytes) == (None, 3)


def test_the_filters_of_a_column(file):
    found = pb.inspect(file).stripes[0].columns[0].filter
    assert (found.stream, found.dialect, found.bloom_encoding) == ("BLOOM_FILTER_UTF8", "orc", 1)
    assert (found.num_filters, found.num_hashes, found.num_bits, found.num_bytes) == (2, 3, 128, 32)
    assert (found.fill, found.fpp, found.worst_fpp) == (0.25, 0.0625, 0.125)
    # -m / k ln(1 - fill)
    assert found.ndv_estimate == pytest.approx(128 / 3 * np.log(2))
    assert found.marked is False


def test_index_groups(file):
    first, second = pb.inspect(file, index_groups=True).stripes[0].columns[0].groups
    assert (first.index_group, first.first_row, first.num_rows) == (0, 0, 10)
    assert (second.index_group, second.first_row, second.num_rows) == (1, 10, 5)
    assert first.positions == (0, 0)
    assert (second.statistics.num_values, second.statistics.has_null) == (4, True)
    assert (second.statistics.min, second.statistics.max, second.statistics.sum) == (-2, 3, 1)
    assert (first.filter.fill, first.filter.fpp) == (0.5, 0.125)
    assert (second.filter.fill, second.filter.fpp, second.filter.ndv_estimate) == (0, 0, 0)


def test_a_filter_with_all_bits_set_says_nothing_of_its_values(tmp_path):
    stripe = Stripe(20, [Stream(BLOOM_FILTER_UTF8, 1, index_of([FULL, HALF])),
                         Stream(ROW_INDEX, 1, row_index({}, {}))])  # fmt: skip
    path = write(tmp_path / "a.orc", forge(TYPES, [stripe], stride=10))
    column = pb.inspect(path, columns=["id"], index_groups=True).stripes[0].columns[0]
    assert (column.filter.ndv_estimate, column.filter.worst_fpp) == (None, 1.0)
    assert column.groups[0].filter.ndv_estimate is None
    assert "all bits set" in outcome("inspect", path).stdout


def test_filters_of_several_sizes(tmp_path):
    filters = [HALF, filter_of([1], 64, 2)]
    stripe = Stripe(20, [Stream(ROW_INDEX, 1, row_index({}, {})),
                         Stream(BLOOM_FILTER_UTF8, 1, index_of(filters))])  # fmt: skip
    path = write(tmp_path / "a.orc", forge(TYPES, [stripe], stride=10))
    found = pb.inspect(path, columns=["id"]).stripes[0].columns[0].filter
    assert (found.num_bits, found.num_hashes, found.num_bytes) == (None, None, 24)
    assert "\tvaries\tvaries\t" in outcome("inspect", path, "-c", "id").stdout


def test_filters_of_pbloom_are_marked(tmp_path):
    stripe = Stripe(10, [Stream(ROW_INDEX, 1, row_index({})),
                         Stream(BLOOM_FILTER_UTF8, 1, encode_filters([HALF], BLOOM_FILTER_UTF8))])  # fmt: skip
    path = write(tmp_path / "a.orc", forge(TYPES, [stripe]))
    assert pb.inspect(path).stripes[0].columns[0].filter.marked


def test_why_readers_ignore_a_filter(tmp_path):
    stripe = Stripe(10, [Stream(BLOOM_FILTER, 1, index_of([HALF], BLOOM_FILTER))])
    stripe.streams = [Stream(ROW_INDEX, 2, row_index({})), *stripe.streams]
    path = write(tmp_path / "a.orc", forge(TYPES, [stripe]))
    (column,) = pb.inspect(path, columns=["id"]).stripes[0].columns
    assert column.notes == ("ignored by ORC Java and C++: no statistics in the row index",)
    stripe.streams = [Stream(ROW_INDEX, 1, row_index({})), stripe.streams[1]]
    path = write(tmp_path / "a.orc", forge(TYPES, [stripe]))
    (column,) = pb.inspect(path, columns=["id"]).stripes[0].columns
    note = "ignored by ORC C++: a BLOOM_FILTER stream, expected BLOOM_FILTER_UTF8"
    assert column.notes == (note,)
    assert outcome("inspect", path, "-c", "id").stdout.splitlines()[2].endswith(f"\t{note}")


def test_a_row_index_that_is_damaged_is_not_one_without_statistics(tmp_path):
    path = tmp_path / "a.orc"
    path.write_bytes(damaged_row_index())
    [chunk] = pb.inspect(path, columns="a").parts[0].columns
    [note] = chunk.notes
    assert re.fullmatch(r"the row index cannot be read: ROW_INDEX: .*damaged.*", note)
    [found] = pb.validate(path, columns="a").findings
    assert (found.rule, found.severity, found.by_hand) == (
        "PB613",
        "error",
        "take another copy of the file",
    )
    assert found.message == note.removeprefix("the row index cannot be read: ")


def test_elements_of_which_no_bit_is_set(tmp_path):
    """Whether or not engines ask: `find` does."""
    index = [
        Stream(ROW_INDEX, 2, row_index({})),
        Stream(BLOOM_FILTER_UTF8, 2, index_of([EMPTY])),
    ]
    types = [type_of("STRUCT", 1, names=[b"l"]), type_of("LIST", 2), type_of("LONG")]
    path = write(tmp_path / "a.orc", forge(types, [Stripe(10, index)]))
    column = pb.inspect(path, columns=["l._elem"]).stripes[0].columns[0]
    asked, clear = column.notes
    assert asked.startswith("asked by no engine: ")
    assert clear == "no bit is set in 1 index group that may have values"


def test_notes_on_filters_that_a_terminal_sums_up(tmp_path):
    """Once for all columns and stripes of which they are."""
    names = [f"c{at}" for at in range(12)]
    columns = {name: pa.array(range(3000)) for name in names}
    columns |= {name: pa.array([[at] for at in range(3000)]) for name in ("l", "m")}
    path = tmp_path / "a.orc"
    orc.write_table(pa.table(columns), path, batch_size=1000, stripe_size=1, row_index_stride=1000)
    built = [*names, "l._elem", "m._elem"]
    pb.build(path, columns=built, in_place=True)
    (note,) = pb.inspect(path).stripes[0].columns[-1].notes
    shown = on_a_terminal(200, "inspect", path)
    at = shown.index("-c NAME shows a column by stripe, --verbose shows each stripe of all.")
    assert shown[at + 1 :] == [f"note, l._elem, m._elem: {note}", "l, m: no filter"]
    pb.strip(path, columns=["m._elem"], row_groups=[2], in_place=True)
    shown = on_a_terminal(200, "inspect", path)
    assert shown[at + 1 : at + 3] == [
        f"note, l._elem: {note}", f"note, m._elem, stripes 0, 1: {note}"
    ]  # fmt: skip


def test_a_summary_counts_what_the_files_have(tmp_path):
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": range(3000)}), path, batch_size=1000, stripe_size=1)
    pb.build(path, columns=["a"], in_place=True)
    head, row, *_ = outcome("inspect", path, "--summary").stdout.splitlines()
    assert head.startswith("column\tfiles\tstripes\tfilters\t")
    assert row.startswith("a\t1 of 1\t3 of 3\t3\t")
    assert pb.inspect_summary(path).formats == ("orc",)
    head, *_ = outcome("inspect", path, PARQUET, "--summary").stdout.splitlines()
    assert head.startswith("column\tfiles\tchunks\tfilters\t")
    data = bytearray(path.read_bytes())
    stream = pb.inspect(path).stripes[0].columns[0].streams[0]
    data[stream.offset : stream.offset + 4] = b"\xff" * 4
    path.write_bytes(data)
    told = outcome("inspect", path, "--summary").stdout
    why = f"pbloom inspect {path} says why"
    assert f"filters that cannot be read: a (1 of 3 stripes); {why}" in told


def test_groups_whose_sum_is_no_number(tmp_path):
    sums = [{"doubleStatistics": {"sum": sum}} for sum in (1.0, float("nan"))]
    index = [
        Stream(ROW_INDEX, 1, row_index(*sums)),
        Stream(BLOOM_FILTER_UTF8, 1, index_of([HALF] * 2)),
    ]
    path = write(tmp_path / "a.orc", forge(table(a="DOUBLE"), [Stripe(15, index)], stride=10))
    (column,) = pb.inspect(path).stripes[0].columns
    assert column.notes == ("ignored by ORC Java and C++ in 1 index group: the sum is NaN",)


def test_a_filter_that_cannot_be_used_has_a_reason(tmp_path):
    stripe = Stripe(10, [Stream(ROW_INDEX, 1, b"\xff"), Stream(BLOOM_FILTER_UTF8, 1, b"\xff\xff")])
    path = write(tmp_path / "a.orc", forge(TYPES, [stripe]))
    (column,) = pb.inspect(path, columns=["id"], index_groups=True).stripes[0].columns
    assert column.filter is None
    assert column.reason.endswith("BLOOM_FILTER_UTF8: damaged: 2 bytes, not a BloomFilterIndex")
    assert [stream.stream for stream in column.streams] == ["BLOOM_FILTER_UTF8"]
    (group,) = column.groups
    assert (group.positions, group.statistics, group.filter) == (None, None, None)


def test_the_names_of_nested_columns(tmp_path):
    types = [
        type_of("STRUCT", 1, 3, names=[b"tags", b"one"]), type_of("LIST", 2), type_of("STRING"),
        type_of("UNION", 4), type_of("DECIMAL", precision=9, scale=2),
    ]  # fmt: skip
    path = write(tmp_path / "a.orc", forge(types, [Stripe(1, [])]))
    columns = pb.inspect(path).stripes[0].columns
    assert [column.column for column in columns] == ["tags", "tags._elem", "one", "one.0"]
    assert columns[3].physical_type == "DECIMAL(9,2)"
    assert len(pb.inspect(path, columns=["one.0", "tags"]).stripes[0].columns) == 2


def test_stripes_are_selected(tmp_path):
    path = write(tmp_path / "a.orc", forge(TYPES, [STRIPE, STRIPE, STRIPE], stride=10))
    assert [stripe.stripe for stripe in pb.inspect(path, row_groups=[2, 0, 2]).stripes] == [0, 2]
    found = outcome("inspect", path, "-g", "3")
    assert (found.code, found.complaint) == (2, f"{path}: stripe 3: expected 0 to 2")


def test_the_command(file):
    head, *rows = outcome("inspect", file, "-c", "id", "--index-groups").stdout.splitlines()
    assert head.startswith(f"{file}: 15 rows in 1 stripe, ")
    assert head.endswith(" B, NONE, written by ORC Java 2.3.0; filters in id take 44 B (17 %)")
    columns, groups = rows[:2], rows[2:]
    assert [row.split("\t") for row in columns] == [
        ["stripe", "column", "type", "encoding", "data", "stream", "size", "filters", "bits", "k",
         "fill", "FPP", "worst FPP", "largest NDV", "note"],
        ["0", "id", "LONG", "DIRECT_V2", "5 B", "BLOOM_FILTER_UTF8", "44 B", "2", "128", "3",
         "25 %", "6.2 %", "12 %", "30", "no bit is set in 1 index group that may have values"],
    ]  # fmt: skip
    assert [row.split("\t") for row in groups] == [
        ["stripe", "column", "index group", "first row", "rows", "values", "nulls", "min", "max",
         "sum", "positions", "bits", "k", "fill", "FPP", "NDV"],
        ["0", "id", "0", "0", "10", "10", "yes", "1", "5", "6", "0 0", "128", "3", "50 %", "12 %",
         "30"],
        ["0", "id", "1", "10", "5", "4", "yes", "-2", "3", "1", "0 0", "128", "3", "0 %", "0 %",
         "0"],
    ]  # fmt: skip


def test_the_figures_of_filters_stay_on_a_narrow_terminal(tmp_path):
    """Where something has to go, it is what is the same in most files, and what else there is to say of groups."""
    numbers = pa.array(range(10**12, 10**12 + 2000))
    orc.write_table(pa.table({"number": numbers}), tmp_path / "a.orc", row_index_stride=1000)
    pb.build(tmp_path / "a.orc", columns=["number"], in_place=True)
    shown = on_a_terminal(80, "inspect", tmp_path / "a.orc", "--index-groups")
    heads = [line.split("  ") for line in shown if line.startswith("stripe ")]
    of_columns, of_groups = ([head.strip() for head in line if head] for line in heads)
    assert of_columns == ["stripe", "column", "type", "data", "size", "filters", "fill", "FPP",
                          "worst FPP", "largest NDV"]  # fmt: skip
    assert of_groups == ["stripe", "column", "index group", "rows", "fill", "FPP", "NDV"]


def test_bounds_of_times_are_shown_as_times(tmp_path):
    """Those that Python's calendar has; documents have the milliseconds that are stored."""
    bounds = {"minimumUtc": -1, "maximumUtc": 1 << 60}
    stripe = Stripe(10, [Stream(ROW_INDEX, 1, row_index({"timestampStatistics": bounds}))])
    path = write(tmp_path / "a.orc", forge(table(at="TIMESTAMP"), [stripe]))
    *_, names, row = outcome("inspect", path, "--index-groups").stdout.splitlines()[:-1]
    cells = dict(zip(names.split("\t"), row.split("\t"), strict=True))
    assert cells["min"] == "1969-12-31 23:59:59.999"
    assert cells["max"] == str(1 << 60)
    statistics = pb.inspect(path, index_groups=True).stripes[0].columns[0].groups[0].statistics
    assert (statistics.min, statistics.max) == (-1, 1 << 60)


def test_both_streams_of_a_column_are_shown(tmp_path):
    """The size is what both take, as above the table."""
    ids = pa.array(range(2000), pa.int64())
    orc.write_table(pa.table({"id": ids}), tmp_path / "a.orc", row_index_stride=1000)
    pb.build(tmp_path / "a.orc", columns=["id"], orc_streams="both", in_place=True)
    head, names, row = outcome("inspect", tmp_path / "a.orc").stdout.splitlines()
    cells = dict(zip(names.split("\t"), row.split("\t"), strict=True))
    assert cells["stream"] == "BLOOM_FILTER, BLOOM_FILTER_UTF8"
    assert f"; filters take {cells['size']} (" in head


def test_json_is_what_the_function_says(file):
    found = json.loads(outcome("inspect", file, "--index-groups", "--json").stdout)
    assert found["stripes"][0]["columns"][0]["index_groups"][1]["statistics"] == {
        "kind": "int", "num_values": 4, "has_null": True, "min": -2, "max": 3, "sum": 1,
    }  # fmt: skip
    assert found["stripes"][0]["columns"][1]["filter"] is None
    (stripe,) = json.loads(outcome("inspect", file, "--json").stdout)["stripes"]
    assert (stripe["stripe"], stripe["num_index_groups"]) == (0, 2)
    assert "index_groups" not in stripe["columns"][0]


def test_the_ndv_of_a_real_file(tmp_path):
    path = tmp_path / "a.orc"
    ids = pa.array([number % 700 for number in range(2000)], pa.int64())
    orc.write_table(pa.table({"id": ids}), path, row_index_stride=1000, bloom_filter_columns=[1],
                    bloom_filter_fpp=0.01)  # fmt: skip
    found = pb.inspect(path).stripes[0].columns[0].filter
    assert found.ndv_estimate == pytest.approx(700, rel=0.05)
    assert found.fpp < 0.01


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("inspect", PARQUET, "--index-groups"), "a Parquet file has no index groups"),
        (("dump", PARQUET, "-c", "int32", "--index-group", "0"),
         "a Parquet file has no index groups"),
    ],
)  # fmt: skip
def test_parquet_has_no_index_groups(arguments, expected):
    found = outcome(*arguments)
    assert (found.code, found.complaint) == (2, f"{PARQUET}: {expected}")


def test_what_takes_nothing_but_parquet_says_so_in_one_line(file):
    found = outcome("inspect", "--histogram", file)
    assert (found.code, found.complaint) == (
        2, f"{file}: --histogram is not supported for ORC files, whose filters have no blocks",
    )  # fmt: skip


def test_a_page_about_an_orc_file(file, tmp_path):
    """Its pages are forged: values that could not be read are an error."""
    found = outcome("report", file, "-o", tmp_path / "page.html")
    assert (found.code, str(file) in found.complaint) == (2, True)
    assert ": not ok" in found.stdout
    assert ": not ok" in (tmp_path / "page.html").read_text()


# ------------------------------------------------------------------------------------------------
# dump


def test_dump_as_hex(file):
    found = outcome("dump", file, "-c", "id", "-g", "0", "--index-group", "0")
    assert found.stdout == "3 128\n" + "00" * 8 + "ff" * 8 + "\n"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (BLOOM_FILTER_UTF8, "08 03 1a 10" + "00" * 8 + "ff" * 8),
        (BLOOM_FILTER, "08 03 11" + "00" * 8 + "11" + "ff" * 8),
    ],
)
def test_dump_as_it_is_stored(tmp_path, kind, message):
    index = [
        Stream(ROW_INDEX, 1, row_index({}, {})),
        Stream(kind, 1, index_of([EMPTY, HALF], kind)),
    ]
    path = write(tmp_path / "a.orc", forge(TYPES, [Stripe(15, index)], stride=10))
    dumped = pb.dump(path, "id", 0, index_group=1)
    assert dumped.in_format("raw") == bytes.fromhex(message)
    assert np.load(io.BytesIO(dumped.in_format("npy"))).tolist() == [0, 2**64 - 1]
    assert np.load(io.BytesIO(dumped.in_format("npy"))).dtype == np.uint64


def test_dump_as_json(file):
    found = json.loads(outcome("dump", file, "-c", "id", "--format", "json").stdout)
    place = pb.inspect(file).stripes[0].columns[0].filter
    assert found == {
        "path": str(file), "format": "orc", "stripe": 0, "index_group": 0, "column": "id",
        "dialect": "orc", "stream": "BLOOM_FILTER_UTF8", "offset": place.offset,
        "length": place.length, "bloom_encoding": 1, "num_hashes": 3, "num_bits": 128,
        "num_bytes": 16, "encrypted": False, "unverified": None,
        "message": "08031a10" + "00" * 8 + "ff" * 8, "bitset": "00" * 8 + "ff" * 8,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (
            ["-c", "name"],
            "stripe 0, index group 0, column name: no filter; pbloom advise says whether it deserves one, pbloom build adds it",
        ),
        (["-c", "id", "--index-group", "2"], "stripe 0, index group 2: expected 0 to 1"),
        (["-c", "id", "-g", "1"], "stripe 1: expected 0 to 0"),
        (["-c", "ix"], "no column ix; did you mean id?"),
    ],
)
def test_there_is_no_such_filter(file, arguments, expected):
    found = outcome("dump", file, *arguments)
    assert (found.code, found.complaint) == (2, f"{file}: {expected}")


@pytest.mark.parametrize(("name", "parts"), [("a.orc", "stripes"), ("a.parquet", "row groups")])
def test_a_file_without_rows_has_no_ordinals(tmp_path, name, parts):
    schema = pa.schema({"id": pa.int64()})
    if name == "a.orc":
        orc.write_table(schema.empty_table(), tmp_path / name)
    else:
        pq.ParquetWriter(tmp_path / name, schema).close()
    found = outcome("dump", tmp_path / name, "-c", "id")
    expected = f"{tmp_path / name}: {parts.removesuffix('s')} 0: the file has no {parts}"
    assert (found.code, found.complaint) == (2, expected)


NULLS = row_index({"numberOfValues": 0, "hasNull": True}, {"numberOfValues": 0, "hasNull": True})


@pytest.mark.parametrize(
    ("kind", "streams", "reason"),
    [
        ("BOOLEAN", [Stream(ROW_INDEX, 1, row_index({}, {}))],
         "BOOLEAN: filters of ORC Java are empty, those of ORC C++ wrong"),
        ("LONG", [Stream(ROW_INDEX, 1, NULLS)], "the stripe has only nulls"),
        ("LONG", [Stream(ROW_INDEX, 2, NULLS)], "no row index, without which readers ignore filters"),
    ],
)  # fmt: skip
def test_where_none_can_be_built_nobody_is_told_to(tmp_path, kind, streams, reason):
    data = forge(table(a=kind, b="LONG"), [Stripe(15, streams)], stride=10)
    found = outcome("dump", write(tmp_path / "a.orc", data), "-c", "a")
    expected = f"a.orc: stripe 0, index group 0, column a: no filter: {reason}"
    assert (found.code, found.complaint) == (2, f"{tmp_path}/{expected}")


def test_one_filter_in_python(file):
    with pb.open(file) as opened:
        found = opened.bloom_filter(0, "id", 0)
        assert bytes(found.bitset) == bytes(HALF.bitset)
        with pytest.raises(pb.ColumnError, match=r"expected 0 to 1$"):
            opened.bloom_filter(0, "id", 2)
        with pytest.raises(pb.FilterError, match=r"no filter$"):
            opened.bloom_filter(0, "name", 0)
