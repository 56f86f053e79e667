"""Verdicts on index groups: what filters exclude, and what nobody may believe of them."""

import json
from datetime import datetime

import pyarrow as pa
import pyorc
import pytest
from make.commands import outcome
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
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.container import STRIPES, OneFilter, Place
from parquet_bloom.files import open_file
from parquet_bloom.orc.bloom import OrcKeyForm, encode_filters
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.keys import AskedValues
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, ROW_INDEX
from parquet_bloom.verbs.probe import probe
from parquet_bloom.vocabulary import BEYOND_BITS

KINDS = {"LONG": "intStatistics", "BYTE": "intStatistics", "STRING": "stringStatistics",
         "TIMESTAMP": "timestampStatistics"}  # fmt: skip


def hashes(kind, *values, form=None):
    column = OrcColumn(1, "a", kind, (), 0, 0, 0, 0, {})
    return AskedValues(column, values).hashes(form or OrcKeyForm()).hashes.tolist()


def statistics(kind, num_values=10, **more):
    return {"numberOfValues": num_values, "hasNull": False, KINDS[kind]: more}


def streams(kind, filters, form=BLOOM_FILTER_UTF8, column=1, index=None):
    described = index or [statistics(kind)] * len(filters)
    return [Stream(ROW_INDEX, column, row_index(*described)),
            Stream(form, column, index_of(filters, form))]  # fmt: skip


def forged(tmp_path, kind, index, *, encoding=1, timezone=b"UTC", rows=10, **more):
    stripe = Stripe(
        rows, [*index, Stream(DATA, 1, b"x")], encodings={1: encoding}, timezone=timezone
    )
    return write(tmp_path / "a.orc", forge(table(a=kind), [stripe], stride=10, **more))


def answers(path, value, column="a"):
    with pb.open(path) as file:
        return [(each.verdict, each.reason) for each in file.probe(column, value)]


def test_verdicts_are_about_index_groups(tmp_path):
    first = Stripe(25, streams("LONG", [filter_of(hashes("LONG", n)) for n in (1, 2, 1)]))
    second = Stripe(10, streams("LONG", [filter_of(hashes("LONG", 2))]))
    path = write(tmp_path / "a.orc", forge(table(a="LONG"), [first, second], stride=10))
    with pb.open(path) as file:
        found = file.probe("a", 1)
    assert found == (
        pb.Answer(Place(0, 0, STRIPES), "maybe", None, 10, 0),
        pb.Answer(Place(0, 1, STRIPES), "absent", None, 10, 10),
        pb.Answer(Place(0, 2, STRIPES), "maybe", None, 5, 20),
        pb.Answer(Place(1, 0, STRIPES), "absent", None, 10, 25),
    )
    assert [(each.stripe, each.index_group) for each in found] == [(0, 0), (0, 1), (0, 2), (1, 0)]
    (result,) = probe(path, "a", [1]).results
    assert (result.verdict, result.rows_to_read) == ("maybe", 15)
    assert probe(path, "a", [5]).is_absent


