"""Filters as @dsnp/parquetjs writes them: a header that names nothing, and one array for all blocks."""

import json
import struct

import pyarrow as pa
import pytest
from make.commands import outcome
from make.filters import bits_of, inserted_before_footer
from make.footers import with_meta
from make.parquet_files import written

import parquet_bloom as pb
from parquet_bloom.parquet.filters.bloom import UNNAMED
from parquet_bloom.verbs.validate import validate

# numBytes of 1,024 in 32 blocks; then algorithm, hash and compression: unions without a member.
HEADER = bytes.fromhex("15 8010 1c00 1c00 1c00 00")
NUM_BLOCKS = 32
COLUMNS = {
    "i": (pa.array(range(0, 60, 5), pa.int32()), lambda value: str(value).encode()),
    "q": (
        pa.array(range(0, 9 * 10**12, 8 * 10**11), pa.int64()),
        lambda value: str(value).encode(),
    ),
    "d": (
        pa.array([index / 2 for index in range(12)]),
        lambda value: f"{value:g}".encode(),
    ),
    "s": (pa.array([f"v{index}" for index in range(12)]), str.encode),
}


def by_parquetjs(column: str, num_values: int = 12) -> bytes:
    """A column whose values, in text, are inserted into the only array, and that is stored 32 times."""
    array, text = COLUMNS[column]
    array = pa.concat_arrays([array] * (num_values // len(array)))
    data = written(pa.table({column: array}), store_schema=False)
    block = bits_of(map(text, array.to_pylist()), 1)
    data, start = inserted_before_footer(data, HEADER + NUM_BLOCKS * block)
    return with_meta(data, 0, 0, bloom_filter_offset=start)


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "file.parquet"
    path.write_bytes(by_parquetjs("i"))
    return path


def test_one_finding_names_the_writer_and_the_way_out(path):
    (found,) = validate(path).findings
    assert (found.rule, found.message) == ("PB214", UNNAMED)
    assert found.next == f"pbloom repair {path} --rebuild --in-place"
    assert "@dsnp/parquetjs" in UNNAMED


def test_without_values_the_same(path):
    assert [each.rule for each in validate(path, deep=False).findings] == ["PB214"]


def test_the_way_out(path):
    assert outcome("repair", path, "--rebuild", "--in-place").code == 0
    assert validate(path).findings == ()
    assert [each.verdict for each in pb.probe(path, "i", [5, 6]).results] == ["maybe", "absent"]


def test_no_value_is_absent(path):
    (group,) = pb.probe(path, "i", 6).results[0].groups
    assert group.verdict == "unknown"
    assert group.reason.endswith(UNNAMED)
    (column,) = pb.inspect(path).row_groups[0].columns
    assert column.filter is None
    assert column.reason.endswith(UNNAMED)


@pytest.mark.parametrize(
    ("column", "name", "clause"),
    [
        ("i", "text", "as text"),
        ("q", "text", "as text"),
        ("d", "text", "as text, without a point if it is whole"),
        ("s", "as-stored", "as it is stored"),
    ],
)
def test_diagnose_says_what_is_in_it(tmp_path, column, name, clause):
    path = tmp_path / "file.parquet"
    path.write_bytes(by_parquetjs(column))
    (found,) = validate(path, diagnose=True).findings
    assert found.diagnosis.hypothesis == f"blocks-alike+{name}"
    assert found.diagnosis.hits == found.diagnosis.tried == 12
    assert found.diagnosis.explanation.startswith(
        "all 32 blocks are the same, with the bits of all"
    )
    assert found.diagnosis.explanation.endswith(f"the writer hashed each value {clause}")


def test_of_a_full_array_nothing_else_can_be_told(tmp_path):
    path = tmp_path / "file.parquet"
    table = pa.table({"i": pa.array(range(2000), pa.int32())})
    data = written(table, store_schema=False)
    block = bits_of((str(value).encode() for value in range(2000)), 1)
    data, start = inserted_before_footer(data, HEADER + NUM_BLOCKS * block)
    path.write_bytes(with_meta(data, 0, 0, bloom_filter_offset=start))
    (found,) = validate(path, diagnose=True).findings
    assert (found.diagnosis.hypothesis, found.diagnosis.tried) == ("blocks-alike", 0)
    assert found.diagnosis.explanation.endswith("so 100 % of absent values pass the filter")


def test_blocks_that_differ_are_not_called_alike(tmp_path):
    path = tmp_path / "file.parquet"
    array, _ = COLUMNS["i"]
    data = written(pa.table({"i": array}), store_schema=False)
    bits = bits_of((struct.pack("<i", value) for value in array.to_pylist()), NUM_BLOCKS)
    data, start = inserted_before_footer(data, HEADER + bits)
    path.write_bytes(with_meta(data, 0, 0, bloom_filter_offset=start))
    (found,) = validate(path, diagnose=True).findings
    assert found.diagnosis.hypothesis == "as-stored"


def test_a_filter_beyond_the_file_is_not_read(tmp_path):
    path = tmp_path / "file.parquet"
    data = written(pa.table({"i": [1, 2, 3, 4]}), store_schema=False)
    data, start = inserted_before_footer(data, HEADER + bytes(32))
    path.write_bytes(with_meta(data, 0, 0, bloom_filter_offset=start))
    (found,) = validate(path, diagnose=True).findings
    assert (found.rule, found.diagnosis) == ("PB214", None)
    assert found.undiagnosed == "no diagnosis: there is no whole number of blocks"


def of_values(path, stored, inserted, num_blocks=NUM_BLOCKS):
    """A filter of some values in a file of others."""
    data = written(pa.table({"i": pa.array(stored, pa.int64())}), store_schema=False)
    bits = bits_of((struct.pack("<q", value) for value in inserted), num_blocks)
    data, start = inserted_before_footer(data, HEADER + bits)
    path.write_bytes(with_meta(data, 0, 0, bloom_filter_offset=start))
    return path


@pytest.mark.parametrize(
    ("stored", "inserted", "said"),
    [
        (
            range(20),
            range(1000, 1020),
            "nothing explains it; tried on 20 values: as they are",
        ),
        ([1, 2], [3, 4], "no diagnosis: 2 values, too few to prove anything: expected 4"),
        (range(20), range(10**4), "no diagnosis: 100 % of absent values pass the filter, so a"),
    ],
)
def test_what_nothing_explains(tmp_path, stored, inserted, said):
    path = of_values(tmp_path / "file.parquet", stored, inserted)
    (found,) = validate(path, diagnose=True).findings
    assert (found.rule, found.diagnosis) == ("PB214", None)
    assert found.undiagnosed.startswith(said)
    assert f"\n      {found.undiagnosed}\n" in outcome("validate", path, "--diagnose").stdout
    (found,) = validate(path).findings
    assert found.undiagnosed is None


def test_json_has_the_diagnosis(path):
    answer = outcome("validate", path, "--diagnose", "--format", "json")
    (found,) = json.loads(answer.stdout)["findings"]
    assert found["diagnosis"]["hypothesis"] == "blocks-alike+text"
