"""Prove the filters of an ORC file right, or say what is wrong with them.

The stripes' footers first, then the streams and their bits, then (`deep`) every stored value of
every index group. The rules are in parquet_bloom.rules.orc, and explained in docs/rules.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final

from parquet_bloom.diagnosis.orc_writers import Lacking, diagnose
from parquet_bloom.errors import FormatError, ParquetBloomError, UnsupportedError
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.build import room_of_values
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.keys.key_hashes import never_absent
from parquet_bloom.orc.row_index import IndexEntry
from parquet_bloom.orc.stripe import FILTER_KINDS, OrcStream
from parquet_bloom.parallel import Progress, work_in_order
from parquet_bloom.rules.catalogue import Checked, Diagnosis, Finding
from parquet_bloom.rules.orc import portability, quality, security, structure, truth
from parquet_bloom.rules.orc.membership import GroupMembership, check_groups, stores_values
from parquet_bloom.rules.orc.view import IndexView, not_checked, stripe_finding, without_place
from parquet_bloom.rules.policy import Policy

# Without an end, the streams of a damaged file could take all of the memory.
_ROOM_FOR_STREAMS: Final = 4


@dataclass(frozen=True, slots=True)
class _Item:
    """One stream of filters: those of a column in a stripe. `is_asked`: readers of today take it."""

    stripe: int
    column: OrcColumn
    stream: OrcStream
    is_asked: bool


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What came of one stream."""

    findings: list[Finding]
    num_filters: int
    num_values: int


def orc_findings(
    file: OrcFile,
    columns: Sequence[str] | None,
    policy: Policy,
    *,
    deep: bool,
    diagnose: bool,
    threads: int | None,
    progress: Progress | None,
) -> tuple[list[Finding], Checked]:
    """As verbs.validate.validate, for an open ORC file; progress: called with (columns of stripes
    done, columns of stripes in all).

    Raises ColumnError, FormatError for a footer that cannot be read, of the file or of a stripe,
    UnsupportedError, OSError.
    """
    validation = _Validation(file, policy, deep, diagnose)
    findings = validation.run(file.named_columns(columns), threads, progress)
    return findings, Checked(validation.num_filters, validation.num_values)


class _Validation:
    def __init__(self, file: OrcFile, policy: Policy, deep: bool, diagnose: bool) -> None:
        self.num_filters = 0
        self.num_values = 0
        self._file = file
        self._policy = policy
        self._look_up = _look_up if deep else _no_look_up
        self._reads_values = deep
        self._diagnose = _diagnosis if diagnose else _no_diagnosis

    def run(
        self, columns: Sequence[OrcColumn], threads: int | None, progress: Progress | None
    ) -> list[Finding]:
        file = self._file
        findings: list[Finding] = []
        for index in range(file.num_stripes):
            findings += structure.check_streams(file, file.stripe(index), columns)
        findings += security.check_encrypted(file, columns)
        items = list(_items(file, columns))
        done = count(1)
        for _, outcome in work_in_order(items, self._check, self._room, threads):
            findings += outcome.findings
            self.num_filters += outcome.num_filters
            self.num_values += outcome.num_values
            if progress:
                progress(next(done), len(items))
        findings += quality.check_columns(file, columns, self._has_values)
        findings += quality.check_required(file, self._policy, self._has_values)
        findings += quality.check_share(file)
        return findings

    def _room(self, item: _Item) -> int:
        values = room_of_values(self._file, OrcChunk(self._file.stripe(item.stripe), item.column))
        return values + _ROOM_FOR_STREAMS * item.stream.length

    def _check(self, item: _Item) -> _Outcome:
        file, stripe = self._file, self._file.stripe(item.stripe)
        view, findings = structure.read_index(file, stripe, item.column, item.stream, item.is_asked)
        if view is None:
            return _Outcome(findings, 0, 0)
        entries = _row_index(file, stripe.index, item.column)
        # That there is no row index is another rule.
        has_statistics = all(entry.statistics for entry in entries or ())
        findings += portability.check_readers(view, has_statistics)
        findings += portability.check_evenness(view)
        memberships, problems = self._look_up(view)
        known = _non_null(entries, stripe.num_index_groups)
        policy = self._policy.for_column(item.column.name)
        for group, filter in enumerate(view.filters):
            membership = memberships[group]
            if filter is None:
                continue
            findings += quality.check_filter(view, group, filter, policy)
            if never_absent(item.column):
                continue
            num_values = membership.num_values if membership else known[group]
            findings += truth.check_clear(view, group, filter, num_values)
            if membership is not None:
                diagnosis = self._diagnose(view, group, filter, membership)
                findings += truth.check_values(view, group, filter, membership, diagnosis)
        return _Outcome(
            findings=findings + problems,
            num_filters=sum(filter is not None for filter in view.filters),
            num_values=sum(each.num_values for each in memberships if each),
        )

    def _has_values(self, stripe: int, column: OrcColumn) -> bool:
        """Whether there are values that are not null; where the row index does not tell, the column
        does."""
        entries = _row_index(self._file, stripe, column)
        known = _non_null(entries, self._file.stripe(stripe).num_index_groups)
        if None not in known:
            return any(known)
        return not self._reads_values or _stores_values(self._file, stripe, column)


