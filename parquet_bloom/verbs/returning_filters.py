"""Filters that a commit brings into sight, although this run did not build them: whatever made them did not commit,
or its commit was taken back, perhaps because of them. Their values are looked up first, so that no reader is given
one that lacks some.

    | the file as its record says | filters that nobody sees, a footer | new ones, a footer with the proven ones too |
    0                  recorded size                                                                            size
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, TypeAlias

from parquet_bloom.container.protocols import Container
from parquet_bloom.container.room import TO_CHANGE, check_room
from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import FORMATS
from parquet_bloom.options import ReadOptions, RepairOptions
from parquet_bloom.tables.table import TableFile
from parquet_bloom.verbs.table_step import RepairedColumn, added_up

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Chunk
    from parquet_bloom.rules.repair_plan import BrokenFilters

# A part, and a column as the file calls it.
Spot: TypeAlias = "tuple[int, str]"


@dataclass(frozen=True, slots=True)
class ReturningFilters:
    """`proven`: those that have all stored values, with their FPP; `unproven`: those of which that cannot be said,
    each with a finding that is fatal; `replaced`: those whose place others are to take, which were not looked at."""

    proven: Mapping[Spot, float | None] = field(default_factory=lambda: MappingProxyType({}))
    unproven: Sequence[BrokenFilters] = ()
    replaced: frozenset[Spot] = frozenset()

    @property
    def not_proven(self) -> frozenset[Spot]:
        """Those that must not come into sight as they are."""
        return self.replaced.union(spot_of(each.chunk) for each in self.unproven)

    def by_column(self, besides: Collection[str] = ()) -> Mapping[str, int]:
        """How many are proven of each column."""
        return Counter(column for _, column in self.proven if column not in besides)

    def mended(
        self, rebuilt: Collection[Spot], called: Mapping[str, str]
    ) -> tuple[RepairedColumn, ...]:
        """What became of those that are not proven. `rebuilt`: where others have taken their place; `called`: what
        the table calls its columns."""
        found = []
        for each in self.unproven:
            spot, finding = spot_of(each.chunk), each.fatal
            assert finding is not None
            doubt = f"; {each.doubt_about_values}" * bool(each.doubt_about_values)
            found.append(
                RepairedColumn(
                    called.get(spot[1], spot[1]),
                    "rebuilt" if spot in rebuilt else "pointer dropped",
                    finding.rule,
                    f"{finding.statement}{doubt}; {_OUT_OF_SIGHT}",
                    1,
                )
            )
        return added_up(found)


_OUT_OF_SIGHT: Final = "it had been appended before, and stays out of sight"


def spot_of(chunk: Chunk) -> Spot:
    return chunk.place.part, chunk.column.name


def filters_returning(
    file: TableFile,
    opened: Container,
    reading: ReadOptions,
    threads: int | None,
    replaced: Collection[str] = (),
) -> ReturningFilters:
    """Those of an open file. `reading`: how its pages are read; `replaced`: columns, as the file calls them, whose
    filters are built anew. Raises as FORMATS' diagnose."""
    if opened.source.size == file.size:
        return ReturningFilters()
    chunks = opened.chunks_since(file.size)
    goes = frozenset(spot_of(each) for each in chunks if each.column.name in replaced)
    wanted = {spot_of(each) for each in chunks} - goes
    if not wanted:
        return ReturningFilters(replaced=goes)
    options = RepairOptions(
        columns=tuple(sorted({column for _, column in wanted})),
        parts=tuple(sorted({part for part, _ in wanted})),
        ignore_checksums=reading.ignore_checksums,
        drop_bad=True,
        threads=threads,
    )
    check_room(opened, opened.select(options.columns), options.parts, TO_CHANGE)
    if options.ignore_checksums:
        opened.ignore_checksums()
    looked_up = FORMATS[opened.format].diagnose(opened, options, None).filters
    proven, unproven = {}, []
    for each in looked_up:
        if spot_of(each.chunk) not in wanted:
            continue
        if finding := each.unproven:
            each.add(finding, "drop")
            unproven.append(each)
        else:
            proven[spot_of(each.chunk)] = each.fpp
    return ReturningFilters(proven, unproven, goes)
