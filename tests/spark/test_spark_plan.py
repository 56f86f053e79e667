"""How a run is cut into tasks: every file in one sheet, huge ones in parts, whatever executors there
are; and how the data source packs files into the tasks that it is given."""

import time
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from parquet_bloom.spark import plan
from parquet_bloom.spark.packing import FILE_COST, pack
from parquet_bloom.spark.plan import (
    BOUNDS,
    Bounds,
    LakeFile,
    Plan,
    Sheets,
    SheetWriter,
    planned,
)
from parquet_bloom.spark.run import LakeRun

RUN = LakeRun("/audit", "run", "build", "asked", datetime(2026, 11, 20, tzinfo=UTC))

# Small ones, so that few files are many sheets.
SMALL = Bounds(
    files=16, bytes=4000, first_files=2, first_bytes=500, before_double=2, huge=1000, part=300
)


class Kept:
    """An account that is not written anywhere."""

    def __init__(self):
        self.kept = {}

    def put(self, name, data):
        assert name not in self.kept
        self.kept[name] = data
        return True

    def get(self, name):
        return self.kept.get(name)


def files_of(*sizes):
    return [
        LakeFile(f"/lake/{place}.parquet", size, f"{size}:1") for place, size in enumerate(sizes)
    ]


def cut(files, bounds=SMALL):
    """The sheets, each with its files, and the parts of huge ones."""
    account = Kept()
    writer = SheetWriter(account, "0", bounds)
    for file in files:
        writer.add(file)
    plan = Plan((writer.close(),))
    sheets = [list(planned(account, plan.sheet(number))) for number in range(plan.num_sheets)]
    parts = [list(planned(account, plan.part(number))) for number in range(plan.num_parts)]
    assert len(account.kept) == len(sheets) + len(parts)
    return plan, sheets, parts


def bytes_of(sheet):
    return sum(each.file.size or 0 for each in sheet)


SIZES = st.lists(st.one_of(st.integers(0, 20), st.integers(0, 2000), st.none()), max_size=60)

# A sheet is a Parquet file: hundreds are written for each example.
some = settings(max_examples=20)


@some
@given(SIZES)
def test_every_file_is_in_exactly_one_sheet_in_the_order_it_came(sizes):
    files = files_of(*sizes)
    plan, sheets, _ = cut(files)
    assert [each.file for sheet in sheets for each in sheet] == files
    assert plan.num_files == len(files)
    assert all(sheets)
    assert plan.bytes_of_sheets == [bytes_of(sheet) for sheet in sheets]


