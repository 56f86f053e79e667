"""The folder of a table among names of files: a warning, as it has files that the table has deleted."""

from __future__ import annotations

import os
import re
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


COPYING: dict[str, Callable[..., Any]] = {
    "build": lambda folder, output=None, **to: pb.build(folder, output, columns="id", **to),
    "strip": pb.strip,
    "repair": pb.repair,
}


@pytest.mark.parametrize("is_dry", [False, True])
@pytest.mark.parametrize("verb", COPYING)
def test_who_copies_its_files_is_warned_too(
    table: Path, tmp_path: Path, verb: str, is_dry: bool
) -> None:
    with pytest.warns(pb.TableFolderWarning) as told:
        COPYING[verb](table, None if is_dry else tmp_path / "copies", dry_run=is_dry)
    (warning,) = told
    assert str(warning.message) == (
        f"{table}: a Delta table, whose live files pb.{verb}_table changes, with a commit; this is about all"
        " files in its folder, whatever the table has deleted"
    )
    assert warning.filename == __file__


@pytest.mark.parametrize("verb", COPYING)
def test_who_would_change_them_is_refused_instead(table: Path, verb: str) -> None:
    for dry_run in (False, True):
        with pytest.raises(pb.RewriteError, match=rf"table {re.escape(str(table))}, which records"):
            COPYING[verb](table, in_place=True, dry_run=dry_run)


@pytest.mark.parametrize("verb", COPYING)
def test_copies_of_some_files_need_no_warning(table: Path, tmp_path: Path, verb: str) -> None:
    live = DeltaTable(table).file_uris()
    COPYING[verb](live, tmp_path / "copies")
    assert len(os.listdir(tmp_path / "copies")) == len(live)


@pytest.mark.parametrize("verb", COPYING)
def test_commands_say_it_of_copies(table: Path, tmp_path: Path, verb: str) -> None:
    columns = ["-c", "id"] if verb == "build" else []
    for options in (["--output-dir", str(tmp_path / "copies")], ["--dry-run"]):
        said = outcome(verb, str(table), *columns, *options).stderr.splitlines()
        assert said[0] == (
            f"pbloom: {table}: a Delta table, whose live files --table delta changes, with a commit;"
            " this is about all files in its folder, whatever the table has deleted"
        )
    said = outcome(verb, str(table), *columns, "--in-place").stderr.splitlines()
    assert not any("whatever the table has deleted" in line for line in said)


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
