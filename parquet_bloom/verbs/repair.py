"""Repair the filters of a file: drop those that lose rows, set lengths, on request build others.

Rules find what is wrong, and rules.repair_plan decides what to do. In a Parquet file only the footer
changes, with new filters before it; in an ORC file the streams of filters change.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

from parquet_bloom.arguments import SomeNames, SomeNumbers
from parquet_bloom.container import WHERE_KNOWN, Located, Place, RepairChange
from parquet_bloom.container.protocols import Container
from parquet_bloom.container.shown_names import NamedAsShown
from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import FORMATS
from parquet_bloom.options import Destination, RepairOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.damage import MAY_HAVE_CHANGED
from parquet_bloom.rules.finding import NOT_CHECKED, Finding, chunk_finding
from parquet_bloom.rules.repair_plan import BrokenFilters, Diagnosed, way_out
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.file_runner import Changing, changing, changing_opened
from parquet_bloom.verbs.several import change_each, changes_several
from parquet_bloom.vocabulary import FileLayout, Format, RepairAction, is_out_of_sight

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.traffic import Requests

_TAKE_ANOTHER: Final = "take another copy of the file"


@dataclass(frozen=True, slots=True)
class RepairedFilter(NamedAsShown, Located):
    """What was done about the filters of one chunk, of which there were `num_filters`, the rule that was broken,
    and how.

    `offset` and `length`: of the present filters, None if there are none. `groups`: the index groups
    where the rule was broken, empty if it concerns the whole stripe.
    """

    place: Place
    column: str
    action: RepairAction
    num_filters: int
    rule: str
    reason: str
    offset: int | None
    length: int | None
    groups: tuple[int, ...] | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class LeftFilter(NamedAsShown, Located):
    """A rule that is still broken, or a filter that could not be looked at; `reason`: what is wrong, and
    what would repair it. `column`: None if a whole stripe is meant. `num_filters`: how many break it, 0 where nobody
    knows if there is one; `groups`: as in RepairedFilter."""

    place: Place | None
    column: str | None
    rule: str
    reason: str
    num_filters: int
    groups: tuple[int, ...] | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def is_wrong(self) -> bool:
        """False of what could not be looked at."""
        return self.rule != NOT_CHECKED

    @property
    def is_hidden(self) -> bool:
        """Whether its chunk is encrypted, and there is no key for it."""
        return not self.is_wrong and is_out_of_sight(self.reason)


@dataclass(frozen=True, slots=True, repr=False)
class RepairReport(VerbReport):
    """What repair did to one file. Sizes in bytes; `bytes_added` is negative if the file shrank;
    `output` is as in BuildReport. `looked_up`: whether stored values were looked up, so that filters
    that lack some are among `repaired` or `left`; if so, `useless` filters are right, and stay although they exclude
    next to nothing. `notes`: what to know about the file."""

    _rows: ClassVar = ("repaired",)
    _shown_first: ClassVar = ("part", "column", "action", "rule", "reason")
    _told_below: ClassVar = ("left",)

    path: str
    format: Format
    output: str | None
    repaired: tuple[RepairedFilter, ...]
    left: tuple[LeftFilter, ...]
    looked_up: bool
    useless: int
    bytes_added: int
    size_before: int
    size_after: int
    dry_run: bool
    seconds: float
    notes: tuple[str, ...] = ()
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def state(self) -> str:
        """`still wrong`, `repaired` or `unchanged`."""
        if any(each.is_wrong for each in self.left):
            return "still wrong"
        return "repaired" if self.repaired else "unchanged"


@changes_several
def repair(
    source: Any,
    output: str | os.PathLike[str] | None = None,
    *,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    drop_bad: bool = False,
    rebuild: bool = False,
    fpp: float | None = None,
    max_bytes: int | None = None,
    layout: FileLayout | None = None,
    ignore_checksums: bool = False,
    in_place: bool = False,
    overwrite: bool = False,
    resume: bool = False,
    dry_run: bool = False,
    verify: bool = True,
    unconditional: bool = False,
    threads: int | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> RepairReport:
    """Write `source` to `output` with the filters of `columns` (dotted paths; default: all) repaired.

    A list of paths, a folder, a glob, and a URL that ends with / stand for several files: then this returns a
    FilesReport, with the report on each, and the errors of files that failed.
    `output` is then the folder of the new files.

    By default no value is read, and filters that only values could prove right are dropped.
    drop_bad: look up every stored value, and drop filters with false negatives. rebuild: the same,
    and build filters again that were dropped, or that are right but confuse readers; in an ORC file, unless `fpp`
    says another, in the size that they had, if that is of use. A filter that lacks values as if
    bytes of pages had changed stays where something else is wrong with these pages. layout:
    `replace` writes what is new in the place of the old footer; `append` writes it behind the old
    file, which stays whole, but for plaintext filters of encrypted columns. By default `append` for
    what is changed in place behind a URL, else `replace`. progress: called with (chunks done, chunks
    in all), first for looking up values, then for building filters; of several files, as for build.
    Other options as for build.

    In an ORC file, row_groups are stripes, and nothing points to a filter: without drop_bad or
    rebuild nothing is repaired, and the report says what could be.

    Raises ColumnError, FormatError for a footer that contradicts itself or is damaged,
    EncryptionError for data that cannot be decrypted or encrypted again, UnsupportedError,
    RewriteError for outputs that must not be written, OSError.
    """
    given = locals()
    options, destination = RepairOptions.of(given), Destination.of(given)
    change = partial(repair_file, keys=keys)
    report: RepairReport = change_each(
        "repair",
        source,
        options,
        destination,
        change,
        storage_options=storage_options,
        progress=progress,
    )
    return report


def repair_file(
    source: str | os.PathLike[str],
    options: RepairOptions,
    destination: Destination,
    keys: Keys | None = None,
    progress: Progress | None = None,
) -> RepairReport:
    """As repair."""
    with changing(source, destination, keys) as file:
        return _repair(file, options, progress)


def repair_opened(
    file: Container,
    options: RepairOptions,
    destination: Destination,
    known: Sequence[BrokenFilters] = (),
) -> RepairReport:
    """As repair, of a file that is open. `known`: filters that are broken, whatever else is found of them, and of
    other columns, too."""
    return _repair(changing_opened(file, destination), options, known=known)


def _repair(
    opened: Changing,
    options: RepairOptions,
    progress: Progress | None = None,
    known: Sequence[BrokenFilters] = (),
) -> RepairReport:
    file, options = opened.file, opened.ready(options)
    found = FORMATS[file.format].diagnose(file, options, progress).with_known(known)
    change = file.repair(found.repairs(options), options, progress)
    facts = opened.write(change)
    outcomes = [
        outcome
        for broken in found.filters
        for outcome in _outcomes(broken, file, change, found, found.may_drop(options))
    ]
    return RepairReport(
        **facts,
        repaired=tuple(each for each in outcomes if isinstance(each, RepairedFilter)),
        left=(
            *(each for each in outcomes if isinstance(each, LeftFilter)),
            *(_left(chunk_finding("PB501", *each)) for each in change.remains),
            *(_left(why, more, _groups(file, [why])) for why, more in found.beyond_repair),
        ),
        looked_up=options.reads_values,
        useless=found.useless,
        bytes_added=facts["size_after"] - facts["size_before"],
        notes=(
            *found.notes,
            *found.dropped_too(change.built, options),
            *opened.notes(change),
        ),
    )


def _outcomes(
    broken: BrokenFilters,
    file: Container,
    change: RepairChange,
    found: Diagnosed,
    may_drop: bool,
) -> Iterator[RepairedFilter | LeftFilter]:
    """What was done about the filters of one chunk, and what is still wrong with them."""
    key, fatal = broken.chunk.key, broken.fatal
    wanting = fatal or broken.shortcoming
    reason = change.not_built.get(key)
    why_not = f"; not rebuilt: {reason}" if reason else ""

    def groups(why: Finding) -> tuple[int, ...] | None:
        alike = (finding for finding, _ in broken.problems if finding.rule == why.rule)
        return _groups(file, alike)

    def repaired(
        action: RepairAction, why: Finding, where: tuple[int, int] | None, more: str = ""
    ) -> RepairedFilter:
        return RepairedFilter(
            place=broken.chunk.place,
            column=broken.chunk.column.name,
            action=action,
            num_filters=broken.chunk.num_filters,
            rule=why.rule,
            reason=why.statement + more,
            offset=where and where[0],
            length=where and where[1],
            groups=groups(why),
        )

    def left(why: Finding, more: str) -> LeftFilter:
        return _left(why, more, groups(why), broken.chunk.num_filters)

    doubt = f"; {broken.doubt_about_values}" * bool(broken.doubt_about_values)
    if wanting and key in change.built:
        yield repaired("rebuilt", wanting, change.built[key], doubt)
        return
    if fatal and may_drop:
        is_length = fatal.definition.repair == "remove length"
        action = "length removed" if is_length else found.dropping
        yield repaired(action, fatal, None, doubt + why_not)
        # What the filter hid: without it, nothing else says so.
        if damage := _damage(broken, change, found.damage_rule):
            yield left(damage, f"; {damage.definition.by_hand or _TAKE_ANOTHER}")
        return
    if broken.length and not fatal:
        yield repaired("length set", broken.length, change.resized[key])
    if wanting:
        by_dropping = ", --drop-bad removes the filters" if fatal else ""
        yield left(wanting, why_not or f"; --rebuild repairs it{by_dropping}")
    if broken.only_trace:
        lacking, damage = broken.only_trace
        yield left(lacking, _as_trace(damage))
    for finding in broken.beyond_repair:
        yield left(finding, way_out(finding))


def _damage(broken: BrokenFilters, change: RepairChange, rule: str) -> Finding | None:
    """Why values of a chunk could not be read, or what else is wrong with its pages."""
    if broken.chunk.key in change.damaged:
        return chunk_finding(rule, broken.chunk, change.not_built[broken.chunk.key])
    return broken.broken(rule) or (broken.only_trace and broken.only_trace[1])


def _as_trace(damage: Finding) -> str:
    """What to do about a filter that may be right, as something is wrong with the pages whose values it lacks."""
    return (
        f"; {MAY_HAVE_CHANGED}: {damage.definition.heading}: {damage.statement}:"
        f" {_TAKE_ANOTHER}; the filter stays"
    )


def _groups(file: Container, findings: Iterable[Finding]) -> tuple[int, ...] | None:
    """The index groups where a rule is broken; None in a format that has none."""
    if not file.units.has_groups:
        return None
    places = (each.place for each in findings)
    return tuple(place.group for place in places if place and place.group is not None)


def _left(
    why: Finding, more: str = "", groups: tuple[int, ...] | None = None, of_chunk: int = 1
) -> LeftFilter:
    """`of_chunk`: how many filters there are, all of which are meant unless it is about some `groups`."""
    place = why.place and Place(why.place.part, units=why.place.units)
    num_filters = len(groups) if groups else of_chunk
    left = LeftFilter(place, why.column, why.rule, why.statement + more, num_filters, groups)
    return replace(left, num_filters=0) if left.is_hidden else left
