"""Every rule on the filters of one file, whichever format it has.

The footers first, then the bits of each filter, and with them, if they are looked up, the stored
values; then what can be said of columns and of the file.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from parquet_bloom.container import record
from parquet_bloom.container.protocols import Container
from parquet_bloom.options import ValidateOptions
from parquet_bloom.parallel import MEMORY_BUDGET, Progress, work_in_order
from parquet_bloom.rules import portability, quality, truth
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.view import Examination, FilterView
from parquet_bloom.vocabulary import Format


@dataclass(slots=True)
class Examined:
    """What is wrong, and how much was looked at: filters, and stored values (a dictionary's entries
    once)."""

    findings: list[Finding] = field(default_factory=list)
    num_filters: int = 0
    num_values: int = 0


@record
class _Outcome:
    """What came of one item, without its bits; `right`: chunks whose values were all found."""

    findings: list[Finding]
    num_filters: int
    num_values: int
    right: list[tuple[int, int]]
    twins: list[truth.Twin]


def examine(
    file: Container, options: ValidateOptions, progress: Progress | None = None
) -> Examined:
    """Check the filters of a file. progress: called with (items done, items in all).

    Raises ColumnError, FormatError for a footer that cannot be read, EncryptionError for what does
    not open, UnsupportedError, OSError. What is wrong with filters and pages is a finding.
    """
    examination = examination_of(file, options)
    opening = examination.opening()
    examined = Examined(opening.findings, opening.num_filters, opening.num_values)
    right = _examine_items(examination, examined, options, progress)
    examined.findings += examination.about_writer(right)
    for check in (quality.check_columns, quality.check_required, quality.check_share):
        examined.findings += check(examination)
    examined.findings += examination.closing()
    return examined


def _examine_items(
    examination: Examination,
    examined: Examined,
    options: ValidateOptions,
    progress: Progress | None,
) -> set[tuple[int, int]]:
    """The keys of the chunks whose values were all found."""
    twins: list[truth.Twin] = []
    right: set[tuple[int, int]] = set()
    items = examination.items()
    threads = options.threads
    done = count(1)

    def work(item: Any) -> _Outcome:
        return _outcome(examination, item)

    if not options.deep and sum(map(examination.room, items)) <= MEMORY_BUDGET:
        # To hand a small filter to a thread takes longer than to look at it.
        threads = 1
    for _, outcome in work_in_order(items, work, examination.room, threads):
        examined.findings += outcome.findings
        examined.num_filters += outcome.num_filters
        examined.num_values += outcome.num_values
        right.update(outcome.right)
        twins += outcome.twins
        if progress:
            progress(next(done), len(items))
    examined.findings += truth.check_twins(twins)
    return right


def _outcome(examination: Examination, item: Any) -> _Outcome:
    look = examination.look(item)
    found = [found for view in look.views for found in check_view(view)]
    twins = (truth.Twin.of(view) for view in look.views)
    return _Outcome(
        findings=[*look.findings, *found, *look.problems],
        num_filters=look.num_filters,
        num_values=look.num_values,
        right=[view.chunk.key for view in look.views if view.is_right],
        twins=[twin for twin in twins if twin is not None],
    )


def check_view(view: FilterView) -> list[Finding]:
    """Every rule on the bits of one filter, and on what the values say of it."""
    return [
        *quality.check_filter(view),
        *truth.check_clear(view),
        *portability.check_forms(view),
        *truth.check_values(view),
    ]


# ------------------------------------------------------------------------------------------------
# Formats


def examination_of(file: Container, options: ValidateOptions) -> Examination:
    """How a file of its format is examined."""
    return _EXAMINATIONS[file.format](file, options, options.policy or Policy())


def _of_parquet(file: Any, options: ValidateOptions, policy: Policy) -> Examination:
    from parquet_bloom.rules.examine_parquet import ParquetExamination

    return ParquetExamination(file, options, policy)


def _of_orc(file: Any, options: ValidateOptions, policy: Policy) -> Examination:
    # Only who has ORC files needs protobuf and pyarrow imported.
    from parquet_bloom.rules.examine_orc import OrcExamination

    return OrcExamination(file, options, policy)


_EXAMINATIONS: dict[Format, Callable[[Any, ValidateOptions, Policy], Examination]] = {
    "parquet": _of_parquet,
    "orc": _of_orc,
}
