"""Append filters to one file of a table, wherever that runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import open as open_file
from parquet_bloom.options import BuildOptions, Destination, TableOptions
from parquet_bloom.tables.table import StoredNames, TableFile
from parquet_bloom.verbs.build import build_opened
from parquet_bloom.verbs.table_change import (
    ChangedFile,
    FileResult,
    check_record,
    skipped_columns,
    unchanged,
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


def left_alone(file: TableFile, of_table: TableOptions) -> ChangedFile | None:
    """Why nothing is appended to a file, which is not even opened; None if something may be."""
    if file.unfit is not None:
        return replace(unchanged(file), reason=file.unfit)
    if file.size < of_table.min_file_size:
        reason = f"{file.size:,} bytes, fewer than {of_table.min_file_size:,}"
        return replace(unchanged(file), action="too small", reason=reason)
    return None


def append_to(file: TableFile, appending: Appending, keys: Keys | None) -> FileResult:
    """What became of one file. Raises what build raises."""
    of_table, rates = appending.of_table, appending.rates
    same = unchanged(file)
    destination = Destination(
        in_place=True,
        dry_run=of_table.dry_run,
        verify=of_table.verify,
        unconditional=of_table.unconditional,
        in_table=True,
    )
    with open_file(file.path, keys) as opened:
        check_record(file, opened)
        stored = {
            name: there
            for name in rates
            if (there := appending.names.stored(name, opened)) is not None
        }
        if not stored:
            left = replace(same, size=opened.source.size, reason="has none of these columns")
            return FileResult(left, requests=opened.source.requests)
        # A rate that was asked for goes before those of the table.
        fpp_of = tuple((there, fpp) for name, there in stored.items() if (fpp := rates[name]))
        options = appending.options
        wanted = replace(
            options, columns=tuple(stored.values()), fpp_of=() if options.fpp else fpp_of
        )
        report = build_opened(opened, wanted, destination)
    changed = replace(same, size=report.size_after, num_filters=report.num_filters)
    if report.size_after != report.size_before:
        changed = replace(changed, action="appended")
    elif changed.size != file.size:
        changed = replace(changed, action="appended before")
    return FileResult(changed, skipped_columns(report.skipped), report.requests)
