"""The rows that hold values: all of them, and no others, with filters, with an index, and without either."""

import json
import random
import re
import shutil
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.encrypted_files import OWN, encrypted, keys_of
from make.encrypting import Recipe
from make.footers import edited, footer_of, meta_of, with_footer
from make.orc_defects import of_another_row_count
from make.parquet_files import open_parquet
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, UnsupportedError, ValueTypeError
from parquet_bloom.parquet.pages import runs
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.verbs import row_search
from parquet_bloom.vocabulary import BEYOND_BITS

TYPES = {
    "int": (pa.int64(), lambda n: n),
    "small": (pa.int8(), lambda n: n % 100),
    "text": (pa.string(), lambda n: f"text {n}"),
    "float": (pa.float64(), lambda n: n / 7),
    "decimal": (pa.decimal128(9, 2), lambda n: Decimal(n) / 4),
    "time": (pa.timestamp("us"), lambda n: datetime(2026, 1, 1 + n % 27)),
}


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    random = np.random.default_rng(3)
    for number in range(5):
        columns = {}
        for name, (kind, value) in TYPES.items():
            numbers = random.integers(0, 150, 900).tolist()
            values = [value(n) if n % 11 else None for n in numbers]
            columns[name] = pa.array(values, kind)
        columns["list"] = pa.array([[n, n % 3] for n in range(900)], pa.list_(pa.int64()))
        pq.write_table(
            pa.table(columns), folder / f"{number}.parquet", row_group_size=300,
            use_dictionary=["text", "time"] if number % 2 else False, data_page_size=600,
            write_batch_size=40, data_page_version="2.0" if number == 3 else "1.0",
        )  # fmt: skip
        if number:
            pb.build(folder / f"{number}.parquet", in_place=True, columns=["int", "text"])
    return folder


def rows_of(report: pb.FindReport) -> list[tuple[str, int, int, int]]:
    return [
        (Path(row.path).name, row.row_group, row.row_in_row_group, row.row) for row in report.rows
    ]


def expected(lake: Path, column: str, value: object) -> list[tuple[str, int, int, int]]:
    found = []
    for path in sorted(lake.iterdir()):
        values = pq.read_table(path)[column].combine_chunks()
        hits = pc.fill_null(pc.equal(values, pa.scalar(value, values.type)), False)
        for row in np.flatnonzero(hits.to_numpy(zero_copy_only=False)).tolist():
            found.append((path.name, row // 300, row % 300, row))
    return found


@pytest.mark.every(6)
@pytest.mark.parametrize("places", [None, "file", "row-group", "page"])
@pytest.mark.parametrize("column", TYPES)
def test_the_rows_are_those_of_pyarrow(lake, tmp_path, column, places):
    index = tmp_path / "index" if places else None
    if places:
        pb.Index.build(index, lake, column, places=places).close()
    for number in (5, 17, 149, 100_003):
        value = TYPES[column][1](number)
        report = pb.find(lake, column, value, index=index)
        assert rows_of(report) == expected(lake, column, value), value
        assert report.unknown == ()
        if places:
            assert rows_of(pb.find(None, column, value, index=index)) == rows_of(report)


@pytest.mark.parametrize("column", ["int", "text"])
def test_large_pages_are_looked_at_in_parts(lake, monkeypatch, column):
    monkeypatch.setattr(runs, "PART_VALUES", 7)
    monkeypatch.setattr(runs, "PART_BYTES", 50)
    for number in (5, 149, 100_003):
        value = TYPES[column][1](number)
        assert rows_of(pb.find(lake, column, value)) == expected(lake, column, value)


@pytest.mark.parametrize("places", [None, "row-group", "page"])
def test_the_values_are_those_of_the_rows(lake, tmp_path, places):
    index = tmp_path / "index" if places else None
    if places:
        pb.Index.build(index, lake, "int", places=places).close()
    names = [*TYPES, "list"]
    report = pb.find(lake, "int", [5, 17, 149], columns=names, index=index)
    rows = [pq.read_table(row.path, columns=names).slice(row.row, 1) for row in report.rows]
    wanted = pa.concat_tables(rows)
    assert len(rows) > 30
    assert report.values.equals(wanted)
    table = report.to_arrow()
    assert table.column_names[:5] == ["value", "path", "row_group", "row_in_row_group", "row"]
    assert table.select([f"values.{name}" for name in names]).rename_columns(names).equals(wanted)
    documents = report.to_dict()["rows"]
    assert documents[3]["values"]["int"] == int(documents[3]["value"])
    assert pb.find(lake, "int", 10**6, columns=names).values.schema == wanted.schema


def test_only_the_pages_that_an_index_names_are_read(tmp_path):
    """Of the searched column, too, of which all pages are read without a page index."""
    for number, has_index in enumerate((True, False)):
        pq.write_table(
            pa.table({"id": np.arange(10_000), "other": np.arange(10_000)}),
            tmp_path / f"{number}.parquet", write_page_index=has_index, use_dictionary=False,
            data_page_size=1, write_batch_size=100, compression="none",
        )  # fmt: skip
    pb.Index.build(tmp_path / "index", tmp_path / "*.parquet", "id", places="page").close()
    report = pb.find(None, "id", [4321], columns=["other"], index=tmp_path / "index")
    assert report.values["other"].to_pylist() == [4321, 4321]
    assert report.pages_read == 1 + 1 + 100 + 1
    one = pb.find(tmp_path / "0.parquet", "id", 4321, columns="other", index=tmp_path / "index")
    assert (one.pages_read, one.row_groups_read) == (2, 1)
    assert one.bytes_read < 20_000


def test_a_row_with_several_of_the_values_is_there_for_each(lake):
    path = lake / "2.parquet"
    report = pb.find(path, "list.list.element", [1, 400], columns=["list", "int"])
    stored = pq.read_table(path, columns=["list", "int"])
    assert [row.row for row in report.rows if row.value == 400] == [400]
    assert sum(row.row == 400 for row in report.rows) == 2
    assert report.values.equals(pa.concat_tables([stored.slice(row.row, 1) for row in report.rows]))


def test_a_row_with_several_of_the_values_is_counted_once(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"tags": [["a", "b", "c"], ["d"], ["a"]]}), path)
    report = pb.find(path, "tags.list.element", ["a", "b", "c"])
    assert [(row.row, row.value) for row in report.rows] == [(0, "a"), (0, "b"), (0, "c"), (2, "a")]
    assert report.num_rows == 2
    assert repr(report).startswith("<FindReport tags.list.element: 2 rows in 1 file; ")
    told = outcome("find", path, "-c", "tags.list.element", "-v", "a", "-v", "b", "-v", "c").stdout
    assert told.splitlines()[-1].startswith("2 rows in 1 file: 1 row group of 1 file read")
    assert len(told.splitlines()) == 1 + 4 + 1


@pytest.mark.parametrize("column", ["int", "text"])
@pytest.mark.parametrize("dictionary", [False, True])
def test_what_is_asked_for_twice_is_found_once(tmp_path, column, dictionary):
    ids = [at % 40 for at in range(100)]
    table = pa.table({"int": ids, "text": [f"it's {id}" for id in ids]})
    pq.write_table(table, tmp_path / "a.parquet", use_dictionary=dictionary, row_group_size=50)
    stored = table[column].to_pylist()
    values = [stored[7], stored[39], stored[7], stored[3], type(stored[0])(1000)]
    report = pb.find(tmp_path / "a.parquet", column, values)
    expected = [(row, each) for row, each in enumerate(stored) for one in {*values} if one == each]
    assert [(row.row, row.value) for row in report.rows] == expected
    assert pb.find(tmp_path / "a.parquet", column, np.array(values)).rows == report.rows
    with pb.Index.build(tmp_path / "index", tmp_path / "a.parquet", column) as index:
        new = index.new_values(column, values, verify=True)
        assert new.tolist() == [False] * 4 + [True]


