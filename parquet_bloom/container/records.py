"""How results are made that both formats have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, dataclass_transform

Made = TypeVar("Made")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[Made]) -> type[Made]:
    """A dataclass that is frozen for type checkers only, of which a file can have 100,000: to make a
    frozen one takes eight times as long, nearly all of the time that inspecting a filter takes."""
    return dataclass(unsafe_hash=True)(cls)


# Of a field that is left out of JSON where it is None: not every format has such a thing.
WHERE_KNOWN: Final[Mapping[str, Any]] = {"where_known": True}
