"""Delta tables with each feature that they can have."""

import datetime
import decimal
import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import write_deltalake
from make.delta_tables import (
    inline_vector,
    rewrite_log,
    rows_of,
    stored_vector,
    with_features,
    write_commit,
)


def changing_adds(table: Path, **fields: Any) -> None:
    """Give each `add` these fields; a function gets the number of the file."""
    numbers = iter(range(1000))

    def change(action: dict[str, Any]) -> dict[str, Any]:
        if "add" not in action:
            return action
        number = next(numbers)
        more = {name: each(number) if callable(each) else each for name, each in fields.items()}
        return {"add": action["add"] | more}

    rewrite_log(table, change)


def changing_schema(table: Path, **metadata: Any) -> None:
    """Give columns of the schema metadata."""

    def change(action: dict[str, Any]) -> dict[str, Any]:
        if "metaData" not in action:
            return action
        schema = json.loads(action["metaData"]["schemaString"])
        for field in schema["fields"]:
            field["metadata"] |= metadata.get(field["name"], {})
        return {"metaData": action["metaData"] | {"schemaString": json.dumps(schema)}}

    rewrite_log(table, change)


def inline_vectors(table: Path) -> None:
    with_features(
        table, reader=["deletionVectors"], configuration={"delta.enableDeletionVectors": "true"}
    )
    changing_adds(table, deletionVector=lambda number: inline_vector({number, 5, 140}))


def stored_vectors(table: Path) -> None:
    with_features(
        table, reader=["deletionVectors"], configuration={"delta.enableDeletionVectors": "true"}
    )
    changing_adds(table, deletionVector=lambda number: stored_vector(table, {number, 17}))


def row_tracking(table: Path) -> None:
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


def in_commit_timestamps(table: Path) -> None:
    """Those of a clock that is far ahead."""
    times = iter(range(4_000_000_000_000, 5_000_000_000_000, 10))

    def change(action: dict[str, Any]) -> dict[str, Any]:
        if "commitInfo" not in action:
            return action
        return {"commitInfo": {"inCommitTimestamp": next(times)} | action["commitInfo"]}

    for version in range(3):
        name = table / "_delta_log" / f"{version:020}.json"
        found = [change(json.loads(line)) for line in name.read_text().splitlines()]
        # It must come first.
        found.sort(key=lambda action: "commitInfo" not in action)
        name.write_text("".join(json.dumps(action) + "\n" for action in found))


def change_data_feed(table: Path) -> None:
    with_features(table, ["changeDataFeed"], configuration={"delta.enableChangeDataFeed": "true"})


def append_only(table: Path) -> None:
    with_features(table, ["appendOnly"], configuration={"delta.appendOnly": "true"})


def generated_columns(table: Path) -> None:
    with_features(table, ["generatedColumns", "identityColumns", "invariants"])
    changing_schema(table, n={"delta.generationExpression": "length(id)"})


def clustering(table: Path) -> None:
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


def tags(table: Path) -> None:
    changing_adds(table, tags={"ZCUBE_ID": "a b/ü", "INSERTION_TIME": "17"})


FEATURES: list[Callable[[Path], None]] = [
    inline_vectors,
    stored_vectors,
    row_tracking,
    change_data_feed,
    append_only,
    generated_columns,
    clustering,
    tags,
]


# ------------------------------------------------------------------------------------------------
# Partitions

VALUES: dict[str, list[Any]] = {
    "text": ["", "a b", "a/b", "ü=ß", "50%25", "100%", "+&?#", None],
    "number": [1, -5, None],
    "day": [datetime.date(2026, 11, 22), None],
    "moment": [datetime.datetime(2026, 11, 22, 19, 23, 5, 7000, datetime.UTC), None],
    "amount": [decimal.Decimal("12.30"), None],
    "flag": [True, False, None],
}
TYPES = {"moment": pa.timestamp("us", "UTC"), "amount": pa.decimal128(9, 2)}


def make_partitioned(table: Path, column: str) -> Path:
    """A table of one commit with every of these values of a column."""
    values = VALUES[column]
    rows = rows_of(0, 10 * len(values)).drop_columns("day")
    partition = pa.array([each for each in values for _ in range(10)], TYPES.get(column))
    write_deltalake(table, rows.append_column(column, partition), partition_by=[column])
    return table


# ------------------------------------------------------------------------------------------------
# Column mapping


def make_mapped(table: Path) -> tuple[Path, dict[str, str]]:
    """A table whose columns were renamed: files have physical names, also inside of structs."""
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
    pq.write_table(data, table / "part-0.parquet", row_group_size=25)
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


def mapped_field(name: str, kind: Any, names: Mapping[str, str], number: int) -> dict[str, Any]:
    metadata = {
        "delta.columnMapping.id": number,
        "delta.columnMapping.physicalName": names[name],
    }
    return {"name": name, "type": kind, "nullable": True, "metadata": metadata}


def mapped_table(
    folder: Path,
    mode: str,
    fields: Sequence[Mapping[str, Any]],
    data: bytes,
    protocol: Mapping[str, Any] | None = None,
) -> Path:
    """A table that maps columns, of one file with these bytes."""
    (folder / "_delta_log").mkdir(parents=True)
    (folder / "part-0.parquet").write_bytes(data)
    metadata = {
        "id": "x",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {"delta.columnMapping.mode": mode},
    }
    add = {"path": "part-0.parquet", "partitionValues": {}, "size": len(data), "dataChange": True}
    add["modificationTime"] = 1
    wanted = protocol or {"minReaderVersion": 2, "minWriterVersion": 5}
    write_commit(folder, {"protocol": wanted}, {"metaData": metadata}, {"add": add})
    return folder


def parquet_bytes(data: pa.Table, **options: Any) -> bytes:
    """A file of a table; `options`: those of write_table."""
    sink = pa.BufferOutputStream()
    pq.write_table(data, sink, **options)
    return bytes(sink.getvalue())
