"""Files that are searched together: those with the same columns are one table.

Many writers put one row group into each file, and only with the others in view can it be told what
a filter there saves. A file is read once, column by column; all that is kept of its values is in the
sketch of its table (see sketch).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from hashlib import sha256
from typing import Any, NamedTuple, Self, TypeAlias

from parquet_bloom.advice import ndv
from parquet_bloom.advice.budget import SHOWN_RATES, Offer, each_offer, highest_rate, may_stay
from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.rate import recommended_rate
from parquet_bloom.advice.samples import GivenSample, Sample, StoredSample
from parquet_bloom.advice.sketch import (
    ColumnCounts,
    ColumnSketch,
    Obstacle,
    TableSketch,
    UnreadFiles,
    limit_for,
)
from parquet_bloom.advice.survey import AnySurveyor, bytes_elsewhere, survey_columns
from parquet_bloom.advice.verdict import (
    DICTIONARY,
    MIN_MAX,
    Evidence,
    asks_after_dictionaries,
    judge,
)
from parquet_bloom.container import UNITS
from parquet_bloom.container.protocols import Column, Container
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import EngineUse, without_filters
from parquet_bloom.errors import ColumnError, ValueTypeError
from parquet_bloom.options import AdviseOptions
from parquet_bloom.parallel import Progress
from parquet_bloom.storage.traffic import Requests
from parquet_bloom.vocabulary import AdviceBasis, AdviceVerdict, Format


class AtRate(NamedTuple):
    """The size of all filters at a rate, how many groups have none yet and would get one, and the size of
    these alone."""

    filter_bytes: int
    missing: int
    missing_bytes: int


@dataclass(frozen=True, slots=True)
class SurveyedColumn:
    """One column: `ndv` and `ndv_error` as ColumnSketch.ndv; `at`: all its filters, by their rate. With
    a `reason` why it cannot have a filter, only `counts` is known, from the footer."""

    counts: ColumnCounts
    reason: str
    ndv: int = 0
    ndv_error: float | None = None
    at: Mapping[float, AtRate] = field(default_factory=dict)

    @classmethod
    def of(cls, counts: ColumnCounts, sketch: ColumnSketch) -> Self:
        """`counts` are those that the sketch has, or a copy."""
        at = {
            each.rate: AtRate(each.filter_bytes, each.missing, each.missing_bytes)
            for each in sketch.rungs.values()
        }
        return cls(counts, "", *sketch.ndv, at)


@dataclass(frozen=True, slots=True)
class SurveyedFile:
    """One file, or all files of a table; `size` in bytes, `columns` as the table has them; `obstacles`:
    what `build` would refuse; `requests`: sent to object stores to survey it, None where nobody counts them."""

    path: str
    num_rows: int
    num_groups: int
    size: int
    columns: tuple[SurveyedColumn, ...]
    obstacles: tuple[str, ...]
    requests: Requests | None


@dataclass(frozen=True, slots=True)
class JudgedColumn:
    """The verdict on a column in all files of a table, and the evidence for it. `fpp`: the rate to build at;
    `offers`: what it and others would cost and save, if that is asked for; `stay`: some groups have filters already,
    which `build` keeps, and others have none."""

    evidence: Evidence
    basis: AdviceBasis
    verdict: AdviceVerdict
    reason: str
    fpp: float
    offers: tuple[Offer, ...]
    stay: bool

    @property
    def reads(self) -> ExpectedReads | None:
        return self.evidence.reads

    def at(self, offer: Offer) -> Self:
        """The same at a rate that a budget has chosen."""
        evidence = replace(self.evidence, built=offer, is_budgeted=True)
        verdict, reason = judge(evidence)
        offers = self.offers
        if offers and offer.rate not in {each.rate for each in offers}:
            offers = tuple(sorted((*offers, offer), key=lambda each: -each.rate))
        return replace(
            self, evidence=evidence, verdict=verdict, reason=reason, fpp=offer.rate, offers=offers
        )

    def left_out(self) -> Self:
        """The same where a budget has no room for its filters."""
        return replace(self, verdict="left out")


# ------------------------------------------------------------------------------------------------
# From files to the sketch of a table


# The name of a column, and all that look-ups go by: its type, and whether it is a member of a struct, and in a list.
ColumnShape: TypeAlias = tuple[str, tuple[object, bool, bool]]


def shapes_of(
    columns: Iterable[Column], called: Mapping[str, str] | None = None
) -> list[ColumnShape]:
    """Engines may ask the filters of a column and not those of a member of a struct whose dotted path is the same;
    tables have names of their own for paths, which do not tell the two apart. `called`: their names there, by what
    the file calls them, None for the same."""
    return [
        (
            each.name if called is None else called[each.name],
            (each.searched_type, each.is_member, each.is_in_list),
        )
        for each in columns
    ]


def table_key(
    file: Container, columns: Iterable[Column], called: Mapping[str, str] | None = None
) -> str:
    """The same for files whose sketches are merged: those of a format whose `columns` have the same shapes, in this
    order. `called`: see shapes_of."""
    named = repr((file.format, shapes_of(columns, called)))
    return sha256(named.encode(errors="surrogateescape")).hexdigest()[:32]


def survey_file(
    surveyor: AnySurveyor,
    columns: Sequence[Any],
    options: AdviseOptions,
    table: TableSketch | None,
    progress: Progress | None,
) -> tuple[SurveyedFile, TableSketch]:
    """Read a file, whose `columns` are those of the table: what is in it, and its sketch, to be merged
    into `table`, which may be None for the first file.

    Raises ColumnError and ValueTypeError for values to look up, FormatError for damage.
    """
    file, of_file = surveyor.file, []
    new_sample = _samples(surveyor, columns, options, table)
    limit = limit_for(ndv.LIMIT, len(columns))
    samples = [new_sample(place) for place in range(len(columns))]
    sketches, unread = [], []
    surveys = survey_columns(surveyor, columns, samples, options.threads, progress)
    for place, (sketch, reason) in enumerate(surveys):
        # Counts are copied: those of the sketch become those of the table.
        if reason:
            of_file.append(SurveyedColumn(replace(sketch.counts), reason))
            unread.append(UnreadFiles(1, file.path, reason, surveyor.num_groups, sketch.counts))
            sketch = ColumnSketch(new_sample(place), len(columns))
        else:
            of_file.append(SurveyedColumn.of(replace(sketch.counts), sketch))
            unread.append(UnreadFiles())
        sketch.pack(limit)
        sketches.append(sketch)
    surveyed = SurveyedFile(
        path=file.path,
        num_rows=surveyor.num_rows,
        num_groups=surveyor.num_groups,
        size=file.source.size,
        columns=tuple(of_file),
        obstacles=file.obstacles,
        requests=file.source.requests,
    )
    return surveyed, TableSketch(
        key=table_key(file, columns),
        format=file.format,
        path=file.path,
        subjects=tuple(map(surveyor.subject, columns)),
        columns=sketches,
        unread=unread,
        elsewhere={} if options.budget is None else bytes_elsewhere(surveyor, columns),
        largest=surveyor.largest_filter,
        files=1,
        num_rows=surveyed.num_rows,
        num_groups=surveyed.num_groups,
        size=surveyed.size,
        obstacles=tuple(
            Obstacle(file.path, number, text) for number, text in enumerate(file.obstacles)
        ),
        requests=surveyed.requests,
    )


def _samples(
    surveyor: AnySurveyor,
    columns: Sequence[Any],
    options: AdviseOptions,
    table: TableSketch | None,
) -> Callable[[int], Sample]:
    """What makes an empty sample for the column at a place."""
    if table is not None:
        of_table = [column.sample for column in table.columns]
        return lambda place: of_table[place].for_next_file()
    given = _given_samples(surveyor, columns, options.value_sample or {})
    drawn = limit_for(surveyor.num_drawn, len(columns))

    def new_sample(place: int) -> Sample:
        if place in given:
            return given[place].for_next_file()
        return StoredSample(surveyor.is_ordered(columns[place]), drawn)

    return new_sample


def _given_samples(
    surveyor: AnySurveyor, columns: Sequence[Any], value_sample: Mapping[str, Sequence[object]]
) -> dict[int, GivenSample]:
    """The values to look up, by the position of their column in `columns`.

    Raises ColumnError, ValueTypeError.
    """
    file = surveyor.file
    given: dict[int, GivenSample] = {}
    for name, asked in value_sample.items():
        if file.lacks(name):
            continue
        where = f"{file.path}: value sample: column {name}"
        try:
            found = file.select([name])
        except ColumnError as error:
            reason = str(error).removeprefix(f"{file.path}: ")
            raise ColumnError(f"{file.path}: value sample: {reason}") from None
        if len(found) != 1:
            raise ColumnError(f"{where} stands for {len(found)} columns, expected one")
        (column,) = found
        if column not in columns:
            raise ColumnError(f"{where} is not one of the columns to judge")
        if not len(asked):
            raise ColumnError(f"{where}: no values, expected at least one")
        # By their types, too: 1, 1.0 and True are equal.
        times = Counter((type(value), value) for value in asked)
        try:
            values = [surveyor.given(column, value) for _, value in times]
        except ValueTypeError as error:
            raise ValueTypeError(f"{where}: {error}") from None
        given[columns.index(column)] = GivenSample(values, list(times.values()))
    return given


# ------------------------------------------------------------------------------------------------
# From the sketch to verdicts


def whole_table(table: TableSketch) -> SurveyedFile:
    """All files as one."""
    more = table.files - 1
    return SurveyedFile(
        path=f"{table.path} and {more:,} more" if more else table.path,
        num_rows=table.num_rows,
        num_groups=table.num_groups,
        size=table.size,
        columns=tuple(_surveyed(table, place) for place in range(len(table.columns))),
        obstacles=tuple(obstacle.text for obstacle in table.obstacles),
        requests=table.requests,
    )


def _surveyed(table: TableSketch, place: int) -> SurveyedColumn:
    if reason := table.reason(place):
        return SurveyedColumn(table.counts(place), reason)
    return SurveyedColumn.of(table.counts(place), table.columns[place])


def judge_table(table: TableSketch, options: AdviseOptions) -> list[JudgedColumn]:
    """The verdict on each column in all files. `options`: those that the sketch was made with."""
    return [_judged(table, place, options) for place in range(len(table.columns))]


def _judged(table: TableSketch, place: int, options: AdviseOptions) -> JudgedColumn:
    column, subject, sketch = _surveyed(table, place), table.subjects[place], table.columns[place]
    reads, unit, before = sketch.expected_reads(), UNITS[table.format].group, MIN_MAX
    # Of a column whose filters nobody uses, it is no matter who is asked about.
    engines = options.engines if any(use.uses for use in subject.engines) else ()
    users = tuple(
        use.engine for use in subject.engines if use.uses and (not engines or use.engine in engines)
    )
    if reads and engines and asks_after_dictionaries(column.counts, reads, users):
        reads, before = reads.after_dictionaries(), DICTIONARY
    target = fpp = options.target_for(subject.name)
    offers = tuple(each_offer(sketch, reads)) if reads else ()
    if reads and options.fpp is None and users:
        fpp = recommended_rate(offers, column.counts, reads, fpp, subject.max_bytes, unit)
    stay = may_stay(options, column.counts) and 0 < column.counts.with_filter < column.counts.groups
    if reads and stay:
        offers = tuple(each_offer(sketch, reads, stay=True))
    ignoring = without_filters(engines, table.format)
    why = {use.engine: use.reason for use in subject.engines}
    # What new filters of the target cost and save is known better than by an offer.
    is_counted = fpp == target and not stay
    chosen = None if is_counted else next((each for each in offers if each.rate == fpp), None)
    evidence = Evidence(
        unread=table.unread[place],
        counts=column.counts,
        ndv=column.ndv,
        limit=table.largest[1],
        users=users,
        engines=engines,
        ignoring=_with_reasons(ignoring, why),
        not_by=_with_reasons([name for name in engines if name not in users], why),
        not_for=_not_for(subject.engines, engines, table.format),
        seldom_asked=subject.seldom_asked,
        is_measured=sketch.is_measured,
        reads=reads,
        before=before,
        unit=unit,
        are_packed=UNITS[table.format].has_groups,
        target=target,
        reachable=min((each.rate for each in offers if each.fpp <= each.rate), default=None),
        built=chosen,
        highest_rate=highest_rate(options, subject.name),
        accepted_rate=options.accepted_rate(subject.name),
        is_required=subject.name in options.required,
        asked_rate=options.fpp,
        are_kept=may_stay(options, column.counts)
        and not column.counts.unreadable
        and column.counts.with_filter == column.counts.groups,
        worse_there={rung.rate: rung.worse_there for rung in sketch.rungs.values()},
    )
    verdict, reason = judge(evidence)
    basis: AdviceBasis = "value sample" if sketch.is_measured else "stored values"
    shown = tuple(offer for offer in offers if offer.rate in (target, *SHOWN_RATES))
    return JudgedColumn(evidence, basis, verdict, reason, fpp, shown * options.rates, stay)


def _with_reasons(names: Iterable[str], why: Mapping[str, str]) -> tuple[str, ...]:
    """`Polars (it ignores filters)`"""
    return tuple(f"{name} ({why[name]})" if why.get(name) else name for name in names)


def _not_for(uses: Sequence[EngineUse], asked: Sequence[str], format: Format) -> tuple[str, ...]:
    """Why engines do not use filters of such a column, but for those that use none at all."""
    names = tuple(use.engine for use in uses if not asked or use.engine in asked)
    ignoring = without_filters(names, format)
    reasons = (
        use.reason.partition("; ")[0]
        for use in uses
        if use.engine in names and use.engine not in ignoring and not use.uses
    )
    return tuple(dict.fromkeys(filter(None, reasons)))
