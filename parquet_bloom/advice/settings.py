"""Ready-made settings with which each writer gives a column the recommended filter."""

from __future__ import annotations

import shlex

from parquet_bloom.engines.settings import WantedFilter, WriterSettings, settings_for
from parquet_bloom.filters.sizing import MAX_BYTES
from parquet_bloom.vocabulary import Format


def all_settings(
    format: Format, wanted: WantedFilter, max_bytes: int = MAX_BYTES
) -> tuple[WriterSettings, ...]:
    """Those of `pbloom` come first. `max_bytes`: the limit that the filter was made for."""
    limit = "" if max_bytes == MAX_BYTES else f" --max-bytes {max_bytes}"
    command = f"{_command(wanted)}{limit} -o out.{format}"
    return WriterSettings("pbloom", command), *settings_for(format, wanted)


def _command(wanted: WantedFilter) -> str:
    # A leading dash would make it an option.
    path = f"./{wanted.path}" if wanted.path.startswith("-") else wanted.path
    column = ".".join(wanted.column_path)
    if any(special in column for special in ',"\r\n'):
        # As in CSV, or `-c` would take it for several names or none.
        column = '"' + column.replace('"', '""') + '"'
    return f"pbloom build {shlex.quote(path)} -c {shlex.quote(column)} --fpp {wanted.fpp!r}"
