"""Offsets of a footer and of its offset indexes after bytes were put somewhere."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.moved import Moves, moved_footer, moved_offset_index
from parquet_bloom.parquet.thrift import ttypes


def test_what_begins_at_a_place_or_behind_it_moves():
    moves = Moves.of([(100, 10), (50, 5), (100, 1)])
    assert [moves(offset) for offset in (0, 3, 4, 49, 50, 99, 100, 101)] == [
        0, 3, 4, 49, 55, 104, 116, 117,
    ]  # fmt: skip


def test_an_offset_in_the_magic_means_that_there_is_nothing():
    assert [Moves.of([(0, 7)])(offset) for offset in (0, 3, 4)] == [0, 3, 11]


def test_nothing_moves_without_places():
    assert Moves.of([])(4711) == 4711


def test_everything_moves_back():
    moves = Moves.of([(4, 100), (50, 5), (1000, 0), (3000, 31)])
    for offset in (0, 4, 5, 49, 50, 51, 999, 1000, 2999, 3000, 10**6):
        assert moves.back(moves(offset)) == offset


def test_all_offsets_of_a_footer_move_and_nothing_else(tmp_path):
    path = tmp_path / "in.parquet"
    table = pa.table({"a": range(1000), "b": [str(i) for i in range(1000)]})
    pq.write_table(table, path, row_group_size=300, write_page_index=True)
    pb.build(path, columns=["a"], in_place=True)
    with open_file(path) as file:
        raw = file.footer.raw
    before = compact.decode(ttypes.FileMetaData, raw)[0]
    moves = Moves.of([(4, 1000)])
    after = compact.decode(ttypes.FileMetaData, moved_footer(raw, moves, {}))[0]
    changed = 0
    for group, moved in zip(before.row_groups, after.row_groups, strict=True):
        assert moved.file_offset == group.file_offset + 1000
        group.file_offset = moved.file_offset
        for chunk, other in zip(group.columns, moved.columns, strict=True):
            assert other.file_offset == moves(chunk.file_offset)
            chunk.file_offset = other.file_offset
            for old, new, names in (
                (chunk, other, ("offset_index_offset", "column_index_offset")),
                (
                    chunk.meta_data,
                    other.meta_data,
                    ("data_page_offset", "dictionary_page_offset", "bloom_filter_offset"),
                ),
            ):
                for name in names:
                    if getattr(old, name) is not None:
                        assert getattr(new, name) == getattr(old, name) + 1000
                        setattr(old, name, getattr(new, name))
                        changed += 1
    assert changed == 4 * (2 * 4 + 1)
    assert after == before


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.parquet")), ids=lambda path: path.stem)
def test_a_footer_that_moves_there_and_back_is_what_it_was(path):
    """Whoever wrote it, to the byte."""
    with open_file(path) as file:
        raw, has_data = file.footer.raw, file.num_row_groups > 0
    moves = Moves.of([(4, 1 << 20), (1000, 17)])
    moved = moved_footer(raw, moves, {})
    assert (moved != raw) == has_data
    assert moved_footer(moved, moves.back, {}) == raw


def test_lengths_of_offset_indexes_are_set_by_their_offsets(tmp_path):
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"a": range(10), "b": range(10)}), path, write_page_index=True)
    with open_file(path) as file:
        raw = file.footer.raw
        start = file.footer.chunks.one("offset_index_offset", 0, 1)
    chunks = compact.decode(ttypes.FileMetaData, moved_footer(raw, Moves(), {start: 4711}))[0]
    lengths = [chunk.offset_index_length for chunk in chunks.row_groups[0].columns]
    assert lengths[1] == 4711
    assert lengths[0] < 100


def test_page_locations_move_and_what_is_unknown_stays():
    locations = [
        ttypes.PageLocation(offset=offset, compressed_page_size=7, first_row_index=offset)
        for offset in (4, 100, 200)
    ]
    index = compact.encode(ttypes.OffsetIndex(page_locations=locations))
    strange = compact.splice(index, 0, {99: (compact.TYPE_BINARY, b"\x03abc")})
    moves = Moves.of([(100, 10_000)])
    moved = moved_offset_index(strange, moves)
    found = compact.decode(ttypes.OffsetIndex, moved)[0]
    assert [each.offset for each in found.page_locations] == [4, 10_100, 10_200]
    assert [each.first_row_index for each in found.page_locations] == [4, 100, 200]
    assert b"\x03abc" in moved
    assert moved_offset_index(moved, moves.back) == strange
