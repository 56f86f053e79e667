"""What stands in the way of any commit to an Iceberg table, in words.

Source: Iceberg, TableProperties; PyIceberg, what it writes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from pyiceberg.catalog import MetastoreCatalog
from pyiceberg.manifest import ManifestContent, ManifestFile
from pyiceberg.table import Table as Loaded
from pyiceberg.table.metadata import TableMetadata
from pyiceberg.table.snapshots import Snapshot
from pyiceberg.types import DoubleType

from parquet_bloom.tables.iceberg.library import other_version
from parquet_bloom.tables.iceberg.live_files import partition_fields
from parquet_bloom.tables.iceberg.unknown_parts import (
    unknown_in,
    unknown_in_list,
    unknown_in_metadata,
)

# The version whose manifests PyIceberg writes as they are to be.
_WRITTEN: Final = 2

_OWNS_FILES: Final = "gc.enabled"
_KEY: Final = "encryption.key-id"


def in_the_way(table: Loaded, snapshot: Snapshot | None) -> Iterator[str]:
    """Of a commit that follows a snapshot of it."""
    yield from _of_version(table.metadata)
    yield from _of_properties(table.metadata)
    if reason := other_version():
        yield reason
    manifests = [] if snapshot is None else snapshot.manifests(table.io)
    if any(each.key_metadata is not None for each in manifests):
        yield "its manifests are encrypted, which PyIceberg does not write"
    elif table.metadata.format_version == _WRITTEN:
        yield from _of_unknown_parts(table, snapshot)


def in_manifests(table: Loaded, manifests: Iterable[ManifestFile]) -> Iterator[str]:
    """Of a commit that writes some of these anew."""
    if table.metadata.format_version != _WRITTEN:
        return
    specs = table.metadata.specs()
    lost: set[str] = set()
    for each in manifests:
        if each.content == ManifestContent.DATA and each.key_metadata is None:
            lost |= unknown_in(table.io, each, specs[each.partition_spec_id]).fields
    if lost:
        yield lost_of_manifests(lost)


def lost_of_manifests(fields: Iterable[str]) -> str:
    """`fields`: of unknown ids."""
    return _dropped("its manifests have", fields)


def _of_unknown_parts(table: Loaded, snapshot: Snapshot | None) -> Iterator[str]:
    # Other catalogs write the metadata themselves.
    if isinstance(table.catalog, MetastoreCatalog) and (lost := unknown_in_metadata(table)):
        yield _dropped("its metadata has", lost)
    if snapshot is not None and (lost := unknown_in_list(table.io, snapshot.manifest_list)):
        yield _dropped("its list of manifests has", lost)


def _of_version(metadata: TableMetadata) -> Iterator[str]:
    match metadata.format_version:
        case 1:
            yield (
                "format version 1, expected 2: ALTER TABLE … SET TBLPROPERTIES ('format-version' = '2')"
            )
        case number if number != _WRITTEN:
            yield f"format version {number}, whose manifests PyIceberg does not write: expected 2"
    fields = [each for spec in partition_fields(metadata).values() for each in spec if each]
    for name in sorted({field.name for field in fields if isinstance(field.values, DoubleType)}):
        yield (
            f"its files are partitioned by {name}, a double, which PyIceberg reads from manifests with the"
            " precision of a float"
        )


def _of_properties(metadata: TableMetadata) -> Iterator[str]:
    if "delta-version" in metadata.properties:
        yield "it is a view of a Delta table (UniForm): commit to that one"
    # Java's Boolean.parseBoolean takes nothing else for true.
    value = metadata.properties.get(_OWNS_FILES, "true")
    if value.lower() != "true":
        yield (
            f"{_OWNS_FILES} is {value if value.isalnum() else repr(value)}: its files may belong to"
            " another table, which would not learn of the change: set it to true if they are its"
            " own"
        )
    if metadata.properties.get(_KEY):
        yield f"{_KEY} is set: its manifests must be encrypted, which PyIceberg does not do"


def _dropped(which: str, lost: Iterable[str]) -> str:
    return f"{which} {', '.join(sorted(lost))}, which PyIceberg does not know, and would drop"
