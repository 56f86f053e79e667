"""Nothing is claimed without need or evidence: sound filters, accidents, bits of nothing."""

import random

import numpy as np
import pyarrow as pa
import pytest
from conftest import FIXTURES, IS_LONG
from make import wrong_writers as wrong
from make.diagnosing import claimed, diagnosed, diagnosed_after, insert_only
from make.parquet_files import open_parquet
from make.wrong_writers import make_column

import parquet_bloom as pb
from parquet_bloom.diagnosis.diagnose import diagnose
from parquet_bloom.diagnosis.evidence import Trial
from parquet_bloom.diagnosis.layouts import STANDARD, Bitset
from parquet_bloom.diagnosis.one_block import one_block
from parquet_bloom.files import open_file
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.membership import check_membership

# --- nothing is claimed without need or evidence --------------------------------------------------

FILES_OF_TYPES = ["spark_nested", "pyarrow_fallback_v1"]
if IS_LONG:
    FILES_OF_TYPES += ["java_types", "duckdb_types_dictionary"]
COLUMNS = ["int32", "int64", "double", "decimal_fixed", "uuid", "text", "timestamp", "float16"]


@pytest.mark.every(6)
@pytest.mark.parametrize("column", COLUMNS)
def test_bits_of_nothing(tmp_path, column):
    path = wrong.write(tmp_path / "x.parquet", make_column(column), ndv=2000)
    size = len(wrong.read_bits(path))
    for seed, fill in enumerate([0.02, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.999]):
        bits = np.random.default_rng(seed).random(size * 8) < fill
        wrong.overwrite(path, np.packbits(bits).tobytes())
        assert diagnosed(path) is None, fill


@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
def test_no_bits_and_all_bits(tmp_path, byte):
    path = wrong.write(tmp_path / "x.parquet", make_column("text"))
    wrong.overwrite(path, byte * len(wrong.read_bits(path)))
    assert diagnosed(path) is None


