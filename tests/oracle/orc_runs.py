"""The run-length encodings of ORC as its specification describes them, one bit at a time.

Spec: apache/orc-format, specification/ORCv1.md "Run Length Encoding". Source for two things on which
it is silent: RunLengthIntegerReaderV2 of ORC Java packs a gap and its patch into one number of one of
the widths of the table, and adds up the gaps.
"""

from collections.abc import Iterator

WIDTHS = [*range(1, 25), 26, 28, 30, 32, 40, 48, 56, 64]
MODULUS = 1 << 64


class TooShort(Exception):
    """The bytes end within a run."""


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.at = 0

    def byte(self) -> int:
        if self.at == len(self.data):
            raise TooShort
        self.at += 1
        return self.data[self.at - 1]

    def bits(self, width: int, count: int) -> list[int]:
        text = "".join(f"{self.byte():08b}" for _ in range(-(-width * count // 8)))
        return [int(text[at : at + width] or "0", 2) for at in range(0, width * count, width or 1)]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    def number(self, is_signed: bool) -> int:
        return zigzag(self.varint()) if is_signed else self.varint()


def zigzag(number: int) -> int:
    return -(number >> 1) - 1 if number & 1 else number >> 1


def signed(number: int, bits: int = 64) -> int:
    number %= 1 << bits
    return number - (1 << bits) if number >> (bits - 1) else number


def bytes_of(data: bytes) -> list[int]:
    found: list[int] = []
    reader = Reader(data)
    while reader.at < len(data):
        control = signed(reader.byte(), 8)
        if control < 0:
            found += [reader.byte() for _ in range(-control)]
        else:
            found += [reader.byte()] * (control + 3)
    return found


def integers_1(data: bytes, is_signed: bool) -> list[int]:
    found: list[int] = []
    reader = Reader(data)
    while reader.at < len(data):
        control = signed(reader.byte(), 8)
        if control < 0:
            found += [reader.number(is_signed) for _ in range(-control)]
        else:
            step, first = signed(reader.byte(), 8), reader.number(is_signed)
            found += [first + step * index for index in range(control + 3)]
    return [signed(each) for each in found]


def integers_2(data: bytes, is_signed: bool) -> list[int]:
    found: list[int] = []
    reader = Reader(data)
    while reader.at < len(data):
        found += _run(reader, is_signed)
    return [signed(each) for each in found]


def _run(reader: Reader, is_signed: bool) -> Iterator[int]:
    header = reader.byte()
    kind = header >> 6
    if kind == 0:
        (value,) = reader.bits(8 * ((header >> 3 & 7) + 1), 1)
        return iter([zigzag(value) if is_signed else value] * ((header & 7) + 3))
    width = WIDTHS[header >> 1 & 31]
    count = ((header & 1) << 8 | reader.byte()) + 1
    if kind == 1:
        values = reader.bits(width, count)
        return map(zigzag, values) if is_signed else iter(values)
    if kind == 2:
        return iter(_patched(reader, width, count))
    return iter(_delta(reader, 0 if header >> 1 & 31 == 0 else width, count, is_signed))


def _patched(reader: Reader, width: int, count: int) -> list[int]:
    third, fourth = reader.byte(), reader.byte()
    base_bits, patch_width = 8 * ((third >> 5) + 1), WIDTHS[third & 31]
    gap_width, num_patches = (fourth >> 5) + 1, fourth & 31
    (base,) = reader.bits(base_bits, 1)
    sign = 1 << (base_bits - 1)
    base = -(base - sign) if base & sign else base
    values = reader.bits(width, count)
    if num_patches and gap_width + patch_width > 64:
        raise IndexError(gap_width + patch_width)
    entry = min((each for each in WIDTHS if each >= gap_width + patch_width), default=64)
    position = 0
    for patch in reader.bits(entry, num_patches) if num_patches else []:
        gap = patch >> patch_width
        if gap >> gap_width:
            raise IndexError(gap)
        position += gap
        if patch & ((1 << patch_width) - 1):
            values[position] |= (patch & ((1 << patch_width) - 1)) << width
    return [base + value for value in values]


def _delta(reader: Reader, width: int, count: int, is_signed: bool) -> list[int]:
    values = [reader.number(is_signed)]
    step = reader.number(True)
    sizes = reader.bits(width, count - 2) if width and count > 2 else [abs(step)] * (count - 2)
    for size in [abs(step), *sizes][: count - 1]:
        values.append(values[-1] + (-size if step < 0 else size))
    return values
