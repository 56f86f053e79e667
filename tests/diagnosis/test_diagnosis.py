"""Every hypothesis is recognised on a file made that way: hashes, places, pages, other chunks.

Other bytes of the value: test_diagnosis_forms.py. That nothing is claimed without reason:
test_diagnosis_soundness.py.
"""

import random
import re
import struct
import time
import uuid
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import xxhash
from conftest import ROOT
from make import wrong_writers as wrong
from make.diagnosing import check, claimed, diagnosed, diagnosed_after, insert_only, why_not
from make.orc_defect_files import filter_with, numbers, stored_filters, with_filters
from make.pages import byte_arrays, data_page, dictionary_page
from make.parquet_files import forged, written
from make.wrong_writers import Column, Writer, make_column
from oracle import specification as spec

import parquet_bloom as pb
from parquet_bloom.diagnosis.diagnose import diagnose
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.evidence import UNREADABLE
from parquet_bloom.diagnosis.hashes import OTHER_HASHES
from parquet_bloom.diagnosis.key_forms import key_forms
from parquet_bloom.diagnosis.layouts import OTHER_PRODUCTS, layouts, other_counts
from parquet_bloom.diagnosis.moved import moved
from parquet_bloom.diagnosis.rare_key_forms import rare_key_forms
from parquet_bloom.diagnosis.uninserted import spelled
from parquet_bloom.files import open_file
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.membership import check_membership
from parquet_bloom.parquet.thrift.ttypes import Encoding
from parquet_bloom.values.types import LeafType, LogicalType
from parquet_bloom.verbs.validate import validate


def few_of(column: str, count: int) -> Column:
    made = make_column(column)
    return Column(made.array[:count], made.plain[:count], {})


# --- another hash ---------------------------------------------------------------------------------

HASHES = [
    *(
        ("xxh64-seed", lambda plain, seed=seed: wrong.xxh64(plain, seed), f"seed {seed} instead")
        for seed in (1, 7, 15, 42, 1234, 104729, 0xDEADBEEF, 0x9747B28C, 0xFFFFFFFF, 2**64 - 1)
    ),
    *(
        ("murmur3", wrong.murmur3(seed), f"the first 64 bits of Murmur3 x64_128 with seed {seed}")
        for seed in (0, 42, 104729, 1361930890)
    ),
    *(
        (
            "murmur3-last-half",
            wrong.murmur3_last(seed),
            f"the last 64 bits of Murmur3 x64_128 with seed {seed}",
        )
        for seed in (0, 42, 104729)
    ),
    (
        "xxh32",
        lambda plain: xxhash.xxh32_intdigest(plain) * 0x100000001,
        "choose both the block and the bits",
    ),
    ("xxh3", xxhash.xxh3_64_intdigest, "using 64-bit XXH3"),
    ("xxh3-128", lambda plain: xxhash.xxh3_128_intdigest(plain) % 2**64, "of 128-bit XXH3"),
    ("fnv-1a", wrong.fnv_1a, "using 64-bit FNV-1a"),
    *(
        (
            "xxh64-twice",
            lambda plain, order=order: wrong.xxh64(wrong.xxh64(plain).to_bytes(8, order)),
            f"using XXH64 of the 8 {order}-endian bytes of its XXH64",
        )
        for order in ("little", "big")
    ),
]


@pytest.mark.parametrize("column", ["text", "int64"])
@pytest.mark.parametrize(("name", "hash", "clause"), HASHES)
def test_hashes(tmp_path, column, name, hash, clause):
    diagnosis = diagnosed_after(tmp_path / "x.parquet", make_column(column), Writer(hash=hash))
    check(diagnosis, name, clause)


def test_djb2(tmp_path):
    """Of text only: of 8 bytes its high half, and so the block, is one of a few numbers."""
    path = tmp_path / "x.parquet"
    check(
        diagnosed_after(path, make_column("text"), Writer(hash=wrong.djb2)),
        "djb2",
        "using 64-bit djb2",
    )


def test_xxh32_in_the_low_half_fills_one_block(tmp_path):
    """With so few values that the block still excludes something."""
    few = few_of("text", 12)
    writer = Writer(hash=xxhash.xxh32_intdigest)
    diagnosis = diagnosed_after(tmp_path / "x.parquet", few, writer, ndv=400)
    check(diagnosis, "xxh32", "with a high half of 0")


@pytest.mark.parametrize(
    ("hash", "block", "why"),
    [
        (xxhash.xxh32_intdigest, 0, ": of a hash of 32 bits, it is 0"),
        (lambda plain: wrong.xxh64(plain) | 0xFFFFFFFF << 32, 31, ""),
    ],
)
def test_many_values_in_one_block(tmp_path, hash, block, why):
    """It finds too many of them to tell how they were hashed."""
    column = make_column("text")
    found = diagnosed_after(tmp_path / "x.parquet", column, Writer(hash=hash))
    assert found == Diagnosis(
        "one-block",
        f"the writer put the bits of all values into block {block} of 32, and none into the others, as if the high half of"
        f" each hash, which chooses the block, were the same{why}",
        0,
        0,
    )


def test_many_values_in_the_first_and_the_last_block(tmp_path):
    def signed(plain):
        hash = xxhash.xxh32_intdigest(plain)
        return hash | (hash >> 31) * (0xFFFFFFFF << 32)

    found = diagnosed_after(tmp_path / "x.parquet", make_column("text"), Writer(hash=signed))
    assert found == Diagnosis(
        "first-and-last-block",
        "the writer put the bits of all values into the first and the last of 32 blocks, and none into the others, as if all"
        " bits of the high half of each hash, which chooses the block, were the same: those of a hash of 32 bits that is"
        " taken as signed are",
        0,
        0,
    )


# --- another place in the filter ------------------------------------------------------------------

