"""Every stored value is looked up: what is missing is found, page by page, and nothing else."""

import struct

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from hypothesis import given
from hypothesis import strategies as st
from make.pages import byte_arrays, data_page, dictionary_page
from make.parquet_files import forged
from oracle import specification
from xxhash import xxh64_intdigest

import parquet_bloom as pb
from parquet_bloom.container import OneFilter
from parquet_bloom.files import open_file
from parquet_bloom.filters.occupancy import FPP_PROBES, measured_fpp
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.filters.membership import (
    MAX_EXAMPLES,
    ChunkMembership,
    PageMembership,
    check_membership,
)
from parquet_bloom.parquet.thrift.ttypes import Encoding


def filter_of(*values, num_blocks=64):
    filter = SplitBlockBloomFilter.empty(num_blocks)
    for value in values:
        filter.insert_value(value)
    return filter


def membership(path, filter, column="values", row_group=0):
    with open_file(path) as file:
        return check_membership(file, file.chunk(row_group, column), filter)


def indices(*entries):
    """Dictionary indices of 8 bits, each in a run of its own."""
    return bytes([8]) + b"".join(bytes([1 << 1, entry]) for entry in entries)


WORDS = [f"word {n}".encode() for n in range(20)]


@pytest.fixture
def mixed(tmp_path):
    """A dictionary of five words, of which the first page uses three; then two PLAIN pages."""
    return forged(
        tmp_path / "mixed.parquet",
        [
            dictionary_page(byte_arrays(*WORDS[:5]), 5),
            data_page(indices(0, 2, 2, 4), 4, Encoding.RLE_DICTIONARY),
            data_page(byte_arrays(*WORDS[5:8]), 3),
            data_page(byte_arrays(*WORDS[8:12]), 4),
        ],
        11,
    )


def test_nothing_is_missing_where_every_value_was_inserted(mixed):
    found = membership(mixed, filter_of(*WORDS[:12]))
    assert found == ChunkMembership(
        num_values=12,
        missing=0,
        pages=(),
        examples=(),
        missing_form_bits=0,
        foreign_bits=0,
        explained_fpp=filter_of(*WORDS[:12]).fpp,
        specials=0,
    )


def test_an_entry_that_no_row_uses_need_not_be_found(mixed):
    used = [WORDS[n] for n in (0, 2, 4, *range(5, 12))]
    found = membership(mixed, filter_of(*used))
    assert (found.missing, found.pages, found.foreign_bits) == (0, (), 0)


def test_an_entry_that_a_row_uses_must_be_found(mixed):
    found = membership(mixed, filter_of(*WORDS[5:12]))
    assert found.missing == 3
    assert found.pages == (
        PageMembership(None, 3, 3),
        PageMembership(1, 3, 0),
        PageMembership(2, 4, 0),
    )
    assert found.examples == (WORDS[0], WORDS[2], WORDS[4])


def test_pages_that_were_left_out_are_named(mixed):
    found = membership(mixed, filter_of(*WORDS[:8]))
    assert [(page.page, page.missing) for page in found.pages] == [(None, 0), (1, 0), (2, 4)]


def test_examples_are_few(tmp_path):
    """And each is another value, in however many rows and pages the first one is."""
    pages = [data_page(byte_arrays(*[WORDS[0]] * 9, *WORDS), 29)] * 2
    path = forged(tmp_path / "many.parquet", pages, 58)
    found = membership(path, filter_of())
    assert found.missing == 58
    assert found.examples == tuple(WORDS[:MAX_EXAMPLES])


def test_bits_of_other_values_are_counted(mixed):
    sound, other = filter_of(*WORDS[:12]), filter_of(b"stranger")
    both = filter_of(*WORDS[:12], b"stranger")
    found = membership(mixed, both)
    assert found.missing == 0
    assert found.foreign_bits == both.bits_set - sound.bits_set
    assert 0 < found.foreign_bits <= other.bits_set == 8


def test_a_damaged_page_is_an_error_that_names_the_chunk(tmp_path):
    path = forged(tmp_path / "bad.parquet", [data_page(byte_arrays(b"a")[:-1], 1)], 1)
    with pytest.raises(pb.PageError, match=r"bad.parquet: row group 0, column values: "):
        membership(path, filter_of(b"a"))


def test_a_page_header_without_sizes_is_an_error_in_words(tmp_path):
    told = {"uncompressed_page_size": None, "compressed_page_size": None}
    path = forged(tmp_path / "bad.parquet", [data_page(b"", 1, **told)], 1)
    with pytest.raises(pb.PageError, match=r"page at \d+: its header does not say how long it is$"):
        membership(path, filter_of())


@pytest.mark.parametrize("data", [b"", bytes([8]), bytes([33, 2, 0]), indices(5), indices(0)[:-1]])
def test_damaged_indices_are_an_error_too(tmp_path, data):
    path = forged(
        tmp_path / "bad.parquet",
        [dictionary_page(byte_arrays(*WORDS[:5]), 5), data_page(data, 1, Encoding.RLE_DICTIONARY)],
        1,
    )
    with pytest.raises(pb.PageError, match="page at"):
        membership(path, filter_of())


def floats(path, *values):
    pq.write_table(pa.table({"values": pa.array(values, pa.float64())}), path, use_dictionary=False)
    return path


