"""Append filters to one file of a table, wherever that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import open as open_file
from parquet_bloom.options import BuildOptions, TableOptions
from parquet_bloom.storage.traffic import in_all
from parquet_bloom.tables.table import StoredNames, TableFile, names_in_table
from parquet_bloom.verbs.build import build_opened
from parquet_bloom.verbs.table_change import (
    FileResult,
    appended,
    check_record,
    columns_returning,
    in_place_of,
    skipped_columns,
    without_columns,
)

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys


@dataclass(frozen=True, slots=True)
class Appending:
    """What to append to each file of a table; a value, which other processes can be sent. `rates`: the
    columns, as the table calls them, each with the rate that the table wants, None for the usual one."""

    names: StoredNames
    rates: Mapping[str, float | None]
    options: BuildOptions
    of_table: TableOptions


def append_to(
    file: TableFile, appending: Appending, keys: Keys | None, threads: int | None = None
) -> FileResult:
    """What became of one file. `threads`: None for those of the options. Raises what build raises."""
    of_table, rates = appending.of_table, appending.rates
    with open_file(file.path, keys) as opened:
        check_record(file, opened)
        called = names_in_table(appending.names, opened)
        stored = [name for name in opened.columns if called.get(name) in rates]
        if not stored:
            return without_columns(file, opened)
        # A rate that was asked for goes before those of the table.
        fpp_of = tuple((name, fpp) for name in stored if (fpp := rates[called[name]]))
        options = appending.options
        wanted = replace(
            options,
            columns=tuple(stored),
            fpp_of=() if options.fpp else fpp_of,
            threads=threads or options.threads,
        )
        returning, asked = columns_returning(file, opened, keys)
        report = build_opened(opened, wanted, in_place_of(of_table))
    return FileResult(
        appended(file, report.size_before, report.size_after, report.num_filters),
        skipped_columns(report.skipped, called),
        in_all([report.requests, asked]),
        tuple(sorted(called.get(name, name) for name in returning - {*stored})),
    )
