"""A finding: a broken rule, and where it is broken."""

from __future__ import annotations

from dataclasses import field
from typing import Final, TypedDict, Unpack

from parquet_bloom.container import WHERE_KNOWN, Located, Place, record, without_numbers
from parquet_bloom.container.missing_rows import MissingRows
from parquet_bloom.container.protocols import Chunk
from parquet_bloom.diagnosis.diagnosis import (
    CHECKSUM_IGNORED,
    NO_CHECKSUMS,
    NOTHING_TELLS,
    PAGES_MAY_HAVE_CHANGED,
    VALUES_MAY_HAVE_CHANGED,
    Diagnosis,
)
from parquet_bloom.errors import DID_YOU_MEAN, IS_PARTITION, quoted_name
from parquet_bloom.rules.rule import Rule, Severity, rules

# The rules of filters that are not there, and of statistics, whatever the filters.
_NOT_THERE: Final = frozenset({"PB310", "PB313"})
_OF_STATISTICS: Final = frozenset({"PB125", "PB614"})

# Bits of values that are not there, which may have been in pages that have changed.
OTHER_VALUES: Final = "PB405"

# Before a filter goes that may be the only trace of values that were others.
_LOOK_FIRST: Final = (
    "take another copy of the file, or look at the rows of the missing values: pbloom repair --rebuild only if these"
    " values are right"
)

# The same where it has bits of other values, and lacks none.
_LOOK_AT_ALL: Final = (
    "take another copy of the file, or look at its rows: pbloom build --existing replace only if these values are"
    " right"
)

# Of a column that a file certainly has not got.
OF_NO_COLUMN: Final = "a filter is required but there is no such column"
# Of a column that a file may have by another name, so that it is not null there by --union-by-name; a table says
# itself what is null.
OF_ANOTHER_NAME: Final = "a filter is required but there is no column of exactly this name"
# Where a filter is required of it.
_WRITE_COLUMN: Final = "write the file with this column"
_REQUIRE_NO_LONGER: Final = "require it no longer: a partition needs no filter"
_REQUIRE_MEANT: Final = "require the one that was meant, or "
_OR_UNITE: Final = "if other files have it, --union-by-name requires no filter of this one"


def statement_of(message: str, expected: str | None, found: str | None) -> str:
    """`the FPP is above the limit (expected at most 0.01, found 0.03)`"""
    named = (("expected", expected), ("found", found))
    sides = [f"{word} {value}" for word, value in named if value is not None]
    return f"{message} ({', '.join(sides)})" if sides else message


@record
class Finding(Located):
    """A broken rule, by its id; `place` and `column` are None if it concerns the whole file.

    `rows`: those whose values are missing, if that is what is wrong. `undiagnosed`:
    what was tried, if a diagnosis was asked for and nothing fits, and what pages prove, if they were decoded, or
    cannot have changed unnoticed. `examples`: some of the values concerned, as literals. `next`: the command that
    helps, for a shell, None if none does; see next_commands.
    """

    rule: str
    severity: Severity
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
    def by_hand(self) -> str | None:
        """What helps, in words, where no command does; None if nothing does."""
        if self.next is not None:
            return None
        if self.is_open:
            return _LOOK_AT_ALL if self.rule == OTHER_VALUES else _LOOK_FIRST
        if not self.is_of_no_column:
            return self.definition.by_hand
        if IS_PARTITION in self.message:
            return _REQUIRE_NO_LONGER
        meant = _REQUIRE_MEANT if DID_YOU_MEAN in self.message else ""
        unite = "" if OF_ANOTHER_NAME in self.message else f"; {_OR_UNITE}"
        return f"{meant}{_WRITE_COLUMN}{unite}"

    @property
    def is_of_no_column(self) -> bool:
        """Whether a filter is required of a column that the file does not have."""
        return self.rule == "PB310" and self.place is None

    @property
    def is_open(self) -> bool:
        """Whether nothing tells that pages have changed, and not the filter, though it looks like that."""
        said = self.undiagnosed or ""
        if self.message.endswith(VALUES_MAY_HAVE_CHANGED):
            return True
        if said.endswith((NO_CHECKSUMS, CHECKSUM_IGNORED)):
            return True
        return PAGES_MAY_HAVE_CHANGED in said and said.endswith(NOTHING_TELLS)

    @property
    def is_to_be_looked_at(self) -> bool:
        """Whether values are missing, and it is not `repair` that helps: pages may have changed,
        and not the filter."""
        return self.rows is not None and not (self.next or "").startswith("pbloom repair ")

    @property
    def may_be_only_trace(self) -> bool:
        """Whether nothing else may tell that pages have changed, so that no other filter may take its place."""
        is_of_others = self.rule == OTHER_VALUES and (self.next or "").startswith(
            "pbloom validate "
        )
        return self.is_to_be_looked_at or is_of_others or self.is_open

    @property
    def is_to_be_stripped(self) -> bool:
        """Whether all filters of the column are to go, and none to take their place."""
        command = self.next or ""
        return command.startswith("pbloom strip ") and " -c " in command and " -g " not in command

    @property
    def statement(self) -> str:
        """The message with what was expected and found."""
        return statement_of(self.message, self.expected, self.found)

    @property
    def line(self) -> str:
        """`error PB402 values-missing: column id, row group 0: …`"""
        column = None if self.column is None else f"column {quoted_name(self.column)}"
        where = ", ".join(map(str, filter(None, (column, self.place))))
        what = f"{self.severity} {self.definition.heading}"
        return ": ".join(filter(None, (what, where, self.statement)))

    @property
    def is_against_filter(self) -> bool:
        """Whether a filter that is there has to go, by this error."""
        return (
            self.severity is Severity.ERROR
            and self.column is not None
            and self.rule not in _NOT_THERE | _OF_STATISTICS
        )

    @property
    def likeness(self) -> tuple[str | None, ...]:
        """The same for findings, of whichever columns, whose messages differ only in numbers."""
        return (
            self.severity,
            self.rule,
            without_numbers(self.message),
            None if self.diagnosis is None else self.diagnosis.hypothesis,
        )

    def hide_values(self) -> None:
        """Put the hash of each value in its place, by which those who have the values find them."""
        # A record can be changed.
        vars(self)["examples"] = tuple(map(_hashed, self.examples))
        if self.examples and self.found is not None and self.definition.found_is_value:
            vars(self)["found"] = _hashed(self.found)


def _hashed(text: str) -> str:
    from hashlib import sha256

    return f"sha256:{sha256(text.encode(errors='surrogateescape')).hexdigest()[:16]}"


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
        severity=rules()[rule].severity,
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
# Those of values that cannot be read, or not here.
UNREAD: Final = frozenset({"PB116", "PB611", NOT_CHECKED})


def not_checked(chunk: Chunk, reason: str) -> Finding:
    """The values could not be read, though nothing is damaged."""
    return chunk_finding(NOT_CHECKED, chunk, f"the values were not looked up: {reason}")
