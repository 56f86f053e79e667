"""What a file is to a verb, whichever format it has.

    Container   a file: parts, columns, and what is done with their filters
    part        a row group, or a stripe
    group       what readers skip: the row group itself, or one index group of a stripe
    Chunk       one column in one part
    Place       a part, and in it a group where it is about one
    Change      what becomes of a file, see storage.new_version, which writes it

`parquet.file` and `orc.file` are the containers, `files.open` chooses. Verbs, renderers, commands
and Spark know nothing else of a format.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol, Self

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.records import record
from parquet_bloom.storage.new_version import Change
from parquet_bloom.vocabulary import Format, Verdict

if TYPE_CHECKING:
    from types import TracebackType

    from parquet_bloom.parallel import Progress
    from parquet_bloom.storage.source import Source
    from parquet_bloom.vocabulary import Dialect, LiteralType

# Of a field that is left out of JSON where it is None: not every format has such a thing.
WHERE_KNOWN: Final[Mapping[str, Any]] = {"where_known": True}


# ------------------------------------------------------------------------------------------------
# Places


@dataclass(frozen=True, slots=True)
class Units:
    """What a format calls its parts, and what of them readers skip."""

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


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A part of a file, and a group of it where not all of the part is concerned."""

    part: int
    group: int | None = None
    units: Units = field(default=ROW_GROUPS, compare=False, repr=False)

    def __str__(self) -> str:
        """`row group 3`; `stripe 1, index group 2`"""
        part = f"{self.units.part} {self.part}"
        return part if self.group is None else f"{part}, {self.units.group} {self.group}"


class Located:
    """Lets a result be asked for its place by the names of its format."""

    __slots__ = ()

    place: Place | None

    @property
    def row_group(self) -> int | None:
        """None in a format without row groups, or where it is about the whole file."""
        return self._part_of(ROW_GROUPS)

    @property
    def stripe(self) -> int | None:
        return self._part_of(STRIPES)

    @property
    def index_group(self) -> int | None:
        return None if self.place is None else self.place.group

    def _part_of(self, units: Units) -> int | None:
        return self.place.part if self.place is not None and self.place.units == units else None


# ------------------------------------------------------------------------------------------------
# What is known of filters


@record
class FilterDescription:
    """The filters of one chunk as they are stored: one, or one for each group.

    `offset` is None inside the footer; `length` is what the file says, None if nothing;
    `stored_bytes` is what they take in the file. `num_bytes`: of all bitsets; `fill` and `fpp`,
    which is computed from the bits, are means over the groups; `worst_fpp` and `ndv_estimate` are
    the most of one group, the latter None if every bit of a filter is set. `encrypted`: they lie in
    envelopes, which count.

    Only split block filters have blocks, a header, an algorithm and a compression; only k-hash
    filters a number of hashes and of bits of each, None too where groups differ; only ORC has
    streams, a bloomEncoding, and the mark of pbloom.
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
    """A filter in memory, of whichever kind."""

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


@dataclass(frozen=True, slots=True)
class Answer(Located):
    """What the filter of one group says of a value: `num_rows` rows from `first_row`, counted from
    the start of the file. `reason` says why the verdict is `unknown`."""

    place: Place
    verdict: Verdict
    reason: str | None
    num_rows: int
    first_row: int


@dataclass(frozen=True, slots=True)
class Explanation(Located):
    """How one hash of a value meets the filter of one group: see filters.look_up.LookUp.

    `plain`: the stored bytes that are hashed, in hexadecimal. `reason`: why the verdict is `unknown`.
    """

    place: Place
    value: str
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
    """One filter that was read whole. `says`: what must be the same in two filters beside the bits,
    and how a message names it."""

    bits: Bits
    description: FilterDescription
    says: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NoFilters:
    """Why there are none in a chunk; or why those of so many groups are `unreadable`."""

    reason: str
    unreadable: int = 0


# ------------------------------------------------------------------------------------------------
# Changes


@dataclass(frozen=True, slots=True)
class BuiltFilters(Located):
    """Filters that were added for one chunk: one, or one for each group.

    `num_values`: of the chunk, in a Parquet file with nulls; `num_bytes`: the largest bitset; `fpp`:
    the highest, computed from the bits. `offset` and `length`: where they lie, `offset` None where they became a
    part of the footer. `num_bits` and `num_hashes`: of each k-hash filter.
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
    """Filters that were removed from one chunk. `offset`: where they lay, None inside the footer or
    where nobody knows; `stream` and `length`: the kind and size of the stream that they were."""

    place: Place
    column: str
    num_filters: int
    offset: int | None
    stream: str | None = field(default=None, metadata=WHERE_KNOWN)
    length: int | None = field(default=None, metadata=WHERE_KNOWN)


@dataclass(frozen=True, slots=True)
class LeftChunk(Located):
    """A chunk to which something was not done that was asked for, and why."""

    place: Place
    column: str
    reason: str


class BuildChange(Change):
    """New filters. Once it is composed, `filters` and `skipped` say what became of each chunk, and
    `notes` what to know of the filters."""

    filters: list[BuiltFilters]
    skipped: list[LeftChunk]
    notes: Sequence[str] = ()

    @property
    def planned(self) -> Sequence[Any]:
        """The Chunks that want filters which can be built elsewhere: by `built` of the same change
        of the same file."""
        return ()

    def built(self, chunks: Sequence[Any]) -> Generator[tuple[Any, Any]]:
        """Each of these Chunks, in turn, with its filter, or with why it gets none."""
        yield from ()

    def take(self, filters: Generator[tuple[Any, Any]]) -> None:
        """Write what `built` has given elsewhere for all that is planned."""


