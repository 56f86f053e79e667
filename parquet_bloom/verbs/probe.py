"""Ask the filters of a file about values: which groups of rows remain to be read?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from copy import copy
from dataclasses import asdict, field, replace
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, overload

from parquet_bloom.arguments import SomeNumbers
from parquet_bloom.container import (
    AS_TEXT,
    UNITS,
    WHERE_KNOWN,
    Answer,
    Explanation,
    GroupAnswers,
    number_of,
    record,
)
from parquet_bloom.container.protocols import answers_to_all
from parquet_bloom.container.room import (
    IN_DOCUMENT,
    OF_ANSWERS,
    OF_EXPLANATION,
    OF_PICK,
    TO_PROBE,
    check_groups_room,
    check_room,
)
from parquet_bloom.container.shown_names import NamedAsShown, key_of, units_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.filters.look_up import LookUp
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.options import ProbeOptions, values_given
from parquet_bloom.parallel import check_fits, read_once, work_in_order
from parquet_bloom.threads import threads_to_read
from parquet_bloom.values.given import python_values, show_values
from parquet_bloom.verbs.documents import VerbReport
from parquet_bloom.verbs.several import read_each, reads_several
from parquet_bloom.vocabulary import NULL_BY_NAME

if TYPE_CHECKING:
    from parquet_bloom.container import AnswerToAll, Picks, Place
    from parquet_bloom.container.protocols import Askable
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableView
    from parquet_bloom.storage.cache import Cache
    from parquet_bloom.storage.traffic import Requests
    from parquet_bloom.vocabulary import Dialect, Format, TableChoice, Verdict

# What each group of a part answers, and what led to it if that was asked for.
_Answered: TypeAlias = "tuple[Sequence[GroupAnswers], Sequence[tuple[Explanation, ...]]]"


@record
class ProbedValue(NamedAsShown):
    """The verdict on one value in a file: `absent` only if it is absent in every group. `value`: as
    Python has it, the text of a literal."""

    value: Any = field(metadata=AS_TEXT)
    verdict: Verdict
    groups: tuple[Answer, ...]
    rows_to_read: int

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(group.verdict for group in self.groups)


class ProbedValues(Sequence[ProbedValue]):
    """The verdicts on all values, in the order in which they were asked.

    Many values have more verdicts than it takes time to find them: until one is read, they are
    arrays, as `to_read` gives them.
    """

    def __init__(
        self, values: Sequence[Any] | NDArray[Any], groups: Sequence[GroupAnswers]
    ) -> None:
        # Whoever asked may change an array afterwards.
        self._values = copy(values)
        self._groups = groups

    def __len__(self) -> int:
        return len(self._values)

    @overload
    def __getitem__(self, index: int) -> ProbedValue: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[ProbedValue, ...]: ...
    def __getitem__(self, index: int | slice) -> ProbedValue | tuple[ProbedValue, ...]:
        return self._all[index]

    def __iter__(self) -> Iterator[ProbedValue]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        return self._all == (other._all if isinstance(other, ProbedValues) else other)

    def __hash__(self) -> int:
        return hash(self._all)

    def __repr__(self) -> str:
        return f"<ProbedValues: {self.counts}>"

    @property
    def num_groups(self) -> int:
        return len(self._groups)

    @property
    def counts(self) -> str:
        """`1 absent, 2,000 maybe`"""
        verdicts = Counter(each.verdict for each in self)
        told = ", ".join(f"{count:,} {verdict}" for verdict, count in sorted(verdicts.items()))
        return told or "no values"

    @read_once
    def is_absent(self) -> bool:
        """Whether no value can be in the file."""
        return all(group.are_absent for group in self._groups)

    @property
    def groups(self) -> Sequence[GroupAnswers]:
        """What each group answers."""
        return self._groups

    @property
    def left(self) -> list[Answer]:
        """The groups that may have any of the values, in order."""
        given = [
            [each for each in group.given if each.verdict != "absent"] for group in self._groups
        ]
        return sorted((answers[0] for answers in given if answers), key=lambda each: each.place)

    def those_at(self, positions: NDArray[np.intp]) -> ProbedValues:
        """Some of the values."""
        groups = [
            group._replace(picks=np.asarray(group.picks)[positions]) for group in self._groups
        ]
        return ProbedValues([self._values[at] for at in positions.tolist()], groups)

    @property
    def alike(self) -> NDArray[np.bool_]:
        """Which values need not be told of one by one: those that are absent or, if these are more, those that are
        unknown and get the same answers, as all do where there is no filter. Shape (values,), dtype bool."""
        are_unknown = np.asarray(self.to_read.any(axis=1))
        are_absent = ~are_unknown
        are_unknown[self.maybe] = False
        if are_unknown.sum() <= are_absent.sum():
            return are_absent
        alike = are_unknown.copy()
        for group in self._groups:
            picks = np.asarray(group.picks)
            alike &= picks == np.bincount(picks[are_unknown]).argmax()
        return alike if alike.sum() > are_absent.sum() else are_absent

    @property
    def doubts(self) -> dict[tuple[Verdict, str], list[Place]]:
        """Where verdicts are `unknown`, or `maybe` although a filter has not got the value, by the reason."""
        places: dict[tuple[Verdict, str], list[Place]] = {}
        for group in self._groups:
            for answer in group.given:
                if answer.reason and answer.verdict != "absent":
                    doubt = answer.verdict, answer.reason
                    places.setdefault(doubt, []).append(answer.place)
        return places

    @property
    def full(self) -> list[Place]:
        """Where filters seem to be full."""
        return [group.distinct[0].place for group in self._groups if group.seems_full]

    @property
    def maybe(self) -> Sequence[int]:
        """The positions of the values that are `maybe`."""
        return self._with("maybe")

    @property
    def unknown(self) -> Sequence[int]:
        """The positions of those that are `unknown`: `maybe` in none of the groups, and not absent in all."""
        maybe = {*self.maybe}
        return [at for at in self._with("unknown") if at not in maybe]

    def _with(self, verdict: Verdict) -> list[int]:
        """The positions of the values with this verdict in any group."""
        if not any(hasattr(group.picks, "tolist") for group in self._groups):
            return [number for number, each in enumerate(self) if verdict in each.verdicts]
        found = np.zeros(len(self), np.bool_)
        for distinct, picks, *_ in self._groups:
            found |= np.array([each.verdict == verdict for each in distinct])[np.asarray(picks)]
        at: list[int] = np.flatnonzero(found).tolist()
        return at

    @property
    def texts(self) -> list[str]:
        """The values, as reports show them."""
        return show_values(self._values)

    def texts_of(self, positions: Sequence[int]) -> list[str]:
        """Some of the values, as reports show them."""
        return show_values([self._values[position] for position in positions])

    @property
    def num_rows(self) -> int:
        """Of the groups that were asked."""
        return sum([group.distinct[0].num_rows for group in self._groups])

    @property
    def to_read(self) -> NDArray[np.bool_]:
        """Whether each group remains to be read for each value: shape (values, groups)."""
        to_read = np.zeros((len(self), len(self._groups)), np.bool_)
        for number, (distinct, picks, *_) in enumerate(self._groups):
            is_to_read = np.array([each.verdict != "absent" for each in distinct])
            to_read[:, number] = is_to_read[np.asarray(picks)]
        return to_read

    @read_once
    def _all(self) -> tuple[ProbedValue, ...]:
        return tuple(_probed(python_values(self._values), self._groups))


@dataclass(frozen=True, slots=True, repr=False)
class ProbeReport(VerbReport):
    """The verdicts on all values in one file, and the bytes read for them. `unverified`: why the
    footer of an encrypted file may have been replaced, None if it cannot have been. `explanations`:
    value by value, None if not asked for. `caveat`: what the verdicts are not about, although it may
    seem so, None mostly."""

    _rows: ClassVar = ("results", "groups")
    _item: ClassVar = ProbedValue

    path: str
    format: Format
    column: str
    results: ProbedValues
    bytes_read: int
    unverified: str | None = None
    caveat: str | None = field(default=None, metadata=WHERE_KNOWN)
    explanations: tuple[Explanation, ...] | None = field(default=None, metadata=WHERE_KNOWN)
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    def __repr__(self) -> str:
        found = f"{self.column}: {self.results.counts}; {self.bytes_read:,} bytes read"
        if self.explanations is not None:
            found += f"; {number_of(len(self.explanations), 'explanation')}"
        return f"<ProbeReport {self.path}: {found}>"

    def to_arrow(self) -> Any:
        """A row for each value in each group, see VerbReport.to_arrow."""
        groups = self.results.groups
        if not groups or not len(self.results):
            return VerbReport.to_arrow(self)
        from parquet_bloom.verbs.arrow_table import with_texts

        # Each row is one of the few answers that there are in a group.
        distinct = tuple(answer for group in groups for answer in group.distinct)
        all_distinct: Any = (ProbedValue("", "unknown", distinct, 0),)
        first, picks = 0, np.empty((len(self.results), len(groups)), np.int64)
        for number, group in enumerate(groups):
            picks[:, number] = first + np.asarray(group.picks)
            first += len(group.distinct)
        of_distinct = VerbReport.to_arrow(replace(self, results=all_distinct))
        return with_texts(of_distinct.take(picks.ravel()), "value", self.results.texts, len(groups))

    def _items(self) -> Iterator[dict[str, Any]]:
        # A row is about a group: its own rows, which may be added up.
        for row in VerbReport._items(self):
            yield row | {"rows_to_read": 0 if row["verdict"] == "absent" else row["num_rows"]}

    def _as_row(self) -> dict[str, Any]:
        row = VerbReport._as_row(self)
        row["is_absent"] = self.is_absent
        for name in ("num_groups", "num_groups_to_read"):
            row[key_of(name, units_of(self))] = getattr(self, name)
        return row

    @staticmethod
    def _in_total(reports: Sequence[ProbeReport]) -> str:
        """`998 absent; 3 of 5,000 row groups to read, 4,997 excluded; 81,000 bytes read`"""
        groups = [group.are_absent for report in reports for group in report.results.groups]
        nouns = {UNITS[report.format].group for report in reports}
        (noun,) = nouns if len(nouns) == 1 else ("group",)
        absent = sum(report.is_absent for report in reports)
        bytes_read = sum(report.bytes_read for report in reports)
        excluded = sum(groups)
        left = f"{len(groups) - excluded:,} of {number_of(len(groups), noun)} to read"
        return f"{absent:,} absent; {left}, {excluded:,} excluded; {bytes_read:,} bytes read"

    def _check_document(self) -> None:
        # In which every answer about every value is written out.
        answers = len(self.results) * self.results.num_groups
        check_fits(f"{self.path}: {number_of(answers, 'answer')} take", answers * IN_DOCUMENT)

    @property
    def is_absent(self) -> bool:
        """Whether no value can be in the file."""
        return self.results.is_absent

    @property
    def num_groups(self) -> int:
        """How many row groups were asked, or index groups of an ORC file."""
        return self.results.num_groups

    @property
    def num_groups_to_read(self) -> int:
        """How many of these may have any of the values."""
        return sum(not group.are_absent for group in self.results.groups)

    @property
    def to_read(self) -> NDArray[np.bool_]:
        """Whether each row group, or index group of an ORC file, remains to be read for each value:
        shape (values, groups), dtype bool. For many values, far quicker than their results."""
        return self.results.to_read


@reads_several
def probe(
    path: Any,
    column: str,
    values: Any,
    *,
    row_groups: SomeNumbers | None = None,
    dialect: Dialect | None = None,
    seed: int | None = None,
    table: TableChoice | TableView | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
    cache: Cache | None = None,
    union_by_name: bool = False,
    explain: bool = False,
    threads: int | None = None,
) -> ProbeReport:
    """The verdicts on values of `column` (a dotted path) in a file.

    A list of paths, a folder, a glob, and a URL that ends with / stand for several files: then this returns a
    FilesReport, with the report on each, and the errors of files that failed. Value by value, see probe_values.

    values: one value of the column's type, or a list, numpy or pyarrow array, or pandas or polars
    Series of values: Python's, numpy's, pandas' or pyarrow's, or `pb.literal`, text that is read as on
    the command line. Text and bytes are one value; timestamps without a zone are in UTC for a column in UTC.

    Reads the footer, and of each filter the header and the one block that the hash selects, or all of
    it for many values; in an ORC file, all filters of the column.

    row_groups: ask only these, which are the stripes of an ORC file; the verdicts are about them.
    dialect: ask the filters of this dialect; by default, those that bloom_filter_offset leads to, of any
    dialect, and private legacy ones where it is missing. seed: of the hash of `murmur3` filters, if the
    file does not say. union_by_name: several files are those of one schema, and one that has no such column, in upper
    or lower case, has null there, if any of them has it. explain: give the hash and bits of every form that a value
    may be stored in. cache: a pb.Cache, for those who ask the same files in an object store again.
    All others as for inspect.

    Raises ColumnError, ValueTypeError for what cannot be a value of the column, TypeError for a
    table, FormatError, UnsupportedError, EncryptionError if a key is wrong, OSError.
    """
    options = ProbeOptions.of(locals(), values=kept_values(values))
    report: ProbeReport = read_each(
        path,
        options,
        probe_file,
        table=table,
        keys=keys,
        storage_options=storage_options,
        cache=cache,
    )
    return report


def kept_values(values: Any) -> Any:
    """Values as options have them; as a tuple, they are encoded once for all files."""
    found = values_given(values)
    return tuple(found) if isinstance(found, list) else found


def probe_file(file: Askable, options: ProbeOptions) -> ProbeReport:
    """As probe, for an open file; of several, whoever has them knows that one has the column."""
    if options.union_by_name:
        file.unite_by_name([options.column])
    if told := file.answer_to_all(options.column):
        return _without_column(file, options, told)
    column = file.column(options.column)
    check_room(file, [column], options.parts, TO_PROBE)
    file.check_answers(options.parts, options.dialect)
    asked = file.encode(column, options.values)
    file.will_read_filters(options.parts, [column], len(options.values))
    parts = file.select_parts(options.parts)
    of_value = OF_PICK + options.explain * OF_EXPLANATION
    of_answers = OF_ANSWERS if file.units.has_groups else TO_PROBE
    of_group = of_answers + of_value * len(options.values)

    def filter_bytes(part: int) -> int:
        return file.room_for_filters(part, column)

    def room(part: int) -> int:
        return check_groups_room(file, file.num_groups(part), of_group) + filter_bytes(part)

    # Part by part, so that each filter is read once for all values.
    def ask(part: int) -> _Answered:
        prober = file.prober(column, part, options.dialect, options.seed)
        if options.explain:
            return prober.explained(asked)
        return list(prober.answers(asked)), ()

    groups: list[GroupAnswers] = []
    explained: list[Sequence[tuple[Explanation, ...]]] = []
    threads = threads_to_read(options.threads, [file.source], parts, filter_bytes)
    with closing(work_in_order(parts, ask, room, threads)) as found:
        for _, (answers, explanations) in found:
            groups += answers
            check_groups_room(file, len(groups), of_group)
            explained.append(explanations)
    return ProbeReport(
        path=file.path,
        format=file.format,
        column=column.name,
        results=ProbedValues(options.values, groups),
        bytes_read=file.source.bytes_read,
        unverified=file.unverified,
        caveat=file.caveat(column),
        explanations=tuple(chain(*chain(*zip(*explained, strict=True))))
        if options.explain
        else None,
        requests=file.source.requests,
    )


def _without_column(file: Askable, options: ProbeOptions, told: AnswerToAll) -> ProbeReport:
    """For a file in which nothing can be asked about a value."""
    groups = list(answers_to_all(file, options.parts, told, options.values))
    return ProbeReport(
        path=file.path,
        format=file.format,
        column=options.column,
        results=ProbedValues(options.values, groups),
        bytes_read=file.source.bytes_read,
        unverified=file.unverified,
        # Its user has said so, and no table.
        caveat=NULL_BY_NAME if told.reason == NULL_BY_NAME else None,
        explanations=tuple(
            Explanation(
                group.distinct[0].place, value, reason=told.reason, **asdict(LookUp("", ()))
            )
            for value in python_values(options.values)
            for group in groups
        )
        if options.explain
        else None,
        requests=file.source.requests,
    )


def _listed(picks: Picks) -> Sequence[int]:
    # To ask whether something is a Sequence takes longer than to look at one pick.
    return picks.tolist() if hasattr(picks, "tolist") else picks


def _probed(values: Sequence[Any], groups: Sequence[GroupAnswers]) -> Iterator[ProbedValue]:
    picked = [_listed(group.picks) for group in groups]
    by_value = zip(*picked, strict=True) if groups else repeat(())
    # Most of many values get the same answers.
    known: dict[tuple[int, ...], tuple[Verdict, tuple[Answer, ...], int]] = {}
    for value, picks in zip(values, by_value, strict=False):
        if picks not in known:
            pairs = zip(groups, picks, strict=True)
            answers = tuple([group.distinct[pick] for group, pick in pairs])
            left = [each for each in answers if each.verdict != "absent"]
            verdicts = [each.verdict for each in left]
            verdict: Verdict = "maybe" if "maybe" in verdicts else "unknown" if left else "absent"
            known[picks] = verdict, answers, sum([each.num_rows for each in left])
        verdict, answers, rows = known[picks]
        yield ProbedValue(value, verdict, answers, rows)
