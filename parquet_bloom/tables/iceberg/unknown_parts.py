"""What manifests and metadata have that PyIceberg does not know, and would drop as it writes them anew.

    manifest                key-values | schema with field ids | entries
    list of manifests       key-values | schema with field ids | a record for each manifest
    metadata of the table   JSON, which PyIceberg writes for all catalogs but REST's

Other libraries have fields that PyIceberg lacks in the schema of nearly every manifest, such as
`referenced_data_file`, which only delete files have: only a value counts.

Spec: Iceberg Table Spec, "Manifests", "Manifest Lists", "Appendix C: JSON serialization".
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from pyiceberg.avro.codecs import AVRO_CODEC_KEY
from pyiceberg.avro.file import AvroFile
from pyiceberg.io import FileIO
from pyiceberg.manifest import (
    MANIFEST_ENTRY_SCHEMAS,
    MANIFEST_LIST_FILE_SCHEMAS,
    ManifestEntryStatus,
    ManifestFile,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.serializers import Compressor
from pyiceberg.table import Table as Loaded
from pyiceberg.typedef import Record
from pyiceberg.types import IcebergType, ListType, StructType

from parquet_bloom.dataclass import dataclass

# Whatever version 1 has and version 2 has not is not to be written any more.
_IN_MANIFESTS: Final = {
    number for version in (1, 2) for number in MANIFEST_ENTRY_SCHEMAS[version].field_ids
}
_IN_LISTS: Final = {*MANIFEST_LIST_FILE_SCHEMAS[2].field_ids}

_STATUS: Final = 0

# What every writer says of the manifest itself. Source: Iceberg, ManifestWriter and Avro.WriteBuilder.
_OWN_KEYS: Final = frozenset(
    (
        *("schema", "partition-spec", "partition-spec-id", "format-version", "content"),
        *("avro.schema", AVRO_CODEC_KEY, "iceberg.schema"),
    )
)

# Fields of version 1 which say what others in version 2 do.
_SAID_TWICE: Final = frozenset(("schema", "partition-spec"))

# What some write where there is no snapshot yet.
_SNAPSHOT: Final = "current-snapshot-id"
_NO_SNAPSHOT: Final = -1


@dataclass(frozen=True, slots=True)
class Unknown:
    """Of a manifest. `fields`: those of unknown ids that a live entry has values of, by name and id;
    `key_values`: those that are about something else than the manifest itself."""

    fields: frozenset[str]
    key_values: Mapping[str, str]


def unknown_in(io: FileIO, manifest: ManifestFile, spec: PartitionSpec) -> Unknown:
    """What PyIceberg does not know of a manifest."""
    known = _IN_MANIFESTS | {field.field_id for field in spec.fields}
    with AvroFile[Record](io.new_input(manifest.manifest_path)) as file:
        others = {key: text for key, text in file.header.meta.items() if key not in _OWN_KEYS}
        return Unknown(_fields(file, known), others)


def unknown_in_list(io: FileIO, manifest_list: str) -> frozenset[str]:
    """The fields of unknown ids that a list of manifests has values of, by name and id."""
    with AvroFile[Record](io.new_input(manifest_list)) as file:
        return _fields(file, _IN_LISTS)


def _fields(file: AvroFile[Record], known: set[int]) -> frozenset[str]:
    kind = file.schema.as_struct()
    if known.issuperset(file.schema.field_ids):
        return frozenset()
    return frozenset(
        name for record in file if _is_live(record, kind) for name in _in(record, kind, known)
    )


def _is_live(record: Record, fields: StructType) -> bool:
    """Whether it is not the entry of a file that was deleted."""
    statuses = [record[at] for at, each in enumerate(fields.fields) if each.field_id == _STATUS]
    return ManifestEntryStatus.DELETED not in statuses


def _in(value: Any, kind: IcebergType, known: set[int]) -> Iterator[str]:
    """The fields of unknown ids that a value has values of."""
    if isinstance(kind, ListType):
        for each in value:
            yield from _in(each, kind.element_type, known)
    if isinstance(kind, StructType):
        for at, field in enumerate(kind.fields):
            if value[at] is None:
                continue
            if field.field_id not in known:
                yield f"{field.name} ({field.field_id})"
            else:
                yield from _in(value[at], field.field_type, known)


def unknown_in_metadata(table: Loaded) -> frozenset[str]:
    """The keys of the newest metadata file of a table, each with those that it is below."""
    name = table.metadata_location
    compressor = Compressor.get_compressor(name)
    with (
        table.io.new_input(name).open() as file,
        compressor.stream_decompressor(file) as stream,
    ):
        written = json.loads(stream.read())
    for key in _SAID_TWICE:
        written.pop(key, None)
    if written.get(_SNAPSHOT) == _NO_SNAPSHOT:
        del written[_SNAPSHOT]
    return frozenset(_not_kept(written, json.loads(table.metadata.model_dump_json()), ""))


def _not_kept(written: object, kept: object, path: str) -> Iterator[str]:
    if isinstance(written, dict) and isinstance(kept, dict):
        for key, value in written.items():
            if value is not None and key not in kept:
                yield path + key
            elif value is not None:
                yield from _not_kept(value, kept[key], f"{path}{key}.")
    elif isinstance(written, list) and isinstance(kept, list):
        for each, other in zip(written, kept, strict=True):
            yield from _not_kept(each, other, path)
