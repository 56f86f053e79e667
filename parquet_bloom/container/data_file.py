"""What an open file is to a Python user: a few names in front of the format's own file, which verbs use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, Self

from parquet_bloom.arguments import name_given, number_given, number_if_given
from parquet_bloom.container import ROW_GROUPS, STRIPES, Answer, OneFilter, Units, number_of
from parquet_bloom.container.protocols import answers_to_all

if TYPE_CHECKING:
    from parquet_bloom.container import GroupAnswers
    from parquet_bloom.container.column_filter import ColumnFilter
    from parquet_bloom.container.descriptions import PartDescription
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.vocabulary import Dialect, Format


class DataFile:
    """An open file. Use as a context manager, or call close()."""

    __slots__ = ("__weakref__", "_file")

    format: Format
    _units: Units

    def __init__(self, file: Container) -> None:
        """Of the format that the class names, if it does: see pb.open. Raises TypeError for anything
        else."""
        given = getattr(file, "format", None)
        if isinstance(file, DataFile) or given is None or given != getattr(self, "format", given):
            raise TypeError(f"file: {file!r}, expected pb.open(path)")
        self._file = file

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} {self.path}: {number_of(self.num_rows, 'row')},"
            f" {number_of(self.num_parts, self._units.part)},"
            f" {number_of(len(self.columns), 'column')}>"
        )

    def close(self) -> None:
        self._file.close()

    @property
    def path(self) -> str:
        return self._file.path

    @property
    def created_by(self) -> str:
        """Who wrote the file, in its own words."""
        return self._file.created_by

    @property
    def is_encrypted(self) -> bool:
        return self._file.is_encrypted

    @property
    def unverified(self) -> str | None:
        """Why the footer of an encrypted file may have been replaced, None if it cannot have been."""
        return self._file.unverified

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of all columns that can have filters: dotted paths, or what the table calls them
        that the file is opened for."""
        return self._file.columns

    @property
    def num_rows(self) -> int:
        return self._file.num_rows

    @property
    def num_parts(self) -> int:
        """How many row groups, or stripes of an ORC file."""
        return self._file.num_parts

    @property
    def parts(self) -> tuple[PartDescription, ...]:
        """The row groups, or the stripes of an ORC file: place and number of rows of each."""
        return tuple(map(self._file.describe_part, range(self.num_parts)))

    @property
    def row_groups(self) -> tuple[PartDescription, ...]:
        """The parts of a Parquet file; none in an ORC file."""
        return self.parts if self._units == ROW_GROUPS else ()

    @property
    def stripes(self) -> tuple[PartDescription, ...]:
        """The parts of an ORC file; none in a Parquet file."""
        return self.parts if self._units == STRIPES else ()

    def bloom_filter(
        self,
        row_group: int,
        column: str,
        index_group: int | None = None,
        *,
        dialect: Dialect | None = None,
        seed: int | None = None,
    ) -> ColumnFilter:
        """One filter, read whole: of a column in a row group or, in an ORC file, in an index group of
        the stripe `row_group`; `index_group` can be left out if there is only one.

        dialect: of a filter in a Parquet file; by default, whatever bloom_filter_offset leads to, or else
        a private legacy one. seed: of the hash of a `murmur3` filter, if the file does not say.

        Raises ColumnError if there is no such column, row group, stripe or index group, FilterError if
        it has no usable filter, UnsupportedError for an index group of a Parquet file, or a dialect of
        an ORC file.
        """
        wanted = OneFilter(
            number_given("row_group", row_group),
            name_given("column", column),
            number_if_given("index_group", index_group),
            dialect,
            number_if_given("seed", seed),
        )
        return self._file.bloom_filter(wanted)

    def probe(self, column: str, value: object) -> tuple[Answer, ...]:
        """Whether `value` can be in each row group, or index group of an ORC file: pb.probe for one
        value.

        `value` is a Python, numpy, pandas or pyarrow value of the column's type, or a literal. Raises
        ColumnError, and ValueTypeError if the column cannot hold the value.
        """
        file = self._file
        if told := file.answer_to_all(name_given("column", column)):
            return _of_one(answers_to_all(file, None, told, [value]))
        found = file.column(column)
        asked = file.encode(found, [value])
        file.check_answers(None, None)
        probers = (file.prober(found, part) for part in range(file.num_parts))
        return _of_one(group for each in probers for group in each.answers(asked))


def _of_one(groups: Iterable[GroupAnswers]) -> tuple[Answer, ...]:
    """The answers about the only value."""
    return tuple(group.distinct[group.picks[0]] for group in groups)


class ParquetFile(DataFile):
    """An open Parquet file. Use as a context manager, or call close()."""

    __slots__ = ()

    format: Literal["parquet"] = "parquet"
    _units = ROW_GROUPS

    @property
    def num_row_groups(self) -> int:
        return self._file.num_parts


class OrcFile(DataFile):
    """An open ORC file. Use as a context manager, or call close()."""

    __slots__ = ()

    format: Literal["orc"] = "orc"
    _units = STRIPES

    @property
    def num_stripes(self) -> int:
        return self._file.num_parts
