"""A huge file in parts: its filters are built in many tasks, and one task writes them.

    part 0   row groups 0 to 3  ->  bits of each chunk  \
    part 1   row groups 4 to 7  ->  bits of each chunk   >  sorted, one file to a task  ->  written
    part 2   ...                                        /

Only the last step changes anything. A file that cannot be built in parts, because it is damaged, has
changed meanwhile or has the filters of an earlier attempt, is built as a whole there, and the outcome
is that of the whole. Encrypted files are never built in parts, so that none of their bits go over the
network; nor are ORC files: to write one, all of it is copied and compared, which takes longer than
reading most columns.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby, zip_longest
from typing import Any

from parquet_bloom.container.protocols import Container
from parquet_bloom.errors import RewriteError
from parquet_bloom.files import open_file
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.request import Request
from parquet_bloom.spark.schemas import BUILT, OUTCOME, SHARE, Batches, RowFields, giving, paths_in
from parquet_bloom.spark.worker import (
    FAILURES,
    attempt,
    build_outcome,
    has_been_built,
    outcome_of_build,
)
from parquet_bloom.verbs.build import build_file

# Takes the place of a row group and a column in the row that says which file a part has seen.
SEEN = -1


@giving(SHARE)
def column_shares(request: Request, batches: Batches) -> Iterator[RowFields]:
    """Rows of WORK, each a huge file, to rows of SHARE."""
    for path in paths_in(batches):
        yield {"path": path, "share": _share(path, request)}


def _share(path: str, request: Request) -> float:
    try:
        with open_file(path) as file:
            if not _is_wanted(file, request):
                return 0.0
            chunks = file.build(request.options).planned
            stored: int = sum(chunk.stored_bytes for chunk in chunks)
            return stored / file.source.size
    except FAILURES:
        # It is built as a whole, which says what is wrong.
        return 0.0


@giving(BUILT)
def build_part(request: Request, batches: Batches) -> Iterator[RowFields]:
    """Rows of WORK, each a part of a file, to rows of BUILT."""
    for batch in batches:
        for piece in batch.to_pylist():
            yield from _built_in(piece, request)


def _built_in(piece: RowFields, request: Request) -> Iterator[RowFields]:
    """The filters of one part, after a row that says which file the part has seen."""
    about = {"file": piece["file"], "path": piece["path"], "column": SEEN}
    try:
        with open_file(piece["path"]) as file:
            if request.options.ignore_checksums:
                file.ignore_checksums()
            change = file.build(request.options) if _is_wanted(file, request) else None
            yield about | {"row_group": SEEN, "message": file.fingerprint}
            if change is None:
                return
            part, parts = piece["part"], piece["parts"]
            start, end = (file.num_parts * each // parts for each in (part, part + 1))
            chunks = [chunk for chunk in change.planned if start <= chunk.place.part < end]
            for chunk, filter in change.built(chunks):
                row_group, column = chunk.key
                result = {"message": filter} if isinstance(filter, str) else {"bits": filter.bitset}
                yield about | {"row_group": row_group, "column": column} | result
    except FAILURES:
        # The task that writes the file meets the same, and says so.
        yield about | {"row_group": SEEN, "message": None}


def _is_wanted(file: Container, request: Request) -> bool:
    """Whether a file is to be built in parts."""
    is_done = request.only_missing and has_been_built(file, request.options.columns)
    return not is_done and not file.is_encrypted


@giving(OUTCOME)
def write_parts(request: Request, batches: Batches) -> Iterator[RowFields]:
    """Rows of BUILT, those of one file together and in the order of the file, to rows of OUTCOME."""
    for path, rows in groupby(_rows(batches), lambda row: row["path"]):
        yield asdict(attempt(path, partial(_written, path, rows, request)))


def _rows(batches: Batches) -> Iterator[RowFields]:
    """One by one; their bits are not copied."""
    for batch in batches:
        others = batch.drop_columns(["bits"]).to_pylist()
        for row, bits in zip(others, batch.column("bits"), strict=True):
            yield row | {"bits": bits.as_buffer()}


def _is_as_seen(path: str, seen: set[str | None], request: Request) -> bool:
    """Whether all parts have seen the file that is there now, and it is to be built in parts."""
    # If a part could not open it, perhaps for want of a key, it is built as a whole.
    if None in seen:
        return False
    with open_file(path) as file:
        return seen == {file.fingerprint} and _is_wanted(file, request)


def _written(path: str, rows: Iterator[RowFields], request: Request) -> Outcome:
    """Write the filters of one file, or build it as a whole."""
    kinds = groupby(rows, lambda row: row["row_group"] == SEEN)
    seen = {row["message"] for row in next(kinds)[1]}
    if not _is_as_seen(path, seen, request):
        return build_outcome(path, request)

    def filters(file: Container, chunks: Sequence[Any]) -> Generator[tuple[Any, Any]]:
        if {file.fingerprint} != seen:
            raise RewriteError(f"{path}: changed while it was built")
        _, built = next(kinds, (False, iter(())))
        for chunk, row in zip_longest(chunks, built):
            place = chunk and chunk.key
            if place != (row and (row["row_group"], row["column"])):
                raise RewriteError(f"{path}: some of its filters were lost between two tasks")
            bits = row["bits"]
            yield chunk, row["message"] if bits is None else SplitBlockBloomFilter.from_bytes(bits)

    try:
        report = build_file(path, request.options, request.destination, filters=filters)
    except RewriteError:
        # Another attempt at the same may have changed the file meanwhile.
        return build_outcome(path, request)
    return outcome_of_build(report)
