"""Every feature of Delta tables: the `add` of each file is as it was, but for its size, before and after
checkpoints, and readers find the same rows in every version."""

import datetime
import decimal
import json
import uuid

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable as Judge
from deltalake import write_deltalake
from make.delta_tables import (
    actions,
    adds,
    build,
    current_adds,
    delete_rows,
    inline_vector,
    live,
    make_table,
    newest,
    rewrite_log,
    rows_of,
    stored_vector,
    with_features,
    write_commit,
)
from oracle.delta_readers import by_query_builder, rows_at

import parquet_bloom as pb
from parquet_bloom.tables.open import open_table


def changing_adds(table, **fields):
    """Give each `add` these fields; a function gets the number of the file."""
    numbers = iter(range(1000))

    def change(action):
        if "add" not in action:
            return action
        number = next(numbers)
        more = {name: each(number) if callable(each) else each for name, each in fields.items()}
        return {"add": action["add"] | more}

    rewrite_log(table, change)


def changing_schema(table, **metadata):
    """Give columns of the schema metadata."""

    def change(action):
        if "metaData" not in action:
            return action
        schema = json.loads(action["metaData"]["schemaString"])
        for field in schema["fields"]:
            field["metadata"] |= metadata.get(field["name"], {})
        return {"metaData": action["metaData"] | {"schemaString": json.dumps(schema)}}

    rewrite_log(table, change)


def inline_vectors(table):
    with_features(
        table, reader=["deletionVectors"], configuration={"delta.enableDeletionVectors": "true"}
    )
    changing_adds(table, deletionVector=lambda number: inline_vector({number, 5, 250}))


def stored_vectors(table):
    with_features(
        table, reader=["deletionVectors"], configuration={"delta.enableDeletionVectors": "true"}
    )
    changing_adds(table, deletionVector=lambda number: stored_vector(table, {number, 17}))


def row_tracking(table):
    with_features(
        table,
        ["rowTracking", "domainMetadata", "inCommitTimestamp"],
        configuration={
            "delta.enableRowTracking": "true",
            "delta.rowTracking.materializedRowIdColumnName": "_row-id-col-x",
            "delta.rowTracking.materializedRowCommitVersionColumnName": "_row-commit-version-col-x",
            "delta.enableInCommitTimestamps": "true",
        },
    )
    changing_adds(
        table, baseRowId=lambda number: 300 * number, defaultRowCommitVersion=lambda number: number
    )
    in_commit_timestamps(table)


def in_commit_timestamps(table):
    """Those of a clock that is far ahead."""
    times = iter(range(4_000_000_000_000, 5_000_000_000_000, 10))

    def change(action):
        if "commitInfo" not in action:
            return action
        return {"commitInfo": {"inCommitTimestamp": next(times)} | action["commitInfo"]}

    for version in range(3):
        name = table / "_delta_log" / f"{version:020}.json"
        found = [change(json.loads(line)) for line in name.read_text().splitlines()]
        # It must come first.
        found.sort(key=lambda action: "commitInfo" not in action)
        name.write_text("".join(json.dumps(action) + "\n" for action in found))


def change_data_feed(table):
    with_features(table, ["changeDataFeed"], configuration={"delta.enableChangeDataFeed": "true"})


def append_only(table):
    with_features(table, ["appendOnly"], configuration={"delta.appendOnly": "true"})


def generated_columns(table):
    with_features(table, ["generatedColumns", "identityColumns", "invariants"])
    changing_schema(table, n={"delta.generationExpression": "length(id)"})


def clustering(table):
    with_features(table, ["clustering", "domainMetadata"])
    changing_adds(table, clusteringProvider="liquid")
    configuration = json.dumps({"clusteringColumns": [["n"]], "domainName": "delta.clustering"})
    write_commit(
        table,
        {"commitInfo": {"operation": "CLUSTER BY", "timestamp": 1}},
        {
            "domainMetadata": {
                "domain": "delta.clustering",
                "configuration": configuration,
                "removed": False,
            }
        },
    )


def tags(table):
    changing_adds(table, tags={"ZCUBE_ID": "a b/ü", "INSERTION_TIME": "17"})


FEATURES = [
    inline_vectors,
    stored_vectors,
    row_tracking,
    change_data_feed,
    append_only,
    generated_columns,
    clustering,
    tags,
]


