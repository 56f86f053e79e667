"""The run-length encodings of ORC: the examples of the specification, a transliteration of it over any
bytes, and bytes that are damaged or cut."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from make.code_paths import choose
from oracle import orc_runs as oracle

from parquet_bloom.native import _kernel
from parquet_bloom.native._kernel import OrcBytes, OrcIntegers, orc_decimals, orc_rescale

MOST_RUN_BYTES = 4356


def decoded(decode, data, dtype=np.int64, part_bytes=None, step=1000):
    """All values, from parts of some bytes, `step` values at a time."""
    found = []
    part, at, rest = b"", 0, data
    room = np.empty(step, dtype)
    while True:
        count, at = decode(part, at, room)
        found += room[:count].tolist()
        if count == step:
            continue
        if not rest:
            return found, len(part) - at
        taken = part_bytes or len(rest)
        part, at, rest = part[at:] + rest[:taken], 0, rest[taken:]


# Version, signed, bytes, values.
EXAMPLES = {
    "1 run": (1, False, [0x61, 0x00, 0x07], [7] * 100),
    "1 falling run": (1, False, [0x61, 0xFF, 0x64], [*range(100, 0, -1)]),
    "1 literals": (1, False, [0xFB, 0x02, 0x03, 0x06, 0x07, 0x0B], [2, 3, 6, 7, 11]),
    "2 short repeat": (2, False, [0x0A, 0x27, 0x10], [10000] * 5),
    "2 direct": (
        2, False, [0x5E, 0x03, 0x5C, 0xA1, 0xAB, 0x1E, 0xDE, 0xAD, 0xBE, 0xEF], [23713, 43806, 57005, 48879],
    ),
    "2 patched base": (
        2, False,
        [0x8E, 0x13, 0x2B, 0x21, 0x07, 0xD0, 0x1E, 0x00, 0x14, 0x70, 0x28, 0x32, 0x3C, 0x46, 0x50, 0x5A,
         0x64, 0x6E, 0x78, 0x82, 0x8C, 0x96, 0xA0, 0xAA, 0xB4, 0xBE, 0xFC, 0xE8],
        [2030, 2000, 2020, 1000000, *range(2040, 2200, 10)],
    ),
    "2 delta": (
        2, False, [0xC6, 0x09, 0x02, 0x02, 0x22, 0x42, 0x42, 0x46], [2, 3, 5, 7, 11, 13, 17, 19, 23, 29],
    ),
    # Not from the specification: fixed steps down, a negative base, and 64 bits.
    "2 fixed delta": (2, True, [0xC0, 0x04, 0x02, 0x03], [1, -1, -3, -5, -7]),
    "2 negative base": (2, True, [0x8E, 0x01, 0x00, 0x00, 0x85, 0x00, 0x07], [-5, 2]),
    "2 widest": (2, True, [0x7E, 0x00, *[0xFF] * 8], [-(1 << 63)]),
}  # fmt: skip


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples(name):
    version, is_signed, data, values = EXAMPLES[name]
    assert decoded(OrcIntegers(version, is_signed).decode, bytes(data)) == (values, 0)
    of_oracle = oracle.integers_1 if version == 1 else oracle.integers_2
    assert of_oracle(bytes(data), is_signed) == values


def test_examples_of_bytes():
    for data, values in (([0x61, 0x00], [0] * 100), ([0xFE, 0x44, 0x45], [0x44, 0x45])):
        assert decoded(OrcBytes().decode, bytes(data), np.uint8) == (values, 0)


def by_oracle(of_oracle, *given):
    try:
        return of_oracle(*given)
    except (oracle.TooShort, IndexError):
        return None


@given(
    st.sampled_from([1, 2]), st.booleans(), st.binary(max_size=400), st.integers(1, 9), st.integers(1, 700)
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_any_bytes(version, is_signed, data, part_bytes, step):
    """What the specification decodes is decoded alike, however it is cut; the rest is no crash."""
    expected = by_oracle(oracle.integers_1 if version == 1 else oracle.integers_2, data, is_signed)
    try:
        found, left = decoded(
            OrcIntegers(version, is_signed).decode, data, part_bytes=part_bytes, step=step
        )
    except ValueError:
        return
    if left == 0:
        assert found == expected
    else:
        assert expected is None


@given(
    st.integers(0, 3), st.integers(0, 31), st.integers(0, 511), st.integers(0, 1 << 32), st.booleans()
)  # fmt: skip
@settings(max_examples=300, deadline=None)
def test_any_run(kind, code, length, seed, is_signed):
    """A run of any header, and random bytes behind it."""
    header = bytes([kind << 6 | code << 1 | length >> 8, length & 255])
    data = header + np.random.default_rng(seed).bytes(MOST_RUN_BYTES)
    reader = oracle.Reader(data)
    expected = by_oracle(lambda: [oracle.signed(each) for each in oracle._run(reader, is_signed)])
    values = np.empty(512, np.int64)
    if expected is None or (kind == 2 and code == 31 and data[3] & 31):
        # A patch behind the values, or shifted out of 64 bits.
        with pytest.raises(ValueError, match="a run is damaged"):
            OrcIntegers(2, is_signed).decode(data, 0, values)
        return
    count, end = OrcIntegers(2, is_signed).decode(data[: reader.at], 0, values)
    assert (count, end) == (len(expected), reader.at)
    assert values[:count].tolist() == expected
    # Cut by one byte, it waits for more.
    assert OrcIntegers(2, is_signed).decode(data[: reader.at - 1], 0, values) == (0, 0)


# Around the eights in which numbers are read, and the most of a run.
COUNTS = [*range(1, 26), 63, 64, 65, 505, 511, 512]


@pytest.fixture(params=_kernel.CODE_PATHS)
def code_path(request):
    """All paths of the kernel, on machines that have them."""
    before = _kernel.code_path()
    choose(request.param)
    yield
    _kernel.choose_code_path(before)


@pytest.mark.every(2)
@pytest.mark.usefixtures("code_path")
@pytest.mark.parametrize("code", range(32))
@pytest.mark.parametrize("is_signed", [False, True])
def test_any_width(code, is_signed):
    """From no more bytes than there are."""
    width = oracle.WIDTHS[code]
    packed = np.random.default_rng(code).bytes(512 * 8)
    values = np.empty(512, np.int64)
    for count in COUNTS:
        header = bytes([0x40 | code << 1 | (count - 1) >> 8, (count - 1) & 255])
        data = header + packed[: (count * width + 7) // 8]
        assert OrcIntegers(2, is_signed).decode(data, 0, values) == (count, len(data))
        assert values[:count].tolist() == oracle.integers_2(data, is_signed)


@given(st.binary(max_size=300), st.integers(1, 9), st.integers(1, 700))
@settings(max_examples=100, deadline=None)
def test_any_bytes_as_bytes(data, part_bytes, step):
    expected = by_oracle(oracle.bytes_of, data)
    found, _ = decoded(OrcBytes().decode, data, np.uint8, part_bytes, step)
    if expected is not None:
        assert found == expected


def varint(number):
    number = number << 1 if number >= 0 else (-number << 1) - 1
    out = b""
    while number > 0x7F:
        out += bytes([number & 0x7F | 0x80])
        number >>= 7
    return out + bytes([number])


def unscaled(words):
    signed = words[1::2].view(np.int64).tolist()
    return [high << 64 | low for low, high in zip(words[::2].tolist(), signed, strict=True)]


@given(st.lists(st.integers(-(1 << 127), (1 << 127) - 1), min_size=1, max_size=20), st.data())
def test_long_numbers(numbers, data):
    stored = b"".join(map(varint, numbers))
    cut = data.draw(st.integers(0, len(stored)))
    words = np.empty(2 * len(numbers), np.uint64)
    count, at = orc_decimals(stored[:cut], 0, words)
    more, end = orc_decimals(stored[at:], 0, words[2 * count :])
    assert (count + more, at + end) == (len(numbers), len(stored))
    assert unscaled(words) == numbers


@pytest.mark.parametrize(
    ("data", "error"),
    [(varint(1 << 127), OverflowError), (b"\xff" * 18 + b"\x7f", OverflowError), (b"\x80" * 99, ValueError)],
)  # fmt: skip
def test_numbers_of_too_many_bits(data, error):
    with pytest.raises(error, match="a number is "):
        orc_decimals(data, 0, np.empty(2, np.uint64))


def test_scales():
    words = np.array([5, 0, 5, 0, 123, 0, (1 << 64) - 129, (1 << 64) - 1], np.uint64)
    orc_rescale(words, np.array([2, 0, 4, 4]), 2)
    assert unscaled(words) == [5, 500, 1, -1]
    for scales, error in (([39], ValueError), ([-1], ValueError), ([0], OverflowError)):
        words = np.array([0, 1 << 60], np.uint64)
        with pytest.raises(error, match="a number or its scale is "):
            orc_rescale(words, np.array(scales), 38)
