"""Partitions with every kind of value, delete files, columns that were renamed, specs that were changed,
files of other formats: what is committed, and what readers find."""

import datetime
import decimal
import json
import uuid
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.delta_tables import rows_of
from make.iceberg_features import MOMENT, VALUES, make_partitioned
from make.iceberg_tables import (
    CATALOG,
    NAME,
    build,
    delete_equal,
    delete_positions,
    entries,
    live,
    load,
    make_table,
    path_of,
    strip,
    use_catalog,
)
from oracle.iceberg_expiry import by_increments
from oracle.iceberg_readers import by_pyiceberg, rows_at
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat, ManifestContent
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    IdentityTransform,
    MonthTransform,
    TruncateTransform,
)
from pyiceberg.typedef import Record
from pyiceberg.types import (
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    UUIDType,
)

import parquet_bloom as pb
from parquet_bloom.storage.address import Address
from parquet_bloom.tables.iceberg.live_files import place
from parquet_bloom.tables.open import open_table

UTC = datetime.UTC


@pytest.fixture(autouse=True)
def catalog(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)


def delete_manifests(table):
    return [
        manifest.manifest_path
        for manifest in table.current_snapshot().manifests(table.io)
        if manifest.content == ManifestContent.DELETES
    ]


# ------------------------------------------------------------------------------------------------
# Properties

ENABLED, RATE = (f"write.parquet.bloom-filter-{name}.column.id" for name in ("enabled", "fpp"))


def test_writers_are_told_to_go_on():
    make_table()
    load().transaction().set_properties({ENABLED: "false"}).commit_transaction()
    before = dict(load().properties)
    asked = {ENABLED: "true", RATE: "0.001"}
    assert build(set_properties=True, fpp=0.001, dry_run=True).properties == asked
    assert load().properties == before

    report = build(set_properties=True, fpp=0.001)
    assert report.properties == asked
    assert load().properties == {**before, **asked}
    # What was told names the columns of the next run, and is not told again.
    again = build(columns=None, set_properties=True, existing="replace")
    assert (again.columns, again.properties) == (("id",), {})


def test_properties_of_a_column_that_was_renamed_or_dropped_are_told():
    make_table()
    build(columns=["id", "n"], set_properties=True)
    with load().update_schema() as update:
        update.rename_column("id", "user_id")
    notes = build(columns=None).notes
    assert notes[0] == "the table's properties name id, which is called user_id now"
    with load().update_schema() as update:
        update.delete_column("n")
    with pytest.raises(pb.UnsupportedError) as raised:
        build(columns=None)
    assert str(raised.value) == (
        f"{NAME}: no column to build: its properties name id, which is called user_id now; its properties name n, which"
        " is no column now"
    )


def test_the_largest_bitset_is_told_if_it_is_given():
    make_table()
    asked = {ENABLED: "true", RATE: "0.01", "write.parquet.bloom-filter-max-bytes": "4096"}
    assert build(set_properties=True, max_bytes=4096).properties == asked
    assert asked.items() <= load().properties.items()


def test_who_commits_in_the_meantime_loses_no_property():
    make_table()
    table = open_table(NAME, "iceberg", catalog=CATALOG)
    load().transaction().set_properties({"owner": "me"}).commit_transaction()
    told = table.tell_writers({"id": 0.05}, None, dry_run=False)
    assert told == {ENABLED: "true", RATE: "0.05"}
    assert {"owner": "me", **told}.items() <= load().properties.items()


def test_the_command_says_what_it_set():
    make_table()
    asked = ("build", NAME, "--table", "iceberg", "--catalog", CATALOG, "-c", "id", "--all-sizes")
    told = outcome(*asked, "--set-properties")
    assert f"set: {ENABLED}=true" in told.stdout.splitlines()
    assert "properties: PyIceberg up to 0.12 writes no filters, and warns" in told.stdout
    refused = outcome(*asked, "--set-properties", "--no-commit")
    assert refused.complaint == "--set-properties: not with --no-commit"


# ------------------------------------------------------------------------------------------------
# Partitions

TEXTS = {
    ("d", datetime.date(1969, 12, 31)): "1969-12-31",
    ("ts", MOMENT): "2026-11-22T06:30:01.123456",
    ("tz", MOMENT.replace(tzinfo=UTC)): "2026-11-22T06:30:01.123456+00:00",
    ("dec", decimal.Decimal("-1.50")): "-1.50",
    ("b", True): "true",
    ("l", -(2**63)): str(-(2**63)),
    ("s", "50%25"): "50%25",
}


