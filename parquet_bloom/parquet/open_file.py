"""An open Parquet file: its footer, row groups, leaf columns and column chunks.

`file.ParquetContainer` adds what is done with filters; what does it takes an OpenFile.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Self

from parquet_bloom.container import AnswerToAll, by_name, one_of
from parquet_bloom.container.in_commands import AsFile, InCommands
from parquet_bloom.errors import ColumnError, FormatError, UnsupportedError, quoted_name
from parquet_bloom.parquet.footer import shredded
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.schema import NOT_IN_TABLE, LeafColumn, find_column
from parquet_bloom.parquet.footer.tail import read_footer
from parquet_bloom.storage.source import Source
from parquet_bloom.values.promotion import promoted
from parquet_bloom.vocabulary import LACKS_COLUMN, NOT_SHREDDED, NULL_BY_NAME, NULL_IN_TABLE

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import Selection
    from parquet_bloom.parquet.filters.legacy_kind import LegacyKind

NO_TYPES: Final[Mapping[str, str]] = {}


class OpenFile:
    def __init__(
        self, source: Source, keys: Keys | None = None, legacy: LegacyKind | None = None
    ) -> None:
        """Read the footer. `keys`: those for this file. `legacy`: finds legacy filters, which are
        ignored without it.

        Raises FormatError if it is not a Parquet file or is damaged, EncryptionError if it is
        encrypted and cannot be decrypted.
        """
        self.source = source
        self.path = source.path
        self.keys = keys
        self.legacy = legacy
        self.footer: Footer = read_footer(source, keys)
        if keys is not None:
            # What is wrong with a schema or chunks is said by those who ask for them.
            with suppress(FormatError, UnsupportedError):
                keys.note_columns(
                    self.path, [leaf.path for leaf in self.footer.leaves], self.footer.may_encrypt
                )
        # By whoever reads rows: data pages, and where they are, as far as anybody has asked.
        self.pages_read = 0
        self.page_places: dict[ChunkKey, Any] = {}
        # Of the table that it is opened for.
        self._of_table: frozenset[str] | None = None
        self._is_null: Callable[[str], bool] | None = None
        # Of other files, null in this one.
        self._of_others: frozenset[str] = frozenset()
        self._of_partition: frozenset[str] = frozenset()
        self._in_commands: InCommands | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.source.close()

    def ignore_checksums(self) -> None:
        self.footer.checksums.are_ignored = True

    @property
    def page_notes(self) -> tuple[str, ...]:
        columns: dict[str, list[str]] = {}
        for index, reason in self.footer.checksums.unchecked():
            columns.setdefault(reason, []).append(self.footer.leaves[index].name)
        return tuple(
            f"column{'s' if len(names) > 1 else ''} {', '.join(map(quoted_name, names))}: {reason}"
            for reason, names in columns.items()
        )

    @property
    def is_encrypted(self) -> bool:
        return self.footer.protection.is_encrypted

    @property
    def num_row_groups(self) -> int:
        return self.footer.num_row_groups

    def select_parts(self, wanted: Sequence[int] | None) -> tuple[int, ...]:
        """These row groups in order, or all for None. Raises ColumnError if one is missing."""
        if wanted is None:
            return tuple(range(self.num_row_groups))
        for row_group in wanted:
            if not 0 <= row_group < self.num_row_groups:
                expected = one_of(self.num_row_groups, "row groups", "file")
                raise ColumnError(f"{self.path}: row group {row_group}: {expected}")
        return tuple(sorted(set(wanted)))

    def call_columns(
        self,
        called: Mapping[int, str],
        of_table: Collection[str],
        is_null: Callable[[str], bool],
        types: Mapping[str, str] = NO_TYPES,
        of_partition: Collection[str] = (),
    ) -> None:
        """Take the names that a table has for the leaf columns, by their place in the file; all others
        are none of its columns, and nobody finds them. `of_table`: all names that it has; `is_null`: whether it
        certainly has null in all rows of the file for one of these that the file lacks; `types`: of some of them,
        which may be wider than in the file, as Delta Lake calls primitive types; `of_partition`: those whose values
        no file has."""
        leaves = tuple(
            _as_called(leaf, called.get(leaf.index, leaf.name + NOT_IN_TABLE), types)
            for leaf in self.footer.leaves
        )
        # In place of those that it has read.
        vars(self.footer)["leaves"] = leaves
        self._of_table = frozenset(called.values()) | frozenset(of_table)
        self._is_null = is_null
        self._of_partition = frozenset(of_partition)

    def is_without(self, name: str) -> bool:
        return self._of_table is None and by_name.is_without(
            name, (leaf.in_structs for leaf in self.footer.leaves), self.path
        )

    def unite_by_name(self, names: Iterable[str]) -> None:
        self._of_others = frozenset(name for name in names if self.is_without(name))

    def is_of_partition(self, name: str) -> bool:
        return name in self._of_partition

    def lacks(self, name: str) -> bool:
        return name in self._of_others or (
            self._of_table is not None
            and name in self._of_table
            and all(leaf.name != name for leaf in self.footer.leaves)
        )

    @property
    def in_commands(self) -> InCommands:
        return self._in_commands or AsFile(self.path)

    def stand_for(self, in_commands: InCommands) -> None:
        self._in_commands = in_commands

    @property
    def leaves(self) -> tuple[LeafColumn, ...]:
        """All that the file has."""
        return self.footer.leaves

    @property
    def _leaves(self) -> tuple[LeafColumn, ...]:
        """Without those that the table does not have."""
        known = self._of_table
        if known is None:
            return self.footer.leaves
        return tuple(leaf for leaf in self.footer.leaves if leaf.name in known)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the leaf columns: dotted paths, or what the table calls them."""
        return tuple(leaf.name for leaf in self._leaves)

    def column(self, name: str) -> LeafColumn:
        """The leaf column with this name, or the shredded field with this path in a VARIANT. Raises
        ColumnError, suggesting similar names, TamperedError for one that was given another key."""
        found, path, error = self._named(name)
        if found is None and path is not None:
            found, error = path.field(name), shredded.not_a_leaf(path, name)
        if found is None:
            raise ColumnError(f"{self.path}: {error}")
        self.footer.check_open([found])
        return found

    def answer_to_all(self, name: str) -> AnswerToAll | None:
        """What is said of all values of a column without any that could be asked; None for others."""
        if name in self._of_others:
            return AnswerToAll("absent", NULL_BY_NAME)
        if lacked := self._lacked(name):
            if self._is_null is not None and self._is_null(lacked):
                return AnswerToAll("absent", NULL_IN_TABLE)
            return AnswerToAll("unknown", LACKS_COLUMN)
        # What has neither is no path.
        _, path, _ = self._named(name) if {*name} & {":", "."} else (None, None, None)
        if path is None or path.fields is None or path.field(name) is not None:
            return None
        return AnswerToAll("unknown", NOT_SHREDDED)

    def _lacked(self, name: str) -> str | None:
        """A column that the file lacks by this name, or a VARIANT of which it is a field, as in `v:a`."""
        if self.lacks(name):
            return name
        variant, is_field, _ = name.partition(":")
        is_there = any(leaf.name == name for leaf in self._leaves) if is_field else True
        return variant if not is_there and self.lacks(variant) else None

    def _named(
        self, name: str
    ) -> tuple[LeafColumn | None, shredded.VariantPath | None, ColumnError | None]:
        """The leaf that has this name; else where in a VARIANT that leads, and the error if it does not."""
        try:
            return find_column(self._leaves, name, self.path), None, None
        except ColumnError as error:
            path = shredded.path_in_variant(self._leaves, name, self.footer.leaves)
            return None, path, error

    def _meant(self, name: str) -> Sequence[LeafColumn]:
        """The leaves that a name selects: all fields of a VARIANT."""
        _, path, _ = self._named(name)
        fields = path.all_fields() if path is not None and path.name == name else []
        return fields or [self.column(name)]

    def select(self, names: Sequence[str] | None) -> tuple[LeafColumn, ...]:
        """These leaf columns in schema order, each once, or all for None; without those that the file
        lacks. The name of a VARIANT stands for all its shredded fields. Raises as column."""
        selected = self._leaves if names is None else self._selected(names)
        self.footer.check_open(selected)
        return selected

    def _selected(self, names: Sequence[str]) -> tuple[LeafColumn, ...]:
        found = {leaf.name: leaf.index for leaf in self._leaves}
        is_clear = len(found) == len(self._leaves)
        wanted = set()
        for name in names:
            if is_clear and name in found:
                wanted.add(found[name])
            elif not self.lacks(name):
                wanted |= {leaf.index for leaf in self._meant(name)}
        return tuple(leaf for leaf in self.footer.leaves if leaf.index in wanted)

    def chunk(self, row_group: int, column: str) -> ColumnChunk:
        """The column chunk; raises ColumnError if there is no such row group or column."""
        (part,) = self.select_parts([row_group])
        # Of a field, that of its typed leaf, by its name: a filter is not all that there is to the field.
        return self.chunk_at((part, self.column(column).index))

    def chunk_at(self, key: ChunkKey) -> ColumnChunk:
        """The chunk in a row group of the leaf column with an index."""
        row_group, column = key
        return self.footer.chunk(row_group, self.footer.leaves[column])

    def chunks(self, part: int, columns: Sequence[LeafColumn]) -> Iterator[ColumnChunk]:
        """The chunks of these columns in one row group."""
        return (self.footer.chunk(part, column) for column in columns)

    def selected(self, selection: Selection) -> Iterator[ColumnChunk]:
        """The chunks of a selection, in file order. Raises ColumnError at once."""
        columns, parts = self.select(selection.columns), self.select_parts(selection.parts)
        return (chunk for part in parts for chunk in self.chunks(part, columns))


def _as_called(leaf: LeafColumn, name: str, types: Mapping[str, str]) -> LeafColumn:
    """A leaf with a table's name, and with its type there if that is wider."""
    asked = promoted(leaf.type, types[name]) if name in types else leaf.type
    if asked is leaf.type:
        return leaf if name == leaf.name else replace(leaf, called=name)
    return replace(leaf, called=name, in_table=asked)
