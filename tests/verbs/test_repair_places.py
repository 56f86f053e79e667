"""repair where filters lie in one another, or are not all to be repaired; and files of many filters."""

import time
from array import array
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from make.commands import outcome
from make.filters import bits_of, bitset_at, filter_header, with_bitset, with_filter_bytes
from make.footers import pointer, with_meta
from make.parquet_files import written
from make.repairs import (
    A_DROPPED,
    UNKNOWN_HASH,
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
from oracle.specification import STRUCT, list_of, struct_of

from parquet_bloom.parquet.edit.kept import check_end
from parquet_bloom.parquet.footer.chunk_table import ChunkTable
from parquet_bloom.parquet.footer.layout import Layout
from parquet_bloom.verbs.repair import repair
from parquet_bloom.verbs.validate import validate

# ------------------------------------------------------------------------------------------------
# A header inside a filter


def with_filter_inside(data: bytes, stored: bytes) -> bytes:
    """The filter of `b` in row group 0 is written into the bits of `a`."""
    start, end = bitset_at(data, 0, A)
    bits = data[start : start + 64] + stored
    bits += data[start + len(bits) : end]
    at = {"bloom_filter_offset": start + 64, "bloom_filter_length": len(stored)}
    return with_meta(with_bitset(data, bits), 0, B, **at)


@pytest.mark.parametrize("stored", [filter_header(64, hash=UNKNOWN_HASH), filter_header(33)])
def test_bits_that_an_unusable_filter_has_overwritten_are_not_kept(
    sound: bytes, write: Callable[[bytes], Path], stored: bytes
) -> None:
    """The other pointer goes because of what its header says, and the header stays where it is."""
    path = write(with_filter_inside(sound, stored + bytes(64)))
    assert "PB401" in errors(path)
    report = repair(path, in_place=True)
    assert done(report) == [*A_DROPPED, (0, "b", "pointer dropped")]
    assert (report.repaired[0].rule, report.left) == ("PB106", ())
    assert errors(path) == set()


def test_what_only_looks_like_a_header_need_not_have_overwritten_bits(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    """Three bytes are enough for a header that says nothing but numBytes; here no bit is lost."""
    looks = b"\x15\x40\x00"
    bits = bits_of(stored_values(write(sound), 0), 256)
    at = bits.index(bytes(len(looks)))
    stored = filter_header(len(bits)) + bits[:at] + looks + bits[at + len(looks) :]
    broken = with_filter_bytes(sound, 0, A, stored)
    start, _ = bitset_at(broken, 0, A)
    place = pointer(broken, 0, A)
    broken = with_meta(broken, 0, B, bloom_filter_offset=start + at, bloom_filter_length=80)
    path = write(broken)
    assert done(repair(path, dry_run=True)) == [*A_DROPPED, (0, "b", "pointer dropped")]
    report = repair(path, in_place=True, drop_bad=True)
    assert [(item.column, item.rule) for item in report.repaired] == [("b", "PB108")]
    assert pointer(path.read_bytes(), 0, A) == place
    assert errors(path) == set()


# ------------------------------------------------------------------------------------------------
# Filters that were not to be repaired


def test_a_right_filter_inside_one_that_stays_is_left_or_built_elsewhere(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    path = write(overlapping(sound))
    left = repair(path, dry_run=True, columns=["s"])
    assert (done(left), [(item.row_group, item.column, item.rule) for item in left.left]) == (
        [],
        [(0, "s", "PB106")],
    )
    assert left.left[0].reason.endswith("; --rebuild repairs it")
    assert outcome("repair", path, "-c", "s", "--dry-run").code == 1
    assert done(repair(path, in_place=True, columns=["s"], rebuild=True)) == [(0, "s", "rebuilt")]
    assert "PB106" not in errors(path)


def test_a_filter_that_is_shared_with_one_that_stays_is_left(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    path = write(with_place_of(sound, (0, A), 1))
    report = repair(path, dry_run=True, row_groups=[0], drop_bad=True)
    assert (done(report), [item.rule for item in report.left]) == ([], ["PB106"])
    everything = repair(path, dry_run=True, drop_bad=True)
    assert (done(everything), everything.left) == ([(1, "a", "pointer dropped")], ())


def test_what_must_be_repaired_first_is_said(sound: bytes, write: Callable[[bytes], Path]) -> None:
    broken = with_offset(with_offset(sound, 1), len(sound), 0, S)
    path = write(broken)
    complaint = outcome("repair", path, "-c", "a", "--rebuild", "--dry-run").complaint
    assert complaint.startswith(
        f"{path}: row group 0, column s: filter at {len(sound)}, which stays, extends past "
    )
    assert complaint.endswith(
        ", where the data ends: repair all column chunks first; pbloom repair --rebuild without -c and -g does"
    )


# ------------------------------------------------------------------------------------------------
# Nulls that nobody has counted


def test_no_bits_are_right_where_all_values_turn_out_to_be_null(tmp_path: Path) -> None:
    """Without statistics the footer does not tell nulls from values; then the pages do,
    and validate says the same."""
    nulls = pa.table({"a": pa.array([None] * 8, pa.int64())})
    path = tmp_path / "source.parquet"
    bare = written(nulls, write_statistics=False)
    data = with_filter_bytes(bare, 0, A, filter_header(64) + bytes(64))
    path.write_bytes(data)
    assert {each.rule for each in validate(path).findings} == {"PB308"}
    for how in ({}, {"drop_bad": True}, {"rebuild": True}):
        report = repair(path, in_place=True, **how)
        assert (done(report), report.left) == ([], ())
        assert path.read_bytes() == data


def test_no_bits_are_wrong_where_one_value_comes_after_nulls(tmp_path: Path) -> None:
    values = pa.table({"a": pa.array([None] * 8 + [7], pa.int64())})
    path = tmp_path / "source.parquet"
    bare = written(values, write_statistics=False, data_page_size=1, write_batch_size=1)
    path.write_bytes(with_filter_bytes(bare, 0, A, filter_header(64) + bytes(64)))
    assert rules(repair(path, dry_run=True)) == {"PB402"}


# ------------------------------------------------------------------------------------------------
# Many


def test_a_hundred_thousand_filters_are_replaced_in_a_moment() -> None:
    """The end of the data is checked once for each, not once for each pair."""
    chunks = list_of(STRUCT, [struct_of()] * 1000).encoded
    table = ChunkTable(chunks, array("q", [0] * 100), 1000)
    footer = SimpleNamespace(leaves=range(1000), layout=Layout(table, 100), start=100)
    file: Any = SimpleNamespace(footer=footer, path="f.parquet")
    keys = [(group, column) for group in range(100) for column in range(1000)]
    started = time.process_time()
    check_end(file, keys)
    assert time.process_time() - started < 10


# ------------------------------------------------------------------------------------------------
# Words


def test_one_is_one_and_fewer_bytes_are_removed(
    sound: bytes, write: Callable[[bytes], Path]
) -> None:
    path = write(with_meta(sound, 0, A, bloom_filter_offset=-1, bloom_filter_length=None))
    shown = outcome("repair", path, "--dry-run").stdout
    assert shown.startswith(f"{path} (dry run): 1 filter dropped, 2 B less, ")
