"""The names inside of lists and maps, which mean nothing: readers go by the places below an annotation.

    tags (LIST) | list      | element              m (MAP) | key_value | key, value
                | list      | item                         | map       | key, value
                | bag       | array_element                | entries   | keys, values
                  ELEMENTS                                   ENTRIES

So a column has one name, that of the first line, whatever its writer put there. A LIST without a group of its own
for what repeats has no such names, and inside of a VARIANT they are not looked at.

Spec: parquet-format, LogicalTypes.md "Lists", "Maps", with their backward-compatibility rules.
Source: what Arrow C++ and arrow-rs (`list.item`, `entries.keys`), Hive (`bag.array_element`, `map.key`) and Spark's
legacy format (`bag.array`) have written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from parquet_bloom.parquet.thrift import ttypes

# What kind of group it is that repeats in a LIST, and in a MAP.
ELEMENTS: Final = "ELEMENTS"
ENTRIES: Final = "ENTRIES"
# The first child of the latter.
KEY: Final = "KEY"

# A group that has the form of a shredded VARIANT, but not the annotation.
BARE_VARIANT: Final = "BARE VARIANT"

_VARIANTS: Final = ("VARIANT", BARE_VARIANT)


class _Pair(NamedTuple):
    """Two names, one below the other: the format's, and those that users know from files of other writers."""

    standard: tuple[str, str]
    others: tuple[tuple[str, ...], tuple[str, ...]]


_IN_LIST: Final = _Pair(("list", "element"), (("bag",), ("item", "array", "array_element")))
_KEYS: Final = _Pair(("key_value", "key"), (("map", "entries"), ("keys",)))
_VALUES: Final = _Pair(("key_value", "value"), (("map", "entries"), ("values",)))


def _pairs(groups: Sequence[str]) -> Iterator[tuple[int, _Pair]]:
    """Where in a path such names are; `groups`: what kind of group each of its segments is, see LeafColumn."""
    for at, kind in enumerate(groups):
        if kind in _VARIANTS:
            return
        if kind == ELEMENTS:
            yield at, _IN_LIST
        elif kind == ENTRIES:
            yield at, _KEYS if groups[at + 1] == KEY else _VALUES


def standard_path(path: tuple[str, ...], groups: Sequence[str]) -> tuple[str, ...]:
    """The path of a leaf column with the format's names inside of lists and maps."""
    for at, pair in _pairs(groups):
        path = (*path[:at], *pair.standard, *path[at + 2 :])
    return path


def is_spelled(asked: Sequence[str], path: Sequence[str], groups: Sequence[str]) -> bool:
    """Whether `asked` is the path of a leaf column but for the names inside of lists and maps."""
    if len(asked) != len(path) or asked[0] != path[0]:
        return False
    known: list[tuple[str, ...]] = [(name,) for name in path]
    for at, pair in _pairs(groups):
        for place, standard, others in zip((at, at + 1), pair.standard, pair.others, strict=True):
            known[place] = (path[place], standard, *others)
    return all(name in names for name, names in zip(asked, known, strict=True))


def repeated_kind(elements: Sequence[ttypes.SchemaElement], at: int, around: str, name: str) -> str:
    """ELEMENTS or ENTRIES if the group at `at` is what repeats in a LIST or a MAP, else empty; `around`: what kind of
    group it is in, which is called `name`."""
    if around == "MAP":
        return ENTRIES
    repeated = ttypes.FieldRepetitionType.REPEATED
    group, inner = elements[at], elements[at + 1 : at + 2]
    is_around_element = (
        around == "LIST"
        and group.repetition_type == repeated
        and group.num_children == len(inner) == 1
        and group.name not in ("array", f"{name}_tuple")
        and inner[0].repetition_type != repeated
    )
    # Else it is the element itself.
    return ELEMENTS if is_around_element else ""
