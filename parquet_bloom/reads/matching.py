"""The rows that match filters, of what is left of files: the columns of the filters first, as pyarrow compares them, and
then of all columns that are wanted only the pages with these rows.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol
from uuid import UUID

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parquet_bloom.errors import ValueTypeError
from parquet_bloom.parallel import check_fits
from parquet_bloom.reads.partitions import PartitionedFile, Partitions
from parquet_bloom.reads.rows import RowSource, RowTables
from parquet_bloom.values.given import from_polars

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Askable, Container
    from parquet_bloom.native.lazy import Array
    from parquet_bloom.reads.pruning import Group, Left

_COMPARISONS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}

_INT64_END: Final = 1 << 63

# The number of a row.
_ROW_BYTES: Final = 8


class _Condition(NamedTuple):
    """A column, an operator, and a scalar or an array."""

    column: str
    operator: str
    value: Any

    def of(self, schema: pa.Schema) -> pc.Expression:
        """What it says about files with these columns."""
        path = _path(self.column, schema.names)
        field, kind = pc.field(*path), schema.field(path[0]).type
        if self.operator in ("in", "not in"):
            is_in = field.isin(_those_as_stored(self.value, kind))
            return is_in if self.operator == "in" else ~is_in
        return _COMPARISONS[self.operator](field, _as_stored(self.value, kind))


def _path(column: str, names: Sequence[str]) -> list[str]:
    """A whole column, or a field of a struct."""
    return [column] if column in names else column.split(".")


def conditions_of(filters: Any) -> list[list[_Condition]]:
    """Filters as predicates.predicate_of takes them, which has checked them: one of these lists must hold. Raises
    ValueError for an operator that only engines have."""
    if isinstance(filters, Mapping):
        return [[_one_of(column, value) for column, value in filters.items()]]
    if all(isinstance(part[0], str) for part in filters):
        filters = [filters]
    return [[_condition(*each) for each in part] for part in filters]


def _condition(column: str, operator: str, value: Any) -> _Condition:
    if operator in _COMPARISONS:
        return _Condition(
            column, operator, value if isinstance(value, pa.Scalar) else _plain(value)
        )
    if operator in ("in", "not in"):
        return _Condition(column, operator, _array(column, value))
    expected = ", ".join([*_COMPARISONS, "in", "not in"])
    raise ValueError(f"filters: column {column}: {operator!r}, expected one of {expected}")


def _one_of(column: str, value: Any) -> _Condition:
    is_one = isinstance(value, str | bytes) or not hasattr(value, "__iter__")
    return _condition(column, "==" if is_one else "in", value)


def _as_stored(value: Any, kind: pa.DataType) -> Any:
    """An integer, given as a float to a column of such: pyarrow would make floats of the column, and fail on large ones. One
    of a column without signs, of whose integers pyarrow would otherwise make some with them, and fail, too."""
    if pa.types.is_uint64(kind) and _is_unsigned(value):
        return pa.scalar(value, kind)
    if not isinstance(value, float) or not pa.types.is_integer(kind) or not value.is_integer():
        return value
    return int(value) if abs(value) < _INT64_END else value


def _is_unsigned(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2 * _INT64_END


def _those_as_stored(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """The same of several, without those that a column without signs, or of another width, cannot have."""
    if pa.types.is_fixed_size_binary(kind) and pa.types.is_binary(values.type):
        are_stored = pc.equal(pc.binary_length(values), kind.byte_width)
        return values.filter(are_stored, null_selection_behavior="emit_null").cast(kind)
    if not pa.types.is_uint64(kind) or not pa.types.is_signed_integer(values.type):
        return values
    are_stored = pc.greater_equal(values, 0)
    return values.filter(are_stored, null_selection_behavior="emit_null").cast(kind)


def _plain(value: Any) -> Any:
    """A number of numpy as one of Python; a moment of pandas with its nanoseconds; a UUID as its bytes."""
    if isinstance(value, UUID):
        return value.bytes
    if getattr(value, "nanosecond", 0):
        return _nanoseconds(value)
    return value.item() if isinstance(value, np.number | np.bool_) else value


def _nanoseconds(moment: Any) -> pa.Scalar:
    """A pandas.Timestamp, of which pyarrow takes only the microseconds by itself."""
    zone = None if moment.tz is None else "UTC"
    return pa.scalar(moment.as_unit("ns").value, pa.timestamp("ns", zone))


def _array(column: str, values: Any) -> pa.Array:
    if hasattr(values, "to_arrow"):
        values = from_polars(values)
    if isinstance(values, set | frozenset | tuple):
        values = list(values)
    if isinstance(values, list) and any(getattr(each, "nanosecond", 0) for each in values):
        values = [_nanoseconds(each) if hasattr(each, "nanosecond") else each for each in values]
    try:
        found = values if isinstance(values, pa.Array | pa.ChunkedArray) else _in_arrow(values)
    except (pa.ArrowException, OverflowError, TypeError) as error:
        raise ValueTypeError(f"filters: column {column}: {_reason(error)}") from None
    found = found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found
    found = found.storage if isinstance(found.type, pa.BaseExtensionType) else found
    return found.dictionary_decode() if pa.types.is_dictionary(found.type) else found


def _in_storage(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Without what pyarrow compares nothing with, such as UUIDs."""
    if not isinstance(column.type, pa.BaseExtensionType):
        return column
    return pa.chunked_array([each.storage for each in column.chunks], column.type.storage_type)


def _in_arrow(values: Any) -> pa.Array:
    if isinstance(values, list):
        values = [each.bytes if isinstance(each, UUID) else each for each in values]
    try:
        return pa.array(values)
    except OverflowError:
        # pyarrow takes integers for some with signs.
        return pa.array(values, pa.uint64())