class StripChange(Change):
    """No filters any more: which are `removed`, and what of them is `left`."""

    removed: Sequence[RemovedFilters] = ()
    left: Sequence[LeftChunk] = ()


@dataclass(frozen=True, slots=True)
class Repairs:
    """What is to become of filters, by Chunk in file order.

    `dropped`: they go, unless others are built. `resized`: the file says how long they are. `rebuilt`:
    others are built, if they can be; if not, those stay that are not dropped.
    """

    dropped: tuple[Any, ...] = ()
    resized: tuple[Any, ...] = ()
    rebuilt: tuple[Any, ...] = ()

    @property
    def is_idle(self) -> bool:
        return not (self.dropped or self.resized or self.rebuilt)


class RepairChange(Change):
    """Repairs. Once it is composed, by the keys of Chunks: where filters were `built` or `resized`,
    offset and length, and why some were `not_built`. `remains`: Chunks, and what is still to be seen
    of filters that they have lost."""

    built: Mapping[tuple[int, int], tuple[int, int]]
    not_built: Mapping[tuple[int, int], str]
    resized: Mapping[tuple[int, int], tuple[int, int]] = MappingProxyType({})
    remains: Sequence[tuple[Any, str]] = ()


# ------------------------------------------------------------------------------------------------
# Files


class Column(Protocol):
    """A column that can have filters: a leaf of Parquet's schema, any column of ORC."""

    @property
    def name(self) -> str:
        """The dotted path."""

    @property
    def physical_type(self) -> str: ...
    @property
    def logical_type(self) -> str | None: ...


class Chunk(Protocol):
    """One column in one part. `where` names both, `key` is their numbers."""

    @property
    def key(self) -> tuple[int, int]: ...
    @property
    def column(self) -> Column: ...
    @property
    def place(self) -> Place: ...
    @property
    def where(self) -> str: ...
    @property
    def stored_bytes(self) -> int:
        """What its values take in the file."""

    @property
    def has_filters(self) -> bool:
        """Whether the file says that there are filters of the format's own kind."""


class Container(Protocol):
    """An open file. `unverified`: why its footer can be another one than was written, or None."""

    @property
    def format(self) -> Format: ...
    @property
    def units(self) -> Units: ...
    @property
    def source(self) -> Source: ...
    @property
    def path(self) -> str: ...
    @property
    def created_by(self) -> str: ...
    @property
    def is_encrypted(self) -> bool: ...
    @property
    def unverified(self) -> str | None: ...
    @property
    def num_rows(self) -> int: ...
    @property
    def num_parts(self) -> int: ...
    @property
    def fingerprint(self) -> str:
        """The same only for a file that has not changed."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None: ...
    def close(self) -> None: ...

    def parts(self, wanted: Sequence[int] | None) -> tuple[int, ...]:
        """These parts in order, checked; all of them for None. Raises ColumnError."""

    def select(self, names: Sequence[str] | None) -> tuple[Any, ...]:
        """These Columns in file order, without repetition; all of them for None. Raises
        ColumnError, naming the close ones."""

    def chunks(self, part: int, columns: Sequence[Any]) -> Iterator[Any]:
        """The Chunks of these columns, which `select` gave, in one part."""

    def build(self, options: Any, progress: Progress | None = None) -> BuildChange:
        """Filters of the format's own kind, by BuildOptions. `progress`: told how many Chunks are
        done, and of how many. Raises ColumnError, UnsupportedError, RewriteError, FormatError,
        EncryptionError."""

    def strip(self, selection: Any) -> StripChange:
        """No filters of the format's own kind for a Selection. Raises as build."""

    def repair(
        self, repairs: Repairs, options: Any, progress: Progress | None = None
    ) -> RepairChange:
        """Repaired filters, those that are built by RepairOptions. Raises as build."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The dotted paths of all Columns."""

    def column(self, name: str) -> Any:
        """The Column with this dotted path. Raises ColumnError, naming the close ones."""

    def encode(self, column: Any, value: Any) -> Any:
        """A Python or numpy value of a Column, to ask Probers about. Raises ValueTypeError if the
        column cannot hold it."""

    def read_literal(self, column: Any, text: str, read_as: LiteralType | None) -> Any:
        """A literal, likewise; `read_as`: what type it is of, None: the column's."""

    def probers(self, column: Any, dialect: Dialect | None, seed: int | None) -> Iterator[Prober]:
        """One for each part in order, for the filters of this dialect, or those that readers of
        today are led to; `seed`: of their hash, if nothing in the file tells it. Raises
        UnsupportedError for a dialect that the format does not have, FooterError."""

    @property
    def row_index_stride(self) -> int | None:
        """Rows of an index group, 0 without an index; None in a format that has none."""

    def read_filters(self, part: int, column: Any) -> Sequence[ReadFilter] | NoFilters:
        """The filters of one Chunk, those of the format's own kind, group by group."""

    def private_filters(self, columns: Sequence[Any]) -> Mapping[str, int]:
        """How many legacy filters of these Columns only pbloom looks for, by dialect."""


class Prober(Protocol):
    """Asks the filters of one column in one part, which are read once for all values."""

    def answers(self, asked: Any) -> tuple[Answer, ...]:
        """One for each group, about what `encode` or `read_literal` gave. Raises TamperedError."""

    def explained(self, asked: Any) -> tuple[tuple[Answer, ...], tuple[Explanation, ...]]:
        """The same, and what led to it. Raises TamperedError."""


def check_comparable(a: Container, b: Container) -> None:
    """Raise UnsupportedError for files whose filters have nothing in common."""
    if a.format != b.format:
        raise UnsupportedError(
            f"{a.path} and {b.path}: {a.format} and {b.format}, expected files of one format"
        )
