"""A huge file in parts: its filters are built in many tasks, and one task writes them.

    part 0   row groups 0 to 3  ->  bits of each chunk  \
    part 1   row groups 4 to 7  ->  bits of each chunk   >  sorted, one file to a task  ->  written
    part 2   ...                                        /

Only the last step changes anything. Whatever keeps a file from being built in parts, it is built
as a whole there, with what that says: damage, a change in the meantime, filters of an earlier
attempt. Encrypted files are never built in parts: no bits of theirs go over the network. Nor are ORC
files: whoever writes one copies all of it and compares, which takes longer than to read most columns.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from functools import partial
from itertools import groupby, zip_longest
from typing import Any

import pyarrow as pa

from parquet_bloom.container.protocols import Container
from parquet_bloom.errors import ParquetBloomError, RewriteError
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.worker import (
    attempt,
    build_outcome,
    has_been_built,
    outcome_of_build,
    row_of,
)
from parquet_bloom.verbs.build import build_file

# What stands for a row group in the row that says which file a part has seen.
SEEN = -1

Row = dict[str, Any]


def column_shares(request: Request, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of WORK, each a huge file, to rows of SHARE."""
    from pyspark.sql.pandas.types import to_arrow_schema

    from parquet_bloom.spark.schemas import SHARE

    schema = to_arrow_schema(SHARE)
    for batch in batches:
        for path in batch.column("path").to_pylist():
            row = {"path": path, "share": _share(path, request)}
            yield pa.RecordBatch.from_pylist([row], schema=schema)


def _share(path: str, request: Request) -> float:
    try:
        with open_file(path) as file:
            if not _is_wanted(file, request):
                return 0.0
            chunks = file.build(request.options).planned
            return sum(chunk.stored_bytes for chunk in chunks) / file.source.size
    except (ParquetBloomError, OSError, ValueError, MemoryError):
        # It is built as a whole, which says what is wrong.
        return 0.0


def build_part(request: Request, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of WORK, each a part of a file, to rows of BUILT."""
    from pyspark.sql.pandas.types import to_arrow_schema

    from parquet_bloom.spark.schemas import BUILT

    schema = to_arrow_schema(BUILT)
    for batch in batches:
        for piece in batch.to_pylist():
            for row in _built_in(piece, request):
                yield pa.RecordBatch.from_pylist([row], schema=schema)


def _built_in(piece: Row, request: Request) -> Iterator[Row]:
    """The filters of one part; first of all, which file it has seen."""
    about = {"file": piece["file"], "path": piece["path"], "column": SEEN}
    try:
        with open_file(piece["path"]) as file:
            change = file.build(request.options) if _is_wanted(file, request) else None
            yield about | {"row_group": SEEN, "message": file.fingerprint}
            if change is None:
                return
            mine = _part(change.planned, file.num_parts, piece["part"], piece["parts"])
            for chunk, filter in change.built(mine):
                row_group, column = chunk.key
                result = {"message": filter} if isinstance(filter, str) else {"bits": filter.bitset}
                yield about | {"row_group": row_group, "column": column} | result
    except (ParquetBloomError, OSError, ValueError, MemoryError):
        # Whoever writes the file meets the same, and says so.
        yield about | {"row_group": SEEN, "message": None}


def _is_wanted(file: Container, request: Request) -> bool:
    """Whether a file is to be built in parts."""
    is_done = request.only_missing and has_been_built(file, request.options.columns)
    return not is_done and not file.is_encrypted


def _part(chunks: Sequence[Any], num_parts: int, part: int, parts: int) -> list[Any]:
    """Those whose row group is in this part."""
    start, end = (num_parts * each // parts for each in (part, part + 1))
    return [chunk for chunk in chunks if start <= chunk.place.part < end]


def write_parts(request: Request, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Rows of BUILT, those of one file together and in the order of the file, to rows of OUTCOME."""
    for path, rows in groupby(_rows(batches), lambda row: row["path"]):
        done = partial(_written, path, rows, request)
        yield row_of(attempt(path, done))


def _rows(batches: Iterable[pa.RecordBatch]) -> Iterator[Row]:
    """One by one; their bits are not copied."""
    for batch in batches:
        bits = batch.column("bits")
        others = batch.drop_columns(["bits"]).to_pylist()
        for index, row in enumerate(others):
            yield row | {"bits": bits[index].as_buffer()}


def _is_as_seen(path: str, seen: set[str | None], request: Request) -> bool:
    """Whether all parts have seen the file that is there now, and it is to be built in parts."""
    # A part that could not open it, perhaps for want of a key, makes it a matter of the whole.
    if None in seen:
        return False
    with open_file(path) as file:
        return seen == {file.fingerprint} and _is_wanted(file, request)


def _written(path: str, rows: Iterator[Row], request: Request) -> Outcome:
    """Write the filters of one file, or build it as a whole."""
    kinds = groupby(rows, lambda row: row["row_group"] == SEEN)
    _, by_parts = next(kinds)
    seen = {row["message"] for row in by_parts}
    if not _is_as_seen(path, seen, request):
        return build_outcome(path, request)

    def filters(file: Container, chunks: Sequence[Any]) -> Generator[tuple[Any, Any]]:
        if {file.fingerprint} != seen:
            raise RewriteError(f"{path}: changed while it was built")
        _, built = next(kinds, (False, iter(())))
        for chunk, row in zip_longest(chunks, built):
            place = chunk and chunk.key
            if place != (row and (row["row_group"], row["column"])):
                raise RewriteError(f"{path}: filters of it got lost between two tasks")
            bits = row["bits"]
            yield chunk, row["message"] if bits is None else SplitBlockBloomFilter.from_bytes(bits)

    try:
        report = build_file(path, request.options, request.destination, filters=filters)
    except RewriteError:
        # Another attempt at the same may have changed it meanwhile.
        return build_outcome(path, request)
    return outcome_of_build(report)
