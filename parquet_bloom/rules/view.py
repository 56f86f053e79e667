"""What rules see of a file, whichever format it has: an Examination, and views of its filters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from math import isinf
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar, Unpack, cast

from parquet_bloom.container import Bits, Place, record
from parquet_bloom.container.missing_rows import MissingRows
from parquet_bloom.container.protocols import Chunk, Column, Outline, Overview
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.filters.k_hash import fpp_in
from parquet_bloom.filters.look_up import Membership
from parquet_bloom.filters.sizing import (
    BLOCK_BYTES,
    MAX_BYTES,
    MIN_BYTES,
    expected_fpp,
    largest_power_of_two,
)
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.options import ValidateOptions
from parquet_bloom.rules.finding import Details, Finding, finding
from parquet_bloom.rules.policy import ColumnPolicy, Policy

Spot: TypeAlias = "tuple[Place | None, str | None]"
"""The place and the column that a finding is about."""


@record
class FilterView:
    """A filter whose bits can be read: that of a chunk, or of one group in it.

    `num_values`: how many non-null values should be in it, as counted or else as the file says; None if
    unknown, or if readers find every value anyway. `membership`: None if the values were not looked up.
    If values are missing, `examples` are some of them, as literals, `missing_rows` their rows, and
    `diagnose` what the writer did instead, or what was tried. If bits come from no value, `foreign_from` is what they
    come from, None if that is not known. `lacking_form`: the rule about a form of the values that
    some readers look for and the filter lacks. `dictionary_bytes`: size of the dictionary page if it
    tells as much as the filter. `digest`: of the bits; None where equal filters mean nothing. `max_bits`: as
    many as the values that the file says there are can set; None if unknown.
    """

    chunk: Chunk
    place: Place
    bits: Bits
    policy: ColumnPolicy
    num_values: int | None
    membership: Membership | None = None
    examples: Callable[[], tuple[str, ...]] = tuple
    missing_rows: Callable[[], MissingRows | None] = lambda: None
    diagnose: Callable[[], Diagnosis | str | None] = lambda: None
    foreign_from: Callable[[], str | None] = lambda: None
    lacking_form: str | None = None
    dictionary_bytes: int | None = None
    digest: bytes | None = None
    max_bits: Callable[[], int | None] = lambda: None

    @cached_property
    def fpp_within_limit(self) -> float:
        """Of another filter of the same values, in the most bytes that the policy allows; 0 if that is not known."""
        limit = self.policy.max_bytes
        if limit is None:
            return 0.0
        if isinstance(self.bits, SplitBlockBloomFilter):
            return _fpp_within(limit, self.bits)
        ndv = self.bits.ndv_estimate
        return 0.0 if isinf(ndv) else fpp_in(limit, ndv)

    def finding(self, rule: str, message: str, **details: Unpack[Details]) -> Finding:
        return finding(rule, message, place=self.place, column=self.chunk.column.name, **details)

    @property
    def is_right(self) -> bool:
        """Whether all values were looked up and found."""
        return self.membership is not None and not self.membership.missing


def _fpp_within(limit: int, bits: SplitBlockBloomFilter) -> float:
    """Exact for a filter that is several times as large."""
    ndv = bits.ndv_estimate
    if not MIN_BYTES <= limit <= MAX_BYTES or isinf(ndv):
        return 0.0
    num_blocks = largest_power_of_two(limit // BLOCK_BYTES)
    factor, rest = divmod(bits.num_blocks, num_blocks)
    return expected_fpp(ndv, num_blocks) if rest or not factor else bits.fold(factor).fpp


class Twin(NamedTuple):
    """A filter that another part may have, too. `key`: of its chunk; `is_right`: whether all its values
    were found."""

    key: tuple[int, int]
    place: Place
    column: str
    digest: bytes
    is_right: bool


@dataclass(slots=True)
class Examined:
    """What is wrong, and how much was examined: filters, stored values (entries of a dictionary
    once), and pages that were decoded, of them `num_unsummed` without checksums. `num_locked`: encrypted chunks
    without a key, whose filters nobody sees. `has_lost_bytes`: whether nothing but another copy of the file helps,
    since this one has lost some, or gained some. `proofs`: by place and column, what the pages that nothing is wrong
    with prove of a filter that lacks their values. `fpp_within_limit`: by column, the highest of its filters;
    see FilterView."""

    findings: list[Finding] = field(default_factory=list)
    num_filters: int = 0
    num_values: int = 0
    num_pages: int = 0
    num_unsummed: int = 0
    num_locked: int = 0
    has_lost_bytes: bool = False
    proofs: dict[Spot, str] = field(default_factory=dict)
    fpp_within_limit: dict[str, float] = field(default_factory=dict)

    def add(self, other: Examined) -> None:
        self.findings += other.findings
        self.proofs |= other.proofs
        self.num_pages += other.num_pages
        self.num_unsummed += other.num_unsummed
        self.num_locked += other.num_locked
        self.num_filters += other.num_filters
        self.num_values += other.num_values
        self.note_fpp_within_limit(other.fpp_within_limit.items())

    def note_fpp_within_limit(self, of_columns: Iterable[tuple[str, float]]) -> None:
        for column, fpp in of_columns:
            self.fpp_within_limit[column] = max(fpp, self.fpp_within_limit.get(column, 0.0))


@dataclass(slots=True)
class ItemView:
    """What is seen of one item: what is wrong with how its filters are stored, the filters whose bits can be read,
    and why their values were not looked up. `num_filters`: those that `opening` did not count; `num_pages`: decoded;
    `num_unsummed`: of these, without checksums; `proofs`: see Examined."""

    findings: list[Finding] = field(default_factory=list)
    views: list[FilterView] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    num_filters: int = 0
    num_pages: int = 0
    num_unsummed: int = 0
    proofs: dict[Spot, str] = field(default_factory=dict)


ItemT = TypeVar("ItemT")
ColumnT = TypeVar("ColumnT", bound=Column)


@dataclass
class Examination(ABC, Generic[ItemT, ColumnT]):
    """How the filters of one file are examined: first `opening`, then each of the `items`, several
    at a time, then `closing`. The other methods are for rules about whole columns."""

    file: Overview
    options: ValidateOptions

    @cached_property
    def policy(self) -> Policy:
        return self.options.policy or Policy()

    @cached_property
    def columns(self) -> tuple[ColumnT, ...]:
        """The columns that were asked for."""
        return cast("tuple[ColumnT, ...]", cast("Outline", self.file).select(self.options.columns))

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """The parts that were asked for; what is wrong with the whole file is reported anyway."""
        return tuple(self.file.select_parts(self.options.parts))

    @abstractmethod
    def opening(self) -> Examined:
        """Whatever can be said before the bits of any filter are read."""

    def twins(self) -> Sequence[Twin]:
        """What may have twins among the filters that are no items, since `opening` found that no rule has
        anything else to say about them."""
        return ()

    @abstractmethod
    def items(self) -> Sequence[ItemT]:
        """What `view` takes: filters, or streams of them."""

    @abstractmethod
    def room(self, item: ItemT) -> int:
        """The most memory that viewing it takes, in bytes."""

    @abstractmethod
    def view(self, item: ItemT) -> ItemView:
        """Its filters, and what the values say if they are to be looked up."""

    def agreed_diagnoses(self) -> Mapping[Spot, Diagnosis]:
        """After all items: what to say of filters instead of what was said of each by itself, so that one mistake
        of a writer has one name."""
        return {}

    def about_writer(self, right: Collection[tuple[int, int]]) -> list[Finding]:
        """What is known about the writer; `right`: keys of chunks whose values were all found."""
        return []

    @abstractmethod
    def columns_called(self, name: str) -> Sequence[ColumnT]:
        """The columns of this name, asked for or not: none, one, or those that share it."""

    @abstractmethod
    def reason_for_none(self, column: ColumnT) -> str | None:
        """Why a column of this type gets no filter, as `build` says; None if it may."""

    def why_not_asked(self, column: ColumnT) -> str:
        """Why no engine will ask the filters that `build` adds to a column; empty if some may."""
        return ""

    def may_be_built(self, name: str) -> bool:
        """Whether `build` adds filters to columns of this name, if it has none."""
        return not any(map(self.reason_for_none, self.columns_called(name)))

    def room_for(self, name: str) -> int | None:
        """How many values the filters of columns of this name have to be sized for, if `build` has to be told, as by
        default, they may have room for fewer; None where it sees to that itself."""
        return None

    @abstractmethod
    def parts_without(self, column: ColumnT) -> Sequence[int]:
        """The parts, of those that were asked for, in which a column has no filters, as far as the file
        tells."""

    def columns_with_filters(self) -> list[str]:
        """Of those that were asked for, as far as the file tells."""
        num_parts = len(self.parts)
        return [each.name for each in self.columns if len(self.parts_without(each)) < num_parts]

    @abstractmethod
    def has_values(self, part: int, column: ColumnT) -> bool:
        """Whether there may be non-null values."""

    def deserves_filters(self, part: int, column: ColumnT) -> bool:
        """The same, except for chunks that writers rightly leave out."""
        return self.has_values(part, column)

    def is_hidden(self, part: int, column: ColumnT) -> bool:
        """Whether encryption hides if there are filters."""
        return False

    @abstractmethod
    def filter_bytes(self) -> int:
        """The size of all filters."""

    def closing(self) -> list[Finding]:
        """Whatever is reported last."""
        return []


AnyExamination: TypeAlias = Examination[Any, Any]