def check_partitions():
    """Build, strip, and build again: everything of every entry but the size stays."""
    table = load()
    expected, old = rows_at(table), entries(table)
    summaries = [each.partitions for each in table.current_snapshot().manifests(table.io)]
    assert {file.action for file in build().files} == {"appended"}
    strip()
    build()
    table = load()
    new = entries(table)
    assert new.keys() == old.keys()
    for path, entry in new.items():
        assert entry.data_file.partition == old[path].data_file.partition
        assert entry.data_file.lower_bounds == old[path].data_file.lower_bounds
        assert entry.data_file.file_size_in_bytes > old[path].data_file.file_size_in_bytes
    assert [each.partitions for each in table.current_snapshot().manifests(table.io)] == summaries
    for snapshot in table.snapshots():
        assert by_pyiceberg(table, snapshot.snapshot_id) == expected
    assert rows_at(table) == expected


@pytest.mark.every(3)
@pytest.mark.parametrize("column", VALUES)
def test_partitions_of_every_kind(column):
    _, values = make_partitioned(column)
    found = open_table(NAME, catalog=CATALOG)
    assert found.partition_columns == (column,)
    texts = {file.partition[column] for file in found.files()}
    assert len(texts) == len(values)
    assert None in texts
    for (name, value), text in TEXTS.items():
        if name == column and value in values:
            assert text in texts
    for text in texts:
        assert len(build(where={column: text}, dry_run=True).files) == 1
    check_partitions()


def test_partitions_of_uuids():
    """Which PyIceberg does not write; so by hand."""
    schema = Schema(
        NestedField(1, "id", StringType(), required=False),
        NestedField(2, "n", LongType(), required=False),
        NestedField(3, "u", UUIDType(), required=False),
    )
    spec = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "u"))
    table = make_table(commits=0, schema=schema, spec=spec)
    with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
        for number in (None, 7, 2**127):
            path = path_of(table.location()) / f"{number}.parquet"
            path.parent.mkdir(exist_ok=True)
            found = rows_of(0, 10).drop_columns("day")
            fields = [
                found.schema.field(at).with_metadata({"PARQUET:field_id": str(at + 1)})
                for at in range(2)
            ]
            pq.write_table(found.cast(pa.schema(fields)), path)
            file = DataFile.from_args(
                content=DataFileContent.DATA,
                file_path=f"file://{path}",
                file_format=FileFormat.PARQUET,
                partition=Record(None if number is None else uuid.UUID(int=number)),
                record_count=10,
                file_size_in_bytes=path.stat().st_size,
            )
            file.spec_id = 0
            append.append_data_file(file)
    found = {file.partition["u"] for file in open_table(NAME, catalog=CATALOG).files()}
    assert found == {None, str(uuid.UUID(int=7)), str(uuid.UUID(int=2**127))}
    check_partitions()


@pytest.mark.parametrize(
    ("column", "transform", "texts"),
    [
        ("ts", DayTransform(), {None, "2026-11-22", "1969-12-31"}),
        ("d", MonthTransform(), {None, "2026-11", "1969-12"}),
        ("i", TruncateTransform(10), {None, "-10", "0", "2147483640"}),
        ("l", BucketTransform(4), None),
    ],
)
def test_partitions_of_transforms(column, transform, texts):
    make_partitioned(column, transform)
    found = open_table(NAME, catalog=CATALOG)
    (name,) = found.partition_columns
    assert name == f"{column}_{transform.root}"
    if texts is not None:
        assert {file.partition[name] for file in found.files()} == texts
    check_partitions()


def test_what_is_in_a_partition_is_found_in_files_of_another_spec():
    table = make_table(commits=1)
    with table.update_spec() as change:
        change.remove_field("day")
    later = rows_of(300, 50)
    load().append(later)
    build()
    value, day = later["id"][0].as_py(), later["day"][0].as_py()
    place = (NAME, "--table", "iceberg", "--catalog", CATALOG)
    result = outcome("probe", *place, "-c", "id", "-v", value, "--where", f"day={day}", "--json")
    found = {
        Path(each["path"]).parent.name: each["results"]
        for each in map(json.loads, result.stdout.splitlines())
    }
    assert {place: each["verdict"] for place, (each,) in found.items()} == {
        f"day={day}": "absent",
        "data": "maybe",
    }


