"""What differs between files that are judged apart, schema by schema.

judged apart, by what differs:
  a.parquet and 19 more: id INT64, email STRING
  b.parquet: id INT32; no email
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Final, TypeAlias

from parquet_bloom.container import number_of
from parquet_bloom.errors import quoted_name
from parquet_bloom.render.wording import shortened
from parquet_bloom.values.types import said_besides
from parquet_bloom.vocabulary import FORMAT_TITLES

if TYPE_CHECKING:
    from parquet_bloom.verbs.advise import AdviceReport

# Of more schemas, neither all columns are shown nor what differs between all of them.
MOST_IN_FULL: Final = 5

# What makes schemas differ that look alike.
_NOT_SHOWN: Final = (
    "values of another length, another annotation that is not known, or names with dots for structs"
)

# The physical type of a column, and the logical one if it says more.
_Type: TypeAlias = tuple[str, str | None]
# By the names of columns, in their order.
_Types: TypeAlias = dict[str, _Type]


def differences(reports: Sequence[AdviceReport]) -> Iterator[str]:
    """A line for each of the first schemas, with one above them; none where there is only one."""
    if len(reports) < 2:
        return
    yield "judged apart, by what differs:"
    has_formats = len({report.format for report in reports}) > 1
    for report in reports[:MOST_IN_FULL]:
        peers = [_types(each) for each in reports if each.format == report.format]
        said = [FORMAT_TITLES[report.format]] * has_formats
        said += _of_columns(_types(report), peers)
        yield f"  {report.path}: {'; '.join(said)}"
    if (left := len(reports) - MOST_IN_FULL) > 0:
        yield f"  and {number_of(left, 'more schema')}"


def _types(report: AdviceReport) -> _Types:
    return {
        each.column: (each.physical_type, said_besides(each.physical_type, each.logical_type))
        for each in report.columns
    }


def _of_columns(own: _Types, peers: Sequence[_Types]) -> Iterator[str]:
    """What is so of these columns and not of those of all `peers`, which they are among."""
    differing = {
        name: told
        for name in dict.fromkeys(name for types in peers for name in types)
        if len(told := {types.get(name) for types in peers}) > 1
    }
    if has := [_with_type(name, own[name], differing[name]) for name in own if name in differing]:
        yield shortened(has)
    if lacks := [quoted_name(name) for name in differing if name not in own]:
        yield f"no {shortened(lacks)}"
    # As dicts are equal, in whatever order.
    alike = [list(types) for types in peers if types == own]
    if any(names != list(own) for names in alike):
        yield f"columns in the order {shortened(list(map(quoted_name, own)))}"
    elif len(alike) > 1:
        yield _NOT_SHOWN


def _with_type(name: str, type: _Type, told: Collection[_Type | None]) -> str:
    """`told`: those in all schemas, None for the lack of it."""
    physical, logical = type
    is_clear = logical not in {each[1] for each in told if each and each != type}
    said = (logical if is_clear else f"{physical} {logical}") if logical else physical
    return f"{quoted_name(name)} {said}"
