"""What a file, its columns and its chunks are to whoever works on filters, whichever format it has.

    Overview      what is said about the file as a whole
    Outline       where everything is: parts, columns, chunks
    Askable       what its filters say about values
    Describable   what is stored, to be shown
    Examinable    what filters and values have in them, to be compared
    Changeable    how filters are built, removed, repaired
    Container     all of it: an open file

Columns and Chunks go only to the file that they came from, so that each format takes its own kind of them,
and the same is true of what `encode` returns.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from parquet_bloom.container import Answer, GroupAnswers, number_of
from parquet_bloom.errors import FormatError
from parquet_bloom.values.given import missing_among

if TYPE_CHECKING:
    from parquet_bloom.container import (
        AnswerToAll,
        BuildChange,
        Explanation,
        FoundIn,
        NoFilters,
        OneFilter,
        Place,
        ReadFilter,
        RepairChange,
        Repairs,
        StripChange,
        Units,
    )
    from parquet_bloom.container.column_filter import ColumnFilter
    from parquet_bloom.container.conditions import Condition, PartsLeft
    from parquet_bloom.container.descriptions import (
        ChunkDescription,
        FilterBytes,
        OnBits,
        PartDescription,
    )
    from parquet_bloom.container.footer_fields import FooterDescription
    from parquet_bloom.container.in_commands import InCommands
    from parquet_bloom.options import BuildOptions, RepairOptions, Selection
    from parquet_bloom.parallel import Progress
    from parquet_bloom.storage.source import FileEnd, Source
    from parquet_bloom.vocabulary import Dialect, Format, Verdict


class Column(Protocol):
    """A column that can have filters: a leaf of a Parquet schema, any column in ORC."""

    @property
    def name(self) -> str:
        """The dotted path, or what the table calls it that the file is opened for."""

    @property
    def physical_type(self) -> str: ...
    @property
    def logical_type(self) -> str | None: ...
    @property
    def searched_type(self) -> object:
        """Equal where look-ups search columns of several files as one: without an annotation that says nothing."""

    @property
    def is_in_list(self) -> bool:
        """Whether a row may have several of its values, or it is such a list or a map itself."""

    @property
    def is_member(self) -> bool:
        """Whether it is in no list, and a member of a struct: `id` of `user`, and not a column called `user.id`."""


class SchemaLeaf(Protocol):
    """A leaf of a Parquet schema, by what table formats find it: its `path` in the file, the field ids along that
    path, and `standard`, the same path with the format's names inside of lists and maps."""

    @property
    def index(self) -> int: ...
    @property
    def path(self) -> tuple[str, ...]: ...
    @property
    def standard(self) -> tuple[str, ...]: ...
    @property
    def field_ids(self) -> tuple[int | None, ...]: ...
    @property
    def field_id(self) -> int | None: ...


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
        """The size of its values in the file."""

    @property
    def has_filters(self) -> bool:
        """Whether the file claims filters of the format's own kind for it."""

    @property
    def num_filters(self) -> int:
        """How many those are, if it has any: one for each index group of a stripe."""


