"""From where on a filter is too large to say nothing, and in which words it is said."""

import numpy as np
import pyarrow as pa
import pytest
from make.defects_files import integers, sound
from make.filters import bits_of, with_bits
from make.parquet_files import written

import parquet_bloom as pb
from parquet_bloom.rules.finding import Finding
from parquet_bloom.verbs.validate import validate

VALUES = integers(0)


def findings(data: bytes, tmp_path, **options) -> dict[str, Finding]:
    path = tmp_path / "file.parquet"
    path.write_bytes(data)
    return {found.rule: found for found in validate(path, **options).findings}


def tiny(num_blocks: int) -> bytes:
    """Twenty integers with a filter of so many blocks."""
    data = written(pa.table({"a": pa.array(integers(0)[:20], pa.int64())}))
    return with_bits(data, bits_of(VALUES[:20], num_blocks))


@pytest.mark.parametrize(("num_blocks", "expected"), [(256, None), (512, None), (1024, "4096")])
def test_a_strict_fpp_is_nobodys_mistake(tmp_path, num_blocks, expected):
    """2,000 values take 4 KiB for 1 %, and four times as much for 0.001 %."""
    data = with_bits(sound(), bits_of(VALUES, num_blocks))
    found = findings(data, tmp_path).get("PB304")
    assert (found and found.expected) == (expected and f"{expected} bytes")


def test_the_target_is_named(tmp_path):
    found = findings(with_bits(sound(), bits_of(VALUES, 1024)), tmp_path)["PB304"]
    assert found.message == "the filter could be folded 3 times and stay within an FPP of 1 %"
    found = findings(with_bits(sound(), bits_of(VALUES, 2048)), tmp_path, max_fpp=1e-4)["PB304"]
    assert found.message == "the filter could be folded 3 times and stay within an FPP of 0.01 %"


def test_a_page_of_memory_is_not_worth_a_word(tmp_path):
    assert findings(tiny(128), tmp_path) == {}
    assert findings(tiny(256), tmp_path).keys() == {"PB304", "PB306"}


def test_what_comes_with_the_footer_is_not_worth_a_word(tmp_path):
    assert "PB309" not in findings(tiny(1024), tmp_path)
    found = findings(tiny(2048), tmp_path)["PB309"]
    assert found.message == "filters take up 99 % of the file"


def test_a_share_just_above_the_limit_does_not_read_as_the_limit(tmp_path):
    table = pa.table({"a": VALUES[:20], "pad": [bytes(387_000), *[None] * 19]})
    data = written(table, compression="none", write_statistics=False)
    found = findings(with_bits(data, bits_of(VALUES[:20], 4096)), tmp_path)["PB309"]
    assert found.message == "filters take up 25.3 % of the file"
    assert found.expected == "at most 25 %"


@pytest.mark.parametrize("value", [0.0, -0.0])
@pytest.mark.parametrize("arrow", [pa.float32(), pa.float64(), pa.float16()])
def test_the_zero_that_is_not_found_is_named(tmp_path, value, arrow):
    """pyarrow inserts the one that is stored; the queries that lose rows are those for the other."""
    numbers = np.array([value, *range(1, 500)], arrow.to_pandas_dtype())
    filters = {"a": {"ndv": 500, "fpp": 0.01}}
    data = written(pa.table({"a": pa.array(numbers, arrow)}), bloom_filter_options=filters)
    found = findings(data, tmp_path)["PB403"]
    stored, other = ("-0.0", "0.0") if np.signbit(value) else ("0.0", "-0.0")
    assert found.message == (
        f"{stored} is in the filter but {other} is not: readers that hash the zero in a query as"
        f" written lose rows where x = {other}"
    )
    assert found.found == stored


def test_foreign_bits_are_counted(tmp_path):
    """A share of them would be 0.00 % where there are few."""
    data = written(pa.table({"a": pa.array(integers(0), pa.int64())}))
    bits = pb.SplitBlockBloomFilter.from_bytes(bits_of(VALUES, 256))
    before = bits.bits_set
    words = bits.words.copy()
    clear = int(np.flatnonzero(words != 0xFFFFFFFF)[0])
    words[clear] |= ~words[clear] & (words[clear] + np.uint32(1))
    found = findings(with_bits(data, words.tobytes()), tmp_path)["PB405"]
    assert found.message.startswith(f"1 of {before + 1:,} bits come from no stored value: ")
