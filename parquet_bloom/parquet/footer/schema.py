"""The schema: a list of SchemaElements in depth-first order, and the leaf columns in it.

Only leaf columns have pages, statistics and Bloom filters; groups just nest. Definition and
repetition levels count the optional and repeated steps on the way to a leaf.

Spec: parquet-format, README.md "Nested Encoding", LogicalTypes.md.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import takewhile
from typing import Any, Final, NamedTuple, TypeVar

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError, FooterError, no_column, quoted_name
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.footer.inner_names import (
    BARE_VARIANT,
    ENTRIES,
    KEY,
    is_spelled,
    repeated_kind,
    standard_path,
)
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.values.types import (
    LOGICAL_WIDTH,
    WIDE_TIMESTAMP_BYTES,
    LeafType,
    LogicalType,
    said_besides,
)

MAX_DEPTH = 500

_DECIMALS = ("INT32", "INT64", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
_CONVERTED = {
    "UTF8": LogicalType("STRING"),
    "ENUM": LogicalType("ENUM"),
    "JSON": LogicalType("JSON"),
    "BSON": LogicalType("BSON"),
    "DATE": LogicalType("DATE"),
    "INTERVAL": LogicalType("INTERVAL"),
    "TIME_MILLIS": LogicalType("TIME", unit="MILLIS", utc=True),
    "TIME_MICROS": LogicalType("TIME", unit="MICROS", utc=True),
    "TIMESTAMP_MILLIS": LogicalType("TIMESTAMP", unit="MILLIS", utc=True),
    "TIMESTAMP_MICROS": LogicalType("TIMESTAMP", unit="MICROS", utc=True),
    **{
        f"{sign}INT_{bits}": LogicalType("INTEGER", bit_width=bits, signed=not sign)
        for sign in ("", "U")
        for bits in (8, 16, 32, 64)
    },
}


_Item = TypeVar("_Item")

# Behind the names of what a table does not have of a file.
NOT_IN_TABLE: Final = " (not in the table)"


@dataclass(frozen=True, slots=True)
class LeafColumn:
    """One leaf of the schema; `index` is its position in every row group; `field_ids`: the numbers that a
    table gave the segments of its path, None for those without; `groups`: what kind of group each
    segment is, such as LIST, MAP or VARIANT, ELEMENTS and ENTRIES for what repeats in the first two, KEY for the
    key of a map, BARE_VARIANT, else empty; `called`: what the table calls it that the file is opened for, None
    without one; `is_shared`: other leaves have the same dotted path; `in_table`: its type for values that are asked,
    if the table has widened it."""

    index: int
    path: tuple[str, ...]
    type: LeafType
    max_definition_level: int
    max_repetition_level: int
    field_ids: tuple[int | None, ...] = ()
    groups: tuple[str, ...] = ()
    called: str | None = None
    is_shared: bool = False
    in_table: LeafType | None = None

    @property
    def dotted(self) -> str:
        """The path with dots."""
        return ".".join(self.path)

    @property
    def standard(self) -> tuple[str, ...]:
        """The path with the format's names inside of lists and maps."""
        return standard_path(self.path, self.groups) if self.is_in_list else self.path

    @property
    def called_path(self) -> tuple[str, ...]:
        """The path, or what the table calls the segments that it has; one if a name has a dot in it."""
        if self.called is None:
            return self.path
        called = tuple(self.called.split("."))
        # Tables of other formats leave out what only files have of lists and maps.
        return called if len(called) <= len(self.path) else (self.called,)

    def is_meant_by(self, name: Sequence[str]) -> bool:
        """Whether this name, segment by segment, is its own but for what is inside of lists and maps."""
        if self.called is None:
            return is_spelled(name, self.path, self.groups)
        called = tuple(self.called.split("."))
        # Tables of other formats leave some of the names out, and a name can have dots in it.
        is_standard = len(called) == len(self.path) and called == standard_path(called, self.groups)
        return is_standard and is_spelled(name, called, self.groups)

    @property
    def field_id(self) -> int | None:
        """Its own."""
        return self.field_ids[-1] if self.field_ids else None

    @property
    def name(self) -> str:
        """The dotted path, or what the table calls it; where leaves share a path, with its index."""
        is_clear = self.called or not self.is_shared
        return self.shared_name if is_clear else f"{self.dotted}#{self.index}"

    @property
    def shared_name(self) -> str:
        """The same without an index."""
        return self.called or self.dotted

    @property
    def physical_type(self) -> str:
        return self.type.physical

    @property
    def logical_type(self) -> str | None:
        return str(self.type.logical) if self.type.logical else None

    @property
    def searched_type(self) -> LeafType:
        says_more = said_besides(self.physical_type, self.logical_type)
        return self.type if says_more else replace(self.type, logical=None)

    @property
    def in_structs(self) -> str:
        """The dotted path down to the first group that is no struct, such as a list; of what repeats without being
        called one, only the whole column."""
        if self.is_in_list and not any(self.groups):
            return self.path[0]
        structs = [*takewhile(lambda group: not group, self.groups)]
        return ".".join(self.path[: len(structs) + 1])

    @property
    def is_in_list(self) -> bool:
        return self.max_repetition_level > 0

    @property
    def is_member(self) -> bool:
        return len(self.path) > 1 and not self.is_in_list


