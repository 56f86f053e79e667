"""Every interleaving of the steps of a few processes, and a kill of one of them before each step.

    world      what they share: files, objects, a catalog
    process    our real code, or a stranger's, in a thread that waits for its turn before each step
    step       what a process does to the world at once; it says which things it reads and writes

A step is only waited for where it matters: where another process, in any run, reads or writes the same
thing, and one of the two writes. All other orders of steps come to the same. Nor is a state looked at
twice: the world and all that each process has seen of it, which is all that it knows.
"""

import threading
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from parquet_bloom.errors import ParquetBloomError

READ, WRITE = "read", "write"

# Whatever else comes out of a process is a failure.
SEEN_BY_USERS = (ParquetBloomError, OSError)

# Things that a step touches, and how.
Touch = tuple[Hashable, str]
# The number of the process that goes on, or what it is and that it is killed.
Choice = tuple[str, int]

GO, KILL = "go", "kill"


class Killed(BaseException):
    """A process that is killed does nothing more."""


class World(Protocol):
    """What processes share."""

    def state(self) -> Hashable:
        """All of it; equal where it is the same to whoever looks."""

    def bury(self, process: "Process") -> None:
        """What the system does when a process has been killed."""


class Process:
    """One of ours, or a stranger, while it runs. `seen`: all that it knows of the world; `number`: its
    place among all, -1 for the judge, who waits for nobody."""

    def __init__(self, number: int, work: Callable[[], Any]) -> None:
        self.number, self._work = number, work
        self.seen: int = 0
        self.num_steps = 0
        self.result: Any = None
        self.error: Exception | None = None
        self.is_done = self.is_dead = False
        self._go, self._waits = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()
        self._waits.acquire()

    def _run(self) -> None:
        RUNNING[threading.get_ident()] = self
        self.wait()
        try:
            if not self.is_dead:
                self.result = self._work()
        except Killed:
            pass
        except Exception as error:
            self.error = error
        finally:
            self.is_done = True
            del RUNNING[threading.get_ident()]
            self._waits.release()

    def wait(self) -> None:
        """Let the others go on, in the thread of the process."""
        self._waits.release()
        self._go.acquire()
        if self.is_dead and self.num_steps:
            raise Killed

    def go_on(self) -> None:
        """Until its next step that others can tell."""
        if self.is_done:
            raise RuntimeError(f"process {self.number} ended sooner than the last time")
        self._go.release()
        self._waits.acquire()

    def kill(self) -> None:
        self.is_dead = True
        while not self.is_done:
            self.go_on()

    @property
    def knows(self) -> Hashable:
        """All that its next steps depend on."""
        return (self.is_done, self.is_dead, self.num_steps, self.seen)

    def sees(self, *found: Hashable) -> None:
        self.num_steps += 1
        self.seen = hash((self.seen, *found))


# By the thread.
RUNNING: dict[int, Process] = {}


def running() -> Process | None:
    """None in the judge's thread."""
    return RUNNING.get(threading.get_ident())


