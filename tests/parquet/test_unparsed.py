"""A bitset where a header should be: it is recognised, and its bytes can be written."""

import io
import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.defects_files import encrypted, integers, sound
from make.filters import bits_of, bitset, filter_header, header_bytes, with_filter_bytes
from make.footers import pointer, with_meta
from make.orc_defect_files import sound as sound_orc

from parquet_bloom.verbs.validate import validate


@pytest.fixture
def bare(tmp_path):
    """The filter of `a` in row group 0 without its header."""
    path = tmp_path / "bare.parquet"
    path.write_bytes(with_filter_bytes(sound(), 0, 0, bitset(sound())))
    return path


def message(path, **options):
    (found,) = validate(path, columns=["a"], **options).findings
    assert found.rule == "PB102"
    return found.message.partition("; ")[2]


def test_the_stored_values_prove_a_bitset(bare):
    assert message(bare) == (
        "the 4,096 bytes there are a bitset without a header, which finds all 2,000 stored values"
    )


def test_its_length_suggests_one(bare):
    assert message(bare, deep=False) == ("the 4,096 bytes there could be a bitset without a header")


def test_without_a_length_it_ends_where_the_next_thing_begins(bare):
    bare.write_bytes(with_meta(bare.read_bytes(), 0, 0, bloom_filter_length=None))
    assert "the 4,096 bytes there" in message(bare)
    assert message(bare, deep=False) == ""


def test_its_length_may_be_with_the_header_in_front_of_it(tmp_path):
    """The footer leads past the header."""
    path, (offset, length) = tmp_path / "file.parquet", pointer(sound())
    path.write_bytes(with_meta(sound(), 0, 0, bloom_filter_offset=offset + 16))
    assert header_bytes(sound()) == length - 4096 == 16
    assert "the 4,096 bytes there are a bitset without a header" in message(path)
    assert "without a header" not in message(path, deep=False)


@pytest.mark.parametrize(
    ("more", "said"), [(16, "; without the 16 bytes of its header, it would be"), (8, "")]
)
def test_a_size_may_be_with_that_of_the_header(more, said, tmp_path):
    data = sound()
    bits = bitset(data)
    header = filter_header(len(bits) + more)
    path = tmp_path / "file.parquet"
    path.write_bytes(with_filter_bytes(data, 0, 0, header + bits + bytes(more)))
    (found,) = validate(path, columns=["a"], ignore=["PB206"]).findings
    assert (found.rule, len(header)) == ("PB110", 16)
    assert found.message == f"the bitset is not a whole number of blocks{said}"


@pytest.mark.parametrize("bits", [bytes(4096), b"\xff" * 4096, bits_of(range(2000), 128)])
def test_other_bytes_are_no_bitset_of_this_column(bits, tmp_path):
    path = tmp_path / "other.parquet"
    path.write_bytes(with_filter_bytes(sound(), 0, 0, bits))
    for found in validate(path, columns=["a"]).findings:
        assert "without a header" not in found.message


def test_a_bitset_that_can_be_decoded_as_a_header_is_recognised(tmp_path):
    """A first byte that ends a struct, and numBytes by chance."""
    bits = bytearray(bits_of(integers(0), 128))
    bits[:3] = b"\x15\x40\x00"
    path = tmp_path / "like.parquet"
    path.write_bytes(with_filter_bytes(sound(), 0, 0, bytes(bits)))
    rules = {each.rule for each in validate(path, columns=["a"], deep=False).findings}
    assert "PB102" not in rules


def test_dump_writes_the_bytes(bare):
    refused = outcome("dump", bare, "-c", "a")
    assert refused.code == 2
    assert refused.stderr.endswith("; --unparsed dumps the bytes as they are\n")
    stored = bitset(sound())
    assert outcome("dump", bare, "-c", "a", "--unparsed", "--format", "raw").stdout_bytes == stored
    lines = outcome("dump", bare, "-c", "a", "--unparsed").stdout.splitlines()
    assert lines == [stored[at : at + 32].hex() for at in range(0, len(stored), 32)]
    document = json.loads(outcome("dump", bare, "-c", "a", "--unparsed", "--format", "json").stdout)
    assert (document["dialect"], document["num_bytes"]) == ("unknown", 4096)
    assert (document["header"], document["bitset"]) == ("", stored.hex())
    npy = outcome("dump", bare, "-c", "a", "--unparsed", "--format", "npy").stdout_bytes
    words = np.load(io.BytesIO(npy))
    assert (words.dtype, words.tobytes()) == (np.uint8, stored)


def test_what_cannot_be_written(bare, tmp_path):
    def complaint(path):
        ran = outcome("dump", path, "-c", "a", "--unparsed")
        assert (ran.code, ran.stdout) == (2, "")
        return ran.stderr.strip()

    locked = tmp_path / "locked.parquet"
    locked.write_bytes(encrypted(bare.read_bytes(), 0))
    assert complaint(locked).endswith(": --unparsed is not supported for an encrypted column")
    outside = tmp_path / "outside.parquet"
    outside.write_bytes(with_meta(sound(), 0, 0, bloom_filter_offset=1 << 40))
    assert "bloom_filter_offset is 1099511627776, expected 4 to " in complaint(outside)
    in_orc = tmp_path / "a.orc"
    in_orc.write_bytes(sound_orc())
    assert complaint(in_orc).endswith(": --unparsed is not supported for ORC files")
    none = tmp_path / "none.parquet"
    pq.write_table(pa.table({"a": [1]}), none)
    assert complaint(none).endswith(
        "row group 0, column a: no filter; pbloom advise says whether it deserves one, pbloom build adds it"
    )
