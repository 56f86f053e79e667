"""A report as a JSON document: dictionaries and lists, whose keys name places as the format does.

    place: Place(3)              "row_group": 3                        "stripe": 3
    place: Place(3, 1)           -                                     "stripe": 3, "index_group": 1
    num_parts, parts             "num_row_groups", "row_groups"        "num_stripes", "stripes"
    groups, group_ndv            "row_groups", "row_group_ndv"         "index_groups", ...

Fields marked WHERE_KNOWN are left out where they are None; bytes are in hexadecimal.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from parquet_bloom.container import UNITS, Place, Units

_AS_THEY_ARE = frozenset({str, int, float, bool})

_UNIT = re.compile(r"(?<![a-z])(part|group)(?=s?(?![a-z]))")


def document_of(report: Any) -> dict[str, Any]:
    """The document of a report, a dataclass with a `format`."""
    document: dict[str, Any] = plain(report, UNITS[report.format])
    return document


def plain(value: Any, units: Units) -> Any:
    """The JSON value for any part of a report."""
    # The most frequent first: a file may have 100,000 chunks.
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [plain(each, units) for each in value]
    if isinstance(value, dict):
        return {key: plain(each, units) for key, each in value.items()}
    if not is_dataclass(value):
        return value.hex() if isinstance(value, bytes) else value
    document: dict[str, Any] = {}
    for name, key, where_known in _keys(value.__class__, units):
        content = getattr(value, name)
        if content is None:
            if not where_known:
                document[key] = None
        elif name == "place":
            document |= place_fields(content, units)
        elif type(content) in _AS_THEY_ARE:
            document[key] = content
        else:
            document[key] = plain(content, units)
    return document


@cache
def _keys(report: Any, units: Units) -> tuple[tuple[str, str, bool], ...]:
    """Name, key and WHERE_KNOWN of each field; a `place` that is None has the key of a part."""
    return tuple(
        (
            each.name,
            key_of("part" if each.name == "place" else each.name, units),
            bool(each.metadata.get("where_known")),
        )
        for each in fields(report)
    )


@cache
def key_of(name: str, units: Units) -> str:
    """The key for a field, such as `num_row_groups` or `num_stripes` for `num_parts`."""
    return _UNIT.sub(lambda found: getattr(units, found[1]).replace(" ", "_"), name)


def place_fields(place: Place, units: Units) -> dict[str, int]:
    """The keys for a place."""
    part = {key_of("part", units): place.part}
    return part if place.group is None else {**part, key_of("group", units): place.group}
