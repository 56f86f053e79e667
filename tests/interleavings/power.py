"""The machine goes down at any step of one of our commands: what was synced is on disk, and of the rest any
part that file systems may have written by then.
"""

import os
from collections.abc import Callable, Hashable, Iterator
from itertools import chain, combinations, product
from typing import Any, Final

from interleavings.files import FileSystem, Inode
from interleavings.local import recover
from interleavings.outcomes import Command
from interleavings.search import Killed, Touched


def _synced(inode: Inode) -> bytes:
    return inode.synced


def _current(inode: Inode) -> bytes:
    return inode.data


def _zeros(inode: Inode) -> bytes:
    """The size came to the disk before what is written there."""
    return inode.synced[: len(inode.data)].ljust(len(inode.data), b"\0")


WRITTEN: Final = (_synced, _current, _zeros)


def outages(
    make: Callable[[Touched], FileSystem], command: Command, look: Callable[[FileSystem], Hashable]
) -> Iterator[tuple[int, Hashable, Hashable]]:
    """For each step of the command that changes something, and each state that the disk may have if the
    machine goes down before the next one: the number of the step, what there is to be told of it, and of
    what the same command makes of it."""
    for number in range(10_000):
        is_over = False
        for variant in _variants(make(Touched())):
            world = make(Touched())
            with world:
                world.steps_left = number
                try:
                    command.work(world)
                    is_over = True
                except Killed:
                    pass
                world.go_down(*variant)
                recover(world, [])
                before = look(world)
                command.work(world)
                yield number, before, look(world)
        if is_over:
            return


def _variants(world: FileSystem) -> Iterator[Any]:
    """Which folders came to the disk as they are, and what of the files."""
    folders = sorted({os.path.dirname(path) for path in world.entries})
    if not world.can.sync_folders:
        # They come to the disk in order, and nobody can wait for it.
        return product([(), folders], WRITTEN)
    some = chain.from_iterable(combinations(folders, n) for n in range(len(folders) + 1))
    return product([*some], WRITTEN)