def test_a_spec_of_a_column_that_is_gone():
    table = make_table(commits=1)
    with table.update_spec() as change:
        change.remove_field("day")
    table = load()
    with table.update_schema() as change:
        change.delete_column("day")
    load().append(rows_of(300, 50).drop_columns("day"))
    found = open_table(NAME, catalog=CATALOG)
    assert found.partition_columns == ("day",)
    # The file of the new spec is in no partition, not even in that of null, and can have rows of any.
    assert len(build(where={"day": "2026-11-01"}, dry_run=True).files) == 2
    with pytest.raises(pb.RewriteError, match="no live file"):
        build(where={"day": None})
    expected = by_pyiceberg(load())
    old = entries(load())
    assert len(build().files) == 3
    for path, entry in entries(load()).items():
        assert entry.data_file.partition == old[path].data_file.partition
    assert by_pyiceberg(load()) == expected


# ------------------------------------------------------------------------------------------------
# Delete files


def test_position_deletes():
    table = make_table(commits=2)
    name = min(live())
    delete_positions(table, name, [0, 5, 149])
    before, manifests = rows_at(load()), delete_manifests(load())
    assert len(before) == 597
    note = "1 position delete file in the table: filters still find the rows that they delete"
    assert note in build(dry_run=True).notes
    for change in (lambda: build(commit=False), build, lambda: build(columns=["n"]), strip, build):
        change()
        assert rows_at(load()) == before
        assert delete_manifests(load()) == manifests
    assert by_increments(load(), 1) == set()


def test_equality_deletes():
    """Readers here know none; what they ask for is that sequence numbers stay."""
    table = make_table(commits=2)
    name = min(live())
    delete_equal(table, name, [0, 2])
    load().append(rows_of(600, 50))
    delete_positions(load(), max(live()), [1])
    before, manifests = entries(load()), delete_manifests(load())
    assert len(manifests) == 2
    expected = "1 position delete file and 1 equality delete file in the table"
    for change in (build, lambda: build(columns=["n"]), strip, build):
        report = change()
        assert change is strip or any(note.startswith(expected) for note in report.notes)
        after = entries(load())
        assert after.keys() == before.keys()
        for path, entry in after.items():
            assert entry.sequence_number == before[path].sequence_number
            assert entry.file_sequence_number == before[path].file_sequence_number
            assert entry.snapshot_id == before[path].snapshot_id
        assert delete_manifests(load()) == manifests


# ------------------------------------------------------------------------------------------------
# Columns


def test_renamed_columns():
    table = make_table(commits=1)
    with table.update_schema() as change:
        change.rename_column("id", "user")
    rows = rows_of(300, 100)
    load().append(rows.rename_columns(["user", "n", "day"]))
    with pytest.raises(pb.ColumnError) as raised:
        build(columns=["id"])
    assert str(raised.value) == f"{NAME}: no column id; the table has day, n, user"
    report = build(columns=["user"])
    assert {file.action for file in report.files} == {"appended"}
    names = set()
    for path in live():
        with pb.open(path_of(path)) as file:
            (name,) = {"id", "user"} & {*file.columns}
            names.add(name)
            assert file.bloom_filter(0, name) is not None
    assert names == {"id", "user"}


def test_commands_that_read_tell_of_deletes():
    make_table(commits=1)
    delete_positions(load(), min(live()), [1])
    result = outcome("inspect", NAME, "--table", "auto", "--catalog", CATALOG, "--summary")
    assert result.complaint == (
        f"{NAME}: 1 position delete file in the table: filters still find the rows that they delete"
    )


def test_a_column_that_took_the_name_of_another():
    table = make_table(commits=1)
    with table.update_schema() as change:
        change.rename_column("id", "old_id")
    with load().update_schema() as change:
        change.add_column("id", StringType())
    report = build(columns=["id"])
    assert {(file.action, file.reason) for file in report.files} == {
        ("unchanged", "has none of these columns")
    }


NESTED = Schema(
    NestedField(1, "id", StringType(), required=False),
    NestedField(2, "n", LongType(), required=False),
    NestedField(3, "tags", ListType(10, StringType(), element_required=False), required=False),
    NestedField(
        4,
        "m",
        MapType(11, StringType(), 12, LongType(), value_required=False),
        required=False,
    ),
    NestedField(
        5,
        "s",
        StructType(NestedField(13, "a.b", StringType(), required=False)),
        required=False,
    ),
)


def test_nested_columns():
    table = make_table(commits=0, schema=NESTED, spec=PartitionSpec())
    rows = pa.table(
        {
            "id": ["a", "b"],
            "n": [1, 2],
            "tags": [["x", "y"], None],
            "m": [[("k", 1)], []],
            "s": [{"a.b": "z"}, None],
        },
        schema=table.schema().as_arrow(),
    )
    table.append(rows)
    columns = ["tags.element", "m.key", "m.value", "s.a.b"]
    report = build(columns=columns)
    assert report.columns == tuple(columns)
    assert report.num_filters == 4
    (path,) = live()
    with pb.open(path_of(path)) as file:
        assert file.bloom_filter(0, "tags.list.element").check("x")
        assert file.bloom_filter(0, "m.key_value.key").check("k")


