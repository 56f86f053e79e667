"""Where something is in a file: a part of it, and a group of that part."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from parquet_bloom.vocabulary import Format


class Units(NamedTuple):
    """What a format calls its parts, and what of them readers skip."""

    part: str
    group: str

    @property
    def has_groups(self) -> bool:
        """Whether a part has several groups, each with a filter of its own."""
        return self.part != self.group


ROW_GROUPS: Final = Units("row group", "row group")
STRIPES: Final = Units("stripe", "index group")

UNITS: Final[Mapping[Format, Units]] = {"parquet": ROW_GROUPS, "orc": STRIPES}


def number_of(count: int, noun: str) -> str:
    """`1 row group`, `1,024 row groups`"""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A part of a file, and a group of it where not all of the part is concerned."""

    part: int
    group: int | None = None
    units: Units = field(default=ROW_GROUPS, compare=False, repr=False)

    def __str__(self) -> str:
        """`row group 3`; `stripe 1, index group 2`"""
        part = f"{self.units.part} {self.part}"
        return part if self.group is None else f"{part}, {self.units.group} {self.group}"

    @property
    def row_group(self) -> int | None:
        """None in a format without row groups."""
        return self.part if self.units == ROW_GROUPS else None

    @property
    def stripe(self) -> int | None:
        """None in a format without stripes."""
        return self.part if self.units == STRIPES else None


class Located:
    """Lets a result be asked for its place by the names of its format."""

    __slots__ = ()

    place: Place | None

    @property
    def row_group(self) -> int | None:
        """None in a format without row groups, or where it is about the whole file."""
        return None if self.place is None else self.place.row_group

    @property
    def stripe(self) -> int | None:
        return None if self.place is None else self.place.stripe

    @property
    def index_group(self) -> int | None:
        return None if self.place is None else self.place.group
