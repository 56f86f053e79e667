"""Iceberg tables in an SQLite catalog of PyIceberg's, and delete files by hand, which it does not write."""

import struct
import uuid
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any
from unittest.mock import patch

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.delta_tables import bitmap, rows_of
from pyiceberg.avro.decoder import StreamingBinaryDecoder
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.catalog import load_catalog
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _SnapshotProducer
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import LongType, NestedField, StringType
from pyiceberg.utils.config import Config

import parquet_bloom as pb

NAME = "lake.events"
CATALOG = "test"

SCHEMA = Schema(
    NestedField(1, "id", StringType(), required=False),
    NestedField(2, "n", LongType(), required=False),
    NestedField(3, "day", StringType(), required=False),
)
# Properties of a table whose commits are tried again at once.
QUICKLY = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "2"}
BY_DAY = PartitionSpec(PartitionField(3, 1000, IdentityTransform(), "day"))


def configure_catalog(
    folder: Path, name: str = CATALOG, settings: Mapping[str, str] | None = None
) -> None:
    """A catalog in the configuration of PyIceberg for processes whose PYICEBERG_HOME is the folder.
    `settings`: None for an SQLite catalog with its tables there."""
    (folder / "warehouse").mkdir(exist_ok=True)
    settings = settings or {
        "type": "sql",
        "uri": f"sqlite:///{folder}/catalog.db",
        "warehouse": f"file://{folder}/warehouse",
    }
    lines = ["catalog:", f"  {name}:", *(f"    {key}: {text}" for key, text in settings.items())]
    (folder / ".pyiceberg.yaml").write_text("\n".join(lines) + "\n")


