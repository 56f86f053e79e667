"""A report as a pyarrow.Table whose schema is that of its class, whatever the report says, so that the
tables of many files fit together.

    filter: FilterDescription | None        filter.dialect: string, filter.offset: int64, …
    filters: tuple[Answer, ...]             a row each, or list<struct<…>>
    notes: tuple[str, ...]                  list<string>
    statistics: Any                         string: as JSON, for it has another type in other places
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from importlib import import_module
from typing import Any, Final

import numpy as np
import pyarrow as pa

from parquet_bloom.container import Place, Units
from parquet_bloom.container.shown_names import key_of, place_fields, units_of

_PLAIN: Final = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
_LIST: Final = re.compile(r"tuple\[(.+), \.\.\.\]")

# Where classes are that are only imported where reports have any of them.
_ELSEWHERE: Final = {
    "Finding": "parquet_bloom.rules.finding",
    "PartDescription": "parquet_bloom.container.descriptions",
    "FilterBytes": "parquet_bloom.container.descriptions",
}

_Types = Mapping[str, pa.DataType]


def arrow_table(report: Any) -> pa.Table:
    """See VerbReport.to_arrow."""
    rows = list(report._items())
    columns = {
        name: pa.array([_fitting(row.get(name), kind) for row in rows], kind)
        for name, kind in _columns(report).items()
    }
    return pa.table(columns)


def joined(tables: Iterable[pa.Table]) -> pa.Table:
    """The rows of all tables; a column that one lacks is null in its rows."""
    found = list(tables)
    return pa.concat_tables(found, promote_options="default") if found else pa.table({})


def with_texts(table: pa.Table, name: str, texts: Sequence[str], times: int) -> pa.Table:
    """The table with these in a column, each in so many rows, one after the other."""
    rows = np.repeat(np.arange(len(texts)), times)
    column = pa.array(texts, pa.string()).take(pa.array(rows))
    return table.set_column(table.schema.get_field_index(name), name, column)


def _columns(report: Any) -> dict[str, pa.DataType]:
    units = units_of(report)
    names = ("path", "path_a", "path_b")
    columns: dict[str, pa.DataType] = {name: pa.string() for name in names if hasattr(report, name)}
    kind: type[Any] = type(report)
    if not report._rows:
        types = _of_class(kind, units, report._left_out)
        merged = types.pop(report._merged, {})
        return columns | dict(_flat({**types, **merged}))
    for level, name in enumerate(report._rows):
        kind = report._item or _item_class(kind, name) if level == 0 else _item_class(kind, name)
        columns |= dict(_flat(_of_class(kind, units, report._rows[level + 1 :])))
    return columns


def _item_class(kind: type[Any], name: str) -> type[Any]:
    """That of the items in a field."""
    (annotation,) = (str(each.type) for each in fields(kind) if each.name == name)
    listed = _LIST.fullmatch(annotation.removesuffix(" | None"))
    assert listed is not None, annotation
    found: type[Any] = _named(listed[1], kind)
    return found


def _named(name: str, kind: type[Any]) -> Any:
    """What an annotation in a class means by a name."""
    if name in _ELSEWHERE:
        return getattr(import_module(_ELSEWHERE[name]), name)
    return getattr(sys.modules[kind.__module__], name, None)


def _of_class(
    kind: type[Any], units: Units, left_out: tuple[str, ...] = ()
) -> dict[str, pa.DataType | dict[str, Any]]:
    """The types of its fields, by their keys in the document; of a field that is an item by itself, those
    of its fields."""
    found: dict[str, Any] = {}
    for each in fields(kind):
        if each.name == "place":
            found |= dict.fromkeys(_place_keys(units), pa.int64())
        elif each.name not in left_out:
            found[key_of(each.name, units)] = _of_annotation(str(each.type), kind, units)
    return found


def _place_keys(units: Units) -> list[str]:
    has_groups = key_of("group", units) != key_of("part", units)
    return list(place_fields(Place(0, 0 if has_groups else None), units))


def _of_annotation(annotation: str, kind: type[Any], units: Units) -> Any:
    name = annotation.removesuffix(" | None")
    if name in _PLAIN:
        return _PLAIN[name]
    if listed := _LIST.fullmatch(name):
        return pa.list_(_nested(_of_annotation(listed[1], kind, units)))
    meant: Any = _named(name, kind)
    # Words of a list, and what has no type of its own, are text.
    return (
        _of_class(meant, units) if isinstance(meant, type) and is_dataclass(meant) else pa.string()
    )


def _nested(kind: Any) -> pa.DataType:
    """A struct for the types of fields."""
    if not isinstance(kind, dict):
        return kind
    return pa.struct([(name, _nested(each)) for name, each in kind.items()])


def _flat(types: Mapping[str, Any]) -> Iterator[tuple[str, pa.DataType]]:
    for name, kind in types.items():
        if isinstance(kind, dict):
            yield from ((f"{name}.{key}", each) for key, each in _flat(kind))
        else:
            yield name, kind


def _fitting(value: Any, kind: pa.DataType) -> Any:
    """A JSON value as one of this type."""
    if value is None:
        return None
    if pa.types.is_list(kind):
        return [_fitting(each, kind.value_type) for each in value]
    if pa.types.is_struct(kind):
        return {each.name: _fitting(value.get(each.name), each.type) for each in kind}
    if pa.types.is_string(kind) and not isinstance(value, str):
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return value
