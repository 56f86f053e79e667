"""The rate that a table of many row groups gets, and what each rate costs and saves."""

import random
import re
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.orc as po
import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from make.commands import outcome

import parquet_bloom as pb
from parquet_bloom.advice.rate import MOST_IN_VAIN, recommended_rate


def rate_for(
    left, unit="row group", *, largest=1 << 27, filters=10, chunks=1000, of_one=1024, better=1
):
    """`better`: how many times as good as asked the filters are."""
    offers = [
        SimpleNamespace(rate=rate, num_bytes=filters * growth, groups_read=1 + left * rate / better)
        for rate, growth in ((0.01, 1), (0.001, 2), (0.0001, 4))
    ]
    reads = SimpleNamespace(by_statistics=left + 1, holding=1)
    counts = SimpleNamespace(chunk_bytes=chunks, largest_filter=of_one)
    return recommended_rate(offers, counts, reads, 0.01, largest, unit)


@pytest.mark.parametrize(
    ("left", "rate"), [(0, 0.01), (100, 0.01), (101, 0.001), (1000, 0.001), (1001, 0.0001), (1e6, 0.0001)]
)  # fmt: skip
def test_the_highest_rate_at_which_one_row_group_is_read_in_vain(left, rate):
    assert rate_for(left) == rate
    # A hundred index groups are what a row group is.
    assert rate_for(100 * left, "index group") == rate


def test_filters_do_not_outgrow_their_column_nor_their_limit():
    assert rate_for(1e6, filters=251) == 0.001
    assert rate_for(1e6, filters=501) == 0.01
    assert rate_for(1e6, largest=4096) == 0.0001
    assert rate_for(1e6, largest=4095) == 0.001
    assert rate_for(1e6, largest=2047) == 0.01


def test_filters_of_full_index_groups_are_not_limited_by_their_rows(tmp_path, monkeypatch):
    """A filter at 1 % has more bytes than values."""
    monkeypatch.setitem(MOST_IN_VAIN, "index group", 1.0)
    table = pa.table({"user_id": random.Random(1).sample(range(10**12), 200_000)})
    path = tmp_path / "a.orc"
    po.write_table(table, path, row_index_stride=1_000, compression="uncompressed")
    (column,) = pb.advise(path).columns
    assert column.fpp == 0.001


def test_what_counts_is_the_rate_that_filters_have():
    """Their sizes are powers of two."""
    assert rate_for(499, better=5) == 0.01
    assert rate_for(501, better=5) == 0.001


@pytest.fixture(scope="module")
def lake(tmp_path_factory):
    """Two files with 200 row groups each, of 300 different values."""
    folder = tmp_path_factory.mktemp("events")
    numbers = random.Random(1).sample(range(10**12), 120_000)
    for at, name in enumerate("ab"):
        table = pa.table({"user_id": numbers[at::2]})
        path = folder / f"{name}.parquet"
        pq.write_table(table, path, row_group_size=300, use_dictionary=False, compression="none")
    return folder


def test_what_each_rate_costs_is_what_build_writes(lake, tmp_path):
    column = pb.advise(lake / "a.parquet", rates=True).columns[0]
    assert [each.fpp for each in column.rates] == [0.1, 0.01, 0.001, 0.0001]
    for each in column.rates:
        out = tmp_path / f"{each.fpp}.parquet"
        built = pb.build(lake / "a.parquet", out, columns="user_id", fpp=each.fpp)
        assert each.filter_bytes == sum(filter.length for filter in built.filters)
        fpps = [filter.fpp for filter in built.filters]
        # One row group holds a value, and any of the others may be read in vain.
        assert each.groups_filter == pytest.approx(1 + 199 / 200 * sum(fpps), rel=0.02)
    # Of one file alone, less than one row group is read in vain.
    assert column.fpp == 0.01


def test_the_page_shows_what_the_command_prints(lake, monkeypatch):
    monkeypatch.chdir(lake.parent)
    found = outcome("advise", "events0", "--details")
    page = (ROOT / "docs" / "advise.md").read_text()
    (shown,) = re.findall(r"^```\n(user_id: build\n.*?)^```", page, re.MULTILINE | re.DOTALL)
    assert shown in found.stdout
    assert "; build filters for user_id (at 0.1 %)\n" in found.stdout
    assert (
        "\ta look-up reads 1.03 of 400 row groups in 2 files with a filter for 0.1 % (FPP 0.008 %), 397 with"
        " min/max alone; so many row groups deserve a lower rate than usual; "
    ) in found.stdout


def test_the_table_shows_what_build_writes(lake, tmp_path, monkeypatch):
    """Not what filters of the usual rate would take."""
    monkeypatch.chdir(lake)
    _, _, row, note, line = outcome("advise", "a.parquet", "b.parquet").stdout.splitlines()
    assert note.startswith("note: once they are built, filters take up to 29 % of a.parquet, ")
    assert line == "next: pbloom build a.parquet b.parquet -c user_id --in-place --fpp 0.001"
    assert row.split("\t")[4:7] == ["406.2 KiB", "40 %", "397.18 → 1.03"]
    within = outcome("advise", "a.parquet", "b.parquet", "--budget", "150KB").stdout.splitlines()
    (said,) = (line for line in within if line.startswith("user_id: filters for 10 %"))
    size, read = re.search(r"take (.* KiB); a look-up reads ([\d.]+) row groups", said).groups()
    assert within[-2].split("\t")[4] == size
    assert within[-2].split("\t")[6].endswith(f" → {read}")
    assert "'fpp': 0.001" not in outcome("advise", "events0", "--details", "--fpp", "0.01").stdout


def test_build_takes_the_rate_that_is_recommended(lake, tmp_path):
    both = [str(lake / "a.parquet"), str(lake / "b.parquet")]
    assert outcome("build", *both, "--auto", "--output-dir", tmp_path / "auto").code == 0
    assert (
        outcome("build", *both, "--auto", "--fpp", "0.01", "--output-dir", tmp_path / "given").code
        == 0
    )
    for folder, rate in (("auto", 0.001), ("given", 0.01)):
        for name in ("a.parquet", "b.parquet"):
            pb.build(lake / name, tmp_path / "one", columns="user_id", fpp=rate, overwrite=True)
            assert (tmp_path / folder / name).read_bytes() == (tmp_path / "one").read_bytes()
