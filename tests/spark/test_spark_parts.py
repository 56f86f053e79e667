"""A huge file in parts, step by step and without Spark: what one step gives is handed to the next,
whole or with something wrong with it."""

import json
import os
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.encrypting import FOOTER_KEY, Recipe, encrypt
from make.pages import data_page, int64s
from make.parquet_files import Column, forge
from make.spark_requests import build_request

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.thrift.ttypes import Type
from parquet_bloom.spark import parts
from parquet_bloom.spark.schemas import BUILT, WORK

to_arrow_schema = pytest.importorskip("pyspark.sql.pandas.types").to_arrow_schema

GROUPS, PARTS = 6, 4
COLUMNS = ("id", "name")


@pytest.fixture
def path(tmp_path):
    return write(tmp_path / "huge.parquet")


def write(path, start=0):
    ids = range(start, start + 100 * GROUPS)
    table = pa.table({"id": ids, "name": [f"n{each}" for each in ids]})
    pq.write_table(table, path, row_group_size=100, use_dictionary=False)
    return path


def request(columns=COLUMNS, **options):
    return build_request(columns, **options)


def work(*paths):
    """Rows of WORK: all parts of all files, the parts of one file far apart."""
    rows = [
        {"path": str(path), "part": part, "parts": PARTS, "file": number, "task": 0}
        for part in range(PARTS)
        for number, path in enumerate(paths)
    ]
    return [pa.RecordBatch.from_pylist(rows, schema=to_arrow_schema(WORK))]


def built(*paths, **options):
    """Rows of BUILT as one task of the second step gets them."""
    batches = parts.build_part(request(**options), work(*paths))
    rows = [row for batch in batches for row in batch.to_pylist()]
    return sorted(rows, key=lambda row: (row["file"], row["row_group"], row["column"]))


def written(rows, size=5, **options):
    """Outcomes by file, and how often it was read for filters meanwhile."""
    schema = to_arrow_schema(BUILT)
    batches = (
        pa.RecordBatch.from_pylist(rows[start : start + size], schema=schema)
        for start in range(0, len(rows), size)
    )
    found = [
        row for batch in parts.write_parts(request(**options), batches) for row in batch.to_pylist()
    ]
    assert len({row["path"] for row in found}) == len(found)
    return found


@pytest.fixture
def whole(monkeypatch):
    """Files that were built as a whole."""
    done, build = [], parts.build_outcome

    def build_outcome(path, options):
        done.append(path)
        return build(path, options)

    monkeypatch.setattr(parts, "build_outcome", build_outcome)
    return done


def expected(path, **options):
    """The bytes of a local build."""
    output = path.with_suffix(".expected")
    pb.build(path, output, columns=COLUMNS, overwrite=True, **options)
    return output.read_bytes()


def test_the_rows_between(path):
    rows = built(path)
    seen, filters = rows[:PARTS], rows[PARTS:]
    assert {(row["row_group"], row["column"], row["bits"]) for row in seen} == {(-1, -1, None)}
    assert len({row["message"] for row in seen}) == 1
    assert [(row["row_group"], row["column"]) for row in filters] == [
        (group, column) for group in range(GROUPS) for column in range(2)
    ]
    local = path.with_suffix(".local")
    pb.build(path, local, columns=COLUMNS)
    with pb.open(local) as file:
        for row in filters:
            column = COLUMNS[row["column"]]
            assert row["bits"] == file.bloom_filter(row["row_group"], column).bitset


@pytest.mark.parametrize("size", [1, 5, 1000], ids="batches of {}".format)
def test_the_same_bytes_as_of_a_local_build(path, whole, size):
    other = write(path.with_name("other.parquet"), 7000)
    wanted = [expected(path), expected(other)]
    outcomes = written(built(path, other), size)
    assert [path.read_bytes(), other.read_bytes()] == wanted
    assert [(row["path"], row["status"], row["filters"]) for row in outcomes] == [
        (str(path), "added", 2 * GROUPS), (str(other), "added", 2 * GROUPS),
    ]  # fmt: skip
    assert whole == []
    assert sorted(os.listdir(path.parent)) == [
        "huge.expected", "huge.parquet", "other.expected", "other.parquet",
    ]  # fmt: skip


def test_more_parts_than_row_groups(path, whole, monkeypatch):
    wanted = expected(path)
    monkeypatch.setitem(globals(), "PARTS", 50)
    (outcome,) = written(built(path))
    assert (outcome["status"], path.read_bytes(), whole) == ("added", wanted, [])


