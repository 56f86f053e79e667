"""What a table is to a verb, whichever kind it is.

    | the old file, whole     | filters | new footer |
    0            recorded size                     size

A table records the size of each file. Something is appended to its files, so that they are right for
readers that go by the recorded size, and for those that go by the size itself. Then a commit records
the new sizes.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, date, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol, Self, cast

from parquet_bloom.container.in_commands import AsTable
from parquet_bloom.container.protocols import Askable, Container, Overview, SchemaLeaf
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import engine_notes
from parquet_bloom.errors import ColumnError, UnsupportedError, did_you_mean, no_column
from parquet_bloom.files import Opener, open_parquet
from parquet_bloom.native.lazy import np
from parquet_bloom.parallel import read_once
from parquet_bloom.storage import open_source
from parquet_bloom.storage.traffic import Requests
from parquet_bloom.vocabulary import TableKind

if TYPE_CHECKING:
    from parquet_bloom.container.data_file import ParquetFile
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.engines.engine import InTables, Situation
    from parquet_bloom.native.lazy import Array
    from parquet_bloom.storage.source import FileEnd

# Smaller files an engine may not be able to read any more, see the notes on "longer than recorded".
MIN_FILE_SIZE: Final = 4 << 20

# Why a file is left out of a commit.
GONE: Final = "is not in the table any more"
SHORTER: Final = "is shorter now than it was, or gone"
OTHERS: Final = "another writer has recorded another size in the meantime"


@dataclass(frozen=True, slots=True)
class TableFile:
    """A live data file. `name`: as the table has it; `path`: to be opened; `size`: as recorded, in
    bytes; `partition`: the text of each partition column's value, None for null, by logical name,
    of the columns that its partition has; `num_deleted`: rows that a deletion vector marks as deleted,
    which are still in the file; `unfit`: why nothing can be appended to it; `same`: by field id, the values that
    columns of the file have in all its rows, as its partition has them."""

    name: str
    path: str
    size: int
    partition: Mapping[str, str | None] = field(default_factory=dict)
    num_deleted: int = 0
    unfit: str | None = None
    same: Mapping[int, Any] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class NewSize:
    """What to record of a file: `new` bytes in place of `old`."""

    old: int
    new: int


@dataclass(frozen=True, slots=True)
class Committed:
    """What became of a commit. `version`: that it made; None if there was nothing to say any more.
    `left`: why files were left out, by name; `there`: those whose new sizes others have recorded first."""

    version: int | None
    left: Mapping[str, str] = field(default_factory=dict)
    there: Collection[str] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns that a table's properties want filters for, by logical name, with the false positive
    rate for each, None for the usual one. `example`: a property that would name one; `max_bytes`: of the
    largest bitset, None for the usual one; `unknown`: names that they have for no column; `odd`: properties whose
    values say nothing, in sentences."""

    columns: Mapping[str, float | None]
    example: str
    max_bytes: int | None = None
    unknown: tuple[str, ...] = ()
    odd: tuple[str, ...] = ()


class Moment(NamedTuple):
    """At which version a table is meant, by its number, a time, or the `name` of a branch or tag; none of them: the
    newest."""

    version: int | None = None
    as_of: datetime | None = None
    name: str | None = None


class StoredNames(Protocol):
    """What data files call the columns of a table; a value, which other processes can be sent."""

    def called(self, file: Overview) -> Mapping[int, str]:
        """What the table calls the columns of an open data file, by their place in it; those that are
        none of the table's are left out. Raises UnsupportedError, FormatError for a file that does not
        say."""

    def may_be(self, leaf: SchemaLeaf, column: str) -> bool:
        """Whether a leaf of a file that is called as no column of the table may be this one to some reader all the
        same: in other letters, without the id that it should have, or in a list that is made otherwise."""

    def stored_as(self, column: str) -> str:
        """What stays the same of a column of the table while files have its values in the same place, whatever it is
        called by now; empty if files call it by that name."""


def names_in_table(names: StoredNames, file: Overview) -> dict[str, str]:
    """What the table calls the columns of an open data file, by what the file calls them. Raises as
    StoredNames."""
    columns = file.columns
    return {columns[place]: name for place, name in names.called(file).items()}


