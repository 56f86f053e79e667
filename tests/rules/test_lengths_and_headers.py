"""Where bloom_filter_length and numBytes differ, it is said which of them is wrong, as far as that can be known."""

import pyarrow as pa
import pytest
from make.filters import bitset, filter_header, header_bytes, inserted_before_footer
from make.footers import with_pointer
from make.parquet_files import built, written

from parquet_bloom.verbs.repair import repair
from parquet_bloom.verbs.validate import validate

SOUND = built(written(pa.table({"n": range(1000), "m": range(1000)})), ["n", "m"])
BITS = bitset(SOUND)
SIZE, HEADER = len(BITS), header_bytes(SOUND)

CUT_SHORT = "bloom_filter_length cuts the filter short: readers that trust it lose rows"
TOO_LONG = (
    "bloom_filter_length is more than the header and bitset take up: readers that trust it look for blocks in the"
    " wrong bytes, and lose rows"
)
AMOUNT = "bloom_filter_length is {} than the header and bitset take up"
HEADER_WRONG = (
    f"{AMOUNT}, but more begins just where it ends: the header's numBytes seems wrong, and readers that trust it lose"
    " rows"
)
EITHER = f"{AMOUNT}, and either that or the header's numBytes is wrong: readers lose rows"


def with_sizes(said: int, length: int, behind: bytes = b"") -> bytes:
    """The filter of `n` in front of the footer, with these sizes of its bits in header and footer, and `behind` it."""
    data, offset = inserted_before_footer(SOUND, filter_header(said) + BITS + behind)
    return with_pointer(data, offset, HEADER + length, 0, 0)


def said_of(path, **options) -> list[str]:
    found = validate(path, columns="n", **options).findings
    return [each.message for each in found if each.rule in ("PB112", "PB113")]


@pytest.mark.parametrize(
    ("said", "length", "behind", "by_place", "by_values"),
    [
        # The footer begins where one of them ends.
        (SIZE, SIZE // 2, b"", CUT_SHORT, CUT_SHORT),
        (SIZE // 2, SIZE, b"", HEADER_WRONG.format("more"), HEADER_WRONG.format("more")),
        # It begins where neither does.
        (SIZE, SIZE // 2, bytes(40), EITHER.format("less"), CUT_SHORT),
        (SIZE, 2 * SIZE, bytes(SIZE + 40), EITHER.format("more"), TOO_LONG),
        (SIZE // 2, SIZE, bytes(40), EITHER.format("more"), EITHER.format("more")),
        (2 * SIZE, SIZE, bytes(SIZE + 40), EITHER.format("less"), EITHER.format("less")),
        # Of no whole blocks, or behind the data.
        (SIZE, SIZE - 1, bytes(40), CUT_SHORT, CUT_SHORT),
        (SIZE, 1 << 20, bytes(40), TOO_LONG, TOO_LONG),
    ],
)
def test_which_is_wrong(tmp_path, said, length, behind, by_place, by_values):
    path = tmp_path / "x.parquet"
    path.write_bytes(with_sizes(said, length, behind))
    assert said_of(path, deep=False) == [by_place]
    assert said_of(path) == [by_values]


def test_a_filter_that_reaches_into_the_next_one_by_its_header(tmp_path):
    """Both in front of the footer; the next one is that of `m`."""
    next_one = filter_header(SIZE) + bitset(SOUND, 0, 1)
    data, offset = inserted_before_footer(SOUND, filter_header(SIZE + 32) + BITS + next_one)
    data = with_pointer(data, offset, HEADER + SIZE, 0, 0)
    data = with_pointer(data, offset + HEADER + SIZE, HEADER + SIZE, 0, 1)
    path = tmp_path / "x.parquet"
    path.write_bytes(data)
    assert said_of(path) == [HEADER_WRONG.format("less")]


def test_what_the_values_prove_is_said_by_repair_too(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(with_sizes(SIZE, SIZE // 2, bytes(40)))
    (done,) = repair(path, rebuild=True, dry_run=True).repaired
    assert (done.action, done.reason.startswith(CUT_SHORT)) == ("length set", True)
