"""Files that an index knows, and at which nobody may look: they are not gone, and keep no other from its turn."""

import errno
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

import parquet_bloom as pb

DENIED = "Permission denied"
Shut = Callable[[str | Path], None]


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """Folders d=0 to d=2 of two files with ten values of their own, and -7."""
    folder = tmp_path / "lake"
    for number in range(6):
        (folder / f"d={number // 2}").mkdir(parents=True, exist_ok=True)
        ids = [*range(10 * number, 10 * number + 10), -7]
        pq.write_table(pa.table({"id": ids}), folder / f"d={number // 2}" / f"{number}.parquet")
    return folder


@pytest.fixture
def shut(monkeypatch: pytest.MonkeyPatch) -> Shut:
    """Makes a folder one that cannot be entered. Nobody may be kept from anything here who is root."""
    closed: list[str] = []

    def refusing(looks: Any, is_listing: bool) -> Any:
        def look(path: Any = ".", *args: Any, **kwargs: Any) -> Any:
            name = path if isinstance(path, int) else os.path.join(os.getcwd(), os.fsdecode(path))
            for folder in closed if isinstance(name, str) else ():
                if name.startswith(f"{folder}/") or (is_listing and name == folder):
                    raise PermissionError(errno.EACCES, DENIED, path)
            return looks(path, *args, **kwargs)

        return look

    monkeypatch.setattr(os, "scandir", refusing(os.scandir, True))
    monkeypatch.setattr(os, "stat", refusing(os.stat, False))
    monkeypatch.setattr(os, "lstat", refusing(os.lstat, False))
    return lambda folder: closed.append(str(folder))


def found(report: pb.IndexCheck) -> list[tuple[str, str]]:
    return [(each.problem, each.message) for each in report.findings]


def reasons(report: pb.IndexReport) -> dict[Any, dict[str, str]]:
    """Of each value, the files that are unknown, and why."""
    return {
        each.value: {
            Path(file.path).name: file.reason or ""
            for file in each.files
            if file.verdict == "unknown"
        }
        for each in report.results
    }


@pytest.mark.parametrize(
    "source",
    ["lake", "lake/*/*.parquet", "lake/d=[12]/*", "lake/**", "lake/**/*.parquet", "lake/*"],
)
def test_what_nobody_may_look_at_is_not_gone(lake, tmp_path, shut, source):
    with pb.Index.build(tmp_path / "index", str(tmp_path / source), "id") as index:
        num_files, made = index.check().files, index.check().made
        shut(lake / "d=1")
        told = f"{lake}/d=1: a folder that cannot be listed: Permission denied"
        for deep in (False, True):
            assert found(index.check(deep=deep)) == [("unlisted", told)]
        pq.write_table(pa.table({"id": [77]}), lake / "d=2" / "new.parquet")
        (lake / "d=2" / "4.parquet").unlink()
        change = index.add()
        assert (change.added, change.changed, change.removed) == (1, 0, 1)
        assert (change.files, change.failed, change.not_listed) == (num_files, 0, (told,))
        # A file that came there since then, nobody knows.
        assert index.check().made == made
        report = index.probe("id", [77, 25, -7, 999])
        assert reasons(report) == {
            77: {},
            25: {"2.parquet": DENIED},
            -7: {"2.parquet": DENIED, "3.parquet": DENIED},
            999: {},
        }
        verdicts = [each.verdict for each in report.results]
        assert verdicts == ["maybe", "unknown", "maybe", "absent"]
        for verify in (False, True):
            assert index.new_values("id", [77, 25, -7, 999], verify=verify).tolist() == [
                False, False, False, True
            ]  # fmt: skip


@pytest.mark.parametrize("source", ["d=1", "d=1/*.parquet", "d=1/2.parquet"])
def test_what_is_below_a_folder_that_nobody_may_enter_is_not_gone(lake, tmp_path, shut, source):
    with pb.Index.build(tmp_path / "index", str(lake / source), "id") as index:
        num_files = index.check().files
        shut(lake)
        checked = index.check()
        assert ({each.problem for each in checked.findings}, checked.places_gone) == (
            {"unlisted"},
            (),
        )
        change = index.add()
        assert (change.removed, change.files, len(change.not_listed)) == (0, num_files, 1)
        assert reasons(index.probe("id", [25]))[25] == {"2.parquet": DENIED}


def test_what_is_named_and_nobody_may_look_at_keeps_no_other_from_its_turn(lake, tmp_path, shut):
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        shut(lake / "d=1")
        why = "a folder that cannot be listed: Permission denied"
        report = index.probe("id", [5, 999], files=lake)
        assert reasons(report) == {5: {"d=1": why}, 999: {"d=1": why}}
        assert [each.verdict for each in report.results] == ["maybe", "unknown"]
        assert (report.num_files, report.absent) == (5, 0)
        for verify in (False, True):
            assert not index.new_values("id", [5, 999], files=lake, verify=verify).any()
        assert found(index.check(files=lake)) == [("unlisted", f"{lake}/d=1: {why}")]
        named = [lake / "d=0" / "0.parquet", lake / "d=1" / "2.parquet"]
        assert reasons(index.probe("id", 999, files=named)) == {999: {"2.parquet": DENIED}}
        with pytest.raises(PermissionError):
            index.probe("id", 999, files=named[1])


