"""The columns of an ORC file: the tree of its types, numbered from the root down.

    0 STRUCT
    ├─ 1 LONG          id
    ├─ 2 LIST          tags
    │  └─ 3 STRING     tags._elem
    └─ 4 MAP           scores
       ├─ 5 STRING     scores._key
       └─ 6 DOUBLE     scores._value

Every column has its own id, values and index, not only the leaves. Its name is its dotted path;
children of a LIST, MAP or UNION are named as in ORC Java.

Spec: apache/orc-format, specification/ORCv1.md "Type Information".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FooterError
from parquet_bloom.orc.wire import Message, decode_text
from parquet_bloom.parallel import check_fits

# The types in the order of their numbers, and the kind of statistics that each has: all that a new one needs
# here. How its values are stored is in `values`, and what of them is hashed in `keys`.
STATISTICS: Final = {
    "BOOLEAN": "bucket",
    "BYTE": "int",
    "SHORT": "int",
    "INT": "int",
    "LONG": "int",
    "FLOAT": "double",
    "DOUBLE": "double",
    "STRING": "string",
    "BINARY": "binary",
    "TIMESTAMP": "timestamp",
    "LIST": "collection",
    "MAP": "collection",
    "STRUCT": "",
    "UNION": "",
    "DECIMAL": "decimal",
    "DATE": "date",
    "VARCHAR": "string",
    "CHAR": "string",
    "TIMESTAMP_INSTANT": "timestamp",
}
KINDS: Final = tuple(STATISTICS)

# Of a DECIMAL: 128 bits have 38 digits.
MOST_SCALE: Final = 38

UNKNOWN = "unknown"

_CHILD_NAMES = {"LIST": ("_elem",), "MAP": ("_key", "_value")}


@dataclass(frozen=True, slots=True)
class OrcColumn:
    """One column.

    `children` and `parent` are ids; the root has no parent. `length`: the most characters of a CHAR
    or VARCHAR. `attributes`: set by the writer, such as an engine's own type. `is_in_list`: it is a LIST or a MAP,
    or below one.
    """

    id: int
    name: str
    kind: str
    children: tuple[int, ...]
    parent: int | None
    length: int
    precision: int
    scale: int
    attributes: Mapping[str, str]
    is_in_list: bool = False

    @property
    def physical_type(self) -> str:
        return self.type

    @property
    def type(self) -> str:
        """As ORC spells it: `DECIMAL(9,2)`, `CHAR(10)`, `LONG`."""
        match self.kind:
            case "DECIMAL":
                return f"DECIMAL({self.precision},{self.scale})"
            case "CHAR" | "VARCHAR":
                return f"{self.kind}({self.length})"
            case _:
                return self.kind

    @property
    def searched_type(self) -> str:
        return self.type

    @property
    def is_member(self) -> bool:
        # The root is no struct to anybody.
        return bool(self.parent) and not self.is_in_list

    @property
    def logical_type(self) -> None:
        """ORC has no logical types."""
        return None


def read_columns(types: Sequence[Message]) -> tuple[OrcColumn, ...]:
    """The columns by id, from the types in the footer.

    Raises FooterError unless the types form one tree, numbered from the root down, UnsupportedError
    if that does not fit the memory budget.
    """
    if not types:
        raise FooterError("no types in the footer")
    columns: dict[int, OrcColumn] = {}
    num_characters = 0
    # A stack, because a file may nest deeper than Python can recurse.
    waiting: list[tuple[int, str, int | None]] = [(0, "", None)]
    while waiting:
        id, name, parent = waiting.pop()
        if id >= len(types) or id != len(columns):
            raise FooterError(f"type {id}: expected type {len(columns)} of {len(types)} next")
        stored = types[id]
        kind = KINDS[stored.kind] if stored.kind < len(KINDS) else UNKNOWN
        names = _child_names(id, kind, stored)
        is_below = parent is not None and columns[parent].is_in_list
        # A long name of a column is part of that of every column below it.
        num_characters += sum(len(name) + 1 + len(each) for each in names)
        check_fits("the names of all columns take", 8 * num_characters)
        columns[id] = OrcColumn(
            id=id,
            name=name,
            kind=kind,
            children=tuple(stored.subtypes),
            parent=parent,
            length=stored.maximumLength,
            precision=stored.precision,
            scale=stored.scale,
            attributes={
                decode_text(pair.key): decode_text(pair.value) for pair in stored.attributes
            },
            is_in_list=is_below or kind in ("LIST", "MAP"),
        )
        waiting += [
            (child, f"{name}.{child_name}" if name else child_name, id)
            for child, child_name in reversed(list(zip(stored.subtypes, names, strict=True)))
        ]
    if len(columns) != len(types):
        raise FooterError(f"{len(types)} types, but only {len(columns)} in the tree")
    return tuple(columns[id] for id in range(len(types)))


def _child_names(id: int, kind: str, stored: Message) -> Sequence[str]:
    """The names of a column's children. Raises FooterError if their number is wrong."""
    match kind:
        case "STRUCT":
            names: Sequence[str] = [decode_text(name) for name in stored.fieldNames]
        case "LIST" | "MAP":
            names = _CHILD_NAMES[kind]
        case "UNION":
            names = [str(tag) for tag in range(len(stored.subtypes))]
        case _:
            names = ()
    if len(names) != len(stored.subtypes):
        raise FooterError(
            f"type {id}: {kind} with {len(stored.subtypes)} children, expected {len(names)}"
        )
    return names


def names_to(columns: Sequence[OrcColumn], column: OrcColumn) -> tuple[str, ...]:
    """The names from the root to this column, whose own may have dots in them."""
    parents = list(above(columns, column))
    names = [column.name, *(parent.name for parent in parents)]
    below = (name[len(parent.name) :] for name, parent in zip(names, parents, strict=False))
    return tuple(name.removeprefix(".") for name in below)[::-1]


def above(columns: Sequence[OrcColumn], column: OrcColumn) -> Iterator[OrcColumn]:
    """The columns above this one, from its parent up to the root."""
    while column.parent is not None:
        column = columns[column.parent]
        yield column
