"""Mend what is wrong with the filters of an ORC file: drop them, or build them again.

    stripe   | row index, new filters or none | ... | data: as it was | footer |

Nothing in an ORC file points to a filter, so no footer alone can mend one. What is wrong with the
filters of a column in a stripe goes for all of its index groups, which are one stream.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Final, Literal

from parquet_bloom.orc.build import BuiltStreams, OrcSize, TolerantOrcFilterBuilder
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.injection import FilterStreams, check_injectable
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8, FILTER_KINDS
from parquet_bloom.orc.writer import Offsets, Streams, StripesChange
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.catalogue import Finding
from parquet_bloom.rules.policy import Policy
from parquet_bloom.storage.new_version import Target, Version, write_version
from parquet_bloom.verbs.orc.validate import orc_findings

Action = Literal["filters dropped", "rebuilt"]

# With these a filter loses rows, or no reader can use it.
FATAL: Final = {"PB401", "PB402", "PB602", "PB603", "PB604", "PB605", "PB606"}
# The filters are right, and readers fail, differ or lose rows all the same.
SHORTCOMINGS: Final = {"PB403", "PB607", "PB610", "PB624", "PB625"}
# What other filters do not mend, and why.
UNMENDABLE: Final = {
    "PB408": "the filters stay, right or wrong: strip removes them",
    "PB601": "write the file again",
    "PB608": "write the file again",
    "PB611": "the filters stay, right or wrong: strip removes them",
    "PB651": "filters of files with encrypted columns are not written",
}


@dataclass(frozen=True, slots=True)
class RepairedOrcFilters:
    """What was done for the filters of a column in a stripe, and the rule that was broken, with the
    words for it.

    `index_groups`: those where it was, none where it is about the stream. `offset` and `length` say
    where the filters lie now, None if there are none.
    """

    stripe: int
    index_groups: tuple[int, ...]
    column: str
    action: Action
    rule: str
    reason: str
    offset: int | None
    length: int | None


@dataclass(frozen=True, slots=True)
class LeftOrcFilters:
    """A rule that is still broken; `reason` says what is wrong, and what would mend it. `column`:
    None where it is about the stripe."""

    stripe: int
    index_groups: tuple[int, ...]
    column: str | None
    rule: str
    reason: str


@dataclass(frozen=True, slots=True)
class OrcRepairReport:
    """What repair did to one file. Sizes in bytes, `bytes_added` is less than 0 if the file got
    shorter; `output` is None for a dry run."""

    path: str
    output: str | None
    repaired: tuple[RepairedOrcFilters, ...]
    left: tuple[LeftOrcFilters, ...]
    bytes_added: int
    size_before: int
    size_after: int
    seconds: float


@dataclass(frozen=True, slots=True)
class OrcRepairOptions:
    """As verbs.repair.repair takes them; `stripes`: None for all. Raises ValueError."""

    columns: Sequence[str] | None
    stripes: Sequence[int] | None
    drop_bad: bool
    rebuild: bool
    fpp: float
    threads: int | None


@dataclass(slots=True)
class _Broken:
    """The filters of a column in a stripe, and what is wrong with them: the worst rule, where it is
    broken. `offset` and `length`: of the filters that were built instead; `not_rebuilt`: why none
    were."""

    item: OrcChunk
    findings: list[Finding] = field(default_factory=list)
    offset: int | None = None
    length: int | None = None
    not_rebuilt: str = ""

    @property
    def worst(self) -> Finding:
        return next((each for each in self.findings if each.rule in FATAL), self.findings[0])

    @property
    def index_groups(self) -> tuple[int, ...]:
        return _index_groups([each for each in self.findings if each.rule == self.worst.rule])

    @property
    def is_fatal(self) -> bool:
        return self.worst.rule in FATAL

    @property
    def is_rebuilt(self) -> bool:
        return self.offset is not None


def repair_orc(
    file: OrcFile,
    target: Target,
    options: OrcRepairOptions,
    *,
    verify: bool,
    progress: Progress | None,
) -> OrcRepairReport:
    """Write `file` with its filters mended to `target`; without one nothing is written.

    Raises ColumnError, UnsupportedError for files that cannot get filters, FormatError, RewriteError,
    OSError.
    """
    started = time.perf_counter()
    check_injectable(file.tail)
    reads_values = options.drop_bad or options.rebuild
    findings = _findings(file, options, reads_values, progress)
    broken = list(_broken(file, findings))
    mended = [each for each in broken if options.rebuild or (reads_values and each.is_fatal)]
    size_after = write_version(file.source, target, _Mending(file, mended, options), verify)
    done = [each for each in mended if each.is_rebuilt or each.is_fatal]
    return OrcRepairReport(
        path=file.path,
        output=target.name,
        repaired=tuple(_repaired(each) for each in done),
        left=(
            *(_left(each) for each in broken if each not in done),
            *_unmendable(file, findings),
        ),
        bytes_added=size_after - file.source.size,
        size_before=file.source.size,
        size_after=size_after,
        seconds=time.perf_counter() - started,
    )


def _findings(
    file: OrcFile, options: OrcRepairOptions, reads_values: bool, progress: Progress | None
) -> list[Finding]:
    """What is wrong in the stripes that are to be mended."""
    stripes = set(file.stripes(options.stripes))
    findings, _ = orc_findings(
        file, options.columns, Policy(), deep=reads_values, diagnose=False,
        threads=options.threads, progress=progress,
    )  # fmt: skip
    return [each for each in findings if each.stripe in stripes]


def _broken(file: OrcFile, findings: Sequence[Finding]) -> Iterator[_Broken]:
    """In file order, but for columns that share their name."""
    columns = {column.name: column for column in file.tail.columns[1:]}
    shared = _shared_names(file)
    found: dict[tuple[int, int], list[Finding]] = {}
    for each in findings:
        is_mendable = each.rule in FATAL | SHORTCOMINGS and each.column not in shared
        if is_mendable and each.stripe is not None and each.column is not None:
            found.setdefault((each.stripe, columns[each.column].id), []).append(each)
    for (stripe, column), of_column in sorted(found.items()):
        yield _Broken(OrcChunk(file.stripe(stripe), file.tail.columns[column]), of_column)


def _shared_names(file: OrcFile) -> set[str | None]:
    counts = Counter(column.name for column in file.tail.columns[1:])
    return {name for name, count in counts.items() if count > 1}


class _Mending(StripesChange):
    """Stripes with other filters, or with fewer."""

    def __init__(self, file: OrcFile, mended: Sequence[_Broken], options: OrcRepairOptions) -> None:
        """`mended`: in file order; they are told where their filters lie."""
        super().__init__(file)
        self._mended = mended
        self._rebuilds = options.rebuild
        self._threads = options.threads
        self._size = OrcSize(options.fpp, max(1, file.tail.row_index_stride))
        self._of_stripes: dict[int, list[_Broken]] = {}
        for each in mended:
            self._of_stripes.setdefault(each.item.stripe.index, []).append(each)
        self._streams: dict[int, FilterStreams] = {}

    @property
    def is_idle(self) -> bool:
        return not self._mended

    def _built(self, items: Sequence[OrcChunk]) -> Generator[BuiltStreams | str]:
        """The filters of each, or why it gets none."""
        if not self._rebuilds:
            yield from ("" for _ in items)
            return
        kinds = _kinds(self.file, items)
        builder = TolerantOrcFilterBuilder(self.file, self._size, kinds, self._threads)
        with closing(builder.built(items)) as all_built:
            for _, built in all_built:
                reason = built if isinstance(built, str) else self._size.reason_against(built)
                yield reason or built

    def compose(self, version: Version) -> None:
        with closing(self._built([each.item for each in self._mended])) as self._new:
            super().compose(version)

    def streams_of(self, stripe: int) -> Streams:
        self._streams = {}
        for each in self._of_stripes.get(stripe, ()):
            streams = next(self._new)
            if not isinstance(streams, str):
                self._streams[each.item.column.id] = streams.streams
                continue
            each.not_rebuilt = streams
            if each.is_fatal:
                self._streams[each.item.column.id] = {}
        return self._streams

    def placed(self, stripe: int, offsets: Offsets) -> None:
        for each in self._of_stripes.get(stripe, ()):
            column = each.item.column.id
            lengths = {kind: len(data) for kind, data in self._streams.get(column, {}).items()}
            if lengths:
                each.offset = min(offsets[column, kind] for kind in lengths)
                each.length = sum(lengths.values())


def _kinds(file: OrcFile, items: Sequence[OrcChunk]) -> tuple[int, ...]:
    """Those of the streams to write: for readers of before ORC 1.3, too, if they had any."""
    for item in items:
        if item.stripe.streams_of(item.column.id, (BLOOM_FILTER,)):
            return FILTER_KINDS
    return (BLOOM_FILTER_UTF8,)


def _index_groups(findings: Sequence[Finding]) -> tuple[int, ...]:
    return tuple(each.index_group for each in findings if each.index_group is not None)


def _repaired(each: _Broken) -> RepairedOrcFilters:
    more = f"; not rebuilt: {each.not_rebuilt}" if each.not_rebuilt else ""
    return RepairedOrcFilters(
        stripe=each.item.stripe.index,
        index_groups=each.index_groups,
        column=each.item.column.name,
        action="rebuilt" if each.is_rebuilt else "filters dropped",
        rule=each.worst.rule,
        reason=each.worst.statement + more,
        offset=each.offset,
        length=each.length,
    )


def _left(each: _Broken) -> LeftOrcFilters:
    more = "rebuild mends it, drop-bad removes the filters" if each.is_fatal else "rebuild mends it"
    return LeftOrcFilters(
        stripe=each.item.stripe.index,
        index_groups=each.index_groups,
        column=each.item.column.name,
        rule=each.worst.rule,
        reason=f"{each.worst.statement}; "
        + (f"not rebuilt: {each.not_rebuilt}" if each.not_rebuilt else more),
    )


def _unmendable(file: OrcFile, findings: Sequence[Finding]) -> Iterator[LeftOrcFilters]:
    shared = _shared_names(file)
    for each in findings:
        why = UNMENDABLE.get(each.rule)
        if each.rule in FATAL | SHORTCOMINGS and each.column in shared:
            why = "several columns have this name"
        if why is not None and each.stripe is not None:
            yield LeftOrcFilters(
                stripe=each.stripe,
                index_groups=_index_groups([each]),
                column=each.column,
                rule=each.rule,
                reason=f"{each.statement}; {why}",
            )
