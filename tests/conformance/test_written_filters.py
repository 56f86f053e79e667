"""`pbloom conformance write`: what is wrong with filters is found, and with those of this package nothing is."""

import json
import re
import shlex
import sys
from functools import cache
from importlib.resources import files

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.footers import footer_of, with_footer, with_meta

import parquet_bloom as pb
from parquet_bloom.conformance.split_block import bitset, header
from parquet_bloom.conformance.writers import CHECKS, judged
from parquet_bloom.conformance.written_columns import columns, distinct_values

ADAPTERS = files("parquet_bloom.conformance") / "adapters"
SCHEMA = json.loads(
    (files("parquet_bloom.conformance") / "schema" / "column.schema.json").read_text()
)
BY_NAME = {column.name: column for column in columns()}
DISTINCT = {column.name: distinct_values(json.loads(column.data())) for column in BY_NAME.values()}


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """A column as the adapters are told it."""
    folder = tmp_path_factory.mktemp("told")
    sys.path.insert(0, str(ADAPTERS))
    from writing import Column

    def told(name):
        path = folder / name
        path.write_bytes(BY_NAME[name].data())
        return Column(str(path))

    yield told
    sys.path.remove(str(ADAPTERS))


@pytest.fixture
def written(told, tmp_path):
    """A file of this package with a column, and the column as the manifest has it."""

    @cache
    def written(name):
        column = told(name)
        plain, built = tmp_path / f"{name}-plain.parquet", tmp_path / f"{name}.parquet"
        pq.write_table(
            column.table, plain, row_group_size=column.rows_per_group, store_schema=False
        )
        with pb.open(plain) as file:
            leaves = list(file.columns)
        pb.build(plain, built, columns=leaves, force=True)
        return built, BY_NAME[name].document()

    return written


def found(path, column):
    return {
        result.id.partition("/")[0]: result.found
        for result in judged(column, DISTINCT[column["id"]], path)
        if result.verdict in ("loses", "fails")
    }


def test_filters_of_this_package(written):
    """Those of FLOAT16 have the same numbers as FLOAT, too, which DuckDB looks up."""
    wrong = {name: found(*written(name)) for name in BY_NAME}
    wider = {name for name in BY_NAME if "float16" in name}
    assert {name for name, what in wrong.items() if what} == wider
    assert {check for name in wider for check in wrong[name]} == {"bits"}


def test_no_filter_is_right_where_there_are_no_values(told, tmp_path):
    path = tmp_path / "all-null.parquet"
    pq.write_table(told("all-null").table, path)
    results = [*judged(BY_NAME["all-null"].document(), [0], path)]
    assert not any(each.is_not_judged for each in results)
    assert {each.verdict: each.found for each in results} == {
        "not applicable": "no values, and no filter",
        "right": "",
    }
    assert [each.id for each in results if each.applies] == ["size/all-null"]


@pytest.mark.parametrize(
    ("verb", "adapter", "said"),
    [
        ("read", "pyarrow_writes.py", "asked to read, and this adapter writes"),
        ("write", "pyarrow_reads.py", "asked to write, and this adapter reads"),
    ],
)
def test_an_adapter_of_the_other_kind(verb, adapter, said):
    case = {"read": "semantics/all-null", "write": "all-null"}[verb]
    command = shlex.join([sys.executable, str(ADAPTERS / adapter)])
    result = outcome("conformance", verb, "--adapter", command, "--case", case)
    assert (result.code, result.complaint) == (2, f"nothing was judged: {case}: {said}")


def test_columns_are_as_the_schema_says():
    assert len(BY_NAME) == len(columns()) == 70
    schema = jsonschema.Draft202012Validator(SCHEMA)
    for column in columns():
        told = json.loads(column.data())
        schema.validate(told | {"groups": [rows[:2] for rows in told["groups"]]})


# --- filters that are wrong -----------------------------------------------------------------------

FEW = "few"


def chunk(data, group=0):
    return footer_of(data).row_groups[group].columns[0].meta_data


def replaced(data, at, new):
    return data[:at] + new + data[at + len(new) :]


def moved(data, group, filter, **more):
    """The filter of a row group in another place, behind what is there."""
    footer = footer_of(data)
    start = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    meta = footer.row_groups[group].columns[0].meta_data
    meta.bloom_filter_offset, meta.bloom_filter_length = start, len(filter)
    for name, value in more.items():
        setattr(meta, name, value)
    return with_footer(data[:start] + filter, footer)


