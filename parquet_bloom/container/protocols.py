"""What a file, its columns and its chunks are to a verb."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from types import TracebackType

    from parquet_bloom.container.changes import BuildChange, RepairChange, Repairs, StripChange
    from parquet_bloom.container.filters import Answer, Explanation, NoFilters, ReadFilter
    from parquet_bloom.container.places import Place, Units
    from parquet_bloom.parallel import Progress
    from parquet_bloom.storage.source import Source
    from parquet_bloom.vocabulary import Dialect, Format, LiteralType


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
    """An open file. `unverified`: why the footer of an encrypted file can be another one than was
    written, None if it cannot."""

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
