"""`pbloom repair` on ORC files, and what readers make of the files that it has repaired."""

import json
import re
from dataclasses import fields

import numpy as np
import pyarrow as pa
import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.orc_defect_files import ROWS, STRIDE, with_stream
from make.orc_defects import (
    by_pyarrow,
    by_pyorc,
    encrypted,
    exchanged,
    index_behind_data,
    narrow,
    one_bit_cleared,
)
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.verbs.repair import RepairReport, repair


@pytest.fixture
def write(tmp_path):
    def write(data: bytes, name: str = "a.orc"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


def run(*arguments):
    return outcome("repair", *arguments)


def test_files_of_both_formats_in_one_run(write, tmp_path):
    path = write(exchanged())
    other = write((FIXTURES / "pyarrow_filters.parquet").read_bytes(), "b.parquet")
    before = other.read_bytes()
    ran = run(path, other, "--rebuild", "--in-place")
    assert ran.code == 0
    first, second, third, total = ran.output.splitlines()
    assert re.fullmatch(
        rf"{re.escape(str(path))}: 2 filters repaired, 0 still wrong, \d+ B (added|removed)", first
    )
    assert second.startswith(f"{other}: 0 filters repaired, 0 still wrong")
    assert third.startswith(
        f"{path}: rebuilt: column a, stripe 0: PB401 false-negatives: in 2 index groups; the first: "
    )
    assert total.startswith("2 files: 1 repaired, 1 unchanged; 2 filters repaired, 0 still wrong, ")
    assert other.read_bytes() == before
    ran = outcome("validate", path, other, "--json")
    assert ran.code == 0
    found = [json.loads(line) for line in ran.output.splitlines()]
    assert [each["format"] for each in found] == ["orc", "parquet"]


@pytest.mark.parametrize("rows", [(7, STRIDE + 8, 3 * STRIDE + 9), (7, 2 * STRIDE + 8)])
def test_what_is_wrong_in_several_index_groups_is_told_of_the_first(rows, tmp_path):
    """Several of one stripe, or one of each: merged, the numbers of two rows read as those of a range."""
    path = tmp_path / "a.orc"
    numbers = np.random.default_rng(1).integers(1 << 61, 1 << 62, 4 * STRIDE)
    orc.write_table(
        pa.table({"a": numbers}), path, compression="uncompressed",
        row_index_stride=STRIDE, batch_size=2 * STRIDE, stripe_size=1,
    )  # fmt: skip
    pb.build(path, columns=["a"], in_place=True)
    data = path.read_bytes()
    for row in rows:
        stored = (2 * int(numbers[row])).to_bytes(8, "big")
        assert data.count(stored) == 1
        data = data.replace(stored, stored[:-2] + bytes(2))
    path.write_bytes(data)
    said = run(path, "--rebuild", "--dry-run").stdout.splitlines()[1]
    assert said.startswith(
        f"rebuilt: column a, stripes 0, 1: PB401 false-negatives: in {len(rows)} index groups; the first: 1 of 1,000 "
    )
    assert "in row 7: either" in said


def test_filters_are_counted_by_index_group_as_other_commands_do(write, tmp_path):
    """A column's filters in a stripe are dropped together, right or wrong."""
    path = write(exchanged())
    dropped, *_, note = run(path, "--drop-bad", "-o", tmp_path / "b.orc").stdout.splitlines()
    assert dropped.startswith(f"{tmp_path / 'b.orc'}: 2 filters dropped, 0 still wrong, ")
    assert note.startswith("note: no filter is left where one was dropped: pbloom build ")
    assert (
        ": 2 filters removed, " in outcome("strip", path, "-c", "a", "-g", "0", "--dry-run").stdout
    )


def test_filters_that_go_with_others_are_told(write, tmp_path):
    path = write(one_bit_cleared())
    output = tmp_path / "b.orc"
    dropped = run(path, "--drop-bad", "-o", output).stdout.splitlines()
    assert ": 2 filters dropped, 0 still wrong, " in dropped[0]
    note = "1 filter in which nothing is wrong is dropped, too, as those of a column in a stripe are one stream"
    assert f"note: {note}; --rebuild builds all of them again" in dropped
    assert note not in run(path, "--rebuild", "-o", output, "--overwrite").stdout
    assert "nothing is wrong" not in run(write(exchanged()), "--drop-bad", "--dry-run").stdout


def test_what_is_still_wrong_is_counted_as_what_is_dropped(write):
    """A stream that cannot be read has two filters, which several rules may be about."""
    path = write(with_stream(lambda data: b"\xff" + data))
    left = run(path, "--dry-run")
    assert ": 0 filters repaired, 2 still wrong, " in left.stdout
    assert ": 2 filters dropped, 0 still wrong, " in run(path, "--drop-bad", "--dry-run").stdout
    (found,) = json.loads(run(path, "--dry-run", "--json").stdout)["left"]
    assert (found["rule"], found["num_filters"], found["index_groups"]) == ("PB602", 2, [])


def test_a_stream_is_named_once(tmp_path):
    """The reader of its chunks says which it is, too."""
    path = tmp_path / "a.orc"
    table = pa.table({"a": np.random.default_rng(1).integers(0, 1 << 40, 1000)})
    orc.write_table(table, path, compression="snappy")
    pb.build(path, columns=["a"], in_place=True)
    data = bytearray(path.read_bytes())
    offset = pb.inspect(path).stripes[0].columns[0].streams[0].offset
    data[offset : offset + 3] = b"\xff" * 3
    path.write_bytes(data)
    (found,) = pb.validate(path).findings
    assert found.rule == "PB602"
    assert found.message.startswith("the BLOOM_FILTER_UTF8 stream: damaged: chunk at byte 0: ")


def test_what_is_left_is_a_no(write):
    ran = run(write(index_behind_data()), "--rebuild", "--in-place")
    assert ran.code == 1
    assert ran.output.splitlines()[1].startswith("left: stripe 0: PB601 contradictory-stripe: an")


def test_encrypted_columns_are_trouble_in_one_line(write):
    ran = run(write(encrypted()), "--rebuild", "--in-place")
    assert ran.code == 2
    assert "Traceback" not in ran.output


def test_the_report_as_json(write):
    ran = run(write(exchanged()), "--rebuild", "--in-place", "--json")
    report = json.loads(ran.output)
    assert {*report, "requests"} == {field.name for field in fields(RepairReport)}
    (done,) = report["repaired"]
    length = done.pop("length")
    assert done.pop("offset") + length < report["size_after"]
    assert re.match(r"\d+ of 1,000 stored values are not in the filter", done.pop("reason"))
    assert done == {
        "stripe": 0, "index_groups": [0, 1], "column": "a", "action": "rebuilt", "num_filters": 2, "rule": "PB401",
    }  # fmt: skip


# ------------------------------------------------------------------------------------------------
# What readers see


def test_the_values_are_the_same(write, tmp_path):
    path = write(by_pyarrow(narrow()))
    repair(path, tmp_path / "b.orc", rebuild=True)
    assert orc.read_table(path).equals(orc.read_table(tmp_path / "b.orc"))


@pytest.mark.interop
def test_orc_java_loses_no_rows_any_more(write, tmp_path, parquet_java):
    """BYTE by ORC C++, and FLOAT by pyorc, whose filters are of other numbers than are stored."""
    numbers = sorted(set(narrow().to_pylist()))
    # Between the smallest and the largest of each group, so that only the filter decides.
    floats = np.float32(np.arange(1, ROWS) / 7)
    asked = [float(value) for value in floats[10::400]]
    broken = {
        "byte": (write(by_pyarrow(narrow()), "byte.orc"), "LONG", numbers[1:-1]),
        "float": (write(by_pyorc("float", *(row / 7 for row in range(ROWS))), "float.orc"),
                  "FLOAT", asked),
    }  # fmt: skip
    queries, expected = [], []
    for name, (path, kind, literals) in broken.items():
        repaired = tmp_path / f"{name}.repaired.orc"
        repair(path, repaired, rebuild=True)
        for file in (path, repaired):
            queries += [(str(file), "a", kind, repr(value)) for value in literals]
            expected.append((file == repaired, len(literals)))
    rows = [int(found) for (found,) in parquet_java.answers("OrcSearch", queries)]
    for is_repaired, count in expected:
        found, rows = rows[:count], rows[count:]
        if is_repaired:
            assert min(found) >= STRIDE
        else:
            assert found.count(0) > count / 2
