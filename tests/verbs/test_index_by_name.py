"""An index over files of which some are older than the column: null there, if their user says so."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from pyarrow import orc

import parquet_bloom as pb

LACKS = "no column id; the file has other"
OR_NULL = f"{LACKS}; null there with union_by_name=True"
OF_PARTITION = "no column id; it is a partition: its values are in the paths, not in the files"
NAMED_ALIKE = "no column id; did you mean ID?"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Of files with the column, those of one that is called otherwise, and of files that certainly lack it."""
    folder = tmp_path / "lake"
    (folder / "id=7").mkdir(parents=True)
    pq.write_table(pa.table({"id": [1, 2, 3]}), folder / "new.parquet")
    pq.write_table(pa.table({"ID": [4]}), folder / "upper.parquet")
    old = pa.table({"other": [5]})
    pq.write_table(old, folder / "old.parquet")
    pq.write_table(old, folder / "id=7" / "of_partition.parquet")
    orc.write_table(old, str(folder / "old.orc"))
    return folder


def _unknown(report):
    return {Path(each.path).name: each.reason for each in report.files_unknown}


def test_what_certainly_lacks_the_column_is_null_by_its_name(lake, tmp_path):
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        report = index.probe("id", [1, 9])
        assert _unknown(report) == {
            "upper.parquet": NAMED_ALIKE,
            "old.parquet": OR_NULL,
            "of_partition.parquet": OF_PARTITION,
            "old.orc": OR_NULL,
        }
        assert (report.maybe, report.unknown, report.files_without_column) == (1, 1, 0)
        for files in (None, lake):
            report = index.probe("id", [1, 9], files=files, union_by_name=True)
            assert [*_unknown(report)] == ["of_partition.parquet", "upper.parquet"]
            assert (report.num_files, report.files_without_column) == (5, 2)
        index.remove([lake / "upper.parquet", lake / "id=7"])
        (lake / "upper.parquet").unlink()
        (lake / "id=7" / "of_partition.parquet").unlink()
        for num_without in (2, 3):
            report = index.probe("id", [1, 9], union_by_name=True)
            assert (report.maybe, report.absent, report.files_unknown) == (1, 1, ())
            assert report.files_without_column == num_without
            found = pb.find(None, "id", [1, 9], index=index.path, union_by_name=True)
            assert (found.num_rows, found.unknown) == (1, ())
            assert found.files_without_column == num_without
            # Of a segment that was merged with others, too.
            pq.write_table(pa.table({"other": [6]}), lake / f"older-{num_without}.parquet")
            assert index.add().added == 1
            assert index.compact(everything=True).merged == 2


@pytest.mark.parametrize("verify", [False, True])
def test_which_values_are_new(lake, tmp_path, verify):
    for name in ("upper.parquet", "id=7/of_partition.parquet"):
        (lake / name).unlink()
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        values = np.array([1, 9])
        assert index.new_values("id", values, verify=verify).tolist() == [False, False]
        new = index.new_values("id", values, verify=verify, union_by_name=True)
        assert new.tolist() == [False, True]


def test_one_that_has_it_by_now_is_unknown(lake, tmp_path):
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        pq.write_table(pa.table({"id": [9]}), lake / "old.parquet")
        report = index.probe("id", 9, files=lake, union_by_name=True)
        assert _unknown(report)["old.parquet"] == "not in the index as it is now"
        assert report.files_without_column == 1


def test_without_a_file_that_has_the_column_nobody_knows_it(lake, tmp_path):
    for name in ("upper.parquet", "id=7/of_partition.parquet"):
        (lake / name).unlink()
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        index.remove(lake / "new.parquet")
        for union_by_name in (False, True):
            report = index.probe("id", 9, union_by_name=union_by_name)
            assert _unknown(report) == {"old.parquet": LACKS, "old.orc": LACKS}
            assert report.files_without_column == 0
        new = index.new_values("id", [9], union_by_name=True, verify=True)
        assert new.tolist() == [False]


def test_a_table_says_it_by_itself(lake, tmp_path):
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        with pytest.raises(TypeError, match="union_by_name: not with table, which says"):
            index.probe("id", 1, files=lake, table="delta", union_by_name=True)
        with pytest.raises(TypeError, match="union_by_name"):
            index.probe("id", 1, union_by_name="yes")


def test_the_command(lake, tmp_path):
    for name in ("upper.parquet", "id=7/of_partition.parquet", "old.orc"):
        (lake / name).unlink()
    index = tmp_path / "index"
    assert outcome("index", "build", "--index", index, "-c", "id", lake).code == 0
    asked = outcome("index", "probe", "--index", index, "-c", "id", "-v", 9)
    assert asked.code == 2
    told = f"{lake}/old.parquet: may hold any value: {LACKS}; null there with --union-by-name"
    assert asked.stdout.splitlines()[-1] == told
    asked = outcome(
        "index", "probe", "--index", index, "-c", "id", "-v", 9, "--union-by-name", lake
    )
    assert (asked.code, asked.stderr) == (1, "")
    head, value = asked.stdout.splitlines()
    assert value == "9: absent"
    assert head.startswith("id in 2 files, as they are now: ")
    assert head.endswith(" read; 1 file without the column: null there by union-by-name")