class Overview(Protocol):
    """An open file. `unverified`: why the footer of an encrypted file may have been
    replaced, None if it cannot have been."""

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
    def key_arguments(self) -> tuple[str, ...]:
        """The options that give a command the same keys; none if the file needs none."""

    @property
    def missing_key_arguments(self) -> tuple[str, ...]:
        """Those that give a command the key without which it cannot change the file; none if it can."""

    def missing_column_keys(self, names: Collection[str] | None) -> Mapping[str, tuple[str, ...]]:
        """Those that give a command the keys of columns for which there is none, by their names: of these, or of all
        for None, as far as the file has them."""

    @property
    def in_commands(self) -> InCommands:
        """How the command that helps next names it."""

    def stand_for(self, in_commands: InCommands) -> None:
        """Let that command name it otherwise."""

    @property
    def num_rows(self) -> int: ...
    @property
    def num_parts(self) -> int: ...
    @property
    def part_rows(self) -> Sequence[int]:
        """How many rows each part has."""

    @property
    def part_bytes(self) -> Sequence[int | None]:
        """How many bytes the values of each part take; None if what the footer says of them is encrypted,
        or missing."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all Columns: dotted paths, or what the table calls them that the file is opened
        for."""

    @property
    def leaves(self) -> Sequence[SchemaLeaf]:
        """Those of a Parquet schema, in the file's words; none in ORC."""

    @property
    def earlier_ends(self) -> tuple[int, ...]:
        """The sizes at which the file can be cut and is as it was before something was appended."""

    @property
    def ends_within(self) -> tuple[int, ...]:
        """Those of them at which it has no filter that it has not now, in the same place."""

    @property
    def obstacles(self) -> tuple[str, ...]:
        """What `build` would refuse the file for, or some of its columns, as far as the footer tells."""

    def __enter__(self) -> Self: ...
    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None: ...
    def close(self) -> None: ...

    def select_parts(self, wanted: Sequence[int] | None) -> tuple[int, ...]:
        """The numbers of these parts in order, checked; all of them for None. Raises ColumnError."""

    def describe_part(self, part: int) -> PartDescription:
        """One row group or stripe; its `columns` are left empty."""

    def lacks(self, name: str) -> bool:
        """Whether the table that the file is opened for, or another of the files that are united by name, has this
        column, and the file has not."""

    def is_without(self, name: str) -> bool:
        """Whether a file that is no table's certainly has not got a column, see by_name."""

    def is_of_partition(self, name: str) -> bool:
        """Whether the table that the file is opened for has the values of a column, by its partition, and no file."""


class Outline(Overview, Protocol):
    def column(self, name: str) -> Column:
        """The Column with this dotted path. Raises ColumnError, suggesting similar names."""

    def select(self, names: Sequence[str] | None) -> tuple[Column, ...]:
        """These Columns in file order, each once, without those that the file `lacks`; all of them for
        None. Raises as `column`."""

    def chunks(self, part: int, columns: Sequence[Column]) -> Iterator[Chunk]:
        """The Chunks of these selected Columns in one part."""

    def chunks_since(self, end: int) -> Sequence[Chunk]:
        """The Chunks with filters that they have not, or not there, in the file cut at this earlier end. Raises
        OSError."""

    def lost_rows_of(self, column: Column) -> tuple[str, ...]:
        """Which engines lose rows of this selected Column even with correct filters, a sentence each."""


class WithFilters(Outline, Protocol):
    """A file whose filters are about to be read."""

    def will_read_filters(
        self, parts: Sequence[int] | None, columns: Sequence[Column], num_values: int | None = None
    ) -> None:
        """Say that the filters of these selected Columns in these parts (None: all) will be read next:
        whole, or what so many values need. A remote source fetches them ahead. Raises OSError."""

    def room_for_filters(self, part: int, column: Column) -> int:
        """The most memory that the filters of one Chunk take, in bytes, as far as the footers tell."""


class Prober(Protocol):
    """Asks the filters of one column in one part, which are read once for all values; `asked` is what
    `encode` returned."""

    def answers(self, asked: object) -> Iterable[GroupAnswers]:
        """What each group answers; of many groups, one is asked when the one before has been looked at."""

    def explained(
        self, asked: object
    ) -> tuple[Sequence[GroupAnswers], Sequence[tuple[Explanation, ...]]]:
        """The same, and for each value what led to it."""