# The schema that was looked at last, and its leaves: the files of a folder mostly have the same. A longer
# one would take memory that the next file may want.
_KEPT_BYTES: Final = 64 << 10
_latest: list[tuple[bytes, tuple[LeafColumn, ...]]] = [(b"", ())]


def leaves_of(
    schema: bytes, decode: Callable[[], Sequence[ttypes.SchemaElement]]
) -> tuple[LeafColumn, ...]:
    """The leaves of a schema as it is stored, in order; `decode`: gives its elements. Raises as these
    and leaf_columns do."""
    latest, leaves = _latest[0]
    if latest != schema:
        leaves = leaf_columns(decode())
        if len(schema) <= _KEPT_BYTES:
            _latest[0] = schema, leaves
    return leaves


def leaf_columns(elements: Sequence[ttypes.SchemaElement]) -> tuple[LeafColumn, ...]:
    """The leaves in order. Raises FooterError if the elements do not form a tree."""
    if not elements:
        raise FooterError("schema: empty, expected a root")
    leaves: list[LeafColumn] = []
    end = _walk(elements, 0, _Place(), (0, 0), leaves)
    # A long name of a group is part of that of every column below it.
    check_fits("schema: the names of all columns take", 8 * sum(map(_name_length, leaves)))
    if end != len(elements):
        raise FooterError(f"schema: {len(elements)} elements, expected {end}")
    if _are_clear(leaves):
        return tuple(leaves)
    counts = Counter(leaf.dotted for leaf in leaves)
    return tuple(replace(leaf, is_shared=counts[leaf.dotted] > 1) for leaf in leaves)


def _are_clear(leaves: Sequence[LeafColumn]) -> bool:
    """Whether dotted paths certainly differ; without making them, of which a file may have a million."""
    paths = {leaf.path for leaf in leaves}
    return len(paths) == len(leaves) and not any("." in name for path in paths for name in path)


def _name_length(leaf: LeafColumn) -> int:
    return sum(map(len, leaf.path)) + len(leaf.path)


class _Place(NamedTuple):
    """Where a group is: its path, the field ids along it, and what kinds of groups these are."""

    path: tuple[str, ...] = ()
    ids: tuple[int | None, ...] = ()
    groups: tuple[str, ...] = ()

    def below(self, element: ttypes.SchemaElement, number: int) -> _Place:
        """That of its child of this number."""
        is_key = number == 0 and self.groups[-1:] == (ENTRIES,)
        kind = KEY if is_key else "" if element.type is not None else self._kind_of(element)
        path = (*self.path, element.name or "")
        return _Place(path, _and(self.ids, element.field_id), _and(self.groups, kind))

    def _kind_of(self, group: ttypes.SchemaElement) -> str:
        """What kind of group a child is. Some writers annotated maps like the groups in them."""
        kind = _member(group.logicalType)
        kind = kind or ttypes.ConvertedType._VALUES_TO_NAMES.get(group.converted_type, "")
        if kind == "MAP_KEY_VALUE":
            return "" if self.groups[-1:] == ("MAP",) else "MAP"
        return kind

    def plain_kind(self, elements: Sequence[ttypes.SchemaElement], at: int) -> str:
        """What kind of group a child is that has no annotation, the one at `at`."""
        around, name = (self.groups[-1], self.path[-1]) if self.path else ("", "")
        if repeated := repeated_kind(elements, at, around, name):
            return repeated
        return BARE_VARIANT if _has_variant_form(elements, at) else ""


