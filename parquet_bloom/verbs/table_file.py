"""A table that goes to a Parquet file: it appears once it is complete, as every answer does."""

from __future__ import annotations

import os
from collections.abc import Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.verbs.answer_file import answer_file


def save_table(
    table: Any,
    sources: Sequence[str | os.PathLike[str]],
    output: str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> None:
    """Write a pyarrow.Table about `sources`. Raises UnsupportedError for types that Parquet does not have; else as
    answer_file."""
    try:
        data = as_parquet(table)
    except pa.ArrowException as error:
        reason = str(error).partition("\n")[0]
        raise UnsupportedError(f"{os.fspath(output)}: cannot be written: {reason}") from None
    with answer_file(output, sources, overwrite=overwrite) as written:
        written.append(data)


def as_parquet(table: Any) -> bytes:
    """A pyarrow.Table as a Parquet file. Raises ArrowException for types that Parquet does not have."""
    data = BytesIO()
    pq.write_table(table, data, compression="zstd")
    return data.getvalue()
