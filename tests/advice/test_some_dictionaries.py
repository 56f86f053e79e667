"""What engines read that search dictionaries, where statistics or dictionaries alone leave more than both together."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.sketches import sketch_of

import parquet_bloom as pb
from parquet_bloom.advice import groups, sketch
from parquet_bloom.advice.parquet_survey import ParquetSurveyor
from parquet_bloom.advice.sketch import TableSketch

GROUP = 200
FILES = 12
# In these files, no dictionary is written.
PLAIN = {3, 8}


def left_to_read(
    paths: Iterable[Path], asked: Iterable[object] | None = None
) -> tuple[float, float]:
    """How many row groups min/max leaves for a value of the column on average, and how many that and dictionaries."""
    bounds, entries, held = [], [], Counter()
    for path in paths:
        with pq.ParquetFile(path, read_dictionary=["x"]) as file:
            for group in range(file.num_row_groups):
                column = file.metadata.row_group(group).column(0)
                bounds.append((column.statistics.min, column.statistics.max))
                values = file.read_row_group(group)["x"].combine_chunks()
                held.update(values.to_pylist())
                is_categorical = pa.types.is_dictionary(values.type)
                has_dictionary = column.dictionary_page_offset is not None
                of_group = values.dictionary if is_categorical else values
                entries.append({*of_group.to_pylist()} if has_dictionary else None)
    values = list(asked) if asked else sorted(held)
    by_statistics = after = 0
    for value in values:
        for (low, high), in_group in zip(bounds, entries, strict=True):
            is_left = low <= value <= high
            by_statistics += is_left
            after += is_left and (in_group is None or value in in_group)
    return by_statistics / len(values), after / len(values)


def advised(paths: list[Path], **options):
    (report,) = pb.advise(paths, **options).reports
    (column,) = report.columns
    return column


@pytest.fixture
def mixed(tmp_path: Path) -> list[Path]:
    """Random numbers; most row groups have all values in a dictionary, those of some files have none."""
    rng = random.Random(1)
    paths = [tmp_path / f"{number:02}.parquet" for number in range(FILES)]
    for number, path in enumerate(paths):
        table = pa.table({"x": [rng.randrange(1 << 40) for _ in range(3 * GROUP)]})
        has_dictionary = number not in PLAIN
        pq.write_table(table, path, row_group_size=GROUP, use_dictionary=has_dictionary)
    return paths


def test_row_groups_with_dictionaries_are_searched_beside_others(mixed):
    by_statistics, after = left_to_read(mixed)
    spark, anybody = advised(mixed, engines=["Spark"]), advised(mixed)
    # All are drawn but for the largest hashes of 7,200 values.
    assert spark.groups_statistics == pytest.approx(after, rel=0.01)
    assert anybody.groups_statistics == pytest.approx(by_statistics, rel=0.01)
    assert (spark.verdict, spark.only_dictionary) == ("build", False)
    assert spark.reason == (
        "a look-up reads 1.02 of 36 row groups in 12 files with a filter, 6.79 with the dictionary alone; in 30 of 36"
        " row groups, all values are in the dictionary: Spark looks there as well as in the filter; the filters are"
        " 23 % of the column's size"
    )
    assert "36 with min/max alone; " in anybody.reason


def test_engines_that_search_none_count(mixed):
    both = advised(mixed, engines=["Spark", "DuckDB"])
    assert "with min/max alone" in both.reason
    assert "dictionar" not in both.reason


def test_values_that_are_looked_up_are_counted_one_by_one(mixed):
    asked = [*pq.read_table(mixed[3])["x"].to_pylist()[:50], 17, 1 << 39]
    column = advised(mixed, engines=["Spark"], value_sample={"x": asked})
    assert column.groups_statistics == pytest.approx(left_to_read(mixed, asked)[1], abs=1e-9)


def test_where_dictionaries_leave_one_row_group_no_filter_is_advised(tmp_path):
    """The only one without a dictionary has a narrow range."""
    rng = random.Random(2)
    paths = [tmp_path / f"{number}.parquet" for number in range(6)]
    for path in paths[:5]:
        values = [rng.randrange(1 << 40) for _ in range(3 * GROUP)]
        pq.write_table(pa.table({"x": values}), path, row_group_size=GROUP)
    narrow = [rng.randrange(1000) for _ in range(GROUP)]
    pq.write_table(pa.table({"x": narrow}), paths[5], use_dictionary=False)
    column = advised(paths, engines=["Trino"])
    assert column.verdict == "skip"
    assert column.reason == (
        "the dictionary alone leaves 1.00 of 16 row groups in 6 files to read, so a filter would save nothing; in 15"
        " of 16 row groups, all values are in the dictionary: Trino looks there as well as in the filter"
    )


def test_a_sample_of_the_row_groups_tells_as_much(mixed, monkeypatch):
    # Which row groups are kept is decided by the paths as they are given.
    monkeypatch.chdir(mixed[0].parent)
    mixed = [path.name for path in mixed]
    whole = advised(mixed, engines=["Spark"])
    monkeypatch.setattr(groups, "LIMIT", 24)
    monkeypatch.setattr(sketch, "LEAST_KEPT", 24)
    sampled = advised(mixed, engines=["Spark"])
    assert sampled.groups_statistics == pytest.approx(whole.groups_statistics, rel=0.3)
    assert sampled.groups_statistics != whole.groups_statistics


@pytest.fixture(params=["mixed", "categorical"])
def lake(request: pytest.FixtureRequest) -> list[Path]:
    paths: list[Path] = request.getfixturevalue(request.param)
    return paths


@pytest.mark.parametrize("drawn", [4096, 40])
def test_however_files_are_split_the_sketch_is_the_same(lake, drawn, monkeypatch):
    monkeypatch.setattr(ParquetSurveyor, "num_drawn", drawn)

    whole = sketch_of(lake)
    assert TableSketch.from_bytes(whole).to_bytes() == whole
    for first in (lake[3:4], lake[4:8], lake[1::2], lake[:3]):
        others = [path for path in lake if path not in first]
        assert pb.merged_sketches([sketch_of(first), sketch_of(others)]) == whole
        assert pb.merged_sketches([sketch_of(others), sketch_of(first)]) == whole
        assert sketch_of([*others, *first]) == whole


@pytest.fixture
def categorical(tmp_path: Path) -> list[Path]:
    """Files of a narrow range, with a dictionary of all categories, beside others of any few values."""
    rng, paths = random.Random(3), [tmp_path / f"{number:02}.parquet" for number in range(FILES)]
    categories = [f"c{each:05}" for each in range(180)]
    for number, path in enumerate(paths):
        if number % 2:
            start = number // 2 * 30
            # All of them in each row group, so that a dictionary of what rows have would tell no more.
            places = pa.array([start + each % 30 for each in range(3 * GROUP)], pa.int32())
            values = pa.DictionaryArray.from_arrays(places, pa.array(categories))
        else:
            few = [rng.sample(categories, 30) for _ in range(3)]
            values = pa.array([rng.choice(each) for each in few for _ in range(GROUP)])
        pq.write_table(pa.table({"x": values}), path, row_group_size=GROUP)
    return paths


@pytest.mark.parametrize("engine", ["Spark", "Impala"])
def test_min_max_rules_out_dictionaries_with_a_value_that_no_row_has(categorical, engine):
    by_statistics, after = left_to_read(categorical)
    assert after < by_statistics / 3
    column = advised(categorical, engines=[engine])
    assert column.groups_statistics == pytest.approx(by_statistics, abs=1e-9)
    assert column.groups_filter == pytest.approx(after, abs=1e-9)
    assert column.verdict == "skip"
    assert column.reason == (
        f"not needed for {engine}: all values are in dictionaries, which are searched instead of the filters, so a"
        f" look-up reads {after:.2f} of 36 row groups in 12 files"
    )


def test_so_it_does_for_values_that_are_looked_up(categorical):
    asked = sorted({*pq.read_table(categorical[5])["x"].to_pylist()})[:40]
    column = advised(categorical, engines=["Impala"], value_sample={"x": asked})
    assert column.groups_filter == pytest.approx(left_to_read(categorical, asked)[1], abs=1e-9)


@pytest.fixture
def hardly_used(tmp_path: Path) -> list[Path]:
    """Large dictionaries, of which rows have a few values in a narrow range."""
    categories = pa.array([f"c{each:05}" for each in range(20_000)])
    rng, paths = random.Random(4), [tmp_path / f"{number}.parquet" for number in range(4)]
    for path in paths:
        places = pa.array([rng.randrange(50) * 4 for _ in range(3 * GROUP)], pa.int32())
        values = pa.DictionaryArray.from_arrays(places, categories)
        pq.write_table(pa.table({"x": values}), path, row_group_size=GROUP)
    return paths


def test_entries_that_no_row_has_are_not_looked_up(hardly_used):
    column = advised(hardly_used, engines=["Impala"])
    assert column.groups_filter == pytest.approx(left_to_read(hardly_used)[1], rel=0.1)


def test_dictionaries_of_which_no_value_of_rows_was_counted_tell_nothing(hardly_used, monkeypatch):
    monkeypatch.setattr(ParquetSurveyor, "num_drawn", 1)
    monkeypatch.setattr(sketch, "LEAST_KEPT", 1)
    column = advised(hardly_used, engines=["Impala"])
    assert column.groups_filter == column.groups_statistics == 12