@pytest.mark.parametrize("byte", [b"\0", b"\xff"])
def test_blocks_without_bits_among_full_ones(tmp_path, byte):
    """Whether a value is found depends on its block alone."""
    path = wrong.write(tmp_path / "x.parquet", make_column("text"))
    size = len(wrong.read_bits(path))
    wrong.overwrite(path, (byte * 32 + bytes([255 - byte[0]]) * 32) * (size // 64))
    assert diagnosed(path) is None


@pytest.mark.parametrize(
    ("lost", "said"),
    [
        (4, "4 blocks in a row, from block 0 of 512 on, are empty: "),
        # Too few values to prove that: what the others have, too, is not said of them instead.
        (1, "none of "),
    ],
)
def test_a_form_that_all_values_have_beside_their_own_is_not_said_of_those_that_were_lost(
    tmp_path, lost, said
):
    """`build` inserts FLOAT16 as FLOAT, too."""
    count = 4000 if lost == 4 else 150
    values = np.arange(1, count + 1, dtype=np.uint16).view(np.float16)
    path = wrong.write_table(tmp_path / "x.parquet", pa.table({"values": values}))
    bits = wrong.read_bits(path)
    wrong.overwrite(path, bytes(32 * lost) + bits[32 * lost :])
    with open_parquet(path) as file:
        chunk = file.chunk(0, "values")
        stored = bloom.read_header(file.source, file.footer, chunk)
        membership = check_membership(file, chunk, bloom.read_bitset(file.source, stored))
        found = diagnose(file, chunk, stored, membership)
    explanation = found if isinstance(found, str) else found.explanation
    assert explanation.startswith(said)
    assert "float" not in explanation


@pytest.mark.parametrize("fpp", [0.9, 0.5, 0.1, 0.01, 0.0001])
def test_all_blocks_lost_but_one(tmp_path, fpp):
    """However full that is: no writer put all values into it."""
    path = wrong.write(tmp_path / "x.parquet", make_column("text"), fpp=fpp)
    words = np.frombuffer(wrong.read_bits(path), np.uint32).reshape(-1, 8)
    with open_parquet(path) as file:
        chunk = file.chunk(0, "values")
        for block in range(len(words)):
            kept = np.where(np.arange(len(words))[:, np.newaxis] == block, words, 0)
            filter = SplitBlockBloomFilter.from_bytes(kept.astype(np.uint32).tobytes())
            assert one_block(file, chunk, filter) is None


@pytest.mark.parametrize("fpp", [0.9, 0.5, 0.1, 0.01, 0.0001])
def test_all_blocks_lost_but_the_first_and_the_last(tmp_path, fpp):
    path = wrong.write(tmp_path / "x.parquet", make_column("text"), fpp=fpp)
    words = np.frombuffer(wrong.read_bits(path), np.uint32).reshape(-1, 8)
    kept = np.zeros_like(words)
    kept[[0, -1]] = words[[0, -1]]
    with open_parquet(path) as file:
        filter = SplitBlockBloomFilter.from_bytes(kept.tobytes())
        assert one_block(file, file.chunk(0, "values"), filter) is None


@pytest.mark.parametrize(
    "block",
    [
        lambda hash, z: (hash >> 32) * (2 * z - 1) >> 33,
        wrong.of_other_count(-2),
        wrong.of_other_count(2),
    ],
)
def test_blocks_that_are_chosen_in_a_way_that_is_not_known_have_not_changed(tmp_path, block):
    """Though none of the missing values belong to blocks where it makes little difference."""
    numbers = np.random.default_rng(7).integers(1 << 40, size=3000)
    column = wrong.Column(pa.array(numbers), [number.tobytes() for number in numbers], {})
    path, writer = tmp_path / "x.parquet", wrong.Writer(block=block)
    assert diagnosed_after(path, column, writer) is None
    assert wrong.header(path).num_blocks == 128


@pytest.mark.parametrize("lowest", [1, 2, 13, 26, 28])
def test_other_bits_of_the_products_than_are_known(tmp_path, lowest):
    writer = wrong.Writer(mask=wrong.mask_from_bit(lowest))
    assert diagnosed_after(tmp_path / "x.parquet", make_column("text"), writer) is None


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("dictionary", [False, True])
def test_one_value_removed_or_one_bit_cleared(tmp_path, column, dictionary):
    values = make_column(column)
    path = wrong.write(tmp_path / "x.parquet", values, use_dictionary=dictionary)
    assert diagnosed(path) is None
    bits = wrong.read_bits(path)
    insert_only(path, values.plain[1:])
    assert diagnosed(path) is None
    rng = random.Random(2)
    for _ in range(20):
        cleared = bytearray(bits)
        cleared[rng.randrange(len(bits))] &= ~(1 << rng.randrange(8))
        wrong.overwrite(path, bytes(cleared))
        assert diagnosed(path) is None


@pytest.mark.parametrize("column", ["text", "int64"])
def test_bits_of_other_values(tmp_path, column):
    """A sound filter of values that the file does not hold."""
    path = wrong.write(tmp_path / "x.parquet", make_column(column))
    insert_only(path, make_column(column, seed=99).plain)
    assert diagnosed(path) is None


@pytest.mark.parametrize(
    ("count", "block"),
    [
        (100, lambda hash, z: hash >> 20 & 1),
        (100, lambda hash, z: 0),
        (40, lambda hash, z: z - 1 - (hash >> 63)),
    ],
)
def test_blocks_of_two_that_are_chosen_in_another_way_or_for_few_values(tmp_path, count, block):
    path, column = tmp_path / "x.parquet", make_column("text")
    column = wrong.Column(column.array[:count], column.plain[:count], {})
    assert diagnosed_after(path, column, wrong.Writer(block=block), ndv=40) is None
    assert wrong.header(path).num_blocks == 2


@pytest.mark.parametrize("name", sorted(path.name for path in FIXTURES.glob("*_filters.parquet")))
def test_sound_files_are_never_diagnosed(name):
    with open_file(FIXTURES / name) as file:
        for leaf in file.footer.leaves:
            for row_group in range(file.num_row_groups):
                chunk = file.footer.chunk(row_group, leaf)
                stored = bloom.read_header(file.source, file.footer, chunk)
                if stored is None or leaf.type.physical == "BOOLEAN":
                    continue
                filter = bloom.read_bitset(file.source, stored)
                membership = check_membership(file, chunk, filter)
                assert claimed(file, chunk, stored, membership) is None


@pytest.mark.parametrize("name", FILES_OF_TYPES)
def test_accidents_of_every_type(tmp_path, name):
    """Filters that lost a bit, many bits, or have nothing to do with the values."""
    path = tmp_path / "x.parquet"
    with pb.open(FIXTURES / f"{name}.parquet") as file:
        pb.build(file.path, path, columns=file.columns, force=True)
    rng = np.random.default_rng(6)
    with open_file(path) as file:
        chunks = [file.footer.chunk(0, leaf) for leaf in file.footer.leaves]
    for chunk in chunks:
        if chunk.bloom_filter_offset is None:
            continue
        column = chunk.leaf.name
        sound = np.frombuffer(wrong.read_bits(path, 0, column), np.uint8)
        for share in (0.0001, 0.05):
            lost = np.packbits(rng.random(8 * sound.size) < share)
            lost[rng.integers(sound.size)] |= 0x24
            wrong.overwrite(path, (sound & ~lost).tobytes(), 0, column)
            assert diagnosed(path, 0, column) is None, column
        nothing = np.packbits(rng.random(8 * sound.size) < 0.3)
        wrong.overwrite(path, nothing.tobytes(), 0, column)
        assert diagnosed(path, 0, column) is None, column


def test_the_same_bits_in_many_blocks_are_one_value():
    """As a hash has them whose low half is 0."""
    blocks = Bitset(np.ones((128, 8), np.uint32), 128)
    hashes = np.arange(128, dtype=np.uint64) << np.uint64(57)
    found = STANDARD.look_up(blocks, hashes)
    assert (found.hits, found.tried) == (1, 1)


def test_evidence_needs_more_than_luck():
    assert Trial(hits=4, tried=4, chance=1e-4).is_convincing
    assert not Trial(hits=3, tried=3, chance=1e-9).is_convincing
    assert not Trial(hits=4, tried=4, chance=1e-3).is_convincing
    assert Trial(hits=5, tried=5, chance=1e-3).is_convincing
    assert not Trial(hits=1000, tried=1000, chance=0.6).is_convincing
    assert Trial(hits=990, tried=1000, chance=0.4).is_convincing
    assert not Trial(hits=989, tried=1000, chance=0.01).is_convincing
    assert not Trial(hits=99, tried=99, chance=1.0).is_convincing
    assert not Trial(hits=0, tried=0, chance=1.0).is_convincing
    assert Trial(hits=10, tried=10, chance=0.1).log_luck == pytest.approx(-10 * np.log(10))