LAYOUTS = [
    (
        "halves-swapped",
        Writer(block=lambda hash, z: (hash % 2**32) * z >> 32, key=lambda hash: hash >> 32),
        "the block with the low half of the hash, and the bits with the high half",
    ),
    (
        "hash-byte-order",
        Writer(hash=lambda plain: wrong.swap64(wrong.xxh64(plain))),
        "reversed the 8 bytes of the hash",
    ),
    (
        "hash-sign-cleared",
        Writer(hash=lambda plain: wrong.xxh64(plain) % 2**63),
        "cleared the highest bit of the hash",
    ),
    (
        "hash-absolute",
        Writer(hash=lambda plain: abs(wrong.signed64(wrong.xxh64(plain)))),
        "and of this the absolute value",
    ),
    ("low-half-twice", Writer(block=lambda hash, z: (hash % 2**32) * z >> 32), "the low half"),
    (
        "high-half-twice",
        Writer(key=lambda hash: hash >> 32),
        "the bits with the high half of the hash",
    ),
    (
        "block-by-modulo",
        Writer(block=lambda hash, z: (hash >> 32) % z),
        "`(hash >> 32) % blocks` instead of the multiplication",
    ),
    ("block-by-modulo", Writer(block=lambda hash, z: hash % z), "`hash % blocks`"),
    (
        "block-by-modulo",
        Writer(block=lambda hash, z: hash % z, key=lambda hash: hash >> 32),
        "prescribes, and the bits with the high half of the hash",
    ),
    (
        "block-by-other-count",
        Writer(block=wrong.of_other_count(-1)),
        "chose the block as if there were",
    ),
    (
        "block-by-other-count",
        Writer(block=wrong.of_other_count(1)),
        "chose the block as if there were",
    ),
    (
        "block-by-other-count",
        Writer(block=lambda hash, z: spec.block_index(hash, z // 2)),
        "chose the block as if there were",
    ),
    (
        "folded-by-halves",
        Writer(block=lambda hash, z: ((hash >> 32) * 8 * z >> 32) % z),
        "by joining its halves",
    ),
    (
        "blocks-reversed",
        Writer(block=lambda hash, z: z - 1 - spec.block_index(hash, z)),
        "the blocks are in reverse order",
    ),
    (
        "bitset-halves-swapped",
        Writer(block=lambda hash, z: (spec.block_index(hash, z) + z // 2) % z),
        "the second half of the blocks is in front of the first",
    ),
    (
        "neighbours-exchanged",
        Writer(block=lambda hash, z: spec.block_index(hash, z) ^ 1),
        "put the bits of block 0 into 1, those of 1 into 0",
    ),
    (
        "words-big-endian",
        Writer(store=wrong.words_big_endian),
        "stored the 32-bit words big-endian",
    ),
    ("words-swapped-in-pairs", Writer(store=wrong.words_in_pairs), "words of each block in pairs"),
    ("longs-big-endian", Writer(store=wrong.longs_big_endian), "big-endian 64-bit words"),
    ("salts-reversed", Writer(mask=wrong.mask_with_salts_reversed), "in reverse order"),
    (
        "salts-permuted",
        Writer(mask=wrong.mask_of_salts(*(spec.SALT[i] for i in (1, 2, 3, 4, 5, 6, 7, 0)))),
        "took the eight salts in the order 1, 2, 3, 4, 5, 6, 7, 0",
    ),
    (
        "other-salt",
        Writer(mask=wrong.mask_of_salts(*spec.SALT[:3], 0x9E3779B1, *spec.SALT[4:])),
        "took another salt for word 3 (of 0 to 7) of each block",
    ),
    (
        "other-salt",
        Writer(mask=wrong.mask_of_salts(0x85EBCA77, *spec.SALT[1:7], 0xC2B2AE3D)),
        "took another salt for words 0, 7 (of 0 to 7) of each block",
    ),
    ("words-without-bits", Writer(mask=wrong.mask_of_seven_words), "set no bit in word 7 (of"),
    ("bits-from-the-top", Writer(mask=wrong.mask_from_the_top), "each word from the highest"),
    (
        "lowest-five-bits",
        Writer(mask=wrong.mask_from_bit(0)),
        "the lowest five bits of each product",
    ),
    ("product-of-64-bits", Writer(mask=wrong.mask_from_bit(59)), "the highest five bits of 64 of"),
    ("bits-never-set", Writer(store=wrong.without_signs), "set bit 31 (of 0 to 31) in no word"),
]


@pytest.mark.every(2)
@pytest.mark.parametrize("exact_blocks", [False, True])
@pytest.mark.parametrize("column", ["text", "int32"])
@pytest.mark.parametrize(("name", "writer", "clause"), LAYOUTS)
def test_layouts(tmp_path, column, name, writer, clause, exact_blocks):
    diagnosis = diagnosed_after(
        tmp_path / "x.parquet", make_column(column), writer, exact_blocks=exact_blocks
    )
    check(diagnosis, name, clause)


@pytest.mark.parametrize("seed", range(1, 4))
@pytest.mark.parametrize(("more", "count"), [(-1, 31), (1, 33), (-16, 16)])
def test_the_number_of_blocks_is_named(tmp_path, more, count, seed):
    """Whichever values are missing: by one more or less, fewer than half."""
    column, writer = make_column("text", seed), Writer(block=wrong.of_other_count(more))
    found = diagnosed_after(tmp_path / "x.parquet", column, writer, ndv=500)
    done = f"the writer chose the block as if there were {count} blocks instead of 32"
    assert found.explanation == done


@pytest.mark.parametrize(
    ("block", "clause"),
    [
        (lambda hash, z: (hash >> 32) & (z - 1), "`(hash >> 32) & 0x"),
        (lambda hash, z: hash & (z - 1), "`hash & 0x"),
        (lambda hash, z: (hash >> 32) & (2 ** (z.bit_length() - 1) - 1), " & 0x"),
    ],
)
def test_blocks_by_mask(tmp_path, block, clause):
    diagnosis = diagnosed_after(
        tmp_path / "x.parquet",
        make_column("text"),
        Writer(block=block),
        exact_blocks=True,
        ndv=1300,
    )
    check(diagnosis, "block-by-mask", clause)


def further(places: int) -> Writer:
    """Puts bits so many blocks further on, and those of the last into the first."""
    return Writer(block=lambda hash, z: (spec.block_index(hash, z) + places) % z)


@pytest.mark.parametrize(
    ("places", "where"),
    [
        (1, "the block after it, and those of the last into the first"),
        (-1, "the block before it, and those of the first into the last"),
        (4, "the block 4 after it, and those of the last 4 into the first 4"),
        (-3, "the block 3 before it, and those of the first 3 into the last 3"),
    ],
)
@pytest.mark.parametrize("column", ["text", "int32"])
def test_blocks_that_are_all_some_places_further_on(tmp_path, column, places, where):
    """Not a bitset that begins later: the values of the last blocks are found in the first."""
    found = diagnosed_after(tmp_path / "x.parquet", make_column(column), further(places), ndv=1500)
    check(found, "blocks-rotated")
    assert found.explanation == f"the writer put the bits of each block into {where}"


@pytest.mark.parametrize("places", [1, 3])
def test_blocks_further_on_of_which_the_last_are_empty(tmp_path, places):
    """Then nothing tells that the bitset does not begin later."""
    column = few_of("text", 12)
    found = diagnosed_after(tmp_path / "x.parquet", column, further(places), ndv=5000)
    check(found, "blocks-rotated")
    assert found.explanation.endswith(
        f" (or began the bitset {32 * places} bytes later than where the header of 17 bytes ends, which is the same for"
        " these values)"
    )


# Of two blocks, other counts choose the same ones, or always one.
OF_TWO = {name for name, _, _ in LAYOUTS if "block" in name or "half" in name}
OF_TWO -= {"block-by-other-count"}


@pytest.mark.parametrize(("name", "writer"), [each[:2] for each in LAYOUTS if each[0] in OF_TWO])
def test_one_of_two_blocks(tmp_path, name, writer):
    """Chance chooses the right one for half of the values: of many, found or not, that is none."""
    path = tmp_path / "x.parquet"
    diagnosis = diagnosed_after(path, few_of("text", 100), writer, ndv=40)
    assert wrong.header(path).num_blocks == 2
    # Of two, each half is a block.
    check(diagnosis, "blocks-reversed" if name == "bitset-halves-swapped" else name)
    assert diagnosis.tried == 100


# --- another place in the file --------------------------------------------------------------------


def sound_bits(path: Path, **options) -> bytes:
    wrong.write(path, make_column("text"), **options)
    return wrong.read_bits(path)


@pytest.mark.parametrize(("shift", "spelled"), [(1, "1 byte"), (4, "4 bytes"), (15, "15 bytes")])
def test_bitset_later_than_the_header_says(tmp_path, shift, spelled):
    path = tmp_path / "x.parquet"
    bits = sound_bits(path)
    header = bloom.encode_header(len(bits))
    wrong.append(path, header + bytes(shift) + bits, len(header) + len(bits))
    check(diagnosed(path), "bitset-shifted", f"began the bitset {spelled} later")


@pytest.mark.parametrize("shift", [32, 64, 96, 128])
def test_bitset_whole_blocks_later(tmp_path, shift):
    path = tmp_path / "x.parquet"
    bits = sound_bits(path)
    header = bloom.encode_header(len(bits))
    wrong.append(path, header + bytes(shift) + bits, len(header) + len(bits))
    check(diagnosed(path), "bitset-shifted", f"began the bitset {shift} bytes later")


def test_bitset_later_that_the_footer_cuts_off(tmp_path):
    """The last filter of a file of which all begin late."""
    path = tmp_path / "x.parquet"
    bits = sound_bits(path)
    header = bloom.encode_header(len(bits))
    wrong.append(path, header + bytes(4) + bits[:-4], len(header) + len(bits))
    check(diagnosed(path), "bitset-shifted", "began the bitset 4 bytes later")


def test_bitset_that_begins_with_the_header(tmp_path):
    """The header lies on the first bits, so the values of block 0 prove nothing."""
    path = tmp_path / "x.parquet"
    bits = sound_bits(path)
    header = bloom.encode_header(len(bits))
    region = header + bits[len(header) :]
    wrong.append(path, region + bytes(len(header)), len(region))
    diagnosis = diagnosed(path)
    check(diagnosis, "bitset-shifted", f"began the bitset {len(header)} bytes earlier")


@pytest.mark.parametrize(
    ("name", "said", "clause"),
    [
        ("size-in-bits", lambda size: size * 8, "counted bits"),
        ("size-in-words", lambda size: size // 4, "counted words"),
        ("size-in-blocks", lambda size: size // 32, "counted blocks"),
    ],
)
def test_size_in_another_unit(tmp_path, name, said, clause):
    path = tmp_path / "x.parquet"
    bits = sound_bits(path, ndv=10_000)
    header = bloom.encode_header(said(len(bits)))
    filler = random.Random(3).randbytes(len(bits) * 8)
    wrong.append(path, header + bits + filler, len(header) + said(len(bits)))
    check(diagnosed(path), name, clause)


@pytest.mark.parametrize("share", [2, 4, 8])
def test_a_bitset_of_which_only_the_first_blocks_were_stored(tmp_path, share):
    """Where the others belong, there is nothing that could tell."""
    path = tmp_path / "x.parquet"
    bits = sound_bits(path, ndv=10_000)
    kept = bits[: len(bits) // share]
    header = bloom.encode_header(len(kept))
    wrong.append(path, header + kept, len(header) + len(kept))
    diagnosis = diagnosed(path)
    blocks = f"the first {len(kept) // 32:,} blocks of a filter of {len(bits) // 32:,}"
    check(diagnosis, "bitset-cut", f"stored only {blocks}")


def test_values_in_other_blocks_than_the_first_of_a_larger_filter(tmp_path):
    """As if a larger filter were cut, where nothing tells of the values of the other half: but their bits are there."""

    def by_absolute_half(hash, num_blocks):
        half = abs(wrong.signed64(hash) >> 32)
        return min(num_blocks - 1, half * num_blocks >> 31)

    writer = Writer(block=by_absolute_half)
    found = diagnosed_after(tmp_path / "x.parquet", make_column("text"), writer, ndv=1500)
    assert found is None


def test_words_that_moved_on_with_the_last_in_front(tmp_path):
    """Nearly all values are where those of a bitset would be that begins later, and the others in front."""
    path = tmp_path / "x.parquet"
    bits = sound_bits(path, ndv=6000)
    header = bloom.encode_header(len(bits))
    wrong.append(path, header + bits[-4:] + bits[:-4] + bytes(64), len(header) + len(bits))
    assert diagnosed(path) is None
    assert (
        "the nearest, bitset-shifted (the writer began the bitset 4 bytes later than where the header of 17 bytes ends),"
        " finds " in why_not(path)
    )


def test_a_bitset_that_begins_late_and_has_lost_its_end(tmp_path):
    """To the next filter, which is where it should be."""
    path = tmp_path / "x.parquet"
    bits = sound_bits(path, ndv=6000)
    header = bloom.encode_header(len(bits))
    wrong.append(path, header + bytes(16) + bits[:-16] + bytes(64), len(header) + len(bits))
    found = diagnosed(path)
    assert found.explanation.startswith("the writer began the bitset 16 bytes later")
    assert found.hits < found.tried


def test_blocks_that_are_rounded_to_the_nearest(tmp_path):
    """All missing values are in the next block, and none of the others is."""
    path = tmp_path / "x.parquet"
    column = make_column("text")
    writer = Writer(block=lambda hash, z: min(z - 1, ((hash >> 32) * z + 2**31) >> 32))
    assert diagnosed_after(path, column, writer) is None
    assert ", but other values, or bits, speak against it; tried on" in why_not(path)


@pytest.mark.parametrize("less", [32, 64, 2048])
def test_another_size_than_the_length_in_the_footer(tmp_path, less):
    """With one block less, the next block explains what is missing, too."""
    path = tmp_path / "x.parquet"
    bits = sound_bits(path, ndv=10_000)
    said = len(bits) - less
    header = bloom.encode_header(said)
    wrong.append(path, header + bits, len(header) + len(bits))
    found = diagnosed(path)
    assert (found.hypothesis, found.explanation, found.hits) == (
        "size-by-length",
        (
            f"the writer wrote {said:,} as the header's numBytes, which is not what bloom_filter_length says: the bitset"
            f" has {len(bits):,} bytes"
        ),
        found.tried,
    )


@pytest.mark.parametrize("said", [lambda size: size + 32, lambda size: size * 2])
def test_a_larger_size_than_the_length_in_the_footer(tmp_path, said):
    """By one block, or twice as large: no other way of choosing blocks, which looks the same."""
    path = tmp_path / "x.parquet"
    bits = sound_bits(path, ndv=10_000)
    size = said(len(bits))
    header = bloom.encode_header(size)
    wrong.append(path, header + bits + bytes(len(bits)), len(header) + len(bits))
    check(diagnosed(path), "size-by-length", f"wrote {size:,} as the header's numBytes")


# --- pages ----------------------------------------------------------------------------------------

PAGE_VALUES = 50


def paged_column(path: Path, num_pages: int) -> list[list[bytes]]:
    """PLAIN pages of text, the values of each."""
    pages = [
        [f"page {page} value {i}".encode() for i in range(PAGE_VALUES)] for page in range(num_pages)
    ]
    encoded = [data_page(byte_arrays(*page), PAGE_VALUES) for page in pages]
    return _built(path, encoded, pages)


def fallback_column(path: Path, num_plain: int) -> list[list[bytes]]:
    """A dictionary with one page that refers to it, and PLAIN pages."""
    entries = [f"entry {i}".encode() for i in range(PAGE_VALUES)]
    indices = spec.packed_run(range(PAGE_VALUES), 6)
    pages = [
        [f"page {page} value {i}".encode() for i in range(PAGE_VALUES)] for page in range(num_plain)
    ]
    encoded = [
        dictionary_page(byte_arrays(*entries), PAGE_VALUES),
        data_page(b"\x06" + indices, PAGE_VALUES, encoding=Encoding.RLE_DICTIONARY),
        *(data_page(byte_arrays(*page), PAGE_VALUES) for page in pages),
    ]
    return _built(path, encoded, [entries, *pages], num_values=PAGE_VALUES * (num_plain + 1))


def _built(path, encoded, pages, num_values=None):
    bare = path.with_suffix(".bare")
    forged(bare, encoded, num_values or sum(map(len, pages)))
    pb.build(bare, path, columns=["values"])
    return pages


def flat(pages: Iterable[list[bytes]]) -> list[bytes]:
    return [value for page in pages for value in page]


@pytest.mark.parametrize(
    ("inserted", "words"),
    [
        ([0, 1, 2, 3], "data pages 0 to 3 of 12"),
        ([11], "data page 11 of 12"),
        ([0, 2, 3, 4, 9, 11], "data pages 0, 2 to 4, 9, 11 of 12"),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11], "data pages 1 to 11 of 12"),
    ],
)
def test_pages_not_inserted(tmp_path, inserted, words):
    path = tmp_path / "x.parquet"
    pages = paged_column(path, 12)
    insert_only(path, flat(pages[i] for i in inserted))
    diagnosis = diagnosed(path)
    check(diagnosis, "pages-not-inserted", f"only the values of {words} were inserted")
    assert diagnosis.tried == PAGE_VALUES * len(inserted)


def test_values_that_are_on_other_pages_too(tmp_path):
    """Of the pages that were not inserted, most values are found: they are on page 0."""
    path = tmp_path / "x.parquet"
    shared = [f"everywhere {i}".encode() for i in range(40)]
    pages = [[*shared, *(f"page {page} {i}".encode() for i in range(10))] for page in range(6)]
    encoded = [data_page(byte_arrays(*page), PAGE_VALUES) for page in pages]
    _built(path, encoded, pages)
    insert_only(path, flat(pages[:3]))
    check(diagnosed(path), "pages-not-inserted", "data pages 0 to 2 of 6")


def test_values_lost_here_and_there_are_not_pages(tmp_path):
    """Half of the values of some pages."""
    path = tmp_path / "x.parquet"
    pages = paged_column(path, 12)
    insert_only(path, flat(pages[:8]) + [page[i] for page in pages[8:] for i in range(25)])
    assert diagnosed(path) is None


@pytest.mark.parametrize("use_dictionary", [False, True])
def test_a_filter_that_was_closed_early(tmp_path, use_dictionary):
    """In the middle of a page; what luck finds, and values that early rows have too, do not hide it."""
    path = tmp_path / "x.parquet"
    values = [b"%d" % i for i in range(3000)]
    rows = [*values, *values[:500]]
    table = pa.table({"values": pa.array(rows, pa.binary())})
    path.write_bytes(written(table, use_dictionary=use_dictionary))
    pb.build(path, columns=["values"], in_place=True)
    insert_only(path, values[:2500])
    found = diagnosed(path)
    check(found, "closed-early", "before the values of the last rows")
    assert found.tried >= 2500
    insert_only(path, [*values[:2500], *values[2600:2700]])
    assert diagnosed(path) is None
    insert_only(path, values[:3])
    assert diagnosed(path) is None


@pytest.mark.parametrize("rest", [0, 9])
def test_values_left_out_evenly_are_not_those_of_the_first_or_last_rows(tmp_path, rest):
    """Behind the last, or before the first, are some that are all found."""
    path = tmp_path / "x.parquet"
    values = [b"%d" % i for i in range(20_000)]
    table = pa.table({"values": pa.array(values, pa.binary())})
    path.write_bytes(written(table, use_dictionary=False))
    pb.build(path, columns=["values"], in_place=True)
    insert_only(path, [value for i, value in enumerate(values) if i % 10 != rest])
    assert diagnosed(path) is None


@pytest.mark.parametrize("use_dictionary", [False, True])
def test_a_filter_that_was_opened_late(tmp_path, use_dictionary):
    """In the middle of a page; early rows have some values of later ones."""
    path = tmp_path / "x.parquet"
    values = [b"%d" % i for i in range(3000)]
    table = pa.table({"values": pa.array([*values[2500:], *values], pa.binary())})
    path.write_bytes(written(table, use_dictionary=use_dictionary))
    pb.build(path, columns=["values"], in_place=True)
    insert_only(path, values[700:])
    found = diagnosed(path)
    check(found, "opened-late", "after the values of the first rows")
    assert 2300 <= found.tried < 2310
    insert_only(path, [*values[300:400], *values[700:]])
    assert diagnosed(path) is None
    insert_only(path, values[2997:])
    assert diagnosed(path) is None


def test_few_lost_values_are_not_a_page(tmp_path):
    path = tmp_path / "x.parquet"
    entries = [[b"%d %d" % (page, i) for i in range(PAGE_VALUES)] for page in range(4)]
    entries.append([b"last 1", b"last 2", b"last 3"])
    encoded = [data_page(byte_arrays(*page), len(page)) for page in entries]
    _built(path, encoded, entries)
    insert_only(path, flat(entries[:4]))
    assert diagnosed(path) is None


def test_dictionary_not_inserted(tmp_path):
    path = tmp_path / "x.parquet"
    pages = fallback_column(path, 3)
    insert_only(path, flat(pages[1:]))
    check(diagnosed(path), "dictionary-not-inserted", "the values of the dictionary were not")


def test_only_the_dictionary_inserted(tmp_path):
    path = tmp_path / "x.parquet"
    pages = fallback_column(path, 3)
    insert_only(path, pages[0])
    check(diagnosed(path), "only-dictionary-inserted", "only the dictionary was inserted")


def test_dictionary_and_some_pages_inserted(tmp_path):
    path = tmp_path / "x.parquet"
    pages = fallback_column(path, 4)
    insert_only(path, flat(pages[:3]))
    words = "only the values of the dictionary and data pages 1 to 2 of 5 were inserted"
    check(diagnosed(path), "pages-not-inserted", words)


def test_few_lost_entries_are_not_a_dictionary(tmp_path):
    """All four that a row has; that the other sixty are not found is as it should be."""
    path = tmp_path / "x.parquet"
    entries = [b"entry %d" % i for i in range(64)]
    page = [b"value %d" % i for i in range(PAGE_VALUES)]
    indices = b"\x06" + spec.packed_run(range(4), 6)
    encoded = [
        dictionary_page(byte_arrays(*entries), 64),
        data_page(indices, 4, encoding=Encoding.RLE_DICTIONARY),
        data_page(byte_arrays(*page), PAGE_VALUES),
    ]
    _built(path, encoded, [page], num_values=PAGE_VALUES + 4)
    insert_only(path, page)
    assert diagnosed(path) is None


def test_small_pages_that_are_found_by_luck(tmp_path):
    """Two values each, and bits of nothing, of which some pages meet enough."""
    path = tmp_path / "x.parquet"
    pages = [[b"a%d" % i, b"b%d" % i] for i in range(40)]
    encoded = [data_page(byte_arrays(*page), 2) for page in pages]
    _built(path, encoded, pages)
    size = len(wrong.read_bits(path))
    for seed in range(10):
        bits = np.random.default_rng(seed).random(8 * size) < 0.9
        wrong.overwrite(path, np.packbits(bits).tobytes())
        assert diagnosed(path) is None


def test_spelled_pages():
    assert spelled([3]) == "data page 3"
    assert spelled([None, 1, 2, 3, 7]) == "the dictionary and data pages 1 to 3, 7"
    many = "data pages 0, 2, 4, 6, 8, 10, 12, 14 and 49,992 more ranges"
    assert spelled(range(0, 100_000, 2)) == many


def test_entries_that_no_row_has_are_no_evidence(tmp_path):
    """A length prefix, and a dictionary of which half is not used and was rightly not inserted."""
    path = tmp_path / "x.parquet"
    entries = [b"entry %d" % i for i in range(64)]
    encoded = [
        dictionary_page(byte_arrays(*entries), 64),
        data_page(b"\x05" + spec.packed_run(range(32), 5), 32, encoding=Encoding.RLE_DICTIONARY),
    ]
    _built(path, encoded, [entries], num_values=32)
    writer = Writer(form=byte_arrays)
    wrong.overwrite(path, writer.bitset(entries[:32], wrong.header(path).num_blocks))
    check(diagnosed(path), "length-prefix")


# --- the filter of another chunk ------------------------------------------------------------------


def four_chunks(path: Path) -> Path:
    """Two row groups of two columns."""
    left, right = make_column("int64", 1), make_column("int64", 2)
    table = pa.table({"left": left.array, "right": right.array})
    return wrong.write_table(path, table, row_group_size=200)


def test_filters_of_columns_swapped(tmp_path):
    path = four_chunks(tmp_path / "x.parquet")
    wrong.point_to(path, {(0, 0): (0, "right"), (0, 1): (0, "left")})
    check(
        diagnosed(path, 0, "left"),
        "filter-of-another-chunk",
        "the filter belongs to row group 0, column right",
    )
    check(diagnosed(path, 0, "right"), "filter-of-another-chunk", "row group 0, column left")
    assert diagnosed(path, 1, "left") is None


def test_filter_of_the_next_row_group(tmp_path):
    path = four_chunks(tmp_path / "x.parquet")
    wrong.point_to(path, {(0, 0): (1, "left")})
    check(diagnosed(path, 0, "left"), "filter-of-another-chunk", "row group 1, column left")


def test_filter_of_another_column_of_another_row_group(tmp_path):
    path = four_chunks(tmp_path / "x.parquet")
    wrong.point_to(path, {(0, 1): (1, "left")})
    check(diagnosed(path, 0, "right"), "filter-of-another-chunk", "row group 1, column left")


@pytest.mark.parametrize("num_groups", [3, 20])
@pytest.mark.parametrize("step", [1, -1])
def test_filters_that_moved_on_by_one_row_group(tmp_path, num_groups, step):
    """Each is said to belong to the next, the last one to the first. Most are also found at the one before."""
    path = tmp_path / "x.parquet"
    table = pa.table({"values": make_column("int64").array})
    wrong.write_table(path, table, row_group_size=400 // num_groups)
    owners = [(group + step) % num_groups for group in range(num_groups)]
    wrong.point_to(path, {(group, 0): (owner, "values") for group, owner in enumerate(owners)})
    for group in {0, 1, num_groups - 1}:
        check(
            diagnosed(path, group),
            "filter-of-another-chunk",
            f"the filter belongs to row group {owners[group]}, column values",
        )


def test_own_filter_at_another_chunk(tmp_path):
    """This chunk points to bits of nothing, and the other one to the filter of this one."""
    path = four_chunks(tmp_path / "x.parquet")
    wrong.point_to(path, {(1, 1): (0, "left"), (0, 0): (1, "right")})
    size = len(wrong.read_bits(path, 0, "left"))
    wrong.overwrite(path, random.Random(1).randbytes(size), 0, "left")
    found = "the missing values are found in the filter of row group"
    check(diagnosed(path, 0, "left"), "filter-at-another-chunk", f"{found} 1, column right")
    wrong.point_to(path, {(0, 1): (1, "right")})
    check(diagnosed(path, 0, "left"), "filter-at-another-chunk", f"{found} 0, column right")


def test_the_same_values_in_another_row_group_prove_nothing(tmp_path):
    """Both row groups hold the same values; one filter is broken."""
    column = make_column("text")
    table = pa.table({"values": pa.concat_arrays([column.array, column.array])})
    path = wrong.write_table(tmp_path / "x.parquet", table, row_group_size=len(column.plain))
    size = len(wrong.read_bits(path))
    rng = random.Random(7)
    wrong.overwrite(path, bytes(rng.getrandbits(8) & rng.getrandbits(8) for _ in range(size)))
    assert diagnosed(path) is None


# --- floating point numbers that are alike --------------------------------------------------------


@pytest.mark.parametrize("code", ["<e", "<f", "<d"])
def test_zero_of_the_other_sign(tmp_path, code):
    numbers = [1.5, 2.5, -0.0, 3.25]
    types = {"<e": pa.float16(), "<f": pa.float32(), "<d": pa.float64()}
    path = wrong.write_table(
        tmp_path / "x.parquet", pa.table({"values": pa.array(numbers, types[code])})
    )
    plus = [struct.pack(code, n) for n in (1.5, 2.5, 0.0, 3.25)]
    insert_only(path, plus)
    diagnosis = diagnosed(path)
    assert diagnosis == Diagnosis(
        "zero-sign", "the writer hashed each zero with the other sign", 1, 1
    )


def test_nans_made_alike(tmp_path):
    odd = [struct.pack("<Q", 0xFFF8000000000001 + i) for i in range(3)]
    plain = [struct.pack("<d", n) for n in (1.5, 2.5, 3.5)]
    array = pa.array(np.frombuffer(b"".join([*plain, *odd]), "<f8"))
    path = wrong.write_table(tmp_path / "x.parquet", pa.table({"values": array}))
    insert_only(path, [*plain, struct.pack("<Q", 0x7FF8000000000000)])
    diagnosis = diagnosed(path)
    assert diagnosis == Diagnosis(
        "nan-payload",
        "the writer hashed each NaN as the canonical NaN",
        3,
        3,
    )


@pytest.mark.parametrize(
    ("lost", "equal"),
    [("0100c0ff", "0000c07f"), ("00000080", "00000000"), ("00000000", "00000080")],
)
def test_a_lost_bit_of_a_number_whose_equal_is_stored_proves_nothing(tmp_path, lost, equal):
    """It is found because it is stored, whatever was done to the other one."""
    lost, equal = bytes.fromhex(lost), bytes.fromhex(equal)
    others = [equal, *(struct.pack("<f", n) for n in (1.5, 2.5, 3.5))]
    array = pa.array(np.frombuffer(b"".join([lost, *others]), "<f4"))
    path = wrong.write_table(tmp_path / "x.parquet", pa.table({"values": array}))
    size = wrong.header(path).num_blocks
    without, bits = Writer().bitset(others, size), bytearray(Writer().bitset([lost, *others], size))
    at = next(at for at, byte in enumerate(bits) if byte != without[at])
    own = bits[at] & ~without[at]
    bits[at] &= ~(own & -own)
    wrong.overwrite(path, bytes(bits))
    assert diagnosed(path) is None


def test_a_missing_number_beside_a_zero_is_another_matter(tmp_path):
    array = pa.array([1.5, 2.5, -0.0, 3.25], pa.float64())
    path = wrong.write_table(tmp_path / "x.parquet", pa.table({"values": array}))
    insert_only(path, [struct.pack("<d", n) for n in (1.5, 0.0)])
    assert diagnosed(path) is None


def test_a_zero_that_is_found_by_luck_proves_nothing(tmp_path):
    """In a filter that finds nearly everything."""
    array = pa.array([1.5, 2.5, -0.0, 3.25], pa.float64())
    path = wrong.write_table(tmp_path / "x.parquet", pa.table({"values": array}))
    minus = Writer().bitset([struct.pack("<d", -0.0)], wrong.header(path).num_blocks)
    lowest = next(i for i, byte in enumerate(minus) if byte)
    bits = bytearray(b"\xff" * len(minus))
    bits[lowest] &= ~minus[lowest]
    wrong.overwrite(path, bytes(bits))
    assert diagnosed(path) is None


# --- two things at once ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("column", "writer", "name"),
    [
        ("text", Writer(form=byte_arrays, hash=wrong.murmur3(0)), "length-prefix+murmur3"),
        (
            "int32",
            Writer(
                form=lambda plain: struct.pack("<q", *struct.unpack("<i", plain)),
                hash=lambda plain: wrong.xxh64(plain, 42),
            ),
            "int64+xxh64-seed",
        ),
        (
            "text",
            Writer(hash=wrong.murmur3(1361930890), block=lambda hash, z: (hash >> 32) & (z - 1)),
            "murmur3+block-by-modulo",
        ),
        (
            "int64",
            Writer(form=lambda plain: plain[::-1], store=wrong.words_big_endian),
            "big-endian+words-big-endian",
        ),
        (
            "uuid",
            Writer(
                form=lambda plain: uuid.UUID(bytes=plain).bytes_le,
                block=lambda hash, z: hash % z,
            ),
            "uuid-guid+block-by-modulo",
        ),
    ],
)
def test_two_deviations(tmp_path, column, writer, name):
    diagnosis = diagnosed_after(tmp_path / "x.parquet", make_column(column), writer)
    check(diagnosis, name)
    assert re.fullmatch(
        r"the writer hashed each value .*(, using | and (chose|stored|counted) ).*",
        diagnosis.explanation,
    )


# --- the rest -------------------------------------------------------------------------------------


def test_damaged_pages_leave_no_diagnosis(tmp_path):
    """The pages were read once already; whoever damages them in between is told."""
    path = wrong.write(tmp_path / "x.parquet", make_column("text"), compression="none")
    insert_only(path, [b"nothing"])
    with open_file(path) as file:
        chunk = file.chunk(0, "values")
        stored = bloom.read_header(file.source, file.footer, chunk)
        membership = check_membership(file, chunk, bloom.read_bitset(file.source, stored))
        with path.open("r+b") as other:
            other.seek(chunk.pages_start)
            other.write(b"\xff" * 40)
        assert diagnose(file, chunk, stored, membership) == UNREADABLE


def test_damaged_pages_of_another_chunk_are_no_evidence(tmp_path):
    path = four_chunks(tmp_path / "x.parquet")
    insert = random.Random(3).randbytes(len(wrong.read_bits(path, 0, "left")))
    wrong.overwrite(path, insert, 0, "left")
    with open_file(path) as file:
        starts = [file.chunk(1, "left").pages_start, file.chunk(0, "right").pages_start]
    with path.open("r+b") as file:
        for start in starts:
            file.seek(start)
            file.write(b"\xff" * 40)
    assert diagnosed(path, 0, "left") is None


def test_a_large_chunk_takes_less_than_two_seconds(tmp_path):
    """Bits of nothing, so that everything is tried; many pages, and a dictionary."""
    rng = np.random.default_rng(4)
    array = pa.array(rng.integers(0, 2**62, 1_000_000))
    path = wrong.write_table(tmp_path / "x.parquet", pa.table({"values": array}))
    size = len(wrong.read_bits(path))
    wrong.overwrite(
        path,
        (rng.random(size * 8) < 0.3)
        .view(np.uint8)
        .reshape(-1, 8)
        .dot(1 << np.arange(8))
        .astype(np.uint8)
        .tobytes(),
    )
    with open_file(path) as file:
        chunk = file.chunk(0, "values")
        stored = bloom.read_header(file.source, file.footer, chunk)
        membership = check_membership(file, chunk, bloom.read_bitset(file.source, stored))
        start = time.process_time()
        assert claimed(file, chunk, stored, membership) is None
        assert time.process_time() - start < 2


def long_values(path: Path, size: int) -> list[bytes]:
    rng = random.Random(8)
    values = [rng.randbytes(size) for _ in range(200)]
    wrong.write(path, Column(pa.array(values, pa.binary()), values, {}))
    return values


def test_long_values_take_less_than_two_seconds(tmp_path):
    path = tmp_path / "x.parquet"
    long_values(path, 40_000)
    size = len(wrong.read_bits(path))
    wrong.overwrite(path, random.Random(9).randbytes(size))
    start = time.process_time()
    assert diagnosed(path) is None
    assert time.process_time() - start < 2


def test_long_values_are_diagnosed(tmp_path):
    path = tmp_path / "x.parquet"
    values = long_values(path, 40_000)
    writer = Writer(form=byte_arrays)
    wrong.overwrite(path, writer.bitset(values, wrong.header(path).num_blocks))
    diagnosis = diagnosed(path)
    check(diagnosis, "length-prefix")
    assert diagnosis.tried < 100


def test_values_that_are_too_long_are_left_out(tmp_path):
    path = tmp_path / "x.parquet"
    values = long_values(path, (64 << 10) + 1)
    writer = Writer(form=byte_arrays)
    wrong.overwrite(path, writer.bitset(values, wrong.header(path).num_blocks))
    assert diagnosed(path) is None


# --- accidents --------------------------------------------------------------------------------------


def damaged(tmp_path, change) -> Diagnosis | None:
    """What is said of a sound filter that `change` turns into other bytes."""
    path = tmp_path / "x.parquet"
    column = make_column("int64")
    wrong.write(path, column)
    wrong.overwrite(path, change(Writer().bitset(column.plain, wrong.header(path).num_blocks)))
    return diagnosed(path)


def inverted(bits: bytes) -> bytes:
    return bytes(byte ^ 0xFF for byte in bits)


def test_inverted_bits(tmp_path):
    found = damaged(tmp_path, inverted)
    check(found, "bits-inverted")
    assert found.explanation == "all bits are inverted"


def words_big_endian(bits: bytes) -> bytes:
    return np.frombuffer(bits, "<u4").astype(">u4").tobytes()


def changed_in(blocks: slice, change):
    """`change` of these blocks only."""
    part = slice(blocks.start * 32, blocks.stop * 32)
    return lambda bits: bits[: part.start] + change(bits[part]) + bits[part.stop :]


@pytest.mark.parametrize(
    ("change", "name", "done"),
    [
        (inverted, "bits-inverted", "all bits are inverted"),
        (words_big_endian, "words-big-endian", "the writer stored the 32-bit words big-endian"),
    ],
)
@pytest.mark.parametrize(
    ("blocks", "which"),
    [
        (slice(12, 16), "blocks 12 to 15 of 16 look"),
        (slice(1, 16), "blocks 1 to 15 of 16 look"),
        (slice(5, 6), "block 5 of 16 looks"),
    ],
)
def test_a_part_that_looks_like_a_layout(tmp_path, change, name, done, blocks, which):
    """The values of the other blocks are where they belong."""
    found = damaged(tmp_path, changed_in(blocks, change))
    check(found, name)
    assert found.explanation == f"{which} as if {done}"


def test_parts_here_and_there_are_no_layout(tmp_path):
    """The values of the blocks between are where they belong."""
    first, last = (changed_in(blocks, inverted) for blocks in (slice(2, 4), slice(12, 14)))
    found = damaged(tmp_path, lambda bits: last(first(bits)))
    assert found.hypothesis == "blocks-changed"
    assert "belong to blocks 2 to 3, 12 to 13 of 16:" in found.explanation


@pytest.mark.parametrize(
    ("start", "end", "empty", "beside"),
    [
        (0, 192, "6 blocks in a row, from block 0 of 16 on, are", ""),
        (0, 200, "6 blocks in a row, from block 0 of 16 on, are", " or to the block after them"),
        (120, 320, "6 blocks in a row, from block 4 of 16 on, are", " or to the block before them"),
        (100, 300, "5 blocks in a row, from block 4 of 16 on, are", " or to the block before or after them"),
        (1, 95, "1 block in a row, from block 1 of 16 on, is", " or to the block before or after it"),
        (0, 480, "15 blocks in a row, from block 0 of 16 on, are", ""),
        (0, 450, "14 blocks in a row, from block 0 of 16 on, are", " or to the block after them"),
    ],
)  # fmt: skip
def test_blocks_that_were_overwritten(tmp_path, start, end, empty, beside):
    """With zeros that may begin and end within a block, and leave just one."""
    found = damaged(tmp_path, lambda bits: bits[:start] + bytes(end - start) + bits[end:])
    assert found.hypothesis == "blocks-lost"
    assert found.explanation == (
        f"{empty} empty: overwritten or never written; the missing values belong there{beside}"
    )


def test_values_that_are_missing_elsewhere_too_are_not_those_of_lost_blocks(tmp_path):
    """A filter of which half was overwritten, and that lost single bits in the other half."""
    found = damaged(tmp_path, lambda bits: bytes(256) + bytes(byte & 0x7F for byte in bits[256:]))
    assert found is None


@pytest.mark.parametrize(
    ("start", "size", "words"),
    [(96, 32, "block 3"), (88, 16, "blocks 2 to 3"), (100, 100, "blocks 3 to 6")],
)
def test_blocks_that_were_changed(tmp_path, start, size, words):
    """Some bits of each byte are others."""

    def change(bits):
        changed = bytes(byte ^ 0x55 for byte in bits[start : start + size])
        return bits[:start] + changed + bits[start + size :]

    found = damaged(tmp_path, change)
    assert found == Diagnosis(
        "blocks-changed",
        f"all missing values belong to {words} of 16: bytes of the filter changed there, or values for these blocks were"
        " never inserted",
        0,
        0,
    )


def test_blocks_that_were_changed_here_and_there(tmp_path):
    """With zeros, or with other bits."""

    def change(bits):
        return b"".join(
            bytes(32) if at in (64, 96, 320) else b"U" * 32 if at == 448 else bits[at : at + 32]
            for at in range(0, len(bits), 32)
        )

    found = damaged(tmp_path, change)
    assert found.explanation.startswith(
        "all missing values belong to blocks 2 to 3, 10, 14 of 16: bytes of the filter changed there, or"
    )


def test_inverted_bits_of_orc(tmp_path):
    path = tmp_path / "x.orc"
    first, second = stored_filters()
    path.write_bytes(with_filters(_inverted(first), second))
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == "PB401")
    check(found.diagnosis, "bits-inverted", "all bits are inverted")


@pytest.mark.parametrize("kept", [3, 100, 900])
def test_filters_of_orc_that_were_closed_early(tmp_path, kept):
    """Three values prove nothing."""
    path = tmp_path / "x.orc"
    values = numbers(0)
    path.write_bytes(with_filters(filter_with(values[:kept]), stored_filters()[1]))
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == "PB401")
    if kept == 3:
        assert found.diagnosis is None
        return
    assert found.diagnosis == Diagnosis(
        "closed-early",
        "the writer closed the filter too early, before the values of the last rows",
        *(2 * [found.rows.first]),
    )
    assert kept <= found.rows.first < kept + 10


def test_filters_of_orc_that_were_opened_late(tmp_path):
    path = tmp_path / "x.orc"
    values = numbers(0)
    path.write_bytes(with_filters(filter_with(values[100:]), stored_filters()[1]))
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == "PB401")
    assert found.diagnosis == Diagnosis(
        "opened-late",
        "the writer opened the filter too late, after the values of the first rows",
        *(2 * [len(values) - 1 - found.rows.last]),
    )


def test_values_of_orc_that_are_hashed_in_no_known_way_were_not_left_out(tmp_path):
    path = tmp_path / "x.orc"
    values = numbers(0)
    others = [*(value + 10**9 for value in values[:100]), *values[100:]]
    path.write_bytes(with_filters(filter_with(others), stored_filters()[1]))
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == "PB401")
    assert found.diagnosis is None


def test_values_that_are_missing_amid_others_of_orc_are_not_those_of_a_filter_that_was_closed(
    tmp_path,
):
    path = tmp_path / "x.orc"
    path.write_bytes(with_filters(filter_with(numbers(0)[::2]), stored_filters()[1]))
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == "PB401")
    assert found.diagnosis is None
    assert found.undiagnosed.endswith(
        ": logical-shifts, bits-inverted, bytes-lost, closed-early, opened-late"
    )


