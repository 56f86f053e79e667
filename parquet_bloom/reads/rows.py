"""Rows of many files as one table."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import pyarrow as pa

from parquet_bloom.errors import ColumnError, UnsupportedError, no_column, quoted_name

# The decimal digits of an integer by its bits, and whether it has a sign.
_DIGITS: Final = {
    (8, True): 3, (8, False): 3, (16, True): 5, (16, False): 5,
    (32, True): 10, (32, False): 10, (64, True): 19, (64, False): 20,
}  # fmt: skip


class RowSource(Protocol):
    """A file of which single rows are read, as an Askable is one."""

    @property
    def path(self) -> str: ...
    @property
    def top_columns(self) -> tuple[str, ...]: ...
    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any: ...


class WithKnown:
    """A file with some columns of the rows that are read of it, which are known already."""

    def __init__(self, file: RowSource, known: pa.Table) -> None:
        self.path, self.top_columns = file.path, file.top_columns
        self._file, self._known = file, known

    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> pa.Table:
        """As Askable.read_rows."""
        known = self._known.select([name for name in columns if name in self._known.column_names])
        others = [name for name in columns if name not in known.column_names]
        if not others:
            return known.select(columns)
        found = self._file.read_rows(others, rows)
        for field, column in zip(known.schema, known.columns, strict=True):
            found = found.append_column(field, column)
        return found.select(columns)


class RowTables:
    """Top-level columns of rows, file by file. A file that lacks one of them has nulls in it; if all files with rows
    do, their type is that of another file, if one was read that has it."""

    def __init__(self, columns: Sequence[str], of_tables: Sequence[str] = ()) -> None:
        """`of_tables`: columns that tables have, whatever their files have."""
        self.columns = tuple(dict.fromkeys(columns))
        self._tables: list[pa.Table] = []
        # Of files without rows.
        self._types: dict[str, pa.Field] = {}
        self._known = dict.fromkeys(of_tables)

    @property
    def known(self) -> Collection[str]:
        """All columns that tables have, or files that were read."""
        return self._known.keys()

    @property
    def lacking(self) -> tuple[str, ...]:
        """Those that neither a table nor a file that was read has."""
        return tuple(name for name in self.columns if name not in self._known)

    def read(
        self, file: RowSource, rows: Mapping[int, Sequence[int]], places: Sequence[int]
    ) -> pa.Table:
        """What to add: rows of each part, ascending, and where each row that is wanted is among them; without rows,
        the types of columns that no file without rows had so far. Raises as Askable.read_rows does."""
        names = file.top_columns
        self._known |= dict.fromkeys(names)
        there = {*names} & {*self.columns}
        if not places:
            there -= self._types.keys()
        found = file.read_rows([name for name in self.columns if name in there], rows)
        if not places:
            return found
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
        else:
            self._types = {field.name: field for field in table.schema} | self._types

    def table(self) -> pa.Table:
        """All rows, in the order in which they were added.

        Raises ColumnError if neither a table nor a file that was looked into has a column, UnsupportedError if the
        files have values in it whose types do not go together.
        """
        if self._known and self.lacking:
            raise ColumnError(no_column(self.lacking[0], tuple(self._known), "input"))
        if not self._tables:
            return self._without_rows(self.columns)
        tables = _in_one_form(self._tables)
        try:
            found = pa.concat_tables(tables, promote_options="permissive")
            unknown = [field.name for field in found.schema if pa.types.is_null(field.type)]
            if not unknown:
                return found
            told = [found, self._without_rows(unknown)]
            return pa.concat_tables(told, promote_options="permissive")
        except pa.ArrowException as error:
            reason = " ".join(str(error).split())
            raise UnsupportedError(
                f"{_apart(tables)} of several files: {reason}; leave it out with columns="
            ) from None

    def _without_rows(self, names: Sequence[str]) -> pa.Table:
        fields = [self._types.get(name, pa.field(name, pa.null())) for name in names]
        return pa.Table.from_batches([], pa.schema(fields))


def _apart(tables: Sequence[pa.Table]) -> str:
    """The first column that does not go together."""
    for name in tables[0].column_names:
        try:
            pa.concat_tables([each.select([name]) for each in tables], promote_options="permissive")
        except pa.ArrowException:
            return f"column {quoted_name(name)}"
    return "columns"


def _in_one_form(tables: Sequence[pa.Table]) -> list[pa.Table]:
    """The same without dictionaries and views in columns of which other tables have the values in another form, with
    moments in the zone of the first table, as in pyarrow's datasets, and with integers as decimals where these hold
    all that other tables may have."""
    kinds: dict[str, dict[pa.DataType, None]] = {}
    for schema in {table.schema: None for table in tables}:
        for field in schema:
            kinds.setdefault(field.name, {})[field.type] = None
    apart = {}
    for name, each in kinds.items():
        plain = _Plain(each)
        if plain.has_decimals or not _go_together(each):
            apart[name] = plain.each
    return [_without_forms(table, apart) for table in tables] if apart else [*tables]


def _go_together(kinds: Iterable[pa.DataType]) -> bool:
    try:
        schemas = [pa.schema([("", kind)]) for kind in kinds]
        pa.unify_schemas(schemas, promote_options="permissive")
    except pa.ArrowException:
        return False
    return True


def _without_forms(
    table: pa.Table, apart: Mapping[str, Mapping[pa.DataType, pa.DataType]]
) -> pa.Table:
    fields = [
        field.with_type(apart[field.name][field.type]) if field.name in apart else field
        for field in table.schema
    ]
    return table.cast(pa.schema(fields, table.schema.metadata))


class _Plain:
    """Types of the same values, each by itself, of one column in several tables. `has_decimals`: whether some are in
    the place of integers."""

    def __init__(self, kinds: Iterable[pa.DataType]) -> None:
        # The first, of each place in the column.
        self._zones: dict[tuple[str, ...], str] = {}
        # All types of numbers there.
        self._numbers: dict[tuple[str, ...], dict[pa.DataType, None]] = {}
        self.has_decimals = False
        for kind in kinds:
            self._of(kind, ())
        self.each = {kind: self._of(kind, ()) for kind in kinds}

    def _of(self, kind: pa.DataType, place: tuple[str, ...]) -> pa.DataType:
        types = pa.types
        if types.is_dictionary(kind):
            return self._of(kind.value_type, place)
        if types.is_string_view(kind):
            return pa.string()
        if types.is_binary_view(kind):
            return pa.binary()
        if types.is_timestamp(kind) and kind.tz is not None:
            return pa.timestamp(kind.unit, self._zones.setdefault(place, kind.tz))
        if types.is_integer(kind) or types.is_decimal(kind):
            numbers = self._numbers.setdefault(place, {})
            numbers[kind] = None
            if types.is_integer(kind) and _take_decimals(numbers):
                self.has_decimals = True
                return pa.decimal128(_DIGITS[kind.bit_width, types.is_signed_integer(kind)], 0)
            return kind
        if types.is_struct(kind):
            return pa.struct([self._field(field, place, field.name) for field in kind])
        if types.is_list(kind):
            return pa.list_(self._field(kind.value_field, place, "element"))
        if types.is_large_list(kind):
            return pa.large_list(self._field(kind.value_field, place, "element"))
        if types.is_map(kind):
            key = self._field(kind.key_field, place, "key")
            return pa.map_(key, self._field(kind.item_field, place, "value"), kind.keys_sorted)
        return kind

    def _field(self, field: pa.Field, place: tuple[str, ...], name: str) -> pa.Field:
        return field.with_type(self._of(field.type, (*place, name)))


def _take_decimals(numbers: Iterable[pa.DataType]) -> bool:
    """Whether integers of these types go together as decimals: pyarrow takes too few digits beside a decimal, and
    INT64 for UINT64 and signed ones, so that it would depend on the values."""
    are_decimals = any(map(pa.types.is_decimal, numbers))
    return are_decimals or (
        pa.uint64() in numbers and any(map(pa.types.is_signed_integer, numbers))
    )


def _in_places(table: pa.Table, places: Sequence[int]) -> pa.Table:
    """Rows of a table, which mostly are all of them as they are."""
    if list(places) == list(range(table.num_rows)):
        return table
    return pa.concat_tables([table.slice(place, 1) for place in places])
