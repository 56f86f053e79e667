"""How tables name the places of a file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_bloom.container import Place, Units


def place_heads(units: Units) -> tuple[str, ...]:
    """The headings of the columns for a place: `row group`; `stripe`, `index group`."""
    return (units.part, units.group) if units.has_groups else (units.part,)


def place_cells(place: Place) -> tuple[str, ...]:
    """What stands below them."""
    return (str(place.part),) if place.group is None else (str(place.part), str(place.group))


def short_place(place: Place) -> str:
    """`3`; `0/3` for index group 3 of stripe 0."""
    return "/".join(place_cells(place))