def test_every_bit_that_is_missing_is_found(written):
    path, column = written(FEW)
    data = path.read_bytes()
    cleared = 0
    for group in range(2):
        offset, length = (
            chunk(data, group).bloom_filter_offset,
            chunk(data, group).bloom_filter_length,
        )
        for at in range(offset + 15, offset + length):
            for bit in range(8):
                if data[at] >> bit & 1:
                    path.write_bytes(replaced(data, at, bytes([data[at] ^ 1 << bit])))
                    assert found(path, column).keys() == {"values"}
                    cleared += 1
    # Five values of eight bits, in each of two row groups; two of them may share a bit.
    assert 70 <= cleared <= 80


SIX = [number.to_bytes(8, "little") for number in range(6)]


@pytest.mark.parametrize(
    ("wrong", "check", "what"),
    [
        (lambda data: with_meta(data, 0, 0, bloom_filter_length=None), "header", "no bloom_filter_length, expected 80"),
        (lambda data: with_meta(data, 0, 0, bloom_filter_length=20), "header", "bloom_filter_length is 20, expected 80"),
        (lambda data: with_meta(data, 0, 0, bloom_filter_offset=4), "header", "numBytes is 2, expected"),
        (lambda data: moved(data, 0, header(33) + bytes(33)), "header", "numBytes is 33, expected a multiple of 32"),
        (lambda data: moved(data, 0, header(32, hash=2) + b"\xff" * 32), "header", "expected BLOCK, XXHASH, UNCOMPRESSED"),
        (lambda data: moved(data, 0, header(64) + b"\xff" * 32), "header", "the filter overlaps"),
        (lambda data: moved(data, 0, header(32) + bytes(32)), "values", "5 of 5 values are not in the filter"),
        (lambda data: moved(data, 0, header(32) + bitset(SIX, 1)), "values", "5 of 5 values are not in the filter"),
        (lambda data: moved(data, 0, header(64) + b"\xff" * 64), "bits", "bits are set without a value"),
        (lambda data: moved(data, 0, header(96) + b"\xff" * 96), "size", "96 bytes, which is no power of two"),
        (lambda data: moved(data, 0, header(4096) + b"\xff" * 4096), "size", "4096 bytes for a chunk of "),
    ],
)  # fmt: skip
def test_what_is_wrong_is_found(written, wrong, check, what):
    path, column = written(FEW)
    path.write_bytes(wrong(path.read_bytes()))
    assert what in found(path, column)[check]


@pytest.mark.parametrize("num_bytes", [8, 33, 256])
def test_nothing_is_right_of_bits_that_nobody_could_look_into(written, num_bytes):
    """As where a writer counts bits, or words, in numBytes."""
    path, column = written(FEW)
    path.write_bytes(moved(path.read_bytes(), 0, header(num_bytes) + bytes(32)))
    of = {each.id.partition("/")[0]: each for each in judged(column, DISTINCT[FEW], path)}
    assert of["header"].verdict == "fails"
    for check in ("values", "bits", "rate"):
        reason = "row group 0, column v: no bits of such a size"
        assert (of[check].verdict, of[check].found) == ("not applicable", reason)
    assert not any(each.is_not_judged for each in of.values())


@pytest.mark.parametrize(
    ("name", "spoil", "reason"),
    [
        ("few-texts", lambda table: pa.table({"v": [table["v"][1]] * 300}), "1 distinct value, expected 4"),
        ("few-texts", lambda table: table.append_column("w", table["v"]), "2 leaf columns, expected 1"),
        ("few-texts", lambda table: table.set_column(0, "v", pa.array([str(row) for row in range(300)])), "300 distinct values, expected 4"),
        ("struct", lambda table: pa.table({"v": table["v"].combine_chunks().field("a")}), "1 leaf column, expected 2"),
        ("map", lambda table: table.slice(0, 299), "299 rows, expected 300"),
        ("double-nan", lambda table: pa.table({"v": pa.array([1.5] * 300)}), "1 distinct value, expected 296"),
    ],
)  # fmt: skip
def test_other_values_than_were_told_are_not_judged(told, tmp_path, name, spoil, reason):
    path = tmp_path / f"{name}.parquet"
    pq.write_table(spoil(told(name).table), path, store_schema=False)
    found = {*judged(BY_NAME[name].document(), DISTINCT[name], path)}
    assert {(each.verdict, each.found, each.is_not_judged) for each in found} == {
        ("not applicable", reason, True)
    }


