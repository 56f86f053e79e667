"""A file of a table, as whoever reads its rows sees it: with the columns that the table has, by its names."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Askable
    from parquet_bloom.tables.table import LakeTable, TableFile


class FileOfTable:
    """A file with those of its columns that are its table's."""

    def __init__(
        self, file: Askable, table: LakeTable, recorded: TableFile, wanted: Collection[str]
    ) -> None:
        """Raises as LakeTable.columns_in."""
        self.path, self._file = file.path, file
        self.top_columns = table.columns_in(file, recorded, wanted)

    def read_rows(self, columns: Sequence[str], rows: Mapping[int, Sequence[int]]) -> Any:
        """As Askable.read_rows."""
        return self._file.read_rows(columns, rows)