@pytest.mark.parametrize(
    "options",
    [{"fpp": 0.3}, {"ndv": 10_000}, {"max_bytes": 64, "force": True}, {"exact_blocks": True}],
    ids=str,
)
def test_options_count_in_both_steps(path, whole, options):
    wanted = expected(path, **options)
    (outcome,) = written(built(path, **options), **options)
    assert (outcome["status"], path.read_bytes(), whole) == ("added", wanted, [])


def test_filters_that_miss_the_target_are_left_out(path, whole):
    """As a local build does."""
    wanted = expected(path, max_bytes=64)
    (outcome,) = written(built(path, max_bytes=64), max_bytes=64)
    assert (outcome["filters"], outcome["status"]) == (0, "skipped")
    assert "FPP" in outcome["message"]
    assert path.read_bytes() == path.with_suffix(".expected").read_bytes() == wanted


def test_filters_are_replaced(path, whole):
    pb.build(path, columns=["id", "name"], ndv=10_000, in_place=True)
    wanted = expected(path, existing="replace")
    (outcome,) = written(built(path, existing="replace"), existing="replace")
    assert (outcome["status"], path.read_bytes(), whole) == ("added", wanted, [])


# ------------------------------------------------------------------------------------------------
# Attempts that come late, and files that change


def snapshot(path):
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, path.read_bytes()


def test_twice_is_once(path, whole):
    """The same rows for a second attempt, after the first has written the file."""
    rows = built(path)
    written(rows)
    before = snapshot(path)
    (outcome,) = written(rows)
    assert (outcome["status"], outcome["filters"], outcome["bytes"]) == ("unchanged", 0, 0)
    assert snapshot(path) == before
    assert whole == [str(path)]


def test_all_parts_see_the_filters_of_an_earlier_attempt(path, whole):
    written(built(path))
    before = snapshot(path)
    rows = built(path)
    assert len(rows) == PARTS
    (outcome,) = written(rows)
    assert (outcome["status"], snapshot(path)) == ("unchanged", before)


def test_some_parts_see_them(path, whole):
    """Their output was lost with an executor, and is made again after the file was written."""
    early = built(path)
    written(early)
    before = snapshot(path)
    late = built(path)
    rows = late[:1] + early[1:]
    (outcome,) = written(rows)
    assert (outcome["status"], snapshot(path)) == ("unchanged", before)
    assert whole == [str(path)]


def test_another_file_in_its_place(path, whole):
    rows = built(path)
    write(path, 5000)
    wanted = expected(path)
    (outcome,) = written(rows)
    assert (outcome["status"], path.read_bytes()) == ("added", wanted)
    assert whole == [str(path)]


def test_another_file_in_the_middle_of_the_building(path, whole):
    rows = built(path)
    write(path, 5000)
    later = built(path)
    wanted = expected(path)
    (outcome,) = written(later[:2] + rows[2:])
    assert (outcome["status"], path.read_bytes()) == ("added", wanted)
    assert whole == [str(path)]


def test_another_file_while_it_is_written(path, whole, monkeypatch):
    """After the last look at what the parts have seen."""
    rows, build_file = built(path), parts.build_file

    def late(*arguments, **options):
        write(path, 5000)
        return build_file(*arguments, **options)

    monkeypatch.setattr(parts, "build_file", late)
    (outcome,) = written(rows)
    assert outcome["status"] == "added"
    assert path.read_bytes() == expected(write(path.with_name("again.parquet"), 5000))
    assert whole == [str(path)]


def test_a_file_that_is_gone(path, whole):
    rows = built(path)
    path.unlink()
    (outcome,) = written(rows)
    assert outcome["status"] == "error"
    assert outcome["message"] == f"{path}: No such file or directory"


# ------------------------------------------------------------------------------------------------
# Rows that are not what they should be


def lost(rows):
    return rows[:-1]


def lost_in_the_middle(rows):
    return rows[: PARTS + 3] + rows[PARTS + 4 :]


def doubled(rows):
    return rows[: PARTS + 3] + rows[PARTS + 2 :]


def one_too_many(rows):
    return [*rows, rows[-1]]


def swapped(rows):
    return [*rows[:-2], rows[-1], rows[-2]]


def only_versions(rows):
    return rows[:PARTS]