@pytest.mark.parametrize(("byte", "rule"), [(0x00, "PB401"), (0xFF, "PB405")])
def test_bytes_of_orc_that_were_overwritten(tmp_path, byte, rule):
    first, second = stored_filters()
    bits = bytearray(first.bitset)
    bits[300:400] = [byte] * 100
    path = tmp_path / "x.orc"
    path.write_bytes(with_filters(KHashFilter.from_bytes(bits, first.num_hashes), second))
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == rule)
    said = "100 bytes in a row, from byte 300 of 1,200 on,"
    if rule == "PB405":
        assert found.message.endswith(f"{said} have all bits set: overwritten")
        return
    assert (found.diagnosis.hypothesis, found.diagnosis.hits) == (
        "bytes-lost",
        found.diagnosis.tried,
    )
    assert found.diagnosis.explanation.startswith(
        f"{said} are empty: overwritten or never written;"
    )
    # As nothing is wrong with the values, others are built from them.
    assert found.next.endswith(" --rebuild --in-place")


@pytest.mark.parametrize("num_bytes", [32, 64])
def test_few_bytes_of_orc_that_were_emptied_amid_few_bits(tmp_path, num_bytes):
    """Where as many bytes in a row are empty anyway, that all lost bits are among these tells."""
    _, second = stored_filters()
    roomy = filter_with(numbers(0), 96_000)
    bits = bytearray(roomy.bitset)
    bits[3000 : 3000 + num_bytes] = bytes(num_bytes)
    path = tmp_path / "x.orc"
    path.write_bytes(with_filters(KHashFilter.from_bytes(bits, roomy.num_hashes), second))
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == "PB401")
    assert found.diagnosis.hypothesis == "bytes-lost"
    assert found.diagnosis.hits == found.diagnosis.tried == int(found.message.split()[0])
    said = re.match(
        r"(\d+) bytes in a row, from byte 3,0(\d\d) of 12,000 on,", found.diagnosis.explanation
    )
    assert int(said[1]) + int(said[2]) <= num_bytes