def check_adds(before, after, sizes):
    assert after.keys() == before.keys()
    for path, add in after.items():
        known = {name: value for name, value in before[path].items() if value is not None}
        found = {name: value for name, value in add.items() if value is not None}
        assert found == known | {"size": sizes[path], "dataChange": False}


@pytest.mark.parametrize("has_checkpoint", [False, True], ids=["json", "checkpoint"])
@pytest.mark.parametrize("feature", FEATURES, ids=lambda feature: feature.__name__)
def test_adds_differ_in_size_and_data_change_only(tmp_path, feature, has_checkpoint):
    table = make_table(tmp_path / "events", partition_by=["day"])
    feature(table)
    # Datasets and Polars take the features that are Arrow's own; a query engine takes them all.
    rows = {version: by_query_builder(table, version) for version in range(newest(table) + 1)}
    before, start = current_adds(table), newest(table)
    if has_checkpoint:
        Judge(table).create_checkpoint()
    report = build(table)
    assert report.committed == start + 1
    check_adds(before, adds(table, start + 1), live(table))
    if has_checkpoint:
        Judge(table).create_checkpoint()
    assert build(table, columns=["n"]).committed == start + 2
    check_adds(before, adds(table, start + 2), live(table))
    assert pb.strip_table(table).committed == start + 3
    check_adds(before, adds(table, start + 3), live(table))
    last = rows[start]
    for version in range(start + 4):
        assert by_query_builder(table, version) == rows.get(version, last)


