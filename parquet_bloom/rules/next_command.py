"""The command that helps with a finding, as the catalogue has it, filled in for a file."""

from __future__ import annotations

from collections.abc import Sequence

from parquet_bloom.container import Place
from parquet_bloom.container.in_commands import command_for
from parquet_bloom.container.protocols import Container
from parquet_bloom.filters.rates import fraction_of
from parquet_bloom.options import quoted_name
from parquet_bloom.rules.finding import Finding


class NextCommands:
    """The commands for findings in `file`; `columns`: those that have filters."""

    def __init__(self, file: Container, columns: Sequence[str]) -> None:
        self._named = file.in_commands
        self._keys = file.key_arguments
        self._known = frozenset(file.columns)
        self._columns = ",".join(map(quoted_name, columns)) if self._known >= {*columns} else ""
        # A file can have findings in 100,000 chunks, and a few commands for all of them.
        self._filled: dict[tuple[str, str | None, Place | None, str | None], str | None] = {}

    def add_to(self, found: Finding) -> None:
        """Fill in the `next` of a finding that nobody else has yet."""
        command = found.definition.command
        if command is None:
            return
        place = found.place if "ROW_GROUP" in command else None
        limit = _limit(found) if "LIMIT" in command else None
        key = command, found.column, place, limit
        if key not in self._filled:
            self._filled[key] = self._fill(*key)
        # A record can be changed, and takes a while to copy.
        vars(found)["next"] = self._filled[key]

    def _fill(
        self, command: str, column: str | None, place: Place | None, limit: str | None
    ) -> str | None:
        """None about a column that is not there, or no column in particular: nothing helps then."""
        values = {
            "COLUMN": quoted_name(column) if column in self._known else None,
            "COLUMNS": self._columns or None,
            "ROW_GROUP": None if place is None else str(place.part),
            "LIMIT": limit,
        }
        return command_for(self._named, command, values, self._keys)


def _limit(found: Finding) -> str:
    """The FPP that `expected` names; half of it for k-hash filters, which are sized by a formula, so
    that their bits may miss the target a little."""
    limit = fraction_of((found.expected or "").removeprefix("at most "))
    has_groups = found.place is not None and found.place.units.has_groups
    return f"{limit / 2 if has_groups else limit:g}"
