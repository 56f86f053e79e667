"""An open ORC file as verbs know it: they probe, describe and change its filters.

A verdict is about one index group, which is what readers skip. Any doubt about a filter makes it
`unknown`, never `absent`: see writers.doubt for what some writers get wrong. Modules that only some
verbs need are imported where they are used.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

from parquet_bloom.container import (
    STRIPES,
    AnswerToAll,
    NoFilters,
    Place,
    ReadFilter,
    Units,
    number_of,
)
from parquet_bloom.container.conditions import PartsLeft
from parquet_bloom.container.in_commands import AsFile, InCommands
from parquet_bloom.errors import (
    ColumnError,
    FooterError,
    ParquetBloomError,
    UnsupportedError,
    ValueTypeError,
)
from parquet_bloom.filters.rates import at_least_once, never_false
from parquet_bloom.native import _kernel
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.reader import (
    OrcReader,
    footers_with_indexes,
    index_ranges,
    value_ranges,
)
from parquet_bloom.orc.stripe import FILTER_KINDS, OrcChunk
from parquet_bloom.parallel import check_fits
from parquet_bloom.vocabulary import ENCRYPTED, NO_FILTER, NULL_BY_NAME

# What diff keeps of an index group of both files, as measured.
_FILTER_BYTES = 600

if TYPE_CHECKING:
    from parquet_bloom.container import FoundIn, GroupAnswers, OneFilter, Repairs
    from parquet_bloom.container.column_filter import ColumnFilter
    from parquet_bloom.container.conditions import Condition
    from parquet_bloom.container.descriptions import (
        ChunkDescription,
        FilterBytes,
        OnBits,
        PartDescription,
    )
    from parquet_bloom.options import BuildOptions, RepairOptions, Selection
    from parquet_bloom.orc.bounds import MayHold
    from parquet_bloom.orc.build import OrcBuild, OrcRepair
    from parquet_bloom.orc.keys import AskedValues
    from parquet_bloom.orc.probe import StripeProber
    from parquet_bloom.orc.writer import OrcStrip
    from parquet_bloom.parallel import Progress
    from parquet_bloom.vocabulary import Dialect


class OrcContainer(OrcReader):
    """An open ORC file. Use as a context manager, or call close()."""

    format: Literal["orc"] = "orc"
    units: Units = STRIPES
    # Footers of ORC files are not signed, and no keys open them.
    unverified: None = None
    key_arguments: tuple[str, ...] = ()
    missing_key_arguments: tuple[str, ...] = ()
    _in_commands: InCommands | None = None

    def missing_column_keys(self, names: Collection[str] | None) -> Mapping[str, tuple[str, ...]]:
        return {}

    page_notes: tuple[str, ...] = ()
    leaves: tuple[()] = ()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.source.close()

    @property
    def in_commands(self) -> InCommands:
        return self._in_commands or AsFile(self.path)

    def stand_for(self, in_commands: InCommands) -> None:
        self._in_commands = in_commands

    def ignore_checksums(self) -> None:
        """Pages of ORC files have none."""

    def answer_to_all(self, name: str) -> AnswerToAll | None:
        """Each of its columns can be asked."""
        return AnswerToAll("absent", NULL_BY_NAME) if self.lacks(name) else None

    @property
    def fingerprint(self) -> str:
        """The same only for a file that has not changed."""
        return f"{self.source.size}:{_kernel.xxh64(self.tail.footer_raw):016x}"

    @property
    def created_by(self) -> str:
        return self.generation.created_by

    @property
    def is_encrypted(self) -> bool:
        return self.tail.is_encrypted

    @property
    def num_rows(self) -> int:
        return self.tail.num_rows

    @property
    def num_parts(self) -> int:
        return self.num_stripes

    @property
    def part_rows(self) -> Sequence[int]:
        return [place.num_rows for place in self.tail.stripes]

    @property
    def part_bytes(self) -> Sequence[int | None]:
        return [place.data_length for place in self.tail.stripes]

    @property
    def earlier_ends(self) -> tuple[int, ...]:
        # Nobody appends to ORC files: filters are in the stripes.
        return ()

    @property
    def ends_within(self) -> tuple[int, ...]:
        return ()

    def chunks_since(self, end: int) -> tuple[()]:
        return ()

    @property
    def obstacles(self) -> tuple[str, ...]:
        try:
            self.check_writable()
        except (FooterError, UnsupportedError) as error:
            return (str(error).removeprefix(f"{self.path}: "),)
        return ()

    @property
    def row_index_stride(self) -> int:
        """Rows of an index group; 0: there is no index."""
        return self.tail.row_index_stride

    @property
    def compression(self) -> str:
        """The codec of everything in the file."""
        return self.tail.compression.name

    # --------------------------------------------------------------------------------------------
    # Look-ups

    def bloom_filter(self, wanted: OneFilter) -> ColumnFilter:
        """The filter of one index group, which has to be named if the stripe has more than one."""
        from parquet_bloom.orc.describe import stored_index
        from parquet_bloom.orc.probe import StripeProber

        self._check_dialect(wanted.dialect)
        chunk = self._chunk(wanted.part, wanted.column)
        self.will_read_filters([chunk.stripe.index], [chunk.column])
        num_groups = chunk.stripe.num_index_groups
        if wanted.group is None and num_groups > 1:
            raise ColumnError(
                f"{self.path}: stripe {wanted.part}: {num_groups} index groups, expected index_group,"
                f" 0 to {num_groups - 1}"
            )
        group = wanted.group or 0
        stored = stored_index(self, chunk, group)
        return StripeProber(self, chunk, stored).column_filter(group)

    def _chunk(self, stripe: int, column: str) -> OrcChunk:
        found = self.column(column)
        return OrcChunk(self.stripe(stripe), found)

    def encode(self, column: OrcColumn, values: Sequence[object]) -> AskedValues:
        """Values to pass to probers. Raises ValueTypeError."""
        from parquet_bloom.orc.keys import asked_of

        try:
            return asked_of(column, values)
        except ValueTypeError as error:
            raise ValueTypeError(f"{self.path}: column {column.name}: {error}") from None

    def caveat(self, column: OrcColumn) -> str | None:
        """A column of ORC has all its values."""
        return None

    def check_answers(
        self, parts: Sequence[int] | None = None, dialect: Dialect | None = None
    ) -> None:
        """Raise FooterError if rows are missing and none of these stripes, or of all, could answer;
        ColumnError, UnsupportedError for a dialect."""
        self._check_dialect(dialect)
        wanted = self.select_parts(parts)
        if not any(self.tail.stripes[index].num_rows for index in wanted):
            self.check_row_counts()

    def check_row_counts(self) -> None:
        if self.doubt_about_rows:
            raise FooterError(f"{self.path}: {self.doubt_about_rows}")

    def num_groups(self, part: int) -> int:
        """The index groups of a stripe. Raises FooterError for a damaged stripe footer."""
        return self.stripe(part).num_index_groups

    def prober(
        self, column: OrcColumn, part: int, dialect: Dialect | None = None, seed: int | None = None
    ) -> StripeProber:
        """Of one stripe; answers `unknown` if stripes may be missing from the footer. dialect, seed: of
        filters in Parquet files. Raises FooterError for a damaged stripe footer."""
        from parquet_bloom.orc.probe import StripeProber

        return StripeProber(self, OrcChunk(self.stripe(part), column))

    def _check_dialect(self, dialect: Dialect | None) -> None:
        if dialect is not None:
            raise UnsupportedError(f"{self.path}: dialect is not supported for ORC files")

    def parts_left(
        self, condition: Condition, parts: Sequence[int], by_filters: bool = True
    ) -> PartsLeft:
        """Those of these stripes that statistics and filters of index groups do not exclude."""
        from parquet_bloom.orc.bounds import may_hold, may_hold_several
        from parquet_bloom.orc.probe import askable

        column = self.column(condition.column)
        if self.doubt_about_rows:
            return PartsLeft(parts, parts)
        holds = may_hold(self.generation, column, condition)
        asked = None
        if (values := askable(column, condition)) is not None:
            with suppress(ValueTypeError):
                asked = self.encode(column, values)
        if holds is None and asked is None:
            return PartsLeft(parts, parts, is_decidable=False)
        asks_filters = by_filters and asked is not None
        self._will_read_indexes(parts, [column], FILTER_KINDS if asks_filters else ())
        some = [part for part in parts if self.tail.stripes[part].num_rows]
        groups = {part: self._within(column, part, holds) for part in some}
        within = [part for part in some if any(groups[part])]
        if asked is None or not by_filters:
            return PartsLeft(within, within)
        answers = {part: self._answers(column, part, groups[part], asked) for part in within}
        left = [
            part
            for part in within
            if self._are_left(column, part, groups[part], answers[part], asked)
        ]
        # What statistics that do not count as bounds show to be null, no filter excludes.
        asked_of = {part for part in within if any(each.was_asked for each in answers[part])}
        within = [part for part in within if part in asked_of or part in left]
        rates = [[answer.fpp for answer in each] for each in answers.values()]
        by_chance = [
            at_least_once(sum(never_false(fpp, len(asked)) for fpp in each if fpp is not None))
            for each in rates
            if None not in each
        ]
        lacking = [part for part in left if not OrcChunk(self.stripe(part), column).has_filters]
        several = may_hold_several(self.generation, column)
        without_filter = [
            part
            for part in lacking
            if any(compress(self._within(column, part, several), groups[part]))
        ]
        return PartsLeft(within, left, by_chance, without_filter)

    def _answers(
        self, column: OrcColumn, part: int, within: Sequence[bool], asked: AskedValues
    ) -> list[GroupAnswers]:
        """Those of the index groups of a stripe that are `within` bounds."""
        answers = self.prober(column, part).answers(asked)
        return [answer for is_within, answer in zip(within, answers, strict=True) if is_within]

    def _are_left(
        self,
        column: OrcColumn,
        part: int,
        within: Sequence[bool],
        answers: Sequence[GroupAnswers],
        asked: AskedValues,
    ) -> bool:
        """Whether any of the index groups that are `within` bounds may have one of the values that are."""
        some: dict[int, Sequence[int]] = {}
        for number, answer in zip(compress(range(len(within)), within), answers, strict=True):
            values = answer.not_absent
            if len(values) == len(asked):
                return True
            if len(values):
                some[number] = values
        return bool(some and self.groups_within_bounds(column, part, asked, some))

    def _within(self, column: OrcColumn, part: int, holds: MayHold | None) -> list[bool]:
        """Of each index group of a stripe, whether its statistics do not exclude it."""
        with suppress(ParquetBloomError):
            if holds is not None and (entries := self.row_index(part, column)) is not None:
                return [holds(entry.statistics) for entry in entries]
        return [True] * self.num_groups(part)

    def within_bounds(
        self, column: OrcColumn, parts: Sequence[int], asked: AskedValues
    ) -> dict[int, Collection[int] | None]:
        """Those of these stripes, and of their index groups, that statistics do not exclude."""
        from parquet_bloom.orc.bounds import may_hold_any

        self._will_read_indexes(parts, [column], FILTER_KINDS)
        holds = may_hold_any(self.generation, column, asked)
        left: dict[int, Collection[int] | None] = {}
        for part in parts:
            within = self._within(column, part, holds)
            if all(within):
                left[part] = None
            elif any(within):
                left[part] = [group for group, is_within in enumerate(within) if is_within]
        return left

    def groups_within_bounds(
        self, column: OrcColumn, part: int, asked: AskedValues, values: Mapping[int, Sequence[int]]
    ) -> Collection[int]:
        """See Askable."""
        from parquet_bloom.orc.bounds import may_hold_any

        entries = None
        with suppress(ParquetBloomError):
            entries = self.row_index(part, column)
        if entries is None:
            return values.keys()
        tests = {
            group: may_hold_any(self.generation, column, asked.at(each))
            for group, each in values.items()
        }
        return [at for at, holds in tests.items() if not holds or holds(entries[at].statistics)]

    def not_sought(self, asked: AskedValues) -> Mapping[int, str]:
        return asked.not_sought

    def find_rows(
        self, column: OrcColumn, places: Mapping[int, Collection[int] | None], asked: AskedValues
    ) -> Iterator[FoundIn]:
        """The rows that hold one of the values."""
        from parquet_bloom.orc.rows import find_rows

        return find_rows(self, column, places, asked)

    def will_read_rows(
        self, columns: Sequence[str], parts: Collection[int], column: OrcColumn | None = None
    ) -> None:
        """Where they are, the footers of stripes say, which are read anyway."""

    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any:
        from parquet_bloom.orc.row_reader import read_rows

        return read_rows(self, columns, rows)

    def has_encrypted(self, names: Iterable[str]) -> bool:
        """Nobody reads the encrypted columns of ORC files."""
        return False

    @property
    def has_views(self) -> bool:
        """There is no schema of Arrow in ORC files."""
        return False

    def end_as_called(self) -> NoReturn:
        """Raise UnsupportedError: readers of ORC files are given no other footers."""
        raise UnsupportedError(f"{self.path}: ORC, whose columns get no other names")

    # --------------------------------------------------------------------------------------------
    # Descriptions

    def check_has_blocks(self, what: str) -> None:
        """Raise UnsupportedError: filters of ORC files have no blocks."""
        raise UnsupportedError(
            f"{self.path}: {what} is not supported for ORC files, whose filters have no blocks"
        )

    def check_has_groups(self) -> None:
        """Stripes have index groups."""

    def describe_part(self, part: int) -> PartDescription:
        """A stripe, without its columns."""
        from parquet_bloom.container.descriptions import PartDescription

        stripe = self.stripe(part)
        return PartDescription(
            Place(part, units=STRIPES),
            stripe.num_rows,
            offset=stripe.place.offset,
            num_groups=stripe.num_index_groups,
            writer_timezone=stripe.writer_timezone,
        )

    def describe_chunks(
        self,
        part: int,
        columns: Sequence[OrcColumn],
        groups: bool = False,
        on_bits: OnBits | None = None,
    ) -> Iterator[ChunkDescription]:
        """The chunks of `columns` in one stripe and their filters, or why one has none. `groups`:
        each index group, too; `on_bits` is called with what returns each filter of a chunk before it comes."""
        from parquet_bloom.orc.describe import describe

        return (describe(self, chunk, groups, on_bits) for chunk in self.chunks(part, columns))

    def describe_footer(
        self, columns: Sequence[OrcColumn] | None = None, parts: Sequence[int] | None = None
    ) -> NoReturn:
        """Raise UnsupportedError: most ORC footers are compressed, and none is Thrift."""
        raise UnsupportedError(
            f"{self.path}: the footer of an ORC file is not Thrift: `pbloom inspect --index-groups` shows"
            " what it says"
        )

    def stored_filter(
        self,
        column: str,
        part: int,
        group: int | None = None,
        dialect: Dialect | None = None,
        seed: int | None = None,
        decrypt: bool = False,
        unparsed: bool = False,
    ) -> FilterBytes:
        """The bytes of one filter; of the first index group if `group` is None.

        Raises ColumnError, FilterError if there is no usable filter, FooterError, UnsupportedError
        for a dialect.
        """
        self._check_dialect(dialect)
        if unparsed:
            raise UnsupportedError(f"{self.path}: unparsed is not supported for ORC files")
        from parquet_bloom.orc.describe import stored_filter

        chunk = self._chunk(part, column)
        self.will_read_filters([part], [chunk.column])
        return stored_filter(self, chunk, group or 0)

    def will_read_filters(
        self,
        parts: Sequence[int] | None,
        columns: Sequence[OrcColumn],
        num_values: int | None = None,
    ) -> None:
        """Fetch the filter streams and row indexes ahead, if the file is remote, for any number of
        values: each filter lies in the midst of a compressed stream."""
        wanted = range(self.num_stripes) if parts is None else parts
        self._will_read_indexes(wanted, columns, FILTER_KINDS)

    def _will_read_indexes(
        self, wanted: Sequence[int], columns: Sequence[OrcColumn], kinds: Sequence[int]
    ) -> None:
        """The same of row indexes, and of filters of these kinds."""
        if not self.source.is_remote:
            return
        if any(part not in self._stripes for part in wanted):
            places = [self.tail.stripes[part] for part in wanted]
            if (both := footers_with_indexes(places)) is not None:
                self.source.will_read(both)
                return
        self.will_read_stripes(wanted)
        self.source.will_read(index_ranges(self, wanted, columns, kinds))

    def will_read_values(self, chunks: Sequence[OrcChunk]) -> None:
        """Fetch their streams ahead, if the file is remote."""
        self.source.will_read(value_ranges(chunks))

    def room_for_filters(self, part: int, column: OrcColumn) -> int:
        """Twice the streams: stored, and as filters, since bits hardly shrink."""
        streams = self.stripe(part).streams_of(column.id, FILTER_KINDS)
        return 2 * sum(stream.length for stream in streams)

    def read_filters(self, part: int, column: OrcColumn) -> Sequence[ReadFilter] | NoFilters:
        """The filters of a chunk, by index group."""
        from parquet_bloom.orc.describe import read_filter

        num_index_groups = self.stripe(part).num_index_groups
        groups = number_of(num_index_groups, "index group")
        check_fits(f"{self.path}: the filters of {groups} take", _FILTER_BYTES * num_index_groups)
        if self.tail.is_encrypted_column(column):
            # Whether it has filters is encrypted, too.
            return NoFilters(ENCRYPTED, num_index_groups)
        try:
            stored = self.filters(part, column)
        except ParquetBloomError as error:
            return NoFilters(str(error).removeprefix(f"{self.path}: "), num_index_groups)
        if stored is None:
            return NoFilters(NO_FILTER)
        chunk = OrcChunk(self.stripe(part), column)
        return tuple(read_filter(chunk, stored, filter) for filter in stored.filters)

    def private_filters(self, columns: Sequence[OrcColumn]) -> Mapping[str, int]:
        """ORC files have no legacy filters."""
        return {}

    # --------------------------------------------------------------------------------------------
    # Changes

    def build(self, options: BuildOptions, progress: Progress | None = None) -> OrcBuild:
        """See container.Container.build."""
        from parquet_bloom.orc.build import OrcBuild

        return OrcBuild(self, options, progress)

    def repair(
        self, repairs: Repairs, options: RepairOptions, progress: Progress | None = None
    ) -> OrcRepair:
        """See container.Container.repair."""
        from parquet_bloom.orc.build import OrcRepair

        return OrcRepair(self, repairs, options)

    def strip(self, selection: Selection) -> OrcStrip:
        """See container.Container.strip."""
        from parquet_bloom.orc.writer import OrcStrip

        return OrcStrip(self, selection)