def test_deleted_rows_are_counted_and_stay_deleted(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    inline_vectors(table)
    report = build(table)
    assert [file.num_deleted for file in report.files] == [3]
    assert len(by_query_builder(table)) == 297


def test_in_commit_timestamps_go_on(tmp_path):
    """Even if the clock that made the last one was ahead."""
    table = make_table(tmp_path / "events")
    with_features(
        table, ["inCommitTimestamp"], configuration={"delta.enableInCommitTimestamps": "true"}
    )
    in_commit_timestamps(table)
    last = actions(table, 2)[0]["commitInfo"]["inCommitTimestamp"]
    Judge(table).create_checkpoint()
    build(table)
    build(table, columns=["n"])
    times = [actions(table, version)[0]["commitInfo"]["inCommitTimestamp"] for version in (3, 4)]
    assert times == [last + 1, last + 2]
    moments = [
        datetime.datetime.fromtimestamp(time / 1000, datetime.UTC) for time in (last, times[1])
    ]
    assert [open_table(table, as_of=moment).version for moment in moments] == [2, 4]


# ------------------------------------------------------------------------------------------------
# Partitions

VALUES = {
    "text": ["", "a b", "a/b", "ü=ß", "50%25", "100%", "+&?#", None],
    "number": [1, -5, None],
    "day": [datetime.date(2026, 11, 22), None],
    "moment": [datetime.datetime(2026, 11, 22, 19, 23, 5, 7000, datetime.UTC), None],
    "amount": [decimal.Decimal("12.30"), None],
    "flag": [True, False, None],
}
TYPES = {"moment": pa.timestamp("us", "UTC"), "amount": pa.decimal128(9, 2)}


@pytest.mark.parametrize("column", VALUES)
def test_partitions_with_every_kind_of_value(tmp_path, column):
    values = VALUES[column]
    rows = rows_of(0, 10 * len(values)).drop_columns("day")
    values = pa.array([each for each in values for _ in range(10)], TYPES.get(column))
    table = tmp_path / "events"
    write_deltalake(table, rows.append_column(column, values), partition_by=[column])
    before, expected = current_adds(table), rows_at(table)
    report = build(table)
    assert {file.action for file in report.files} == {"appended"}
    for path, add in adds(table, 1).items():
        assert add["partitionValues"] == before[path]["partitionValues"]
        assert {**before[path], "size": add["size"], "dataChange": False} == add
    assert rows_at(table) == rows_at(table, 0) == expected
    # Each value chooses the files that have it.
    for file in open_table(table).files():
        chosen = build(table, where={column: file.partition[column]}).files
        assert file.name in {each.file for each in chosen}


# ------------------------------------------------------------------------------------------------
# Column mapping


@pytest.fixture
def mapped(tmp_path):
    """A table whose columns were renamed: files have physical names, also inside of structs."""
    table = tmp_path / "events"
    table.mkdir()
    names = {name: f"col-{uuid.uuid4()}" for name in ("id", "n", "day", "who", "name", "tags")}
    kinds = {
        "id": "string",
        "n": "long",
        "day": "string",
        "tags": {"type": "array", "elementType": "string", "containsNull": True},
    }
    kinds["who"] = {"type": "struct", "fields": [mapped_field("name", "string", names, 6)]}
    schema = {
        "type": "struct",
        "fields": [
            mapped_field(name, kind, names, number)
            for number, (name, kind) in enumerate(kinds.items(), 1)
        ],
    }
    rows = rows_of(0, 100)
    data = pa.table(
        {
            names["id"]: rows["id"],
            names["n"]: rows["n"],
            names["who"]: [{names["name"]: each} for each in rows["id"].to_pylist()],
            names["tags"]: [["x", each] for each in rows["id"].to_pylist()],
        }
    )
    pq.write_table(data, table / "part-0.parquet")
    (table / "_delta_log").mkdir()
    metadata = {
        "id": str(uuid.uuid4()),
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps(schema),
        "partitionColumns": ["day"],
        "configuration": {
            "delta.columnMapping.mode": "name",
            "delta.columnMapping.maxColumnId": "6",
        },
        "createdTime": 1,
    }
    add = {
        "path": "part-0.parquet",
        "partitionValues": {names["day"]: "2026-11-01"},
        "size": (table / "part-0.parquet").stat().st_size,
        "modificationTime": 1,
        "dataChange": True,
        "stats": json.dumps({"numRecords": 100}),
    }
    protocol = {"minReaderVersion": 2, "minWriterVersion": 5}
    write_commit(table, {"protocol": protocol}, {"metaData": metadata}, {"add": add})
    return table, names


def mapped_field(name, kind, names, number):
    metadata = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": names[name],
    }
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def test_column_mapping(mapped):
    table, names = mapped
    before, rows = current_adds(table), by_query_builder(table)
    report = build(table, columns=["id", "who.name", "tags.list.element"])
    assert report.columns == ("id", "who.name", "tags.list.element")
    assert report.num_filters == 3
    check_adds(before, adds(table, 1), live(table))
    assert by_query_builder(table) == by_query_builder(table, 0) == rows
    assert pb.inspect_summary([table / "part-0.parquet"]).files_with_filters == 1
    assert build(table, where={"day": "2026-11-01"}).committed is None
    physical = pb.probe(table / "part-0.parquet", f"{names['who']}.{names['name']}", [rows[0][0]])
    assert physical.results[0].verdict == "maybe"


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        ("day", "column day: is a partition column, whose values are not in the files"),
        ("who.nam", "no column who.nam; did you mean who.name?"),
        ("nobody", "no column nobody; the table has id, n, tags.list.element, who.name"),
    ],
)
def test_column_mapping_takes_the_names_of_the_table(mapped, column, problem):
    table, _ = mapped
    with pytest.raises(pb.ColumnError) as raised:
        build(table, columns=[column])
    assert str(raised.value) == f"{table}: {problem}"


# ------------------------------------------------------------------------------------------------
# Deletion vectors of others meanwhile


def test_a_newer_deletion_vector_is_taken(tmp_path):
    table = make_table(tmp_path / "events", commits=1)
    inline_vectors(table)
    (path,) = live(table)
    found = open_table(table)
    delete_rows(table, path, inline_vector(range(100)))
    from parquet_bloom.tables.table import NewSize

    size = live(table)[path]
    with open(table / path, "ab") as file:
        file.write(b"more")
    done = found.commit({path: NewSize(size, size + 4)}, "TEST")
    assert (done.version, done.left) == (2, {})
    assert adds(table, 2)[path]["deletionVector"] == inline_vector(range(100))


# ------------------------------------------------------------------------------------------------
# Others who look at commits


def test_the_change_data_feed_has_nothing_new(tmp_path):
    table = make_table(tmp_path / "events")
    change_data_feed(table)

    def changes():
        return len(pa.table(Judge(table).load_cdf(starting_version=0).read_all()))

    assert changes() == 900
    build(table)
    pb.strip_table(table)
    assert changes() == 900