class Askable(WithFilters, Protocol):
    @property
    def pages_read(self) -> int:
        """How many data pages find_rows and read_rows have read."""

    @property
    def top_columns(self) -> tuple[str, ...]:
        """The names that read_rows knows: those of whole columns, with all that is nested in them."""

    def encode(self, column: Column, values: Sequence[Any]) -> object:
        """Values and literals, to ask Probers of a Column about. Raises ValueTypeError, naming file
        and column, if the column cannot hold one of them."""

    def answer_to_all(self, name: str) -> AnswerToAll | None:
        """What the file says of all values of a column but null, where it has nothing that could be asked about one:
        `absent` if its rows have none, `unknown` if they may have some. None for other columns, and where there is no
        such column."""

    def has_encrypted(self, names: Iterable[str]) -> bool:
        """Whether a column that one of these dotted names is that of, or of what it is nested in, is encrypted. Its
        values can be read all the same, with its key."""

    def unite_by_name(self, names: Iterable[str]) -> None:
        """Let it lack those of these columns that it is without: they are null in all its rows."""

    def caveat(self, column: Column) -> str | None:
        """What answers about a Column are not about, although it may seem so; None mostly."""

    def check_answers(self, parts: Sequence[int] | None, dialect: Dialect | None) -> None:
        """Raise FooterError if rows are in none of these parts (None: all) that could answer, ColumnError
        if there is no such part, UnsupportedError for a dialect that the format does not have."""

    def check_row_counts(self) -> None:
        """Raise FooterError if the rows of all parts are not those of the file: a part may be missing, and its rows,
        or be that of another file."""

    def num_groups(self, part: int) -> int:
        """How many answers there are about a value in a part. Raises FooterError."""

    def prober(
        self, column: Column, part: int, dialect: Dialect | None = None, seed: int | None = None
    ) -> Prober:
        """Asks the filters of a column in one part: those of this dialect (None: those that today's
        readers find); `seed`: of their hash, if the file does not say. Raises ColumnError, FooterError."""

    def parts_left(
        self, condition: Condition, parts: Sequence[int], by_filters: bool = True
    ) -> PartsLeft:
        """Those of these parts that may have rows which fulfil a condition, by statistics and, if wanted,
        `by_filters`. Raises ColumnError if there is no such column, TamperedError, FormatError for a damaged footer,
        OSError."""

    def within_bounds(
        self, column: Column, parts: Sequence[int], asked: object
    ) -> Mapping[int, Collection[int] | None]:
        """Those of these parts that min/max statistics do not exclude for all of the values, and their groups for
        which that is so, None for all. Their filters will be read next.
        Raises FormatError for a damaged footer, OSError."""

    def groups_within_bounds(
        self, column: Column, part: int, asked: object, values: Mapping[int, Sequence[int]]
    ) -> Collection[int]:
        """Those of some groups of a part that min/max statistics do not exclude for all of their `values`, which each
        has by their positions. Raises as within_bounds."""

    def not_sought(self, asked: object) -> Mapping[int, str]:
        """The values for which find_rows raises UnsupportedError in this file, by their positions, and why; those
        beside them are found without them."""

    def find_rows(
        self, column: Column, places: Mapping[int, Collection[int] | None], asked: object
    ) -> Iterator[FoundIn]:
        """The rows that hold values, in the order of parts and rows. `places`: by part, the data pages of the column
        to look into, all of them for None. Raises FormatError for damage, UnsupportedError if nothing here reads rows
        of the column or can look for a value, EncryptionError, OSError."""

    def will_read_rows(
        self, columns: Sequence[str], parts: Collection[int], column: Column | None = None
    ) -> None:
        """Say that rows of these parts will be read of whole columns, as far as the file has them, and looked for in
        a `column` before. Raises OSError."""

    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any:
        """Top-level columns of some rows of each part, ascending, part by part, as a pyarrow.Table. Without any
        rows, it only says of which types the columns are. Raises ColumnError, FormatError for damage,
        UnsupportedError if nothing here reads the rows, EncryptionError, OSError."""

    def bloom_filter(self, wanted: OneFilter) -> ColumnFilter:
        """One filter, read whole. Raises ColumnError if there is no such column, part or group, FilterError
        if it has no usable filter, UnsupportedError for a group or a dialect that the format has not."""


