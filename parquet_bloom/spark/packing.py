"""Which task works on which file: packed by bytes, many small files to a task, huge ones in parts."""

from __future__ import annotations

import heapq
from collections.abc import Container, Sequence
from math import ceil

from parquet_bloom.dataclass import dataclass
from parquet_bloom.spark.listing import LakeFile

# The cost of opening a file, in bytes that could be read meanwhile.
FILE_COST = 4 << 20
# Tasks per slot, so that the last task does not keep the others waiting for long.
WAVES = 3
# No file below this is worth the shuffle of its filters.
LEAST_HUGE = 256 << 20
# The time to read columns for their filters, and to send these to the task that writes them, where
# copying as many bytes takes 1. Measured with 2.3 GB of ten columns of all kinds.
READING, SENDING = 3.5, 1.0


@dataclass(frozen=True, slots=True)
class FilePart:
    """Part `part` of `parts` of a file, in task `task`."""

    file: LakeFile
    part: int
    parts: int
    task: int


def huge_files(
    files: Sequence[LakeFile], parallelism: int, least_huge: int = LEAST_HUGE
) -> list[LakeFile]:
    """The files of at least `least_huge` bytes and more than twice the share of a task."""
    share = _share(files, parallelism)
    return [file for file in files if file.size >= least_huge and file.size > 2 * share]


def is_worth_parts(share: float, parallelism: int) -> bool:
    """Whether a huge file, `share` of whose bytes must be read, is done sooner in parts.

    One task copies the file in any case. Alone, it reads the columns meanwhile; in parts, others
    have read them before it begins.
    """
    alone = share * READING
    in_parts = share * READING / parallelism + 1 + share * SENDING
    return in_parts < max(alone, 1)


def pack(
    files: Sequence[LakeFile], parallelism: int, in_parts: Container[str] = ()
) -> tuple[list[FilePart], int]:
    """A task for each file, or for each part of those whose paths are `in_parts`, so that all tasks
    have about the same to do; and the number of tasks.

    The largest pieces go first, each to the task that has the least to do.
    """
    tasks = WAVES * parallelism
    share = _share(files, parallelism)
    pieces = [
        (_cost(file.size / parts), file, part, parts)
        for file in files
        for parts in [min(tasks, ceil(file.size / share)) if file.path in in_parts else 1]
        for part in range(parts)
    ]
    tasks = max(1, min(tasks, len(pieces)))
    loads = [(0.0, task) for task in range(tasks)]
    packed = []
    for cost, file, part, parts in sorted(pieces, key=lambda piece: -piece[0]):
        load, task = heapq.heappop(loads)
        packed.append(FilePart(file, part, parts, task))
        heapq.heappush(loads, (load + cost, task))
    return packed, tasks


def _share(files: Sequence[LakeFile], parallelism: int) -> float:
    """How much each task should have to do."""
    return sum(_cost(file.size) for file in files) / (WAVES * parallelism)


def _cost(size: float) -> float:
    return size + FILE_COST
