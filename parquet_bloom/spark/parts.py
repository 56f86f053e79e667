"""A huge file in parts: its filters are built in many tasks, and one task writes them.

    part 0   row groups 0 to 3  ->  bits of each chunk, in the run's folder  \
    part 1   row groups 4 to 7  ->  bits of each chunk                        >  one task: written
    part 2   ...                                                             /

Only the last step changes anything. A file that cannot be built in parts, because it is damaged, has
changed meanwhile or has the filters of an earlier attempt, is built as a whole there, and the outcome
is that of the whole. Encrypted files are never built in parts, so that none of their bits leave the
process; nor are ORC files: to write one, all of it is copied and compared, which takes longer than
reading most columns.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from hashlib import sha256
from itertools import zip_longest
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquet_bloom.container.protocols import Container
from parquet_bloom.errors import RewriteError
from parquet_bloom.files import open_file
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.spark.outcome import Outcome
from parquet_bloom.spark.plan import Planned, planned
from parquet_bloom.spark.request import Request, Tasks
from parquet_bloom.spark.rows import RowFields, packed
from parquet_bloom.spark.run import Account
from parquet_bloom.spark.schemas import BUILT, CONTROL, Batches, giving, numbers_in
from parquet_bloom.spark.versions import arrow_schema
from parquet_bloom.spark.worker import (
    FAILURES,
    build_outcome,
    has_been_built,
    once_more,
)
from parquet_bloom.verbs.file_runner import take_by_name


@giving(CONTROL)
def build_parts(tasks: Tasks, batches: Batches) -> Iterator[RowFields]:
    """Numbers of parts to no documents: the filters of each part go into the run's folder."""
    account = Account(tasks.run)
    for number in numbers_in(batches):
        for part in planned(account, tasks.plan.part(number)):
            _build_part(account, part, tasks)
    return iter(())


def _build_part(account: Account, part: Planned, tasks: Tasks) -> None:
    request = tasks.request
    # Also if it fails: the task that writes the file meets the same, and says so.
    try:
        with open_file(part.file.path) as file:
            if request.options.ignore_checksums:
                file.ignore_checksums()
            take_by_name(file, request.options)
            if not _is_wanted(file, request):
                return
            change = file.build(request.options)
            if (
                sum(chunk.stored_bytes for chunk in change.planned)
                < tasks.least_share * file.source.size
            ):
                return
            start, end = (
                file.num_parts * each // part.parts for each in (part.part, part.part + 1)
            )
            chunks = [chunk for chunk in change.planned if start <= chunk.place.part < end]
            rows = [_row(chunk.key, filter) for chunk, filter in change.built(chunks)]
            name = _bits_of(part.file.path, part.part, file.fingerprint)
            account.put(name, packed(rows, arrow_schema(BUILT)))
    except FAILURES:
        return


def _row(key: tuple[int, int], filter: str | SplitBlockBloomFilter) -> RowFields:
    row_group, column = key
    bits, message = (None, filter) if isinstance(filter, str) else (filter.bitset, None)
    return {"row_group": row_group, "column": column, "bits": bits, "message": message}


def _bits_of(path: str, part: int, fingerprint: str) -> str:
    """The name of what one part has built, of the version of a file that it saw."""
    seen = sha256(f"{path}\0{fingerprint}".encode()).hexdigest()[:32]
    return f"bits-{seen}-{part:06}"


def _is_wanted(file: Container, request: Request) -> bool:
    """Whether a file is to be built in parts."""
    if file.is_encrypted or request.destination.dry_run:
        return False
    if request.advised is not None:
        # Its columns have rates of their own, which only whole files are asked for.
        return False
    return not (request.only_missing and has_been_built(file, request.options.columns))


def written_in_parts(
    account: Account, whole: Planned, request: Request, has_others: Callable[[], bool]
) -> Outcome:
    """Write the filters of one file that its parts have built, or build it as a whole. `has_others`: as for
    work_on_file."""
    try:
        return _written(account, whole, request, has_others)
    except RewriteError:
        # Another attempt at the same may have changed the file meanwhile.
        return once_more(lambda: build_outcome(whole.file, request, has_others))


def _written(
    account: Account, whole: Planned, request: Request, has_others: Callable[[], bool]
) -> Outcome:
    path = whole.file.path
    with open_file(path, request.keys.read()) as file:
        names = [_bits_of(path, part, file.fingerprint) for part in range(whole.parts)]
    if not set(names) <= set(account.names()):
        return build_outcome(whole.file, request, has_others)

    def filters(file: Container, chunks: Sequence[Any]) -> Generator[tuple[Any, Any]]:
        for chunk, row in zip_longest(chunks, _rows(account, names)):
            place = chunk and chunk.key
            if place != (row and (row["row_group"], row["column"])):
                raise RewriteError(f"{path}: changed while it was built")
            bits = row["bits"]
            yield chunk, row["message"] if bits is None else SplitBlockBloomFilter.from_bytes(bits)

    return build_outcome(whole.file, request, has_others, filters)


def _rows(account: Account, names: Sequence[str]) -> Iterator[RowFields]:
    """The filters of all parts, one part at a time; their bits are not copied."""
    for name in names:
        data = account.get(name)
        if data is None:
            continue
        for batch in pq.ParquetFile(pa.BufferReader(data)).iter_batches(use_threads=False):
            others = batch.drop_columns(["bits"]).to_pylist()
            for row, bits in zip(others, batch.column("bits"), strict=True):
                yield row | {"bits": bits.as_buffer()}