def names_inside(
    names: StoredNames, file: Container, called: Mapping[str, str], column: str
) -> Sequence[str]:
    """What an open data file calls the leaf columns that are meant by a name that is none of those it is `called` by,
    as names_in_table has them: leaves of a VARIANT, or of a field of one (`v:a`), of which only files know; or one
    for which somebody has other names inside of lists and maps."""
    in_file = column if not names.stored_as(column) else _in_variant(called, column)
    try:
        return [leaf.name for leaf in file.select([in_file])] if in_file else ()
    except ColumnError:
        # Writers choose anew for each file what they shred.
        return ()


def _in_variant(called: Mapping[str, str], column: str) -> str | None:
    variant, colon, field = column.partition(":")
    for stored, name in called.items():
        if name.startswith(f"{variant}."):
            return f"{stored.removesuffix(name.removeprefix(variant))}{colon}{field}"
    return None


# A type as Delta Lake calls it.
_VARIANT: Final = "variant"

# The groups between a list or map and its values, which only files have, and what is in these.
GROUPS: Final = frozenset(("list", "key_value"))
IN_GROUPS: Final = frozenset(("element", "key", "value"))


def _other_inside(names: StoredNames, file: Overview) -> set[str]:
    """The whole columns of a table that have more inside in a file, or lists and maps of other shapes."""
    called = names.called(file)
    tops = {leaf.path[0]: top(called[leaf.index]) for leaf in file.leaves if leaf.index in called}
    return {
        tops[leaf.path[0]]
        for leaf in file.leaves
        if leaf.path[0] in tops
        and not _is_alike(_inside(leaf.standard), _inside(called.get(leaf.index, "").split(".")))
    }


def _inside(path: Sequence[str]) -> list[str]:
    return [name for name in path[1:] if name not in GROUPS]


def _is_alike(stored: Sequence[str], called: Sequence[str]) -> bool:
    """Whether only fields of structs have other names."""
    return len(stored) == len(called) and all(
        name == other for name, other in zip(stored, called, strict=True) if other in IN_GROUPS
    )


def top(name: str) -> str:
    return name.partition(".")[0]


def no_version_as_of(where: str, moment: datetime, times: Sequence[int]) -> str:
    """`times`: of all versions that are there, in milliseconds since 1970."""
    first = datetime.fromtimestamp(min(times) / 1000, UTC) if times else None
    expected = f", expected {first:%Y-%m-%dT%H:%M:%S.%fZ} or later" if first else ""
    return f"{where}: no version as of {moment.isoformat()}{expected}"


@dataclass(frozen=True, slots=True)
class TableColumns:
    """`leaves`: the dotted name in new files for the table's, of all leaves that files have; `tops`: the names of
    whole columns; `doubled`: names of several leaves; `names`: what each data file calls them; `partitions`: the
    table's name for the file's, of columns whose values are not in the files; `has_own_names`: whether files have the
    table's own names, but for what other writers call the inside of lists and maps; `types`: of leaves, by the
    table's names, as Delta Lake calls primitive types; `kinds`: of whole columns, as a Delta table's schema has them
    in JSON."""

    leaves: Mapping[str, str]
    tops: tuple[str, ...]
    doubled: frozenset[str]
    names: StoredNames
    partitions: Mapping[str, str] = field(default_factory=dict)
    has_own_names: bool = False
    types: Mapping[str, str] = field(default_factory=dict)
    kinds: Mapping[str, str | Mapping[str, Any]] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        leaves: Sequence[tuple[tuple[str, ...], tuple[str, ...]]],
        names: StoredNames,
        partitions: Mapping[str, str] | None = None,
        has_own_names: bool = False,
        types: Sequence[str] = (),
        kinds: Mapping[str, str | Mapping[str, Any]] = MappingProxyType({}),
    ) -> Self:
        """`leaves`: the table's name and the file's of each, segment by segment; `types`: of each."""
        counts = Counter(".".join(logical) for logical, _ in leaves)
        doubled = frozenset(name for name, count in counts.items() if count > 1)
        found = {".".join(logical): ".".join(physical) for logical, physical in leaves}
        tops = tuple(dict.fromkeys(logical[0] for logical, _ in leaves))
        of_leaves = dict(zip(found, types, strict=True)) if types and not doubled else {}
        return cls(found, tops, doubled, names, partitions or {}, has_own_names, of_leaves, kinds)

    def physical(self, where: str, name: str) -> str:
        """The file's dotted name. Raises ColumnError."""
        if name in self.partitions.values():
            import shlex

            value = shlex.quote(f"{name}=VALUE")
            problem = (
                "is a partition column, whose values are not in the files; find and probe take, beside a --column, "
                f"--where {value} (in Python, pb.TableView(where=…))"
            )
            raise ColumnError(f"{where}: column {name}: {problem}")
        if name in self.doubled:
            problem = "several columns have this name, expected one"
            raise ColumnError(f"{where}: column {name}: {problem}")
        if name in self.leaves:
            return self.leaves[name]
        variant, colon, field = name.partition(":")
        if colon and variant in self.leaves:
            # Files have more inside of a VARIANT than the table knows.
            return f"{self.leaves[variant]}:{field}"
        tops = {top(leaf) for leaf in self.leaves if self._has_more_in_files(leaf)}
        if self.has_own_names and any(name.startswith(f"{each}.") for each in tops):
            return name
        raise ColumnError(f"{where}: {no_column(name, sorted(self.leaves), 'table')}")

    def is_only_in_files(self, name: str) -> bool:
        """Whether a name that is one to `physical` is none of the table's, but perhaps one that files have inside of
        a list or map. Which leaves of a VARIANT there are, each file says by itself."""
        variants = {top(leaf) for leaf, kind in self.types.items() if kind == _VARIANT}
        return name not in self.leaves and ":" not in name and top(name) not in variants

    def _has_more_in_files(self, leaf: str) -> bool:
        """Whether files may have other names on the way to a leaf than the table, or more inside of it: in lists and
        maps, and of a VARIANT. It may be one if nothing is known of types."""
        return not GROUPS.isdisjoint(leaf.split(".")) or self.types.get(leaf, _VARIANT) == _VARIANT


