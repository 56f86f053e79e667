"""A report as JSON has it: plain dictionaries and lists, whose keys name places as the format does.

    place: Place(3)              "row_group": 3                        "stripe": 3
    place: Place(3, 1)           -                                     "stripe": 3, "index_group": 1
    num_parts, parts             "num_row_groups", "row_groups"        "num_stripes", "stripes"
    groups, group_ndv            "row_groups", "row_group_ndv"         "index_groups", ...

Fields marked WHERE_KNOWN are left out where they are None.
"""

from __future__ import annotations

import re
from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

from parquet_bloom.container import UNITS, Place, Units

_UNIT = re.compile(r"(?<![a-z])(part|group)(?=s?(?![a-z]))")


def document_of(report: Any) -> dict[str, Any]:
    """The document of one report, a dataclass with a `format`."""
    document: dict[str, Any] = _plain(report, UNITS[report.format])
    return document


def _plain(value: Any, units: Units) -> Any:
    if is_dataclass(value):
        return _fields(value, units)
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each, units) for each in value]
    if isinstance(value, dict):
        return {key: _plain(each, units) for key, each in value.items()}
    return value


def _fields(value: Any, units: Units) -> dict[str, Any]:
    document: dict[str, Any] = {}
    for each in fields(value):
        content = getattr(value, each.name)
        if each.name == "place":
            document |= place_fields(content, units)
        elif content is not None or not each.metadata.get("where_known"):
            document[key_of(each.name, units)] = _plain(content, units)
    return document


@cache
def key_of(name: str, units: Units) -> str:
    """The key for a field, such as `num_row_groups` or `num_stripes` for `num_parts`."""
    return _UNIT.sub(lambda found: getattr(units, found[1]).replace(" ", "_"), name)


def place_fields(place: Place | None, units: Units) -> dict[str, int | None]:
    """The keys for a place; of none, the part is null."""
    part = key_of("part", units)
    if place is None:
        return {part: None}
    if place.group is None:
        return {part: place.part}
    return {part: place.part, key_of("group", units): place.group}
