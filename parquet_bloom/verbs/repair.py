"""Repair the filters of a file: drop those that lose rows, set lengths, on request build others.

What is wrong is found by rules, and what becomes of it is in rules.repair_plan. Of a Parquet file only
the footer changes, and filters that are built stand before it; of an ORC file the streams of filters.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from parquet_bloom.container import WHERE_KNOWN, Container, Located, Place, RepairChange
from parquet_bloom.files import open as open_file
from parquet_bloom.options import Destination, RepairOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.finding import Finding, chunk_finding
from parquet_bloom.rules.repair import diagnosed
from parquet_bloom.rules.repair_plan import BrokenFilters, Diagnosed, way_out
from parquet_bloom.storage.new_version import write_version
from parquet_bloom.vocabulary import Format, RepairAction

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@dataclass(frozen=True, slots=True)
class RepairedFilter(Located):
    """What was done for the filters of one chunk, and the rule that was broken, with the words for it.

    `offset` and `length` say where they are now, None if there are none. `groups`: the index groups
    where the rule was broken, none where it is about all of a stripe.
    """

    place: Place
    column: str
    action: RepairAction
    rule: str
    reason: str
    offset: int | None
    length: int | None
    groups: tuple[int, ...] | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class LeftFilter(Located):
    """A rule that is still broken; `reason` says what is wrong, and what would repair it. `column`:
    None where it is about a whole stripe. `groups`: as of RepairedFilter."""

    place: Place | None
    column: str | None
    rule: str
    reason: str
    groups: tuple[int, ...] | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class RepairReport:
    """What repair did to one file. Sizes in bytes, `bytes_added` is less than 0 if the file got
    shorter; `output` is None for a dry run."""

    path: str
    format: Format
    output: str | None
    repaired: tuple[RepairedFilter, ...]
    left: tuple[LeftFilter, ...]
    bytes_added: int
    size_before: int
    size_after: int
    seconds: float


def repair(
    source: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
    *,
    columns: Sequence[str] | None = None,
    row_groups: Sequence[int] | None = None,
    drop_bad: bool = False,
    rebuild: bool = False,
    fpp: float | None = None,
    max_bytes: int | None = None,
    in_place: bool = False,
    overwrite: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    threads: int | None = None,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> RepairReport:
    """Write `source` with the filters of `columns` (dotted paths; default: all) repaired.

    By default no value is read, and what only values could prove right is dropped. drop_bad: look
    up every stored value; filters with false negatives are dropped. rebuild: the same, and whatever
    was dropped, or is right but trips readers, is built again from the data; fpp and max_bytes are
    as for build. Other options as for build. progress: called with (chunks done, chunks in all),
    for the values that are looked up and for the filters that are built.

    Nothing in an ORC file points to a filter: without drop_bad or rebuild nothing is repaired in
    it, and the report says what would be. Of it, row_groups are stripes.

    Raises ColumnError, FormatError for a footer that contradicts itself or is damaged,
    EncryptionError for what does not open or cannot be sealed again, UnsupportedError, RewriteError
    for outputs that must not be written, OSError.
    """
    options = RepairOptions(
        columns=None if columns is None else tuple(columns),
        parts=None if row_groups is None else tuple(row_groups),
        drop_bad=drop_bad,
        rebuild=rebuild,
        fpp=fpp,
        max_bytes=max_bytes,
        threads=threads,
    )
    destination = Destination(
        output=output,
        in_place=in_place,
        overwrite=overwrite,
        dry_run=dry_run,
        verify=verify,
    )
    return repair_file(source, options, destination, keys, progress)


def repair_file(
    source: str | os.PathLike[str],
    options: RepairOptions,
    destination: Destination,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> RepairReport:
    """The same, of options."""
    started = time.perf_counter()
    target = destination.target(source)
    with open_file(source, keys) as file:
        found = diagnosed(file, options, progress)
        change = file.repair(found.repairs(options), options, progress)
        size = write_version(file.source, target, change, destination.verify)
        outcomes = [_Outcome(file, options, found, change, each) for each in found.filters]
        done = [each.done() for each in outcomes]
        return RepairReport(
            path=file.path,
            format=file.format,
            output=target.name,
            repaired=tuple(each for each in done if each is not None),
            left=(
                *(left for each in outcomes for left in each.left()),
                *(_left(chunk_finding("PB501", *each)) for each in change.remains),
                *(_left(why, more, _groups(file, [why])) for why, more in found.beyond_repair),
            ),
            bytes_added=size - file.source.size,
            size_before=file.source.size,
            size_after=size,
            seconds=time.perf_counter() - started,
        )


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What became of the filters of one chunk, in words."""

    file: Container
    options: RepairOptions
    found: Diagnosed
    change: RepairChange
    broken: BrokenFilters

    def done(self) -> RepairedFilter | None:
        """What was done, if anything."""
        broken, key = self.broken, self.broken.chunk.key
        if self._is_rebuilt:
            return self._item("rebuilt", self._wanting, self.change.built[key])
        if self._is_dropped:
            return self._item(self._loss, broken.fatal, (None, None), self._why_not)
        if broken.fatal is None and broken.length is not None:
            return self._item("length set", broken.length, self.change.resized[key])
        return None

    def left(self) -> Iterator[LeftFilter]:
        """What is still wrong."""
        if self._is_rebuilt or self._is_dropped:
            return
        if self._wanting is not None:
            by_dropping = ", drop-bad removes the filters" if self.broken.fatal else ""
            more = self._why_not or f"; rebuild repairs it{by_dropping}"
            yield _left(self._wanting, more, self._groups(self._wanting))
        for finding in self.broken.beyond_repair:
            yield _left(finding, way_out(finding), self._groups(finding))

    @property
    def _wanting(self) -> Finding | None:
        """Why other filters are wanted."""
        return self.broken.fatal or self.broken.shortcoming

    @property
    def _is_rebuilt(self) -> bool:
        return self.broken.chunk.key in self.change.built

    @property
    def _is_dropped(self) -> bool:
        return self.broken.fatal is not None and self.found.may_drop(self.options)

    @property
    def _loss(self) -> RepairAction:
        fatal = self.broken.fatal
        is_length = fatal is not None and fatal.definition.repair == "remove length"
        return "length removed" if is_length else self.found.dropping

    @property
    def _why_not(self) -> str:
        """Why no filter was built; empty if nobody tried."""
        reason = self.change.not_built.get(self.broken.chunk.key)
        return f"; not rebuilt: {reason}" if reason else ""

    def _groups(self, why: Finding) -> tuple[int, ...] | None:
        found = (finding for finding, _ in self.broken.problems)
        return _groups(self.file, [each for each in found if each.rule == why.rule])

    def _item(
        self,
        action: RepairAction,
        why: Finding | None,
        place: tuple[int | None, int | None],
        more: str = "",
    ) -> RepairedFilter:
        assert why is not None
        offset, length = place
        return RepairedFilter(
            place=self.broken.chunk.place,
            column=self.broken.chunk.column.name,
            action=action,
            rule=why.rule,
            reason=why.statement + more,
            offset=offset,
            length=length,
            groups=self._groups(why),
        )


def _groups(file: Container, findings: Iterable[Finding]) -> tuple[int, ...] | None:
    """Those of a stripe where a rule is broken; None in a format that has none."""
    if not file.units.has_groups:
        return None
    places = (each.place for each in findings)
    return tuple(place.group for place in places if place and place.group is not None)


def _left(why: Finding, more: str = "", groups: tuple[int, ...] | None = None) -> LeftFilter:
    place = why.place and Place(why.place.part, units=why.place.units)
    return LeftFilter(place, why.column, why.rule, why.statement + more, groups)
