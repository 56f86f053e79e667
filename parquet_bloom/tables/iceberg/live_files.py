"""The live data files of a snapshot.

Spec: Iceberg Table Spec, "Manifests", "Manifest Lists".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import quote

from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    DataFile,
    FileFormat,
    ManifestContent,
    ManifestFile,
)
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.transforms import IdentityTransform, Transform, VoidTransform
from pyiceberg.types import IcebergType

from parquet_bloom.storage.address import UNESCAPED
from parquet_bloom.storage.source import is_object
from parquet_bloom.tables.table import TableFile

AnyTransform: TypeAlias = Transform[Any, Any]


class PartitionField(NamedTuple):
    """A field of a partition spec. `name`: of the column whose values it has as they are, else its
    own. `column`: the field id of that column."""

    name: str
    transform: AnyTransform
    source: IcebergType
    column: int | None

    @property
    def values(self) -> IcebergType:
        """The type of what manifests have of it."""
        return self.transform.result_type(self.source)

    def text(self, value: object) -> str | None:
        """A value of it as people write it."""
        return None if value is None else self.transform.to_human_string(self.source, value)


def partition_fields(metadata: TableMetadata) -> dict[int, tuple[PartitionField | None, ...]]:
    """The fields of every spec, by its id; None for those that have no values."""
    return {
        number: tuple(
            _field(metadata, each.source_id, each.name, each.transform) for each in spec.fields
        )
        for number, spec in metadata.specs().items()
    }


def schema_for(metadata: TableMetadata, sources: set[int]) -> Schema | None:
    """The newest schema that has the columns with these field ids: one of an old spec may be gone."""
    schemas = [metadata.schema(), *reversed(metadata.schemas)]
    return next((each for each in schemas if sources <= {*each.field_ids}), None)


def _field(
    metadata: TableMetadata, source: int, name: str, transform: AnyTransform
) -> PartitionField | None:
    schema = schema_for(metadata, {source})
    if isinstance(transform, VoidTransform) or schema is None:
        return None
    is_same = isinstance(transform, IdentityTransform)
    if is_same:
        name = schema.find_column_name(source) or name
    return PartitionField(name, transform, schema.find_type(source), source if is_same else None)


# The live files of each manifest that was read, by its path.
ByManifest: TypeAlias = Mapping[str, Sequence[TableFile]]


def files_by_manifest(
    io: FileIO, metadata: TableMetadata, manifests: list[ManifestFile], known: ByManifest
) -> ByManifest:
    """The live files of a snapshot, whose paths lack the options of their stores. `known`: what was read
    of manifests before, which never change."""
    fields = partition_fields(metadata)
    return {
        each.manifest_path: known.get(each.manifest_path)
        or [table_file(entry.data_file, fields) for entry in each.fetch_manifest_entry(io)]
        for each in manifests
        if each.content == ManifestContent.DATA
    }


def names_added(io: FileIO, manifests: list[ManifestFile], snapshots: Collection[int]) -> set[str]:
    """The names of the files that these snapshots have added and that are live. Who writes a manifest
    anew keeps the snapshot of each entry."""
    return {
        entry.data_file.file_path
        for each in manifests
        if each.content == ManifestContent.DATA and each.added_snapshot_id in snapshots
        for entry in each.fetch_manifest_entry(io)
        if entry.snapshot_id in snapshots
    }


def table_file(
    file: DataFile, fields: Mapping[int, tuple[PartitionField | None, ...]]
) -> TableFile:
    """`fields`: of every spec, by its id."""
    values = [
        (field, file.partition[at])
        for at, field in enumerate(fields[file.spec_id])
        if field is not None
    ]
    return TableFile(
        name=file.file_path,
        path=place(file.file_path),
        size=file.file_size_in_bytes,
        partition={field.name: field.text(value) for field, value in values},
        unfit=_unfit(file),
        same={field.column: value for field, value in values if field.column is not None},
    )


def _unfit(file: DataFile) -> str | None:
    if file.file_format != FileFormat.PARQUET:
        return f"{file.file_format.value}, expected Parquet"
    return "encrypted by the table" if file.key_metadata is not None else None


def place(name: str) -> str:
    """The path, or the URL as we read it: names of tables are not escaped."""
    if name.startswith("file://"):
        return "/" + name[7:].partition("/")[2]
    if name.startswith("file:"):
        return name[5:]
    if is_object(name):
        scheme, _, rest = name.partition("://")
        host, slash, key = rest.partition("/")
        return f"{scheme}://{host}{slash}{quote(key, safe=UNESCAPED)}"
    return name
