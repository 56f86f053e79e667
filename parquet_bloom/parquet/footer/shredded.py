"""Leaves of a shredded VARIANT.

    v (VARIANT) | metadata | value | typed_value | a | value | typed_value
                                                   b | value | typed_value | list | element | …

A value that has the type of a `typed_value` is there; all others are encoded in the `value` beside it,
the residual, and so may be the same number in another type. A filter of a `typed_value` therefore never
tells alone that no value of the VARIANT is equal to another.

Spec: parquet-format, VariantShredding.md.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import fields
from typing import Final, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ColumnError
from parquet_bloom.parquet.footer.inner_names import BARE_VARIANT
from parquet_bloom.parquet.footer.schema import LeafColumn

TYPED: Final = "typed_value"
RESIDUAL: Final = "value"


def is_in_variant(leaf: LeafColumn) -> bool:
    return "VARIANT" in leaf.groups or is_bare(leaf)


def is_bare(leaf: LeafColumn) -> bool:
    """Whether the file does not say that it is a VARIANT: who does not know it takes it for a struct."""
    return BARE_VARIANT in leaf.groups


def is_typed(leaf: LeafColumn) -> bool:
    """Whether the leaf of a VARIANT holds values of one type, and not encoded ones or their names."""
    return leaf.path[-1] == TYPED


def is_field(leaf: LeafColumn) -> bool:
    """Whether the leaf has the typed values of a field of an object, neither those of an array's elements
    nor those of the VARIANT itself."""
    depth = len(leaf.path) + 1 - _top(leaf)
    return is_typed(leaf) and not leaf.max_repetition_level and depth > 2


def caveat(leaf: LeafColumn) -> str:
    """What an answer about a leaf of a VARIANT is not about."""
    if isinstance(leaf, ShreddedField):
        type = leaf.logical_type or leaf.physical_type
        return f"about {leaf.name} cast to {type}, or to a type in which its values stay different"
    whole = field_of(leaf)
    if not is_typed(leaf):
        return f"about the encoded bytes of {leaf.name} only, not about values of {whole}"
    others = " and ".join(residuals_of(leaf))
    return f"about the typed part of {whole} only: other values of it can be in {others}"


def field_of(leaf: LeafColumn) -> str:
    """The part of a VARIANT that a typed leaf has values of: `v.a`, `v.b[…]`, or `v`."""
    return ".".join(leaf.path[: _top(leaf)]) + "".join(field for _, field in _typed(leaf))


def residuals_of(leaf: LeafColumn) -> tuple[str, ...]:
    """The columns that may have other values of that part."""
    return tuple(".".join((*leaf.path[:at], RESIDUAL)) for at, _ in _typed(leaf))


def _top(leaf: LeafColumn) -> int:
    """How much of the path leads to the VARIANT."""
    return leaf.groups.index(BARE_VARIANT if is_bare(leaf) else "VARIANT") + 1


def _typed(leaf: LeafColumn) -> Iterator[tuple[int, str]]:
    """Where each `typed_value` is in the path, and what follows: `.a`, `[…]`, or nothing."""
    at = _top(leaf)
    while at < len(leaf.path):
        if at + 1 == len(leaf.path):
            yield at, ""
            return
        is_array = leaf.groups[at] == "LIST"
        yield at, "[…]" if is_array else f".{leaf.path[at + 1]}"
        at += 3 if is_array else 2


# ------------------------------------------------------------------------------------------------
# Fields by their path in a VARIANT

# `.a`, `['a']`, `["a"]`; the first dot may be left out.
_STEP: Final = re.compile(r"""\.?([^.'"\[\]]+)|\[(?:'([^']*)'|"([^"]*)")\]""")

# An element of an array.
_ELEMENT: Final = re.compile(r"\[-?\d+\]")


@dataclass(frozen=True, slots=True)
class ShreddedField(LeafColumn):
    """The typed leaf of a field of a VARIANT, for which was `asked` by its path, such as `v:a.b`. `residuals`: the
    leaves that can have other values of it, from the outside in, beside what they are values of: empty for those of
    the field itself."""

    asked: str = ""
    residuals: tuple[tuple[str, LeafColumn], ...] = ()

    @property
    def name(self) -> str:
        return self.asked


@dataclass(frozen=True, slots=True)
class VariantPath:
    """A way into the VARIANT `name`, whose `leaves` these are, through `fields` in fields; None for a way that leads
    elsewhere. `in_file`: all leaves, also those that a table does not have."""

    name: str
    leaves: Sequence[LeafColumn]
    fields: tuple[str, ...] | None
    in_file: Sequence[LeafColumn]

    @property
    def shredded(self) -> tuple[str, ...]:
        """The paths of all fields with a typed leaf."""
        return tuple(
            self.name + ":" + "".join(map(_step, steps)).removeprefix(".")
            for steps in map(_fields_of, self.leaves)
            if steps
        )

    def field(self, asked: str) -> ShreddedField | None:
        """None if the path does not lead to a typed leaf."""
        found = [leaf for leaf in self.leaves if _fields_of(leaf) == self.fields]
        if self.fields is None or not found:
            return None
        return _as_field(found[0], asked, self.name, _values(self.in_file))

    @property
    def is_array(self) -> bool:
        """Whether it leads to an array whose elements are shredded."""
        steps = (*(step for field in self.fields or () for step in (TYPED, field)), TYPED)
        return any(
            leaf.path[(top := _top(leaf)) : (end := top + len(steps))] == steps
            and leaf.groups[end - 1 : end] == ("LIST",)
            for leaf in self.leaves
        )

    def all_fields(self) -> list[LeafColumn]:
        """The typed leaves of fields of objects."""
        return [leaf for leaf in self.leaves if is_field(leaf)]


def path_in_variant(
    leaves: Sequence[LeafColumn], name: str, in_file: Sequence[LeafColumn]
) -> VariantPath | None:
    """Where a name leads that none of `leaves` has: `v:a.b`, `v:$.a['b']`, `v.a`, `v`; None if not into a VARIANT.
    `in_file`: all leaves of the file."""
    found: dict[str, list[LeafColumn]] = {}
    for leaf in leaves:
        if is_in_variant(leaf):
            below = "." + ".".join(leaf.path[_top(leaf) :])
            if leaf.shared_name.endswith(below):
                found.setdefault(leaf.shared_name.removesuffix(below), []).append(leaf)
    if name not in found and any(leaf.shared_name.startswith(f"{name}.") for leaf in leaves):
        return None
    for variant in sorted(found, key=len, reverse=True):
        rest = name.removeprefix(variant)
        if name.startswith(variant) and rest[:1] in ("", ":", "."):
            return VariantPath(variant, found[variant], _steps(rest[1:]), in_file)
    return None


def fields_of(leaves: Sequence[LeafColumn]) -> dict[int, ShreddedField]:
    """All shredded fields, by the index of their typed leaf, and with its name."""
    in_variants = [leaf for leaf in leaves if is_in_variant(leaf)]
    values, found = _values(in_variants), {}
    for leaf in in_variants:
        if is_field(leaf) and _fields_of(leaf):
            field = _as_field(leaf, leaf.name, ".".join(leaf.path[: _top(leaf)]), values)
            if field is not None:
                found[leaf.index] = field
    return found


# By path.
_Values: TypeAlias = "dict[tuple[str, ...], LeafColumn | None]"


def _values(leaves: Sequence[LeafColumn]) -> _Values:
    """All that is called as residuals are; None for what is no leaf, or several."""
    found: _Values = {}
    for leaf in leaves:
        for at, step in enumerate(leaf.path, 1):
            if step == RESIDUAL:
                is_one = at == len(leaf.path) and leaf.path not in found
                found[leaf.path[:at]] = leaf if is_one else None
    return found


def _as_field(leaf: LeafColumn, asked: str, variant: str, values: _Values) -> ShreddedField | None:
    """None if it cannot be told where other values of the field are."""
    residuals = []
    for at, _ in _typed(leaf):
        path = (*leaf.path[:at], RESIDUAL)
        # A schema without one has no place for other values.
        if path in values:
            residual = values[path]
            if residual is None or residual.physical_type != "BYTE_ARRAY":
                return None
            around = variant + "".join(map(_step, leaf.path[_top(leaf) + 1 : at : 2]))
            residuals.append(("" if at + 1 == len(leaf.path) else around, residual))
    known = {each.name: getattr(leaf, each.name) for each in fields(LeafColumn)}
    return ShreddedField(**known, asked=asked, residuals=tuple(residuals))


def not_a_leaf(path: VariantPath, name: str) -> ColumnError:
    """For a name that leads into a VARIANT, but not to a typed leaf."""
    shredded = path.shredded
    known = ", ".join(shredded[:5]) + (", …" if len(shredded) > 5 else "") or "none"
    if name == path.name:
        return ColumnError(
            f"column {name}: a VARIANT, expected one of its shredded fields: {known}"
        )
    is_in_array = path.is_array or _ELEMENT.search(name)
    problem = "arrays are not supported" if is_in_array else "not shredded"
    return ColumnError(f"column {name}: {problem}; shredded fields of {path.name}: {known}")


def _steps(path: str) -> tuple[str, ...] | None:
    """The fields that a path leads through, none for `$`; None for what leads elsewhere, such as into an array."""
    if path == "$" or path.startswith(("$.", "$[")):
        path = path[1:]
    elif not path:
        return None
    steps, at = [], 0
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            return None
        steps.append(next(each for each in step.groups() if each is not None))
        at = step.end()
    return tuple(steps)


def _step(field: str) -> str:
    is_plain = _STEP.fullmatch(field) is not None and not field.startswith((".", "[", "$"))
    return f".{field}" if is_plain else f"['{field}']"


def _fields_of(leaf: LeafColumn) -> tuple[str, ...] | None:
    """The fields that lead to a typed leaf; None for other leaves."""
    top = _top(leaf)
    names, steps = leaf.path[top::2], leaf.path[top + 1 :: 2]
    is_shredded = len(names) == len(steps) + 1 and {*names} == {TYPED}
    return None if leaf.max_repetition_level or leaf.is_shared or not is_shredded else steps
