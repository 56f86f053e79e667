"""Delta tables, by deltalake and by hand, and what is in their logs and files."""

import json
from collections.abc import Mapping
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
