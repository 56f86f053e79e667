"""Of many values, those that the column of a file can hold:
one that it cannot keeps nobody from asking for the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parquet_bloom.container.asked_once import Latest, those_not_held
from parquet_bloom.errors import ValueTypeError
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.values.given import picked
from parquet_bloom.values.not_held import in_one_line
from parquet_bloom.verbs.probe import ProbedValues, ProbeReport, probe_file

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from parquet_bloom.container import GroupAnswers
    from parquet_bloom.container.protocols import Askable, Column
    from parquet_bloom.options import ProbeOptions


class HeldValues(NamedTuple):
    """The `values` that a column can hold, at which `positions` they are among all, at which the `others`, and why it
    cannot hold these."""

    values: Any
    positions: NDArray[np.intp]
    others: Collection[int]
    problem: str


def held_values(file: Askable, column: Column, values: Sequence[Any] | Array) -> HeldValues:
    """Of values that a column cannot hold all."""
    where = f"column {column.name}: "
    problems = _not_held(file, column, values)
    held = [at for at in range(len(values)) if at not in problems]
    others = frozenset(problems)
    problem = f"{where}{in_one_line(problems, values)}"
    return HeldValues(picked(values, held), np.array(held, np.intp), others, problem)


# To try each value takes far longer than to ask a filter.
_latest: Final[Latest[Any, Mapping[int, str]]] = Latest()


def _not_held(file: Askable, column: Column, values: Sequence[Any] | Array) -> Mapping[int, str]:
    """Why not, by the positions of the values that it cannot hold."""
    if (known := _latest.of(column, values)) is not None:
        return known
    where = f"column {column.name}: "
    problems = {
        at: problem.removeprefix(f"{file.path}: ").removeprefix(where)
        for at, problem in those_not_held(partial(file.encode, column), values).items()
    }
    _latest.keep(column, values, problems)
    return problems


class HeldAnswers(NamedTuple):
    """What a file answers, and the `problem` with values that it cannot hold, which are `unknown`; empty if there are
    none."""

    report: ProbeReport
    problem: str = ""


def probe_held(file: Askable, options: ProbeOptions) -> HeldAnswers:
    """As probe_file, but raises ValueTypeError only if the column can hold none of the values."""
    try:
        return HeldAnswers(probe_file(file, options))
    except ValueTypeError:
        held = held_values(file, file.column(options.column), options.values)
        if not held.positions.size:
            raise ValueTypeError(f"{file.path}: {held.problem}") from None
    report = probe_file(file, replace(options, values=held.values))
    groups = [_with_others(each, held, len(options.values)) for each in report.results.groups]
    results = ProbedValues(options.values, groups)
    return HeldAnswers(replace(report, results=results), held.problem)


def _with_others(group: GroupAnswers, held: HeldValues, num_values: int) -> GroupAnswers:
    """What a group answers about all values."""
    unknown = replace(group.distinct[0], verdict="unknown", reason=held.problem)
    picks = np.full(num_values, len(group.distinct), np.intp)
    picks[held.positions] = np.asarray(group.picks)
    return group._replace(distinct=(*group.distinct, unknown), picks=picks)