def test_files_that_lack_a_column_have_nulls_in_it(tmp_path):
    pq.write_table(pa.table({"id": [1, 2]}), tmp_path / "0.parquet")
    new = pa.table({"id": [2, 3], "more": pa.array([7, 8], pa.int32())})
    pq.write_table(new, tmp_path / "1.parquet")
    wide = pa.table({"id": [2], "more": pa.array([9], pa.int64())})
    pq.write_table(wide, tmp_path / "2.parquet")
    files = tmp_path / "*.parquet"
    report = pb.find(files, "id", 2, columns=["more", "id"])
    assert report.values.to_pydict() == {"more": [None, 7, 9], "id": [2, 2, 2]}
    assert report.values.schema.field("more").type == pa.int64()
    with pytest.raises(ColumnError, match="no column moer; did you mean more"):
        pb.find(files, "id", 2, columns=["moer"])
    text = pa.table({"id": [2], "more": ["nine"]})
    pq.write_table(text, tmp_path / "3.parquet")
    with pytest.raises(UnsupportedError, match="of several files"):
        pb.find(files, "id", 2, columns=["more"])


def test_a_file_in_a_store_is_read_in_few_round_trips(s3, tmp_path):
    table = pa.table({name: np.arange(1 << 18) * 7 for name in ("id", "a", "b", "c")})
    path = tmp_path / "one.parquet"
    pq.write_table(
        table, path, write_page_index=True, use_dictionary=False, data_page_size=1 << 15,
        compression="none",
    )  # fmt: skip
    s3.put("lake/one.parquet", path.read_bytes())
    url, options = "s3://lake/one.parquet", s3.options
    pb.Index.build(tmp_path / "index", url, "id", places="page", storage_options=options).close()
    s3.forget()
    names = ["id", "a", "b", "c"]
    report = pb.find(
        None, "id", 7 * 200_000, columns=names, index=tmp_path / "index", storage_options=options
    )
    assert report.values.to_pylist() == [dict.fromkeys(names, 7 * 200_000)]
    # Its footer; all page indexes; a page of `id`, which is kept; pages of the others, at once.
    assert s3.kinds() == ["GET"] * 6
    assert report.bytes_read < 400_000


def test_a_page_index_that_is_wrong_hides_no_row(tmp_path):
    """Whatever it says: the index of pages has counted the pages themselves."""
    rng = random.Random(8)
    table = pa.table({"id": np.arange(4000) * 3, "other": np.arange(4000)})
    path = tmp_path / "one.parquet"
    pq.write_table(
        table, path, write_page_index=True, data_page_size=1, write_batch_size=100,
        use_dictionary=["other"], compression="none",
    )  # fmt: skip
    data = path.read_bytes()
    with open_parquet(path) as file:
        one = file.footer.chunks.one
        offset, length = (one(f"offset_index_{name}", 0, 0) for name in ("offset", "length"))
    for number in range(40):
        wrong = bytearray(data)
        for _ in range(rng.choice((1, 1, 4))):
            wrong[offset + rng.randrange(length)] ^= 1 << rng.randrange(8)
        path.write_bytes(wrong)
        index = tmp_path / f"index-{number}"
        pb.Index.build(index, path, "id", places="page").close()
        for row in (0, 99, 100, 2345, 3999):
            report = pb.find(None, "id", 3 * row, columns=["other"], index=index)
            assert [found.row for found in report.rows] == [row]
            assert report.values["other"].to_pylist() == [row]


def test_elements_of_lists_are_found_in_their_rows(lake):
    report = pb.find(lake / "2.parquet", "list.list.element", 2)
    rows = sorted({row.row for row in report.rows})
    assert rows == [row for row in range(900) if row % 3 == 2]


def test_both_zeros_are_one_value(tmp_path):
    pq.write_table(pa.table({"x": [0.0, -0.0, 1.0]}), tmp_path / "zeros.parquet")
    assert [row.row for row in pb.find(tmp_path / "zeros.parquet", "x", 0.0).rows] == [0, 1]


def test_only_what_may_hold_a_value_is_read(lake, tmp_path):
    value = pq.read_table(lake / "4.parquet")["int"][350].as_py() or 1
    pb.Index.build(tmp_path / "index", lake, "int").close()
    report = pb.find(lake, "int", 10**6, index=tmp_path / "index")
    assert (report.num_files, report.row_groups_read, report.rows) == (5, 0, ())
    assert report.is_absent
    assert pb.find(lake, "int", value, index=tmp_path / "index").row_groups_read > 0


def test_row_groups_that_min_max_excludes_are_not_read(tmp_path):
    path, ids = tmp_path / "a.parquet", np.arange(1000).repeat(2) * 2
    pq.write_table(pa.table({"id": ids}), path, row_group_size=100, use_dictionary=False)

    def counted(values: object) -> tuple[int, ...]:
        report = pb.find(path, "id", values)
        assert [row.row for row in report.rows] == np.flatnonzero(np.isin(ids, values)).tolist()
        in_all = report.row_groups_by_statistics, report.row_groups_by_filters
        assert sum(in_all) + report.row_groups_read == 20
        files = report.files_by_statistics, report.files_by_filters, report.files_read
        assert sum(files) == 1
        return (*in_all, report.pages_read)

    assert counted([842]) == (19, 0, 1)
    assert counted([842, 843, 1500, 9999]) == (18, 0, 2)
    assert counted(np.arange(0, 700, 2)) == (13, 0, 7)
    assert counted([-1]) == (20, 0, 0)
    said = outcome("find", path, "-c", "id", "-v", "842", "-v", "-1").stdout.splitlines()[-1]
    assert said.startswith("2 rows in 1 file: 1 row group of 1 file read, ")
    assert said.endswith("B; excluded: 19 row groups by statistics; 1 of 2 values in no file: -1")
    pb.build(path, in_place=True, columns=["id"], fpp=1e-9)
    assert counted([842, 843, 1501]) == (18, 1, 1)
    assert counted([843]) == (19, 1, 0)
    said = outcome("find", path, "-c", "id", "-v", "843").stdout
    assert said.startswith("0 rows in 1 file: 0 row groups of 0 files read, ")
    assert said.endswith("B; excluded: 19 row groups by statistics, 1 row group by filters\n")
    (asked,) = pb.find(path, "id", 843).asked
    assert asked.answered_by == "filters"
    (asked,) = pb.find(path, "id", -1).asked
    assert asked.answered_by == "statistics"
    pq.write_table(pa.table({"id": ids[:0]}), path)
    said = outcome("find", path, "-c", "id", "-v", "843").stdout
    # As to pb.probe, there is a row group, and nothing in it.
    assert said.endswith(" B; excluded: 1 row group by statistics\n")
    (asked,) = pb.find(path, "id", 843).asked
    assert asked.answered_by == "statistics"


KINDS = {
    "int": np.arange(4000) * 3,
    "float": np.arange(4000) * 0.5,
    "time": np.arange(4000).astype("datetime64[s]"),
    "text": np.char.zfill(np.arange(4000).astype(str), 5),
}