def _items(file: OrcFile, columns: Sequence[OrcColumn]) -> Iterator[_Item]:
    """The streams whose bits can be looked at."""
    for index in range(file.num_stripes):
        stripe = file.stripe(index)
        if stripe.doubt:
            continue
        for column in columns:
            if file.tail.is_encrypted_column(column):
                continue
            streams = stripe.streams_of(column.id, FILTER_KINDS)
            latest = max((stream.kind for stream in streams), default=None)
            for stream in streams:
                yield _Item(index, column, stream, is_asked=stream.kind == latest)


_LookUp = tuple[Sequence[GroupMembership | None], list[Finding]]


def _no_look_up(view: IndexView) -> _LookUp:
    return [None] * len(view.filters), []


def _look_up(view: IndexView) -> _LookUp:
    """What the values say of each index group; nothing, and why, if they cannot be looked up."""
    if never_absent(view.column):
        return _no_look_up(view)
    try:
        return list(check_groups(view)), []
    except UnsupportedError as error:
        reason = without_place(error, view.stripe, view.column)
        return _no_look_up(view)[0], [not_checked(view.stripe, view.column, reason)]
    except FormatError as error:
        message = without_place(error, view.stripe, view.column)
        return _no_look_up(view)[0], [stripe_finding("PB611", view.stripe, view.column, message)]


def _row_index(file: OrcFile, stripe: int, column: OrcColumn) -> Sequence[IndexEntry] | None:
    """By index group; None where there is none that can be read."""
    try:
        return file.row_index(stripe, column)
    except ParquetBloomError:
        return None


def _non_null(entries: Sequence[IndexEntry] | None, num_index_groups: int) -> list[int | None]:
    """By index group, how many values are not null; None where the row index does not tell."""
    if entries is None:
        return [None] * num_index_groups
    return [entry.statistics.num_values if entry.statistics else None for entry in entries]


def _stores_values(file: OrcFile, stripe: int, column: OrcColumn) -> bool:
    try:
        return stores_values(file, file.stripe(stripe), column)
    except (FormatError, UnsupportedError):
        return True


def _no_diagnosis(
    view: IndexView, group: int, filter: KHashFilter, membership: GroupMembership
) -> Diagnosis | None:
    return None


def _diagnosis(
    view: IndexView, group: int, filter: KHashFilter, membership: GroupMembership
) -> Diagnosis | None:
    """What the writer did instead, where values are missing."""
    if membership.missing is None:
        return None
    stripe = view.stripe
    return diagnose(
        Lacking(
            column=view.column,
            form=view.form,
            generation=view.file.generation,
            filter=filter,
            values=membership.values,
            missing=membership.missing,
            first_row=stripe.first_row + stripe.group_first_row(group),
            num_rows=stripe.group_num_rows(group),
        )
    )
