"""Delta tables, by deltalake and by hand, and what is in their logs and files."""

import json
import struct
import uuid
import zlib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, WriterProperties, write_deltalake

import parquet_bloom as pb

GROUP_ROWS = 100


def rows_of(start: int, count: int) -> pa.Table:
    """`id` is unique, and in no order that its minimum and maximum in a row group would tell."""
    numbers = range(start, start + count)
    return pa.table(
        {
            "id": [f"user {number * 7919 % 100_003:06}" for number in numbers],
            "n": pa.array(numbers, pa.int64()),
            "day": [f"2026-11-{number % 2 + 1:02}" for number in numbers],
        }
    )


def make_table(
    folder: Path,
    *,
    commits: int = 3,
    rows: int = 300,
    partition_by: list[str] | None = None,
    configuration: Mapping[str, str | None] | None = None,
) -> Path:
    """A table of one commit, and one file for each partition, for every `rows` rows."""
    for number in range(commits):
        write_deltalake(
            folder,
            rows_of(number * rows, rows),
            mode="append",
            partition_by=partition_by,
            configuration=configuration,
            writer_properties=WriterProperties(max_row_group_size=GROUP_ROWS),
        )
    return folder


def table_of(folder: Path, *paths: Path, **types: str) -> Path:
    """A table of files that were there before, which lose their names; their columns by name."""
    (folder / "_delta_log").mkdir(parents=True)
    fields = [
        {"name": name, "type": type, "nullable": True, "metadata": {}}
        for name, type in types.items()
    ]
    metadata = {
        "id": "x",
        "format": {"provider": "parquet", "options": {}},
        "schemaString": json.dumps({"type": "struct", "fields": fields}),
        "partitionColumns": [],
        "configuration": {},
    }
    adds = []
    for number, path in enumerate(paths):
        place = path.rename(folder / f"part-{number}.parquet")
        add = {"path": place.name, "partitionValues": {}, "size": place.stat().st_size}
        adds.append({"add": add | {"modificationTime": 1, "dataChange": True}})
    protocol = {"minReaderVersion": 1, "minWriterVersion": 2}
    write_commit(folder, {"protocol": protocol}, {"metaData": metadata}, *adds)
    return folder


def build(table: Path, **options: Any) -> pb.TableBuildReport:
    """Of these small files."""
    return pb.build_table(table, **{"columns": ["id"], "min_file_size": 0, **options})


def actions(table: Path, version: int) -> list[dict[str, Any]]:
    text = (table / "_delta_log" / f"{version:020}.json").read_text()
    return [json.loads(line) for line in text.splitlines()]


def write_commit(table: Path, *wanted: Mapping[str, Any]) -> int:
    """A commit by hand, of these actions; its version."""
    version = len(list((table / "_delta_log").glob("*.json")))
    lines = "".join(json.dumps(action) + "\n" for action in wanted)
    (table / "_delta_log" / f"{version:020}.json").write_text(lines)
    return version


def last_action(table: Path, kind: str) -> Any:
    """The newest `metaData` or `protocol`."""
    for name in sorted((table / "_delta_log").glob("*.json"), reverse=True):
        for action in map(json.loads, name.read_text().splitlines()):
            if kind in action:
                return action[kind]
    raise AssertionError(kind)