def test_what_is_new_must_be_looked_at(lake, tmp_path, shut):
    """The index would say that it is about all that is there."""
    shutil.copytree(lake, tmp_path / "more")
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        shut(tmp_path / "more" / "d=0")
        with pytest.raises(PermissionError, match=r"d=0.*cannot be listed|cannot be listed.*d=0"):
            index.add(tmp_path / "more")
        assert index.generation == 1
    with pytest.raises(PermissionError, match="cannot be listed"):
        pb.Index.build(tmp_path / "other", tmp_path / "more", "id")


@pytest.mark.parametrize("more", ["lake", "lake/*/*.parquet", "lake/**"])
def test_a_folder_of_which_an_index_knows_a_part_is_new(lake, tmp_path, shut, more):
    known = [str(lake / "*" / "2.parquet"), str(lake / "d=0")]
    with pb.Index.build(tmp_path / "index", known, "id") as index:
        shut(lake / "d=1")
        assert (index.add().files, index.add(lake / "d=0" / "1.parquet").files) == (3, 3)
        with pytest.raises(PermissionError, match="cannot be listed"):
            index.add(tmp_path / more)


def test_what_the_commands_say(lake, tmp_path, shut):
    index = ("--index", tmp_path / "index")
    assert outcome("index", "build", *index, "-c", "id", lake).code == 0
    shut(lake / "d=1")
    why = f"{lake}/d=1: a folder that cannot be listed: Permission denied"
    added = outcome("index", "add", *index)
    told = f"{why}; what the index knows of that stays until somebody may look"
    assert (added.code, added.complaint) == (2, told)
    assert added.stdout == f"{tmp_path}/index: 6 files: 0 added, 0 changed, 0 removed\n"
    added = json.loads(outcome("index", "add", *index, "--json").stdout)
    assert added["not_listed"] == [why]
    checked = outcome("index", "check", *index)
    assert (checked.code, checked.stdout.splitlines()[1:]) == (
        1,
        [
            f"unlisted: {why}",
            f"{tmp_path}/index: 1 finding: 6 files, 66 keys; the files were not read: --deep does that",
        ],
    )
    asked = outcome("index", "probe", *index, "-c", "id", "-v", 25, "-v", 5)
    assert asked.code == 2
    assert f"{lake}/d=1/2.parquet\tunknown, row group 0\tPermission denied" in asked.stdout
    assert "5: maybe in 1 file" in asked.stdout
    asked = outcome("index", "probe", *index, "-c", "id", "-v", 999, lake)
    assert asked.code == 2
    assert asked.stdout.splitlines()[-1] == (
        f"{lake}/d=1: may hold any value: a folder that cannot be listed: Permission denied"
    )


@pytest.mark.parametrize("source", ["lake", "lake/*"])
def test_a_folder_that_vanishes_while_it_is_listed_takes_no_other_with_it(
    lake, tmp_path, monkeypatch, source
):
    with pb.Index.build(tmp_path / "index", str(tmp_path / source), "id") as index:
        scandir = os.scandir

        def vanishing(path: Any) -> Any:
            if path == f"{lake}/d=1":
                shutil.rmtree(path, ignore_errors=True)
            return scandir(path)

        monkeypatch.setattr(os, "scandir", vanishing)
        change = index.add()
        assert (change.removed, change.files, change.not_listed) == (2, 4, ())
        assert found(index.check()) == []


def test_a_folder_whose_disk_fails_makes_nothing_gone(lake, tmp_path, monkeypatch):
    """The rest of the source is not listed, either."""
    with pb.Index.build(tmp_path / "index", lake, "id") as index:
        scandir = os.scandir

        def failing(path: Any) -> Any:
            if path == f"{lake}/d=1":
                raise OSError(errno.EIO, "Input/output error", path)
            return scandir(path)

        monkeypatch.setattr(os, "scandir", failing)
        (lake / "d=0" / "0.parquet").unlink()
        told = f"{lake}/d=1: Input/output error"
        gone = (
            f"{lake}/d=0/0.parquet: is not there any more, or in no place that the index is about"
        )
        assert found(index.check()) == [("unlisted", told), ("gone", gone)]
        change = index.add()
        assert (change.removed, change.files, change.not_listed) == (1, 5, (told,))


