"""ORC files and columns that get no filters, because readers would not look at them, or because
nobody can be sure of the values."""

import datetime
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyorc
import pytest
from make.commands import outcome
from make.handmade_orc import DATA, LZO, Stream, Stripe, forge, row_index, table, type_of, write
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import (
    FilterError,
    FormatError,
    ParquetBloomError,
    RewriteError,
    UnsupportedError,
)
from parquet_bloom.orc.stripe import ROW_INDEX

# Ten times 7: a short repeat of 8 bits.
SEVENS = bytes([0 << 6 | 0 << 3 | 7, 14])
INDEX = row_index({"numberOfValues": 10, "hasNull": False})


def stripe(*streams, **more):
    return Stripe(10, streams or [Stream(ROW_INDEX, 1, INDEX), Stream(DATA, 1, b"x")], **more)


def refusal(path, column="a", verb=pb.build, **options):
    """What the verb says; it must not touch the file."""
    before = path.read_bytes()
    with pytest.raises(ParquetBloomError) as found:
        verb(path, columns=[column], in_place=True, **options)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir()] == [path.name]
    assert "\n" not in str(found.value)
    return type(found.value), str(found.value).removeprefix(f"{path}: ")


def forged(tmp_path, stripes, types=None, **more):
    return write(tmp_path / "a.orc", forge(types or table(a="LONG"), stripes, stride=10, **more))


def skipped(path, *columns):
    """Why columns get no filters: it must be for all of their stripes."""
    report = pb.build(path, columns=columns, dry_run=True)
    assert report.filters == ()
    reasons = {skip.column: skip.reason for skip in report.skipped}
    assert {skip.reason for skip in report.skipped} == {*reasons.values()}
    return reasons


NO_INDEX = "no row index, without which readers ignore filters"


def test_no_row_index(tmp_path):
    path = forged(tmp_path, [stripe(Stream(DATA, 1, b"x")), stripe(Stream(DATA, 1, b"x"))])
    assert skipped(path, "a") == {"a": NO_INDEX}
    path = written(tmp_path, "struct<a:int>", [(1,)], row_index_stride=0)
    assert skipped(path, "a") == {"a": NO_INDEX}


def test_a_column_without_a_row_index_beside_others(tmp_path):
    """The others get filters."""
    streams = [Stream(ROW_INDEX, 1, INDEX), Stream(DATA, 1, SEVENS), Stream(DATA, 2, SEVENS)]
    path = forged(tmp_path, [stripe(*streams)], table(a="LONG", b="LONG"))
    report = pb.build(path, in_place=True, columns=["b", "a"])
    assert [(each.column, each.num_values) for each in report.filters] == [("a", 10)]
    assert [(each.column, each.reason) for each in report.skipped] == [("b", NO_INDEX)]
    results = pb.probe(path, "a", [7, 8]).results
    assert [each.verdict for each in results] == ["maybe", "absent"]


def test_an_index_that_lies_elsewhere(tmp_path):
    wrong = [Stream(ROW_INDEX, 1, INDEX), Stream(DATA, 1, b"x"), Stream(ROW_INDEX, 0, INDEX)]
    path = forged(tmp_path, [stripe(*wrong)])
    message = "stripe 0: an index stream is listed after a data stream"
    assert refusal(path) == (FilterError, message)
    copy = tmp_path / "copy"
    assert pb.strip(path, copy).removed == ()
    assert copy.read_bytes() == path.read_bytes()
    copy.unlink()
    path = forged(tmp_path, [stripe(place={"indexLength": len(INDEX) - 1, "dataLength": 2})])
    kind, message = refusal(path)
    assert kind == FilterError
    assert message.startswith("stripe 0: index streams of ")


def test_encrypted_columns(tmp_path):
    path = forged(tmp_path, [stripe()], footer={"encryption": {"variants": [{"root": 1}]}})
    message = "has encrypted columns: the filters of such ORC files cannot be changed"
    assert refusal(path) == (UnsupportedError, message)
    assert refusal(path, verb=pb.strip) == (UnsupportedError, message)


