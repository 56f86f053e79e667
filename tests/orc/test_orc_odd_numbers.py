"""Numbers of damaged files that no filter and no value has: one line of ours, not an error of Python's."""

import numpy as np
import pyarrow as pa
import pytest
from make.orc_defect_files import edited
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.orc.arrays import Numbers
from parquet_bloom.orc.bloom import OrcKeyForm
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.keys import AskedValues, insertion_hashes


@pytest.fixture
def lying(tmp_path):
    """A file that claims index groups of 4,294,967,281 rows."""
    path = tmp_path / "lying.orc"
    orc.write_table(pa.table({"a": range(500)}), path, bloom_filter_columns=[1])
    lies = {"rowIndexStride": 4_294_967_281}
    path.write_bytes(edited(path.read_bytes(), lambda stripes, footer: footer.update(lies)))
    return path


def test_groups_that_no_filter_is_large_enough_for(lying, tmp_path):
    report = pb.build(lying, tmp_path / "out.orc", columns=["a"], existing="replace")
    (built,) = report.filters
    assert (built.num_values, built.num_bytes) == (500, 600)
    assert [each.column for each in pb.advise(lying).columns] == ["a"]


def test_a_scale_that_no_decimal_has():
    column = OrcColumn(1, "d", "DECIMAL", (), 0, 0, 18, 127, {})
    found = AskedValues(column, [0, b"ab"]).hashes(OrcKeyForm())
    reason = "DECIMAL(18,127): a scale of 127, expected at most 38"
    assert found.unknown == {0: reason, 1: reason}


def test_signaling_nans():
    """numpy warns of those, and warnings are errors here."""
    bits = np.array([0x7F800001, 0xFF800001], np.uint32)
    column = OrcColumn(1, "f", "FLOAT", (), 0, 0, 0, 0, {})
    assert len(insertion_hashes(column, Numbers(bits.view(np.float32)), OrcKeyForm())) == 4
