"""What a file is to a verb, whichever format it has.

    Container   an open file: parts, columns, and what can be done with their filters
    part        a row group, or a stripe
    group       what readers skip: the row group itself, or an index group of a stripe
    Chunk       one column in one part
    Place       a part, and a group if only one is meant
    Change      how a file changes; storage.new_version writes it

The protocols are in `protocols`; here is what formats and verbs hand each other, and what they
report. `parquet.file` and `orc.file` are the containers, and `files.open` chooses one.
Verbs, renderers, commands and Spark know nothing else of a format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, TypeVar, dataclass_transform

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import quoted_name
from parquet_bloom.filters.rates import percent
from parquet_bloom.filters.sizing import HIGH_FPP, USELESS_FPP
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.storage.change import Change

if TYPE_CHECKING:
    from parquet_bloom.vocabulary import Dialect, Format, Verdict

    # The number of an answer for each value: an array of many, shape (n,).
    Picks = Sequence[int] | NDArray[np.integer]

RecordT = TypeVar("RecordT")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[RecordT]) -> type[RecordT]:
    """A dataclass that only type checkers hold to be frozen, for what a file can have 100,000 of:
    making a truly frozen one takes eight times as long, most of the time to inspect a filter."""
    return dataclass(unsafe_hash=True)(cls)


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def slim_record(cls: type[RecordT]) -> type[RecordT]:
    """A record that takes two thirds of the memory, for what a file can have a million of: it has slots,
    and is not as quickly copied."""
    return dataclass(unsafe_hash=True, slots=True)(cls)


# Marks a field that JSON leaves out if it is None, because not every format has it.
WHERE_KNOWN: Final[Mapping[str, object]] = {"where_known": True}
# Metadata of a field that is in no document, as it has something for each of a million files, or means nothing there.
IN_PYTHON: Final[Mapping[str, object]] = {"in_python": True}
# Of one with a value that was asked for, or several, which are text in documents and tables.
AS_TEXT: Final[Mapping[str, object]] = {"as_text": True}


class Units(NamedTuple):
    """What a format calls its parts, and the groups that readers skip."""

    part: str
    group: str

    @property
    def has_groups(self) -> bool:
        """Whether a part has several groups, each with a filter of its own."""
        return self.part != self.group


ROW_GROUPS: Final = Units("row group", "row group")
STRIPES: Final = Units("stripe", "index group")

UNITS: Final[Mapping[Format, Units]] = {"parquet": ROW_GROUPS, "orc": STRIPES}


def number_of(count: int, noun: str) -> str:
    """`1 row group`, `1,024 row groups`"""
    return f"{count:,} {noun}" + ("" if count == 1 else "s")


# In texts.
NUMBER: Final = re.compile(r"\d+(?:[.,]\d+)*")


def one_of(count: int, nouns: str, whole: str) -> str:
    """What is expected of an ordinal: `expected 0 to 3`, and of none, `the file has no stripes`."""
    return f"expected 0 to {count - 1}" if count else f"the {whole} has no {nouns}"


@lru_cache(maxsize=4096)
def without_numbers(text: str) -> str:
    """The same for texts that differ only in numbers."""
    return NUMBER.sub("#", text)


def of_columns(names: Collection[str], statement: str) -> str:
    """`column a: …`, `columns a, b: …`"""
    return (
        f"column{'s' if len(names) > 1 else ''} {', '.join(map(quoted_name, names))}: {statement}"
    )


def some_of(count: int, every: int, noun: str) -> str:
    """`1 of 5 files`; `5 files` for all of them, and for none, which is so in all."""
    return f"{count:,} of {number_of(every, noun)}" if 0 < count < every else number_of(every, noun)


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A part of a file, or one group of it."""

    part: int
    group: int | None = None
    units: Units = field(default=ROW_GROUPS, compare=False, repr=False)

    def __str__(self) -> str:
        """`row group 3`; `stripe 1, index group 2`"""
        part = f"{self.units.part} {self.part}"
        return part if self.group is None else f"{part}, {self.units.group} {self.group}"

    @property
    def row_group(self) -> int | None:
        """None in a format without row groups."""
        return self.part if self.units == ROW_GROUPS else None

    @property
    def stripe(self) -> int | None:
        """None in a format without stripes."""
        return self.part if self.units == STRIPES else None


class OneFilter(NamedTuple):
    """One filter: of a column in a part, or in one group of it; None if there is only one. `dialect`: by
    default, the one that readers find, or else a private one; `seed`: of its hash, if the file does not
    say."""

    part: int
    column: str
    group: int | None = None
    dialect: Dialect | None = None
    seed: int | None = None