@pytest.mark.parametrize("blocks", [1, 64])
def test_a_filter_that_excludes_next_to_nothing(written, blocks):
    """By bits that have no value, or since it is too small for its values."""
    path, column = written("many")
    full = bitset([number.to_bytes(8, "little") for number in range(3000)], 1)
    assert full.count(0xFF) == 32
    path.write_bytes(moved(path.read_bytes(), 0, header(32 * blocks) + b"\xff" * 32 * blocks))
    assert (
        found(path, column)["rate"]
        == "row group 0, column v: finds 100 % of absent values, expected at most 50 %"
    )
    levels = {result.id: result.level for result in judged(column, DISTINCT["many"], path)}
    assert levels["rate/many"] == "may"


@pytest.mark.parametrize("taken", [4096, 8192])
def test_values_behind_the_first_that_a_writer_takes_at_a_time(written, taken):
    path, column = written("very-many")
    first = [number.to_bytes(8, "little") for number in range(taken)]
    path.write_bytes(moved(path.read_bytes(), 0, header(1 << 15) + bitset(first, 1 << 10)))
    lost = found(path, column)["values"]
    assert " of 20000 values are not in the filter, one of them 0x" in lost
    assert int(re.search(r": (\d+) of", lost)[1]) > 0.99 * (20_000 - taken)


def test_a_filter_of_another_row_group_is_found(written):
    path, column = written("int64-integer-64-true")
    data = path.read_bytes()
    other = chunk(data, 1)
    path.write_bytes(
        with_meta(
            data,
            0,
            0,
            bloom_filter_offset=other.bloom_filter_offset,
            bloom_filter_length=other.bloom_filter_length,
        )
    )
    assert "values are not in the filter" in found(path, column)["values"]


def test_a_zero_without_the_other(written):
    path, column = written("double-minus-zero")
    values = [bytes.fromhex(text[2:])[::-1] for text in BY_NAME["double-minus-zero"].groups[0]]
    path.write_bytes(moved(path.read_bytes(), 0, header(512) + bitset(values, 16)))
    assert found(path, column) == {
        "zeros": "row group 0, column v: the zero of the other sign is not in it"
    }


def test_a_nan_without_the_usual_one(written):
    path, column = written("double-nan")
    values = [bytes.fromhex(text[2:])[::-1] for text in BY_NAME["double-nan"].groups[0]]
    path.write_bytes(
        moved(
            path.read_bytes(),
            0,
            header(512) + bitset([value for value in values if value[-2:] != b"\xf8\x7f"], 16),
        )
    )
    assert (
        found(path, column)["nan"] == "row group 0, column v: a NaN is in it, the usual one is not"
    )


# --- the command ----------------------------------------------------------------------------------


@pytest.mark.interop
@pytest.mark.parametrize("engine", ["pyarrow", "duckdb", "datafusion"])
def test_engines_that_are_here(engine):
    adapter = shlex.join([sys.executable, str(ADAPTERS / f"{engine}_writes.py")])
    chosen = [
        word for name in ("few-texts", "double-minus-zero", "map") for word in ("--case", name)
    ]
    result = outcome(
        "conformance", "write", "--adapter", adapter, *chosen, "--level", "should", "--json"
    )
    report = json.loads(result.stdout)
    failed = [
        each["id"]
        for each in report["results"]
        if each["verdict"] not in ("right", "not applicable")
    ]
    assert failed == ["zeros/double-minus-zero"]
    assert result.code == 1
    assert report["summary"] == {
        "must": [6, 6],
        "should": [7, 8],
        "may": [3, 3],
        "uses": [0, 0],
        "not_judged": 0,
    }