def use_catalog(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str = CATALOG,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Let this process have it. PyIceberg reads its configuration when it is imported."""
    configure_catalog(folder, name, settings)
    monkeypatch.setenv("PYICEBERG_HOME", str(folder))
    # The other way needs another package.
    monkeypatch.setenv("POLARS_ICEBERG_PLANNER", "pyiceberg")
    monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())


def load() -> Table:
    """The table as it is by now."""
    return load_catalog(CATALOG).load_table(NAME)


def make_table(
    *,
    commits: int = 3,
    rows: int = 300,
    schema: Schema = SCHEMA,
    spec: PartitionSpec = BY_DAY,
    properties: Mapping[str, str] = MappingProxyType({}),
) -> Table:
    """A table of one snapshot, and one file for each partition, for every `rows` rows."""
    catalog = load_catalog(CATALOG)
    catalog.create_namespace_if_not_exists(NAME.partition(".")[0])
    options = {"write.parquet.row-group-limit": "100", **properties}
    table = catalog.create_table(NAME, schema, partition_spec=spec, properties=options)
    for number in range(commits):
        table.append(rows_of(number * rows, rows))
    return table


def build(**options: Any) -> pb.TableBuildReport:
    """Of these small files."""
    wanted: dict[str, Any] = {"columns": ["id"], "min_file_size": 0, "catalog": CATALOG, **options}
    return pb.build_table(NAME, **wanted)


def strip(**options: Any) -> pb.TableStripReport:
    return pb.strip_table(NAME, catalog=CATALOG, **options)


def entries(table: Table, snapshot: int | None = None) -> dict[str, ManifestEntry]:
    """The live entry of each data file, by its path; with PyIceberg's decoder in Python, as the one
    that it compiles reads doubles as floats."""
    found = table.snapshot_by_id(snapshot) if snapshot else table.current_snapshot()
    with patch("pyiceberg.avro.file.new_decoder", StreamingBinaryDecoder):
        return {
            entry.data_file.file_path: entry
            for manifest in (found.manifests(table.io) if found else ())
            if manifest.content == ManifestContent.DATA
            for entry in manifest.fetch_manifest_entry(table.io)
        }


def live(table: Table | None = None) -> dict[str, int]:
    """Path and recorded size of each live file."""
    found = entries(table or load())
    return {path: entry.data_file.file_size_in_bytes for path, entry in found.items()}


def path_of(name: str) -> Path:
    return Path(name.removeprefix("file://"))


# ------------------------------------------------------------------------------------------------
# Delete files. Spec: "Delete Formats"; field ids are reserved


class _DeletesWriter(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        """With what only version 3 has of deletion vectors."""
        return AvroOutputFile[ManifestEntry](
            output_file=self._output_file,
            file_schema=self._with_partition(3),
            record_schema=self._with_partition(3),
            schema_name="manifest_entry",
            metadata=self._meta,
        )


class _AddDeletes(_SnapshotProducer["_AddDeletes"]):
    def __init__(self, transaction: Any, io: Any, file: DataFile) -> None:
        super().__init__(Operation.OVERWRITE, transaction, io)
        self._file = file

    def _validate_concurrency(self) -> None: ...

    def _deleted_entries(self) -> list[ManifestEntry]:
        return []

    def _existing_manifests(self) -> list[ManifestFile]:
        metadata = self._transaction.table_metadata
        snapshot = metadata.current_snapshot()
        assert snapshot is not None
        writer = _DeletesWriter(
            metadata.specs()[self._file.spec_id],
            self.schema(),
            self.new_manifest_output(),
            self._snapshot_id,
            self._compression,
        )
        entry = ManifestEntry.from_args(
            status=ManifestEntryStatus.ADDED,
            snapshot_id=self._snapshot_id,
            sequence_number=None,
            file_sequence_number=None,
            data_file=self._file,
        )
        with writer:
            writer.add_entry(entry)
        return [*snapshot.manifests(self._io), writer.to_manifest_file()]


def _field(name: str, kind: pa.DataType, number: int) -> pa.Field:
    return pa.field(name, kind, metadata={b"PARQUET:field_id": str(number).encode()})


def _add_deletes(
    table: Table,
    rows: pa.Table,
    content: DataFileContent,
    beside: DataFile,
    **more: Any,
) -> None:
    path = path_of(beside.file_path).with_name(f"delete-{uuid.uuid4()}.parquet")
    pq.write_table(rows, path)
    _commit_deletes(table, path, FileFormat.PARQUET, content, beside, rows.num_rows, **more)


def _commit_deletes(
    table: Table,
    path: Path,
    kind: FileFormat,
    content: DataFileContent,
    beside: DataFile,
    count: int,
    **more: Any,
) -> None:
    file = DataFile.from_args(
        _table_format_version=3,
        content=content,
        file_path=f"file://{path}",
        file_format=kind,
        partition=beside.partition,
        record_count=count,
        file_size_in_bytes=path.stat().st_size,
        **more,
    )
    file.spec_id = beside.spec_id
    with table.transaction() as transaction:
        _AddDeletes(transaction, table.io, file).commit()


def delete_by_vector(table: Table, name: str, positions: Iterable[int]) -> Path:
    """Commit a deletion vector for one data file, in a Puffin file behind another blob; the path."""
    numbers = list(positions)
    file = entries(table)[name].data_file
    path = path_of(name).with_name(f"delete-{uuid.uuid4()}.puffin")
    vector = bitmap(numbers)
    blob = struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector))
    path.write_bytes(b"PFA1 another blob" + blob)
    _commit_deletes(
        *(table, path, FileFormat.PUFFIN, DataFileContent.POSITION_DELETES, file, len(numbers)),
        referenced_data_file=name,
        content_offset=17,
        content_size_in_bytes=len(blob),
    )
    return path


def delete_positions(
    table: Table, name: str, positions: Iterable[int], says_which: bool = True
) -> None:
    """Commit a position delete file for one data file, which it says, or may be about all of its partition."""
    numbers = list(positions)
    schema = pa.schema(
        [_field("file_path", pa.string(), 2147483546), _field("pos", pa.int64(), 2147483545)]
    )
    rows = pa.table({"file_path": [name] * len(numbers), "pos": numbers}, schema=schema)
    file = entries(table)[name].data_file
    # Polars wants to know that they are those of one file.
    bounds = {2147483546: name.encode()} if says_which else {}
    content = DataFileContent.POSITION_DELETES
    _add_deletes(table, rows, content, file, lower_bounds=bounds, upper_bounds=bounds)


def delete_equal(table: Table, name: str, numbers: Iterable[int]) -> None:
    """Commit an equality delete file for values of `n` in the partition of one data file."""
    rows = pa.table({"n": list(numbers)}, schema=pa.schema([_field("n", pa.int64(), 2)]))
    file = entries(table)[name].data_file
    _add_deletes(table, rows, DataFileContent.EQUALITY_DELETES, file, equality_ids=[2])