def test_a_column_without_an_encoding(tmp_path):
    path = forged(tmp_path, [stripe(footer={"columns": []})])
    assert skipped(path, "a") == {"a": "no encoding in the footer"}


def test_two_columns_of_one_name(tmp_path):
    types = [type_of("STRUCT", 1, 2, names=[b"a", b"a"]), type_of("LONG"), type_of("LONG")]
    streams = [Stream(ROW_INDEX, 1, INDEX), Stream(ROW_INDEX, 2, INDEX), Stream(DATA, 1, b"x")]
    path = forged(tmp_path, [stripe(*streams)], types)
    assert skipped(path, "a") == {"a": "two columns are named a: values cannot be told apart"}


@pytest.mark.parametrize("filtered", [None, [1, 2]])
def test_what_one_of_two_columns_says_is_not_true_of_both(tmp_path, filtered):
    """Its statistics and filters do not rule out what is in the other; a struct's field may be called so, too."""
    path, nested = tmp_path / "two.orc", tmp_path / "nested.orc"
    odd, even = np.arange(1, 6_001, 2), np.arange(0, 6_000, 2)
    both = pa.table([even, odd, even], names=["d", "d", "x"])
    orc.write_table(both, path, bloom_filter_columns=filtered)
    fields = pa.array([{"b": number} for number in even.tolist()])
    orc.write_table(pa.table([fields, odd], names=["a", "a.b"]), nested)
    for file, name in ((path, "d"), (nested, "a.b")):
        told = f"{file}: 2 columns are named {name}, and nothing tells them apart"
        with pytest.raises(pb.ColumnError, match=f"^{re.escape(told)}$"):
            pb.probe(file, name, 7)
        with pytest.raises(pb.ColumnError, match=f"^{re.escape(told)}$"):
            pb.find(file, name, [7, 8])
        assert pb.row_groups(file, {name: 7})["row_group"].to_pylist() == [0]
        with pytest.raises(UnsupportedError, match=r": 2 columns have (this|the) name"):
            pb.rows(file, {name: 7})
    assert len(pb.find(path, "x", 8).rows) == 1
    for united in (False, True):
        with pytest.raises(
            pb.ColumnError, match=r"^2 files: no single column d: some have several"
        ):
            pb.find(tmp_path, "d", 8, union_by_name=united)
    orc.write_table(pa.table({"d": [8]}), nested)
    lake = pb.find(tmp_path, "d", [8, 9])
    assert (len(lake.rows), [each.path for each in lake.unknown], len(lake.absent)) == (
        1, [str(path)], 0,
    )  # fmt: skip


def test_filters_of_all_columns_of_one_name_go(tmp_path):
    path = tmp_path / "two.orc"
    two = pa.table([[1, 2], [3, 4], [5, 6]], names=["d", "d", "x"])
    orc.write_table(two, path, bloom_filter_columns=[1, 2, 3])
    assert pb.strip(path, columns="d", in_place=True).num_filters == 2
    left = [each.column for each in pb.inspect(path).parts[0].columns if each.filter]
    assert left == ["x"]


def test_a_column_without_a_name_is_one_of_its_kind(tmp_path):
    """The root has none, either."""
    path = tmp_path / "empty.orc"
    orc.write_table(pa.table([list(range(50))], names=[""]), path)
    assert len(pb.build(path, columns=[""], in_place=True).filters) == 1
    assert [each.row for each in pb.find(path, "", 7).rows] == [7]
    assert (
        outcome("validate", path).stdout == f"{path}: no findings in 1 filter and 50 values: ok\n"
    )


def test_a_codec_without_a_library(tmp_path):
    path = forged(tmp_path, [stripe()], codec=LZO)
    assert refusal(path) == (UnsupportedError, "footer: codec LZO is not supported")


def test_a_version_that_nobody_knows(tmp_path):
    path = forged(tmp_path, [stripe()], postscript={"version": [0, 14]})
    assert skipped(path, "a") == {"a": "file version 0.14: values cannot be read"}


