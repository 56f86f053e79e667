"""The keys of documents, and the columns of tables, which name places as the format does."""

from __future__ import annotations

import re
from functools import cache

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