@lru_cache(maxsize=1 << 10)
def _and(before: tuple[_Item, ...], last: _Item) -> tuple[_Item, ...]:
    """One tuple for all children of a group of which the same is to be said."""
    return (*before, last)


def _walk(
    elements: Sequence[ttypes.SchemaElement],
    at: int,
    place: _Place,
    levels: tuple[int, int],
    leaves: list[LeafColumn],
) -> int:
    """Collect the leaves of the group at `at`; returns the position after the group. `levels`: its
    definition and repetition level."""
    if len(place.path) > MAX_DEPTH:
        raise FooterError(f"schema: nested deeper than {MAX_DEPTH}")
    children = elements[at].num_children or 0
    at += 1
    for number in range(children):
        if at >= len(elements):
            raise FooterError("schema: ends inside a group")
        element = elements[at]
        _check_repetition(element)
        optional = element.repetition_type == ttypes.FieldRepetitionType.OPTIONAL
        repeated = element.repetition_type == ttypes.FieldRepetitionType.REPEATED
        below = place.below(element, number)
        if element.type is None and not below.groups[-1]:
            below = below._replace(groups=_and(place.groups, place.plain_kind(elements, at)))
        definition, repetition = levels[0] + (optional or repeated), levels[1] + repeated
        if element.type is None:
            at = _walk(elements, at, below, (definition, repetition), leaves)
        else:
            leaf = _leaf_type(element)
            of_leaf = below.path, leaf, definition, repetition, below.ids, below.groups
            leaves.append(LeafColumn(len(leaves), *of_leaf))
            at += 1
    return at


def _check_repetition(element: ttypes.SchemaElement) -> None:
    """Raise FooterError if there is none: nobody knows then which levels pages have, and values would be others."""
    found = element.repetition_type
    if found not in ttypes.FieldRepetitionType._VALUES_TO_NAMES:
        number = "none" if found is None else found
        raise FooterError(
            f"schema: column {element.name}: expected a repetition type, found {number}"
        )


def level_of(elements: Sequence[ttypes.SchemaElement], path: Sequence[str]) -> int | None:
    """The definition level from which on there is something of the group at a path; None if there is no such group
    or several, or more than one of it in a row. The elements must form a tree."""
    found: list[int | None] = []
    # The path of each group that is open, its definition level, how many children are to come; None if repeated.
    opened: list[tuple[tuple[str, ...], int | None, int]] = [((), 0, elements[0].num_children or 0)]
    for element in elements[1:]:
        while opened[-1][2] == 0:
            opened.pop()
        around, level, left = opened.pop()
        opened.append((around, level, left - 1))
        if element.type is not None or level is None:
            level = None
        elif element.repetition_type != ttypes.FieldRepetitionType.REQUIRED:
            is_optional = element.repetition_type == ttypes.FieldRepetitionType.OPTIONAL
            level = level + 1 if is_optional else None
        here = (*around, element.name or "")
        if here == tuple(path):
            found.append(level)
        opened.append((here, level, (element.num_children or 0) if element.type is None else 0))
    return found[0] if len(found) == 1 else None


def _has_variant_form(elements: Sequence[ttypes.SchemaElement], at: int) -> bool:
    """Whether the group at `at` is as a shredded VARIANT, which Spark can write without the annotation."""
    number = elements[at].num_children
    if number not in (2, 3):
        return False
    *encoded, last = elements[at + 1 : at + 1 + number] or [elements[at]]
    names = {each.name for each in encoded if each.type == ttypes.Type.BYTE_ARRAY}
    return last.name == "typed_value" and names in ({"metadata"}, {"metadata", "value"})


def _leaf_type(element: ttypes.SchemaElement) -> LeafType:
    physical = ttypes.Type._VALUES_TO_NAMES.get(element.type)
    if physical is None:
        raise FooterError(f"schema: column {element.name}: unknown physical type {element.type}")
    length = (element.type_length or 0) if physical == "FIXED_LEN_BYTE_ARRAY" else 0
    if length < 0:
        raise FooterError(f"schema: column {element.name}: type_length {length} is negative")
    logical = logical_type(element)
    if logical and not _fits(logical, physical, length):
        logical = None
    is_annotated = element.logicalType is not None or element.converted_type is not None
    return LeafType(physical, length, logical, is_annotated and logical is None)


