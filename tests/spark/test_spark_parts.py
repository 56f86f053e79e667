"""A huge file in parts, step by step and without Spark: the filters that one step leaves in the run's
folder are taken up by the next, whole or with something wrong with them."""

import json
import os
import shutil
from datetime import UTC, datetime

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
from parquet_bloom.spark.plan import Bounds, LakeFile, Plan, SheetWriter, planned
from parquet_bloom.spark.request import Tasks
from parquet_bloom.spark.rows import packed, unpacked
from parquet_bloom.spark.run import Account, LakeRun
from parquet_bloom.spark.schemas import BUILT
from parquet_bloom.spark.versions import arrow_schema
from parquet_bloom.spark.worker import alone, attempt

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


@pytest.fixture
def account(tmp_path_factory):
    audit = tmp_path_factory.mktemp("audit")
    return Account(LakeRun(str(audit), "run", "build", "asked", datetime(2026, 11, 20, tzinfo=UTC)))


@pytest.fixture
def build(account):
    """The first step: leaves the bits of these parts (default: of all)."""

    def build(path, which=None, number=PARTS, columns=COLUMNS, least_share=0.0, **options):
        size = path.stat().st_size
        sheets = SheetWriter(account, "0", Bounds(huge=1, part=-(-size // number)))
        sheets.add(LakeFile(str(path), size, None))
        plan = Plan((sheets.close(),))
        assert plan.num_parts == number
        tasks = Tasks(account.run, plan, build_request(columns, **options), least_share)
        batch = pa.record_batch({"id": range(number) if which is None else which})
        assert list(parts.build_parts(tasks, [batch])) == []

    return build


@pytest.fixture
def write_all(account):
    """The second step: the outcome."""

    def write_all(path, columns=COLUMNS, **options):
        (whole,) = planned(account, "sheet-0-000000")
        request = build_request(columns, **options)
        return attempt(whole.file, lambda: parts.written_in_parts(account, whole, request, alone))

    return write_all


@pytest.fixture
def built(build, write_all):
    """Both."""

    def built(path, least_share=0.0, **options):
        build(path, least_share=least_share, **options)
        return write_all(path, **options)

    return built


def bits_in(account):
    return [name for name in account.names() if name.startswith("bits-")]


def rows_in(account):
    """Rows of BUILT, of all parts."""
    return [row for name in bits_in(account) for row in unpacked(account.get(name))]


@pytest.fixture
def whole(monkeypatch):
    """Files that were built as a whole."""
    done, build = [], parts.build_outcome

    def build_outcome(file, request, has_others, filters=None):
        if filters is None:
            done.append(file.path)
        return build(file, request, has_others, filters)

    monkeypatch.setattr(parts, "build_outcome", build_outcome)
    return done


def expected(path, **options):
    """The bytes of a local build."""
    output = path.with_suffix(".expected")
    pb.build(path, output, columns=COLUMNS, overwrite=True, **options)
    return output.read_bytes()


def test_what_the_parts_leave(path, account, build):
    """A file of bits for each part, named by the path, the part and the version that it has seen."""
    build(path)
    names = bits_in(account)
    assert [name.rpartition("-")[2] for name in names] == [f"{part:06}" for part in range(PARTS)]
    assert len({name.rpartition("-")[0] for name in names}) == 1
    rows = rows_in(account)
    assert [(row["row_group"], row["column"]) for row in rows] == [
        (group, column) for group in range(GROUPS) for column in range(2)
    ]
    local = path.with_suffix(".local")
    pb.build(path, local, columns=COLUMNS)
    with pb.open(local) as file:
        for row in rows:
            column = COLUMNS[row["column"]]
            assert row["bits"] == file.bloom_filter(row["row_group"], column).bitset
    build(write(path, 5000))
    assert len(bits_in(account)) == 2 * PARTS


def test_a_copy_has_bits_of_its_own(path):
    with open_file(path) as file:
        seen = file.fingerprint
    assert parts._bits_of(str(path), 0, seen) != parts._bits_of(f"{path}2", 0, seen)


def test_the_same_bytes_as_of_a_local_build(path, whole, built):
    wanted = expected(path)
    outcome = built(path)
    assert path.read_bytes() == wanted
    assert (outcome.path, outcome.status, outcome.filters) == (str(path), "added", 2 * GROUPS)
    assert outcome.bytes == path.stat().st_size - outcome.size_before > 0
    assert whole == []
    assert sorted(os.listdir(path.parent)) == ["huge.expected", "huge.parquet"]


def test_more_parts_than_row_groups(path, whole, build, write_all):
    wanted = expected(path)
    build(path, number=50)
    assert (write_all(path).status, path.read_bytes(), whole) == ("added", wanted, [])


@pytest.mark.parametrize(
    "options",
    [{"fpp": 0.3}, {"ndv": 10_000}, {"max_bytes": 64, "force": True}, {"exact_blocks": True}],
    ids=str,
)
def test_options_count_in_both_steps(path, whole, built, options):
    wanted = expected(path, **options)
    outcome = built(path, **options)
    assert (outcome.status, path.read_bytes(), whole) == ("added", wanted, [])


def test_filters_that_miss_the_target_are_left_out(path, whole, built):
    """As a local build does."""
    wanted = expected(path, max_bytes=64)
    outcome = built(path, max_bytes=64)
    assert (outcome.filters, outcome.status, whole) == (0, "skipped", [])
    assert "FPP" in outcome.message
    assert path.read_bytes() == path.with_suffix(".expected").read_bytes() == wanted


def test_filters_are_replaced(path, whole, built):
    pb.build(path, columns=["id", "name"], ndv=10_000, in_place=True)
    wanted = expected(path, existing="replace")
    outcome = built(path, existing="replace")
    assert (outcome.status, path.read_bytes(), whole) == ("added", wanted, [])


# ------------------------------------------------------------------------------------------------
# Attempts that come late, and files that change


def snapshot(path):
    status = path.stat()
    return status.st_ino, status.st_mtime_ns, path.read_bytes()


def test_twice_is_once(path, whole, built, write_all):
    """A second attempt, after the first has written the file but left no account."""
    built(path)
    before = snapshot(path)
    outcome = write_all(path)
    assert (outcome.status, outcome.filters, outcome.bytes) == ("unchanged", 0, 0)
    assert snapshot(path) == before
    assert whole == [str(path)]


def test_all_parts_see_the_filters_of_an_earlier_attempt(path, whole, account, built, build):
    built(path)
    before, names = snapshot(path), bits_in(account)
    outcome = built(path)
    assert (outcome.status, snapshot(path)) == ("unchanged", before)
    late = set(bits_in(account)) - {*names}
    assert [row for name in late for row in unpacked(account.get(name))] == []


def test_another_file_in_its_place(path, whole, build, write_all):
    build(path)
    write(path, 5000)
    wanted = expected(path)
    outcome = write_all(path)
    assert (outcome.status, path.read_bytes()) == ("added", wanted)
    assert whole == [str(path)]


def test_another_file_in_the_middle_of_the_building(path, whole, build, write_all):
    build(path, [0, 1])
    write(path, 5000)
    build(path, [2, 3])
    wanted = expected(path)
    outcome = write_all(path)
    assert (outcome.status, path.read_bytes()) == ("added", wanted)
    assert whole == [str(path)]


def test_another_file_while_it_is_written(path, whole, build, write_all, monkeypatch):
    """After the last look at what the parts have seen: of other row groups."""
    build(path)
    build_outcome = parts.build_outcome

    def late(*arguments):
        if len(arguments) == 4:
            table = pa.table({"id": range(5000, 5700), "name": [f"n{n}" for n in range(700)]})
            pq.write_table(table, path, row_group_size=100, use_dictionary=False)
        return build_outcome(*arguments)

    monkeypatch.setattr(parts, "build_outcome", late)
    assert write_all(path).status == "added"
    with pb.open(path) as file:
        assert file.bloom_filter(6, "id").check(5650)
        assert file.bloom_filter(0, "id").check(5000)
    assert pb.validate(path).ok
    assert whole == [str(path)]


def test_a_file_that_is_gone(path, whole, build, write_all):
    build(path)
    path.unlink()
    outcome = write_all(path)
    assert outcome.status == "error"
    assert outcome.message == f"{path}: No such file or directory"


# ------------------------------------------------------------------------------------------------
# Filters that are not those of the file


def lost(rows):
    return rows[:-1]


def lost_in_the_middle(rows):
    return [*rows[:1], *rows[2:]]


def doubled(rows):
    return [rows[0], *rows]


def one_too_many(rows):
    return [*rows, rows[-1]]


def none(rows):
    return []


def swapped(rows):
    return [*rows[:-2], rows[-1], rows[-2]]


@pytest.mark.parametrize("part", [0, PARTS - 1])
@pytest.mark.parametrize("harmed", [lost, lost_in_the_middle, doubled, one_too_many, swapped, none])
def test_filters_that_are_not_those_of_the_file(
    path, whole, account, build, write_all, harmed, part
):
    """Nothing is written with them, and the file is built as a whole."""
    wanted = expected(path)
    build(path)
    name = bits_in(account)[part]
    rows = harmed(unpacked(account.get(name)))
    os.unlink(f"{account.run.audit}/_runs/run/{name}")
    account.put(name, packed(rows, arrow_schema(BUILT)))
    outcome = write_all(path)
    assert (outcome.status, outcome.filters) == ("added", 2 * GROUPS)
    assert path.read_bytes() == wanted
    assert whole == [str(path)]
    assert sorted(os.listdir(path.parent)) == ["huge.expected", "huge.parquet"]


@pytest.mark.parametrize("which", [[], [0, 1, 2], [1, 2, 3]], ids=str)
def test_without_the_filters_of_a_part_it_is_built_as_a_whole(path, whole, build, write_all, which):
    wanted = expected(path)
    build(path, which)
    outcome = write_all(path)
    assert (outcome.status, path.read_bytes()) == ("added", wanted)
    assert whole == [str(path)]


# ------------------------------------------------------------------------------------------------
# Files that are not built in parts


def test_little_to_read(path, whole, account, built):
    """Less than the share of the file that others must read meanwhile."""
    wanted = expected(path)
    outcome = built(path, least_share=1.0)
    assert (bits_in(account), outcome.status, path.read_bytes()) == ([], "added", wanted)
    assert whole == [str(path)]


def test_a_dry_run(path, whole, account, built):
    before = snapshot(path)
    outcome = built(path, dry_run=True)
    assert (outcome.status, outcome.message) == ("added", "dry run")
    assert (bits_in(account), snapshot(path)) == ([], before)


def test_damage_is_found_by_whoever_writes(path, whole, account, built):
    data = bytearray(path.read_bytes())
    with open_file(path) as file:
        start = file.chunk(3, "id").data_page_offset
    data[start : start + 20] = b"\xff" * 20
    path.write_bytes(data)
    outcome = built(path)
    assert len(bits_in(account)) == PARTS - 1
    assert outcome.status == "error"
    assert outcome.message.startswith(f"{path}: row group 3, column id: ")
    assert path.read_bytes() == data


def test_checksums_that_are_ignored(path, whole, built):
    pages = [data_page(int64s(n), 1, crc=n) for n in range(1, 5)]
    column = Column(pages, 4, type=Type.INT64, name="id")
    path.write_bytes(forge(column))
    outcome = built(path, columns=["id"])
    assert outcome.status == "error"
    assert outcome.message.endswith(
        "; take another copy, or read it anyway with --ignore-checksums of build, validate or repair"
    )
    whole.clear()
    outcome = built(path, columns=["id"], ignore_checksums=True)
    assert (outcome.status, outcome.filters, whole) == ("added", 1, [])


def test_a_column_that_is_not_there(path, whole, built):
    before = snapshot(path)
    outcome = built(path, columns=["ident"])
    assert outcome.status == "refused"
    assert "no column ident; " in outcome.message
    assert snapshot(path) == before


def test_a_file_of_a_table(path, whole, built):
    (path.parent / "_delta_log").mkdir()
    before = snapshot(path)
    outcome = built(path)
    assert outcome.status == "refused"
    assert "belongs to the Delta Lake table" in outcome.message
    assert snapshot(path) == before


def test_only_missing(path, whole, account, built):
    pb.build(path, columns=["id", "name"], in_place=True)
    before = snapshot(path)
    outcome = built(path, only_missing=True, existing="replace")
    assert (outcome.status, outcome.message) == ("unchanged", "each column has filters")
    assert (bits_in(account), snapshot(path)) == ([], before)


@pytest.mark.parametrize("footer", ["encrypted footer", "plaintext footer"])
def test_no_bits_of_encrypted_files_leave_the_process(path, whole, account, built, footer):
    """The file is built as a whole, with the keys that the executors read."""
    recipe = Recipe(columns={"id": None}, plaintext_footer=footer == "plaintext footer")
    path.write_bytes(encrypt(path.read_bytes(), recipe).data)
    keys_file = path.with_name("keys.json")
    keys_file.write_text(json.dumps({"footer": f"hex:{FOOTER_KEY.hex()}"}))
    keys_file.chmod(0o600)
    local = path.with_name("local.parquet")
    shutil.copy(path, local)
    outcome = built(path, columns=["id"], keys_file=str(keys_file))
    assert bits_in(account) == []
    assert (outcome.status, outcome.filters) == ("added", GROUPS)
    assert whole == [str(path)]
    keys = pb.read_keys(keys_file)
    pb.build(local, columns=["id"], in_place=True, keys=keys)
    with pb.open(path, keys) as file, pb.open(local, keys) as expected_file:
        for group in range(GROUPS):
            theirs = expected_file.bloom_filter(group, "id").bitset
            assert file.bloom_filter(group, "id").bitset == theirs
