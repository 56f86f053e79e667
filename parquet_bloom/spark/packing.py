"""Which file is worked on in which task: packed by bytes, small ones many to a task, huge ones in
parts."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from parquet_bloom.spark.listing import LakeFile

# What opening a file costs, in bytes that could be read meanwhile.
FILE_COST = 4 << 20
# Tasks for each one that can run at the same time, so that none has to wait long for the last.
WAVES = 3
# No file below this is worth the shuffle of its filters.
LEAST_HUGE = 256 << 20


@dataclass(frozen=True, slots=True)
class Piece:
    """Part `part` of `parts` of a file, in task `task`."""

    file: LakeFile
    part: int
    parts: int
    task: int


def pack(
    files: Sequence[LakeFile], parallelism: int, least_huge: int | None
) -> tuple[list[Piece], int]:
    """A task for each file, or for each part of a huge one, so that all have about the same to do;
    and the number of tasks.

    A file is huge if it has `least_huge` bytes or more, and more than twice what a task should
    have. None: no file is built in parts. The largest go first, each where least is to do.
    """
    tasks = WAVES * parallelism
    share = sum(_cost(file.size) for file in files) / tasks
    pieces = [
        (_cost(file.size / parts), file, part, parts)
        for file in files
        for parts in [_parts(file, share, tasks, least_huge)]
        for part in range(parts)
    ]
    tasks = max(1, min(tasks, len(pieces)))
    loads = [(0.0, task) for task in range(tasks)]
    packed = []
    for cost, file, part, parts in sorted(pieces, key=lambda piece: -piece[0]):
        load, task = heapq.heappop(loads)
        packed.append(Piece(file, part, parts, task))
        heapq.heappush(loads, (load + cost, task))
    return packed, tasks


def _cost(size: float) -> float:
    return size + FILE_COST


def _parts(file: LakeFile, share: float, tasks: int, least_huge: int | None) -> int:
    if least_huge is None or file.size < least_huge or file.size <= 2 * share:
        return 1
    return min(tasks, ceil(file.size / share))