def _fits(logical: LogicalType, physical: str, length: int) -> bool:
    """Whether the format allows the annotation on this type; otherwise it is ignored."""
    match logical.name:
        case name if name in LOGICAL_WIDTH:
            return length == LOGICAL_WIDTH[name]
        case "INTEGER":
            widths = {"INT32": (8, 16, 32), "INT64": (64,)}
            return logical.bit_width in widths.get(physical, ())
        case "DATE":
            return physical == "INT32"
        case "TIME":
            return physical == ("INT32" if logical.unit == "MILLIS" else "INT64")
        case "TIMESTAMP":
            return physical == "INT64" or length == WIDE_TIMESTAMP_BYTES
        case "DECIMAL":
            return physical in _DECIMALS and logical.precision > 0 and logical.scale >= 0
        case "STRING" | "ENUM" | "JSON" | "BSON":
            return physical == "BYTE_ARRAY"
        case _:
            return True


def logical_type(element: ttypes.SchemaElement) -> LogicalType | None:
    """The union wins over the older ConvertedType, unless it is UNKNOWN."""
    logical = _from_union(element)
    if logical is None or logical.name == "UNKNOWN":
        return _from_converted(element) or logical
    return logical


def _from_union(element: ttypes.SchemaElement) -> LogicalType | None:
    member = _member(element.logicalType)
    details: Any = member and getattr(element.logicalType, member)
    match member:
        case None:
            return None
        case "INTEGER":
            return LogicalType(
                member, bit_width=details.bitWidth or 0, signed=bool(details.isSigned)
            )
        case "TIME" | "TIMESTAMP":
            unit = _member(details.unit)
            return (
                LogicalType(member, unit=unit, utc=bool(details.isAdjustedToUTC)) if unit else None
            )
        case "DECIMAL":
            return LogicalType(member, precision=details.precision or 0, scale=details.scale or 0)
        case _:
            return LogicalType(member)


def _member(union: Any) -> str | None:
    """The name of the member of a Thrift union that is set."""
    names = union.__slots__ if union else ()
    return next((name for name in names if getattr(union, name) is not None), None)


def _from_converted(element: ttypes.SchemaElement) -> LogicalType | None:
    name = ttypes.ConvertedType._VALUES_TO_NAMES.get(element.converted_type, "")
    if name == "DECIMAL":
        return LogicalType(name, precision=element.precision or 0, scale=element.scale or 0)
    return _CONVERTED.get(name)


def find_column(leaves: Sequence[LeafColumn], name: str, path: str = "") -> LeafColumn:
    """The leaf with this name, or `#3`: the one with this index; if there is none, the one that is called otherwise
    only inside of lists and maps. Raises ColumnError, which suggests similar names, or says what `path`, that of the
    file, has by this name."""
    names = [leaf.name for leaf in leaves]
    if names.count(name) == 1:
        return leaves[names.index(name)]
    if sharing := [leaf for leaf in leaves if leaf.shared_name == name]:
        raise ColumnError(
            f"column {name}: {len(sharing)} leaf columns have this path, expected one by its index:"
            f" {_some([f'#{leaf.index}' for leaf in sharing])}"
        )
    if name.startswith("#") and name[1:].isdecimal():
        found = next((leaf for leaf in leaves if leaf.index == int(name[1:])), None)
        if found is not None:
            return found
        if leaves:
            raise ColumnError(f"column {name}: expected an index up to {leaves[-1].index}")
    segments = name.split(".")
    meant = [leaf for leaf in leaves if leaf.is_in_list and leaf.is_meant_by(segments)]
    if len(meant) == 1:
        return meant[0]
    # Not what is flat, with a dot in its name.
    nested = (leaf for leaf in leaves if len(leaf.path) > len(segments))
    below = [leaf.name for leaf in nested if leaf.name.startswith(f"{name}.")]
    if below:
        raise ColumnError(f"column {name}: a group, expected a leaf column such as {_some(below)}")
    raise ColumnError(no_column(name, names, path=path))


def leaves_called(leaves: Sequence[LeafColumn], name: str) -> list[LeafColumn]:
    """The one that find_column finds, or all that share the name; none if there is no such column."""
    try:
        return [find_column(leaves, name)]
    except ColumnError:
        return [leaf for leaf in leaves if leaf.shared_name == name]


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(quoted_name, names[:5])) + (", …" if len(names) > 5 else "")