class Describable(WithFilters, Protocol):
    @property
    def compression(self) -> str | None:
        """The codec of the whole file; None if every column has its own."""

    @property
    def row_index_stride(self) -> int | None:
        """Rows per index group, 0 without an index; None in a format that has none."""

    @property
    def has_views(self) -> bool:
        """Whether readers make views of text, which they cannot compare; not of a file that is encrypted."""

    def end_as_called(self) -> FileEnd:
        """Its end for readers that know no names but those in it: with those of the table that it is opened for, and
        without views. Raises UnsupportedError if it is encrypted, or not Parquet."""

    def check_has_blocks(self, what: str) -> None:
        """Raise UnsupportedError, about `what`, if the format's filters have no blocks."""

    def check_has_groups(self) -> None:
        """Raise UnsupportedError if parts have no groups with filters of their own."""

    def describe_chunks(
        self,
        part: int,
        columns: Sequence[Column],
        groups: bool = False,
        on_bits: OnBits | None = None,
    ) -> Iterator[ChunkDescription]:
        """The filters of the Chunks of these Columns in one part, or why one has none; `groups`: also
        group by group. `on_bits` is called with what returns the bits of a filter before its chunk
        comes."""

    def describe_footer(
        self, columns: Sequence[Column] | None = None, parts: Sequence[int] | None = None
    ) -> FooterDescription:
        """Every field of a Thrift footer, without what concerns other Columns (None: all) or parts.
        Raises FooterError, ColumnError, UnsupportedError if the format has none."""

    def stored_filter(
        self,
        column: str,
        part: int,
        group: int | None = None,
        dialect: Dialect | None = None,
        seed: int | None = None,
        decrypt: bool = False,
        unparsed: bool = False,
    ) -> FilterBytes:
        """The bytes of one filter, see verbs.dump."""


class Examinable(WithFilters, Protocol):
    @property
    def fingerprint(self) -> str:
        """Equal only for a file that has not changed."""

    @property
    def page_notes(self) -> tuple[str, ...]:
        """What to know about the pages that were read."""

    def ignore_checksums(self) -> None:
        """Read pages whatever their checksums say, in a format that has any."""

    def will_read_values(self, chunks: Sequence[Chunk]) -> None:
        """Say that the values of these Chunks will be read next, as will_read_filters does."""

    def read_filters(self, part: int, column: Column) -> Sequence[ReadFilter] | NoFilters:
        """The filters of the format's own kind of one Chunk, group by group."""

    def private_filters(self, columns: Sequence[Column]) -> Mapping[str, int]:
        """How many legacy filters of these Columns only pbloom would find, by dialect."""


class Changeable(Examinable, Protocol):
    def build(self, options: BuildOptions, progress: Progress | None = None) -> BuildChange:
        """Add filters of the dialect that `options` ask for. `progress`: called with (Chunks done, Chunks in
        all). Raises TypeError if `dialect` is none, ColumnError, UnsupportedError, RewriteError, FormatError,
        EncryptionError."""

    def strip(self, selection: Selection) -> StripChange:
        """Remove filters of any dialect from a Selection. Raises as `build`."""

    def repair(
        self, repairs: Repairs, options: RepairOptions, progress: Progress | None = None
    ) -> RepairChange:
        """Repair filters. Raises as `build`."""


class Container(Askable, Describable, Changeable, Protocol):
    """An open file."""


def answers_to_all(
    file: Overview, parts: Sequence[int] | None, told: AnswerToAll, values: Sequence[Any]
) -> Iterator[GroupAnswers]:
    """What each of these parts says about values, which is the same about all of them; where a column is null,
    nothing is said about null, and about NaN, which stands for it in some libraries. Raises FormatError if there is
    not even one part that could answer."""
    if file.num_rows and not file.num_parts:
        raise FormatError(f"{file.path}: {number_of(file.num_rows, 'row')} in no {file.units.part}")
    wanted, first_row = {*file.select_parts(parts)}, 0
    picks = [0] * len(values)
    for at in missing_among(values):
        picks[at] = 1
    for number, part in enumerate(map(file.describe_part, range(file.num_parts))):
        if number in wanted:
            verdicts: tuple[Verdict, Verdict] = told.verdict, "unknown"
            answers = [
                Answer(part.place, verdict, told.reason, part.num_rows, first_row)
                for verdict in verdicts
            ]
            yield GroupAnswers(answers, picks, 0.0 if told.verdict == "absent" else None)
        first_row += part.num_rows
