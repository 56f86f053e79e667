"""What `pbloom build`, `strip` and `repair` print about the files that they change, and about tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from parquet_bloom.container import BuiltFilters, LeftChunk, number_of, without_numbers
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.rates import percent
from parquet_bloom.render.hints import command, hint_for, with_hint, with_key_hint
from parquet_bloom.render.palette import painted
from parquet_bloom.render.reports import FileSummary, Remark, SummarizedView
from parquet_bloom.render.terminal import Cells, write_table, write_text
from parquet_bloom.render.wording import (
    files_of,
    in_one,
    in_the_first,
    shortened,
    size,
    where,
)
from parquet_bloom.vocabulary import (
    APPENDED_BEFORE,
    DRY_RUN,
    LACKS_COLUMN,
    NO_KEY,
    REMOVED,
    REPLACED,
)

if TYPE_CHECKING:
    from parquet_bloom.container import Place
    from parquet_bloom.verbs.build import BuildReport
    from parquet_bloom.verbs.build_table import TableBuildReport
    from parquet_bloom.verbs.repair import LeftFilter, RepairedFilter, RepairReport
    from parquet_bloom.verbs.repair_table import TableRepairReport
    from parquet_bloom.verbs.strip import StripReport
    from parquet_bloom.verbs.strip_table import TableStripReport
    from parquet_bloom.verbs.table_step import (
        ChangedFile,
        LeftColumn,
        RepairedColumn,
        SkippedColumn,
    )

    FileChange: TypeAlias = BuildReport | StripReport | RepairReport
    TableChange: TypeAlias = TableBuildReport | TableRepairReport | TableStripReport

SomeTableChange = TypeVar(
    "SomeTableChange", bound="TableBuildReport | TableRepairReport | TableStripReport"
)

_BUILT = (
    "column",
    "filters",
    "bytes",
    "largest",
    "bits of each",
    "hashes",
    "highest FPP",
    "skipped",
)
# What gives way on a narrow terminal.
_BUILT_GIVES = ("bits of each", "hashes", "largest", "skipped…", "column…")

# What `repair` does instead of a repair.
_DROPPING = ("pointer dropped", "filters dropped")

NOT_LOOKED_UP = "no stored value was looked up: --drop-bad and --rebuild do that"
_WITH_KEYS = f"{NOT_LOOKED_UP} where no key is missing"


class BuildView(SummarizedView["BuildReport"]):
    """What was added to files, by column; what was skipped, by reason."""

    def summarize(self, report: BuildReport) -> FileSummary:
        numbers = {"filters": report.num_filters, "bytes": report.bytes_added, "copies": 0}
        what = self.total(numbers)
        if report.bytes_added:
            what += f" ({percent(abs(report.bytes_added) / report.size_before)})"
        is_copy = not report.filters and report.size_after == report.size_before
        if is_copy and report.output is not None:
            what += f", a copy of {report.path}"
            numbers["copies"] = 1
        built = {each.column for each in report.filters}
        whole = [each for each in report.skipped if each.column not in built]
        rest = [each for each in report.skipped if each.column in built]
        some = f"some {rest[0].place.units.part}s of " if rest else ""
        remarks = [*_left("skipped", whole), *_left("skipped", rest, some)]
        return _of_file(report, what, remarks, numbers)

    def total(self, numbers: Mapping[str, int]) -> str:
        built, added = numbers["filters"], numbers["bytes"]
        done = number_of(built, "filter") if built else "no filter built"
        if built or added:
            done += f", {_difference(added)}"
        if copies := numbers["copies"]:
            done += f", {copies:,} {'copy' if copies == 1 else 'copies'} written"
        return done

    def write(self, report: BuildReport, verbose: bool = False) -> None:
        """What was skipped of a column that got filters, too, is in its row."""
        built = {each.column for each in report.filters}
        others = tuple(each for each in report.skipped if each.column not in built)
        summary = self.summarize(replace(report, skipped=others))
        write_text(summary.heading)
        self.write_details(report, verbose)
        for remark in summary.remarks:
            write_text(remark.text)

    def write_details(self, report: BuildReport, verbose: bool) -> None:
        by_column: dict[str, list[BuiltFilters]] = {}
        for built in report.filters:
            by_column.setdefault(built.column, []).append(built)
        if by_column:
            skipped = _skipped_of(report.skipped)
            rows = [(*_column_row(*item), skipped.get(item[0])) for item in by_column.items()]
            write_table(_BUILT, rows, _BUILT_GIVES, verbose, more="--verbose shows all")


NO_MATTER_WHOSE = "filters are removed no matter who built them, the file's own writer included"


class StripView(SummarizedView["StripReport"]):
    """What was removed from files; what was left, by reason."""

    def summarize(self, report: StripReport) -> FileSummary:
        numbers = {"filters": report.num_filters, "bytes": report.bytes_removed}
        remarks = [*_left("left", report.left), *_unused(report)]
        if report.removed:
            remarks += _notes([NO_MATTER_WHOSE])
        return _of_file(report, self.total(numbers), remarks, numbers)

    def total(self, numbers: Mapping[str, int]) -> str:
        filters = number_of(numbers["filters"], "filter")
        return f"{filters} removed, {size(numbers['bytes'])} less"


class RepairView(SummarizedView["RepairReport"]):
    """What was repaired in files and what was left, alike filters in one line."""

    def __init__(self, again: Sequence[str] = ()) -> None:
        """`again`: the options that other commands need for the files, too."""
        self._again = again

    def summarize(self, report: RepairReport) -> FileSummary:
        numbers = {
            "repaired": _num_filters(report.repaired), "dropped": _num_filters(_dropped(report)),
            "wrong": _num_left(report, is_wrong=True),
            "not checked": _num_left(report, is_wrong=False),
            "hidden": sum(each.is_hidden for each in report.left),
            "useless": report.useless, "bytes": report.bytes_added, "looked up": report.looked_up,
        }  # fmt: skip
        remarks = [*_repair_remarks(report), *self._without_filter(report)]
        return _of_file(report, _repaired(numbers), remarks, numbers)

    def _without_filter(self, report: RepairReport) -> Iterator[Remark]:
        """That filters which were dropped can be built again."""
        if report.output is None or not (dropped := _with_data(report)):
            return
        columns = ",".join(
            quoted_name(each) for each in dict.fromkeys(each.column for each in dropped)
        )
        again = ("-c", columns, "--in-place", *self._again)
        stay = ", and any bytes of it stay in the file" * (dropped[0].action == "pointer dropped")
        why = f"no filter is left where one was dropped{stay}"
        build = command("build", report.output, *again)
        yield Remark(
            painted("note"),
            why,
            f"{painted('note')}: {why}: {build} adds a new one",
            next=command("build", "FILE", *again) if report.output == report.path else None,
        )

    def total(self, numbers: Mapping[str, int]) -> str:
        return _repaired_in_all(numbers)

    def write(self, report: RepairReport, verbose: bool = False) -> None:
        super().write(report, verbose)
        if not report.looked_up:
            also = f"so does {command('validate', report.output or report.path, *self._again)}"
            write_text(f"{painted('note')}: {_not_looked_up(report.left)}, and {also}")


def _repaired_in_all(numbers: Mapping[str, int]) -> str:
    why = _WITH_KEYS if numbers["hidden"] else NOT_LOOKED_UP
    return _repaired(numbers) + ("" if numbers["looked up"] else f"; {why}")


def _not_looked_up(left: Iterable[LeftFilter | LeftColumn]) -> str:
    return _WITH_KEYS if any(each.is_hidden for each in left) else NOT_LOOKED_UP


def _num_filters(items: Sequence[RepairedFilter]) -> int:
    """Counting each index group, as all that is said of filters does."""
    return sum(each.num_filters for each in items)


def _num_left(report: RepairReport, *, is_wrong: bool) -> int:
    """The same of those that are still wrong, or were not looked at; those of a chunk, of which several things may be
    said, at most once."""
    left = [each for each in report.left if each.is_wrong == is_wrong]
    of_chunks: dict[tuple[Place | None, str], int] = {}
    for each in left:
        if each.column is not None:
            key = each.place, each.column
            of_chunks[key] = max(of_chunks.get(key, 0), each.num_filters)
    return sum(of_chunks.values()) + sum(each.column is None for each in left)


def _repaired(numbers: Mapping[str, int]) -> str:
    """`2 filters repaired, 1 dropped, 0 still wrong, 1 excludes next to nothing, 9 B less`. That none is wrong nobody
    can say who looked up no values."""
    counts = {"repaired": numbers["repaired"] - numbers["dropped"], "dropped": numbers["dropped"]}
    first, *others = [done for done, count in counts.items() if count] or ["repaired"]
    done = [f"{number_of(counts[first], 'filter')} {first}"]
    done += [f"{counts[other]:,} {other}" for other in others]
    if numbers["wrong"] or numbers["looked up"]:
        done.append(f"{numbers['wrong']:,} still wrong")
    if useless := numbers["useless"]:
        done.append(f"{useless:,} exclude{'s' * (useless == 1)} next to nothing")
    if numbers["not checked"]:
        done.append(f"{numbers['not checked']:,} not checked")
    # Nobody knows how many filters they have.
    if hidden := numbers["hidden"]:
        done.append(f"{number_of(hidden, 'encrypted column chunk')} without a key")
    return f"{', '.join(done)}, {_difference(numbers['bytes'])}"


def _with_data(report: RepairReport) -> list[RepairedFilter]:
    """Of those that were dropped, those of which others can be built: nothing else is wrong with their chunks."""
    wrong = {(each.place, each.column) for each in report.left if each.is_wrong}
    return [each for each in _dropped(report) if (each.place, each.column) not in wrong]


def _dropped(report: RepairReport) -> list[RepairedFilter]:
    """Those whose chunks have no filter now."""
    return [each for each in report.repaired if each.action in _DROPPING]


def _difference(num_bytes: int) -> str:
    """By how much files grew, or shrank, as `removed` would be said of filters."""
    return f"{size(-num_bytes)} less" if num_bytes < 0 else f"{size(num_bytes)} added"


def _of_file(
    report: FileChange, what: str, remarks: Sequence[Remark], numbers: dict[str, int]
) -> FileSummary:
    output = None if report.dry_run else report.output
    named = f"{report.path} (dry run)" if report.dry_run else output or report.path
    return FileSummary(
        report.state,
        what,
        [*remarks, *_notes(report.notes)],
        {**numbers, "dry": report.dry_run},
        heading=f"{named}: {what}, {report.seconds:.2f} s",
        output=output,
    )


def _notes(notes: Iterable[str]) -> Iterator[Remark]:
    for note in notes:
        # Of several files, its number is that of one.
        of_several = f"each {note}" if note.startswith((*REPLACED, *REMOVED)) else note
        yield Remark(painted("note"), of_several, f"{painted('note')}: {note}")


def _column_row(column: str, filters: Sequence[BuiltFilters]) -> Cells:
    first = filters[0]
    largest = size(max(built.num_bytes for built in filters))
    return (
        column,
        str(sum(built.num_filters for built in filters)),
        size(sum(built.length for built in filters)),
        largest if first.num_bits is None else None,
        None if first.num_bits is None else str(first.num_bits),
        None if first.num_hashes is None else str(first.num_hashes),
        percent(max(built.fpp for built in filters)),
    )


def _skipped_of(chunks: Iterable[LeftChunk]) -> dict[str, str]:
    """By column, where and why: `row group 0: has a filter already`."""
    by_column: dict[str, list[LeftChunk]] = {}
    for chunk in chunks:
        by_column.setdefault(chunk.column, []).append(chunk)
    return {
        column: "; ".join(
            with_hint(f"{where(None, places)}: {in_one(reasons)}")
            for _, places, reasons in _left_alike(those)
        )
        for column, those in by_column.items()
    }


def _unused(report: StripReport) -> Iterator[Remark]:
    """What stays of filters that nothing points to."""
    if not report.unused_filters:
        return
    is_one = report.unused_filters == 1
    stays, them = ("stays", "it") if is_one else ("stay", "them")
    locked = dict.fromkeys(each.column for each in report.left if each.reason.startswith(NO_KEY))
    why = (
        f"{stays} in the file, as those of {shortened([*map(quoted_name, locked)])} do: with their keys, too,"
        " strip removes what can go"
        if locked
        else f"{stays} in the file, as data follows {them}, or it is uncertain what else is there:"
        f" rewriting the file with any writer removes {them}"
    )
    taken = size(report.unused_bytes)
    found = f"{number_of(report.unused_filters, 'unused filter')}, {taken}"
    yield Remark("unused filters", f"{report.unused_filters:,}, {taken}: {why}", f"{found}: {why}")


def _left(what: str, chunks: Sequence[LeftChunk], some: str = "") -> list[Remark]:
    """One for all chunks whose reasons differ only in numbers; `what` was done to them, which are `some` of those of
    their columns, or all."""
    remarks = []
    for columns, places, reasons in _left_alike(chunks):
        name, hint = f"{painted(what)} {some}{columns}", hint_for(reasons[0])
        first, *others = [f"{reason}; {hint}" for reason in reasons] if hint else reasons
        text = f"{name}, {where(None, places)}: {in_one((first, *others))}"
        remarks.append(Remark(name, first, text, others=tuple(others)))
    return remarks


def _left_alike(chunks: Iterable[LeftChunk]) -> Iterator[tuple[str, list[Place], list[str]]]:
    """The columns, places and reasons of chunks whose reasons differ only in numbers; several columns are one of
    which all is said of the same places, in the same words and numbers."""
    of_columns: dict[tuple[str, str], list[LeftChunk]] = {}
    for chunk in chunks:
        of_columns.setdefault((chunk.column, without_numbers(chunk.reason)), []).append(chunk)
    alike: dict[tuple[tuple[Place, str], ...], list[str]] = {}
    for (column, _), those in of_columns.items():
        said = tuple((each.place, each.reason) for each in those)
        alike.setdefault(said, []).append(column)
    for said, columns in alike.items():
        places, reasons = zip(*said, strict=True)
        yield shortened([*map(quoted_name, columns)]), [*places], [*dict.fromkeys(reasons)]


def _repair_remarks(report: RepairReport) -> list[Remark]:
    """One for all items of a column whose reasons differ only in numbers."""
    alike: dict[tuple[str, str | None, str, str], list[RepairedFilter | LeftFilter]] = {}
    done: list[tuple[str, RepairedFilter | LeftFilter]] = [
        *((item.action, item) for item in report.repaired),
        *(("left", item) for item in report.left),
    ]
    for what, item in done:
        likeness = (what, item.column, item.rule, without_numbers(item.reason))
        alike.setdefault(likeness, []).append(item)
    remarks = []
    for (action, *_), members in alike.items():
        first = members[0]
        place = where(first.column, [item.place for item in members if item.place])
        # What is broken in some index groups is done to all of a stripe, and told of the first.
        groups = sum(len(item.groups or ()) for item in members)
        if first.place and groups > 1:
            reason = f"in {number_of(groups, first.place.units.group)}; the first: {first.reason}"
        else:
            reason = in_one(item.reason for item in members)
        remarks.append(_rule_remark(action, first, f"{place}: ", reason))
    return remarks


def _rule_remark(
    action: str,
    item: RepairedFilter | LeftFilter | RepairedColumn | LeftColumn,
    place: str,
    reason: str,
) -> Remark:
    """What was done about a rule that filters of a column break, or that it was `left`."""
    from parquet_bloom.rules.rule import rules

    rule = rules()[item.rule].heading
    column = where(item.column, [])
    return Remark(
        what=f"{painted(action)}: {column}{': ' if column else ''}{rule}",
        why=with_key_hint(item.reason),
        text=f"{painted(action)}: {place}{rule}: {with_key_hint(reason)}",
        varies=reason != item.reason,
    )


# ------------------------------------------------------------------------------------------------
# Tables


# Of what becomes of files, by action.
_WAYS_OUT = {"too small": " (--all-sizes includes them)"}
_WHY_TOO_SMALL = (
    "Trino can fail on small files that have grown, until the commit and in older versions; without Trino,"
    " give --all-sizes"
)


class _TableView(SummarizedView[SomeTableChange]):
    def write_details(self, report: SomeTableChange, verbose: bool) -> None:
        for file in report.files if verbose else ():
            reason = f": {file.reason}" if file.reason else ""
            write_text(
                f"{file.file}: {file.action}, {file.recorded:,} to {file.size:,} bytes{reason}"
            )


def _unit_of(skipped: SkippedColumn) -> str:
    """What its number counts: a file that lacks the column has no chunk of it."""
    return "row group" if skipped.reason.startswith(LACKS_COLUMN) else "column chunk"


class TableBuildView(_TableView["TableBuildReport"]):
    """What was added to the files of tables, and which version records it."""

    def summarize(self, report: TableBuildReport) -> FileSummary:
        # What a commit brings into sight was not skipped.
        is_visible = {APPENDED_BEFORE} if report.committed is not None else set()
        visible = (each.num_chunks for each in report.skipped if each.reason in is_visible)
        numbers = {
            "filters": report.num_filters,
            "visible": sum(visible) + report.num_returning,
            "bytes": report.bytes_added,
            "earlier": report.bytes_returning,
        }
        remarks = [
            Remark(
                f"{painted('skipped')} {each.column}",
                each.reason,
                f"{painted('skipped')} {each.column}, {number_of(each.num_chunks, _unit_of(each))}:"
                f" {with_hint(each.reason)}",
            )
            for each in report.skipped
            if each.reason not in is_visible
        ]
        remarks += _of_columns([(each.action, each) for each in report.repaired])
        done = "would be set" if report.dry_run else "set"
        remarks += [
            Remark(key, value, f"{done}: {key}={value}") for key, value in report.properties.items()
        ]
        if report.properties:
            from parquet_bloom.engines.reading import engine_note

            heeded = engine_note("asked for by an Iceberg table")
            remarks.append(Remark("properties", heeded, f"properties: {heeded}"))
        return _of_table(report, self.total(numbers), [*remarks, *_notes(report.notes)], numbers)

    def total(self, numbers: Mapping[str, int]) -> str:
        built, visible = numbers["filters"], numbers["visible"]
        filters = number_of(built or visible, "filter")
        if visible:
            filters += f", {visible:,} more made visible" if built else " made visible"
        added, earlier = numbers["bytes"], numbers["earlier"]
        told = [_difference(added)] if added or not earlier else []
        # By another run, which did not commit, or whose commit was taken back.
        told += [f"{size(earlier)} appended before"] if earlier else []
        return ", ".join((filters, *told))


class TableRepairView(_TableView["TableRepairReport"]):
    """What was repaired in the files of tables and what was left, and which version records it."""

    def __init__(self, again: Sequence[str] = ()) -> None:
        """`again`: the options that other commands need for the files, too."""
        self._again = again

    def summarize(self, report: TableRepairReport) -> FileSummary:
        numbers = {
            "repaired": _num_chunks(report.repaired),
            "dropped": _num_chunks([each for each in report.repaired if each.action in _DROPPING]),
            "wrong": _num_chunks([each for each in report.left if each.is_wrong]),
            "not checked": _num_chunks(
                [each for each in report.left if not each.is_wrong and not each.is_hidden]
            ),
            "hidden": _num_chunks([each for each in report.left if each.is_hidden]),
            "useless": report.useless, "bytes": report.bytes_added, "looked up": report.looked_up,
        }  # fmt: skip
        done: list[tuple[str, RepairedColumn | LeftColumn]] = [
            *((each.action, each) for each in report.repaired),
            *(("left", each) for each in report.left),
        ]
        remarks = [*_of_columns(done), *_notes(report.notes)]
        return _of_table(report, _repaired(numbers), remarks, numbers)

    def total(self, numbers: Mapping[str, int]) -> str:
        return _repaired_in_all(numbers)

    def write(self, report: TableRepairReport, verbose: bool = False) -> None:
        super().write(report, verbose)
        if not report.looked_up:
            validate = command("validate", report.path, "--table", report.table, *self._again)
            also = f"so does {validate}"
            write_text(f"{painted('note')}: {_not_looked_up(report.left)}, and {also}")


class TableStripView(_TableView["TableStripReport"]):
    """What was taken back of the files of tables, and which version records it."""

    def summarize(self, report: TableStripReport) -> FileSummary:
        numbers = {"bytes": report.bytes_removed}
        return _of_table(report, self.total(numbers), (), numbers)

    def total(self, numbers: Mapping[str, int]) -> str:
        return f"{size(numbers['bytes'])} taken back"


def _of_columns(done: Iterable[tuple[str, RepairedColumn | LeftColumn]]) -> Iterator[Remark]:
    """What was done about the rules that filters of columns break."""
    for what, each in done:
        place = where(each.column, []) + ": " * bool(each.column)
        count = f"{number_of(each.num_chunks, 'column chunk')}: "
        reason = in_the_first(each.reason) if each.num_chunks > 1 else each.reason
        yield _rule_remark(what, each, place + count, reason)


def _num_chunks(columns: Sequence[RepairedColumn | LeftColumn]) -> int:
    return sum(each.num_chunks for each in columns)


def _of_table(
    report: TableChange, what: str, remarks: Sequence[Remark], numbers: dict[str, int]
) -> FileSummary:
    actions = Counter(file.action for file in report.files).most_common()
    counts = ", ".join(
        f"{count:,} {painted(action)}{_WAYS_OUT.get(action, '')}" for action, count in actions
    )
    files = f"{number_of(len(report.files), 'file')}{': ' * bool(counts)}{counts}"
    line = f"{files}; {what}; {_committed(report)}"
    return FileSummary(
        _state(report),
        line,
        [*_file_remarks(report), *remarks],
        {**numbers, "dry": report.dry_run},
        heading=f"{report.path}: {line}, {report.seconds:.2f} s",
    )


def _state(report: TableChange) -> str:
    if report.committed is not None:
        return "committed"
    if not any(file.has_new_size for file in report.files):
        return "unchanged"
    return "would change" if report.dry_run else "not committed"


def _committed(report: TableChange) -> str:
    if report.dry_run:
        return DRY_RUN
    if report.committed is None:
        return f"version {report.version} stays"
    if len(report.commits) == 1:
        return f"version {report.committed} records it"
    return f"{len(report.commits):,} commits up to version {report.committed} record it"


def _file_remarks(report: TableChange) -> Iterator[Remark]:
    """One for all files with the same reason but for numbers."""
    groups: dict[tuple[str, str], list[ChangedFile]] = {}
    for file in report.files:
        if file.reason:
            groups.setdefault((file.action, without_numbers(file.reason)), []).append(file)
    for (action, _), members in groups.items():
        names = files_of([file.file for file in members], len(report.files))
        reason = in_one(file.reason or "" for file in members)
        hint = f": {_WHY_TOO_SMALL}" * (action == "too small")
        yield Remark(action, reason, f"{names}: {action}: {reason}{hint}")


BUILD, STRIP = BuildView(), StripView()
TABLE_BUILD, TABLE_STRIP = TableBuildView(), TableStripView()