class Touched:
    """Who reads and writes which things, in all runs so far."""

    def __init__(self) -> None:
        self._by: dict[Hashable, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        self.has_grown = False

    def add(self, number: int, touches: Iterable[Touch]) -> None:
        for thing, how in touches:
            known = self._by[thing][number]
            if how not in known:
                known.add(how)
                self.has_grown = True

    def is_shared(self, number: int, touches: Iterable[Touch]) -> bool:
        for thing, how in touches:
            for other, hows in self._by.get(thing, {}).items():
                if other != number and (how == WRITE or WRITE in hows):
                    return True
        return False


def step(touched: Touched, touches: Callable[[], Sequence[Touch]]) -> None:
    """Called before each step, in the thread of its process: waits, if others can tell."""
    process = running()
    if process is None:
        return
    if process.is_dead:
        raise Killed
    found = touches()
    touched.add(process.number, found)
    process.num_steps += 1
    if touched.is_shared(process.number, found):
        process.wait()
        # By now it may be about other things.
        touched.add(process.number, touches())


@dataclass(frozen=True)
class Scenario:
    """What is searched. `make`: a new world; `processes`: what they do in it; `killed`: the numbers of
    those of which one may be killed; `check`: raises AssertionError for a world, and what became of
    its processes, that must not be."""

    make: Callable[[Touched], Any]
    processes: Sequence[Callable[[Any], Any]]
    check: Callable[[Any, Sequence[Process]], None]
    killed: Sequence[int] = ()


@dataclass(frozen=True)
class Failure:
    """A run that ended badly."""

    choices: tuple[Choice, ...]
    problem: str


@dataclass
class Found:
    """What a search has come by: `states` that differ, `runs` to their end, and what was wrong."""

    states: int = 0
    runs: int = 0
    failures: list[Failure] = field(default_factory=list)


def search(scenario: Scenario, most_switches: int | None = None, most_failures: int = 1) -> Found:
    """Try everything, or what takes the turn from a process that could go on at most so often. Stops
    after so many failures."""
    touched = Touched()
    for order in (list(range(len(scenario.processes))), list(range(len(scenario.processes)))[::-1]):
        _alone(scenario, touched, order)
    while True:
        touched.has_grown = False
        found = _searched(scenario, touched, most_switches, most_failures)
        if found.failures or not touched.has_grown:
            return found


def _begun(scenario: Scenario, world: Any) -> list[Process]:
    return [Process(n, partial(work, world)) for n, work in enumerate(scenario.processes)]


def _alone(scenario: Scenario, touched: Touched, order: Sequence[int]) -> None:
    """One process after the other, to learn what they touch."""
    world = scenario.make(touched)
    processes = _begun(scenario, world)
    with world:
        for number in order:
            processes[number].start()
            while not processes[number].is_done:
                processes[number].go_on()


def _searched(
    scenario: Scenario, touched: Touched, most_switches: int | None, most_failures: int
) -> Found:
    found, known = Found(), set[Hashable]()
    ahead: list[tuple[Choice, ...]] = [()]
    while ahead:
        choices = list(ahead.pop())
        num_given = len(choices)
        world = scenario.make(touched)
        processes = _begun(scenario, world)
        with world:
            try:
                for process in processes:
                    process.start()
                    process.go_on()
                for choice in choices:
                    _follow(choice, processes, world)
                while options := list(_options(scenario, processes, choices, most_switches)):
                    turns = () if most_switches is None else _turns(choices, processes)
                    state = (turns, world.state(), *(process.knows for process in processes))
                    if len(choices) >= num_given and state in known:
                        break
                    known.add(state)
                    ahead += [(*choices, option) for option in options[1:]]
                    choices.append(options[0])
                    _follow(options[0], processes, world)
                else:
                    found.runs += 1
                    if problem := _problem(scenario, world, processes):
                        found.failures.append(Failure(tuple(choices), problem))
            finally:
                for process in processes:
                    process.kill()
        if len(found.failures) >= most_failures:
            break
    found.states = len(known)
    return found


def _turns(choices: Sequence[Choice], processes: Sequence[Process]) -> tuple[int, int]:
    """Whose turn it is, and how often it was taken from somebody."""
    now, taken = -1, 0
    last = {number: at for at, (_, number) in enumerate(choices)}
    killed = {number for what, number in choices if what == KILL}
    for at, (what, number) in enumerate(choices):
        if what == GO:
            ended = now == -1 or (at > last[now] and (processes[now].is_done or now in killed))
            taken += number != now and not ended
            now = number
    return now, taken


def _options(
    scenario: Scenario,
    processes: Sequence[Process],
    choices: Sequence[Choice],
    most_switches: int | None,
) -> Iterator[Choice]:
    """What can happen next; first, that whose turn it is goes on."""
    alive = [process for process in processes if not process.is_done]
    if most_switches is not None:
        now, taken = _turns(choices, processes)
        if taken >= most_switches and any(process.number == now for process in alive):
            yield (GO, now)
        else:
            yield from ((GO, p.number) for p in alive if p.number == now)
            yield from ((GO, p.number) for p in alive if p.number != now)
    else:
        yield from ((GO, process.number) for process in alive)
    if not any(process.is_dead for process in processes):
        yield from ((KILL, p.number) for p in alive if p.number in scenario.killed)


def _follow(choice: Choice, processes: Sequence[Process], world: World) -> None:
    what, number = choice
    if what == GO:
        processes[number].go_on()
    else:
        processes[number].kill()
        world.bury(processes[number])


def _problem(scenario: Scenario, world: Any, processes: Sequence[Process]) -> str | None:
    for process in processes:
        if process.error is not None and not isinstance(process.error, SEEN_BY_USERS):
            return f"{type(process.error).__name__}: {process.error}"
    try:
        scenario.check(world, processes)
    except AssertionError as error:
        return str(error) or "assert"
    return None