class Located:
    """A result whose place can be read by the names of its format."""

    __slots__ = ()

    place: Place | None

    @property
    def row_group(self) -> int | None:
        """None in a format without row groups, or if the whole file is meant."""
        return None if self.place is None else self.place.row_group

    @property
    def stripe(self) -> int | None:
        return None if self.place is None else self.place.stripe

    @property
    def index_group(self) -> int | None:
        return None if self.place is None else self.place.group


@record
class FilterDescription:
    """The stored filters of one chunk: one, or one per group.

    `offset` is None for a filter inside the footer, `length` is what the file says (None if it says
    nothing), and `stored_bytes` what the filters take up in the file. `num_bytes`: all bitsets
    together; `fill` and `fpp` (computed from the bits): the mean over the groups; `worst_fpp` and
    `ndv_estimate`: the highest of any group, the estimate None if a filter has every bit set.
    `encrypted`: the filters are stored in encryption envelopes, which count.

    Only split block filters have blocks, a header, an algorithm and a compression. Only k-hash
    filters have a number of hashes and of bits, which is None if groups differ. Only ORC has
    streams, a bloomEncoding, and pbloom's mark.
    """

    dialect: str
    offset: int | None
    length: int | None
    stored_bytes: int
    num_filters: int
    num_bytes: int
    fill: float
    fpp: float
    worst_fpp: float
    ndv_estimate: float | None
    encrypted: bool = False
    header_bytes: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_blocks: int | None = field(default=None, metadata=WHERE_KNOWN)
    algorithm: str | None = field(default=None, metadata=WHERE_KNOWN)
    hash: str | None = field(default=None, metadata=WHERE_KNOWN)
    compression: str | None = field(default=None, metadata=WHERE_KNOWN)
    stream: str | None = field(default=None, metadata=WHERE_KNOWN)
    bloom_encoding: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_hashes: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_bits: int | None = field(default=None, metadata=WHERE_KNOWN)
    marked: bool | None = field(default=None, metadata=WHERE_KNOWN)


class Bits(Protocol):
    """A filter of any kind, in memory."""

    @property
    def words(self) -> Array: ...
    @property
    def num_bytes(self) -> int: ...
    @property
    def bits_set(self) -> int: ...
    @property
    def fill(self) -> float: ...
    @property
    def fpp(self) -> float: ...
    @property
    def ndv_estimate(self) -> float: ...


@slim_record
class Answer(Located):
    """What the filter of one group says about a value: `num_rows` rows from `first_row`, counted
    from the start of the file. `reason`: why the verdict is `unknown`, `maybe` although the filter has
    not got it, or `absent` without a filter."""

    place: Place
    verdict: Verdict
    reason: str | None
    num_rows: int
    first_row: int


class AnswerToAll(NamedTuple):
    """What a file says of all values of a column, of which it has none to ask, and why."""

    verdict: Verdict
    reason: str


class GroupAnswers(NamedTuple):
    """What one group answers about many values: `distinct[picks[i]]` about value i. `fpp`: the rate of false
    positives, computed from the bits; None if not all of them were read, or there is no filter. `seems_full`: all
    bits that were read are set, those of a block at least. `was_asked`: whether a filter was,
    about any of the values."""

    distinct: Sequence[Answer]
    picks: Picks
    fpp: float | None = None
    seems_full: bool = False
    was_asked: bool = False

    @property
    def are_absent(self) -> bool:
        """Whether the group certainly has none of the values."""
        return all(answer.verdict == "absent" for answer in self.given)

    @property
    def not_absent(self) -> Sequence[int]:
        """The values that the group may have, by their positions."""
        may_have = [answer.verdict != "absent" for answer in self.distinct]
        if hasattr(self.picks, "tolist"):
            found: Any = np.flatnonzero(np.array(may_have)[self.picks])
            positions: Sequence[int] = found
            return positions
        return [at for at, pick in enumerate(self.picks) if may_have[pick]]

    @property
    def given(self) -> list[Answer]:
        """The answers about any of the values, each once."""
        picks = self.picks
        used = np.flatnonzero(np.bincount(picks)).tolist() if hasattr(picks, "tolist") else {*picks}
        return [self.distinct[pick] for pick in used]


@dataclass(frozen=True, slots=True)
class Explanation(Located):
    """How the filter of one group answers for one hash of a value: see filters.look_up.LookUp.

    `value`: as Python has it, the text of a literal. `plain`: the stored bytes that are hashed, in hexadecimal.
    `reason`: why nothing was looked up.
    """

    place: Place
    value: Any = field(metadata=AS_TEXT)
    hash: str
    bits: tuple[int, ...]
    clear: tuple[int, ...]
    reason: str | None
    plain: str | None = field(default=None, metadata=WHERE_KNOWN)
    block: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_blocks: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_hashes: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_bits: int | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class ReadFilter:
    """One filter, read in full. `says`: what must be equal in two filters besides the bits, by the
    name that messages give it."""

    bits: Bits
    description: FilterDescription
    says: Mapping[str, str]


