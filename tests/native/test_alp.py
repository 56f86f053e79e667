"""ALP: vectors of every width as the specification decodes them, and every way in which they can be damaged."""

import random
import struct
from collections.abc import Sequence
from typing import Any

import pytest
from make.memory_end import MemoryEnd
from oracle import specification as spec

from parquet_bloom.native import _kernel

MOST = {4: 10, 8: 18}
DAMAGED = r"^ALP: a vector that is cut, impossible or not where the page says$"


def decoded(data: Any, width: int) -> list[bytes]:
    stored = b"".join(bytes(part) for part in _kernel.AlpDecoder(data, width))
    return [stored[at : at + width] for at in range(0, len(stored), width)]


def any_vector(dice: random.Random, width: int, bits: int, count: int) -> spec.AlpVector:
    """Any frame: sums may wrap around. Exceptions are in any order, and hold any bits."""
    exponent = dice.randint(0, MOST[width])
    half = 2 ** (8 * width - 1)
    deltas = [dice.getrandbits(bits) for _ in range(count)]
    deltas[-2:] = [0, 2**bits - 1][-count:]
    positions = dice.sample(range(count), dice.choice([0, 1, count // 3, count]))
    return spec.AlpVector(
        width=width,
        exponent=exponent,
        factor=dice.randint(0, exponent),
        frame=dice.choice([-half, half - 1, dice.randrange(-half, half)]),
        bits=bits,
        deltas=deltas,
        exceptions={position: dice.randbytes(width) for position in positions},
    )


def of_one(vector: spec.AlpVector) -> bytes:
    """The values of one that are all the same, but for the exceptions."""
    few = vector._replace(deltas=vector.deltas[:6]).values()
    return b"".join(few) + (len(vector.deltas) - 6) * few[0]


def all_values(vectors: Sequence[spec.AlpVector]) -> list[bytes]:
    return [value for vector in vectors for value in vector.values()]


@pytest.mark.parametrize("width", [4, 8])
def test_vectors(memory_end: MemoryEnd, code_paths: Sequence[str], width: int) -> None:
    """Of every width, several in a page, the last of every length."""
    dice = random.Random(width)
    for bits in range(8 * width + 1):
        for log, last in ((3, 1 + bits % 8), (4, 16), (5, 9)):
            counts = [1 << log, 1 << log, last]
            vectors = [any_vector(dice, width, bits, count) for count in counts]
            page = memory_end.place(spec.alp_page(vectors, log))
            for path in code_paths:
                _kernel.choose_code_path(path)
                assert decoded(page, width) == all_values(vectors), (bits, log, path)


SPECIAL = {
    4: [0x7FC00000, 0xFFC00000, 0x7F800001, 0xFFFFFFFF, 0x80000000, 0x7F800000, 0xFF800000, 1],
    8: [0x7FF8 << 48, 0xFFF8 << 48, 0x7FF0000000000001, 0x7FF8DEADBEEF0001, 1 << 63, 0x7FF << 52, 0xFFF << 52, 1],
}  # fmt: skip


@pytest.mark.parametrize("width", [4, 8])
def test_values_that_are_encoded(width: int) -> None:
    """NaN of all kinds, -0.0, infinities, decimals that come out, and others that do not."""
    special = [bits.to_bytes(width, "little") for bits in SPECIAL[width]]
    dice = random.Random(1)
    numbers = [0.0, 1.5, -1.5, 0.1, 1e-5, 2.0**31, -(2.0**63), 1e18, 1e30]
    numbers += [round(dice.uniform(-1e4, 1e4), digits) for digits in (0, 1, 2, 5) * 20]
    form = "<f" if width == 4 else "<d"
    values = special + [struct.pack(form, number) for number in numbers]
    for exponent in range(MOST[width] + 1):
        for factor in {0, exponent // 2, exponent}:
            for log in (3, 10):
                assert decoded(spec.alp(values, log, exponent, factor), width) == values


@pytest.mark.parametrize("width", [4, 8])
def test_many(width: int) -> None:
    """More than are decoded at a time, in the largest vectors and in usual ones."""
    for log in (15, 10):
        counts = [1 << log] * (300_000 >> log) + [300_000 % (1 << log)]
        vectors = [
            spec.AlpVector(width, 0, 0, frame, 0, [0] * count, {5: bytes(width)})
            for frame, count in enumerate(counts)
        ]
        decoder = _kernel.AlpDecoder(spec.alp_page(vectors, log), width)
        parts = [bytes(part) for part in decoder]
        assert decoder.count == 300_000
        assert b"".join(parts) == b"".join(map(of_one, vectors))
        assert max(map(len, parts)) <= 1 << 20


def test_no_values() -> None:
    assert decoded(spec.alp([], 10, 0, 0), 8) == []
    with pytest.raises(ValueError, match=r"^ALP: impossible header$"):
        _kernel.AlpDecoder(spec.alp([], 10, 0, 0) + b"\0", 8)


HEADERS = {
    "nothing": b"",
    "cut": bytes([0, 0, 10, 0, 0, 0]),
    "a mode": bytes([1, 0, 10, 0, 0, 0, 0]),
    "an integer encoding": bytes([0, 1, 10, 0, 0, 0, 0]),
    "a small vector": bytes([0, 0, 2, 0, 0, 0, 0]),
    "a large vector": bytes([0, 0, 16, 0, 0, 0, 0]),
    "less than no values": struct.pack("<BBBi", 0, 0, 10, -1) + bytes(99),
    "no room for offsets": struct.pack("<BBBi", 0, 0, 3, 2**31 - 1) + bytes(99),
}


@pytest.mark.parametrize("name", HEADERS)
def test_impossible_headers(memory_end: MemoryEnd, name: str) -> None:
    with pytest.raises(ValueError, match=r"^ALP: impossible header$"):
        _kernel.AlpDecoder(memory_end.place(HEADERS[name]), 8)


def test_widths_of_other_types() -> None:
    with pytest.raises(ValueError, match=r"^values: of width 2, expected 4 or 8$"):
        _kernel.AlpDecoder(spec.alp([], 10, 0, 0), 2)


# One vector of 8 values: byte 11 is its exponent, 12 its factor, 13 the number of exceptions.
ONE = spec.AlpVector(8, 2, 1, 100, 5, range(8), {3: bytes(8)})
WRONG = {
    "its place": (7, 5),
    "the exponent": (11, 19),
    "a factor above the exponent": (12, 3),
    "more exceptions than values": (13, 9),
    "the bit width": (23, 65),
    "one exception less": (13, 0),
    "the place of the exception": (29, 8),
}


@pytest.mark.parametrize("name", WRONG)
def test_impossible_vectors(memory_end: MemoryEnd, name: str) -> None:
    page = bytearray(spec.alp_page([ONE], 3))
    at, number = WRONG[name]
    page[at] = number
    with pytest.raises(ValueError, match=DAMAGED):
        decoded(memory_end.place(bytes(page)), 8)


def test_what_is_cut_or_longer(memory_end: MemoryEnd) -> None:
    page = spec.alp_page([ONE, ONE._replace(deltas=range(3), exceptions={})], 3)
    assert len(decoded(page, 8)) == 11
    for end in range(len(page)):
        with pytest.raises(ValueError, match=r"^ALP: "):
            decoded(memory_end.place(page[:end]), 8)
    with pytest.raises(ValueError, match=DAMAGED):
        decoded(memory_end.place(page + b"\0"), 8)


def test_bytes_that_are_changed(memory_end: MemoryEnd, code_paths: Sequence[str]) -> None:
    """Whatever they are, they are decoded, the same on every path, or refused."""
    dice = random.Random(3)
    vectors = [any_vector(dice, 8, 37, 32), any_vector(dice, 8, 3, 20)]
    page = spec.alp_page(vectors, 5)
    refused = 0
    for _ in range(2000):
        changed = bytearray(page)
        changed[dice.randrange(len(page))] = dice.randrange(256)
        found = set()
        for path in code_paths:
            _kernel.choose_code_path(path)
            try:
                found.add(b"".join(decoded(memory_end.place(bytes(changed)), 8)))
            except ValueError as error:
                found.add(str(error).encode())
        assert len(found) == 1
        refused += found.pop().startswith(b"ALP: ")
    assert 0 < refused < 2000
