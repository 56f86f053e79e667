"""Look-up values from a file: what is really asked, instead of what is stored."""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence

from parquet_bloom.errors import ColumnError


def read_value_sample(path: str | os.PathLike[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """Literals for each column, as often as they stand in the file (UTF-8 text).

    With one of `columns`, each line is one of its values. Otherwise the file is CSV and its first
    line names leaf columns; an empty cell is no value. Raises ColumnError if there is no such line
    or a line has more cells, OSError.
    """
    with open(path, encoding="utf-8", newline="") as file:
        if len(columns) == 1:
            return {columns[0]: file.read().splitlines()}
        return _read_csv(os.fspath(path), csv.DictReader(file, restkey=""))


def _read_csv(path: str, rows: csv.DictReader[str]) -> dict[str, list[str]]:
    names = [name for name in rows.fieldnames or () if name]
    if not names:
        raise ColumnError(f"{path}: line 1: expected the names of leaf columns")
    values: dict[str, list[str]] = {name: [] for name in names}
    for row in rows:
        if "" in row:
            raise ColumnError(f"{path}: line {rows.line_num}: more cells than columns in line 1")
        for name in names:
            if row[name]:
                values[name].append(row[name])
    return values