def test_imported_files_without_field_ids(tmp_path):
    table = make_table(commits=0, spec=PartitionSpec())
    pq.write_table(rows_of(0, 100), tmp_path / "imported.parquet")
    table.add_files([f"file://{tmp_path}/imported.parquet"])
    assert "schema.name-mapping.default" in load().properties
    with load().update_schema() as change:
        change.rename_column("id", "user")
    before = by_pyiceberg_of("user")
    report = build(columns=["user"])
    assert [file.action for file in report.files] == ["appended"]
    with pb.open(tmp_path / "imported.parquet") as file:
        assert file.bloom_filter(0, "id") is not None
    assert by_pyiceberg_of("user") == before


def by_pyiceberg_of(column):
    return sorted(load().scan(selected_fields=(column,)).to_arrow()[column].to_pylist())


def test_lists_of_imported_files(tmp_path):
    table = make_table(commits=0, schema=NESTED, spec=PartitionSpec())
    rows = pa.table(
        {
            "id": ["a"],
            "n": [1],
            "tags": [["x", "y"]],
            "m": pa.array([[("k", 1)]], pa.map_(pa.string(), pa.int64())),
            "s": [{"a.b": "z"}],
        }
    )
    pq.write_table(rows, tmp_path / "imported.parquet")
    table.add_files([f"file://{tmp_path}/imported.parquet"])
    assert build(columns=["tags.element", "m.value"]).num_filters == 2


# ------------------------------------------------------------------------------------------------
# Files of other formats


def test_other_formats_are_left(monkeypatch):
    from parquet_bloom.tables.iceberg import live_files

    make_table(commits=1)
    read = live_files.table_file
    first = min(live())

    def as_orc(file, fields):
        if file.file_path == first:
            file[2] = FileFormat.ORC
        return read(file, fields)

    monkeypatch.setattr(live_files, "table_file", as_orc)
    report = build()
    assert [(file.action, file.reason) for file in report.files] == [
        ("unchanged", "ORC, expected Parquet"),
        ("appended", None),
    ]
    assert report.committed is not None
    assert strip().files[0].reason == "ORC, expected Parquet"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("file:///a b/day=x%2Fy#z?.parquet", "/a b/day=x%2Fy#z?.parquet"),
        ("file:/a/b.parquet", "/a/b.parquet"),
        ("/a/b.parquet", "/a/b.parquet"),
        ("s3a://lake/a b/day=x%2Fy.parquet", "s3a://lake/a%20b/day=x%252Fy.parquet"),
    ],
)
def test_names_are_not_escaped(name, expected):
    assert place(name) == expected
    if name.startswith("s3a"):
        assert Address.of(place(name)).key == name.removeprefix("s3a://lake/")


IN_USE = "Sail uses the filters once the new sizes are committed"


@pytest.mark.parametrize("renamed", [False, True])
def test_a_dry_run_says_who_uses_filters_beside_delete_files(renamed):
    table = make_table(commits=1)
    if renamed:
        with table.update_schema() as update:
            update.rename_column("n", "number")
    told = f"{IN_USE}, those of a renamed column only in files that have its new name"
    assert build(dry_run=True).notes[0] == (told if renamed else IN_USE)
    delete_positions(load(), min(live()), [5])
    assert build(dry_run=True).notes[1] == (
        "Sail reads the same rows without the filters, as there are delete files"
    )
    said = outcome(
        "build",
        NAME,
        "--table",
        "iceberg",
        "--catalog",
        CATALOG,
        "-c",
        "id",
        "--all-sizes",
        "--dry-run",
        "--json",
    ).stdout
    assert IN_USE not in said


def test_a_dry_run_says_who_cannot_read_equality_deletes():
    table = make_table(commits=1)
    delete_equal(table, min(live()), [7])
    notes = build(dry_run=True).notes
    assert "PyIceberg, Polars and Daft cannot read a table with equality deletes" in notes
    assert "chDB reads the same rows without the filters" in notes


def test_a_dry_run_says_who_cannot_read_imported_files(tmp_path):
    table = make_table(commits=0, spec=PartitionSpec())
    pq.write_table(rows_of(0, 300), tmp_path / "imported.parquet", row_group_size=100)
    table.add_files([f"file://{tmp_path}/imported.parquet"])
    notes = build(dry_run=True).notes
    assert "PyIceberg, chDB and Polars read the same rows without the filters" in notes
    assert "Daft reads the same rows without the filters, but no files without field ids" in notes
