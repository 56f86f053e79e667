"""What is done for each column of a wide file is not done for all of them each time."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.delta_tables import table_of

import parquet_bloom as pb
from parquet_bloom.parquet.footer.schema import LeafColumn

NAME = LeafColumn.name.fget


@pytest.fixture
def looked_at(monkeypatch):
    """One entry for each time that a column is asked for its name."""
    found = []

    def name(leaf):
        found.append(leaf.index)
        return NAME(leaf)

    monkeypatch.setattr(LeafColumn, "name", property(name))
    return found


def wide(path, width):
    """A row of a file, and the names of its columns."""
    names = [f"c{index}" for index in range(width)]
    pq.write_table(pa.table({name: [1] for name in names}), path)
    return names


def for_a_file(folder, width):
    path = folder / "wide.parquet"
    names = wide(path, width)
    # Large enough to be compared with the data.
    pb.build(path, in_place=True, columns=names, ndv=10_000, force=True)


def for_files_of_a_table(folder, width):
    path = folder / "wide.parquet"
    names = wide(path, width)
    table = table_of(folder / "table", path, **dict.fromkeys(names, "long"))
    report = pb.build_table(table, columns=names, min_file_size=0)
    assert report.num_filters == width


@pytest.mark.parametrize("build", [for_a_file, for_files_of_a_table])
def test_twice_the_columns_are_twice_the_work(tmp_path, looked_at, build):
    counts = []
    for width in (50, 100):
        folder = tmp_path / str(width)
        folder.mkdir()
        looked_at.clear()
        build(folder, width)
        counts.append(len(looked_at))
    assert counts[1] < 2.2 * counts[0]
