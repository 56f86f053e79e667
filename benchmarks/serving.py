"""A server like S3 on this machine, in a process of its own, which shares neither interpreter nor CPU
time with whoever asks."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

ROOT = Path(__file__).parent.parent


@dataclass(frozen=True, slots=True)
class Asked:
    """Requests, and the bytes of their bodies (`up`) and of those of the answers (`down`). `round_trips`: so many at
    least came one after the answer of another."""

    requests: int
    up: int
    down: int
    round_trips: int


class Server:
    def __init__(self, port: int, pipe: Connection) -> None:
        self.port, self._pipe = port, pipe

    def asked(self) -> Asked:
        """Since it was last asked."""
        self._pipe.send(None)
        return Asked(*self._pipe.recv())


@contextmanager
def serving(objects: Mapping[str, Path], delay: float = 0.0) -> Iterator[Server]:
    """A server that has files as `objects`, by bucket and key, and waits `delay` seconds before each
    answer."""
    here, there = get_context("spawn").Pipe()
    names = {name: str(path) for name, path in objects.items()}
    process = get_context("spawn").Process(target=_serve, args=(there, names, delay), daemon=True)
    process.start()
    try:
        yield Server(here.recv(), here)
    finally:
        process.terminate()
        process.join()


def _serve(pipe: Connection, objects: Mapping[str, str], delay: float) -> None:
    sys.path.insert(0, str(ROOT / "tests"))
    from make.s3_server import S3Server

    server = S3Server()
    for name, path in objects.items():
        server.put(name, Path(path).read_bytes())
    server.delay = delay
    with server.running():
        pipe.send(server.port)
        while True:
            pipe.recv()
            rounds = _round_trips(sorted(each.began for each in server.asked), delay)
            pipe.send((len(server.asked), server.received, server.bytes_down, rounds))
            server.forget()
            server.received = 0


def _round_trips(began: Sequence[float], delay: float) -> int:
    """Of requests that came then, none of which is answered before `delay` is over: the longest chain."""
    answered, found = float("-inf"), 0
    for each in began:
        if each >= answered:
            answered, found = each + delay, found + 1
    return found
