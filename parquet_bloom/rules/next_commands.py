"""The commands that help against findings, filled in for a file, within what the user requires of its filters."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import cached_property
from itertools import accumulate
from typing import Final

from parquet_bloom.container import Place, Units
from parquet_bloom.container.in_commands import command_for
from parquet_bloom.container.protocols import Container
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.rates import parse_percent
from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloom.options import DEFAULT_FPP
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.policy import ColumnPolicy
from parquet_bloom.rules.rule import Severity

_LOOK_CLOSER: Final = "pbloom validate FILE -c COLUMN --pages --diagnose"
# In a format without pages.
_DIAGNOSE: Final = "pbloom validate FILE -c COLUMN --diagnose"
# Where no command can keep a limit.
_ADVISE: Final = "pbloom advise FILE"
# Where only the user knows if a high rate is wanted.
_ADVISE_COLUMN: Final = "pbloom advise FILE -c COLUMN"
_BUILD: Final = "pbloom build FILE -c COLUMN --in-place"
# Where a filter is required, and nobody asks if it is worth its bytes; or its rate is.
_REBUILD: Final = "pbloom build FILE -c COLUMN --existing replace --in-place"
# Of filters that are too large, for which the highest rate that is allowed is the right one.
_TOO_LARGE: Final = frozenset({"PB304", "PB306", "PB312"})


class NextCommands:
    """The commands that help, as the catalogue has them, filled in for findings in `file`; `policy_of`: what
    is required of a column, by its name; `may_be_built`: whether `build` adds filters to it; `sound`: the places
    and columns whose pages have nothing wrong; None if no pages were decoded."""

    def __init__(
        self,
        file: Container,
        policy_of: Callable[[str], ColumnPolicy],
        may_be_built: Callable[[str], bool],
        sound: Collection[tuple[Place | None, str | None]] | None = None,
    ) -> None:
        self._file = file
        self._policy_of = policy_of
        self._named = file.in_commands
        self._keys = file.key_arguments
        self._may_be_built = may_be_built
        self._sound = sound
        self._known = frozenset(file.columns)
        # A file can have findings in 100,000 chunks, and a few commands for all of them.
        self._filled: dict[tuple[str, str | None, Place | None, str | None, bool], str | None] = {}

    def add_to(self, found: Finding) -> None:
        """Fill in the `next` of a finding that nobody else has yet."""
        command = self._command(found)
        if command is None:
            return
        place = found.place if "ROW_GROUP" in command else None
        limit = _limit(found) if "LIMIT" in command else None
        key = command, found.column, place, limit, found.rule in _TOO_LARGE
        if key not in self._filled:
            self._filled[key] = self._fill(*key)
        # A record can be changed, and takes a while to copy.
        vars(found)["next"] = self._filled[key]

    def _command(self, found: Finding) -> str | None:
        """That of the rule, but none that takes away the only trace of a damaged page, or a filter that is required."""
        if found.diagnosis is not None or not self._is_like_damage(found):
            return self._within_policy(found)
        has_pages = found.rows is not None and found.rows.first_page is not None
        if not has_pages:
            # Nothing else tells of a format without checksums.
            return _DIAGNOSE if found.undiagnosed is None else self._within_policy(found)
        if found.undiagnosed is None or self._sound is None:
            return _LOOK_CLOSER
        return self._within_policy(found) if (found.place, found.column) in self._sound else None

    def _within_policy(self, found: Finding) -> str | None:
        command = found.definition.command
        if command is None or found.column is None:
            return command
        if command.startswith("pbloom strip "):
            # Wrong filters go, and an empty chunk needs none.
            is_kept = found.rank < Severity.ERROR and "ROW_GROUP" not in command
            return None if is_kept and self._policy_of(found.column).required else command
        if command == _BUILD and not self._may_be_built(found.column):
            return None
        if "--max-bytes" in command:
            return command if self._size_of(found.column) else _ADVISE
        if command == _ADVISE and self._policy_of(found.column).required:
            return _REBUILD
        if command == _ADVISE_COLUMN and self._policy_of(found.column).max_fpp is not None:
            return _REBUILD
        return command

    def _size_of(self, column: str) -> int:
        """What `build` can be told to keep to; 0 if nothing."""
        limit = self._policy_of(column).max_bytes or 0
        can_keep = MIN_BYTES <= limit <= MAX_BYTES and not self._file.units.has_groups
        return limit if can_keep else 0

    def _is_like_damage(self, found: Finding) -> bool:
        if found.place is None or found.rows is None:
            return False
        part, group, size = found.place.part, found.place.group, self._file.row_index_stride
        first, end = self._starts[part : part + 2]
        if group is not None and size:
            first += group * size
            end = min(end, first + size)
        return found.rows.are_like_damage(first, end - first)

    @cached_property
    def _starts(self) -> list[int]:
        """The first row of each part in the file, and behind the last one how many there are."""
        return list(accumulate(self._file.part_rows, initial=0))

    def _fill(
        self,
        command: str,
        column: str | None,
        place: Place | None,
        limit: str | None,
        is_too_large: bool,
    ) -> str | None:
        """None about a column that is not there, or no column in particular: nothing helps then."""
        values = {
            "COLUMN": quoted_name(column) if column in self._known else None,
            "ROW_GROUP": None if place is None else str(place.part),
            "LIMIT": limit,
        }
        again = (*self._keys, *self._limits(command, column, is_too_large))
        return command_for(self._named, command, values, again)

    def _limits(self, command: str, column: str | None, is_too_large: bool) -> list[str]:
        """What a new filter needs to be within the limits of its column, where the usual rate is not, or where a higher
        one is what fits into few bytes."""
        words = command.split()
        if words[1] != "build" or column is None:
            return []
        size, limit, limits = self._size_of(column), self._policy_of(column).max_fpp, []
        if size and "--max-bytes" not in words:
            limits += ["--max-bytes", _as_size(size)]
        if limit is not None and "--fpp" not in words:
            rate = _rate_within(limit, self._file.units)
            if rate < DEFAULT_FPP or size or is_too_large:
                limits += ["--fpp", f"{rate:g}"]
        return limits


def _limit(found: Finding) -> str:
    """The size, or the rate for the FPP, that `expected` names."""
    most = (found.expected or "").removeprefix("at most ")
    if most.endswith(" bytes"):
        return _as_size(int(most.removesuffix(" bytes")))
    limit = parse_percent(most)
    return f"{_rate_within(limit, found.place.units) if found.place else limit:g}"


def _as_size(num_bytes: int) -> str:
    """As an option takes it: `16KiB`, `1000`."""
    units = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10}
    whole = (f"{num_bytes // size}{unit}" for unit, size in units.items() if num_bytes % size == 0)
    return next(whole, str(num_bytes))


def _rate_within(limit: float, units: Units) -> float:
    """Half of it for k-hash filters, which are sized by a formula, so that their bits may miss the target a little."""
    return limit / 2 if units.has_groups else limit