def test_supersets_of_floats_are_not_foreign(tmp_path):
    path = floats(tmp_path / "f.parquet", 1.5, -0.0, float("nan"))
    canonical = struct.pack("<d", float("nan"))
    stored = [struct.pack("<d", value) for value in (1.5, -0.0, float("nan"))]
    bare = membership(path, filter_of(*stored))
    more = membership(path, filter_of(*stored, struct.pack("<d", 0.0), canonical))
    assert (bare.missing, bare.foreign_bits) == (more.missing, more.foreign_bits) == (0, 0)
    assert bare.specials == more.specials == _kernel.HAS_ZERO | _kernel.HAS_NAN


def test_what_build_adds_to_float16_is_not_foreign_and_its_lack_is_told(tmp_path):
    path, out = tmp_path / "h.parquet", tmp_path / "out.parquet"
    halves = np.array([0.5, 1.5, 2.5], np.float16)
    pq.write_table(pa.table({"values": pa.array(halves)}), path, use_dictionary=False)
    pb.build(path, out, columns=["values"])
    with pb.open(out) as file:
        built = membership(out, file.bloom_filter(0, "values").bits)
    assert (built.missing, built.foreign_bits, built.missing_form_bits) == (0, 0, 0)
    bare = membership(path, filter_of(*(value.tobytes() for value in halves)))
    assert (bare.missing, bare.foreign_bits) == (0, 0)
    assert 0 < bare.missing_form_bits <= 24


@pytest.mark.parametrize("use_dictionary", [False, True])
@pytest.mark.parametrize("stored", [0.0, -0.0, np.nan, -np.nan])
def test_special_halves_are_there_as_floats_too(tmp_path, stored, use_dictionary):
    """Both zeros for one of them, and the canonical NaN for any; none of it is foreign."""
    path, out = tmp_path / "h.parquet", tmp_path / "out.parquet"
    halves = np.array([stored, 1.5], np.float16)
    pq.write_table(pa.table({"values": halves}), path, use_dictionary=use_dictionary)
    pb.build(path, out, columns=["values"])
    with pb.open(out) as file:
        filter = file.bloom_filter(0, "values").bits
    wanted = [float("nan")] if np.isnan(stored) else [0.0, -0.0]
    assert all(filter.check_value(struct.pack(form, n)) for form in ["<e", "<f"] for n in wanted)
    built = membership(out, filter)
    assert (built.missing, built.foreign_bits, built.missing_form_bits) == (0, 0, 0)
    words = filter.words.reshape(-1, 8).tolist()
    values = [struct.pack(form, n) for form in ["<e", "<f"] for n in (*wanted, 1.5)]
    values += [halves[0].tobytes(), halves[0].astype(np.float32).tobytes()]
    expected = specification.filter_of(map(xxh64_intdigest, values), len(words))
    assert words == expected


@pytest.mark.parametrize(
    "fixture", sorted(FIXTURES.glob("*_filters.parquet")), ids=lambda path: path.stem
)
def test_filters_of_other_writers_hold_their_values_and_nothing_else(fixture):
    with open_file(fixture) as file:
        for row_group in range(file.num_row_groups):
            for column in file.columns:
                chunk = file.chunk(row_group, column)
                if chunk.bloom_filter_offset is None or chunk.leaf.type.physical == "BOOLEAN":
                    continue
                found = check_membership(
                    file, chunk, file.bloom_filter(OneFilter(row_group, column)).bits
                )
                assert (found.missing, found.foreign_bits) == (0, 0), column
                assert found.num_values > 0


@given(
    values=st.lists(st.binary(max_size=6), min_size=1, max_size=30),
    inserted=st.lists(st.booleans(), min_size=30, max_size=30),
    num_blocks=st.sampled_from([1, 2, 8, 32]),
)
def test_missing_is_what_the_specification_misses(tmp_path_factory, values, inserted, num_blocks):
    path = tmp_path_factory.mktemp("m") / "x.parquet"
    forged(path, [data_page(byte_arrays(*values), len(values))], len(values))
    kept = [value for value, keep in zip(values, inserted, strict=False) if keep]
    filter = filter_of(*kept, num_blocks=num_blocks)
    words = filter.words.reshape(-1, 8).tolist()
    missing = [not specification.filter_check(words, xxh64_intdigest(value)) for value in values]
    found = membership(path, filter)
    assert found.missing == sum(missing)
    assert found.num_values == len(values)
    wanted = [value for value, miss in zip(values, missing, strict=True) if miss]
    assert found.examples == tuple(dict.fromkeys(wanted))[:MAX_EXAMPLES]


def test_the_measured_fpp_is_the_one_of_the_bits():
    rng = np.random.default_rng(1)
    filter = SplitBlockBloomFilter.empty(1024)
    filter.insert_hashes(rng.integers(0, 1 << 64, 24_000, np.uint64))
    sigma = (filter.fpp * (1 - filter.fpp) / FPP_PROBES) ** 0.5
    assert measured_fpp(filter) == pytest.approx(filter.fpp, abs=5 * sigma)
    assert measured_fpp(filter_of()) == 0
    full = SplitBlockBloomFilter(np.full(8, 0xFFFFFFFF, np.uint32))
    assert measured_fpp(full) == 1