@pytest.mark.parametrize("few", [True, False])
@pytest.mark.parametrize("suffix", ["parquet", "orc"])
@pytest.mark.parametrize("kind", KINDS)
def test_what_a_filter_has_by_chance_is_compared_with_bounds(tmp_path, kind, suffix, few):
    """So many values are read for as for each of them alone, not where one is within bounds, and another is in the
    filter by chance."""
    path, values = tmp_path / f"a.{suffix}", KINDS[kind]
    table = pa.table({"c": values[1::2]})
    if suffix == "orc":
        orc.write_table(table, path, row_index_stride=1000, stripe_size=1 << 30)
    else:
        pq.write_table(table, path, row_group_size=100)
    pb.build(path, in_place=True, columns=["c"], fpp=0.2 if few else 0.005)
    # Few are within the bounds of each, and none is there.
    asked = values[:: 500 if few else 10]
    together = pb.find(path, "c", asked)
    alone = [pb.find(path, "c", [each]) for each in asked]
    assert not together.rows
    read = [each.row_groups_read + each.pages_read for each in alone]
    assert together.row_groups_read + together.pages_read <= sum(read)
    stored = values[[1, 1001, 3999]]
    found = pb.find(path, "c", np.concatenate([asked, stored]))
    assert [row.row for row in found.rows] == [0, 500, 1999]


@pytest.mark.parametrize("kind", ["int32", "uint32", "uint64", "float32", "float64", "text"])
def test_many_values_are_compared_with_bounds_at_once(tmp_path, kind):
    numbers = np.arange(0, 8000, 4) + (2**31 - 4000 if kind[0] == "u" else -4000)
    if kind == "text":
        numbers = np.char.zfill((numbers + 4000).astype(str), 5)
    values = numbers if kind == "text" else numbers.astype(kind)
    pq.write_table(pa.table({"c": values}), tmp_path / "a.parquet", row_group_size=100)
    more = numbers[100:400].astype(int) + 1
    others = np.char.zfill(more.astype(str), 5) if kind == "text" else more.astype(kind)
    asked = np.concatenate([values[[950]], others])
    report = pb.find(tmp_path / "a.parquet", "c", asked)
    assert [row.row for row in report.rows] == [950]
    # Of the others, those between two row groups are in the bounds of neither.
    assert (len(asked), report.row_groups_by_statistics) == (301, 16)


NARROW = {
    "int": ([5, 9], pa.int64(), (8).to_bytes(8, "little"), (9).to_bytes(8, "little")),
    "unsigned": ([5, 9], pa.uint32(), (8).to_bytes(4, "little"), (9).to_bytes(4, "little")),
    "text": (["a", "c"], pa.string(), b"b", b"c"),
    "decimal": ([Decimal(5), Decimal(9)], pa.decimal128(20, 0), (8).to_bytes(9), (9).to_bytes(9)),
    "float": ([5.0, 9.0], pa.float64(), np.float64(8).tobytes(), np.float64(9).tobytes()),
}


@pytest.mark.parametrize("column", NARROW)
def test_min_and_max_are_believed_where_their_order_is_known(tmp_path, column):
    """As engines do; and an index was made of the values."""
    (value, last), kind, low, high = NARROW[column]
    pq.write_table(pa.table({"c": pa.array([value, last], kind)}), tmp_path / "a.parquet")
    original = (tmp_path / "a.parquet").read_bytes()

    def found(changed: dict[str, object], with_orders: bool = True, **options: object) -> bool:
        def edit(footer: ttypes.FileMetaData) -> None:
            names = dict.fromkeys(("min", "max", "min_value", "max_value"))
            for name, bound in (names | changed).items():
                setattr(meta_of(footer, 0, 0).statistics, name, bound)
            footer.column_orders = footer.column_orders if with_orders else None

        (tmp_path / "a.parquet").write_bytes(edited(original, edit))
        if options:
            pb.Index.build(options["index"], tmp_path / "a.parquet", "c").close()
        report = pb.find(tmp_path / "a.parquet", "c", [value], **options)
        assert report.unknown == ()
        return bool(report.rows)

    narrow = {"min_value": low, "max_value": high}
    assert not found(narrow)
    assert found(narrow, index=tmp_path / "index")
    assert [each.rule for each in pb.validate(tmp_path / "a.parquet", pages=True).findings] == [
        "PB125"
    ]
    assert found(narrow, with_orders=False)
    assert found({"min_value": high, "max_value": low})
    assert found({"min_value": low})
    assert found({"min": low, "max": high}) == (column != "int")
    if column == "float":
        assert found(narrow | {"max_value": np.float64("nan").tobytes()})
    if column != "text":
        assert found({"min_value": low[1:], "max_value": high[1:]})


def test_what_has_no_order_that_all_know_is_read(tmp_path):
    moments = pa.array([datetime(2026, 1, 1), datetime(2026, 1, 3)])
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"c": moments}), path, use_deprecated_int96_timestamps=True)

    def edit(footer: ttypes.FileMetaData) -> None:
        meta_of(footer, 0, 0).statistics = ttypes.Statistics(
            min_value=bytes(12), max_value=bytes(12)
        )

    path.write_bytes(edited(path.read_bytes(), edit))
    assert len(pb.find(path, "c", datetime(2026, 1, 3)).rows) == 1


