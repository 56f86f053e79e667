"""The short form of `make fuzz`: every seed, and seeds with random bytes in random places."""

import random

import pytest
from fuzz.targets import CORPUS, TARGETS, seeds_of

# Each takes a few milliseconds.
ROUNDS = {
    "file": 150,
    "footer": 150,
    "data": 150,
    "streams": 60,
    "literal": 20_000,
    "kernel": 20_000,
}


def damaged(rng: random.Random, data: bytes) -> bytes:
    """Some bytes are others, gone, or there twice."""
    found = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        start = rng.randrange(len(found) + 1)
        end = start + rng.choice((1, 1, 1, 2, 8))
        kind = rng.randrange(4)
        if kind == 0:
            del found[start:end]
        elif kind == 1:
            found[start:start] = found[start:end]
        else:
            found[start:end] = rng.randbytes(end - start)
    return bytes(found)


@pytest.mark.parametrize("target", TARGETS)
def test_nothing_but_errors_for_users(target):
    seeds = seeds_of(target)
    for each in seeds:
        TARGETS[target](each)
    rng = random.Random(target)
    for _ in range(ROUNDS[target]):
        TARGETS[target](damaged(rng, rng.choice(seeds)))


def test_every_target_has_seeds():
    assert {target for target in TARGETS if seeds_of(target)} == set(TARGETS) == set(ROUNDS)
    assert len(list((CORPUS / "file").iterdir())) == 19
