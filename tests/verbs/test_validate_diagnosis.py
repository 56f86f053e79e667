"""`validate --diagnose` claims no more than the bits show, and does not read whole neighbours."""

import random

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import IS_LONG
from make import wrong_writers as wrong
from make.defects_files import integers
from make.diagnosing import claimed
from make.filters import bits_of, with_bits
from make.pages import data_page, dictionary_page, int64s
from make.parquet_files import Column as Forged
from make.parquet_files import forge
from make.wrong_writers import Column, Writer, make_column
from oracle import specification as spec

import parquet_bloom as pb
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.files import open_file
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.membership import check_membership
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.thrift.ttypes import Encoding
from parquet_bloom.verbs.validate import validate

MIB = 1 << 20


def diagnosis(path, column="values") -> Diagnosis | None:
    """What is said of the only filter that lacks values."""
    findings = validate(path, columns=[column], diagnose=True).findings
    (found,) = [each for each in findings if each.rule == "PB401"]
    return found.diagnosis


def few(column: Column, count: int) -> Column:
    return Column(column.array[:count], column.plain[:count], column.options)


# ------------------------------------------------------------------------------------------------
# Filters of few blocks, in which a value is easily in the block where somebody looks


OTHER_BLOCKS = {
    "all in the first": lambda hash, z: 0,
    "from behind": lambda hash, z: z - 1 - spec.block_index(hash, z),
    "in the first half": lambda hash, z: spec.block_index(hash, z) // 2,
    "in blocks of another hash": lambda hash, z: (hash * 0x9E3779B97F4A7C15 >> 20) % z,
}


@pytest.mark.every(2)
@pytest.mark.parametrize("count", [4, 8, 20])
@pytest.mark.parametrize("block", OTHER_BLOCKS)
def test_blocks_that_no_hypothesis_chooses(tmp_path, block, count):
    for seed in range(12 if IS_LONG else 4):
        column = few(make_column("uuid", seed), count)
        path = wrong.write(tmp_path / f"{seed}.parquet", column)
        num_blocks = wrong.header(path).num_blocks
        assert num_blocks == 2
        written = Writer(block=OTHER_BLOCKS[block]).bitset(column.plain, num_blocks)
        wrong.overwrite(path, written)
        if "PB401" in {found.rule for found in validate(path).findings}:
            assert diagnosis(path) is None, seed


def test_a_hypothesis_of_blocks_is_claimed_where_there_are_enough_of_them(tmp_path):
    column = make_column("uuid")
    path = wrong.write(tmp_path / "x.parquet", column)
    writer = Writer(block=lambda hash, z: (hash >> 32) % z)
    wrong.overwrite(path, writer.bitset(column.plain, wrong.header(path).num_blocks))
    found = diagnosis(path)
    assert found is not None
    assert found.hypothesis == "block-by-modulo"


# ------------------------------------------------------------------------------------------------
# Other chunks


def test_a_column_of_booleans_beside_it_is_no_trouble(tmp_path):
    """Of bits in the RLE encoding pyarrow makes an array without the buffers of bytes."""
    path = tmp_path / "booleans.parquet"
    column = make_column("int64")
    bits = pa.array([index % 3 == 0 for index in range(len(column.plain))])
    bare = tmp_path / "bare.parquet"
    pq.write_table(
        pa.table({"values": column.array, "b": bits}), bare,
        data_page_version="2.0", use_dictionary=False, column_encoding={"b": "RLE"},
    )  # fmt: skip
    pb.build(bare, path, columns=["values"])
    writer = Writer(hash=lambda plain: random.Random(plain).getrandbits(64))
    wrong.overwrite(path, writer.bitset(column.plain, wrong.header(path).num_blocks))
    assert diagnosis(path) is None


def test_damaged_indices_are_no_reason_to_say_nothing_of_the_values(tmp_path):
    """The dictionary is found, the PLAIN page is not; the page of indices between them ends early."""
    known, lost = integers(0)[:64], integers(0)[64:128]
    pages = (
        dictionary_page(int64s(*known), 64),
        data_page(bytes([6, 3]), 64, Encoding.RLE_DICTIONARY),
        data_page(int64s(*lost), 64),
    )
    encodings = [Encoding.PLAIN, Encoding.RLE, Encoding.RLE_DICTIONARY]
    place = {"dictionary_page_offset": 4, "data_page_offset": 4 + len(pages[0])}
    data = forge(Forged(pages, 128, meta={"encodings": encodings} | place))
    path = tmp_path / "indices.parquet"
    path.write_bytes(with_bits(data, bits_of(known, 16)))
    (found,) = validate(path, diagnose=True).findings
    assert (found.rule, found.found, found.diagnosis) == ("PB401", "64", None)


def two_columns(path) -> tuple[Column, Column]:
    columns = make_column("text", 1), make_column("text", 2)
    table = pa.table({"values": columns[0].array, "other": columns[1].array})
    wrong.write_table(path, table)
    return columns


def test_a_filter_of_another_column(tmp_path):
    path = tmp_path / "x.parquet"
    _, other = two_columns(path)
    wrong.overwrite(path, Writer().bitset(other.plain, wrong.header(path).num_blocks))
    found = diagnosis(path)
    assert found is not None
    assert found.hypothesis == "filter-of-another-chunk"


def test_a_filter_of_both_is_not_that_of_the_other(tmp_path):
    """Half of the values are its own."""
    path = tmp_path / "x.parquet"
    own, other = two_columns(path)
    values = own.plain[::2] + other.plain
    wrong.overwrite(path, Writer().bitset(values, wrong.header(path).num_blocks))
    assert diagnosis(path) is None


def test_filters_of_neighbours_are_not_read_whole(tmp_path):
    """Sixteen row groups point to a mebibyte each, of which a few blocks refute that it is ours."""
    path = tmp_path / "x.parquet"
    values = pa.table({"values": pa.array(range(0, 17_000, 7), pa.int64())})
    wrong.write_table(path, values, row_group_size=150)
    rng = np.random.default_rng(0)
    region, places = b"", {}
    with open_file(path) as file:
        assert file.num_row_groups > 16
        start = file.footer.start
        for row_group in range(file.num_row_groups):
            stored = bloom.encode_header(MIB) + np.packbits(rng.random(8 * MIB) < 0.3).tobytes()
            places[row_group, 0] = FilterPlace(start + len(region), len(stored))
            region += stored
        raw = file.footer.with_filters(places)
    path.write_bytes(
        path.read_bytes()[:start] + region + raw + len(raw).to_bytes(4, "little") + b"PAR1"
    )

    with open_file(path) as file:
        chunk = file.chunk(8, "values")
        stored = bloom.read_header(file.source, file.footer, chunk)
        membership = check_membership(file, chunk, bloom.read_bitset(file.source, stored))
        before = file.source.bytes_read
        assert claimed(file, chunk, stored, membership) is None
        # The filter itself, and what could be its bits if its header were wrong.
        assert file.source.bytes_read - before < 8 * MIB


def test_a_value_more_or_less_is_no_hypothesis(tmp_path):
    """Sound filters that lack one value of four, of forty, of all."""
    for count in (4, 40, wrong.COUNT):
        column = few(make_column("int64"), count)
        path = wrong.write(tmp_path / f"{count}.parquet", column)
        bits = Writer().bitset(column.plain[1:], wrong.header(path).num_blocks)
        wrong.overwrite(path, bits)
        assert diagnosis(path) is None