def rewrite_log(table: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Put what `change` makes of each action in its place."""
    for name in (table / "_delta_log").glob("*.json"):
        found = [change(json.loads(line)) for line in name.read_text().splitlines()]
        name.write_text("".join(json.dumps(action) + "\n" for action in found))


def with_features(
    table: Path,
    writer: Iterable[str] = (),
    reader: Iterable[str] = (),
    configuration: Mapping[str, str] | None = None,
) -> None:
    """Let the table's protocol have these features from the first, and its metadata these properties."""
    protocol = {
        "minReaderVersion": 3 if reader else 1,
        "minWriterVersion": 7,
        "writerFeatures": sorted({*reader, *writer}),
    }
    if reader:
        protocol["readerFeatures"] = sorted(reader)

    def change(action: dict[str, Any]) -> dict[str, Any]:
        if "protocol" in action:
            return {"protocol": protocol}
        if metadata := action.get("metaData"):
            merged = metadata["configuration"] | (configuration or {})
            return {"metaData": metadata | {"configuration": merged}}
        return action

    rewrite_log(table, change)


# ------------------------------------------------------------------------------------------------
# Deletion vectors. Spec: PROTOCOL.md, "Deletion Vector Format"; RoaringFormatSpec

_Z85 = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"


def z85(data: bytes) -> str:
    data += bytes(-len(data) % 4)
    text = ""
    for at in range(0, len(data), 4):
        number = int.from_bytes(data[at : at + 4], "big")
        text += "".join(_Z85[number // 85**power % 85] for power in (4, 3, 2, 1, 0))
    return text


def bitmap(rows: Iterable[int]) -> bytes:
    """A RoaringBitmapArray of rows below 65,536: one bitmap of one container of numbers."""
    numbers = sorted(rows)
    head = struct.pack("<IIHHI", 12346, 1, 0, len(numbers) - 1, 16)
    container = struct.pack(f"<{len(numbers)}H", *numbers)
    return struct.pack("<IQI", 1681511377, 1, 0) + head + container


def inline_vector(rows: Iterable[int]) -> dict[str, Any]:
    numbers = sorted(rows)
    data = bitmap(numbers)
    return {
        "storageType": "i",
        "pathOrInlineDv": z85(data),
        "sizeInBytes": len(data),
        "cardinality": len(numbers),
    }


def stored_vector(table: Path, rows: Iterable[int]) -> dict[str, Any]:
    """One in a file of its own in the table."""
    numbers, name = sorted(rows), uuid.uuid4()
    data = bitmap(numbers)
    stored = struct.pack(">BI", 1, len(data)) + data + struct.pack(">I", zlib.crc32(data))
    (table / f"deletion_vector_{name}.bin").write_bytes(stored)
    return {
        "storageType": "u",
        "pathOrInlineDv": z85(name.bytes),
        "offset": 1,
        "sizeInBytes": len(data),
        "cardinality": len(numbers),
    }


def delete_rows(table: Path, path: str, vector: Mapping[str, Any]) -> int:
    """Commit a deletion vector for a file, as a rival would; the version."""
    add = current_adds(table)[path]
    remove = {"path": path, "dataChange": True, "deletionTimestamp": 1}
    if "deletionVector" in add:
        remove["deletionVector"] = add["deletionVector"]
    return write_commit(
        table,
        {"commitInfo": {"operation": "DELETE", "timestamp": 1}},
        {"remove": remove},
        {"add": add | {"deletionVector": vector, "dataChange": True}},
    )


def configure(table: Path, configuration: Mapping[str, str]) -> int:
    """Set properties that deltalake would refuse."""
    metadata = last_action(table, "metaData")
    return write_commit(
        table, {"metaData": metadata | {"configuration": metadata["configuration"] | configuration}}
    )


def adds(table: Path, version: int) -> dict[str, dict[str, Any]]:
    """The `add` of each path in one commit."""
    found = [action["add"] for action in actions(table, version) if "add" in action]
    return {add["path"]: add for add in found}


def current_adds(table: Path) -> dict[str, dict[str, Any]]:
    """The live `add` of each path, by a replay of all commits."""
    found: dict[str, dict[str, Any]] = {}
    for name in sorted((table / "_delta_log").glob("*.json")):
        lines = [json.loads(line) for line in name.read_text().splitlines()]
        for action in lines:
            if "remove" in action:
                found.pop(action["remove"]["path"], None)
        found |= {action["add"]["path"]: action["add"] for action in lines if "add" in action}
    return found


def live(table: Path) -> dict[str, int]:
    """Path below the table and recorded size of each live file, as deltalake has them."""
    files = pa.table(DeltaTable(table).get_add_actions())
    return dict(zip(files["path"].to_pylist(), files["size_bytes"].to_pylist(), strict=True))


def newest(table: Path) -> int:
    return int(DeltaTable(table).version())


def destroy_other_groups(file: Path, kept: int) -> None:
    """Overwrite the pages of all row groups of a file but one."""
    with open(file, "r+b") as written:
        metadata = pq.ParquetFile(file).metadata
        for group in range(metadata.num_row_groups):
            if group == kept:
                continue
            for column in range(metadata.num_columns):
                chunk = metadata.row_group(group).column(column)
                places = (chunk.dictionary_page_offset, chunk.data_page_offset)
                written.seek(min(place for place in places if place is not None))
                written.write(b"\xff" * chunk.total_compressed_size)


def swapped(folder: Path, **physical: str) -> Path:
    """A table of one file whose columns have other names in it."""
    folder.mkdir()
    data = pa.table({name: [f"in {name}"] * 9 for name in physical.values()})
    pq.write_table(data, folder.parent / "data.parquet")
    table_of(folder, folder.parent / "data.parquet", **dict.fromkeys(physical, "string"))

    def change(action: dict[str, Any]) -> dict[str, Any]:
        if "protocol" in action:
            return {"protocol": {"minReaderVersion": 2, "minWriterVersion": 5}}
        if metadata := action.get("metaData"):
            schema = json.loads(metadata["schemaString"])
            for number, field in enumerate(schema["fields"]):
                names = {"physicalName": physical[field["name"]], "id": number + 1}
                field["metadata"] = {
                    f"delta.columnMapping.{key}": each for key, each in names.items()
                }
            mode = {"delta.columnMapping.mode": "name"}
            changed = {"schemaString": json.dumps(schema), "configuration": mode}
            return {"metaData": metadata | changed}
        return action

    rewrite_log(folder, change)
    return folder