class FoundIn(NamedTuple):
    """Rows of a part that hold values, and the position of each value in what was asked: arrays of one length."""

    part: int
    rows: Array
    values: Array


@dataclass(frozen=True, slots=True)
class NoFilters:
    """Why a chunk has no filters, or why those of so many groups are `unreadable`."""

    reason: str
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class BuiltFilters(Located):
    """Filters that were added for one chunk: one, or one per group.

    `num_values`: of the chunk, nulls included in a Parquet file; `num_bytes`: the largest bitset;
    `fpp`: the highest, computed from the bits. `offset` is None for a filter inside the footer.
    `num_bits` and `num_hashes`: of each k-hash filter.
    """

    place: Place
    column: str
    num_values: int
    num_filters: int
    num_bytes: int
    fpp: float
    offset: int | None
    length: int
    num_bits: int | None = field(default=None, metadata=WHERE_KNOWN)
    num_hashes: int | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class RemovedFilters(Located):
    """Filters that were removed from one chunk. `offset`: where they were, None inside the footer or
    if unknown; `stream` and `length`: the kind and size of the stream that they were."""

    place: Place
    column: str
    num_filters: int
    offset: int | None
    stream: str | None = field(default=None, metadata=WHERE_KNOWN)
    length: int | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class LeftChunk(Located):
    """A chunk that was left as it is although it was asked for, and why."""

    place: Place
    column: str
    reason: str


class BuildChange(Change):
    """New filters. Once composed, `filters` and `skipped` say what became of each chunk, and `notes`
    what to know about the filters. `replaced`: part and column of each chunk that loses filters that it had,
    with no earlier end that still has them. `judge`: called before they are gone with those that may lack values that
    are stored; returns notes, or raises."""

    filters: list[BuiltFilters]
    skipped: list[LeftChunk]
    notes: Sequence[str] = ()
    replaced: Collection[tuple[int, str]] = ()
    judge: Callable[[Collection[tuple[int, str]]], Iterable[str]] | None = None

    def too_full(self) -> Iterator[str]:
        """The columns with filters that a look-up of an absent value often passes, and the rule that says so."""
        highest: dict[str, float] = {}
        for each in self.filters:
            highest[each.column] = max(each.fpp, highest.get(each.column, 0.0))
        for column, fpp in highest.items():
            if fpp > HIGH_FPP:
                rule = (
                    "PB301"
                    if fpp > USELESS_FPP
                    else "PB302, unless --max-fpp of validate allows it"
                )
                yield f"column {column}: up to {percent(fpp)} of absent values pass its filters ({rule})"

    @property
    def planned(self) -> Sequence[Any]:
        """The Chunks whose filters can be built elsewhere, by `built` of an equal change."""
        return ()

    def built(self, chunks: Sequence[Any]) -> Generator[tuple[Any, Any]]:
        """Each of these Chunks, in turn, with its filter, or with why it gets none."""
        yield from ()

    def take(self, filters: Generator[tuple[Any, Any]]) -> None:
        """Write what `built` yielded elsewhere for all `planned` Chunks."""


class StripChange(Change):
    """Filters that go, `removed`, and those that cannot, `left`. `unused_filters`, `unused_bytes`: of the
    filters to which nothing leads any more, those whose bytes stay. `notes`: what else stays."""

    removed: Sequence[RemovedFilters] = ()
    left: Sequence[LeftChunk] = ()
    unused_filters: int = 0
    unused_bytes: int = 0
    notes: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Repairs:
    """What to do with filters, by Chunk in file order.

    `dropped`: remove them, unless others are built. `resized`: record their length. `rebuilt`: build
    others; if that fails, those that are not dropped stay.
    """

    dropped: tuple[Any, ...] = ()
    resized: tuple[Any, ...] = ()
    rebuilt: tuple[Any, ...] = ()

    @property
    def is_idle(self) -> bool:
        return not (self.dropped or self.resized or self.rebuilt)


class RepairChange(Change):
    """Repairs. Once composed, by the keys of Chunks: offset and length of filters that were `built`
    or `resized`, and why some were `not_built`; those whose data are `damaged`. `remains`: Chunks, and what can
    still be seen of the filters that they have lost."""

    built: Mapping[tuple[int, int], tuple[int, int]]
    not_built: Mapping[tuple[int, int], str]
    damaged: Collection[tuple[int, int]]
    resized: Mapping[tuple[int, int], tuple[int, int]] = MappingProxyType({})
    remains: Sequence[tuple[Any, str]] = ()
