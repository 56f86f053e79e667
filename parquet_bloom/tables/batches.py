"""The files of a table in batches, each of which one commit records.

    group    a a a a | b b | c c c c c c c c c c c | d d
    batch    1 1 1 1   1 1 | 2 2 2 2 2 2 2 | 3 3 3 3   3 3

A group is what one commit had better record as a whole, such as a partition: another writer who works
there meanwhile then meets one of our commits, not several. Only a group that is too large is cut.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from parquet_bloom.tables.table import TableFile


def in_batches(groups: Iterable[Sequence[TableFile]], most: int) -> Iterator[Sequence[TableFile]]:
    """Batches of at most so many files, in the order of the groups."""
    batch: list[TableFile] = []
    for group in groups:
        rest = group
        if len(batch) + len(group) > most:
            if batch:
                yield batch
            whole = len(group) - len(group) % most
            yield from (group[start : start + most] for start in range(0, whole, most))
            batch, rest = [], group[whole:]
        batch += rest
    if batch:
        yield batch


def by_partition(files: Iterable[TableFile]) -> list[list[TableFile]]:
    """Groups of one partition each, in the order of their values, null first; the files of each keep
    their order."""
    return [list(group) for _, group in groupby(sorted(files, key=partition_of), partition_of)]


def partition_of(file: TableFile) -> tuple[tuple[str, bool, str], ...]:
    """By what files are put in the order of their partitions."""
    return tuple((name, value is not None, value or "") for name, value in file.partition.items())
