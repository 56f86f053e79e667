"""What an open file is to a Python user, whichever format it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Self

from parquet_bloom.arguments import name_given
from parquet_bloom.container import number_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from parquet_bloom.container import Answer
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

    def probe(self: Container, column: str, value: Any) -> tuple[Answer, ...]:
        """Whether `value` can be in each row group, or index group of an ORC file: pb.probe for one
        value.

        `value` is a Python, numpy, pandas or pyarrow value of the column's type, or a literal. Raises
        ColumnError, and ValueTypeError if the column cannot hold the value.
        """
        found = self.column(name_given("column", column))
        asked = self.encode(found, [value])
        probers = self.probers(found, None, None)
        groups = (group for each in probers for group in each.answers(asked))
        return tuple(group.distinct[group.picks[0]] for group in groups)