def opened_as(
    names: StoredNames,
    columns: Collection[str],
    path: str,
    size: int,
    keys: Keys | None,
    opener: Opener = open_source,
    valued: Collection[str] = (),
    types: Mapping[str, str] = MappingProxyType({}),
) -> Container:
    """A data file of a table: so much of it as is recorded, with these columns of the table, by its names.
    `valued`: those that, with all in them, may have values in the table where files lack them; `types`: see
    TableColumns. Raises as open_file, and StoredNames."""
    opened = open_parquet(path, keys, size, opener)
    try:
        called = names.called(opened)
        # Lists that their writer has made otherwise inside are there all the same.
        known = frozenset(columns)
        others = {top(name) for name in called.values() if name not in known}
        strange = [leaf for leaf in opened.leaves if called.get(leaf.index) not in known]

        def is_null(column: str) -> bool:
            is_valued = any(f"{column}.".startswith(f"{each}.") for each in valued)
            return not is_valued and not any(names.may_be(leaf, column) for leaf in strange)

        there = [name for name in columns if top(name) not in others]
        of_partition = frozenset(valued) - {top(name) for name in known}
        opened.call_columns(called, there, is_null, types, of_partition)
    except BaseException:
        opened.close()
        raise
    return cast("Container", opened)


# Of a file that an older version has, or the newest, and the store has not.
_CLEANED_UP: Final = "; a clean-up of the table, such as VACUUM, may have removed it"
_STILL_LIVE: Final = "; the newest version of the table has it all the same"


