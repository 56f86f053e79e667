"""Rows of many files as one table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import pyarrow as pa

from parquet_bloom.errors import ColumnError, UnsupportedError, no_column


class RowSource(Protocol):
    """A file of which single rows are read, as an Askable is one."""

    @property
    def path(self) -> str: ...
    @property
    def top_columns(self) -> tuple[str, ...]: ...
    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any: ...


class RowTables:
    """Top-level columns of rows, file by file. A file that lacks one of them has nulls in it."""

    def __init__(self, columns: Sequence[str], of_tables: Sequence[str] = ()) -> None:
        """`of_tables`: columns that tables have, whatever their files have."""
        self.columns = columns
        self._tables: list[pa.Table] = []
        # One without rows tells the types, if there are no others.
        self._nothing: pa.Table | None = None
        # The columns that files have, or tables.
        self._known = dict.fromkeys(of_tables)

    def read(
        self, file: RowSource, rows: Mapping[int, Sequence[int]], places: Sequence[int]
    ) -> pa.Table:
        """What to add: rows of each part, ascending, and where each row that is wanted is among them. Raises as
        Askable.read_rows does."""
        names = file.top_columns
        self._known |= dict.fromkeys(names)
        if not places and self._nothing is not None:
            return self._nothing
        there = {*names} & {*self.columns}
        found = file.read_rows([name for name in self.columns if name in there], rows)
        nulls = pa.nulls(sum(map(len, rows.values())))
        fields = [
            found.schema.field(name) if name in there else pa.field(name, pa.null())
            for name in self.columns
        ]
        columns = [found.column(name) if name in there else nulls for name in self.columns]
        return _in_places(pa.table(columns, pa.schema(fields)), places)

    def add(self, table: pa.Table) -> None:
        if table.num_rows:
            self._tables.append(table)
        elif self._nothing is None:
            self._nothing = table

    def table(self) -> pa.Table:
        """All rows, in the order in which they were added.

        Raises ColumnError if neither a table nor a file that was looked into has a column, UnsupportedError if the files have values in
        it whose types do not go together.
        """
        for name in self.columns:
            if self._known and name not in self._known:
                raise ColumnError(no_column(name, tuple(self._known), "input"))
        tables = self._tables or ([] if self._nothing is None else [self._nothing])
        if not tables:
            return pa.table({name: pa.nulls(0) for name in self.columns})
        try:
            return pa.concat_tables(tables, promote_options="permissive")
        except pa.ArrowException as error:
            raise UnsupportedError(f"columns of several files: {error}") from None


def _in_places(table: pa.Table, places: Sequence[int]) -> pa.Table:
    """Rows of a table, which mostly are all of them as they are."""
    if list(places) == list(range(table.num_rows)):
        return table
    return pa.concat_tables([table.slice(place, 1) for place in places])