@some
@given(SIZES)
def test_no_sheet_has_more_than_its_bounds(sizes):
    _, sheets, _ = cut(files_of(*sizes))
    for number, sheet in enumerate(sheets):
        doubled = 2 ** (number // SMALL.before_double)
        assert len(sheet) <= min(SMALL.files, SMALL.first_files * doubled)
        assert len(sheet) == 1 or bytes_of(sheet) <= min(SMALL.bytes, SMALL.first_bytes * doubled)


@some
@given(SIZES)
def test_huge_files_are_alone_and_in_parts_as_well(sizes):
    _, sheets, parts = cut(files_of(*sizes))
    huge = [each for sheet in sheets for each in sheet if (each.file.size or 0) >= SMALL.huge]
    assert all(len(sheet) == 1 for sheet in sheets if sheet[0] in huge)
    assert all(each.parts == 1 for sheet in sheets for each in sheet if each not in huge)
    for each in huge:
        assert each.file.size / each.parts <= SMALL.part < each.file.size / (each.parts - 1)
    expected = [(each.file, part, each.parts) for each in huge for part in range(each.parts)]
    assert [(each.file, each.part, each.parts) for (each,) in parts] == expected


@some
@given(SIZES)
def test_the_same_files_give_the_same_sheets(sizes):
    assert cut(files_of(*sizes)) == cut(iter(files_of(*sizes)))


def test_few_files_keep_several_executors_busy_and_of_many_files_many_are_in_a_task():
    """As a lake grows, so do its sheets."""
    _, sheets, _ = cut(files_of(*[1000] * 400), BOUNDS)
    assert [len(sheet) for sheet in sheets] == [64] * 6 + [16]
    _, sheets, _ = cut(files_of(*[1000] * 20_000), BOUNDS)
    lengths = [len(sheet) for sheet in sheets]
    assert all(after >= before for before, after in pairwise(lengths[:-1]))
    assert (lengths[0], max(lengths)) == (64, 2000)
    assert len(sheets) < 50


def test_sheets_grow_by_bytes_too():
    _, sheets, _ = cut(files_of(*[256 << 20] * 200), BOUNDS)
    assert [len(sheet) for sheet in sheets[:17]] == [2] * 8 + [4] * 8 + [8]


@pytest.mark.parametrize(("size", "parts"), [(BOUNDS.huge - 1, 0), (BOUNDS.huge, 4)])
def test_the_least_huge_file(size, parts):
    plan, _, _ = cut(files_of(size), BOUNDS)
    assert (plan.num_sheets, plan.num_parts) == (1, parts)


def test_files_that_are_known_are_many_to_a_sheet(monkeypatch):
    monkeypatch.setattr(plan, "KNOWN_AT_ONCE", 50)
    account = Kept()
    writer = SheetWriter(account, "0", SMALL)
    files = files_of(*[5000] * 51)
    for file in files:
        writer.add_known(file, "unchanged", "as it was")
    whole = Plan((writer.close(),))
    assert (whole.num_sheets, whole.num_parts, whole.bytes_of_sheets) == (2, 0, [0, 0])
    found = [each for number in range(2) for each in planned(account, whole.sheet(number))]
    assert [each.file for each in found] == files
    assert {(each.status, each.message, each.parts) for each in found} == {
        ("unchanged", "as it was", 1)
    }


def test_known_files_do_not_fill_a_sheet():
    account = Kept()
    writer = SheetWriter(account, "0", SMALL)
    for file in files_of(*[10] * 100):
        writer.add_known(file, "unchanged", "as it was")
    writer.add(LakeFile("/lake/a", 10))
    writer.add(LakeFile("/lake/b", 10))
    assert len(writer.close().bytes) == 1


def test_the_sheets_of_several_listings_are_counted_through():
    plan = Plan((Sheets("a", (5, 6), 7, 1),), (("x", "gone"),)) + Plan((Sheets("b", (8,), 1, 2),))
    assert [plan.sheet(number) for number in range(3)] == [
        "sheet-a-000000", "sheet-a-000001", "sheet-b-000000",
    ]  # fmt: skip
    assert [plan.part(number) for number in range(3)] == [
        "part-a-000000", "part-b-000000", "part-b-000001",
    ]  # fmt: skip
    assert (plan.num_sheets, plan.num_parts, plan.num_files) == (3, 3, 8)
    assert (plan.bytes_of_sheets, plan.missing) == ([5, 6, 8], (("x", "gone"),))
    for beyond in (plan.sheet, plan.part):
        with pytest.raises(IndexError):
            beyond(3)
    assert Plan.of(plan.as_fields()) == plan


def test_a_sheet_that_somebody_has_removed():
    with pytest.raises(FileNotFoundError, match="sheet-0-000000: the plan of the run is gone"):
        list(planned(Kept(), "sheet-0-000000"))


# ------------------------------------------------------------------------------------------------
# The tasks of the data source


def loads(sizes, tasks):
    """What each task has to do, in bytes."""
    return [sum(sizes[place] + FILE_COST for place in task) for task in tasks]


PACKED = st.lists(st.one_of(st.integers(0, 1 << 20), st.integers(0, 1 << 40)), min_size=1)


@given(PACKED, st.integers(1, 200))
def test_every_file_is_packed_once_and_no_task_is_empty(sizes, num_tasks):
    tasks = pack(sizes, num_tasks)
    assert sorted(place for task in tasks for place in task) == list(range(len(sizes)))
    assert len(tasks) == min(num_tasks, len(sizes))
    assert all(tasks)


@given(PACKED, st.integers(1, 200))
def test_no_task_has_more_to_do_than_another_but_for_one_file(sizes, num_tasks):
    done = loads(sizes, pack(sizes, num_tasks))
    assert max(done) - min(done) <= max(sizes) + FILE_COST


@given(PACKED, st.integers(1, 200))
def test_the_same_files_are_packed_in_the_same_way(sizes, num_tasks):
    assert pack(sizes, num_tasks) == pack(tuple(sizes), num_tasks)


def test_a_big_lake_is_packed_at_once():
    sizes = [(place * 7919) % 100_003 << 10 for place in range(50_000)]
    started = time.process_time()
    tasks = pack(sizes, 500)
    assert time.process_time() - started < 3
    done = loads(sizes, tasks)
    assert max(done) < 1.05 * min(done)
