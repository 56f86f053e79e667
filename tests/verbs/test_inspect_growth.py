"""What inspecting costs grows with the number of column chunks, and no faster."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.options import InspectOptions
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.storage.source import WINDOW_BYTES
from parquet_bloom.verbs.inspect import inspect_file


class Searched(bytes):
    """Counts how often something is looked for in it."""

    searches = 0

    def __contains__(self, text):
        self.searches += 1
        return super().__contains__(text)


class Counted:
    """A source that counts its reads."""

    def __init__(self, source):
        self._source = source
        self.reads = 0

    def __getattr__(self, name):
        return getattr(self._source, name)

    def read_at(self, offset, length):
        self.reads += 1
        return self._source.read_at(offset, length)


def many_chunks(path, columns, row_groups):
    """Each with a filter of 64 bytes."""
    names = [f"c{number}" for number in range(columns)]
    table = pa.table({name: np.arange(row_groups) for name in names})
    options = {name: {"ndv": 50, "fpp": 0.01} for name in names}
    pq.write_table(table, path, row_group_size=1, bloom_filter_options=options)
    return path


@pytest.mark.parametrize(("columns", "row_groups"), [(100, 1), (1, 100), (50, 40)])
def test_the_footer_is_searched_once(tmp_path, columns, row_groups):
    path = many_chunks(tmp_path / "many.parquet", columns, row_groups)
    with open_file(path) as file:
        raw = file.footer.raw = Searched(file.footer.raw)
        assert inspect_file(file, InspectOptions()).num_filters == columns * row_groups
    assert raw.searches == 1


@pytest.mark.parametrize("row_groups", [10, 20, 40])
def test_neighbours_are_read_together(tmp_path, row_groups):
    path = many_chunks(tmp_path / "many.parquet", 50, row_groups)
    with open_file(path) as file:
        source = file.source = Counted(file.source)
        report = inspect_file(file, InspectOptions())
    assert report.num_filters == 50 * row_groups
    assert source.reads <= 2 + report.size / WINDOW_BYTES + row_groups


def test_what_is_read_together_is_what_is_stored(tmp_path):
    """Filters smaller and larger than what is read ahead, and the last before the footer."""
    values = {f"c{number}": np.arange(60_000) // (number + 1) for number in range(6)}
    table = pa.table(values)
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=30_000)
    pb.build(tmp_path / "in.parquet", tmp_path / "out.parquet", columns=table.column_names)
    report = pb.inspect(tmp_path / "out.parquet")
    sizes = set()
    with pb.open(tmp_path / "out.parquet") as file:
        for part in report.parts:
            for column in part.columns:
                bits = file.bloom_filter(part.row_group, column.column)
                sizes.add(bits.num_bytes)
                assert (column.filter.fill, column.filter.fpp) == (bits.fill, bits.fpp)
    assert min(sizes) < WINDOW_BYTES <= max(sizes)


def test_the_columns_are_listed_once_for_all_findings(tmp_path, monkeypatch):
    """A finding in each chunk names the command that helps with its column."""
    path = many_chunks(tmp_path / "many.parquet", 50, 20)
    listed = []
    names = ParquetContainer.columns
    monkeypatch.setattr(
        ParquetContainer, "columns", property(lambda file: listed.append(0) or names.fget(file))
    )
    report = pb.validate(path, deep=False)
    assert sum(finding.next is not None for finding in report.findings) >= 50 * 19
    assert len(listed) <= 2