def test_what_writers_of_today_store_is_found(tmp_path):
    rows, stride = 2500, 1000
    columns = {
        "i": pa.array(range(-5, rows - 5), pa.int64()),
        "d": pa.array([number / 7 for number in range(rows)]),
        "s": pa.array([None if number % 9 == 0 else f"name {number}" for number in range(rows)]),
    }
    path = tmp_path / "a.orc"
    orc.write_table(pa.table(columns), path, row_index_stride=stride, compression="zstd",
                    bloom_filter_columns=[1, 2, 3], bloom_filter_fpp=0.01)  # fmt: skip
    with pb.open(path) as file:
        for name, values in columns.items():
            for row in range(1, rows, 61):
                value = values[row].as_py()
                if value is not None:
                    assert file.probe(name, value)[row // stride].verdict == "maybe", (name, row)
        absent = [file.probe("i", 10**9 + number)[0].verdict for number in range(300)]
    assert set(absent) == {"absent", "maybe"}
    assert absent.count("maybe") < 12


def test_what_pyorc_stores_is_found(tmp_path):
    path = tmp_path / "a.orc"
    with open(path, "wb") as out, pyorc.Writer(
        out, "struct<id:int,name:varchar(20)>", row_index_stride=1000, stripe_size=1,
        bloom_filter_columns=(1, 2), bloom_filter_fpp=0.01,
    ) as writer:  # fmt: skip
        writer.writerows([(number, f"n{number}") for number in range(3500)])
    with pb.open(path) as file:
        starts = {}
        for value in range(0, 3500, 131):
            for verdict in file.probe("id", value) + file.probe("name", f"n{value}"):
                starts[verdict.first_row] = verdict.num_rows
                if verdict.first_row <= value < verdict.first_row + verdict.num_rows:
                    assert verdict.verdict == "maybe"
        assert sum(starts.values()) == 3500


# ------------------------------------------------------------------------------------------------
# Never absent


@pytest.mark.parametrize("kind", ["BOOLEAN", "STRUCT", "LIST", "MAP", "UNION"])
def test_some_columns_are_never_absent(tmp_path, kind):
    below = {"LIST": 1, "MAP": 2}.get(kind, 0)
    column = type_of(kind, *range(2, 2 + below))
    types = [type_of("STRUCT", 1, names=[b"a"]), column, *(type_of("LONG"),) * below]
    index = [
        Stream(ROW_INDEX, 1, row_index({})),
        Stream(BLOOM_FILTER_UTF8, 1, index_of([filter_of([])])),
    ]
    path = write(tmp_path / "a.orc", forge(types, [Stripe(10, index)]))
    ((verdict, reason),) = answers(path, True)
    assert verdict == "unknown"
    assert reason.startswith(f"{kind}: ")


@pytest.mark.parametrize(
    ("described", "expected"),
    [
        ({"numberOfValues": 3}, "unknown"),
        ({}, "unknown"),
        ({"numberOfValues": 0, "hasNull": True}, "absent"),
    ],
)
def test_an_empty_filter_excludes_nothing_from_a_group_with_values(tmp_path, described, expected):
    index = streams("LONG", [filter_of([])], index=[described])
    ((verdict, reason),) = answers(forged(tmp_path, "LONG", index), 5)
    assert verdict == expected
    reasons = {"unknown": "no bit is set, although the index group may have values", "absent": None}
    assert reason == reasons[expected]


def test_an_empty_filter_without_a_row_index_excludes_nothing(tmp_path):
    index = [Stream(BLOOM_FILTER_UTF8, 1, index_of([filter_of([])]))]
    ((verdict, _),) = answers(forged(tmp_path, "LONG", index), 5)
    assert verdict == "unknown"


def test_statistics_of_another_type_make_a_filter_doubtful(tmp_path):
    """Then the footer, or the list of streams, is not what the writer wrote."""
    index = streams("STRING", [filter_of(hashes("STRING", "1"))])
    path = forged(tmp_path, "LONG", index)
    assert answers(path, 1) == [("unknown", "string statistics, which cannot belong to LONG")]


def test_a_row_index_that_cannot_be_read_makes_a_filter_doubtful(tmp_path):
    index = streams("LONG", [filter_of(hashes("LONG", 1))], index=[{}, {}])
    ((verdict, reason),) = answers(forged(tmp_path, "LONG", index), 5)
    assert (verdict, reason) == ("unknown", "ROW_INDEX: 2 entries, expected 1")


def test_a_column_without_filters_is_unknown(tmp_path):
    path = forged(tmp_path, "LONG", [Stream(ROW_INDEX, 1, row_index({}))])
    assert answers(path, 5) == [("unknown", "no filter")]
    (result,) = probe(path, "a", [5]).results
    assert (result.verdict, result.rows_to_read) == ("unknown", 10)


OF_NULLS = {
    "flat": (pa.nulls(20_000, pa.float64()), "a"),
    "lists": (pa.array([[]] * 20_000, pa.list_(pa.float64())), "a._elem"),
    "structs": (pa.array([{"x": None}] * 20_000, pa.struct([("x", pa.float64())])), "a.x"),
}


@pytest.mark.parametrize("name", OF_NULLS)
def test_where_there_are_only_nulls_no_value_is(tmp_path, name):
    """Build gives them no filters, and they must not keep all values from being absent."""
    array, column = OF_NULLS[name]
    path = tmp_path / "nulls.orc"
    orc.write_table(pa.table({"a": array}), path)
    nulls = "absent", "only nulls, by its row index and its streams"
    assert answers(path, 5.0, column) == [nulls] * 2
    assert probe(path, column, [5.0] * 300).is_absent
    explained = probe(path, column, [5.0], explain=True).explanations
    assert [each.reason for each in explained] == [nulls[1]] * 2


@pytest.mark.parametrize("data", [b"\x07\x0a", b""], ids=["ten fives", "damaged"])
def test_nobody_believes_that_all_are_null_because_the_row_index_says_so(tmp_path, data):
    index = row_index(statistics("LONG", num_values=0))
    stripe = Stripe(10, [Stream(ROW_INDEX, 1, index), Stream(DATA, 1, data)])
    path = write(tmp_path / "a.orc", forge(table(a="LONG"), [stripe], stride=10))
    with open_file(path) as file:
        assert file.row_index(0, file.column("a"))[0].statistics.num_values == 0
    assert answers(path, 5) == answers(path, 77) == [("unknown", "no filter")]
    assert len(pb.find(path, "a", 5).rows) == (10 if data else 0)


@pytest.mark.parametrize("value", ["x", 1.5])
def test_what_is_no_value_of_the_column_is_an_error_even_without_filters(tmp_path, value):
    path = forged(tmp_path, "LONG", [Stream(ROW_INDEX, 1, row_index({}))])
    with pytest.raises(pb.ValueTypeError), pb.open(path) as file:
        file.probe("a", value)


@pytest.mark.parametrize("has_filters", [False, True])
def test_an_integer_of_more_bits_is_absent_whatever_else_is_asked(tmp_path, has_filters):
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": [1, 2]}), path)
    if has_filters:
        pb.build(path, in_place=True, columns="a")
    values = pb.probe(path, "a", [2**63, 1, -(2**63) - 1]).results
    assert [each.verdict for each in values] == [
        "absent", "maybe" if has_filters else "unknown", "absent"
    ]  # fmt: skip
    assert values[0].groups[0].reason == BEYOND_BITS
    assert pb.probe(path, "a", 2**63).is_absent
    assert [row.value for row in pb.find(path, "a", [2**63, 1]).rows] == [1]


# ------------------------------------------------------------------------------------------------
# Two streams, several writers


def both(filters_7, filters_8):
    index, original = streams("LONG", filters_7, BLOOM_FILTER)
    return [index, original, Stream(BLOOM_FILTER_UTF8, 1, index_of(filters_8))]


def test_of_two_streams_the_newer_one_is_taken(tmp_path):
    path = forged(tmp_path, "LONG", both([filter_of([])], [filter_of(hashes("LONG", 5))]))
    assert answers(path, 5) == [("maybe", None)]
    assert answers(path, 6) == [("absent", None)]
    (column,) = pb.inspect(path).parts[0].columns
    assert [each.stream for each in column.streams] == ["BLOOM_FILTER", "BLOOM_FILTER_UTF8"]
    assert column.filter.stream == "BLOOM_FILTER_UTF8"


def test_where_the_newer_one_is_damaged_nobody_asks_the_older_one(tmp_path):
    index = both([filter_of([])], [filter_of([])])
    index[2].data = b"\xff"
    ((verdict, reason),) = answers(forged(tmp_path, "LONG", index), 5)
    assert verdict == "unknown"
    assert reason == "BLOOM_FILTER_UTF8: damaged: 1 byte, not a BloomFilterIndex"


def test_the_older_stream_alone_is_read(tmp_path):
    index = streams("LONG", [filter_of(hashes("LONG", 5))], BLOOM_FILTER)
    path = forged(tmp_path, "LONG", index, encoding=0)
    assert (answers(path, 5), answers(path, 6)) == ([("maybe", None)], [("absent", None)])


def test_integers_of_orc_cpp_1_6_are_hashed_as_it_did(tmp_path):
    old = OrcKeyForm(logical_shifts=True)
    values = [-7, 2**40 + 1]
    made = filter_of(hashes("LONG", *values, form=old))
    written = {"writer": 1, "softwareVersion": b"1.6.11"}
    path = forged(tmp_path, "LONG", streams("LONG", [made]), footer=written)
    for value in values:
        assert hashes("LONG", value) != hashes("LONG", value, form=old)
        assert answers(path, value) == [("maybe", None)]
    newer = {"writer": 1, "softwareVersion": b"1.6.12"}
    path = forged(tmp_path, "LONG", streams("LONG", [made]), footer=newer)
    assert [answers(path, value) for value in values] == [[("absent", None)]] * 2


def test_filters_that_pbloom_built_into_such_a_file_are_as_today(tmp_path):
    index = streams("LONG", [filter_of(hashes("LONG", -7))])
    index[1].data = encode_filters([filter_of(hashes("LONG", -7))], BLOOM_FILTER_UTF8)
    written = {"writer": 1, "softwareVersion": b"1.6.11"}
    path = forged(tmp_path, "LONG", index, footer=written)
    assert (answers(path, -7), answers(path, 7)) == ([("maybe", None)], [("absent", None)])


def test_timestamps_of_the_older_stream_are_instants_where_the_writer_was(tmp_path):
    """Noon in New York is five in the afternoon in UTC, which is all that a filter knows."""
    noon = "2024-01-31T12:00:00"
    made = filter_of(hashes("TIMESTAMP", datetime(2024, 1, 31, 17)))
    index = streams("TIMESTAMP", [made], BLOOM_FILTER)
    path = forged(tmp_path, "TIMESTAMP", index, encoding=0, timezone=b"America/New_York")
    (result,) = probe(path, "a", pb.literal(noon)).results
    assert result.verdict == "maybe"
    utc = forged(tmp_path, "TIMESTAMP", index, encoding=0, timezone=b"UTC")
    assert probe(utc, "a", pb.literal(noon)).is_absent


@pytest.mark.parametrize(("low", "verdict"), [(-1, "unknown"), (0, "absent"), (None, "unknown")])
def test_orc_cpp_hashes_timestamps_before_1970_wrong(tmp_path, low, verdict):
    described = {} if low is None else {"minimumUtc": low, "maximumUtc": 5}
    made = filter_of(hashes("TIMESTAMP", datetime(2024, 1, 31)))
    index = streams("TIMESTAMP", [made], index=[statistics("TIMESTAMP", **described)])
    path = forged(tmp_path, "TIMESTAMP", index, footer={"writer": 1, "softwareVersion": b"2.2.2"})
    (result,) = probe(path, "a", pb.literal("2020-01-01T00:00:00")).results
    assert result.verdict == verdict


@pytest.mark.parametrize(("value", "verdict"), [("abc", "absent"), ("äöü", "unknown")])
def test_text_of_old_writers_is_certain_only_in_ascii(tmp_path, value, verdict):
    index = streams("STRING", [filter_of(hashes("STRING", "xyz"))], BLOOM_FILTER)
    path = forged(tmp_path, "STRING", index, encoding=0, postscript={"writerVersion": 2},
                  footer={"softwareVersion": b""})  # fmt: skip
    (found,) = answers(path, value)
    assert found[0] == verdict
    (result,) = probe(path, "a", pb.literal(value)).results
    assert result.verdict == verdict
    if verdict == "unknown":
        assert found[1] == "text in a charset that ORC Java, version 2 did not record"
        hexed = "0x" + value.encode("latin-1").hex()
        assert probe(path, "a", pb.literal(hexed, "bytes")).results[0].verdict == "unknown"


def test_columns_that_orc_cpp_gets_wrong_are_unknown(tmp_path):
    index = streams("BYTE", [filter_of(hashes("BYTE", 5))])
    path = forged(tmp_path, "BYTE", index, footer={"writer": 1, "softwareVersion": b"2.2.2"})
    assert {verdict for verdict, _ in answers(path, 6)} == {"unknown"}


# ------------------------------------------------------------------------------------------------
# The command


@pytest.fixture
def file(tmp_path):
    filters = [filter_of(hashes("LONG", 1)), filter_of(hashes("LONG", 2))]
    return forged(tmp_path, "LONG", streams("LONG", filters), rows=15)


def test_a_table(file):
    found = outcome("probe", file, "-c", "a", "-v", "2", "-v", "3")
    head, *rows = found.stdout.splitlines()
    assert head == f"{file}: a, {pb.probe(file, 'a', [2, 3]).bytes_read} bytes read"
    assert rows == [
        "value\tverdict\tstripe/index groups to read\trows to read\treason",
        "2\tmaybe\t0/1\t5\t",
        "3\tabsent\t\t0\t",
    ]
    assert found.code == 0


def test_several_files_say_that_places_are_stripes_and_groups(file, tmp_path):
    copy = tmp_path / "copy.orc"
    copy.write_bytes(file.read_bytes())
    first = outcome("probe", file, copy, "-c", "a", "-v", "2").stdout.splitlines()[0]
    assert first == f"{file}: maybe stripe/index group 0/1, 5 rows to read"


def test_groups_to_read(file):
    found = outcome("probe", file, "-c", "a", "-v", "2", "--groups-to-read")
    assert found.stdout == f"{file}\t0\t1\t10\t5\n"


def test_absent_everywhere_is_exit_code_1(file):
    assert outcome("probe", file, "-c", "a", "-v", "3").code == 1


def test_json(file):
    found = json.loads(outcome("probe", file, "-c", "a", "-v", "2", "--json").stdout)
    assert found["format"] == "orc"
    assert found["results"] == [{
        "value": "2",
        "verdict": "maybe",
        "index_groups": [
            {"stripe": 0, "index_group": 0, "verdict": "absent", "reason": None, "num_rows": 10,
             "first_row": 0},
            {"stripe": 0, "index_group": 1, "verdict": "maybe", "reason": None, "num_rows": 5,
             "first_row": 10},
        ],
        "rows_to_read": 5,
    }]  # fmt: skip


def test_values_from_a_file(file, tmp_path):
    literals = write(tmp_path / "values.txt", b"1\n2\n")
    found = outcome("probe", file, "-c", "a", "--values-from", literals)
    assert [row.split("\t")[:3] for row in found.stdout.splitlines()[2:]] == [
        ["1", "maybe", "0/0"], ["2", "maybe", "0/1"],
    ]  # fmt: skip


def test_an_explanation(file):
    (hash,) = hashes("LONG", 2)
    low, high = hash & 0xFFFFFFFF, hash >> 32
    combined = [(low + k * high) & 0xFFFFFFFF for k in range(1, 6)]
    positions = sorted({(c if c < 1 << 31 else ~c & 0xFFFFFFFF) % 640 for c in combined})
    found = outcome("probe", file, "-c", "a", "-v", "2", "--explain").stdout.splitlines()
    bits = " ".join(map(str, positions))
    assert found[0] == f"{file}: a"
    heads = (
        "stripe",
        "index group",
        "value",
        "verdict",
        "hash",
        "k",
        "of bits",
        "bits",
        "clear",
        "reason",
    )
    assert found[1].split("\t") == list(heads)
    assert found[3] == f"0\t1\t2\tmaybe\t{hash:016x}\t5\t640\t{bits}\t\t"
    clear = found[2].split("\t")[8]
    assert clear
    assert set(clear.split()) <= set(bits.split())


def test_an_explanation_of_what_cannot_be_asked(tmp_path):
    path = forged(tmp_path, "LONG", [Stream(ROW_INDEX, 1, row_index({}))])
    found = outcome("probe", path, "-c", "a", "-v", "2", "--explain").stdout.splitlines()
    assert found[1:] == [
        "stripe\tindex group\tvalue\tverdict\thash\treason", "0\t0\t2\tunknown\t\tno filter",
    ]  # fmt: skip


def test_an_explanation_reads_no_more_than_a_verdict(file):
    explained = probe(file, "a", [2, 3], explain=True)
    plain = probe(file, "a", [2, 3])
    assert (explained.results, explained.bytes_read) == (plain.results, plain.bytes_read)
    assert plain.explanations is None
    assert [(each.value, each.index_group) for each in explained.explanations] == [
        (2, 0), (2, 1), (3, 0), (3, 1)
    ]  # fmt: skip


def test_a_dialect_is_for_parquet(file):
    with pytest.raises(pb.UnsupportedError, match="dialect is not supported for ORC files"):
        probe(file, "a", [2], dialect="murmur3")


def test_a_filter_answers_values(tmp_path):
    filters = [filter_of(hashes("STRING", "x")), filter_of(hashes("STRING", "y", "z"))]
    path = forged(tmp_path, "STRING", streams("STRING", filters), rows=15)
    with open_file(path) as file:
        found = file.bloom_filter(OneFilter(part=0, column="a", group=1))
        assert found.bitset == filters[1].bitset
        read = file.source.bytes_read
        assert [found.check(text) for text in ("x", "y", "z")] == [False, True, True]
        # The row index, which could leave a doubt, but not the filters once more.
        assert file.source.bytes_read - read == file.stripe(0).streams[0].length
        expected = [False, True, True]
        for values in (["x", "y", None], pa.array(["x", "y", None])):
            assert found.check_many(values).tolist() == expected
        with pytest.raises(pb.ValueTypeError):
            found.check(1)


def test_a_filter_that_may_miss_values_excludes_none(tmp_path):
    index = streams("BYTE", [filter_of(hashes("BYTE", 5))])
    path = forged(tmp_path, "BYTE", index, footer={"writer": 1, "softwareVersion": b"2.2.2"})
    with pb.open(path) as file:
        assert file.bloom_filter(0, "a", 0).check_many([5, 6]).all()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-c", "a", "-v", "x"], "column a: x: cannot be a value of LONG: expected an integer"),
        (["-c", "b", "-v", "1"], "no column b; the file has a"),
    ],
)
def test_one_line_for_what_is_wrong(file, arguments, expected):
    found = outcome("probe", file, *arguments)
    assert (found.code, found.complaint) == (2, f"{file}: {expected}")