@pytest.mark.parametrize(
    "harmed", [lost, lost_in_the_middle, doubled, one_too_many, swapped, only_versions]
)
def test_filters_that_are_not_those_of_the_file(path, whole, harmed):
    """Nothing is written with them, and the file is built as a whole."""
    wanted = expected(path)
    (outcome,) = written(harmed(built(path)))
    assert (outcome["status"], outcome["filters"]) == ("added", 2 * GROUPS)
    assert path.read_bytes() == wanted
    assert whole == [str(path)]
    assert sorted(os.listdir(path.parent)) == ["huge.expected", "huge.parquet"]


@pytest.mark.parametrize(
    "rows", [slice(PARTS, None), slice(None, None, -1)], ids=["no version", "backwards"]
)
def test_without_a_version_it_is_built_as_a_whole(path, whole, rows):
    wanted = expected(path)
    (outcome,) = written(built(path)[rows])
    assert (outcome["status"], path.read_bytes()) == ("added", wanted)
    assert whole == [str(path)]


# ------------------------------------------------------------------------------------------------
# Files that are not built in parts


def test_damage_is_found_by_whoever_writes(path, whole):
    data = bytearray(path.read_bytes())
    with open_file(path) as file:
        start = file.chunk(3, "id").data_page_offset
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(data)
    rows = built(path)
    assert None in {row["message"] for row in rows if row["row_group"] == -1}
    (outcome,) = written(rows)
    assert outcome["status"] == "error"
    assert outcome["message"].startswith(f"{path}: row group 3, column id: ")
    assert path.read_bytes() == data


def test_checksums_that_are_ignored(path, whole):
    pages = [data_page(int64s(n), 1, crc=n) for n in range(1, 5)]
    column = Column(pages, 4, type=Type.INT64, name="id")
    path.write_bytes(forge(column))
    (outcome,) = written(built(path, columns=["id"]), columns=["id"])
    assert outcome["status"] == "error"
    assert outcome["message"].endswith("; --ignore-checksums reads it anyway")
    options = {"columns": ["id"], "ignore_checksums": True}
    whole.clear()
    (outcome,) = written(built(path, **options), **options)
    assert (outcome["status"], outcome["filters"], whole) == ("added", 1, [])


def test_a_column_that_is_not_there(path, whole):
    before = snapshot(path)
    (outcome,) = written(built(path, columns=["ident"]), columns=["ident"])
    assert outcome["status"] == "refused"
    assert "no column ident; " in outcome["message"]
    assert snapshot(path) == before


def test_a_file_of_a_table(path, whole):
    (path.parent / "_delta_log").mkdir()
    before = snapshot(path)
    (outcome,) = written(built(path))
    assert outcome["status"] == "refused"
    assert "belongs to the Delta Lake table" in outcome["message"]
    assert snapshot(path) == before


def test_only_missing(path, whole):
    pb.build(path, columns=["id", "name"], in_place=True)
    before = snapshot(path)
    rows = built(path, only_missing=True, existing="replace")
    assert len(rows) == PARTS
    (outcome,) = written(rows, only_missing=True, existing="replace")
    assert (outcome["status"], outcome["message"]) == ("unchanged", "each column has filters")
    assert snapshot(path) == before


@pytest.mark.parametrize("footer", ["encrypted footer", "plaintext footer"])
def test_no_bits_of_encrypted_files_travel(path, whole, footer):
    """The file is built as a whole, with the keys that the executors read."""
    recipe = Recipe(columns={"id": None}, plaintext_footer=footer == "plaintext footer")
    path.write_bytes(encrypt(path.read_bytes(), recipe).data)
    keys_file = path.with_name("keys.json")
    keys_file.write_text(json.dumps({"footer": f"hex:{FOOTER_KEY.hex()}"}))
    keys_file.chmod(0o600)
    options = {"columns": ["id"], "keys_file": str(keys_file)}
    local = path.with_name("local.parquet")
    shutil.copy(path, local)
    rows = built(path, **options)
    assert len(rows) == PARTS
    assert {row["bits"] for row in rows} == {None}
    (outcome,) = written(rows, **options)
    assert (outcome["status"], outcome["filters"]) == ("added", GROUPS)
    assert whole == [str(path)]
    keys = pb.read_keys(keys_file)
    pb.build(local, columns=["id"], in_place=True, keys=keys)
    with pb.open(path, keys) as file, pb.open(local, keys) as expected_file:
        for group in range(GROUPS):
            theirs = expected_file.bloom_filter(group, "id").bitset
            assert file.bloom_filter(group, "id").bitset == theirs
