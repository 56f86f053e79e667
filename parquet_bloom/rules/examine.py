"""Apply every rule to the filters of one file, whichever format it has.

The footers first, then the bits of each filter together with the stored values, if these are looked
up; then whole columns, and the file.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing
from typing import Final

from parquet_bloom.container import Place
from parquet_bloom.container.missing_rows import MissingRows
from parquet_bloom.container.room import TO_VALIDATE, check_room
from parquet_bloom.diagnosis.diagnosis import NOTHING_TELLS, PAGES_MAY_HAVE_CHANGED, Diagnosis
from parquet_bloom.parallel import Progress, of_all, work_in_order
from parquet_bloom.rules import filter_bits, portability
from parquet_bloom.rules.finding import UNREAD, Finding
from parquet_bloom.rules.view import AnyExamination, Examined, FilterView, Spot, Twin
from parquet_bloom.threads import threads_for_values, threads_to_read

# What remains of an item once its bits are gone, with the keys of chunks whose values were all found.
_Outcome = tuple[Examined, list[tuple[int, int]], list[Twin]]


def examine(examination: AnyExamination, progress: Progress | None = None) -> Examined:
    """Check the filters of a file. progress: called with (items done, items in all).

    Raises ColumnError, FormatError for a footer that cannot be read, EncryptionError for what does
    not open, UnsupportedError, OSError. Whatever is wrong with filters and pages is a finding.
    """
    check_room(examination.file, examination.columns, examination.options.parts, TO_VALIDATE)
    examined = examination.opening()
    right = _examine_items(examination, examined, progress)
    examined.findings = list(_once(examined.findings))
    _agree(examined, examination.agreed_diagnoses())
    _say_of_ends(examined)
    _add_proofs(examined)
    examined.findings += examination.about_writer(right)
    for check in (filter_bits.check_columns, filter_bits.check_required, filter_bits.check_share):
        examined.findings += check(examination)
    examined.findings += examination.closing()
    return examined


def _once(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Why pages of a chunk could not be read is said once, though they may be read for their values and for
    themselves. The values of a chunk may all be in its dictionary: then nobody has seen its other pages before."""
    said: set[tuple[str, Place | None, str | None]] = set()
    for each in findings:
        about = each.rule, each.place, each.column
        if each.rule in UNREAD and each.place is not None:
            if about in said:
                continue
            said.add(about)
        yield each


def _agree(examined: Examined, agreed: Mapping[Spot, Diagnosis]) -> None:
    """Say it of those filters that it is about."""
    for each in examined.findings:
        if each.rule == "PB401" and each.diagnosis is not None:
            # A record can be changed.
            vars(each)["diagnosis"] = agreed.get((each.place, each.column), each.diagnosis)


# One filter may lack its last value for any reason.
_FEWEST_OF_ENDS: Final = 4


def _say_of_ends(examined: Examined) -> None:
    """Where each of several filters of a column lacks one value, the last, no accident happened to a page, though
    none of them lacks enough to prove that."""
    of_columns: defaultdict[str | None, list[Finding]] = defaultdict(list)
    for each in examined.findings:
        if each.rule == "PB401" and each.undiagnosed is not None and _is_of_end(each.rows):
            of_columns[each.column].append(each)
    for those in of_columns.values():
        if len(those) < _FEWEST_OF_ENDS:
            continue
        all_of_them = f"{len(those):,} filters of the column lack nothing but their last value"
        for each in those:
            said = (each.undiagnosed or "").removesuffix(PAGES_MAY_HAVE_CHANGED)
            # A record can be changed.
            vars(each)["undiagnosed"] = f"{said}; {all_of_them}: the writer may have left it out"


def _is_of_end(rows: MissingRows | None) -> bool:
    return rows is not None and rows.count == 1 and rows.only_at_end


def _add_proofs(examined: Examined) -> None:
    """Of filters that nothing explains, or that have bits of other values, say what the pages prove."""
    for each in examined.findings:
        proof = examined.proofs.get((each.place, each.column))
        if proof is None:
            continue
        # A record can be changed.
        if each.rows is not None and each.undiagnosed is not None:
            said = each.undiagnosed
            if not proof.endswith(NOTHING_TELLS):
                said = said.removesuffix(PAGES_MAY_HAVE_CHANGED)
            vars(each)["undiagnosed"] = f"{said}; {proof}"
        elif each.rule == "PB405":
            vars(each)["undiagnosed"] = proof


def _examine_items(
    examination: AnyExamination, examined: Examined, progress: Progress | None
) -> set[tuple[int, int]]:
    """The keys of the chunks whose values were all found."""
    all_twins = list(examination.twins())
    all_right: set[tuple[int, int]] = set()
    items, options = examination.items(), examination.options
    report = of_all(progress, items)
    source = examination.file.source
    if options.deep:
        threads = threads_for_values(options.threads, source, len(items))
    else:
        threads = threads_to_read(options.threads, [source], items, examination.room)

    def work(item: object) -> _Outcome:
        return _outcome(examination, item)

    with closing(work_in_order(items, work, examination.room, threads)) as outcomes:
        for done, (_, (of_item, right, twins)) in enumerate(outcomes, start=1):
            examined.add(of_item)
            all_right.update(right)
            all_twins += twins
            report(done)
    examined.findings += filter_bits.check_twins(all_twins)
    return all_right


def _outcome(examination: AnyExamination, item: object) -> _Outcome:
    seen = examination.view(item)
    found = [found for view in seen.views for found in check_view(view)]
    num_values = sum(view.membership.num_values for view in seen.views if view.membership)
    of_item = Examined(
        [*seen.findings, *found, *seen.problems],
        num_filters=seen.num_filters,
        num_values=num_values,
        num_pages=seen.num_pages,
        num_unsummed=seen.num_unsummed,
        proofs=seen.proofs,
    )
    of_item.note_fpp_within_limit(
        (view.chunk.column.name, view.fpp_within_limit) for view in seen.views
    )
    return (
        of_item,
        [view.chunk.key for view in seen.views if view.is_right],
        [
            Twin(view.chunk.key, view.place, view.chunk.column.name, view.digest, view.is_right)
            for view in seen.views
            if view.digest
        ],
    )


def check_view(view: FilterView) -> list[Finding]:
    """Apply every rule to the bits of one filter, and to what the values say about it."""
    return [
        *filter_bits.check_filter(view),
        *filter_bits.check_clear(view),
        *filter_bits.check_count(view),
        *portability.check_forms(view),
        *filter_bits.check_values(view),
    ]
