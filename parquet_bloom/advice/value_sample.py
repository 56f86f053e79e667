"""Real look-up values from a file, to be used instead of stored values."""

from __future__ import annotations

import csv
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from parquet_bloom.advice.samples import GivenSample
from parquet_bloom.advice.survey import Subject
from parquet_bloom.container.protocols import Container
from parquet_bloom.errors import ColumnError, ValueTypeError


def read_value_sample(path: str | os.PathLike[str], columns: Sequence[str]) -> dict[str, list[str]]:
    """The literals for each column, as often as they occur in the file (UTF-8 text).

    If `columns` names one column, each line is one of its values. Otherwise the file is CSV and its
    first line names columns. Empty lines and cells are left out. Raises ColumnError if that line is
    missing or names a column twice, or if a line has too many cells; ValueTypeError if the file is
    not text, or a column has no values; OSError.
    """
    where = os.fspath(path)
    try:
        # Spreadsheets put a byte order mark in front.
        with open(path, encoding="utf-8-sig", newline="") as file:
            if len(columns) == 1:
                # Unicode has more ends of lines than files do; a value may have one of those.
                lines = file.read().replace("\r\n", "\n").split("\n")
                values = {columns[0]: [line for line in lines if line]}
            else:
                values = _read_csv(where, csv.DictReader(file, strict=True))
    except UnicodeDecodeError as error:
        raise ValueTypeError(f"{where}: byte {error.start}: expected UTF-8") from None
    except csv.Error as error:
        raise ValueTypeError(f"{where}: expected CSV: {error}") from None
    for column, literals in values.items():
        if not literals:
            raise ValueTypeError(f"{where}: no values for column {column}, expected at least one")
    return values


def _read_csv(path: str, rows: csv.DictReader[str]) -> dict[str, list[str]]:
    names = [name for name in rows.fieldnames or () if name]
    if not names:
        raise ColumnError(f"{path}: line 1: expected the names of columns")
    if len(set(names)) < len(names):
        raise ColumnError(f"{path}: line 1: a column is named twice")
    values: dict[str, list[str]] = {name: [] for name in names}
    for row in rows:
        if None in row:
            raise ColumnError(f"{path}: line {rows.line_num}: more cells than columns in line 1")
        for name in names:
            if row[name]:
                values[name].append(row[name])
    return values


def given_samples(
    file: Container, subjects: Sequence[Subject], value_sample: Mapping[str, Sequence[Any]]
) -> dict[int, GivenSample]:
    """The values to look up, by the position of their column in `subjects`.

    Raises ColumnError, ValueTypeError.
    """
    columns = [subject.column for subject in subjects]
    given: dict[int, GivenSample] = {}
    for name, asked in value_sample.items():
        where = f"{file.path}: value sample: column {name}"
        (column,) = file.select([name])
        if column not in columns:
            raise ColumnError(f"{where} is not one of the columns to judge")
        if not len(asked):
            raise ColumnError(f"{where}: no values, expected at least one")
        # By their types, too: 1, 1.0 and True are equal.
        times = Counter((type(value), value) for value in asked)
        place = columns.index(column)
        try:
            values = [subjects[place].value_of(value) for _, value in times]
        except ValueTypeError as error:
            raise ValueTypeError(f"{where}: {error}") from None
        given[place] = GivenSample(values, list(times.values()))
    return given