def test_values_that_do_not_decode(tmp_path):
    path = forged(tmp_path, [stripe()])
    message = "stripe 0, column a: DATA: ends after 0 values, expected 10"
    assert refusal(path) == (FormatError, message)


def written(tmp_path, schema, rows, **options):
    path = tmp_path / "a.orc"
    with path.open("wb") as out, pyorc.Writer(out, schema, **options) as writer:
        for row in rows:
            writer.write(row)
    return path


def test_a_union_and_its_children(tmp_path):
    rows = [(1,), ("x",), (None,), (2,), ("y",)]
    path = written(tmp_path, "struct<a:uniontype<int,string>>", rows)
    report = pb.build(path, columns=["a", "a.0", "a.1"], in_place=True)
    assert [(each.column, each.num_values) for each in report.filters] == [("a.0", 2), ("a.1", 2)]
    assert [skip.reason for skip in report.skipped] == [
        "UNION: its filters hash only the tag of each value"
    ]
    numbers = pb.probe(path, "a.0", [1, 2, 3]).results
    assert [each.verdict for each in numbers] == ["maybe", "maybe", "absent"]
    texts = pb.probe(path, "a.1", ["x", "y", "z"]).results
    assert [each.verdict for each in texts] == ["maybe", "maybe", "absent"]
    assert pb.validate(path, ignore=["PB309"]).ok


def test_a_root_that_is_no_struct(tmp_path):
    path = written(tmp_path, "array<int>", [[1], [2, 7]])
    pb.build(path, columns=["_elem"], in_place=True)
    results = pb.probe(path, "_elem", [7, 8]).results
    assert [each.verdict for each in results] == ["maybe", "absent"]


def test_moments_beyond_nanoseconds(tmp_path):
    early = datetime.datetime(1600, 1, 1)
    late = datetime.datetime(9999, 12, 31, 23, 59, 59, 500_000)
    path = written(tmp_path, "struct<a:timestamp>", [(early,), (late,)])
    pb.build(path, columns=["a"], in_place=True)
    other = early + datetime.timedelta(milliseconds=1)
    results = pb.probe(path, "a", [early, late, other]).results
    assert [each.verdict for each in results] == ["maybe", "maybe", "absent"]
    assert pb.validate(path).checked.values == 2


def test_readers_that_will_not_look(tmp_path):
    """Filters are written, and a note says who ignores them."""
    path = written(
        tmp_path, "struct<b:timestamp,c:binary>", [(datetime.datetime(2020, 1, 1), b"x")]
    )
    report = pb.build(path, columns=["b", "c"], dry_run=True)
    assert report.notes == (
        "column c: ignored by ORC Java and C++: no predicate on BINARY uses a filter",
    )


def test_empty_files(tmp_path):
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": pa.array([], pa.int64())}), path)
    before = path.read_bytes()
    report = pb.build(path, tmp_path / "b.orc", columns=["a"])
    assert report.filters == ()
    assert orc.read_table(tmp_path / "b.orc").num_rows == 0
    assert pb.strip(tmp_path / "b.orc", in_place=True).removed == ()
    assert path.read_bytes() == before


def test_a_new_name_does_not_say_another_format(tmp_path, monkeypatch):
    """One that the file has already may stay."""
    monkeypatch.chdir(tmp_path)
    data = pa.table({"a": range(1000)})
    orc.write_table(data, "a.orc")
    pq.write_table(data, "a.parquet")
    for path, output, message in (
        ("a.orc", "b.parquet", "b.parquet: a.orc is ORC, expected a name that ends with .orc"),
        (
            "a.parquet",
            "b.orc",
            "b.orc: a.parquet is Parquet, expected a name that ends with .parquet",
        ),
    ):
        for dry_run in (False, True):
            with pytest.raises(RewriteError, match=f"^{message}$"):
                pb.build(path, output, columns="a", dry_run=dry_run)
            with pytest.raises(RewriteError, match=f"^{message}$"):
                pb.strip(path, output, dry_run=dry_run)
    Path("a.orc").rename("c.parquet")
    pb.build("c.parquet", "d.parquet", columns="a")
    pb.build("c.parquet", "d", columns="a")
