"""The keys of documents, and the columns of tables, which name places as the format does; and attributes by these
names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from parquet_bloom.container import UNITS, Place, Units

_UNIT = re.compile(r"(?<![a-z])(?<!row_)(part|group)(?=s?(?![a-z]))")


def units_of(report: object) -> Units:
    """What the format of a report calls its parts; a report on files of both formats has none."""
    return UNITS[getattr(report, "format", "parquet")]


@cache
def key_of(name: str, units: Units) -> str:
    """The key for a field, such as `num_row_groups` or `num_stripes` for `num_parts`; `row_group` is one in both
    formats, where files of both are told of."""
    return _UNIT.sub(lambda found: getattr(units, found[1]).replace(" ", "_"), name)


def place_fields(place: Place | None, units: Units) -> dict[str, int | None]:
    """The keys for a place; for no place, that of a part."""
    part = {key_of("part", units): None if place is None else place.part}
    if place is None or place.group is None:
        return part
    return {**part, key_of("group", units): place.group}


class NamedAsShown:
    """Whose fields and properties can also be called as documents and tables call them: `num_parts` as
    `num_row_groups`, or as `num_stripes`, of a report on an ORC file. Type checkers know the names that all formats
    share."""

    __slots__ = ()

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            field = _renamed(type(self)).get(name)
            # What is a part of a report does not know the format.
            if field and (not hasattr(self, "format") or key_of(field, units_of(self)) == name):
                return getattr(self, field)
            # Raises what was raised for this name, by a property perhaps.
            return object.__getattribute__(self, name)


@cache
def _renamed(kind: type) -> Mapping[str, str]:
    """The fields and properties by those names that are not theirs, of any format."""
    properties = [name for name, each in vars(kind).items() if isinstance(each, property)]
    names = (*kind.__annotations__, *properties)
    keys = {key_of(name, units): name for units in UNITS.values() for name in names}
    return {key: name for key, name in keys.items() if key != name}
