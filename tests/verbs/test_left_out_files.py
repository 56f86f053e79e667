"""Files of a folder that are not called like data files: whoever reads the folder is told which are not read."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

import parquet_bloom as pb

READ = ("A.PARQUET", "a.parquet")
HIDDEN = ("_old.parquet", ".a.data")
LEFT_OUT = ("000000_0", "b.parquet.snappy", "c.par", "part-0")


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    folder = tmp_path / "lake"
    folder.mkdir()
    for name in (*READ, *HIDDEN, *LEFT_OUT):
        pq.write_table(pa.table({"id": [1, 2, 3]}), folder / name)
    return folder


READS: dict[str, Callable[[Any], Any]] = {
    "rows": lambda files: pb.rows(files, {"id": 2}),
    "row_groups": lambda files: pb.row_groups(files, {"id": 2}),
    "dataset": lambda files: pb.dataset(files, {"id": 2}).to_table(),
    "polars_source": lambda files: pb.polars_source(files).collect(),
    "read_plan": lambda files: pb.read_plan(files, {"id": 2}),
}


@pytest.mark.parametrize("verb", READS)
def test_whoever_reads_a_folder_is_warned_once(lake: Path, verb: str) -> None:
    with pytest.warns(pb.LeftOutWarning) as told:
        READS[verb](lake)
    (warning,) = told
    assert str(warning.message) == (
        f"4 files left out, such as {lake}/000000_0, {lake}/b.parquet.snappy, {lake}/c.par;"
        " their names are not those of data files: to include them, name them one by one"
    )
    assert warning.filename == __file__


@pytest.mark.parametrize("verb", READS)
def test_who_names_the_files_is_not(lake: Path, verb: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        READS[verb]([f"{lake}/a*", f"{lake}/*_0", f"{lake}/c.par"])
        READS[verb]([lake, *(lake / name for name in LEFT_OUT)])


def test_reports_name_them(lake: Path) -> None:
    with pytest.warns(pb.LeftOutWarning):
        plan = pb.read_plan(lake, {"id": 2})
    assert (plan.num_files, plan.left_out) == (2, tuple(f"{lake}/{name}" for name in LEFT_OUT))
    assert plan.to_dict()["left_out"] == list(plan.left_out)
    assert "; 4 files left out, such as " in repr(plan)
    # A report that proves what is nowhere has the hidden ones, too.
    found = pb.find(lake, "id", [2])
    assert repr(found).endswith(
        f"; 6 files left out, such as {lake}/.a.data, {lake}/000000_0, {lake}/_old.parquet;"
        " their names are not those of data files: to include them, name them one by one>"
    )


def test_links_to_folders_are_told_apart(lake: Path) -> None:
    for name in ("2023", "c.parquet", "d", "e"):
        (lake / name).symlink_to(lake.parent)
    with pytest.warns(pb.LeftOutWarning) as told:
        pb.rows(lake, {"id": 2})
    assert str(told[0].message) == (
        f"4 files left out, such as {lake}/000000_0, {lake}/b.parquet.snappy, {lake}/c.par;"
        " their names are not those of data files: to include them, name them one by one;"
        f" 4 links to folders left out, such as {lake}/2023, {lake}/c.parquet, {lake}/d;"
        " such links are not followed: to include what is there, name them one by one"
    )
    for name in (*LEFT_OUT, "2023", "c.parquet", "d"):
        (lake / name).unlink()
    with pytest.warns(pb.LeftOutWarning) as told:
        pb.rows(lake, {"id": 2})
    assert str(told[0].message) == (
        f"1 link to a folder left out: {lake}/e;"
        " such links are not followed: to include what is there, name it itself"
    )


def test_a_folder_that_nobody_may_list_stays_an_error(lake: Path, monkeypatch: Any) -> None:
    import os

    scandir = os.scandir

    def refusing(path: str) -> Any:
        if path == f"{lake}/shut":
            raise PermissionError(13, "Permission denied", path)
        return scandir(path)

    (lake / "shut").mkdir()
    monkeypatch.setattr(os, "scandir", refusing)
    with pytest.raises(PermissionError, match=r"cannot be listed: Permission denied"):
        pb.rows(lake, {"id": 2})


def test_key_material_is_not_left_out(tmp_path: Path) -> None:
    """Whoever opens the file that it is for has read it."""
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    (tmp_path / "_KEY_MATERIAL_FOR_a.parquet.json").write_text("{}")
    found = outcome("validate", tmp_path)
    assert (found.code, found.stderr) == (0, "")