def test_files_that_are_there(written, tmp_path):
    path, _ = written(FEW)
    options = ("--written", path.parent, "--case", FEW)
    assert outcome("conformance", "write", *options).code == 0
    (path.parent / "few-texts.parquet").write_bytes(b"PAR1")
    known = path.parent / "known.json"
    options += ("--case", "many", "--case", "few-texts")
    result = outcome("conformance", "write", *options, "--write-expect", known)
    assert result.code == 1
    first, *table = result.stdout.splitlines()
    assert first.endswith(": 2 of 4 as they must be, suite 1.0")
    assert table[1:3] == ["values\t1/1\t\t\t2", "header\t1/3\t\t\t"]
    assert table[2 + len(CHECKS) :] == [
        "fails: header/many: no such file; about: 3,000 values in each row group",
        "fails: header/few-texts: few-texts.parquet: truncated or not a Parquet file: 4 bytes, expected 12 or more; about: four texts and nulls",
        f"next: pbloom validate {path.parent}/few-texts.parquet --diagnose",
    ]
    # What a writer does not write can be known, as anything else.
    assert json.loads(known.read_text()).keys() == {"header/many", "header/few-texts"}
    result = outcome("conformance", "write", *options, "--expect", known)
    assert (result.code, result.stdout.splitlines()[-1]) == (0, "As expected.")


# Writes each column without filters, has pbloom build them, and spoils each by clearing its bits.
SPOILS = """
import sys, pyarrow.parquet as pq
import parquet_bloom as pb
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.filters.bloom import read_header
from parquet_bloom.storage import open_source
sys.path.insert(0, sys.argv[1])
from writing import answer

def write(column, output):
    pq.write_table(column.table, output, row_group_size=column.rows_per_group, store_schema=False)
    with pb.open(output) as file:
        leaves = list(file.columns)
    pb.build(output, columns=leaves, in_place=True, force=True)
    data = bytearray(open(output, "rb").read())
    with OpenFile(open_source(output)) as file:
        for group in range(file.num_row_groups):
            for chunk in file.chunks(group, file.leaves):
                header = read_header(file.source, file.footer, chunk)
                start = header.offset + header.header_bytes
                data[start : start + header.num_bytes] = bytes(header.num_bytes)
    open(output, "wb").write(data)

answer("Spoils", "1", write)
"""


@pytest.fixture
def spoils(tmp_path):
    program = tmp_path / "spoils.py"
    program.write_text(SPOILS)
    adapter = shlex.join([sys.executable, str(program), str(ADAPTERS)])
    return ("conformance", "write", "--adapter", adapter, "--case", "few-texts")


def test_what_an_adapter_wrote_can_be_kept(spoils, tmp_path, monkeypatch):
    """For the command that says what the writer did, which is named; all findings are in the document."""
    monkeypatch.chdir(tmp_path)
    result = outcome(*spoils)
    assert result.code == 1
    *_, lost, following = result.stdout.splitlines()
    assert lost.endswith("; 1 more; about: four texts and nulls")
    assert following == (
        "next: the same with --keep FOLDER, which keeps the files for pbloom validate --diagnose"
    )
    result = outcome(*spoils, "--keep", "kept")
    assert (
        result.stdout.splitlines()[-1] == "next: pbloom validate kept/few-texts.parquet --diagnose"
    )
    assert outcome("validate", "kept/few-texts.parquet", "--diagnose").code == 1
    complaint = outcome(*spoils, "--keep", "kept").complaint
    assert complaint == "kept: is not empty, expected a new folder"
    written = ("conformance", "write", "--written", "kept", "--case", "few-texts")
    assert outcome(*written).stdout.splitlines()[-1] == result.stdout.splitlines()[-1]
    complaint = outcome(*written, "--keep", "other").complaint
    assert complaint == "expected --keep with --adapter: what --written names stays there"
    report = json.loads(outcome(*written, "--json").stdout)
    jsonschema.validate(
        report, json.loads((ADAPTERS.parent / "schema" / "report.schema.json").read_text())
    )
    (values,) = (each for each in report["results"] if each["verdict"] == "loses")
    assert values["found"].startswith("row group 0, column v: 4 of 4 values are not in the filter")
    (other,) = values["more"]
    assert other.startswith("row group 1, column v: 4 of 4 values are not in the filter")


def test_of_many_files_that_are_wrong_the_largest_is_diagnosed(tmp_path):
    """Which has most to prove something by; a file that is not there has nothing."""
    names = ("few", "ten-groups", "constant", "long-texts", "sorted", "repeated")
    for name in names:
        (tmp_path / f"{name}.parquet").write_bytes(b"PAR1")
    cases = [word for name in ("many", *names) for word in ("--case", name)]
    asked = ("conformance", "write", "--written", tmp_path, *cases)
    path = tmp_path / "constant.parquet"
    assert outcome(*asked).stdout.splitlines()[-1] == f"next: pbloom validate {path} --diagnose"
    (tmp_path / "many.parquet").write_bytes(b"PAR1")
    path = tmp_path / "many.parquet"
    assert outcome(*asked).stdout.splitlines()[-1] == f"next: pbloom validate {path} --diagnose"
    five = cases[2:-2]
    last = outcome(*asked[:4], *five).stdout.splitlines()[-1]
    named = {f"{tmp_path}/{name}.parquet" for name in five[1::2]}
    assert {*last.removeprefix("next: pbloom validate ").split()[:-1]} == named


