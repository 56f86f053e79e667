"""Read the values of one column by index group, with the ORC C++ library inside pyarrow.

Only the column's own streams are read, one stripe at a time: writers hold a stripe in memory, too.
Columns that ORC C++ cannot read, or reads as something else, are refused.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from pyarrow import orc

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.orc.arrow_values import integers
from parquet_bloom.orc.columns import OrcColumn, above
from parquet_bloom.storage.source import LocalSource

if TYPE_CHECKING:
    from parquet_bloom.orc.reader import OrcReader
    from parquet_bloom.orc.stripe import OrcChunk
    from parquet_bloom.storage.source import Source

# Not recorded (Hive 0.11), Hive 0.11, all writers since, and the unstable ORC 2.
FILE_VERSIONS = ((), (0, 11), (0, 12), (1, 9999))


def reason_unreadable(columns: Sequence[OrcColumn], column: OrcColumn) -> str | None:
    """Why the values of a column cannot be read; None if they can."""
    if columns[0].kind != "STRUCT":
        return f"the root type is {columns[0].type}: values can be read only if it is STRUCT"
    if column.kind == "DECIMAL" and column.precision == 0:
        # Hive 0.11. ORC C++ cuts them to 6 digits after the point.
        return "DECIMAL without a precision: values cannot be read exactly"
    path = _path(columns, column)
    if any(each.kind == "UNION" for each in path[:-1]):
        return "below a UNION: values cannot be read"
    name = _readable(path).name
    if sum(each.name == name for each in columns) > 1:
        return f"two columns are named {name}: values cannot be told apart"
    return None


@dataclass(frozen=True, slots=True)
class GroupValues:
    """An index group: its non-null `values`, an Arrow array, and the `rows` of each, counted from
    the start of the group, int64, shape (n,), which are found only when asked."""

    values: Any
    rows: Callable[[], NDArray[np.int64]]


def group_values(file: OrcReader, chunk: OrcChunk) -> Iterator[Any]:
    """The non-null values of each index group of a chunk: Arrow arrays, in order; see groups."""
    return (group.values for group in groups(file, chunk))


def groups(file: OrcReader, chunk: OrcChunk) -> Iterator[GroupValues]:
    """Each index group of a chunk.

    For a column below a LIST or MAP, the values of all elements in the group's rows. Keep the file
    open while iterating. Raises UnsupportedError for what cannot be read, FormatError for damage.
    """
    stripe, column, columns = chunk.stripe, chunk.column, file.tail.columns
    if reason := reason_unreadable(columns, column):
        raise UnsupportedError(f"{chunk.where}: {reason}")
    if file.generation.file_version not in FILE_VERSIONS:
        version = ".".join(map(str, file.generation.file_version))
        raise UnsupportedError(f"{file.path}: file version {version}: values cannot be read")
    path = _path(columns, column)
    if stripe.num_rows == 0:
        return
    top = _read_stripe(file.source, stripe.index, _readable(path).name, chunk.where)
    if len(top) != stripe.num_rows:
        raise FormatError(f"{chunk.where}: {len(top)} values, expected {stripe.num_rows}")
    for group in range(stripe.num_index_groups):
        rows = top.slice(stripe.group_first_row(group), stripe.group_num_rows(group))
        below = partial(_below, rows, path, columns)
        yield GroupValues(below().drop_null(), partial(_rows_of, below, len(rows)))


def _path(columns: Sequence[OrcColumn], column: OrcColumn) -> list[OrcColumn]:
    """The columns from the one below the root down to `column`."""
    from_root = [*above(columns, column)][::-1]
    return [*from_root[1:], column]


def _readable(path: list[OrcColumn]) -> OrcColumn:
    """The last column of `path` that ORC C++ can select by name: it has no names inside a LIST."""
    return next((column for column in path if column.kind != "STRUCT"), path[-1])


def _read_stripe(source: Source, stripe: int, name: str, where: str) -> Any:
    """The top-level column above the named one, without its other children."""
    try:
        batch = orc.ORCFile(_opened(source)).read_stripe(stripe, columns=[name])
    except (NotImplementedError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        # ArrowInvalid: values that fit ORC but not Arrow, such as timestamps in the year 9999.
        raise UnsupportedError(f"{where}: {_line(error)}") from None
    except (OSError, pa.ArrowException) as error:
        raise FormatError(f"{where}: values: {_line(error)}") from None
    return batch.column(0)


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


# What _below does with the rows of values: it keeps some of them, or repeats them.
_Follow = Callable[[NDArray[np.int64]], None]


def _rows_of(below: Callable[[_Follow], Any], num_rows: int) -> NDArray[np.int64]:
    """The row of each non-null value of `below`."""
    rows = np.arange(num_rows)

    def follow(kept: NDArray[np.int64]) -> None:
        nonlocal rows
        rows = rows[kept]

    follow(_valid(below(follow)))
    return rows


def _valid(array: Any) -> NDArray[np.int64]:
    return integers(pc.indices_nonzero(array.is_valid()))


def _below(
    array: Any, path: list[OrcColumn], columns: Sequence[OrcColumn], follow: _Follow | None = None
) -> Any:
    """The values of the last column of `path`, given those of the first. At each step, `follow` is
    told which values of the step before the new ones belong to."""
    for parent, column in pairwise(path):
        if parent.kind == "STRUCT":
            if follow and array.null_count:
                follow(_valid(array))
            array = _field(array, parent, column)
            continue
        lists = array if parent.kind == "LIST" else array.view(pa.list_(array.type.field(0)))
        if follow:
            follow(integers(pc.list_parent_indices(lists)))
        array = lists.flatten()
        if parent.kind != "LIST":
            array = _field(array, parent, column)
    return array


def _field(array: Any, parent: OrcColumn, column: OrcColumn) -> Any:
    """One field of the non-null structs; possibly only the requested fields were read."""
    index = 0 if array.type.num_fields == 1 else parent.children.index(column.id)
    # StructArray.flatten aborts the process if a sibling is a UNION, which cannot be null.
    field = array.field(index)
    return field.filter(array.is_valid()) if array.null_count else field


def _opened(source: Source) -> Any:
    if isinstance(source, LocalSource):
        return pa.OSFile(str(source.file))
    return pa.PythonFile(_SourceFile(source), mode="r")


class _SourceFile(io.RawIOBase):
    """A source as a Python file."""

    def __init__(self, source: Source) -> None:
        self._source = source
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        start = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._source.size}[whence]
        self._at = start + offset
        return self._at

    def read(self, size: int | None = -1) -> bytes:
        left = max(0, self._source.size - self._at)
        length = left if size is None or size < 0 else min(size, left)
        data = self._source.read_at(self._at, length)
        self._at += length
        return data
