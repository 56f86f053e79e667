"""What an open file is to a Python user, whichever format it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from parquet_bloom.arguments import name_given
from parquet_bloom.container import Answer, number_of
from parquet_bloom.container.in_commands import AsFile, InCommands
from parquet_bloom.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from parquet_bloom.container.descriptions import PartDescription
    from parquet_bloom.container.protocols import Container

# What `dir` and `help` show, and Tab offers; the rest is how verbs see a file.
OFFERED: Final = frozenset(
    (
        *("bloom_filter", "close", "columns", "created_by", "format", "is_encrypted", "num_parts"),
        *("num_row_groups", "num_rows", "num_stripes", "parts", "path", "probe", "row_groups"),
        *("stripes", "unverified"),
    )
)


# A table that got a column later can still have values of it for the rows of an older file: those of a
# partition, or the column's default.
LACKS_COLUMN: Final = "no such column in the file"


def answers_without_column(file: Container, parts: Sequence[int] | None) -> Iterator[Answer]:
    """What each of these parts says about any value of a column that the file lacks. Raises FormatError
    if there is not even one that could answer."""
    if file.num_rows and not file.num_parts:
        raise FormatError(f"{file.path}: {number_of(file.num_rows, 'row')} in no {file.units.part}")
    wanted, first_row = {*file.select_parts(parts)}, 0
    for number, part in enumerate(file.parts):
        if number in wanted:
            yield Answer(part.place, "unknown", LACKS_COLUMN, part.num_rows, first_row)
        first_row += part.num_rows


def _offered(names: Iterable[str]) -> list[str]:
    return [name for name in names if name in OFFERED or name.startswith("__")]


class _OfferedNames(type):
    """Of the classes, at which Python's own prompt and `help` look."""

    def __dir__(cls) -> list[str]:
        return _offered(super().__dir__())


class DataFile(metaclass=_OfferedNames):
    """An open file. Use as a context manager, or call close()."""

    def __dir__(self) -> list[str]:
        return _offered(super().__dir__())

    def __enter__(self) -> Self:
        return self

    def __exit__(self: Container, *error: object) -> None:
        self.close()

    def __repr__(self: Container) -> str:
        return (
            f"<{type(self).__name__} {self.path}: {number_of(self.num_rows, 'row')},"
            f" {number_of(self.num_parts, self.units.part)},"
            f" {number_of(len(self.columns), 'column')}>"
        )

    @property
    def parts(self: Container) -> tuple[PartDescription, ...]:
        """The row groups, or the stripes of an ORC file: place and number of rows of each."""
        return tuple(map(self.describe_part, range(self.num_parts)))

    @property
    def row_groups(self: Container) -> tuple[PartDescription, ...]:
        """The parts of a Parquet file; none in an ORC file."""
        return tuple(part for part in self.parts if part.row_group is not None)

    @property
    def stripes(self: Container) -> tuple[PartDescription, ...]:
        """The parts of an ORC file; none in a Parquet file."""
        return tuple(part for part in self.parts if part.stripe is not None)

    def lacks(self, name: str) -> bool:
        """Whether the table that the file is opened for has this column, and the file has not."""
        return False

    @property
    def in_commands(self: Container) -> InCommands:
        """How commands name it."""
        return AsFile(self.path)

    @property
    def page_notes(self) -> tuple[str, ...]:
        """What to know about the pages that were read."""
        return ()

    def ignore_checksums(self) -> None:
        """Read pages whatever their checksums say, in a format that has any."""

    def probe(self: Container, column: str, value: Any) -> tuple[Answer, ...]:
        """Whether `value` can be in each row group, or index group of an ORC file: pb.probe for one
        value.

        `value` is a Python, numpy, pandas or pyarrow value of the column's type, or a literal. Raises
        ColumnError, and ValueTypeError if the column cannot hold the value.
        """
        if self.lacks(name_given("column", column)):
            return tuple(answers_without_column(self, None))
        found = self.column(column)
        asked = self.encode(found, [value])
        self.check_answers(None, None)
        probers = (self.prober(found, part) for part in range(self.num_parts))
        groups = (group for each in probers for group in each.answers(asked))
        return tuple(group.distinct[group.picks[0]] for group in groups)