def test_bits_of_orc_that_were_lost_here_and_there_are_in_no_row(tmp_path):
    _, second = stored_filters()
    roomy = filter_with(numbers(0), 96_000)
    bits = bytearray(roomy.bitset)
    for at in range(0, len(bits), 1000):
        bits[at : at + 20] = bytes(20)
    path = tmp_path / "x.orc"
    path.write_bytes(with_filters(KHashFilter.from_bytes(bits, roomy.num_hashes), second))
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == "PB401")
    assert found.diagnosis is None


def test_all_bits_of_orc_that_no_values_can_have_set(tmp_path):
    first, second = stored_filters()
    path = tmp_path / "x.orc"
    full = KHashFilter.from_bytes(b"\xff" * first.num_bytes, first.num_hashes)
    path.write_bytes(with_filters(full, second))
    (found,) = (each for each in validate(path).findings if each.rule == "PB303")
    assert found.message == (
        "every bit is set: the filter excludes nothing; the values can set at most 7,000 of its 9,600 bits, so it was"
        " overwritten, or has values from elsewhere"
    )


def test_a_byte_of_orc_that_is_empty_proves_nothing(tmp_path):
    """Luck leaves as many so, and so few bits together."""
    first, second = stored_filters()
    bits = bytearray(first.bitset)
    bits[300] = 0
    path = tmp_path / "x.orc"
    path.write_bytes(with_filters(KHashFilter.from_bytes(bits, first.num_hashes), second))
    (found,) = (each for each in validate(path, diagnose=True).findings if each.rule == "PB401")
    assert found.diagnosis is None


