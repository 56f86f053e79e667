"""The commands that help against findings, filled in for a file, within what the user requires of its filters."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cache, cached_property
from math import floor, log10
from typing import Final, TypeAlias

from parquet_bloom.container import Place, Units
from parquet_bloom.container.in_commands import command_for
from parquet_bloom.container.protocols import Container
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.k_hash import entries_in, fpp_in
from parquet_bloom.filters.rates import parse_percent
from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloom.options import DEFAULT_FPP
from parquet_bloom.rules.damage import LikeDamage
from parquet_bloom.rules.finding import OTHER_VALUES, Finding
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.rule import Severity

_LOOK_CLOSER: Final = "pbloom validate FILE -c COLUMN --pages --diagnose"
# In a format without pages.
_DIAGNOSE: Final = "pbloom validate FILE -c COLUMN --diagnose"
_LOOKS: Final = frozenset({_LOOK_CLOSER, _DIAGNOSE})
# Where no command can keep a limit.
_ADVISE: Final = "pbloom advise FILE"
# Where filters are too much already, and others are not to be advised.
_ADVISE_FILTERED: Final = "pbloom advise FILE -c FILTERED"
# Where only the user knows if a high rate is wanted.
_ADVISE_COLUMN: Final = "pbloom advise FILES -c COLUMN"
_BUILD: Final = "pbloom build FILE -c COLUMN --in-place"
# Where a filter is required, and nobody asks if it is worth its bytes; or its rate is.
_REBUILD: Final = "pbloom build FILE -c COLUMN --existing replace --in-place"
_STRIP_COLUMN: Final = "pbloom strip FILE -c COLUMN --in-place"
# Nothing is written to such a file, whatever else there is to say of it.
_ENCRYPTION_STRIPPED: Final = "PB508"
# Of whatever a new filter of the values has not: another number of blocks, fewer than 64 bytes, too many bits.
_NOT_IN_REBUILT: Final = frozenset({"PB201", "PB202", "PB301"})
# Of filters of one block, and of those that a dictionary makes needless.
_ONE_BLOCK: Final = "PB202"
_NEEDLESS: Final = "PB305"
# Of pages that cannot be read, of which no filter is built.
_UNREAD: Final = "PB116"
# Of all filters of a file together.
_SHARE: Final = "PB309"
# So many of its columns are named in a command.
_MOST_NAMED: Final = 10
# Of filters that no reader asks, whoever has built them.
_UNASKED: Final = frozenset({"PB609", "PB621"})
# Of filters that are the same; and of those whose values could not be looked up.
_TWINS: Final = "PB407"
_NOT_CHECKED: Final = "PB408"
# Of filters that let too much pass, by their fill.
_ABOVE_LIMIT: Final = "PB311"
_HIGH_FPP: Final = "PB302"
# Of filters that are too large, for which the highest rate that is allowed is the right one.
_TOO_LARGE: Final = frozenset({"PB304", "PB306", "PB312"})
# Between powers of ten, about as far from one another.
_STEPS: Final = (1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10)


class NextCommands:
    """The commands that help, as the catalogue has them, filled in for findings in `file`; `policy`: what
    is required; `may_be_built`: whether `build` adds filters to it; `room_for`: by column, of how many values it has
    to be told, if it has; `with_filters`: the columns that have some; `fpp_within_limit`: by column, that of its
    filters in the most bytes that are allowed; `sound`: the places and columns whose pages have nothing wrong, as far
    as they were decoded; `has_decoded`: whether all were."""

    def __init__(
        self,
        file: Container,
        policy: Policy,
        may_be_built: Callable[[str], bool],
        room_for: Callable[[str], int | None],
        with_filters: Callable[[], Sequence[str]],
        fpp_within_limit: Mapping[str, float],
        sound: Collection[tuple[Place | None, str | None]] = (),
        *,
        has_decoded: bool = False,
    ) -> None:
        self._file = file
        self._policy = policy
        self._policy_of = policy.for_column
        self._named = file.in_commands
        self._keys = file.key_arguments
        self._missing_keys = file.missing_key_arguments
        self._may_be_built = may_be_built
        self._room_for = cache(room_for)
        self._with_filters = with_filters
        self._sound = sound
        self._has_decoded = has_decoded
        self._fpp_within_limit = fpp_within_limit
        self._may_be_damage = LikeDamage(file).or_few
        self._lacking: dict[_ChunkOf, Finding] = {}
        self._needless: dict[_ChunkOf, Finding] = {}
        self._with_others: dict[_ChunkOf, Finding] = {}
        self._unread: set[str | None] = set()
        self._not_checked: set[_ChunkOf] = set()
        # By rule, the chunks whose column may be stripped for it; and the columns of which some keep their filters.
        self._stripped: dict[str, set[_ChunkOf]] = {}
        self._kept: dict[str, set[str]] = {}
        # Of filters of a column that may be such traces: whether they lack values, and what is said of them.
        self._cautions: dict[str | None, set[tuple[bool, str | None]]] = {}
        self._has_open_traces = False
        self._known = frozenset(file.columns)
        # A file can have findings in 100,000 chunks, and a few commands for all of them.
        self._filled: dict[tuple[str, str | None, Place | None, str | None, bool], str | None] = {}

    def add_to(self, findings: Sequence[Finding]) -> None:
        """Fill in the `next` of these, which nobody else has yet."""
        if any(each.rule == _ENCRYPTION_STRIPPED for each in findings):
            return
        self._lacking = {_chunk_of(each): each for each in findings if each.rule == "PB401"}
        self._needless = {_chunk_of(each): each for each in findings if each.rule == _NEEDLESS}
        self._with_others = {
            _chunk_of(each): each for each in findings if each.rule == OTHER_VALUES
        }
        self._unread = {each.column for each in findings if each.rule == _UNREAD}
        self._not_checked = {_chunk_of(each) for each in findings if each.rule == _NOT_CHECKED}
        for each in findings:
            if each.definition.command == _STRIP_COLUMN:
                self._stripped.setdefault(each.rule, set()).add(_chunk_of(each))
        traces = [each for each in findings if self._may_be_trace(each)]
        self._cautions = {column: set() for column in {each.column for each in traces}}
        for each in traces:
            self._cautions[each.column].add((each.rule != OTHER_VALUES, self._own_command(each)))
        self._has_open_traces = any(
            lacks and (own is None or own in _LOOKS)
            for cautions in self._cautions.values()
            for lacks, own in cautions
        )
        commands = [(found, self._command(found)) for found in findings]
        replaced = {found.column for found, command in commands if command == _REBUILD}
        unasked = {
            found.column
            for found, command in commands
            if found.rule in _UNASKED and command == _STRIP_COLUMN
        }
        for found, command in commands:
            if command is None:
                continue
            # Filters that nobody asks need no others in their place, which would have to go as well.
            if command.startswith("pbloom build ") and found.column in unasked:
                self._add(found, _STRIP_COLUMN)
            # What replaces filters in some groups builds those that others lack, too.
            elif command == _BUILD and found.column in replaced:
                self._add(found, _REBUILD)
            else:
                self._add(found, command)
        above_limit = {_chunk_of(each): each for each in findings if each.rule == _ABOVE_LIMIT}
        for found in findings:
            # Of one filter, two rates would be two answers.
            other = above_limit.get(_chunk_of(found)) if found.rule == _HIGH_FPP else None
            if other is not None and other.next is not None:
                vars(found)["next"] = other.next

    def _add(self, found: Finding, command: str) -> None:
        place = found.place if "ROW_GROUP" in command else None
        limit = _limit(found) if "LIMIT" in command else None
        key = command, found.column, place, limit, found.rule in _TOO_LARGE
        if key not in self._filled:
            self._filled[key] = self._fill(*key)
        # A record can be changed, and takes a while to copy.
        vars(found)["next"] = self._filled[key]

    def _command(self, found: Finding) -> str | None:
        """That of the rule, but none that takes away the only trace of a damaged page,
        or a filter that is required, and none that fails for pages that cannot be read."""
        command = self._own_command(found)
        if found.column in self._unread and (command or "").startswith("pbloom build "):
            return None
        if command is None or not _is_against_column(command):
            return command
        is_repair = command.startswith("pbloom repair ")
        cautions = {
            own for lacks, own in self._cautions.get(found.column, ()) if lacks or not is_repair
        }
        if None in cautions:
            return None
        if looks := _LOOKS & cautions:
            return min(looks)
        # Of the whole file, it would take filters of other columns with it.
        return command.replace("FILE --", "FILE -c COLUMN --") if self._has_open_traces else command

    def _may_be_trace(self, found: Finding) -> bool:
        """Whether what is wrong with the filter may tell of pages that have changed."""
        return found.rule == OTHER_VALUES or self._may_be_damage(found)

    def _own_command(self, found: Finding) -> str | None:
        """The same, whatever else is wrong with the column."""
        if found.definition.repair == "set length":
            # Values that the filter lacks are the greater loss, and say more about what is wrong.
            found = self._lacking.get(_chunk_of(found), found)
        if found.rule in _NOT_IN_REBUILT and not self._limits(_REBUILD, found.column, False):
            # What is rebuilt for the values that it lacks is a new filter.
            found = self._lacking.get(_chunk_of(found), found)
        if found.rule == _HIGH_FPP:
            # Bits of other values may be the reason, of which `advise` knows nothing: it goes by the size.
            found = self._with_others.get(_chunk_of(found), found)
        if found.rule == _TWINS:
            # Where the values were looked up, another look tells no more.
            found = self._lacking.get(_chunk_of(found), found)
            if _chunk_of(found) in self._not_checked:
                return None
        if found.rule == _ONE_BLOCK:
            needless = self._needless.get(_chunk_of(found))
            # The larger one that build writes would be needless, too.
            if needless is not None and (command := self._within_policy(needless)):
                return command
        if found.rule == OTHER_VALUES and (found.is_open or not self._file.units.has_groups):
            return self._by_pages(found)
        if found.diagnosis is not None or not self._may_be_damage(found):
            return self._within_policy(found)
        has_pages = found.rows is not None and found.rows.first_page is not None
        if has_pages and found.undiagnosed is not None:
            return self._by_pages(found)
        if found.undiagnosed is None:
            return _LOOK_CLOSER if has_pages else _DIAGNOSE
        # Nothing else tells of a format without checksums.
        return None if found.is_open else self._within_policy(found)

    def _by_pages(self, found: Finding) -> str | None:
        """What helps if they are right, once they have been decoded."""
        if found.is_open:
            return None
        if (found.place, found.column) in self._sound:
            return self._within_policy(found)
        return None if self._has_decoded else _LOOK_CLOSER

    def _within_policy(self, found: Finding) -> str | None:
        command = found.definition.command
        if found.rule == _SHARE and self._filtered:
            return _ADVISE_FILTERED
        if command is None or found.column is None:
            return command
        if command.startswith("pbloom strip "):
            # Wrong filters go, and an empty chunk needs none.
            is_kept = found.severity < Severity.ERROR and "ROW_GROUP" not in command
            if not is_kept:
                return command
            # Others help. Without this one alone, validate and advise would ask for it to be built again.
            is_required = self._policy_of(found.column).required
            return (
                command
                if self._is_of_all_filters(found.rule, found.column) and not is_required
                else None
            )
        if command == _BUILD and not self._may_be_built(found.column):
            return None
        if "--existing" in command and self._none_keeps(found.column):
            # What is wrong with the limits themselves, the findings about these say.
            return None if "LIMIT" in command else _ADVISE_COLUMN
        if "LIMIT" in command and self._most_of_group(found.column):
            # Its size and its rate depend on each other.
            return _REBUILD if self._may_be_built(found.column) else None
        if "--max-bytes" in command:
            return command if self._size_of(found.column) else _ADVISE
        if command == _ADVISE and self._policy_of(found.column).required:
            return _REBUILD
        if command == _ADVISE_COLUMN and self._policy_of(found.column).max_fpp is not None:
            return _REBUILD
        return command

    @cached_property
    def _filtered(self) -> str:
        """The columns that have filters, for a command; empty if all have, or too many to be named."""
        names = self._with_filters()
        some = len(names) < len(self._known) and len(names) <= _MOST_NAMED
        return ",".join(map(quoted_name, names)) if some else ""

    def _is_of_all_filters(self, rule: str, column: str) -> bool:
        """Whether the rule is broken wherever the column has filters."""
        if rule not in self._kept:
            file, found = self._file, self._stripped[rule]
            columns = file.select([*{name for _, name in found if name is not None}])
            chunks = (each for part in range(file.num_parts) for each in file.chunks(part, columns))
            self._kept[rule] = {
                each.column.name
                for each in chunks
                if each.has_filters and (each.place.part, each.column.name) not in found
            }
        return column not in self._kept[rule]

    def _none_keeps(self, column: str) -> bool:
        """Whether no filter of its values is within the limits, so that those that are there would go for none."""
        highest = self._policy_of(column).highest_fpp
        return self._fpp_within_limit.get(column, 0.0) > highest

    def _size_of(self, column: str) -> int:
        """What `build` can be told to keep to; 0 if nothing."""
        limit = self._policy_of(column).max_bytes or 0
        can_keep = MIN_BYTES <= limit <= MAX_BYTES and not self._file.units.has_groups
        return limit if can_keep else 0

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
            "FILTERED": self._filtered if "FILTERED" in command else None,
        }
        missing_keys = self._missing_keys if "--in-place" in command else ()
        limits = self._limits(command, column, is_too_large)
        again = (*self._keys, *missing_keys, *limits, *self._of_policy(command))
        return command_for(self._named, command, values, again)

    def _of_policy(self, command: str) -> Sequence[str]:
        """What a command that reads a policy needs to take it from the same place, and not to name values either."""
        verb = command.split()[1]
        if verb not in ("advise", "validate"):
            return ()
        hidden = ("--no-values",) if verb == "validate" and self._policy.no_values else ()
        return *self._policy.arguments, *hidden

    def _limits(self, command: str, column: str | None, is_too_large: bool) -> list[str]:
        """What a new filter needs to be within the limits of its column, where the usual rate is not, or where a
        higher one is what fits into few bytes."""
        words = command.split()
        if words[1] != "build" or column is None:
            return []
        if of_groups := self._limits_of_groups(column):
            return of_groups
        size, limit, limits = self._size_of(column), self._policy_of(column).max_fpp, []
        if "--ndv" not in words and (room := self._room_for(column)) is not None:
            limits += ["--ndv", _rounded_up(room)]
        if size and "--max-bytes" not in words:
            limits += ["--max-bytes", _as_size(size)]
        if limit is not None and "--fpp" not in words:
            rate = _rate_within(limit, self._file.units)
            if rate < DEFAULT_FPP or size or is_too_large:
                limits += ["--fpp", f"{rate:g}"]
        elif size and "--fpp" not in words:
            rate = self._fpp_within_limit.get(column, 0.0)
            if rate > DEFAULT_FPP:
                limits += ["--fpp", _rounded_up(rate)]
        return limits

    def _most_of_group(self, column: str) -> int:
        """The most bytes of the filter of an index group, of which `build` can be told how many values it is for,
        and at which rate; 0 if there is no limit, or no such group."""
        return (self._policy_of(column).max_bytes or 0) if self._file.units.has_groups else 0

    def _limits_of_groups(self, column: str) -> list[str]:
        """What new filters of index groups need to keep to a limit of bytes; empty if they do by themselves, or if
        nobody knows that they can."""
        most, policy = self._most_of_group(column), self._policy_of(column)
        entries = self._room_for(column) or self._file.row_index_stride
        if not most or not entries:
            return []
        found = self._fpp_within_limit.get(column)
        needed = fpp_in(most, entries) if found is None else found
        usual = min(DEFAULT_FPP, _rate_within(policy.highest_fpp, self._file.units))
        if needed > policy.highest_fpp or entries_in(most, usual) >= entries:
            return []
        rate = usual if needed <= usual else min(float(_rounded_up(needed)), policy.highest_fpp)
        # As many as these bytes have room for, which are no fewer than there are.
        room = ["--ndv", str(entries_in(most, rate))]
        return room if rate == DEFAULT_FPP else [*room, "--fpp", f"{rate:g}"]


# The part and the column that a finding is about.
_ChunkOf: TypeAlias = tuple[int | None, str | None]


def _chunk_of(found: Finding) -> _ChunkOf:
    return found.place.part if found.place else None, found.column


def _is_against_column(command: str) -> bool:
    """Whether all of its filters that are wrong, or just all, go, or others come in their place."""
    is_strip = command.startswith("pbloom strip ") and "ROW_GROUP" not in command
    return is_strip or "--existing" in command or "--rebuild" in command


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


def _rounded_up(rate: float) -> str:
    """One of ten in each power of ten: `0.08` for 0.0742, `20000` for 18,922. Files of about as many values share a
    command, and none has a smaller filter for it: half the bytes, if the rate allows them, would take it up by far
    more."""
    power = 10.0 ** floor(log10(rate))
    step = next(step for step in _STEPS if step * power >= rate)
    return f"{step * power:.12g}"


def _rate_within(limit: float, units: Units) -> float:
    """Half of it for k-hash filters, which are sized by a formula,
    so that their bits may miss the target a little."""
    return limit / 2 if units.has_groups else limit
