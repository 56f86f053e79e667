"""Dictionaries with entries that no row refers to: writers of Arrow repeat that of a whole categorical column."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.pages import byte_arrays, data_page, dictionary_page
from make.parquet_files import forged
from make.sketches import sketch_of

import parquet_bloom as pb
from parquet_bloom.errors import FormatError
from parquet_bloom.files import open_file
from parquet_bloom.index.parquet_values import ParquetValues
from parquet_bloom.parquet.thrift.ttypes import Encoding

GROUP = 500
MANY = random.Random(1).sample([f"c{i:05}" for i in range(4000)], 4000)
NOTE = (
    "; in 8 row groups, the dictionary has values that no row there has, as of a categorical column: by dictionaries"
    " alone, a look-up reads 7.97, and 1.00 if the column is written as text"
)
# In each group 20 others of 400, which are fewer than it has rows.
FEW = [None if i % 7 == 0 else f"k{i // GROUP * 20 + i % 20:02}" for i in range(4 * GROUP)]


def as_written(values: pa.Array) -> pa.Array:
    return values


def in_structs(values: pa.Array) -> pa.Array:
    return pa.StructArray.from_arrays([values], ["y"])


def in_lists(values: pa.Array) -> pa.Array:
    return pa.ListArray.from_arrays(pa.array(range(len(values) + 1), pa.int32()), values)


NESTED = {"struct": in_structs, "list": in_lists}


@pytest.fixture(params=["many", "few", "no schema of Arrow", *NESTED])
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> list[Path]:
    """The same values of a column, as a categorical and as text."""
    kind: str = request.param
    texts = pa.array(FEW if kind == "few" else MANY)
    paths = [tmp_path / "categorical.parquet", tmp_path / "text.parquet"]
    for path, values in zip(paths, (texts.dictionary_encode(), texts), strict=True):
        table = pa.table({"x": NESTED.get(kind, as_written)(values)})
        stores_schema = kind != "no schema of Arrow"
        pq.write_table(table, path, row_group_size=GROUP, store_schema=stores_schema)
    return paths


def first_leaf(path: Path) -> str:
    with open_file(path) as file:
        return file.footer.leaves[0].name


def bitsets(path: Path) -> list[bytes]:
    with pb.open(path) as file:
        groups = range(file.num_row_groups)
        return [file.bloom_filter(group, first_leaf(path)).bits.to_bytes() for group in groups]


def test_filters_are_those_of_text(pair):
    for path in pair:
        pb.build(path, in_place=True, columns=[first_leaf(path)])
    assert bitsets(pair[0]) == bitsets(pair[1])
    report = pb.validate(pair[0])
    assert (report.findings, report.ok) == ((), True)


@pytest.mark.parametrize("dialect", ["murmur3", "statistics"])
def test_so_are_those_of_older_dialects(pair, tmp_path, dialect):
    found = []
    for path in pair:
        built = pb.build(
            path,
            tmp_path / "new.parquet",
            columns=[first_leaf(path)],
            dialect=dialect,
            overwrite=True,
        )
        found.append([(each.num_bytes, each.fpp) for each in built.filters])
    assert found[0] == found[1]
    assert found[0]


def test_an_index_has_the_hashes_of_text(pair):
    found = []
    for path in pair:
        with open_file(path) as file:
            values = ParquetValues(file)
            chunks = [file.chunk(part, first_leaf(path)) for part in range(file.num_parts)]
            found.append([{*np.concatenate([*values.hashes(chunk)]).tolist()} for chunk in chunks])
    assert found[0] == found[1]


def test_the_advice_is_that_for_text(pair):
    categorical, text = (pb.advise(path).columns[0] for path in pair)
    seen = [
        (each.verdict, each.ndv, each.group_ndv, each.filter_bytes) for each in (categorical, text)
    ]
    assert seen[0] == seen[1]


def test_who_searches_the_dictionaries_is_told(tmp_path):
    """One dictionary for all is no use: what a look-up reads there is what min/max leaves, unless filters are asked."""
    reads = {}
    for name, values in (("categorical", pa.array(MANY).dictionary_encode()), ("text", MANY)):
        path = tmp_path / f"{name}.parquet"
        pq.write_table(pa.table({"x": values}), path, row_group_size=GROUP)
        for engine in ("Spark", "Trino", "Iceberg", "Impala"):
            (each,) = pb.advise(path, engines=[engine]).columns
            reads[name, engine] = (each.verdict, round(each.groups_filter))
            assert (engine in each.searching_dictionaries) == (each.verdict == "skip")
        of_any = pb.advise(path).columns[0].reason
        assert [reason.endswith(NOTE) for reason in (each.reason, of_any)] == [
            name == "categorical"
        ] * 2
    assert reads == {
        **{("categorical", engine): ("build", 1) for engine in ("Spark", "Trino", "Iceberg")},
        ("categorical", "Impala"): ("skip", 8),
        **{("text", engine): ("skip", 1) for engine in ("Spark", "Trino", "Iceberg", "Impala")},
    }


def test_an_engine_that_asks_both_is_judged_by_what_dictionaries_leave(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"x": pa.array(MANY).dictionary_encode()}), path, row_group_size=GROUP)
    (both,) = pb.advise(path, engines=["Spark", "Impala"]).columns
    assert both.reason.startswith(
        "a look-up reads 1.01 of 8 row groups with a filter, 7.97 with the dictionary alone; Impala searches the"
        " dictionaries instead, which have all values; dictionaries: Spark looks there as well as in the filter; "
    )
    (other,) = pb.advise(path, engines=["Spark", "DuckDB"]).columns
    assert "with min/max alone" in other.reason
    (impala,) = pb.advise(path, engines=["Impala", "pyarrow"]).columns
    assert impala.reason.startswith("not needed for Impala: ")


@pytest.fixture
def lake(tmp_path: Path) -> list[Path]:
    """Each file has a dictionary of its own, which each of its row groups repeats; the last one is text."""
    paths = []
    for number in range(5):
        few = MANY[number * 600 : number * 600 + 800]
        values = pa.array(random.Random(number).choices(few, k=4 * GROUP))
        paths.append(tmp_path / f"{number}.parquet")
        table = pa.table({"x": values if number == 4 else values.dictionary_encode()})
        pq.write_table(table, paths[-1], row_group_size=GROUP)
    return paths


def in_dictionaries(paths: list[Path], asked: set[str] | None = None) -> float:
    """How many row groups have a value in their dictionary, on average."""
    found: Counter[str] = Counter()
    for path in paths:
        with pq.ParquetFile(path, read_dictionary=["x"]) as file:
            for group in range(file.num_row_groups):
                found.update(file.read_row_group(group)["x"].chunk(0).dictionary.to_pylist())
    of_each = [found[each] for each in asked or found]
    return sum(of_each) / len(of_each)


def test_dictionaries_of_each_file_exclude_the_others(lake):
    for sample in (None, {*MANY[100:900:7]}):
        given = {"value_sample": {"x": sorted(sample)}} if sample else {}
        left = in_dictionaries(lake, sample)
        (report,) = pb.advise(lake, engines=["Impala"], **given).reports
        (each,) = report.columns
        assert each.groups_statistics > 19
        assert each.groups_filter == pytest.approx(left, rel=0.01)
        assert each.groups_filter < 6
        (report,) = pb.advise(lake, engines=["Spark"], **given).reports
        (both,) = report.columns
        assert both.groups_statistics == pytest.approx(left, rel=0.01)
        (text,) = pb.advise(lake, engines=["DuckDB"], **given).reports
        assert both.groups_filter < text.columns[0].groups_filter < each.groups_filter - 1


def test_advice_on_dictionaries_is_the_same_however_files_are_split(lake):
    whole = sketch_of(lake)
    for first in (lake[4:], lake[1:3]):
        others = [path for path in lake if path not in first]
        assert pb.merged_sketches([sketch_of(first), sketch_of(others)]) == whole
        assert sketch_of([*first, *others]) == whole


THREE = dictionary_page(byte_arrays(b"a", b"b", b"c"), 3)


def test_values_outside_the_dictionary_are_added(tmp_path):
    pages = [THREE, data_page(b"\2\2\1", 1, Encoding.RLE_DICTIONARY)]
    path = forged(tmp_path / "mixed.parquet", [*pages, data_page(byte_arrays(b"d"), 1)], 2)
    pb.build(path, in_place=True, columns=["values"], fpp=1e-6)
    found = [each.verdict for each in pb.probe(path, "values", ["a", "b", "c", "d"]).results]
    assert found == ["absent", "maybe", "absent", "maybe"]


def test_a_dictionary_without_a_reason_to_doubt_it_is_enough(tmp_path):
    """As many entries as values: the pages that refer to them are not read."""
    pages = [THREE, data_page(b"\xff" * 9, 3, Encoding.RLE_DICTIONARY)]
    path = forged(tmp_path / "as_many.parquet", pages, 3)
    assert [each.ndv for each in pb.advise(path).columns] == [3]


def test_pages_that_cannot_be_read_are_an_error(tmp_path):
    """What their rows refer to is not guessed."""
    pages = [THREE, data_page(b"", 2, Encoding.RLE_DICTIONARY)]
    path = forged(tmp_path / "damaged.parquet", pages, 2)
    with pytest.raises(FormatError) as caught:
        pb.build(path, in_place=True, columns=["values"])
    where = f"{path}: row group 0, column values: "
    assert str(caught.value) == f"{where}page at 49: no dictionary indices"