class ListedFiles(Protocol):
    """Files, and what their tables say about them."""

    @property
    def table_columns(self) -> tuple[str, ...]:
        """The whole columns of all tables; none if not all files are of tables."""

    def as_listed(self, file: Askable, wanted: Collection[str]) -> RowSource:
        """A file with the columns that its table has, if it is one's. Raises UnsupportedError if the table says
        otherwise about `wanted` columns."""

    def deleted_rows(self, path: str) -> Array | None:
        """The rows of a file that its table has deleted, ascending; None if there are none. Raises UnsupportedError,
        FormatError, OSError."""


class Matching:
    """Collects the rows of files that match."""

    def __init__(
        self,
        filters: Any,
        columns: Sequence[str],
        partitions: Partitions,
        files: ListedFiles,
    ) -> None:
        """`columns`: of the rows."""
        self._any_of = conditions_of(filters)
        self._keys_of = {
            each.column.partition(".")[0] for all_of in self._any_of for each in all_of
        }
        self._partitions, self._files = partitions, files
        of_tables = files.table_columns
        self._tables = RowTables(
            columns, (*of_tables, *partitions.schema.names) if of_tables else ()
        )
        self.num_files = self.num_groups = self.pages_read = self.bytes_read = 0

    def add(self, file: Container, left: Left) -> None:
        """The rows of a file, in what is left of it. Raises ValueTypeError for what cannot be compared with the values
        of a column, UnsupportedError, FormatError, EncryptionError, OSError."""
        of_table = self._files.as_listed(file, {*self._keys_of, *self._tables.columns})
        source = PartitionedFile(of_table, self._partitions.of(file.path))
        groups = left.groups or ()
        wanted = [*self._keys_of, *self._tables.columns]
        file.will_read_rows(wanted, [group.number for group in groups])
        found = {
            group: self._matching(file.path, self._keys(source, group), self._any_of)
            for group in groups
        }
        rows = self._live(file.path, {group: each for group, each in found.items() if len(each)})
        table = self._tables.read(source, rows, range(sum(map(len, rows.values()))))
        file.source.check_one_version()
        self._tables.add(table)
        self.num_files += bool(groups)
        self.num_groups += len(groups)
        self.pages_read += file.pages_read
        self.bytes_read += file.source.bytes_read

    @property
    def lacking(self) -> tuple[str, ...]:
        """See RowTables."""
        return self._tables.lacking

    def _live(self, path: str, rows: Mapping[Group, Array]) -> dict[int, Any]:
        """By row group, those of these rows that no table has deleted. Raises as ListedFiles.deleted_rows."""
        deleted = self._files.deleted_rows(path) if rows else None
        if deleted is None:
            return {group.number: found for group, found in rows.items()}
        return {
            group.number: live
            for group, found in rows.items()
            if len(live := np.setdiff1d(found, deleted - group.first_row, assume_unique=True))
        }

    def may_match(self, path: str) -> bool:
        """Whether the values of its partitions do not exclude all rows of a file. Raises ValueTypeError."""
        values = self._partitions.of(path)
        of_partitions = [
            [each for each in all_of if each.column in values] for all_of in self._any_of
        ]
        if not all(of_partitions):
            return True
        keys = pa.table({name: pa.repeat(value, 1) for name, value in values.items()})
        keys = keys.append_column(_unlike(values), pa.array([0]))
        return len(self._matching(path, keys, of_partitions)) > 0

    def _keys(self, source: PartitionedFile, group: Group) -> pa.Table:
        """The columns of the filters, nulls for one that the file lacks, and the numbers of the rows."""
        names = source.top_columns
        conditions = [each for all_of in self._any_of for each in all_of]
        wanted = {_path(each.column, names)[0]: each for each in conditions}
        there = [name for name in wanted if name in names]
        check_fits(f"{source.path}: {group.num_rows} rows take", _ROW_BYTES * group.num_rows)
        # Of a range, readers would make one number after the other.
        numbers: Any = np.arange(group.num_rows)
        found = source.read_rows(there, {group.number: numbers})
        columns = {name: _in_storage(found[name]) for name in there}
        for name, condition in wanted.items():
            if name not in there:
                value = condition.value
                kind = value.type if hasattr(value, "type") else _in_arrow([value]).type
                columns[name] = pa.nulls(group.num_rows, kind)
        return pa.table([*columns.values(), pa.array(numbers)], [*columns, _unlike(columns)])

    def _matching(
        self, path: str, keys: pa.Table, any_of: Sequence[Sequence[_Condition]]
    ) -> NDArray[np.int64]:
        """The numbers of the rows that match."""
        *_, number = keys.column_names
        try:
            each_of = [
                reduce(operator.and_, [each.of(keys.schema) for each in all_of])
                for all_of in any_of
            ]
            found = keys.filter(reduce(operator.or_, each_of))
        except (pa.ArrowException, OverflowError, TypeError) as error:
            raise ValueTypeError(f"{path}: filters: {_reason(error)}") from None
        rows: NDArray[np.int64] = found[number].to_numpy()
        return rows

    def table(self) -> pa.Table:
        """All rows. Raises as RowTables.table."""
        return self._tables.table()


def _reason(error: BaseException) -> str:
    """In one line why pyarrow compares nothing."""
    said = " ".join(str(error).split())
    if not re.match(r"Integer value \d+ (not in range|is outside of the range)", said):
        return said
    return "a fraction cannot be compared with integers of more than 53 bits: expected an integer"


def _unlike(names: Collection[str]) -> str:
    """A name that none of these is."""
    return "#" * (1 + max(map(len, names), default=0))
