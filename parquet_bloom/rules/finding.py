"""A finding: a broken rule, where it is broken, and the command that helps."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import field
from typing import Final, TypedDict, Unpack

from parquet_bloom.container import WHERE_KNOWN, Located, Place, Units, record
from parquet_bloom.container.in_commands import command_for
from parquet_bloom.container.missing_rows import MissingRows
from parquet_bloom.container.protocols import Chunk, Container
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.filters.rates import parse_percent
from parquet_bloom.options import DEFAULT_FPP, quoted_name
from parquet_bloom.rules.rule import SEVERITIES, Rule, Severity, rules


@record
class Finding(Located):
    """A broken rule, by its id; `place` and `column` are None if it concerns the whole file.

    `severity` is a word of Severity. `rows`: those whose values are missing, if that is what is
    wrong. `undiagnosed`: what was tried, if a diagnosis was asked for and nothing fits. `examples`:
    some of the values concerned, as literals. `next`: the command that helps, for a shell, None if none does; see NextCommands.
    """

    rule: str
    severity: str
    place: Place | None
    column: str | None
    message: str
    expected: str | None = None
    found: str | None = None
    rows: MissingRows | None = None
    diagnosis: Diagnosis | None = None
    undiagnosed: str | None = field(default=None, metadata=WHERE_KNOWN)
    examples: tuple[str, ...] = ()
    next: str | None = None

    @property
    def definition(self) -> Rule:
        """The rule itself."""
        return rules()[self.rule]

    @property
    def rank(self) -> Severity:
        """The severity, for comparisons."""
        return SEVERITIES[self.severity]

    @property
    def statement(self) -> str:
        """The message with what was expected and found."""
        sides = [
            f"{word} {value}"
            for word, value in (("expected", self.expected), ("found", self.found))
            if value is not None
        ]
        return f"{self.message} ({', '.join(sides)})" if sides else self.message

    def hide_values(self) -> None:
        """Put the hash of each example in its place, by which those who have the values find them."""
        from hashlib import sha256

        hashes = (sha256(text.encode(errors="surrogateescape")) for text in self.examples)
        # A record can be changed.
        vars(self)["examples"] = tuple(f"sha256:{each.hexdigest()[:16]}" for each in hashes)


class DiagnosisFields(TypedDict, total=False):
    """What a diagnosis found; see Finding."""

    diagnosis: Diagnosis | None
    undiagnosed: str | None


class More(DiagnosisFields, total=False):
    """What only some findings say; see Finding."""

    rows: MissingRows | None
    examples: tuple[str, ...]


class Details(More, total=False):
    """What a finding says besides its message; see Finding."""

    expected: object
    found: object


def finding(
    rule: str,
    message: str,
    *,
    place: Place | None = None,
    column: str | None = None,
    expected: object = None,
    found: object = None,
    **more: Unpack[More],
) -> Finding:
    """A finding of the rule with this id, at the rule's severity; `more`: other fields."""
    return Finding(
        rule=rule,
        severity=str(rules()[rule].severity),
        place=place,
        column=column,
        message=message,
        expected=None if expected is None else str(expected),
        found=None if found is None else str(found),
        **more,
    )


def chunk_finding(rule: str, chunk: Chunk, message: str, **details: Unpack[Details]) -> Finding:
    """A finding about one chunk."""
    return finding(rule, message, place=chunk.place, column=chunk.column.name, **details)


def diagnosed(found: Diagnosis | str | None) -> DiagnosisFields:
    """The fields of a finding for a diagnosis, or for why there is none; None if nobody asked."""
    return {"undiagnosed": found} if isinstance(found, str) else {"diagnosis": found}


# The rule of what nobody could look at: it may be right.
NOT_CHECKED: Final = "PB408"


def not_checked(chunk: Chunk, reason: str) -> Finding:
    """The values could not be read, though nothing is damaged."""
    return chunk_finding(NOT_CHECKED, chunk, f"the values were not looked up: {reason}")


_LOOK_CLOSER: Final = "pbloom validate FILE -c COLUMN --pages --diagnose"


class NextCommands:
    """The commands that help, as the catalogue has them, filled in for findings in `file`; `max_fpp`: the highest that
    a column may have, by its name, None for any; `sound`: the places and columns whose pages were decoded and have
    nothing wrong."""

    def __init__(
        self,
        file: Container,
        max_fpp: Callable[[str], float | None],
        sound: Collection[tuple[Place | None, str | None]] = (),
    ) -> None:
        self._file = file
        self._max_fpp = max_fpp
        self._named = file.in_commands
        self._keys = file.key_arguments
        self._sound = sound
        self._known = frozenset(file.columns)
        # A file can have findings in 100,000 chunks, and a few commands for all of them.
        self._filled: dict[tuple[str, str | None, Place | None, str | None], str | None] = {}

    def add_to(self, found: Finding) -> None:
        """Fill in the `next` of a finding that nobody else has yet."""
        command = self._command(found)
        if command is None:
            return
        place = found.place if "ROW_GROUP" in command else None
        limit = _limit(found) if "LIMIT" in command else None
        key = command, found.column, place, limit
        if key not in self._filled:
            self._filled[key] = self._fill(*key)
        # A record can be changed, and takes a while to copy.
        vars(found)["next"] = self._filled[key]

    def _command(self, found: Finding) -> str | None:
        """That of the rule, but none that takes away the only trace of a damaged page."""
        if found.diagnosis is not None or not self._is_like_damage(found):
            return found.definition.command
        if found.undiagnosed is None:
            return _LOOK_CLOSER
        return found.definition.command if (found.place, found.column) in self._sound else None

    def _is_like_damage(self, found: Finding) -> bool:
        if found.place is None or found.rows is None:
            return False
        return found.rows.are_like_damage(self._file.describe_part(found.place.part).num_rows)

    def _fill(
        self, command: str, column: str | None, place: Place | None, limit: str | None
    ) -> str | None:
        """None about a column that is not there, or no column in particular: nothing helps then."""
        values = {
            "COLUMN": quoted_name(column) if column in self._known else None,
            "ROW_GROUP": None if place is None else str(place.part),
            "LIMIT": limit,
        }
        again = (*self._keys, *self._rate(command, column))
        return command_for(self._named, command, values, again)

    def _rate(self, command: str, column: str | None) -> tuple[str, ...]:
        """What a new filter needs to be within the limit of its column, where the usual rate is not."""
        words = command.split()
        limit = None if column is None else self._max_fpp(column)
        if words[1] != "build" or "--fpp" in words or limit is None:
            return ()
        rate = _rate_within(limit, self._file.units)
        return ("--fpp", f"{rate:g}") if rate < DEFAULT_FPP else ()


def _limit(found: Finding) -> str:
    """The rate for the FPP that `expected` names."""
    limit = parse_percent((found.expected or "").removeprefix("at most "))
    return f"{_rate_within(limit, found.place.units) if found.place else limit:g}"


def _rate_within(limit: float, units: Units) -> float:
    """Half of it for k-hash filters, which are sized by a formula, so that their bits may miss the target a little."""
    return limit / 2 if units.has_groups else limit