ORDERED = {
    "int8": lambda n: n % 251 - 125,
    "uint32": lambda n: n * 17_179_869 % 2**32,
    "uint64": lambda n: n * 73_786_976_294_838_206 % 2**64,
    "float32": lambda n: [0.0, -0.0, float("inf"), float("nan"), (n - 125) / 8][min(n % 9, 4)],
    "float64": lambda n: [0.0, -0.0, float("-inf"), float("nan"), (n - 125) / 7][min(n % 9, 4)],
    "string": lambda n: "\ue000\U0010ffffé"[n % 3] * (n % 80) + str(n),
    "binary": lambda n: bytes([n % 2 * 255]) * (n % 70) + bytes([n]),
    "decimal128(9, 2)": lambda n: Decimal(n - 125) / 4,
    "decimal128(30, 2)": lambda n: Decimal(n - 125) / 4,
    "date32": lambda n: datetime(1970, 1, 1).date() + timedelta(n - 125),
    "timestamp[us]": lambda n: datetime(1970, 1, 1) + timedelta(hours=n - 125),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("kind", ORDERED)
def test_no_row_is_lost_to_statistics(tmp_path, kind):
    """Sorted or not, with and without filters, by three writers."""
    chance, of = random.Random(kind), ORDERED[kind]
    arrow = pa.decimal128(*map(int, re.findall(r"\d+", kind)[1:])) if "(" in kind else kind
    excluded = 0
    for number in range(8):
        values = [of(chance.randrange(250)) for _ in range(400 if number < 6 else 5000)]
        if number % 2:
            values.sort(key=lambda value: (str(value) == "nan", value), reverse=number > 4)
        values = [None if chance.random() < 0.1 else value for value in values]
        path = tmp_path / f"{number}.parquet"
        written = pa.table({"c": pa.array(values, arrow)})
        if number < 4:
            pq.write_table(written, path, row_group_size=20, version="2.6" if number < 2 else "1.0")
        elif number < 6:
            pl.from_arrow(written).write_parquet(path, row_group_size=20)
        else:
            duckdb.sql(f"copy (from written) to '{path}' (row_group_size 2048)")
        if number % 3 == 0:
            pb.build(path, in_place=True, columns=["c"])
        stored = written["c"].to_pylist()
        asked = [each for each in map(of, chance.sample(range(250), 4)) if str(each) != "nan"]
        for sought in ([each] for each in pa.array(asked, arrow).to_pylist()):
            report = pb.find(path, "c", pa.array(sought, arrow))
            rows = [row for row, value in enumerate(stored) if value == sought[0]]
            assert [row.row for row in report.rows] == rows, (path, sought)
            excluded += report.row_groups_by_statistics
    assert excluded > 50


def test_files_that_the_index_does_not_know_are_asked_themselves(lake, tmp_path):
    copy = Path(shutil.copytree(lake, tmp_path / "lake"))
    pb.Index.build(tmp_path / "index", copy, "int").close()
    shutil.copy(copy / "2.parquet", copy / "9.parquet")
    shutil.copy(copy / "2.parquet", copy / "3.parquet")
    (copy / "8.parquet").write_bytes(b"no file")
    report = pb.find(copy, "int", 17, index=tmp_path / "index")
    (copy / "8.parquet").unlink()
    assert rows_of(report) == expected(copy, "int", 17)
    assert [(Path(file.path).name, file.reason[:13]) for file in report.unknown] == [
        ("8.parquet", "not a Parquet")
    ]


def test_a_file_that_is_spelled_in_several_ways_is_one(tmp_path, monkeypatch):
    """But not by way of a link, from which `..` leads elsewhere."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other/folder").mkdir(parents=True)
    (tmp_path / "link").symlink_to("other/folder")
    for name in ("a.parquet", "other/a.parquet"):
        pq.write_table(pa.table({"id": [5]}), name)
    names = ["./a.parquet", "a.parquet", ".//a.parquet", str(tmp_path / "a.parquet")]
    report = pb.find([*names, (tmp_path / "a.parquet").as_uri()], "id", 5)
    assert (report.num_files, report.found_in) == (1, ("./a.parquet",))
    assert pb.rows(names, {"id": 5}).num_rows == 1
    assert pb.find(["a.parquet", "link/../a.parquet"], "id", 5).num_files == 2


def test_a_link_that_leads_nowhere_is_a_file_that_cannot_be_read(tmp_path, monkeypatch):
    """Its volume may not be mounted: it holds nothing only once somebody has looked."""
    monkeypatch.chdir(tmp_path)
    for folder in ("lake", "volume"):
        (tmp_path / folder).mkdir()
    for name in ("lake/a.parquet", "volume/b.parquet"):
        pq.write_table(pa.table({"id": [5]}), name)
    (tmp_path / "lake/b.parquet").symlink_to("../volume/b.parquet")
    (tmp_path / "lake/loop.parquet").symlink_to("loop.parquet")
    (tmp_path / "volume").rename("elsewhere")
    gone = ("b.parquet", "No such file or directory")
    loop = ("loop.parquet", "Too many levels of symbolic links")
    index = pb.Index.build("index", "lake", columns=["id"])
    for asked in (
        {"files": "lake"},
        {"files": "lake/*"},
        {"index": "index"},
        {"files": "lake", "index": "index"},
    ):
        report = pb.find(column="id", values=5, **{"files": None, **asked})
        assert (list(map(told, report.unknown)), len(report.rows)) == ([gone, loop], 1)
    with pytest.raises(FileNotFoundError, match=r"lake/b\.parquet"):
        pb.rows("lake/*[ab].parquet", {"id": 5})
    (tmp_path / "elsewhere").rename("volume")
    index.add()
    report = pb.find(None, "id", 5, index="index")
    assert (list(map(told, report.unknown)), len(report.rows)) == ([loop], 2)


def told(file):
    return Path(file.path).name, file.reason


NULL, NAN = "null at position 1", "NaN at position 1"


def kind_of(value):
    """No address, which every process has another of."""
    return None if isinstance(value, str) else type(value).__name__


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (None, "null: cannot be looked for, leave it out"),
        (float("nan"), "NaN: cannot be looked for, leave it out"),
        ([1.0, None], f"{NULL}: cannot be looked for, leave it out"),
        ((1.0, float("nan")), f"{NAN}: cannot be looked for, leave it out"),
        ([1.0, Decimal("nan")], f"{NAN}: cannot be looked for, leave it out"),
        ([1.0, pd.NaT], f"{NULL}: cannot be looked for, leave it out"),
        ([1.0, pd.NA], f"{NULL}: cannot be looked for, leave it out"),
        ([1.0, np.datetime64("NaT", "s")], f"{NULL}: cannot be looked for, leave it out"),
        (np.array(["2024-01-01", "NaT"], "M8[s]"), f"{NULL}: cannot be looked for, leave it out"),
        (
            np.array([1, np.nan, 2, np.nan]),
            f"{NAN}, and 1 more: cannot be looked for, leave them out",
        ),
        (np.ma.masked_array([1, 2], [0, 1]), f"{NULL}: cannot be looked for, leave it out"),
        (pl.Series([1.0, None]), f"{NULL}: cannot be looked for, leave it out"),
        (pd.Series([1, None], dtype="Int64"), f"{NULL}: cannot be looked for, leave it out"),
        (pd.Series(["a", np.nan], dtype=object), f"{NAN}: cannot be looked for, leave it out"),
        (pa.array([1, None]), f"{NULL}: cannot be looked for, leave it out"),
    ],
    ids=kind_of,
)
def test_what_cannot_be_looked_for_is_an_error(lake, tmp_path, values, said):
    """A report of unknown files has no rows, not even those of the other values."""
    with pytest.raises(ValueTypeError, match=f"^values: {said}$"):
        pb.find(lake, "float", values)
    pb.Index.build(tmp_path / "index", lake, "float").close()
    with pytest.raises(ValueTypeError, match=f"^values: {said}$"):
        pb.find(None, "float", values, index=tmp_path / "index")


def test_what_is_a_value_in_no_file_is_an_error_in_python(tmp_path):
    """A report of unknown files has no rows, and could be taken for an answer."""
    for name in "ab":
        pq.write_table(pa.table({"id": [5, 7]}), tmp_path / f"{name}.parquet")
    with pytest.raises(
        pb.ValueTypeError, match=r"^\S*/a\.parquet and 1 other file: column id: 5\.5: cannot"
    ):
        pb.find(tmp_path, "id", [5.5, 7.5])
    pq.write_table(pa.table({"id": [5.5]}), tmp_path / "c.parquet")
    report = pb.find(tmp_path, "id", [5.5, 7])
    assert [row.value for row in report.rows] == [7, 7, 5.5]
    assert [file.path for file in report.unknown] == [f"{tmp_path}/{name}" for name in SOME]


def test_files_of_several_types_are_told_apart_where_none_can_hold_a_value(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    days = pa.array([date(2026, 11, 30)])
    for name, held in (("a", [1]), ("b", days), ("c", [2])):
        pq.write_table(pa.table({"id": held}), f"{name}.parquet")
    found = outcome("find", "a.parquet", "b.parquet", "c.parquet", "-c", "id", "-v", "abc")
    assert (found.code, found.stdout) == (2, "")
    assert found.complaint == (
        "a.parquet and 1 other file: column id: abc: cannot be a value of INT64: expected an integer;"
        " b.parquet: column id: abc: cannot be a value of INT32 DATE: expected a date such as 2024-01-31"
    )


SOME = ("a.parquet", "b.parquet")


@pytest.mark.parametrize("indexed", [False, True])
@pytest.mark.parametrize("kind", [list, np.array])
def test_a_value_that_a_column_cannot_hold_hides_no_other(tmp_path, kind, indexed):
    lake, index = tmp_path / "lake", tmp_path / "index" if indexed else None
    lake.mkdir()
    ids = {"a.parquet": [18_634, 1], "b.parquet": [2, 3], "c.parquet": [-7, 18_634]}
    for name, held in ids.items():
        table = pa.table({"id": pa.array(held, pa.int64() if min(held) < 0 else pa.uint32())})
        pq.write_table(table.append_column("at", pa.array([0, 1])), lake / name)
    if indexed:
        pb.Index.build(index, lake, "id").close()
    # So many that they are encoded at once, all but those that are impossible.
    values = kind([-9, *range(1000, 1400), 18_634, -7, 3, -8])
    report = pb.find(lake, "id", values, index=index, columns="at")
    found = [(Path(row.path).name, row.value, row.row) for row in report.rows]
    assert found == [
        ("a.parquet", 18_634, 0), ("b.parquet", 3, 1), ("c.parquet", -7, 0), ("c.parquet", 18_634, 1),
    ]  # fmt: skip
    assert report.values["at"].to_pylist() == [0, 1, 0, 1]
    told = "column id: -9: cannot be a value of INT32 INTEGER(32,false): expected 0 or more"
    told += "; nor can -7, -8"
    assert report.unknown == tuple(pb.UnknownFile(f"{lake}/{name}", told) for name in SOME)
    assert (list(report.absent), report.files_by_filters) == ([*range(1000, 1400)], 0)
    assert [Path(file.path).name for file in report.asked] == [*ids]
    account = report.account(values).to_pylist()
    assert [row["value"] for row in account if row["state"] == "absent"] == [
        str(value) for value in report.absent
    ]
    assert [row["value"] for row in account if row["state"] == "found"][:3] == ["18634", "3", "-7"]
    unknown = [row["value"] for row in account if row["state"] == "unknown"]
    assert unknown == ["-9", "-8", None, None]
    if indexed:
        with pb.Index(index) as opened:
            new = opened.new_values("id", values, files=lake, verify=True)
        assert not {-9, -8, -7, 3, 18_634} & {*np.array(values)[new].tolist()}
    (lake / "c.parquet").unlink()
    if indexed:
        with pb.Index(index) as opened:
            opened.add()
            opened.compact(everything=True)
    report = pb.find(lake, "id", values, index=index)
    assert [row.value for row in report.rows] == [18_634, 3]
    with pytest.raises(ValueTypeError, match=r"-9: cannot be a value of INT32"):
        pb.find(lake, "id", kind([-9, -8]), index=index)


def test_files_that_an_index_does_not_know_as_they_are_answer_for_themselves(tmp_path):
    lake, index = tmp_path / "lake", tmp_path / "index"
    lake.mkdir()
    paths = [lake / "a.parquet", lake / "b.parquet"]

    def put(*tables: pa.Table) -> None:
        for path, table in zip(paths, tables, strict=False):
            path.unlink(missing_ok=True)
            pq.write_table(table, path)

    def found(value: object) -> list[str]:
        with_one, without = pb.find(lake, "id", value, index=index), pb.find(lake, "id", value)
        assert with_one.rows == without.rows
        return [Path(path).name for path in with_one.found_in]

    number, text, other = (pa.table(each) for each in ({"id": [1]}, {"id": ["x"]}, {"no": [1]}))
    put(number, number)
    pb.Index.build(index, lake, "id").close()
    with pytest.raises(ValueTypeError, match=r"^'x': cannot be a value of INT64"):
        pb.find(lake, "id", "x", index=index)
    # One that has changed may hold what no file that the index knows can.
    put(text)
    assert found("x") == ["a.parquet"]
    assert found(1) == ["b.parquet"]
    # Of those that are all new, the index says nothing: all is as without it.
    put(text, text)
    assert found("x") == ["a.parquet", "b.parquet"]
    with pytest.raises(
        ValueTypeError, match=r" and 1 other file: column id: 1: cannot be a value of BYTE_ARRAY"
    ):
        pb.find(lake, "id", 1, index=index)
    put(other, other)
    with pytest.raises(ColumnError, match=r"a\.parquet: no column id; the file has no"):
        pb.find(lake, "id", 1, index=index)
    # Of its own files, the index has said something.
    report = pb.find(None, "id", 1, index=index)
    told = "no column id; the file has no; null there with union_by_name=True"
    assert [file.reason for file in report.unknown] == [told] * 2
    by_name = pb.find(None, "id", 1, index=index, union_by_name=True)
    assert ([*by_name.absent], by_name.files_without_column, by_name.unknown) == ([1], 2, ())


def test_the_rows_of_a_file_that_is_unknown_for_another_value_are_counted(tmp_path):
    path = tmp_path / "u32.parquet"
    pq.write_table(pa.table({"id": pa.array([18_634, 1], pa.uint32())}), path)
    run = outcome("find", path, "-c", "id", "-v", "18634", "-v", "-7")
    told = "column id: -7: cannot be a value of INT32 INTEGER(32,false): expected 0 or more"
    assert (run.code, run.stderr) == (2, f"pbloom: {path}: unknown: {told}\n")
    _, row, end = run.stdout.splitlines()
    assert row == f"18634\t{path}\t0\t0"
    assert end.startswith("1 row in 1 file: 1 row group of 1 file read, ")
    assert end.endswith(" B; 1 of 2 values found; 1 file unknown for some of the values")


def test_so_it_is_in_orc(tmp_path):
    orc.write_table(pa.table({"id": pa.array([5, 7], pa.int8())}), tmp_path / "a.orc")
    report = pb.find(tmp_path, "id", [1.5, 7])
    assert [(row.value, row.row) for row in report.rows] == [(7, 1)]
    assert [file.reason.split(" cannot")[0] for file in report.unknown] == ["column id: 1.5:"]
    assert pb.find(tmp_path, "id", [300, 7]).unknown == ()


def test_a_date_of_two_calendars_hides_no_other(tmp_path):
    """Of ORC files, that date alone is unknown, and a Parquet file beside them answers for all."""
    days = [date(2021, 2, 23), date(2020, 1, 1), None, date(2021, 2, 23)]
    orc.write_table(pa.table({"day": days}), tmp_path / "a.orc")
    pq.write_table(pa.table({"day": [date(1500, 1, 1)]}), tmp_path / "b.parquet")
    asked = [date(1500, 1, 1), date(2021, 2, 23), date(1400, 1, 1), date(2022, 2, 2)]
    found = pb.find(tmp_path, "day", asked)
    rows = [(str(each.value), Path(each.path).name, each.row) for each in found.rows]
    assert rows == [
        ("2021-02-23", "a.orc", 0),
        ("2021-02-23", "a.orc", 3),
        ("1500-01-01", "b.parquet", 0),
    ]
    (unknown,) = found.unknown
    assert unknown.reason == (
        "1500-01-01, 1400-01-01: cannot be looked for: dates before 1582-10-15 may be stored by either of two"
        " calendars; pb.rows, in Python, reads all rows and compares"
    )
    assert list(found.absent) == [date(2022, 2, 2)]
    # Beside what the column cannot hold, which may be all of the others.
    both = pb.find(
        tmp_path / "a.orc",
        "day",
        [pb.literal("2021-02-23"), pb.literal("x"), pb.literal("1500-01-01")],
    )
    assert len(both.rows) == 2
    assert both.unknown[0].reason.startswith("column day: x: cannot be a value of DATE: ")
    assert "; 1500-01-01: cannot be looked for: " in both.unknown[0].reason
    alone = pb.find(tmp_path / "a.orc", "day", [date(1500, 1, 1), date(1400, 1, 1)])
    assert (len(alone.rows), len(alone.unknown), len(alone.absent)) == (0, 1, 0)


def test_a_column_that_no_file_has_is_an_error_as_in_probe(tmp_path):
    for name in "ab":
        pq.write_table(pa.table({"id": [5, 7]}), tmp_path / f"{name}.parquet")
    told = f"{tmp_path}/a.parquet: no column ids; did you mean id?"
    for verb in (pb.find, pb.probe):
        with pytest.raises(ColumnError) as caught:
            verb(tmp_path, "ids", 5)
        assert str(caught.value) == told
    found = outcome("find", tmp_path, "-c", "ids,id", "-v", "5")
    assert (found.code, found.stderr) == (2, f"pbloom: {told}\n")
    assert found.stdout.splitlines()[-1].startswith("id: 2 rows in 2 files: ")
    pq.write_table(pa.table({"ids": [5]}), tmp_path / "c.parquet")
    report = pb.find(tmp_path, "ids", 5)
    assert (len(report.rows), [file.reason for file in report.unknown]) == (
        1, ["no column ids; did you mean id? If not, null there with union_by_name=True"] * 2
    )  # fmt: skip
    (tmp_path / "c.parquet").write_bytes(b"no file")
    assert len(pb.find(tmp_path, "ids", 5).unknown) == 3


def test_what_is_no_column_and_no_file_is_a_wrong_argument(lake, tmp_path):
    pb.Index.build(tmp_path / "index", lake, "int").close()
    told = r"^column: \['int'\], expected one name$"
    for verb in (pb.find, pb.probe, pb.probe_values):
        with pytest.raises(TypeError, match=told):
            verb(lake, ["int"], 5)
    with pytest.raises(TypeError, match=told), pb.Index(tmp_path / "index") as index:
        index.probe(["int"], 5)
    # And not each line of it.
    with (
        (lake / "0.parquet").open("rb") as file,
        pytest.raises(
            TypeError, match=r"^files: <_io.BufferedReader name=.*>, expected a path or a list"
        ),
    ):
        pb.find(file, "int", 5)


def test_statistics_of_an_encrypted_column_count_with_its_key(tmp_path):
    recipe = Recipe(columns={"int64": OWN})
    path = encrypted(tmp_path, recipe)
    least = -(2**63)
    report = pb.find(path, "int64", least, keys=keys_of(recipe))
    assert ([row.row for row in report.rows], report.row_groups_by_statistics) == ([0], 2)


def test_files_without_a_key_for_any_are_an_error(tmp_path):
    recipe = Recipe(columns={"int64": OWN})
    for name in "ab":
        encrypted(tmp_path, recipe, name=f"{name}.parquet")
    with pytest.raises(pb.MissingKeyError, match=r"a\.parquet: the footer is encrypted: no key"):
        pb.find(tmp_path, "int64", 5)
    found = outcome("find", tmp_path, "-c", "int64", "-v", "5")
    assert found.complaint == (
        f"{tmp_path}/a.parquet: the footer is encrypted: no key for the footer (the file names no key); the same for 1 other file;"
        " --footer-key, --uniform-key or --keys gives it"
    )
    account = tmp_path / "account.parquet"
    said = outcome("find", tmp_path, "-c", "int64", "-v", "5", "--report", account).complaint
    assert said == f"{found.complaint}; {account} was not written"
    keys = keys_of(recipe, columns={})
    with pytest.raises(
        pb.MissingKeyError, match=r"a\.parquet: row group 0, column int64: .*no key"
    ):
        pb.find(tmp_path, "int64", 5, keys=keys)
    pq.write_table(pa.table({"int64": [5]}), tmp_path / "c.parquet")
    report = pb.find(tmp_path, "int64", 5)
    assert (len(report.rows), len(report.unknown)) == (1, 2)


def test_row_groups_of_files_without_a_key_are_not_read(tmp_path):
    """Of a signed footer, they are open to anyone, and nothing rules them out."""
    recipe = Recipe(columns={"int64": OWN}, plaintext_footer=True)
    for name in "ab":
        encrypted(tmp_path, recipe, name=f"{name}.parquet")
    pq.write_table(pa.table({"int64": [5]}), tmp_path / "c.parquet")
    for value, num_rows, num_read in ((5, 1, 1), (6, 0, 0)):
        report = pb.find(tmp_path, "int64", value)
        assert (len(report.rows), report.files_read, report.row_groups_read) == (
            num_rows, num_read, num_read,
        )  # fmt: skip
        assert len(report.unknown) == 2
    run = outcome("find", tmp_path, "-c", "int64", "-v", "5")
    assert "1 row in 1 file: 1 row group of 1 file read, " in run.stdout


@pytest.mark.parametrize("column", ["int", "text", "decimal", "time"])
def test_what_was_found_and_what_was_not_are_the_values_that_were_asked_for(lake, tmp_path, column):
    """As text, they would be none of them, and everything would seem to be in no file."""
    kind, value = TYPES[column]
    values = [value(number) for number in (5, 17, 100_003, 9_999)]
    stored = {*pq.read_table(lake, columns=[column])[column].to_pylist()}
    pb.Index.build(tmp_path / "index", lake, column).close()
    for given in (values, pa.array(values, kind)):
        report = pb.find(lake, column, given)
        assert {row.value for row in report.rows} == stored & {*values}
        assert {*report.absent} == {*values} - stored
        assert [row["value"] for row in report.to_dict()["rows"]] == [
            str(row.value) for row in report.rows
        ]
        assert report.to_arrow()["value"].type == pa.string()
        with pb.Index(tmp_path / "index") as index:
            reports = index.probe(column, given), pb.probe_values(lake, column, given)
        for each in reports:
            assert [result.value for result in each.results] == values
            assert each.to_dict()["results"][0]["value"] == str(values[0])


def test_a_file_that_is_gone_is_said_in_words(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [5]}), path)
    pb.Index.build(tmp_path / "ix", [path], "id").close()
    path.unlink()
    for cache in (None, pb.Cache()):
        (gone,) = pb.find(None, "id", 5, index=tmp_path / "ix", cache=cache).unknown
        with pb.Index(tmp_path / "ix") as index:
            (file,) = index.probe("id", 5).results[0].files
        assert (gone.path, gone.reason) == (file.path, file.reason)
        assert gone.reason.startswith("gone since it was indexed, perhaps moved: index add brings")


def test_values_in_no_file_are_absent_unless_one_is_unknown(tmp_path):
    for name in "ab":
        pq.write_table(pa.table({"id": [5, 7]}), tmp_path / f"{name}.parquet")
    report = pb.find(tmp_path, "id", [9, 7, 6, 9])
    assert (list(report.absent), report.to_dict()["absent"]) == ([9, 6], ["9", "6"])
    assert pb.find(tmp_path, "id", [5, 7]).to_dict()["absent"] == []
    (tmp_path / "b.parquet").write_bytes(b"no file")
    report = pb.find(tmp_path, "id", [9, 7, 6])
    assert (len(report.unknown), list(report.absent)) == (1, [])


def test_a_file_that_has_lost_rows_is_unknown(tmp_path):
    """Its values may be in what is lost, and nobody can count the rows behind."""
    whole, lost = tmp_path / "whole.parquet", tmp_path / "lost.parquet"
    pq.write_table(pa.table({"id": [5, 6, 7, 8]}), whole, row_group_size=2)
    footer = footer_of(whole.read_bytes())
    del footer.row_groups[0]
    lost.write_bytes(with_footer(whole.read_bytes(), footer))
    (tmp_path / "lost.orc").write_bytes(of_another_row_count())
    report = pb.find([whole, lost], "id", [5, 7])
    (unknown,) = report.unknown
    assert unknown.reason == "footer: the row groups hold 2 rows, the file 4"
    assert [(row.path, row.row) for row in report.rows] == [(str(whole), 0), (str(whole), 2)]
    (unknown,) = pb.find(tmp_path / "lost.orc", "a", 1).unknown
    assert unknown.reason.startswith("footer: the stripes hold ")


def test_those_of_all_files_that_have_the_rows_are_counted(tmp_path):
    for number in range(3):
        pq.write_table(pa.table({"id": [number, 9]}), tmp_path / f"{number}.parquet")
    report = pb.find(tmp_path, "id", 1)
    assert repr(report) == "<FindReport id: 1 row in 1 of 3 files; 2 row groups read, 1 excluded>"
    assert report.found_in == (str(tmp_path / "1.parquet"),)
    said = outcome("find", tmp_path, "-c", "id", "-v", "1").stdout.splitlines()[-1]
    assert said.startswith("1 row in 1 of 3 files: 2 row groups of 2 files read, ")
    assert said.endswith(" KiB; excluded: 1 row group by statistics")
    assert (
        repr(pb.find(tmp_path, "id", 9))
        == "<FindReport id: 3 rows in 3 files; 3 row groups read, 0 excluded>"
    )
    assert (
        repr(pb.find(tmp_path, "id", 5))
        == "<FindReport id: 0 rows in 3 files; 3 row groups read, 0 excluded>"
    )


def test_files_that_an_index_or_nobody_could_ask_are_counted(tmp_path):
    for number in range(3):
        pq.write_table(pa.table({"id": [number, 9]}), tmp_path / f"{number}.parquet")
    asked = (tmp_path, "-c", "id", "-v")
    pb.Index.build(tmp_path / "ids", tmp_path, "id").close()
    index = ("--index", tmp_path / "ids")
    report = pb.find(tmp_path, "id", 5, index=tmp_path / "ids")
    told = "0 row groups read, 3 files excluded by the index"
    assert repr(report) == f"<FindReport id: 0 rows in 3 files; {told}>"
    said = outcome("find", *asked, "5", *index).stdout.splitlines()[-1]
    told = "0 row groups of 0 files read, 0 B; excluded: 3 files by the index"
    assert said == f"0 rows in 3 files: {told}"
    (tmp_path / "1.parquet").write_bytes(b"nothing")
    report = pb.find(tmp_path, "id", -5)
    assert (report.num_files, report.files_asked) == (3, 2)
    assert repr(report).startswith("<FindReport id: 0 rows in 2 files; 0 row groups read, 2 exclu")
    for values, end in (("-5",), ""), (("-5", "-v", "11"), "; 0 of 2 values found"):
        said = outcome("find", *asked, *values).stdout.splitlines()[-1]
        assert said.startswith("0 rows in 2 files: 0 row groups of 0 files read, ")
        assert said.endswith(f" B; excluded: 2 row groups by statistics{end}; 1 of 3 files unknown")


def test_columns_in_the_names_of_folders(tmp_path):
    """As pb.rows has them."""
    for number, land in enumerate(("DE", "a%20b", "__HIVE_DEFAULT_PARTITION__")):
        path = tmp_path / f"day={number}" / f"land={land}" / "0.parquet"
        path.parent.mkdir(parents=True)
        pq.write_table(pa.table({"id": [number, 9]}), path)
    names = ["land", "id", "day"]
    found = pb.find(tmp_path, "id", [9], columns=names).values
    assert found.equals(pb.rows(tmp_path, {"id": 9}, names).replace_schema_metadata())
    assert found["land"].to_pylist() == ["DE", "a b", None]


def by_name_in(folder: Path, **columns: list[object]) -> None:
    folder.mkdir()
    pq.write_table(pa.table({"id": [5, 7]}), folder / "a.parquet")
    for name, values in columns.items():
        pq.write_table(pa.table({name: values}), folder / f"{name.strip('_')}.parquet")


def test_a_file_without_the_column_has_null_there_by_name(tmp_path):
    lake = tmp_path / "lake"
    by_name_in(lake, other=[1, 2])
    told = "no column id; the file has other; null there with union_by_name=True"
    assert [file.reason for file in pb.find(lake, "id", [7, 9]).unknown] == [told]
    found = outcome("find", lake, "-c", "id", "-v", "9")
    told = told.replace("union_by_name=True", "--union-by-name")
    assert (found.code, found.stderr) == (2, f"pbloom: {lake}/other.parquet: unknown: {told}\n")

    report = pb.find(lake, "id", [7, 9], union_by_name=True)
    assert ([row.value for row in report.rows], [*report.absent]) == ([7], [9])
    assert (report.num_files, report.files_read, report.files_without_column) == (2, 1, 1)
    assert (report.files_by_filters, report.files_by_statistics, report.unknown) == (0, 0, ())
    assert repr(report).endswith("; 1 file without the column: null there by union-by-name>")
    document = report.to_dict()
    assert (document["files_without_column"], document["union_by_name"]) == (1, True)
    account = report.account([7, 9])
    rows = {row["value"] or Path(row["path"]).name: row for row in account.to_pylist()}
    assert (rows["9"]["state"], rows["9"]["files_without_column"]) == ("absent", 1)
    assert rows["other.parquet"]["answered_by"] == "schema"
    assert json.loads(account.schema.metadata[b"parquet_bloom"])["union_by_name"] is True
    found = outcome("find", lake, "-c", "id", "-v", "9", "--union-by-name")
    assert (found.code, found.stderr) == (1, "")
    assert found.stdout.endswith(
        "B; excluded: 1 row group by statistics; 1 file without the column: null there by union-by-name\n"
    )


@pytest.mark.parametrize("cache", [None, pb.Cache()])
def test_by_name_a_column_that_no_file_is_known_to_have_is_an_error(tmp_path, cache):
    lake = tmp_path / "lake"
    by_name_in(lake)
    told = f"{lake}/a.parquet: no column idx; did you mean id?"
    with pytest.raises(ColumnError) as caught:
        pb.find(lake, "idx", 7, union_by_name=True, cache=cache)
    assert str(caught.value) == told
    # What cannot be read may have it, or not.
    (lake / "b.parquet").write_bytes(b"no file")
    report = pb.find(lake, "idx", 7, union_by_name=True, cache=cache)
    assert [Path(file.path).name for file in report.unknown] == ["b.parquet", "a.parquet"]
    assert (report.files_without_column, [*report.asked], [*report.absent]) == (0, [], [])


def test_by_name_what_cannot_be_the_value_of_the_only_file_is_an_error(tmp_path):
    lake = tmp_path / "lake"
    by_name_in(lake, other=[1])
    with pytest.raises(
        ValueTypeError, match=r"/\w+\.parquet: column id: 'x': cannot be a value of INT64"
    ):
        pb.find(lake, "id", "x", union_by_name=True)


@pytest.mark.parametrize("name", ["ID", "_col0"])
def test_by_name_what_may_be_the_column_under_another_name_stays_unknown(tmp_path, name):
    by_name_in(tmp_path / "lake", **{name: [7]})
    report = pb.find(tmp_path / "lake", "id", 7, union_by_name=True)
    assert [Path(file.path).name for file in report.unknown] == [f"{name.strip('_')}.parquet"]
    assert report.files_without_column == 0


def test_by_name_a_folder_may_be_the_column(tmp_path, monkeypatch):
    by_name_in(tmp_path / "Id=7", other=[7])
    monkeypatch.chdir(tmp_path / "Id=7")
    report = pb.find(["a.parquet", "other.parquet"], "id", 7, union_by_name=True)
    assert [file.path for file in report.unknown] == ["other.parquet"]


def test_by_name_with_an_index(tmp_path):
    lake, index = tmp_path / "lake", tmp_path / "index"
    by_name_in(lake, other=[1])
    pb.Index.build(index, lake, "id").close()
    for files in (None, lake):
        assert len(pb.find(files, "id", 9, index=index).unknown) == 1
        report = pb.find(files, "id", 9, index=index, union_by_name=True)
        assert (report.unknown, [*report.absent]) == ((), [9])
        assert (report.files_by_index, report.files_without_column) == (1, 1)


def test_by_name_is_not_for_tables(tmp_path):
    with pytest.raises(TypeError, match=r"^union_by_name: not with table, which says what is null"):
        pb.find(tmp_path, "id", 7, table="auto", union_by_name=True)
    found = outcome("find", "--table", "auto", tmp_path, "-c", "id", "-v", "7", "--union-by-name")
    told = (
        "--union-by-name: not with --table, which says what is null where its files lack a column"
    )
    assert (found.code, found.complaint) == (2, told)


def test_integers_beyond_32_bits_are_not_in_columns_of_so_many(tmp_path):
    """Of a lake whose ids have outgrown them."""
    beyond = 3_000_000_000
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": [1, beyond]}), tmp_path / "b.parquet")
    report = pb.find(tmp_path, "id", [beyond, 1 << 40])
    assert ([Path(row.path).name for row in report.rows], report.unknown) == (["b.parquet"], ())
    assert [*report.absent] == [1 << 40]
    for index in (None, tmp_path / "index"):
        if index is not None:
            pb.Index.build(index, tmp_path, "id").close()
        found = outcome("find", tmp_path / "a.parquet", "-c", "id", "-v", beyond, *(
            ("--index", index) if index else ()
        ))  # fmt: skip
        assert (found.code, found.stderr) == (1, "")
    for filters in (False, True):
        if filters:
            pb.build(tmp_path / "a.parquet", columns=["id"], in_place=True)
        for values in ([beyond], [*range(beyond, beyond + 300)]):
            report = pb.find(tmp_path / "a.parquet", "id", values)
            counted = report.row_groups_by_statistics, report.row_groups_by_filters
            assert (counted, report.files_by_statistics) == ((1, 0), 1)
            assert [file.answered_by for file in report.asked] == ["statistics"]
    account = tmp_path / "account.parquet"
    found = outcome("find", tmp_path / "a.parquet", "-c", "id", "-v", beyond, "--report", account)
    assert (found.code, found.stderr) == (1, "")
    found = outcome("probe", tmp_path / "a.parquet", "-c", "id", "-v", beyond)
    assert (found.code, found.stderr) == (1, "")
    assert f"{beyond}\tabsent\t\t0\t{BEYOND_BITS}" in found.stdout.splitlines()
    text = outcome("find", tmp_path / "a.parquet", "-c", "id", "-v", "3e9")
    assert (text.code, text.complaint.endswith(": expected an integer")) == (2, True)


def test_decimals_are_not_in_columns_of_fewer_digits(tmp_path):
    """Of a lake whose prices have got longer; whatever the layout of decimals, and in ORC, too."""
    short = [Decimal("1.20"), Decimal("-3.45")]
    longer = Decimal("1.234")
    money = pa.table({"price": pa.array(short, pa.decimal128(9, 2))})
    pq.write_table(money, tmp_path / "a.parquet")
    pq.write_table(money, tmp_path / "b.parquet", store_decimal_as_integer=True)
    orc.write_table(money, tmp_path / "c.orc")
    more = pa.array([longer, short[0]], pa.decimal128(20, 3))
    pq.write_table(pa.table({"price": more}), tmp_path / "d.parquet")
    for path in tmp_path.iterdir():
        assert pb.probe(path, "price", longer).is_absent == (path.name != "d.parquet")
    huge = Decimal("9999999999.99")
    assert pb.probe([tmp_path / "a.parquet", tmp_path / "b.parquet"], "price", huge).is_absent
    pb.Index.build(tmp_path / "index", tmp_path, "price").close()
    for index in (None, tmp_path / "index"):
        report = pb.find(tmp_path, "price", [longer, short[0], Decimal("2.345")], index=index)
        found = [(row.value, Path(row.path).name) for row in report.rows]
        assert sorted(found) == [
            *((short[0], name) for name in ("a.parquet", "b.parquet", "c.orc", "d.parquet")),
            (longer, "d.parquet"),
        ]
        assert (report.unknown, [*report.absent]) == ((), [Decimal("2.345")])
    with pb.Index(tmp_path / "index") as asked:
        (result,) = asked.probe("price", longer).results
        assert [Path(file.path).name for file in result.files] == ["d.parquet"]
    for files in ([tmp_path / "a.parquet"], sorted(tmp_path.glob("*.parquet"))):
        rows = pb.rows(files, filters=[("price", "==", longer)])
        assert rows["price"].to_pylist() == [longer] * ("d.parquet" in str(files))
    # Of so many digits that its bits can be it.
    with pytest.raises(pb.ValueTypeError, match=r": expected at most 9 digits$"):
        pb.find(tmp_path / "b.parquet", "price", Decimal("12345678.90"))


def test_all_missing_files_are_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for count, told in ((1, "0"), (2, "0, 1"), (7, "0, 1, 2, 3, 4, …")):
        found = outcome("find", *map(str, range(count)), "-c", "id", "-v", "7")
        assert (found.code, found.complaint) == (2, f"{told}: No such file or directory")


@pytest.mark.parametrize("is_named", [True, False], ids=["files", "index alone"])
def test_an_index_gives_the_columns_of_partitions(tmp_path, monkeypatch, is_named):
    """Their types are those of all files that it knows, not only of those that may hold the value."""
    monkeypatch.chdir(tmp_path)
    for day, ids in (("1", [1]), ("2", [2]), ("later", [3])):
        folder = tmp_path / "lake" / f"day={day}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": ids}), folder / "a.parquet")
    pb.Index.build("index", "lake", "id").close()
    found = pb.find("lake" if is_named else None, "id", 2, index="index", columns=["day", "id"])
    assert found.values.to_pylist() == [{"day": "2", "id": 2}]


def test_an_index_is_a_path(tmp_path):
    pq.write_table(pa.table({"id": [1]}), tmp_path / "a.parquet")
    for ask in (
        lambda: pb.find(tmp_path / "a.parquet", "id", 1, index=5),
        lambda: pb.rows(tmp_path / "a.parquet", [("id", "==", 1)], index=5),
    ):
        with pytest.raises(TypeError, match=r"^index: 5, expected one path or URL"):
            ask()


def test_a_part_without_groups_is_not_read():
    """As a stripe without rows."""
    nothing = SimpleNamespace(answers=lambda asked: ())
    file = SimpleNamespace(prober=lambda column, part: nothing)
    assert row_search._groups_left(file, None, 0, None, None) == ([], False)
