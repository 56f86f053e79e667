"""Old hashes and block selections, against a plain transliteration and a file of parquet-mr."""

import numpy as np
import pytest
from conftest import SHARED, missing
from make.older_files import PARQUET_SEED, bitset, masked, multiplied, murmur3, prefixed_hive, texts
from make.pages import byte_arrays
from oracle import hashing
from xxhash import xxh64_intdigest

from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.murmur3.dialect import Murmur3, num_bytes_for
from parquet_bloom.legacy.murmur3.schemes import Scheme
from parquet_bloom.parquet.pages.runs import FixedRun, PrefixedRun, SlicedRun, run_of

VALUES = [b"", b"a", b"hello", *texts(200), bytes(range(256))]
NUMBERS = [0, 1, -1, 2**63 - 1, -(2**63), *range(1000, 1200)]


SCHEMES = {
    "murmur3": (Scheme("MURMUR3", PARQUET_SEED, "mask"), murmur3(), masked, "<8I"),
    "guava": (Scheme("MURMUR3", 104729, "mask"), murmur3(104729), masked, "<8I"),
    "spec": (Scheme("MURMUR3", 0, "multiply-shift"), murmur3(0), multiplied, "<8I"),
    "hive": (Scheme("HIVE", 104729, "mask", "big"), prefixed_hive, masked, ">8I"),
}
each_scheme = pytest.mark.parametrize("name", SCHEMES)


def runs_of(values):
    """The values as pages have them, and as Arrow does, between other bytes."""
    offsets = np.cumsum([3, *map(len, values)], dtype=np.int64)
    yield PrefixedRun(memoryview(byte_arrays(*values)))
    yield SlicedRun(memoryview(b"xyz" + b"".join(values) + b"behind"), offsets)


def built(scheme, run, num_blocks):
    filter = SplitBlockBloomFilter.empty(num_blocks)
    filter.insert_hashes(scheme.hashes(run, num_blocks))
    return scheme.words(filter.to_bytes())


@each_scheme
@pytest.mark.parametrize("num_blocks", [1, 2, 32, 1024])
def test_bits_are_those_of_the_transliteration(name, num_blocks):
    scheme, hash, select, words = SCHEMES[name]
    expected = bitset(VALUES, num_blocks, hash, select, words)
    for run in runs_of(VALUES):
        assert built(scheme, run, num_blocks) == expected


@each_scheme
def test_numbers_are_hashed_as_they_are_stored(name):
    scheme, hash, select, words = SCHEMES[name]
    stored = [number.to_bytes(8, "little", signed=True) for number in NUMBERS]
    run = FixedRun(memoryview(b"".join(stored)), 8)
    bare = hashing.hive64 if name == "hive" else hash
    assert built(scheme, run, 64) == bitset(stored, 64, bare, select, words)


@each_scheme
def test_one_value_is_hashed_as_many_are(name):
    scheme, *_ = SCHEMES[name]
    (run, _) = runs_of(VALUES)
    alone = [scheme.hashes(run_of([value], None), 256) for value in VALUES]
    assert np.concatenate(alone).tolist() == scheme.hashes(run, 256).tolist()


@pytest.mark.parametrize("selection", ["mask", "multiply-shift"])
def test_drafts_with_xxhash(selection):
    scheme = Scheme("XXHASH", 0, selection)
    select = masked if selection == "mask" else multiplied
    (run, _) = runs_of(VALUES)
    assert built(scheme, run, 64) == bitset(VALUES, 64, xxh64_intdigest, select)


@pytest.mark.parametrize(
    ("text", "hash"),
    [(b"", 0x55FF62D309B7F846), (b"a", 0xD95A7F3C29BDB659), (b"hello", 0x44FAA9DA3B4290E4)],
)
def test_vectors_of_the_parquet_seed(text, hash):
    assert Murmur3().scheme.raw_hashes(run_of([text], None)).tolist() == [hash]


def test_the_file_of_parquet_mr_is_rebuilt_bit_for_bit():
    path = SHARED / "data" / "parquet-testing" / "bloom_filter.bin"
    if not path.exists():
        missing("../shared/data/parquet-testing")
    values = [b"hello", b"parquet", b"bloom", b"filter"]
    (run, _) = runs_of(values)
    header = (1024).to_bytes(4, "little") + bytes(8)
    assert header + built(Murmur3().scheme, run, 32) == path.read_bytes()


@pytest.mark.parametrize(
    ("ndv", "fpp", "num_bytes"),
    [
        # -8 n / ln(1 - p^(1/8)) bits are 9.68 for each value at 1 %.
        (1, 0.01, 32),
        (26, 0.01, 32),
        (27, 0.01, 64),
        (846, 0.01, 1024),
        (847, 0.01, 2048),
        (1000, 0.1, 1024),
        (10**9, 0.01, 128 << 20),
    ],
)
def test_sizes_are_rounded_up_to_a_power_of_two(ndv, fpp, num_bytes):
    assert num_bytes_for(ndv, fpp) == num_bytes


def test_a_size_has_a_limit():
    assert num_bytes_for(10**6, 0.01, 3 << 20 >> 2) == 1 << 19


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"header_layout": "8-byte"}, "header_layout: 8-byte, expected 12-byte, thrift, page"),
        ({"placement": "middle"}, "placement: middle, expected footer, chunk"),
        ({"seed": -1}, "seed: -1, expected 0 to 4294967295"),
        ({"seed": 1 << 32}, "seed: 4294967296, expected 0 to 4294967295"),
    ],
)
def test_what_cannot_be_written_is_refused(fields, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Murmur3(**fields)