class LakeTable(ABC):
    """A table at one version."""

    kind: TableKind
    # Of its files, to engines.
    situation: Situation
    location: str

    def __repr__(self) -> str:
        parts = ", ".join(self.partition_columns)
        by = f", partitioned by {parts}" if parts else ""
        return f"<{type(self).__name__} {self.location}: version {self.version}{by}>"

    @property
    @abstractmethod
    def version(self) -> int: ...
    @property
    @abstractmethod
    def is_newest(self) -> bool:
        """Whether it was asked for at its newest version."""

    @property
    @abstractmethod
    def partition_columns(self) -> tuple[str, ...]: ...
    @property
    @abstractmethod
    def wanted(self) -> Wanted: ...
    @property
    @abstractmethod
    def in_commands(self) -> AsTable:
        """How the command that helps next names it."""

    def read_partition_types(self) -> Mapping[str, str]:
        """The types of the columns whose values are in the table and not in its files, as Delta Lake calls primitive
        types, by the table's names; they are read once. Raises FormatError."""
        return {}

    @abstractmethod
    def read_columns(self) -> TableColumns:
        """Its columns, which are read once. Raises FormatError."""

    @abstractmethod
    def refreshed(self) -> LakeTable:
        """The same at its newest version. What this one has read of its log is not read again."""

    @abstractmethod
    def files(self, among: Collection[str] | None = None) -> Sequence[TableFile]:
        """The live files, in the order of their names; only those `among` these names, if any are given.
        Raises RewriteError for files that only another table would have."""

    @abstractmethod
    def added_since(self, since: Moment) -> Collection[str]:
        """The names of the files that were added after a version or time, up to this version; some may be
        gone again. What only has another size or deletion vector was not added. Raises RewriteError if the
        table does not know any more, FormatError, OSError."""

    @abstractmethod
    def in_groups(self, files: Sequence[TableFile]) -> Sequence[Sequence[TableFile]]:
        """These of its files in groups, each of which one commit had better record as a whole."""

    @abstractmethod
    def refusals(self, sole_writer: bool, commits: bool, unconditional: bool) -> tuple[str, ...]:
        """What stands in the way of a change, and what to do, in words. `sole_writer`: nobody else
        commits meanwhile; `commits`: whether it ends with a commit; `unconditional`: its files are replaced also
        where a store does not look at conditions, or not at all."""

    @abstractmethod
    def tell_writers(
        self, rates: Mapping[str, float], max_bytes: int | None, dry_run: bool
    ) -> Mapping[str, str]:
        """Set the properties by which its writers go on with filters of these columns, each at its rate, and
        leave all others; those that it lacked. Raises UnsupportedError for a kind of table whose writers take
        none, RewriteError, OSError."""

    @abstractmethod
    def commit(self, sizes: Mapping[str, NewSize], operation: str) -> Committed:
        """Record sizes, by name of file, in one new version, whatever others have committed since this
        one was read. Raises RewriteError, OSError."""

    @read_once
    def _columns(self) -> TableColumns:
        return self.read_columns()

    @read_once
    def partition_types(self) -> Mapping[str, str]:
        """See read_partition_types."""
        return self.read_partition_types()

    @property
    def columns(self) -> Mapping[str, str]:
        """The leaf columns of the data files: the table's dotted name of each, and the file's."""
        return self._columns.leaves

    @property
    def top_columns(self) -> tuple[str, ...]:
        """Its names of whole columns that files have."""
        return self._columns.tops

    @property
    def types(self) -> Mapping[str, str]:
        """Of its leaf columns, as Delta Lake calls primitive types."""
        return self._columns.types

    @property
    def kinds(self) -> Mapping[str, str | Mapping[str, Any]]:
        """Of whole columns, see TableColumns."""
        return self._columns.kinds

    @property
    def told_columns(self) -> Collection[str]:
        """The columns that files have, and of which `told` may know something."""
        return ()

    def told(self, recorded: TableFile) -> Mapping[str, int | str | date | None]:
        """Of columns that files have, the values of those which are the same in all rows of a file, as its partition
        tells: integers, text, dates, None for null."""
        return {}

    @property
    def defaults(self) -> frozenset[str]:
        """Whole columns that, with all in them, are not null where a file lacks them."""
        return frozenset()

    def valued_without(self, recorded: TableFile) -> Collection[str]:
        """Columns that, with all in them, may have values for the rows of a file that lacks them: by default, those
        in `defaults` and of its partition."""
        return self.defaults | recorded.partition.keys()

    def is_called_alike(self, file: Overview) -> bool:
        """Whether a file calls its columns as the table does, and has no others."""
        if self._columns.has_own_names:
            return True
        called = self.names.called(file)
        return all(
            leaf.index in called
            and (leaf.path[0], *_inside(leaf.standard))
            == ((names := called[leaf.index].split("."))[0], *_inside(names))
            for leaf in file.leaves
        )

    def end_for_others(self, recorded: TableFile, keys: Keys | None) -> FileEnd | None:
        """The end of a file for readers that know no names but those in it: with the table's, and without views; None
        if its own has them. Raises UnsupportedError if the table says more about its columns than that."""
        with self._opened(recorded, keys, open_source) as file:
            self.columns_in(file, recorded, self.top_columns)
            is_right = self.is_called_alike(file) and not file.has_views
            return None if is_right else file.end_as_called()

    def columns_in(
        self, file: Askable, recorded: TableFile, wanted: Collection[str]
    ) -> tuple[str, ...]:
        """Its whole columns that an open file has. Raises UnsupportedError if the table has one of those that are
        `wanted` otherwise than it is in the file, or not in it."""
        columns = self._columns
        there = tuple(name for name in file.top_columns if name in columns.tops)
        problem = next(
            filter(None, (self._otherwise(name, there, recorded) for name in wanted)), None
        )
        if problem is None and not columns.has_own_names:
            others = sorted(_other_inside(self.names, file) & {*wanted})
            problem = f"column {others[0]}: something else inside of it" if others else None
        if problem is not None:
            raise self.says_more(file.path, problem)
        return there

    def says_more(self, path: str, what: str, who: str = "") -> UnsupportedError:
        """That a file is not all of what it has there. `who`: heeds that, of those who read files themselves."""
        problem = f"{path}: {self.location} says more about it than is in it: {what}"
        return UnsupportedError(f"{problem}; expected {who}an engine that reads the table")

    def _otherwise(self, name: str, there: Collection[str], recorded: TableFile) -> str | None:
        """What the table says about one of its columns that a file does not."""
        columns = self._columns
        if name in columns.tops and name not in there:
            if name in self.defaults:
                return f"column {name}: a default value"
            if name in recorded.partition:
                return f"column {name}: the value of its partition"
        if not columns.has_own_names and any(
            "." in each and f"{each}.".startswith(f"{name}.") for each in columns.tops
        ):
            return f"column {name}: a name with a dot in it"
        return None

    def physical(self, column: str) -> str:
        """The dotted name in a new file for the table's. Raises ColumnError."""
        return self._columns.physical(self.location, column)

    def only_in_files(self, columns: Iterable[str]) -> frozenset[str]:
        """Those of columns that have a physical name which are none of its own, see TableColumns."""
        return frozenset(name for name in columns if self._columns.is_only_in_files(name))

    def what_else(self, name: str) -> str:
        """What a name in its properties is that none of its files' columns has: `no column; did you mean id?`"""
        if name in self.partition_columns:
            return "a partition column, whose values are not in the files"
        return f"no column{did_you_mean(name, self.columns)}"

    @property
    def names(self) -> StoredNames:
        """What each data file calls them."""
        return self._columns.names

    @property
    def notes(self) -> tuple[str, ...]:
        """What else to know about filters in this table, in sentences."""
        return ()

    @property
    def requests(self) -> Requests | None:
        """What was asked of an object store about the table so far, but for its data files; None if
        nobody counts."""
        return None

    @property
    def readers(self) -> tuple[str, ...]:
        """Which engines see filters in such a table, in sentences."""
        return engine_notes(self.situation, there=self.there)

    @property
    @abstractmethod
    def there(self) -> Collection[InTables]:
        """What it has because of which some engines do not use filters."""

    def may_hide_rows(self, file: TableFile) -> bool:
        """Whether rows of a live file may be deleted that are still in it."""
        return file.num_deleted > 0

    def deleted_rows(self, file: TableFile) -> Array:
        """The numbers of these rows in the file, ascending. Raises UnsupportedError for what says so in a way that
        nobody reads here, FormatError, OSError."""
        return np.empty(0, np.int64)

    def in_commands_of(self, file: TableFile) -> AsTable:
        """How the command that helps with a live file next names the table."""
        return replace(self.in_commands, is_small=file.size < MIN_FILE_SIZE)

    def open(self, file: TableFile, keys: Keys | None = None) -> ParquetFile:
        """A live file as the table has it: so much of it as is recorded, its columns called as the table
        calls them. Raises as pb.open; UnsupportedError, FormatError for a file that does not say which
        columns of the table it has."""
        from parquet_bloom.container.data_file import ParquetFile

        return ParquetFile(self.open_file(file, keys))

    def open_file(
        self, file: TableFile, keys: Keys | None = None, opener: Opener = open_source
    ) -> Container:
        """The same, as verbs know it."""
        return self._opened(file, keys, opener)

    def _opened(self, file: TableFile, keys: Keys | None, opener: Opener) -> Container:
        if not isinstance(file, TableFile):
            raise TypeError(f"file: {file!r}, expected one of the table's files()")
        if file.unfit is not None:
            raise UnsupportedError(f"{file.path}: {file.unfit}")
        valued = self.valued_without(file)
        try:
            opened = opened_as(
                self.names, self.columns, file.path, file.size, keys, opener, valued, self.types
            )
        except FileNotFoundError as error:
            why = _STILL_LIVE if self.is_newest else _CLEANED_UP
            raise FileNotFoundError(error.errno, f"{error.strerror}{why}", error.filename) from None
        opened.stand_for(self.in_commands_of(file))
        return opened
