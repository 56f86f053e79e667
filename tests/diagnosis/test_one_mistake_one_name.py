"""What a writer did to all row groups of a column is called the same in all of them."""

from decimal import Decimal

import pyarrow as pa
import pytest
from make import wrong_writers as wrong
from make.commands import outcome
from make.wrong_writers import Writer
from oracle import specification as spec

from parquet_bloom.verbs.validate import validate

COUNT = 400

# In row group 1, all names have eight letters.
NAMES = [
    [b"%dlonger name@%d.example" % (n, n % 7) for n in range(COUNT)],
    [b"%08d@%d.example" % (n, n % 7) for n in range(COUNT)],
    [b"%d@%d.example" % (n, n % 7) for n in range(COUNT)],
]


def local_part(plain: bytes) -> bytes:
    return plain.partition(b"@")[0]


def written_by(path, writers: list[Writer]):
    table = pa.table({"values": pa.array([name for names in NAMES for name in names], pa.binary())})
    wrong.write_table(path, table, row_group_size=COUNT)
    for row_group, (names, writer) in enumerate(zip(NAMES, writers, strict=True)):
        num_blocks = wrong.header(path, row_group).num_blocks
        wrong.overwrite(path, writer.bitset(names, num_blocks), row_group)
    return path


def said(path, **options) -> list[str]:
    found = validate(path, diagnose=True, **options).findings
    return [each.diagnosis.explanation for each in found if each.rule == "PB401"]


TRUNCATED = "the writer hashed each value by its first 8 bytes only"
PART = "the writer hashed each value only by what is before its first '@'"


@pytest.mark.parametrize("threads", [1, 2])
def test_what_explains_all_filters_is_said_of_all(tmp_path, threads):
    path = written_by(tmp_path / "x.parquet", 3 * [Writer(form=local_part)])
    assert said(path, row_groups=[1]) == [TRUNCATED]
    assert said(path, threads=threads) == 3 * [PART]
    assert outcome("validate", path, "--diagnose").stdout.count("the writer hashed") == 1


def test_what_explains_most_is_said_of_those(tmp_path):
    """The last row group was written by another."""
    last = Writer(form=lambda plain: plain + b"\0")
    path = written_by(tmp_path / "x.parquet", [*2 * [Writer(form=local_part)], last])
    assert said(path) == [PART, PART, "the writer hashed each value with a zero byte appended"]


HEX = "the writer hashed each value as hexadecimal digits"
OR_UPPER = " (or as hexadecimal digits in upper case, which is the same for these values)"


def test_forms_that_are_the_same_are_told_apart_by_other_row_groups(tmp_path):
    """Digits have no letters among theirs."""
    digits = [b"%d" % n for n in range(COUNT)]
    letters = [b"jklmno%d" % n for n in range(COUNT)]
    path = tmp_path / "x.parquet"
    rows = pa.array([*digits, *digits, *letters], pa.binary())
    wrong.write_table(path, pa.table({"values": rows}), row_group_size=COUNT)
    writer = Writer(form=lambda plain: plain.hex().encode())
    for group, values in enumerate((digits, digits, letters)):
        num_blocks = wrong.header(path, group).num_blocks
        wrong.overwrite(path, writer.bitset(values, num_blocks), group)
    assert said(path, row_groups=[0, 1]) == 2 * [HEX + OR_UPPER]
    assert said(path) == 3 * [HEX]


def test_forms_that_are_the_same_for_all_row_groups_are_both_named(tmp_path):
    """A decimal of 23 digits in 10 bytes, of which none needs more than 4, nor less."""
    numbers = [2**30 + n for n in range(2 * COUNT)]
    path = tmp_path / "x.parquet"
    decimals = pa.array(map(Decimal, numbers), pa.decimal128(23, 0))
    wrong.write_table(path, pa.table({"values": decimals}), row_group_size=COUNT)
    for group, values in enumerate((numbers[:COUNT], numbers[COUNT:])):
        num_blocks = wrong.header(path, group).num_blocks
        plain = [n.to_bytes(4, "big") for n in values]
        wrong.overwrite(path, Writer().bitset(plain, num_blocks), group)
    minimal = "the writer hashed each value as the fewest big-endian bytes that hold it"
    assert said(path) == 2 * [
        f"{minimal} (or as 4 big-endian bytes, which is the same for these values)"
    ]


# Of two blocks, these do the same.
REVERSED = Writer(block=lambda hash, z: z - 1 - spec.block_index(hash, z))
NEXT = Writer(block=lambda hash, z: (spec.block_index(hash, z) + 1) % z)
NEIGHBOURS = Writer(block=lambda hash, z: spec.block_index(hash, z) ^ 1)
HALVES_SWAPPED = Writer(block=lambda hash, z: (spec.block_index(hash, z) + z // 2) % z)


@pytest.mark.parametrize(
    ("writer", "done"),
    [
        (REVERSED, "the blocks are in reverse order"),
        (
            NEXT,
            "the writer put the bits of each block into the block after it, and those of the last into the first",
        ),
        (
            NEIGHBOURS,
            "the writer exchanged neighbouring blocks: put the bits of block 0 into 1, those of 1 into 0, and so on",
        ),
        (HALVES_SWAPPED, "the second half of the blocks is in front of the first"),
    ],
)
def test_two_blocks_are_said_to_be_where_those_of_larger_filters_are(tmp_path, writer, done):
    """In front of the footer, two in reverse order look like a bitset that begins a block later, too."""
    path = tmp_path / "x.parquet"
    names = [
        [b"g%dnb%d" % (group, n) for n in range(count)]
        for group, count in enumerate((400, 60, 60, 60))
    ]
    rows = [of_group[n % len(of_group)] for of_group in names for n in range(COUNT)]
    table = pa.table({"values": pa.array(rows, pa.binary())})
    wrong.write_table(path, table, row_group_size=COUNT, fpp=0.05)
    all_blocks = [wrong.header(path, group).num_blocks for group in range(len(names))]
    assert all_blocks == [16, 2, 2, 2]
    for group, num_blocks in enumerate(all_blocks):
        wrong.overwrite(path, writer.bitset(names[group], num_blocks), group)
    assert said(path) == 4 * [done]
