"""repair with the values: what they prove or disprove, and what is built again."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.defects import DEFECTS
from make.defects_files import Defect
from make.filters import bits_of, bitset_at, filter_header, with_bitset, with_filter_bytes
from make.footers import footer_start, pointer, with_meta
from make.orc_defect_files import OrcDefect
from make.parquet_files import written
from make.repairs import (
    A_DROPPED,
    A_LENGTH,
    GROUPS,
    LIKE_A_FILTER,
    REPAIRS,
    ROWS,
    A,
    B,
    S,
    done,
    errors,
    overlapping,
    rules,
    stored_values,
    with_offset,
    with_place_of,
)

import parquet_bloom as pb
from parquet_bloom.verbs.repair import repair
from parquet_bloom.verbs.validate import validate

# ------------------------------------------------------------------------------------------------
# What the values decide


def missing_one(data: bytes, path: Path) -> bytes:
    """The filter of `a` in row group 1 has all values but one."""
    start, end = bitset_at(data, 1, A)
    values = stored_values(path, 1)
    return with_bitset(data, bits_of(values[1:], (end - start) // 32), 1, A)


def test_false_negatives_go_when_values_are_looked_up(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    path = write(sound)
    path.write_bytes(missing_one(sound, path))
    assert errors(path) == {"PB401"}
    assert done(repair(path, in_place=True)) == []
    report = repair(path, in_place=True, drop_bad=True)
    assert [(item.row_group, item.column, item.rule) for item in report.repaired] == [
        (1, "a", "PB401")
    ]
    assert "1 of 200 stored values is not in the filter" in report.repaired[0].reason
    assert errors(path) == set()


def shared(data: bytes, row_group: int) -> bytes:
    """Row group `row_group` points to the filter of the other one."""
    return with_place_of(data, (1 - row_group, A), row_group)


@pytest.mark.parametrize("row_group", range(GROUPS))
def test_a_shared_filter_stays_with_the_chunk_that_it_is_of(
    sound: bytes, write: Callable[[bytes], Path], row_group: int
) -> None:
    broken = shared(sound, row_group)
    path = write(broken)
    report = repair(path, in_place=True, drop_bad=True)
    assert done(report) == [(row_group, "a", "pointer dropped")]
    assert pointer(path.read_bytes(), 1 - row_group, A) == pointer(sound, 1 - row_group, A)
    assert errors(path) == set()


def test_a_shared_filter_that_is_right_for_both_stays_with_one(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    """With the one that explains more of the bits: here, but for a few, row group 1."""
    path = write(sound)
    values = [*stored_values(path, 1), *stored_values(path, 0)]
    start, end = bitset_at(sound, 0, A)
    both = with_bitset(shared(sound, 1), bits_of(values, (end - start) // 32))
    path.write_bytes(both)
    report = repair(path, in_place=True, drop_bad=True)
    assert [item.rule for item in report.repaired] == ["PB107"]
    kept = ({0, 1} - {report.repaired[0].row_group}).pop()
    assert pointer(path.read_bytes(), kept, A) == pointer(sound, 0, A)
    assert "PB107" not in errors(path)
    assert foreign_bits(values[:ROWS] if kept else values[ROWS:], both) == min(
        foreign_bits(part, both) for part in (values[:ROWS], values[ROWS:])
    )


def foreign_bits(values: list[int], data: bytes) -> int:
    start, end = bitset_at(data, 0, A)
    of_values = int.from_bytes(bits_of(values, (end - start) // 32))
    return (int.from_bytes(data[start:end]) & ~of_values).bit_count()


def test_the_filter_that_another_reaches_into_stays(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    path = write(overlapping(sound))
    repair(path, in_place=True)
    with pb.open(path) as file, pytest.raises(pb.FilterError, match="no filter"):
        file.bloom_filter(0, "a")
    assert pointer(path.read_bytes(), 0, S) == pointer(sound, 0, S)
    assert errors(path) == set()


def with_room(data: bytes, num_bytes: int) -> bytes:
    """The filter of `a` in row group 0 lies last and has room behind it, which the footer calls a
    part of it."""
    offset, length = pointer(data, 0, A)
    moved = with_filter_bytes(data, 0, A, data[offset : offset + length] + bytes(num_bytes))
    assert pointer(moved, 0, A)[1] == length + num_bytes
    return moved


def test_a_length_of_whole_blocks_may_be_right_and_the_header_wrong(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    """So the next command is one that looks them up, and keeps the filter."""
    path = write(with_room(sound, 64))
    report = repair(path, dry_run=True)
    assert done(report) == A_DROPPED
    assert "differ, and only the values can tell" in report.repaired[0].reason
    told = {each.next for each in validate(path).findings if each.rule == "PB113"}
    assert told == {f"pbloom repair {path} --rebuild --in-place"}
    assert done(repair(path, dry_run=True, rebuild=True)) == A_LENGTH
    assert done(repair(path, in_place=True, drop_bad=True)) == A_LENGTH
    assert errors(path) == set()


def test_a_length_of_no_whole_blocks_cannot_be_right(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    assert done(repair(write(with_room(sound, 33)), dry_run=True)) == A_LENGTH


def short_header(data: bytes) -> bytes:
    """The header says half of the size that the bits were made for, the footer all of it."""
    start, end = bitset_at(data, 0, A)
    return with_filter_bytes(data, 0, A, filter_header((end - start) // 2) + data[start:end])


@pytest.mark.parametrize(("options", "rule"), [({}, "PB113"), ({"drop_bad": True}, "PB401")])
def test_a_header_that_says_too_little_is_not_believed(
    sound: bytes, write: Callable[[bytes], Path], options: dict[str, bool], rule: str
) -> None:
    path = write(short_header(sound))
    report = repair(path, in_place=True, **options)
    assert (done(report), rules(report)) == (A_DROPPED, {rule})
    assert errors(path) == set()


def damaged(data: bytes) -> bytes:
    """The first page of `a` in row group 0 has no header."""
    start = pq.read_metadata(pa.BufferReader(data)).row_group(0).column(A).data_page_offset
    return data[:start] + b"\xff" * 8 + data[start + 8 :]


def test_values_that_cannot_be_read_prove_nothing(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    path = write(damaged(sound))
    report = repair(path, dry_run=True, drop_bad=True)
    assert (done(report), [(item.rule, item.column) for item in report.left]) == (
        [],
        [("PB116", "a")],
    )
    assert report.left[0].reason.endswith(
        "; the filter stays, right or wrong: take another copy of the file"
    )
    doubtful = repair(write(damaged(with_room(sound, 64))), dry_run=True, drop_bad=True)
    # Without a filter, nothing else says that its data are damaged.
    (left,) = doubtful.left
    assert (done(doubtful), left.rule) == (A_DROPPED, "PB116")
    assert left.reason.endswith("; take another copy of the file")


def test_two_booleans_are_not_looked_up(bare: bytes, write: Callable[[bytes], Path]) -> None:
    """Nobody knows which bytes of them are hashed."""
    path = write(with_filter_bytes(bare, 0, B, LIKE_A_FILTER))
    report = repair(path, dry_run=True, rebuild=True)
    assert (done(report), report.left) == ([], ())


def test_a_filter_without_bits_stays_where_there_are_no_values(tmp_path: Path) -> None:
    data = written(pa.table({"a": pa.array([None] * 8, pa.int64())}))
    path = tmp_path / "source.parquet"
    path.write_bytes(with_filter_bytes(data, 0, A, filter_header(64) + bytes(64)))
    assert done(repair(path, dry_run=True, drop_bad=True)) == []


def test_a_bit_that_is_far_from_the_first_counts(
    bare: bytes, write: Callable[[bytes], Path]
) -> None:
    bits = bytes((1 << 20) - 1)
    path = write(with_filter_bytes(bare, 0, A, filter_header(1 << 20) + bits + b"\x80"))
    assert done(repair(path, dry_run=True)) == []
    path = write(with_filter_bytes(bare, 0, A, filter_header(1 << 20) + bits + b"\x00"))
    assert rules(repair(path, dry_run=True)) == {"PB402"}


# ------------------------------------------------------------------------------------------------
# Built again


@pytest.mark.parametrize(
    ("rule", "make"),
    [each[:2] for each in REPAIRS if each[2] == A_DROPPED],
    ids=[each[0] for each in REPAIRS if each[2] == A_DROPPED],
)
def test_what_was_dropped_is_built_again(
    sound: bytes, write: Callable[[bytes], Path], rule: str, make: Callable[[bytes], bytes]
) -> None:
    broken = make(sound)
    if pointer(broken, 0, A)[0] == 0:
        return
    path = write(broken)
    report = repair(path, in_place=True, rebuild=True)
    repaired = path.read_bytes()
    assert (done(report), rules(report)) == ([(0, "a", "rebuilt")], {rule})
    assert repaired[: footer_start(broken)] == broken[: footer_start(broken)]
    assert pointer(repaired, 0, A)[0] == footer_start(broken)
    assert errors(path) == set()
    (start, end), (old, old_end) = bitset_at(repaired, 0, A), bitset_at(sound, 0, A)
    assert repaired[start:end] == sound[old:old_end]


def test_an_offset_of_zero_never_led_to_a_filter(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    """Writers that meant none have left it (PARQUET-1979); nobody asked for a filter there."""
    path = write(with_offset(sound, 0))
    assert done(repair(path, dry_run=True, rebuild=True)) == A_DROPPED


def test_false_negatives_are_built_again(sound: bytes, write: Callable[[bytes], Path]) -> None:
    path = write(sound)
    path.write_bytes(missing_one(sound, path))
    report = repair(path, in_place=True, rebuild=True, fpp=1e-5)
    assert done(report) == [(1, "a", "rebuilt")]
    assert errors(path) == set()
    with pb.open(path) as file:
        found = file.bloom_filter(1, "a")
        assert found.check_many(np.array(stored_values(path, 1))).all()
        assert found.bits.fpp <= 1e-5


def test_what_cannot_be_built_again_is_dropped_and_said(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    broken = damaged(with_offset(sound, 1 << 40))
    broken = with_filter_bytes(broken, 1, B, filter_header(64) + bytes(64))
    broken = with_meta(broken, 1, S, bloom_filter_offset=1)
    report = repair(write(broken), dry_run=True, rebuild=True, fpp=1e-6, max_bytes=64)
    assert done(report) == [
        (0, "a", "pointer dropped"), (1, "s", "pointer dropped"), (1, "b", "pointer dropped"),
    ]  # fmt: skip
    reasons = [item.reason.partition("; not rebuilt: ")[2] for item in report.repaired]
    assert reasons[0].startswith("page header at 4: ")
    assert reasons[1].startswith("FPP ")
    assert "misses the target of 0.0001 %" in reasons[1]
    assert reasons[2] == "BOOLEAN: two values need no filter"
    # Without a filter, nothing else says that its data are damaged.
    (left,) = report.left
    assert (left.rule, left.row_group, left.column) == ("PB116", 0, "a")
    assert left.reason.endswith("; take another copy of the file")
    assert report.state == "still wrong"


def test_no_filter_is_offered_where_pages_are_damaged(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    path = write(damaged(with_offset(sound, 1 << 40)))
    ran = outcome("repair", path, "--rebuild", "--in-place")
    assert (ran.code, "1 filter dropped, 1 still wrong" in ran.stdout) == (1, True)
    assert "pbloom build" not in ran.stdout
    # Whom `validate` sends to build a filter for the rest is told.
    (found,) = (each for each in validate(path).findings if each.rule == "PB307")
    ran = outcome(*found.next.split()[1:])
    assert ran.code == 2
    assert ran.complaint.startswith(f"{path}: row group 0, column a: page header at 4: ")


def test_a_filter_that_is_right_and_loses_rows_is_left_or_built_again(zero: Path) -> None:
    assert repair(zero, dry_run=True).left == ()
    report = repair(zero, in_place=True, drop_bad=True)
    assert done(report) == []
    assert [(item.rule, item.row_group, item.column) for item in report.left] == [("PB403", 0, "a")]
    assert report.left[0].reason.endswith("; --rebuild repairs it")
    report = repair(zero, dry_run=True, rebuild=True, fpp=1e-9, max_bytes=64)
    assert done(report) == []
    assert "; not rebuilt: FPP " in report.left[0].reason
    report = repair(zero, in_place=True, rebuild=True)
    assert (done(report), report.left) == ([(0, "a", "rebuilt")], ())
    assert {finding.rule for finding in validate(zero).findings} <= {"PB306", "PB309"}


@pytest.mark.parametrize(
    "defect", [*DEFECTS["PB301"], *DEFECTS["PB303"]], ids=lambda each: each.name
)
def test_a_filter_that_excludes_nothing_is_no_error_and_is_told(
    tmp_path: Path, defect: Defect | OrcDefect
) -> None:
    if isinstance(defect, Defect):
        path = defect.make(tmp_path)
    else:
        path = tmp_path / "x.orc"
        path.write_bytes(defect.make())
    found = Counter(each.rule for each in validate(path).findings)
    report = repair(path, dry_run=True, rebuild=True)
    if found["PB401"]:
        assert (len(report.repaired), report.notes) == (1, ())
        return
    told = {
        1: "1 filter that excludes next to nothing stays",
        2: "2 filters that exclude next to nothing stay",
    }[found["PB301"] + found["PB303"]]
    assert (report.repaired, report.left) == ((), ())
    said = {1: "1 excludes next to nothing", 2: "2 exclude next to nothing"}[report.useless]
    ran = outcome("repair", path, "--dry-run", "--rebuild").stdout
    assert f": 0 filters repaired, 0 still wrong, {said}, 0 B added, " in ran
    assert report.notes == (
        f"{told}, as no value is missing: pbloom build --existing replace builds others (PB301, PB303)",
    )
    report = repair(path, dry_run=True)
    assert (report.useless, report.notes) == (0, ())