def test_of_many_files_that_are_wrong_the_one_that_tells_most_is_diagnosed(written):
    """What is said of missing values says what the writer did, and little can be said of a filter that has nearly all
    values, however many it lacks."""
    names = ("fallback", "ten-groups", "constant", "sorted", "repeated")
    for name in names:
        path, _ = written(name)
        path.write_bytes(b"PAR1")
    few, many = written(FEW)[0], written("many")[0]
    few.write_bytes(moved(few.read_bytes(), 0, header(32) + bytes(32)))
    cases = [word for name in (FEW, "many", *names) for word in ("--case", name)]
    asked = ("conformance", "write", "--written", few.parent, *cases)

    def named():
        return outcome(*asked).stdout.splitlines()[-1]

    assert named() == f"next: pbloom validate {few} --diagnose"
    whole = many.read_bytes()
    full = header(64 * 32) + bytes(32) + b"\xff" * 63 * 32
    many.write_bytes(moved(whole, 0, full))
    assert "loses: values/many: " in outcome(*asked).stdout
    assert named() == f"next: pbloom validate {few} --diagnose"
    many.write_bytes(moved(whole, 0, header(32 * 64) + bytes(64 * 32)))
    assert named() == f"next: pbloom validate {many} --diagnose"


def test_chunks_without_a_filter_are_named_beside_those_that_have_one(told, tmp_path):
    """As the table counts what is right: of a struct, a member may have none, and of a column, a row group."""
    options = {"store_schema": False, "row_group_size": 150}
    filters = {"v.a": {"ndv": 150, "fpp": 0.01}}
    path = tmp_path / "struct.parquet"
    pq.write_table(told("struct").table, path, bloom_filter_options=filters, **options)
    data = with_meta(path.read_bytes(), 1, 0, bloom_filter_offset=None, bloom_filter_length=None)
    path.write_bytes(data)
    asked = ("conformance", "write", "--written", tmp_path, "--case", "struct")
    result = outcome(*asked)
    assert (result.code, result.stdout.splitlines()[-2:]) == (
        0,
        ["1 column judged in part:", "  struct: row group 0, column v.b: no filter; 2 more"],
    )
    others = [f"row group 1, column v.{member}: no filter" for member in "ab"]
    (right,) = (each for each in json.loads(outcome(*asked, "--json").stdout)["results"] if each["found"] and each["verdict"] == "right")  # fmt: skip
    assert (right["id"], right["more"]) == ("values/struct", others)
    junit = outcome(*asked, "--format", "junit").stdout
    assert "<system-out>right: row group 0, column v.b: no filter; 2 more\n" in junit


def test_that_nothing_was_judged_is_no_success(tmp_path):
    result = outcome("conformance", "write", "--written", tmp_path, "--case", FEW)
    complaint = f"{tmp_path}: nothing to judge, expected files such as {FEW}.parquet"
    assert (result.code, result.complaint) == (2, complaint)
    result = outcome("conformance", "write", "--written", tmp_path / "no")
    assert (result.code, result.complaint) == (2, f"{tmp_path / 'no'}: no such folder")
    pq.write_table(pa.table({"v": [1]}), tmp_path / "many.parquet")
    result = outcome("conformance", "write", "--written", tmp_path, "--case", "many")
    assert result.code == 2
    assert result.complaint.startswith("nothing was judged: many: 1 row, expected ")


def test_a_writer_without_filters_is_told_no_more_than_that(told, tmp_path):
    """What helps the user of a file is no help to who writes a writer."""
    column = told(FEW)
    pq.write_table(column.table, tmp_path / "few.parquet", store_schema=False)
    result = outcome("conformance", "write", "--written", tmp_path, "--case", FEW)
    assert (result.code, result.complaint) == (
        2,
        "nothing was judged: few: no chunk has a filter",
    )


def test_one_or_the_other():
    result = outcome("conformance", "write")
    assert (
        result.code,
        "expected --adapter COMMAND, which writes, or --written FOLDER" in result.stderr,
    ) == (2, True)
