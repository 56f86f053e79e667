"""Manifests, lists of manifests and metadata of Iceberg tables with what PyIceberg does not know."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from make.iceberg_tables import load, path_of
from pyiceberg.avro.codecs import AVRO_CODEC_KEY
from pyiceberg.avro.file import AvroFile, AvroOutputFile
from pyiceberg.io import FileIO
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import ListType, NestedField, StructType


def manifest(at: int = 0) -> str:
    """One of the newest snapshot's; the newest is the first."""
    table = load()
    snapshot = table.current_snapshot()
    assert snapshot is not None
    return snapshot.manifests(table.io)[at].manifest_path


def newest_list() -> str:
    snapshot = load().current_snapshot()
    assert snapshot is not None
    return snapshot.manifest_list


def add_field(
    name: str,
    field: NestedField,
    value: Any,
    below: tuple[int, ...] = (),
    key_values: Mapping[str, str] | None = None,
) -> None:
    """Write an Avro file anew, each record with one more field in the struct of the field with the last
    of the ids `below`; with these key-values besides its own."""
    io = load().io
    with AvroFile[Record](io.new_input(name)) as file:
        records, schema, meta = list(file), file.schema, dict(file.header.meta)
    fields = schema.as_struct()
    for record in records:
        _append(record, fields, below, value)
    for key in ("avro.schema", AVRO_CODEC_KEY):
        del meta[key]
    _write(
        io,
        name,
        Schema(*_added(fields, below, field).fields),
        records,
        meta | {**(key_values or {})},
    )


def _append(value_of: Any, kind: Any, below: tuple[int, ...], value: Any) -> None:
    if isinstance(kind, ListType):
        for each in value_of:
            _append(each, kind.element_type, below, value)
    elif not below:
        value_of._data.append(value)
    else:
        at = [each.field_id for each in kind.fields].index(below[0])
        _append(value_of[at], kind.fields[at].field_type, below[1:], value)


def _added(kind: Any, below: tuple[int, ...], field: NestedField) -> Any:
    if isinstance(kind, ListType):
        inner = _added(kind.element_type, below, field)
        return ListType(kind.element_id, inner, element_required=kind.element_required)
    if not below:
        return StructType(*kind.fields, field)
    return StructType(*(_with(each, below, field) for each in kind.fields))


def _with(one: NestedField, below: tuple[int, ...], field: NestedField) -> NestedField:
    if one.field_id != below[0]:
        return one
    inner = _added(one.field_type, below[1:], field)
    return NestedField(one.field_id, one.name, inner, required=one.required)


def _write(
    io: FileIO, name: str, schema: Schema, records: list[Any], meta: Mapping[str, str]
) -> None:
    kind = "manifest_file" if "snap-" in name else "manifest_entry"
    with AvroOutputFile[Any](io.new_output(name), schema, kind, metadata={**meta}) as file:
        file.write_block(records)


def key_values(name: str) -> dict[str, str]:
    """Those of an Avro file."""
    with AvroFile[Record](load().io.new_input(name)) as file:
        return dict(file.header.meta)


def change_metadata(change: Callable[[dict[str, Any]], None]) -> None:
    """Of the newest metadata file, as JSON."""
    place = path_of(load().metadata_location)
    document = json.loads(place.read_text())
    change(document)
    place.write_text(json.dumps(document))
