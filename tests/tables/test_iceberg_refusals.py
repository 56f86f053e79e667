"""Iceberg tables that are not changed, and why."""

import json
from importlib import metadata

import pyarrow.parquet as pq
import pytest
from make.commands import files_in, outcome
from make.delta_tables import rows_of
from make.iceberg_tables import (
    CATALOG,
    NAME,
    build,
    load,
    make_table,
    path_of,
    use_catalog,
)
from pyiceberg.manifest import ManifestFile
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import DoubleType, NestedField, StringType

import parquet_bloom as pb


@pytest.fixture(autouse=True)
def catalog(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)


def refused():
    """Why, whatever is asked for; nothing is written."""
    folder = path_of(load().location())
    before = files_in(folder)
    messages = set()
    for options in ({}, {"dry_run": True}, {"commit": False}):
        with pytest.raises(pb.RewriteError) as raised:
            build(**options)
        messages.add(str(raised.value).removeprefix(f"{NAME}: not changed: "))
    assert files_in(folder) == before
    (message,) = messages
    return message


def as_version_3():
    """Which PyIceberg does not write."""
    place = path_of(load().metadata_location)
    metadata = json.loads(place.read_text())
    place.write_text(json.dumps(metadata | {"format-version": 3, "next-row-id": 0}))


def test_version_1():
    make_table(commits=1, properties={"format-version": "1"})
    assert refused() == (
        "format version 1, expected 2: ALTER TABLE … SET TBLPROPERTIES ('format-version' = '2')"
    )
    with load().transaction() as transaction:
        transaction.upgrade_table_version(2)
    # Its manifests are of version 1.
    assert build().committed is not None
    assert load().scan().to_arrow().num_rows == 300


def test_version_3():
    make_table(commits=1)
    as_version_3()
    assert refused() == "format version 3, whose manifests PyIceberg does not write: expected 2"


def test_partitions_by_doubles():
    """The quick decoder of PyIceberg 0.12.0 reads them as floats, so that they would be written so."""
    schema = Schema(
        NestedField(1, "id", StringType(), required=False),
        NestedField(2, "n", DoubleType(), required=False),
        NestedField(3, "day", StringType(), required=False),
    )
    spec = PartitionSpec(PartitionField(2, 1000, IdentityTransform(), "x"))
    table = make_table(commits=0, schema=schema, spec=spec)
    table.append(rows_of(0, 3).cast(table.schema().as_arrow()))
    assert refused() == (
        "its files are partitioned by n, a double, which PyIceberg reads from manifests with the precision"
        " of a float"
    )


@pytest.mark.every(2)
@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("false", "false"),
        ("FALSE", "FALSE"),
        ("FALSE ", "'FALSE '"),
        (" true", "' true'"),
        ("", "''"),
        ("yes", "yes"),
        ("1", "1"),
    ],
)
def test_files_of_other_tables(value, shown):
    """Java takes nothing for true but `true`."""
    make_table(commits=1, properties={"gc.enabled": value})
    assert refused() == (
        f"gc.enabled is {shown}: its files may belong to another table, which would not learn of"
        " the change: set it to true if they are its own"
    )


@pytest.mark.parametrize("value", ["true", "TRUE", "True"])
def test_files_of_its_own(value):
    make_table(commits=1, properties={"gc.enabled": value})
    assert build().committed is not None


def test_tables_that_are_to_be_encrypted():
    make_table(commits=1, properties={"encryption.key-id": "lake"})
    assert refused() == (
        "encryption.key-id is set: its manifests must be encrypted, which PyIceberg does not do"
    )


def test_views_of_delta_tables():
    make_table(commits=1, properties={"delta-version": "7"})
    assert refused() == "it is a view of a Delta table (UniForm): commit to that one"


def test_encrypted_manifests(monkeypatch):
    make_table(commits=1)
    monkeypatch.setattr(ManifestFile, "key_metadata", property(lambda _: b"key"))
    assert refused() == "its manifests are encrypted, which PyIceberg does not write"


def test_other_versions_of_the_library(monkeypatch):
    make_table(commits=1)
    monkeypatch.setattr("parquet_bloom.tables.iceberg.library.version", lambda _: "0.13.0")
    assert refused() == (
        "pyiceberg is 0.13.0, expected 0.12.0: pip install 'parquet-bloom[iceberg]'"
    )


def test_without_the_library(monkeypatch, tmp_path):
    make_table(commits=1)
    folder = path_of(load().location())

    def missing(_):
        raise metadata.PackageNotFoundError

    monkeypatch.setattr("parquet_bloom.tables.iceberg.library.version", missing)
    for where, catalog in ((NAME, CATALOG), (folder, None)):
        with pytest.raises(pb.UnsupportedError) as raised:
            pb.build_table(where, columns="id", catalog=catalog)
        assert str(raised.value) == (
            f"{where}: needs pyiceberg, which is not installed: pip install 'parquet-bloom[iceberg]'"
        )


