"""The folder of a table among names of files: a warning, as it has files that the table has deleted."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from make.commands import outcome

import parquet_bloom as pb


@pytest.fixture
def table(tmp_path: Path) -> Path:
    folder = tmp_path / "table"
    write_deltalake(folder, pa.table({"id": [1, 2, 3]}))
    write_deltalake(folder, pa.table({"id": [4]}), mode="append")
    DeltaTable(folder).delete("id = 4")
    return folder


ASKING: dict[str, Callable[..., Any]] = {
    "rows": lambda folder, **of: pb.rows(folder, {"id": 4}, **of),
    "row_groups": lambda folder, **of: pb.row_groups(folder, {"id": 4}, **of),
    "read_plan": lambda folder, **of: pb.read_plan(folder, {"id": 4}, **of),
    "dataset": lambda folder, **of: pb.dataset(folder, {"id": 4}, **of),
    "polars_source": lambda folder, **of: pb.polars_source(folder, {"id": 4}, **of).collect(),
    "find": lambda folder, **of: pb.find(folder, "id", [4], **of),
    "probe": lambda folder, **of: pb.probe(folder, "id", [4], **of),
    "probe_values": lambda folder, **of: pb.probe_values([folder], "id", [4], **of),
    "inspect": lambda folder, **of: pb.inspect(folder, **of),
}


@pytest.mark.parametrize("verb", ASKING)
def test_whoever_calls_is_warned_once(table: Path, verb: str) -> None:
    with pytest.warns(pb.TableFolderWarning) as told:
        ASKING[verb](table)
    (warning,) = told
    assert str(warning.message) == (
        f'{table}: a Delta table, of which table="delta" takes the live files; this is about all'
        " files in its folder, and none of these is changed in place"
    )
    assert warning.filename == __file__


@pytest.mark.parametrize("verb", ASKING)
def test_who_means_the_table_or_its_files_is_not(table: Path, verb: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        if verb != "inspect":
            ASKING[verb](table, table="delta")
        ASKING[verb](f"{table}/*.parquet")


def test_an_index_of_its_files(table: Path, tmp_path: Path) -> None:
    with pytest.warns(pb.TableFolderWarning) as told:
        pb.Index.build(tmp_path / "index", table, "id").close()
    assert [each.filename for each in told] == [__file__]


@pytest.mark.parametrize("command", ["find -c id -v 4", "probe -c id -v 4", "inspect"])
def test_commands_say_it_themselves(table: Path, command: str) -> None:
    for name in (str(table), table.as_uri()):
        verb, *options = command.split()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            stderr = outcome(verb, name, *options).stderr
        assert stderr.splitlines()[0] == (
            f"pbloom: {name}: a Delta table, of which --table delta takes the live files; this is"
            " about all files in its folder, and none of these is changed in place"
        )
        assert "Warning" not in stderr
        assert told == []
