"""An index over tables: their live files, by the log; what a table has removed, put in its place or renamed is never
`absent` for that."""

from __future__ import annotations

import json
import random
from binascii import crc32
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from make import iceberg_tables
from make.commands import outcome
from make.delta_tables import (
    build,
    configure,
    delete_rows,
    inline_vector,
    last_action,
    live,
    make_table,
    newest,
    rows_of,
    stored_vector,
    swapped,
    with_features,
    write_commit,
)

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, FormatError, RewriteError
from parquet_bloom.render.hints import not_listed
from parquet_bloom.verbs import index_change


def user(n: int) -> str:
    return str(rows_of(n, 1)["id"][0])


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Six files in two partitions."""
    return make_table(tmp_path / "events", partition_by=["day"])


@pytest.fixture
def index(table: Path, tmp_path: Path) -> Path:
    pb.Index.build(tmp_path / "index", table, "id", table="auto").close()
    return tmp_path / "index"


def where(report: pb.IndexReport) -> dict[str, str]:
    """The verdicts on the first value, by name of file."""
    return {Path(file.path).name: file.verdict for file in report.results[0].files}


def holders(table: Path, value: str) -> set[str]:
    paths = [table / file.name for file in pb.open_table(table).files()]
    return {path.name for path in paths if value in pq.read_table(path)["id"].to_pylist()}


def test_every_value_is_found_where_it_is(table, index):
    with pb.Index(index) as found:
        for n in range(0, 900, 37):
            report = found.probe("id", user(n), files=table, table="delta")
            assert where(report) | dict.fromkeys(holders(table, user(n)), "maybe") == where(report)
            assert report.num_files == 6
        assert found.probe("id", "nobody", files=table, table="auto").is_absent
        assert [each.version for each in report.tables] == [2]
        assert found.check(deep=True).findings == ()


def test_add_goes_by_the_log(table, index, monkeypatch):
    with pb.Index(index) as found:
        write_deltalake(table, rows_of(900, 300), mode="append", partition_by=["day"])
        # A file that no version has is none of the table's.
        (table / "day=2026-11-01" / "stray.parquet").write_bytes(b"PAR1 or not")
        assert where(found.probe("id", user(901), files=table, table="auto")) == dict.fromkeys(
            {Path(name).name for name in set(live(table)) - {*live_at(table, 2)}}, "unknown"
        )
        change = found.add()
        assert (change.added, change.changed, change.removed, change.files) == (2, 0, 0, 8)
        assert set(where(found.probe("id", user(901)))) >= holders(table, user(901))
        assert found.add().generation == change.generation
        DeltaTable(table).delete("day = '2026-11-01'")
        change = found.add()
        # They are on disk until somebody vacuums the table.
        assert (change.added, change.removed, change.files) == (0, 4, 4)
        assert found.probe("id", user(900)).num_files == 4
        # Nothing is new in a commit of metadata but its number.
        configure(table, {"a": "b"})
        change = found.add()
        assert (change.added, change.removed) == (0, 0)
        assert found.probe("id", user(1)).tables[0].version == newest(table)
        assert found.check(deep=True).findings == ()


def live_at(table: Path, version: int) -> list[str]:
    return [file.name for file in pb.open_table(table, version=version).files()]


def test_filters_that_are_appended(table, index):
    build(table)
    with pb.Index(index) as found:
        # The same rows, but who can tell?
        assert set(where(found.probe("id", "nobody", files=table, table="auto")).values()) == {
            "unknown"
        }
        assert found.add().changed == 6
        assert found.probe("id", "nobody", files=table, table="auto").is_absent
        assert set(where(found.probe("id", user(3)))) >= holders(table, user(3))
        before = pb.TableView(version=2)
        assert pb.find(table, "id", user(3), table=before, index=index).rows


def test_a_version_and_a_partition(table, index):
    with pb.Index(index) as found:
        view = pb.TableView(kind="delta", version=0)
        assert found.probe("id", "nobody", files=table, table=view).num_files == 2
        view = pb.TableView(where={"day": "2026-11-01"})
        assert view == pb.TableView(where={"day": ["2026-11-01"]})
        with pytest.raises(TypeError, match=r"^where: day: 5, expected text, as the table has it"):
            pb.TableView(where={"day": 5})
        assert found.probe("id", "nobody", files=table, table=view).num_files == 3
        with pytest.raises(ValueError, match="table: an index is about all files of the newest"):
            found.add(table, table=view)
        with pytest.raises(TypeError, match="files: None, expected the tables"):
            found.probe("id", "nobody", table="auto")


def test_a_file_that_is_gone_is_unknown(table, index, tmp_path):
    (name, *_) = sorted(live(table))
    (table / name).unlink()
    with pb.Index(index) as found:
        report = found.probe("id", "nobody", files=table, table="auto")
        assert where(report) == {Path(name).name: "unknown"}
        assert found.add().not_indexed[0].path == str(table / name)
        assert where(found.probe("id", "nobody", files=table, table="auto")) == {
            Path(name).name: "unknown"
        }
    with pb.Index.build(tmp_path / "other", table, "id", table="auto") as found:
        assert found.probe("id", "nobody").results[0].verdict == "unknown"
    assert [Path(file.path).name for file in pb.find(table, "id", "x", table="auto").unknown] == [
        Path(name).name
    ]


def test_a_table_that_changes_while_it_is_read(table, tmp_path, monkeypatch):
    """Files are taken away between the log and their reading."""
    read = index_change._Change._read

    def vacuumed(self: Any, files: Any, *rest: Any) -> Any:
        DeltaTable(table).delete("day = '2026-11-02'")
        for path in (table / "day=2026-11-02").iterdir():
            path.unlink()
        return read(self, files, *rest)

    monkeypatch.setattr(index_change._Change, "_read", vacuumed)
    with pb.Index.build(tmp_path / "index", table, "id", table="auto") as found:
        monkeypatch.undo()
        verdicts = where(found.probe("id", "nobody", files=table, table=pb.TableView(version=2)))
        assert list(verdicts.values()) == ["unknown"] * 3
        assert found.add().removed == 3
        assert found.probe("id", "nobody", files=table, table="auto").is_absent


@pytest.mark.parametrize("seed", range(6))
def test_nothing_is_lost_to_a_rival(tmp_path, monkeypatch, seed):
    """Somebody changes the table and the index while we read."""
    source = random.Random(seed)
    table = make_table(tmp_path / "events", rows=40, partition_by=["day"])
    pb.Index.build(tmp_path / "index", table, "id", table="auto").close()
    read = index_change._Change._read

    def change() -> None:
        kind = source.choice(["append", "delete", "rewrite"])
        start = source.randrange(0, 4000)
        if kind == "append":
            write_deltalake(table, rows_of(start, 20), mode="append", partition_by=["day"])
        elif kind == "delete":
            DeltaTable(table).delete(f"n % 7 = {source.randrange(7)}")
        else:
            DeltaTable(table).optimize.compact()

    left = 0

    def overtaken(self: Any, *given: Any) -> Any:
        nonlocal left
        new, left = read(self, *given), left - 1
        if left == 0:
            change()
            with pb.Index(tmp_path / "index") as rival:
                rival.add()
        return new

    monkeypatch.setattr(index_change._Change, "_read", overtaken)
    with pb.Index(tmp_path / "index") as found:
        for _ in range(3):
            change()
            left = 1
            found.add()
            assert found.check(deep=True).findings == ()
            # Of two versions that were seen, nobody says which is the later one.
            assert found.probe("id", "nobody").tables[0].version in (None, newest(table))
        found.add()
        assert found.probe("id", "nobody").tables[0].version == newest(table)


def test_columns_that_are_called_otherwise(tmp_path, monkeypatch):
    table = swapped(tmp_path / "events", a="x", b="y")
    monkeypatch.chdir(tmp_path)
    with pb.Index.build(tmp_path / "index", table, ["a", "b"], table="auto") as found:
        assert found.probe("a", "in x", files=table, table="auto").results[0].verdict == "maybe"
        assert found.probe("a", "in y", files=table, table="auto").is_absent
        assert len(pb.find(table, "a", "in x", table="auto", index=tmp_path / "index").rows) == 9
        as_given = pb.find("events", "a", "in x", table="auto", index="index")
        assert as_given.rows == pb.find("events", "a", "in x", table="auto").rows
        schema = json.loads(last_action(table, "metaData")["schemaString"])
        for field in schema["fields"]:
            field["name"] = {"a": "b", "b": "a"}[field["name"]]
        metadata = last_action(table, "metaData") | {"schemaString": json.dumps(schema)}
        write_commit(table, {"metaData": metadata})
        report = found.probe("a", "in y", files=table, table="auto")
        assert report.results[0].verdict == "unknown"
        for index in (None, tmp_path / "index"):
            for files in (table, None)[: 1 + bool(index)]:
                kind = None if files is None else "auto"
                assert len(pb.find(files, "a", "in y", table=kind, index=index).rows) == 9
        assert {each.problem for each in found.check().findings} == {"changed"}
        assert found.add().changed == 1
        assert found.probe("a", "in y", files=table, table="auto").results[0].verdict == "maybe"
        assert found.probe("a", "in x", files=table, table="auto").is_absent
        found.compact(everything=True, older_than=0)
        assert found.check(deep=True).findings == ()
        # Files by themselves call it otherwise.
        path = table / "part-0.parquet"
        assert found.probe("a", "in y", files=path).results[0].verdict == "unknown"


@pytest.mark.parametrize("physical", ["x", "a"], ids=["mapped", "as-it-was"])
def test_a_column_that_is_called_otherwise_by_now_is_named(tmp_path, physical):
    table = swapped(tmp_path / "events", a=physical, b="b-physical")
    index = ("--index", tmp_path / "index")
    assert outcome("index", "build", *index, "-c", "a,b", "--table", "delta", table).code == 0
    schema = json.loads(last_action(table, "metaData")["schemaString"])
    (field,) = (each for each in schema["fields"] if each["name"] == "a")
    field["name"] = "renamed"
    metadata = last_action(table, "metaData") | {"schemaString": json.dumps(schema)}
    write_commit(table, {"metaData": metadata})
    added = outcome("index", "add", *index)
    told = "no column a, which the table calls renamed by now: index build makes an index of that"
    assert (added.code, added.complaint.partition(": a: ")[2]) == (0, f"not indexed: {told}")
    with pb.Index(tmp_path / "index") as found:
        (result,) = found.probe("a", "in x", files=table, table="auto").results
        assert {file.reason for file in result.files} == {told}
        assert found.probe("b", "nobody", files=table, table="auto").is_absent


def test_rows_that_a_deletion_vector_deletes_are_in_the_file(table, tmp_path):
    with_features(
        table, reader=["deletionVectors"], configuration={"delta.enableDeletionVectors": "true"}
    )
    pb.Index.build(tmp_path / "index", table, "id", table="auto").close()
    (row,) = pb.find(table, "id", user(7), table="auto").rows
    name = str(Path(row.path).relative_to(table))
    delete_rows(table, name, inline_vector([row.row]))
    for index in (None, tmp_path / "index"):
        report = pb.find(table, "id", user(7), table="auto", index=index)
        assert report.rows == (replace(row, deleted=True),)
        assert (report.deleted_in, report.num_deleted) == ((row.path,), 1)
    assert pb.find(table, "id", user(8), table="auto").deleted_in == ()
    # Of those beside it, the table has deleted none.
    report = pb.find(table, "id", [user(7), user(9)], table="auto")
    assert [each.deleted for each in report.rows] == [each.value == user(7) for each in report.rows]
    assert report.account([user(7), user(9)])["deleted"].drop_null().to_pylist() == [True, False]
    asked = ("find", table, "--table", "delta", "-c", "id", "-v", user(7))
    result = outcome(*asked)
    assert (result.code, result.stdout.splitlines()[:2]) == (
        0,
        ["id\tfile\trow group\trow\tin table", f"{user(7)}\t{row.path}\t0\t{row.row}\tdeleted"],
    )
    assert result.stderr == (
        "pbloom: 1 row deleted in the table, but still in the files until they are rewritten\n"
    )
    assert json.loads(outcome(*asked, "--json").stdout)["rows"][0]["deleted"] is True
    # What cannot be read of that hides no row.
    delete_rows(table, name, inline_vector([row.row]) | {"cardinality": 2})
    (found_row,) = pb.find(table, "id", user(7), table="auto").rows
    assert found_row == replace(row, deleted=None)
    assert outcome(*asked).stderr == (
        f"pbloom: {row.path}: nobody can tell which of these rows the table has deleted: deletion vector of 1 rows, expected 2\n"
    )
    delete_rows(table, name, vector := stored_vector(table, [row.row]))
    (stored,) = table.glob("deletion_vector_*.bin")
    assert vector["cardinality"] == outcome(*asked).stdout.count("\tdeleted\n")
    stored.unlink()
    result = outcome(*asked)
    assert f"{user(7)}\t{row.path}\t0\t{row.row}\tunknown\n" in result.stdout
    assert result.complaint.endswith(
        f"which of these rows the table has deleted: {stored}: No such file or directory"
    )
    beside = outcome("find", table, "--table", "delta", "-c", "id", "-v", user(150))
    assert beside.stdout.splitlines()[0] == "id\tfile\trow group\trow\tin table"
    # The file is the same.
    with pb.Index(tmp_path / "index") as found:
        assert found.add().changed == 0


def test_find_looks_into_live_files_only(table, index):
    DeltaTable(table).delete(f"id = '{user(9)}'")
    # The old file is still there; the new one is not in the index.
    for files, kind in ((table, "auto"), (None, None)):
        report = pb.find(files, "id", user(9), table=kind, index=index)
        assert (report.rows, report.unknown, report.num_files) == ((), (), 6)
        report = pb.find(files, "id", user(11), table=kind, index=index)
        assert [Path(row.path).name for row in report.rows] == list(holders(table, user(11)))
    assert len(pb.find(table, "id", user(9), table=pb.TableView(version=2)).rows) == 1


def test_a_folder_that_is_gone_is_unknown(table, index, tmp_path):
    """It may be mounted elsewhere, or not now."""
    folder = tmp_path / "plain"
    folder.mkdir()
    pq.write_table(rows_of(5000, 10), folder / "plain.parquet")
    with pb.Index(index) as found:
        found.add(folder)
    assert len(pb.find(None, "id", user(5003), index=index).rows) == 1
    folder.rename(tmp_path / "elsewhere")
    report = pb.find(None, "id", user(5003), index=index)
    reason = "nothing is there any more, and the index is about it: index remove forgets it"
    assert (report.rows, report.is_absent) == ((), False)
    assert report.unknown == (pb.UnknownFile(str(folder), reason),)
    # The live files of the table, and the folder.
    assert report.num_files == 7
    with pb.Index(index) as found:
        assert not found.new_values("id", [user(5003)], verify=True).any()
        # Whether the index knows it as new or not.
        nobody = [f"nobody {number}" for number in range(20)]
        assert not found.new_values("id", nobody, verify=True).any()
    with pb.Index(index) as found:
        found.remove(folder)
    assert pb.find(None, "id", user(5003), index=index).is_absent


def test_new_values_are_verified_in_a_table_as_it_is_now(table, index):
    nobody = [user(number) for number in range(6000, 6100)]
    with pb.Index(index) as found:
        assert found.new_values("id", nobody, verify=True).all()
        write_deltalake(table, rows_of(6000, 50), mode="append")
        assert found.new_values("id", nobody, verify=True).tolist() == [False] * 50 + [True] * 50
        # What a table has put in the place of a file, it says itself.
        held = user(3)
        DeltaTable(table).optimize.compact()
        assert (
            found.new_values("id", [held, *nobody], verify=True).tolist()
            == [False] * 51 + [True] * 50
        )


def test_remove_and_several_sources(table, index, tmp_path):
    other = make_table(tmp_path / "other", commits=1)
    pq.write_table(rows_of(5000, 10), tmp_path / "plain.parquet")
    with pb.Index(index) as found:
        found.add(other, table="delta")
        found.add(tmp_path / "plain.parquet")
        assert found.probe("id", user(5003)).num_files == 8
        assert [Path(each.name).name for each in found.probe("id", "x").tables] == [
            "events", "other"
        ]  # fmt: skip
        assert found.remove(table).removed == 6
        assert found.add().files == 2
        assert found.check(deep=True).findings == ()
        # Of a table that nobody can read any more.
        (other / "_delta_log" / f"{0:020}.json").unlink()
        with pytest.raises((RewriteError, FormatError)) as raised:
            found.add()
        assert "\n" not in str(raised.value)
        assert [each.problem for each in found.check().findings] == ["unlisted"]
        assert found.remove(other).removed == 1
        assert found.add().files == 1


def test_what_is_refused(table, tmp_path):
    (tmp_path / "plain").mkdir()
    for files, columns, error, message in [
        (tmp_path / "plain", "id", RewriteError, "neither _delta_log nor metadata"),
        (table, "idd", ColumnError, "idd"),
        (table, "day", ColumnError, "is a partition column, whose values are not in the files"),
    ]:
        with pytest.raises(error, match=message):
            pb.Index.build(tmp_path / "index", files, columns, table="auto")
    assert not (tmp_path / "index").exists()


@pytest.fixture
def iceberg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    iceberg_tables.use_catalog(tmp_path, monkeypatch)
    return iceberg_tables.make_table()


def test_iceberg(iceberg, tmp_path):
    view = pb.TableView(kind="iceberg", catalog=iceberg_tables.CATALOG)
    name = iceberg_tables.NAME
    with pb.Index.build(tmp_path / "index", name, "id", table=view) as found:
        report = found.probe("id", user(5), files=name, table=view)
        assert report.results[0].verdict == "maybe"
        assert report.tables[0].version == iceberg.current_snapshot().snapshot_id
        assert found.probe("id", "nobody", files=name, table=view).is_absent
        iceberg.append(rows_of(900, 50))
        assert set(where(found.probe("id", "x", files=name, table=view)).values()) == {"unknown"}
        assert found.add().added == 2
        (row,) = pb.find(name, "id", user(905), table=view, index=tmp_path / "index").rows
        iceberg_tables.delete_positions(iceberg_tables.load(), f"file://{row.path}", [row.row])
        report = pb.find(None, "id", user(905), index=tmp_path / "index")
        assert [each.row for each in report.rows] == [row.row]
        assert (report.deleted_in, report.num_deleted) == ((row.path,), 1)
        with iceberg_tables.load().update_schema() as update:
            update.rename_column("id", "was_id")
        with iceberg_tables.load().update_schema() as update:
            update.rename_column("day", "id")
        report = found.probe("id", "2026-11-01", files=name, table=view)
        assert report.results[0].verdict == "unknown"
        assert found.remove(name).removed == 8


def test_commands(table, tmp_path):
    index = tmp_path / "index"
    result = outcome("index", "build", "--index", index, table, "--table", "auto", "-c", "id")
    assert result.code == 0
    assert result.stdout.startswith(f"{index}: 6 files: 6 added, 0 changed, 0 removed; 900 keys")
    result = outcome("index", "add", "--index", index)
    assert result.stdout == f"{index}: 6 files: 0 added, 0 changed, 0 removed\n"
    asked = ("index", "probe", "--index", index, "-c", "id", "-v", "nobody")
    result = outcome(*asked, "--table", "delta", table, "--version", 1)
    assert (result.code, result.stdout.splitlines()[1:]) == (
        1, [f"{table} at version 2", "nobody: absent"]
    )  # fmt: skip
    assert result.stderr == ""
    # Nobody has looked at the log.
    said = not_listed(f"pbloom index add --index {index}", are_tables=True)
    assert outcome(*asked).complaint == said
    assert outcome(*asked, "--json").stderr == ""
    result = outcome("find", "--index", index, "-c", "id", "-v", user(3))
    assert result.code == 0
    assert "1 row in 1 of 6 files" in result.stdout
    for arguments in (
        (*asked, "--table", "delta"),
        ("find", "--index", index, "--table", "delta", "-c", "id", "-v", "x"),
    ):
        assert outcome(*arguments).stderr.endswith("--table: expected FILE, the tables\n")


def manifest_of(index: Path) -> tuple[Path, dict[str, Any]]:
    path = max(index.glob("manifest-*"))
    return path, json.loads(path.read_bytes())["index"]


def write_manifest(path: Path, found: Any) -> None:
    body = json.dumps(found).encode()
    path.write_bytes(f'{{"crc32": "{crc32(body):08x}", "index": '.encode() + body + b"}")


def test_a_table_that_was_removed_meanwhile_does_not_come_back(table, index, tmp_path):
    plain, left = tmp_path / "plain.parquet", [table]
    write_deltalake(table, rows_of(6000, 10), mode="append")
    pq.write_table(rows_of(5000, 10), plain)

    def remove(done: int, total: int) -> None:
        if left:
            with pb.Index(index) as other:
                other.remove(left.pop())

    with pb.Index(index) as found:
        found.add(plain, progress=remove)
    with pb.Index(index) as found:
        assert {unit.path for unit, _ in found._asked.units("id")} == {str(plain)}
        assert found._asked.manifest.tables == ()
        assert found.check(deep=True).findings == ()


def test_manifests_of_before_have_no_tables(tmp_path):
    pq.write_table(rows_of(0, 10), tmp_path / "plain.parquet")
    index = tmp_path / "index"
    pb.Index.build(index, tmp_path / "plain.parquet", "id").close()
    path, found = manifest_of(index)
    del found["tables"], found["identity"]
    for segment in found["segments"]:
        del segment["read_as"]
    write_manifest(path, found)
    with pb.Index(index) as old:
        assert old.probe("id", user(3), files=tmp_path / "plain.parquet").tables == ()
        assert old.add().generation == 1
        assert old.check(deep=True).findings == ()


@pytest.mark.parametrize(
    "wrong",
    [1, "x", [], {}, {"name": 1}, {"kind": "hudi"}, {"kind": ["delta"]}]
    + [{"version": each} for each in (-1, "1", 1.5, 1 << 70)]
    + [{"catalog": 1}],
)
def test_hostile_tables(index, wrong):
    path, found = manifest_of(index)
    whole = found["tables"][0]
    found["tables"] = [whole | wrong if isinstance(wrong, dict) and wrong else wrong]
    write_manifest(path, found)
    with pytest.raises(FormatError, match="not a manifest of an index"):
        pb.Index(index)


def test_every_row_of_a_table_says_whether_it_is_there(table):
    """So that the columns of an answer do not depend on what was deleted."""
    asked = ("find", table, "-c", "id", "-v", user(7))
    (row,) = pb.find(table, "id", user(7), table="delta").rows
    lines = outcome(*asked, "--table", "delta").stdout.splitlines()
    assert lines[:2] == [
        "id\tfile\trow group\trow\tin table",
        f"{user(7)}\t{row.path}\t0\t{row.row}\tyes",
    ]
    of_files = outcome("find", *table.rglob("*.parquet"), *asked[2:])
    assert of_files.stdout.splitlines()[0] == "id\tfile\trow group\trow"


def test_the_filters_of_a_table_are_validated_as_such(table, tmp_path):
    build(table)
    account = tmp_path / "account.parquet"
    found = outcome(
        "find", table, "--table", "delta", "-c", "id", "-v", "user 05x", "--report", account
    )
    validate = f"pbloom validate --pages {table} --table delta"
    assert f"filters (`{validate}` does that)" in found.stderr
    assert outcome(*validate.split()[1:], "--no-config").code == 0