def _inverted(filter: KHashFilter) -> KHashFilter:
    return KHashFilter.from_bytes((~filter.words).tobytes(), filter.num_hashes)


# --- names ----------------------------------------------------------------------------------------

OTHER_NAMES = {
    "bitset-shifted", "bitset-cut", "size-in-bits", "size-in-words", "size-in-blocks", "size-by-length",
    "pages-not-inserted", "closed-early", "opened-late", "dictionary-not-inserted", "only-dictionary-inserted",
    "filter-of-another-chunk", "filter-at-another-chunk", "filter-of-another-file", "zero-sign", "nan-payload",
    "bits-inverted", "one-block", "blocks-lost", "blocks-changed", "blocks-alike", "as-stored", "salts-permuted", "other-salt",
    "words-without-bits", "first-and-last-block", "bits-never-set",
}  # fmt: skip


def every_name() -> set[str]:
    decimal = LogicalType("DECIMAL", precision=9, scale=2)
    types = [
        *(LeafType(physical) for physical in ("INT32", "INT64", "INT96", "FLOAT", "DOUBLE")),
        LeafType("INT32", logical=LogicalType("INTEGER", 8)),
        LeafType("BYTE_ARRAY"),
        LeafType("FIXED_LEN_BYTE_ARRAY", 16),
        LeafType("FIXED_LEN_BYTE_ARRAY", 2, LogicalType("FLOAT16")),
        LeafType("INT64", logical=LogicalType("TIMESTAMP", unit="MICROS")),
        LeafType("INT32", logical=LogicalType("DATE")),
        *(LeafType(physical, 0, decimal) for physical in ("INT32", "INT64", "BYTE_ARRAY")),
        LeafType("FIXED_LEN_BYTE_ARRAY", 5, decimal),
    ]
    of_values = {form.name for leaf in types for form in key_forms(leaf)}
    of_values |= {form.name for leaf in types for form in rare_key_forms(leaf, "a.b")}
    of_hashes = {hash.name for hash in OTHER_HASHES}
    of_layouts = {layout.name for num_blocks in (4, 5) for layout in layouts(num_blocks)}
    of_layouts |= {layout.name for layout in (*other_counts(4), *moved(4), *OTHER_PRODUCTS)}
    return (
        of_values
        | of_hashes
        | of_layouts
        | {each.name for each in (*moved(4), *OTHER_PRODUCTS)}
        | OTHER_NAMES
    )


def test_every_hypothesis_is_documented():
    text = (ROOT / "docs" / "diagnosis.md").read_text().split("## ORC files")[0]
    documented = set(re.findall(r"^\| `([a-z0-9-]+)` \|", text, re.MULTILINE))
    assert documented == every_name()
