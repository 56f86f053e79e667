"""Values of every kind that a writer may be given, the odd ones first, then random ones; always the same.

Runs in the environments of old writers: nothing but Python.
"""

import math
import random
import struct
import uuid
from decimal import Decimal

ROWS = 400

# Years 1 to 9999, as Python's dates.
FIRST_DAY, LAST_DAY = -719_162, 2_932_896
PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
PER_DAY = {unit: 86_400 * count for unit, count in PER_SECOND.items()}

TEXTS = [
    "", " ", "a", "ä", "\uff41", "e\u0301", "é", "日本語", "🦆", "\u0000", "a\u0000b", "\n", "\t x ", "'", '"',
    '"quoted"', "'quoted'", "0x41", "\\x41", "null", "NaN", "-0", "\ufeff", "\U0010ffff", "%41", "a,b",
    "x" * 300, "é" * 200,
]  # fmt: skip
BINARIES = [b"", b"\0", b"\xff", b"\xff\xfe\0", b"0x41", b"\\x41", "ä".encode(), bytes(range(256))]


def filled(odd, make, kind, rows=ROWS):
    """`odd`, then what `make` gives, with repeats, in an order that puts some into each row group."""
    dice = random.Random(f"writers {kind}")
    found = list(odd) + [make(dice) for _ in range(rows * 5 // 6 - len(odd))]
    found += dice.choices(found, k=rows - len(found))
    dice.shuffle(found)
    return found


def with_nulls(values):
    return [None if row % 7 == 3 else value for row, value in enumerate(values)]


def integers(bits, signed=True):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)
    odd = [each for each in (low, low + 1, -1, 0, 1, 127, 128, 255, high - 1, high) if low <= each]
    return filled(
        [each for each in odd if each <= high], lambda dice: dice.randint(low, high), (bits, signed)
    )


def floats(width):
    """Of 2, 4 or 8 bytes: numbers of that width, as Python has them."""
    form = {2: "e", 4: "f", 8: "d"}[width]
    bits = {2: "H", 4: "I", 8: "Q"}[width]

    def number(dice):
        while True:
            stored = struct.pack(bits, dice.getrandbits(8 * width))
            (found,) = struct.unpack(form, stored)
            if math.isfinite(found):
                return found

    smallest = struct.unpack(form, struct.pack(bits, 1))[0]
    odd = [0.0, -0.0, math.nan, math.inf, -math.inf, smallest, -smallest, 1.5, -1.5, 2048.0]
    return filled(odd, number, ("floats", width))


def texts():
    return filled(
        TEXTS, lambda dice: f"text {dice.getrandbits(40):x} ß{chr(dice.randint(0x400, 0x4FF))}", "t"
    )


def few_texts():
    return filled([], lambda dice: dice.choice(["red", "grün", "blau", "", "noir"]), "few", ROWS)


def binaries(length=None):
    odd = BINARIES if length is None else [bytes(length), b"\xff" * length, b"a" * length]
    return filled(
        odd, lambda dice: dice.randbytes(length or dice.randint(1, 40)), ("binaries", length)
    )


def uuids():
    odd = [uuid.UUID(int=0), uuid.UUID(int=2**128 - 1)]
    return filled(odd, lambda dice: uuid.UUID(bytes=dice.randbytes(16)), "uuid")


def days(first=FIRST_DAY, last=LAST_DAY):
    odd = [day for day in (first, -141_428, -1, 0, 1, 19_000, last) if first <= day <= last]
    return filled(odd, lambda dice: dice.randint(first, last), ("days", first, last))


def clocks(unit):
    day = PER_DAY[unit]
    return filled([0, 1, day // 2, day - 1], lambda dice: dice.randrange(day), ("clocks", unit))


def moments(unit, first=FIRST_DAY, last=LAST_DAY):
    """Since 1970; nanoseconds only as far as 64 bits go."""
    low, high = first * PER_DAY[unit], (last + 1) * PER_DAY[unit] - 1
    if unit == "ns":
        low, high = max(low, -(2**63) + 1), min(high, 2**63 - 1)
    day = PER_DAY[unit]
    odd = [
        low,
        -day - 1,
        -day,
        -day + 1,
        -1,
        0,
        1,
        day - 1,
        day,
        1_500_000_000 * PER_SECOND[unit],
        high,
    ]
    return filled(
        [each for each in odd if low <= each <= high],
        lambda dice: dice.randint(low, high),
        ("moments", unit, first, last),
    )


def decimals(precision, scale):
    most = 10**precision - 1

    def number(dice):
        return dice.randint(-most, most) // 10 ** dice.randrange(precision)

    odd = [unscaled for unscaled in (0, 1, -1, 127, -128, 255, -256) if abs(unscaled) <= most]
    numbers = filled([*odd, most, -most], number, ("decimals", precision, scale))
    # Through text: Decimal's own arithmetic rounds to 28 digits.
    return [Decimal(f"{unscaled}E{-scale}") for unscaled in numbers]
