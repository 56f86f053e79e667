"""Filters in which no bit is set: nothing is absent from a chunk that may have values."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from make.commands import outcome
from make.filters import with_bits
from make.parquet_files import written

import parquet_bloom as pb
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.filters.clear import NO_BIT_SET, is_clear_from

ROWS, BLOCKS = 1000, 64
MANY = [*range(2 * ROWS, 3 * ROWS), 7]


def file_of(values: list[int | None], bits: bytes, statistics: bool = True) -> bytes:
    data = written(
        pa.table({"id": pa.array(values, pa.int64())}),
        write_statistics=statistics,
        use_dictionary=False,
    )
    return with_bits(data, bits)


def sparse(*values: int) -> bytes:
    bits = SplitBlockBloomFilter.empty(BLOCKS)
    for value in values:
        bits.insert_value(value.to_bytes(8, "little"))
    return bits.to_bytes()


@pytest.fixture
def lost(tmp_path: Path) -> Path:
    """Zeros in place of the filter: as a disk, a copy or a writer may leave it."""
    path = tmp_path / "lost.parquet"
    path.write_bytes(file_of([*range(ROWS)], bytes(32 * BLOCKS)))
    return path


def answers(path: Path, values: list[int]) -> set[tuple[str, str]]:
    where = f"{path}: row group 0, column id: "
    return {
        (group.verdict, (group.reason or "").removeprefix(where))
        for result in pb.probe(path, "id", values).results
        for group in result.groups
    }


@pytest.mark.parametrize("values", [[7], [7, -1], MANY], ids=["one", "two", "many"])
def test_nothing_is_absent(lost: Path, values: list[int]) -> None:
    assert answers(lost, values) == {("unknown", NO_BIT_SET)}


def test_an_explained_look_up_says_so(lost: Path) -> None:
    found = outcome("probe", lost, "-c", "id", "-v", "7", "--explain")
    assert found.code == 0
    assert NO_BIT_SET in found.stdout
    assert "absent" not in found.stdout


@pytest.mark.parametrize("values", [[7], MANY], ids=["one", "many"])
def test_rows_are_found_and_row_groups_kept(lost: Path, values: list[int]) -> None:
    rows = pb.find(lost, "id", values).rows
    assert [(found.row, found.row_group) for found in rows] == [(7, 0)]
    assert pb.row_groups(lost, [("id", "in", values)]).num_rows == 1


def test_slices_of_an_index_leave_it_out(lost: Path, tmp_path: Path) -> None:
    index = pb.Index.build(tmp_path / "index", lost, columns=["id"], form="slices")
    (result,) = index.probe("id", [7], files=lost).results
    (file,) = result.files
    assert (file.verdict, NO_BIT_SET in (file.reason or "")) == ("unknown", True)


def test_slices_with_the_bits_of_a_lost_filter_are_not_proved(
    lost: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of an index that was built by an older version."""
    with monkeypatch.context() as patch:
        patch.setattr("parquet_bloom.index.parquet_values.are_clear", lambda bits: False)
        index = pb.Index.build(tmp_path / "index", lost, columns=["id"], form="slices")
    assert [found.problem for found in index.check(deep=True).findings] == ["lost"]


def test_inspect_notes_it(lost: Path) -> None:
    (group,) = pb.inspect(lost).row_groups
    assert group.columns[0].notes == (NO_BIT_SET,)


@pytest.mark.parametrize(
    ("statistics", "verdict"), [(True, "absent"), (False, "unknown")], ids=["counted", "not"]
)
def test_a_chunk_of_nulls_has_an_empty_filter_rightly(
    tmp_path: Path, statistics: bool, verdict: str
) -> None:
    path = tmp_path / "nulls.parquet"
    path.write_bytes(file_of([None] * ROWS, bytes(32 * BLOCKS), statistics))
    for values in [7], MANY:
        assert {each for each, _ in answers(path, values)} == {verdict}
    notes = () if verdict == "absent" else (NO_BIT_SET,)
    assert pb.inspect(path).row_groups[0].columns[0].notes == notes


@pytest.mark.parametrize("values", [[7], MANY[:-1]], ids=["one", "many"])
def test_most_blocks_of_a_sparse_filter_are_empty(tmp_path: Path, values: list[int]) -> None:
    path = tmp_path / "sparse.parquet"
    path.write_bytes(file_of([5] * ROWS, sparse(5)))
    assert answers(path, values) == {("absent", "")}
    assert answers(path, [5]) == {("maybe", "")}
    assert pb.row_groups(path, [("id", "in", values)]).num_rows == 0


@pytest.mark.parametrize("statistics", [True, False], ids=["known", "unknown"])
def test_where_bounds_are_known_their_blocks_tell(tmp_path: Path, statistics: bool) -> None:
    num_blocks = 1 << 15
    bits = SplitBlockBloomFilter.empty(num_blocks)
    bits.insert_value((5).to_bytes(8, "little"))
    path = tmp_path / "large.parquet"
    path.write_bytes(file_of([5] * ROWS, bits.to_bytes(), statistics))
    report = pb.probe(path, "id", [7])
    assert [each.verdict for each in report.results] == ["absent"]
    assert (report.bytes_read < 20_000) == statistics


@pytest.mark.parametrize("at", [0, (16 << 10) - 1, 16 << 10, (100 << 10) - 1, None])
def test_it_is_read_until_a_bit_is_set(at: int | None) -> None:
    bits, asked = bytearray(100 << 10), []
    if at is not None:
        bits[at] = 1

    def read(start: int, length: int) -> bytes:
        asked.append((start, length))
        return bytes(bits[start : start + length])

    assert is_clear_from(read, 0, len(bits)) == (at is None)
    whole = [(0, 16 << 10), (16 << 10, 32 << 10), (48 << 10, 52 << 10)]
    assert asked == [each for each in whole if at is None or each[0] <= at]


def test_a_filter_of_a_dialect_that_a_note_leads_to(tmp_path: Path) -> None:
    path = tmp_path / "noted.parquet"
    path.write_bytes(written(pa.table({"id": np.arange(ROWS)}), use_dictionary=False))
    pb.build(path, columns=["id"], dialect="murmur3", in_place=True)
    (group,) = pb.inspect(path).row_groups
    (legacy,) = group.columns[0].legacy_filters
    data = bytearray(path.read_bytes())
    assert legacy.offset is not None
    assert legacy.num_bytes is not None
    start = legacy.offset + legacy.header_bytes
    data[start : start + legacy.num_bytes] = bytes(legacy.num_bytes)
    path.write_bytes(data)
    assert "absent" not in {verdict for verdict, _ in answers(path, [7, -1])}
