"""What may become of a world: what some order of the commands makes of it, one after the other.

A command that says that it has done its work is in that order. One that was killed may be, and so may one
that says that it failed, where nobody is promised that nothing has happened (see Scenario's `is_strict`).
What a stranger has done is always in it.
"""

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations
from typing import Any

from interleavings.search import Process, Touched


@dataclass(frozen=True)
class Command:
    """What a process does. `is_done`: whether its result says so."""

    name: str
    work: Callable[[Any], Any]
    is_done: Callable[[Any], bool] = lambda _: True
    is_ours: bool = True

    def __call__(self, world: Any) -> Any:
        return self.work(world)


@dataclass
class Outcomes:
    """Of commands in a world. `look`: what there is to be told of it."""

    make: Callable[[Touched], Any]
    look: Callable[[Any], Hashable]
    _known: dict[tuple[str, ...], Hashable | None] = field(default_factory=dict)

    def after(self, order: Sequence[Command]) -> Hashable | None:
        """None if one of them does not do its work then."""
        key = tuple(command.name for command in order)
        if key not in self._known:
            self._known[key] = self._found(order)
        return self._known[key]

    def _found(self, order: Sequence[Command]) -> Hashable | None:
        world = self.make(Touched())
        with world:
            for command in order:
                try:
                    if not command.is_done(command.work(world)):
                        return None
                except Exception:
                    return None
            return self.look(world)

    def allowed(self, sure: Sequence[Command], unsure: Sequence[Command]) -> Iterator[Hashable]:
        for count in range(len(unsure) + 1):
            for more in combinations(unsure, count):
                for order in permutations([*sure, *more]):
                    if (found := self.after(order)) is not None:
                        yield found


def sorted_out(
    commands: Sequence[Command], processes: Sequence[Process], is_strict: bool
) -> tuple[list[Command], list[Command]]:
    """Those that are surely done, and those of which nobody knows."""
    sure, unsure = [], []
    for command, process in zip(commands, processes, strict=True):
        if process.is_dead:
            unsure.append(command)
        elif process.error is None and command.is_done(process.result):
            sure.append(command)
        elif process.error is None or not is_strict or "was written, but" in str(process.error):
            unsure.append(command)
    return sure, unsure
