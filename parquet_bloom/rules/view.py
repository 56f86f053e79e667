"""What rules look at, whichever format the file has: an Examination of it, and in that each filter."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from parquet_bloom.container import Bits, Place, record
from parquet_bloom.container.protocols import Chunk, Container
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.filters.membership import Membership
from parquet_bloom.rules.finding import Finding, finding
from parquet_bloom.rules.policy import ColumnPolicy, Policy

# Other forms of a value that some readers look for, and that a filter lacks.
LackingForm = Literal["FLOAT", "DuckDB's INTERVAL"]


@record
class Weight:
    """What a filter takes, beside what it saves readers from.

    `dictionary_bytes`: of the dictionary page, where that says as much as the filter, else None.
    `folds`: how often the filter can be halved within an FPP.
    """

    num_bytes: int
    chunk_bytes: int
    dictionary_bytes: int | None
    folds: Callable[[float], int]


@record
class FilterView:
    """A filter whose bits can be read: all of a chunk, or that of one group in it.

    `num_values`: non-null values that it is for, as many as were looked up, or else as the file
    says; None if it does not, or if readers find every value anyhow. `membership`: what the values
    say; None if they were not looked up. `examples`: literals of some that are missing.
    `diagnose`: what the writer did instead, where some are. `weight`: None for one of many small
    filters. `digest`: of the bits; None where two filters may well be the same.
    """

    chunk: Chunk
    place: Place
    bits: Bits
    policy: ColumnPolicy
    num_values: int | None
    membership: Membership | None = None
    examples: Callable[[], tuple[str, ...]] = tuple
    diagnose: Callable[[], Diagnosis | None] = lambda: None
    lacking_form: LackingForm | None = None
    weight: Weight | None = None
    digest: bytes | None = None

    def finding(self, rule: str, message: str, **details: Any) -> Finding:
        return finding(rule, message, place=self.place, column=self.chunk.column.name, **details)

    @property
    def is_right(self) -> bool:
        """Whether all values were looked up, and found."""
        return self.membership is not None and not self.membership.missing


@dataclass(slots=True)
class Opening:
    """What the footers say: findings, and what was looked at on the way."""

    findings: list[Finding] = field(default_factory=list)
    num_filters: int = 0
    num_values: int = 0


@dataclass(slots=True)
class Look:
    """One item: what is wrong with how its filters are stored, the filters whose bits can be read,
    and why their values were not looked up. `num_filters`: those that `opening` did not count."""

    findings: list[Finding] = field(default_factory=list)
    views: list[FilterView] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    num_filters: int = 0

    @property
    def num_values(self) -> int:
        return sum(view.membership.num_values for view in self.views if view.membership)


class Examination(Protocol):
    """How the filters of one file of a format are examined: first `opening`, then each of the
    `items`, several at a time, then `closing`. The rest is for the rules about whole columns."""

    @property
    def file(self) -> Container: ...
    @property
    def policy(self) -> Policy: ...

    def opening(self) -> Opening:
        """Whatever can be said before the bits of a filter are read."""

    def items(self) -> Sequence[Any]:
        """What can be looked at, one after the other: filters, or streams of them."""

    def room(self, item: Any) -> int:
        """What a look at it takes at most, in bytes."""

    def look(self, item: Any) -> Look:
        """Its filters, with what the values say if they are to be looked up."""

    def about_writer(self, right: Collection[Any]) -> list[Finding]:
        """What is known of the writer; `right`: keys of chunks whose values were all found."""

    def columns(self) -> Sequence[Any]:
        """Those that were asked for."""

    def column(self, name: str) -> Any | None:
        """The column of this name, asked for or not; None if there is none."""

    def parts_without(self, column: Any) -> Sequence[int]:
        """The parts in which a column has no filters, or nobody knows of any."""

    def has_values(self, part: int, column: Any) -> bool:
        """Whether there can be values that are not null."""

    def deserves_filters(self, part: int, column: Any) -> bool:
        """The same, but for what writers rightly leave out."""

    def is_hidden(self, part: int, column: Any) -> bool:
        """Whether it is encrypted whether there are filters."""

    def filter_bytes(self) -> int:
        """What all filters take."""

    def closing(self) -> list[Finding]:
        """What is said in the end."""
