"""How files are packed into tasks: every file once, parts complete, loads even."""

import time
from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parquet_bloom.spark.listing import LakeFile
from parquet_bloom.spark.packing import (
    FILE_COST,
    LEAST_HUGE,
    WAVES,
    FilePart,
    huge_files,
    is_worth_parts,
    pack,
)

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def files_of(*sizes):
    return [LakeFile(f"/lake/{place}.parquet", size, LONG_AGO) for place, size in enumerate(sizes)]


def packed(files, slots, least_huge):
    """With all huge files in parts; none for None."""
    huge = [] if least_huge is None else huge_files(files, slots, least_huge)
    return pack(files, slots, {file.path for file in huge})


def cost(piece):
    return piece.file.size / piece.parts + FILE_COST


def loads(pieces, tasks):
    """What each task has to do, in bytes."""
    done = [0.0] * tasks
    for piece in pieces:
        done[piece.task] += cost(piece)
    return done


SIZES = st.lists(st.one_of(st.integers(0, 1 << 20), st.integers(0, 1 << 40)), min_size=1)
LIMITS = st.sampled_from([None, 1, LEAST_HUGE])


@given(SIZES, st.integers(1, 200), LIMITS)
def test_every_part_of_every_file_is_in_one_task(sizes, slots, least_huge):
    files = files_of(*sizes)
    pieces, tasks = packed(files, slots, least_huge)
    parts = {piece.file.path: piece.parts for piece in pieces}
    expected = Counter((file, part) for file in files for part in range(parts[file.path]))
    assert Counter((piece.file, piece.part) for piece in pieces) == expected
    assert {piece.task for piece in pieces} == set(range(tasks))
    assert 1 <= tasks <= min(len(pieces), WAVES * slots)


@given(SIZES, st.integers(1, 200), LIMITS)
def test_no_task_has_more_to_do_than_another_but_for_one_piece(sizes, slots, least_huge):
    pieces, tasks = packed(files_of(*sizes), slots, least_huge)
    done = loads(pieces, tasks)
    assert max(done) - min(done) <= max(map(cost, pieces)) + 1


@given(SIZES, st.integers(1, 200), LIMITS)
def test_only_huge_files_are_in_parts(sizes, slots, least_huge):
    pieces, _ = packed(files_of(*sizes), slots, least_huge)
    share = sum(size + FILE_COST for size in sizes) / (WAVES * slots)
    for piece in pieces:
        is_huge = (
            least_huge is not None and piece.file.size >= least_huge and piece.file.size > 2 * share
        )
        assert (piece.parts > 1) == is_huge
        assert not is_huge or piece.file.size / piece.parts <= share or piece.parts == WAVES * slots


@given(SIZES, st.integers(1, 200), LIMITS)
def test_the_same_files_are_packed_in_the_same_way(sizes, slots, least_huge):
    files = files_of(*sizes)
    assert packed(files, slots, least_huge) == packed(list(files), slots, least_huge)


def test_small_files_are_many_to_a_task():
    pieces, tasks = packed(files_of(*[1000] * 100), 2, LEAST_HUGE)
    assert tasks == 2 * WAVES
    assert sorted(Counter(piece.task for piece in pieces).values()) == [16, 16, 17, 17, 17, 17]


def test_a_huge_file_is_in_parts_and_the_others_whole():
    *small, huge = files = files_of(*[1 << 20] * 10, 10 << 30)
    pieces, tasks = packed(files, 2, LEAST_HUGE)
    assert tasks == 6
    assert sorted(piece.part for piece in pieces if piece.file == huge) == list(range(6))
    assert {piece.parts for piece in pieces if piece.file in small} == {1}


@pytest.mark.parametrize("size", [LEAST_HUGE - 1, LEAST_HUGE])
def test_the_least_huge_file(size):
    pieces, tasks = packed(files_of(size), 2, LEAST_HUGE)
    assert (tasks, len(pieces)) == ((1, 1) if size < LEAST_HUGE else (6, 6))


def test_parts_are_worth_it_where_many_read_much():
    """One task copies; what is to be read must be more than that, and others must share it."""
    assert not any(is_worth_parts(share, 2) for share in (0, 0.5, 1))
    assert [is_worth_parts(share, 8) for share in (0.3, 0.45, 0.5, 1)] == [False, False, True, True]
    assert not is_worth_parts(0.39, 1000)
    assert is_worth_parts(0.41, 1000)


def test_one_small_file():
    (file,) = files = files_of(0)
    assert packed(files, 100, LEAST_HUGE) == ([FilePart(file, 0, 1, 0)], 1)


def test_a_big_lake_is_packed_at_once():
    files = files_of(*((place * 7919) % 100_003 << 10 for place in range(50_000)))
    started = time.process_time()
    pieces, tasks = packed(files, 500, LEAST_HUGE)
    assert time.process_time() - started < 3
    assert len(pieces) == 50_000
    done = loads(pieces, tasks)
    assert max(done) < 1.05 * min(done)
