"""What others have written into manifests and metadata that PyIceberg does not know: kept, or the table is
not changed."""

import copy
from functools import partial

import pytest
from make.commands import files_in
from make.delta_tables import rows_of
from make.iceberg_rest import rest_catalog
from make.iceberg_tables import (
    CATALOG,
    NAME,
    build,
    entries,
    load,
    make_table,
    path_of,
    strip,
    use_catalog,
)
from make.iceberg_unknown import (
    add_field,
    change_metadata,
    key_values,
    manifest,
    newest_list,
)
from oracle.iceberg_readers import rows_at
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.types import LongType, NestedField, StringType, StructType

import parquet_bloom as pb
from parquet_bloom.options import BuildOptions, TableOptions
from parquet_bloom.tables.open import open_table
from parquet_bloom.verbs.build_table import build_in_table

# Ids of fields of the specification.
DATA_FILE, PARTITION, PARTITIONS = 2, 102, 507
DROPPED = "which PyIceberg does not know, and would drop"


@pytest.fixture
def table(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    return make_table(commits=2)


def refused():
    """Why; nothing is written."""
    folder = path_of(load().location())
    before = files_in(folder)
    messages = set()
    for change in (build, partial(build, dry_run=True), partial(build, commit=False), strip):
        with pytest.raises(pb.RewriteError) as raised:
            change()
        messages.add(str(raised.value).removeprefix(f"{NAME}: not changed: "))
    assert files_in(folder) == before
    (message,) = messages
    return message


def number(name="bloom_index", field_id=9001, required=False):
    return NestedField(field_id, name, LongType(), required=required)


STRUCT = StructType(number("inner", 9002))
INSIDE = [
    ((), number(), 7, "bloom_index (9001)"),
    ((DATA_FILE,), number(), 7, "bloom_index (9001)"),
    ((DATA_FILE,), number(), 0, "bloom_index (9001)"),
    ((DATA_FILE,), number(required=True), 7, "bloom_index (9001)"),
    # Of version 3.
    ((DATA_FILE,), number("first_row_id", 142), 7, "first_row_id (142)"),
    ((DATA_FILE,), NestedField(143, "referenced_data_file", StringType()), "x", None),
    ((DATA_FILE,), NestedField(9001, "more", STRUCT, required=True), [None], "more (9001)"),
    ((DATA_FILE, PARTITION), number(), 7, "bloom_index (9001)"),
]


@pytest.mark.every(2)
@pytest.mark.parametrize(("below", "field", "value", "expected"), INSIDE)
def test_fields_of_manifests(table, below, field, value, expected):
    expected = expected or f"{field.name} ({field.field_id})"
    add_field(manifest(), field, value, below)
    assert refused() == f"its manifests have {expected}, {DROPPED}"


@pytest.mark.parametrize("below", [(), (DATA_FILE,)])
def test_fields_of_manifests_without_values(table, below):
    """As Java writes `referenced_data_file` into every manifest."""
    before = entries(load())
    for at in (9001, 9002):
        add_field(manifest(), number(f"reserved{at}", at), None, below)
    assert build().committed is not None
    after = entries(load())
    assert after.keys() == before.keys()
    sizes = {name: entry.data_file.file_size_in_bytes for name, entry in after.items()}
    assert sizes == {name: path_of(name).stat().st_size for name in after}


def test_fields_of_files_that_are_gone(table):
    """They are not written anew."""
    load().delete("n < 300")
    gone = [
        manifest.manifest_path
        for manifest in load().current_snapshot().manifests(load().io)
        if manifest.deleted_files_count
    ]
    assert len(gone) == 1
    add_field(gone[0], number(), 7, (DATA_FILE,))
    assert build().committed is not None


def test_fields_of_the_list_of_manifests(table):
    add_field(newest_list(), number("first_row_id", 520), 7)
    assert refused() == f"its list of manifests has first_row_id (520), {DROPPED}"


def test_fields_of_the_list_of_manifests_below_others(table):
    """Those of the summaries of partitions."""
    add_field(newest_list(), number(), 7, (PARTITIONS,))
    assert refused() == f"its list of manifests has bloom_index (9001), {DROPPED}"


def test_key_values_of_manifests_are_kept(table):
    others = {"written-by": "someone", "ünï": "ä€\n", "iceberg.schema": "{}", "content": "data"}
    name = manifest()
    add_field(name, number("reserved"), None, (DATA_FILE,), others)
    expected = rows_at(load())
    for change in (build, strip, build):
        assert change().committed is not None
        found = [
            key_values(each.manifest_path)
            for each in load().current_snapshot().manifests(load().io)
        ]
        kept = [each for each in found if "written-by" in each]
        assert len(kept) == 1
        assert kept[0].keys() - key_values(name).keys() == set()
        assert kept[0]["written-by"] == "someone"
        assert kept[0]["ünï"] == "ä€\n"
        # It would be that of the fields that were there.
        assert "iceberg.schema" not in kept[0]
    assert rows_at(load()) == expected


def test_they_come_meanwhile(table, monkeypatch):
    """And one of the manifests is written anew already, which is taken back."""
    folder = path_of(load().location())

    def rival(*_):
        if not seen:
            load().append(rows_of(600, 10))
            add_field(manifest(-1), number(), 7, (DATA_FILE,))
            seen.update(files_in(folder))

    seen = {}
    table = open_table(NAME, catalog=CATALOG)
    with pytest.raises(pb.RewriteError) as raised:
        build_in_table(table, BuildOptions(columns=("id",)), TableOptions(where={}), progress=rival)
    assert str(raised.value) == (
        f"{NAME}: changed in the meantime: its manifests have bloom_index (9001), {DROPPED}"
    )
    assert files_in(folder).keys() == seen.keys()


# ------------------------------------------------------------------------------------------------
# Metadata


def put(*path):
    """A key that nobody knows, at a place in the metadata."""

    def change(document):
        for key in path:
            document = document[key]
        document["x-more"] = {"a": 1}

    return change


UNKNOWN = {
    "x-more": (),
    "snapshots.x-more": ("snapshots", 1),
    "schemas.x-more": ("schemas", 0),
    "schemas.fields.x-more": ("schemas", 0, "fields", 2),
    "partition-specs.fields.x-more": ("partition-specs", 0, "fields", 0),
    "refs.main.x-more": ("refs", "main"),
    "metadata-log.x-more": ("metadata-log", 0),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("where", UNKNOWN)
def test_keys_of_metadata(table, where):
    change_metadata(put(*UNKNOWN[where]))
    assert refused() == f"its metadata has {where}, {DROPPED}"


def test_keys_of_metadata_that_a_catalog_writes(tmp_path, monkeypatch):
    with rest_catalog(tmp_path).running() as running:
        use_catalog(tmp_path, monkeypatch, settings={"type": "rest", "uri": running.uri})
        make_table(commits=1)
        change_metadata(put("snapshots", 0))
        assert build().committed is not None


def test_keys_that_say_nothing(table):
    def change(document):
        document["schema"] = copy.deepcopy(document["schemas"][0])
        document["partition-spec"] = document["partition-specs"][0]["fields"]
        document["x-more"] = None
        document["snapshots"][0]["x-more"] = None

    change_metadata(change)
    assert build().committed is not None


def test_metadata_of_a_table_without_snapshots(tmp_path, monkeypatch):
    use_catalog(tmp_path, monkeypatch)
    make_table(commits=0, spec=PartitionSpec())
    change_metadata(lambda document: document.update({"current-snapshot-id": -1}))
    assert build().files == ()


def test_everything_that_java_writes_is_kept(table):
    """Statistics, sort orders, tags, properties: a commit leaves them in the metadata as they were."""
    snapshot = load().current_snapshot().snapshot_id

    def change(document):
        document["sort-orders"].append(
            {
                "order-id": 1,
                "fields": [
                    {
                        "transform": "identity",
                        "source-id": 1,
                        "direction": "asc",
                        "null-order": "nulls-first",
                    }
                ],
            }
        )
        document["default-sort-order-id"] = 1
        document["statistics"] = [
            {
                "snapshot-id": snapshot,
                "statistics-path": "file:///nowhere.puffin",
                "file-size-in-bytes": 413,
                "file-footer-size-in-bytes": 42,
                "blob-metadata": [
                    {
                        "type": "apache-datasketches-theta-v1",
                        "snapshot-id": snapshot,
                        "sequence-number": 2,
                        "fields": [1],
                        "properties": {"ndv": "600"},
                    }
                ],
            }
        ]
        document["partition-statistics"] = [
            {
                "snapshot-id": snapshot,
                "statistics-path": "file:///nowhere.parquet",
                "file-size-in-bytes": 43,
            }
        ]
        document["refs"]["v1"] = {"snapshot-id": snapshot, "type": "tag", "max-ref-age-ms": 10}
        document["snapshots"][1]["summary"]["spark.app.id"] = "local-1"

    change_metadata(change)
    before = load().metadata.model_dump()
    assert build().committed is not None
    after = load().metadata.model_dump()
    for key in ("sort-orders", "statistics", "partition-statistics", "properties", "schemas"):
        assert after[key] == before[key]
    assert after["refs"]["v1"] == before["refs"]["v1"]
    assert after["snapshots"][:2] == before["snapshots"]