def test_a_table_that_became_unwritable_meanwhile(monkeypatch):
    make_table(commits=1)
    from parquet_bloom.options import BuildOptions, TableOptions
    from parquet_bloom.tables.open import open_table
    from parquet_bloom.verbs.build_table import build_in_table

    table = open_table(NAME, catalog=CATALOG)
    with pytest.raises(pb.RewriteError) as raised:
        build_in_table(
            table,
            BuildOptions(columns=("id",)),
            TableOptions(where={}),
            progress=lambda *_: as_version_3(),
        )
    assert str(raised.value) == (
        f"{NAME}: changed in the meantime: format version 3, whose manifests PyIceberg does not"
        " write:"
        " expected 2"
    )


def test_a_file_of_another_size():
    make_table(commits=1)
    name = min(file.file for file in build(dry_run=True).files)
    with open(path_of(name), "ab") as file:
        file.write(b"more")
    report = build()
    assert [file.action for file in report.files] == ["failed", "appended"]
    assert report.committed is not None


@pytest.mark.parametrize("damage", [b"", b"{}", b'{"format-version": 9}', b"\xff"])
def test_damaged_metadata(damage):
    make_table(commits=1)
    place = path_of(load().metadata_location)
    folder = path_of(load().location())
    place.write_bytes(damage)
    with pytest.raises(pb.RewriteError, match=f"^{NAME}: PyIceberg: "):
        build()
    with pytest.raises(pb.RewriteError, match=f"^{folder}: PyIceberg: "):
        pb.build_table(folder, columns="id", dry_run=True)


def test_a_format_that_is_not_known_yet():
    make_table(commits=1)
    place = path_of(load().metadata_location)
    folder = path_of(load().location())
    place.write_bytes(place.read_bytes().replace(b'"format-version":2', b'"format-version":4'))
    with pytest.raises(pb.RewriteError) as raised:
        pb.build_table(folder, columns="id", dry_run=True)
    assert str(raised.value) == (
        f"{folder}: PyIceberg: format version 4, which it does not read: expected one of 1, 2, 3"
    )


@pytest.mark.parametrize("kind", ["manifest_list", "manifest_path"])
@pytest.mark.parametrize("damage", [b"", b"Obj\x01nothing", None])
def test_damaged_manifests(kind, damage):
    table = make_table(commits=1)
    snapshot = table.current_snapshot()
    name = snapshot.manifest_list
    if kind == "manifest_path":
        name = snapshot.manifests(table.io)[0].manifest_path
    if damage is None:
        path_of(name).unlink()
    else:
        path_of(name).write_bytes(damage)
    with pytest.raises((pb.RewriteError, OSError), match=r"PyIceberg: |No such file"):
        build()


def test_no_table(tmp_path):
    with pytest.raises(pb.RewriteError) as raised:
        pb.build_table(tmp_path, columns="id", kind="iceberg")
    assert str(raised.value) == (
        f"{tmp_path}: no metadata/*.metadata.json in it, expected the folder of an Iceberg table"
    )


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("iceberg", "; for a table of a catalog, give catalog=NAME, in a TableView for what reads"),
        ("auto", "; for a table of a catalog, give catalog=NAME, in a TableView for what reads"),
        ("delta", ""),
    ],
)
def test_no_folder(kind, way, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pb.RewriteError) as raised:
        pb.build_table("lake.events", columns="id", kind=kind)
    assert str(raised.value) == f"lake.events: no such folder{way}"
    result = outcome("inspect", "lake.events", "--table", kind)
    assert result.complaint == f"{raised.value}".replace(
        "catalog=NAME, in a TableView for what reads", "--catalog NAME"
    )


def test_a_file_of_a_table_names_the_way_to_change_it(tmp_path):
    (tmp_path / "metadata").mkdir()
    (tmp_path / "metadata" / "v1.metadata.json").touch()
    pq.write_table(rows_of(0, 3), tmp_path / "a.parquet")
    result = outcome("build", tmp_path / "a.parquet", "-c", "id", "--in-place")
    assert result.complaint == (
        f"{tmp_path}/a.parquet: belongs to the Iceberg table {tmp_path}, which records the size of its files:"
        " not changed in place; change the table with --table of `pbloom build`, `repair` and `strip`, which also commits"
        " the new sizes, to its catalog with --catalog NAME, or write copies with -o or --output-dir"
    )
    with pytest.raises(pb.RewriteError) as raised:
        pb.build(tmp_path / "a.parquet", columns="id", in_place=True)
    assert str(raised.value).endswith(
        "; change the table by build_table, repair_table and strip_table, which also commit the new sizes, to its"
        " catalog with catalog=NAME, or write copies with output="
    )


@pytest.mark.parametrize(
    ("mark", "table", "kind"),
    [
        ("metadata/v1.metadata.json", "an Iceberg table", "iceberg"),
        ("_delta_log/0.json", "a Delta table", "delta"),
    ],
)
def test_whoever_asks_the_folder_of_a_table_is_told(mark, table, kind, tmp_path):
    (tmp_path / mark).parent.mkdir()
    (tmp_path / mark).touch()
    pq.write_table(rows_of(0, 3), tmp_path / "a.parquet")
    result = outcome("inspect", tmp_path)
    assert result.code == 0
    assert result.stderr.startswith(
        f"pbloom: {tmp_path}: {table}, of which --table {kind} takes the live files; this is about all files in"
        " its folder, and none of these is changed in place\n"
    )
