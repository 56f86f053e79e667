"""`pbloom advise` and `build --auto` on ORC files: value samples, several files, settings."""

import json
import random
import re
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyorc
import pytest
from make.commands import outcome
from make.orc_advice_files import (
    GROUPS,
    ROWS,
    STRIDE,
    TYPES,
    column,
    fpps_of,
    write,
    write_column,
)
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.options import AdviseOptions
from parquet_bloom.verbs.advise import Advisor, advise


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# ------------------------------------------------------------------------------------------------
# What the user looks up


def test_a_value_sample():
    write()
    (found,) = advise(
        "a.orc", columns=["id"], value_sample={"id": [3500, 3507, 3500, 3501]}
    ).columns
    assert (found.basis, found.values_asked, found.values_stored) == ("value sample", 4, 3)
    fpps = fpps_of("a.orc", "id")
    assert found.groups_statistics == GROUPS
    assert found.groups_filter == pytest.approx(
        (3 + sum(fpps) * 4 - sum(_of_holders(fpps, [3500, 3507, 3500]))) / 4
    )


def _of_holders(fpps, wanted):
    """The FPPs of the filters of the index groups that hold these ids."""
    ids = orc.read_table("a.orc")["id"].to_pylist()
    return [fpps[ids.index(id) // STRIDE] for id in wanted]


@pytest.mark.parametrize("kind", TYPES)
def test_literals_are_found_as_they_are_stored(kind):
    type, values = TYPES[kind]
    write_column(type, values)
    shown = str(values[500]).strip().replace("+00:00", "")
    (found,) = advise("a.orc", value_sample={"x": pb.literal(shown)}).columns
    assert found.values_stored == 1
    around = [
        min(group) <= values[500] <= max(group)
        for group in (values[start : start + STRIDE] for start in range(0, ROWS, STRIDE))
    ]
    assert found.groups_statistics == sum(around)


@pytest.mark.parametrize(
    ("sample", "error", "message"),
    [
        (
            {"id": ["x"]},
            pb.ValueTypeError,
            "a.orc: value sample: column id: 'x': cannot be a value",
        ),
        ({"id": []}, pb.ColumnError, "a.orc: value sample: column id: no values, expected at"),
        (
            {"low": [1]},
            pb.ColumnError,
            "a.orc: value sample: column low is not one of the columns",
        ),
        ({"ids": [1]}, pb.ColumnError, "a.orc: value sample: no column ids; did you mean id"),
    ],
)
def test_a_value_sample_that_does_not_fit(sample, error, message):
    write()
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        advise("a.orc", columns=["id"], value_sample=sample)


# ------------------------------------------------------------------------------------------------
# Several files


def test_files_with_the_same_columns_are_judged_together():
    """One index group each: alone nobody would know."""
    paths = [write(f"{number}.orc", rows=100, seed=number) for number in range(8)]
    advisor = Advisor(AdviseOptions(columns=("id",)))
    for path in paths:
        advisor.add(path)
    reports = list(advisor.reports())
    assert [report.files for report in reports] == [8] * 8
    assert {report.columns[0].groups for report in reports} == {8}
    (table,) = advisor.tables()
    assert (table.path, table.num_groups) == ("0.orc and 7 more", 8)


def test_a_folder_of_both_formats():
    """Parquet and ORC files are not one table, and each has its filters built."""
    ids = np.random.default_rng(1).permutation(4000)
    Path("in").mkdir()
    pq.write_table(pa.table({"id": ids}), "in/a.parquet", row_group_size=400)
    orc.write_table(pa.table({"id": ids}), "in/b.orc", row_index_stride=400)
    result = outcome("advise", "in", "--json")
    assert result.code == 0
    documents = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(each["path"], each["format"], each["files"]) for each in documents] == [
        ("in/a.parquet", "parquet", 1), ("in/b.orc", "orc", 1)
    ]  # fmt: skip
    assert [each["recommended"] for each in documents] == [["id"], ["id"]]
    result = outcome("build", "in", "--auto", "--output-dir", "out")
    assert (result.code, result.stderr) == (0, "")
    with pb.open("out/a.parquet") as file:
        assert file.bloom_filter(9, "id") is not None
    with pb.open("out/b.orc") as file:
        assert file.bloom_filter(0, "id", 9).bits_set


# ------------------------------------------------------------------------------------------------
# The command


def test_one_table_for_each_table():
    lines = outcome("advise", write()).output.splitlines()
    size = Path("a.orc").stat().st_size / 1024
    assert lines[0] == (
        f"a.orc: 1,150 rows in 12 index groups, {size:.1f} KiB; build filters for id"
    )
    assert lines[1].split("\t") == [
        "column", "type", "verdict", "NDV", "filters", "of the file", "index groups read", "reason"
    ]  # fmt: skip
    cells = lines[3].split("\t")
    assert (cells[:4], cells[6]) == (["seq", "LONG", "skip", "1,150"], "1.00 → 1.00")


def test_damage_is_one_line():
    data = bytearray(Path(write()).read_bytes())
    with open_file("a.orc") as file:
        stream = file.stripe(0).streams_of(1, (6,))[0]
    data[stream.offset : stream.offset + 3] = b"\xff\xff\xff"
    Path("b.orc").write_bytes(data)
    result = outcome("advise", "b.orc")
    assert (result.code, result.stderr.count("\n")) == (2, 1)
    assert result.stderr.startswith("pbloom: b.orc: stripe 0")


@pytest.mark.parametrize("seed", range(60))
def test_damage_gives_one_line_or_an_answer(seed):
    """In the tail, where there are most numbers, or anywhere."""
    data = bytearray(Path(write(rows=450)).read_bytes())
    chance = random.Random(seed)
    for _ in range(chance.randint(1, 4)):
        start = len(data) - 300 if seed % 2 else 0
        data[chance.randrange(start, len(data))] = chance.randrange(256)
    Path("b.orc").write_bytes(data)
    for command in (("advise", "b.orc"), ("diff", "a.orc", "b.orc")):
        result = outcome(*command)
        assert result.code in (0, 1, 2)
        assert result.stderr.count("\n") == (result.code == 2)


# ------------------------------------------------------------------------------------------------
# Settings


def settings(path, name):
    return {each.writer: each.text for each in column(advise(path), name).settings}


@pytest.mark.parametrize("name", ["id", "s", "user.id"])
def test_other_writers_take_the_settings(name):
    """The filters are those that `build` makes."""
    random = np.random.default_rng(4)
    ids = random.permutation(ROWS).tolist()
    table = pa.table(
        {
            "id": ids,
            "s": [f"n{id}" for id in ids],
            "user": pa.array([{"id": id} for id in ids], pa.struct([("id", pa.int64())])),
        }
    )
    orc.write_table(table, "a.orc", row_index_stride=STRIDE)
    texts = settings("a.orc", name)
    assert texts["pbloom"] == f"pbloom build a.orc -c {name} --fpp 0.01 -o out.orc"
    assert outcome(*texts["pbloom"].split()[1:]).code == 0
    built = Path("out.orc").rename("built.orc")
    # Filters are as large as these others only if index groups have as many rows.
    pyarrow = SimpleNamespace(write_table=partial(orc.write_table, row_index_stride=STRIDE))
    eval(texts["pyarrow"], {"table": table, "orc": pyarrow})
    assert outcome("diff", "out.orc", built).output == ""
    of_pyorc = SimpleNamespace(Writer=partial(pyorc.Writer, row_index_stride=STRIDE))
    schema = "struct<id:bigint,s:string,user:struct<id:bigint>>"
    with open("pyorc.orc", "wb") as file:
        writer = eval(texts["pyorc"], {"pyorc": of_pyorc, "file": file, "schema": schema})
        writer.writerows([(id, f"n{id}", (id,)) for id in ids])
        writer.close()
    assert outcome("diff", "pyorc.orc", built).output == ""


def test_settings_of_java():
    texts = settings(write(), "id")
    assert texts["Spark"] == (
        '.option("orc.bloom.filter.columns", "id")\n.option("orc.bloom.filter.fpp", "0.01")'
    )
    assert texts["Hive"] == (
        "ALTER TABLE t SET TBLPROPERTIES ('orc.bloom.filter.columns' = 'id',"
        " 'orc.bloom.filter.fpp' = '0.01')"
    )
    assert texts["Iceberg"] == texts["Hive"].replace("'orc.", "'write.orc.")


@pytest.mark.parametrize(
    ("type", "writers"),
    [
        ("tinyint", ["Hive"]), ("char(9)", ["Hive"]), ("timestamp", ["Hive"]),
        ("float", ["pyarrow", "Hive"]), ("bigint", ["pyarrow", "Hive", "pyorc"]),
        ("varchar(9)", ["pyarrow", "Hive", "pyorc"]),
    ],
)  # fmt: skip
def test_no_settings_for_writers_that_get_it_wrong(type, writers):
    kinds = {"tinyint": "BYTE", "bigint": "LONG"}
    _, values = TYPES[kinds.get(type, type.upper())]
    write_column(type, values)
    assert list(settings("a.orc", "x")) == ["pbloom", "Spark", "Iceberg", *writers]


@pytest.mark.parametrize("name", ["a.b", "a,b", "ä", "a b"])
def test_names_that_java_takes_for_others(name):
    write(**{name: pa.array(np.random.default_rng(1).permutation(ROWS))})
    texts = settings("a.orc", name)
    assert list(texts) == ["pbloom", "pyarrow", "pyorc"]