def test_a_file_that_is_read_and_then_out_of_sight_is_not_forgotten(
    lake, tmp_path, shut, monkeypatch
):
    """While somebody else changes what the index is about."""
    from parquet_bloom.verbs import index_change

    with pb.Index.build(tmp_path / "index", [lake / "d=1", lake / "d=2"], "id") as index:
        pq.write_table(pa.table({"id": [77]}), lake / "d=1" / "2.parquet")
        commit = index_change.commit

        def overtaken(*args: Any, **kwargs: Any) -> Any:
            monkeypatch.setattr(index_change, "commit", commit)
            pb.Index(tmp_path / "index").remove(lake / "d=2")
            shut(lake / "d=1")
            return commit(*args, **kwargs)

        monkeypatch.setattr(index_change, "commit", overtaken)
        with pytest.raises(PermissionError, match="nothing is written of this change"):
            index.add()
    with pb.Index(tmp_path / "index") as index:
        assert index.check().files == 2


@pytest.mark.parametrize("name", ["lake/*/*.parquet", "lake/**/*.parquet", "lake/*/1.parquet"])
def test_a_glob_passes_over_no_folder_without_a_word(lake, tmp_path, shut, monkeypatch, name):
    """What is in it, no verb may call absent."""
    monkeypatch.chdir(tmp_path)
    pb.Index.build("index", "lake", "id").close()
    shut(lake / "d=1")
    why = {"d=1": "a folder that cannot be listed: Permission denied"}
    with pb.Index("index") as index:
        assert reasons(index.probe("id", [25], files=name)) == {25: why}
    for by in (None, "index"):
        report = pb.find(name, "id", 25, index=by)
        assert {Path(each.path).name: each.reason for each in report.unknown} == why
        assert not report.is_absent


@pytest.mark.parametrize("source", ["lake", "lake/d=*/*.parquet"])
def test_files_in_a_folder_that_can_be_listed_and_not_entered(lake, tmp_path, monkeypatch, source):
    """Their names are there, and their states are not."""

    def refusing(looks: Any) -> Any:
        def look(path: Any, *args: Any, **kwargs: Any) -> Any:
            name = "" if isinstance(path, int) else os.path.abspath(os.fsdecode(path))
            if name.startswith(f"{lake}/d=1/") and name.endswith(".parquet"):
                raise PermissionError(errno.EACCES, DENIED, path)
            return looks(path, *args, **kwargs)

        return look

    with pb.Index.build(tmp_path / "index", str(tmp_path / source), "id") as index:
        monkeypatch.setattr(os, "stat", refusing(os.stat))
        monkeypatch.setattr(os, "lstat", refusing(os.lstat))
        told = f"{lake}/d=1: 2 files that cannot be looked at: {DENIED}"
        assert found(index.check()) == [("unlisted", told)]
        change = index.add()
        assert (change.removed, change.files, change.not_listed) == (0, 6, (told,))
        monkeypatch.chdir(tmp_path)
        own = told.replace(f"{tmp_path}/", "")
        assert found(index.check(files="lake")) == [("unlisted", own)]
        checked = index.check(files=["lake/d=0", "lake/d=1/3.parquet"])
        assert found(checked) == [("unlisted", f"lake/d=1/3.parquet: {DENIED}")]


def test_a_folder_that_several_places_mean_is_told_once(lake, tmp_path, shut):
    with pb.Index.build(tmp_path / "index", [lake, lake / "*"], "id") as index:
        shut(lake / "d=1")
        told = f"{lake}/d=1: a folder that cannot be listed: {DENIED}"
        assert found(index.check()) == [("unlisted", told)]
        assert index.add().not_listed == (told,)


@pytest.mark.parametrize("closed", ["", "d=0 d=1 d=2"])
def test_find_misses_no_files_where_nobody_may_look(lake, tmp_path, shut, closed):
    index = ("--index", tmp_path / "index")
    assert outcome("index", "build", *index, "-c", "id", lake).code == 0
    for name in closed.split(" "):
        shut(lake / name)
    with pytest.raises(PermissionError, match="cannot be listed: Permission denied"):
        pb.find(lake, "id", 5)
    for more in ((), index, ("--report", tmp_path / "account.parquet")):
        found = outcome("find", lake, "-c", "id", "-v", 5, *more)
        names = ", ".join(f"{lake}/{name}".removesuffix("/") for name in closed.split(" "))
        told = f"{names}: a folder that cannot be listed: Permission denied"
        assert (found.code, found.stdout, found.complaint) == (2, "", told)


def test_what_add_mends_is_said_beside_a_folder_at_which_nobody_may_look(lake, tmp_path, shut):
    index = ("--index", tmp_path / "index")
    assert outcome("index", "build", *index, "-c", "id", lake).code == 0
    shut(lake / "d=1")
    assert "\nnext: " not in outcome("index", "check", *index).stdout
    pq.write_table(pa.table({"id": [77]}), lake / "d=0" / "new.parquet")
    checked = outcome("index", "check", *index)
    add = f"pbloom index add --index {tmp_path}/index"
    assert (checked.code, checked.stdout.splitlines()[-1]) == (1, f"next: {add}")
    added = outcome(*add.split()[1:])
    assert (added.code, ": 1 added, 0 changed, 0 removed" in added.stdout) == (2, True)
    assert "\nnext: " not in outcome("index", "check", *index).stdout
