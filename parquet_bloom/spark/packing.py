"""Which task reads which file: packed by bytes, many small files to a task."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

# The cost of opening a file, in bytes that could be read meanwhile.
FILE_COST = 4 << 20


def pack(sizes: Sequence[int], num_tasks: int) -> list[list[int]]:
    """The places of files of these sizes in each task, so that all tasks have about the same to do; none
    is empty. The largest go first, each to the task that has the least to do."""
    loads = [(0, task) for task in range(max(1, min(num_tasks, len(sizes))))]
    packed: list[list[int]] = [[] for _ in loads]
    for place in sorted(range(len(sizes)), key=lambda place: -sizes[place]):
        load, task = heapq.heappop(loads)
        packed[task].append(place)
        heapq.heappush(loads, (load + sizes[place] + FILE_COST, task))
    return [sorted(places) for places in packed if places]
