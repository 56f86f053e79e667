"""Advice as an expert would give it, and numbers that agree with a measurement."""

import datetime
import json
import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.browser import Document
from make.commands import outcome
from make.defects_security import KEYS, flipped, sealed
from make.encrypting import FILTER_BITSET, FILTER_HEADER
from make.pages import data_page, data_page_v2
from make.parquet_files import forged
from oracle.specification import rle_run

import parquet_bloom as pb
from parquet_bloom.filters.rates import percent
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.verbs.advise import advise

ROW_GROUPS, ROWS = 20, 4_000
NUM_ROWS = ROW_GROUPS * ROWS

EXPECTED = {
    "sorted": "skip",
    "sorted_text": "skip",
    "drifting": "skip",
    "clustered": "optional",
    "random": "build",
    "random_text": "build",
    "member.id": "build",
    "amount": "optional",
    "when": "optional",
    "shared": "optional",
    "low_cardinality": "skip",
    "constant": "skip",
    "flag": "skip",
    "nothing": "skip",
    "list.list.element": "optional",
    "price": "optional",
}


def made_table():
    rng = np.random.default_rng(20)
    order = np.arange(NUM_ROWS)
    unique = rng.permutation(10 * NUM_ROWS)[:NUM_ROWS]
    cents = [Decimal(int(number)).scaleb(-2) for number in rng.permutation(unique)]
    return pa.table(
        {
            "sorted": order,
            "sorted_text": [f"s3://{'folder/' * 20}{number:012d}" for number in order],
            "drifting": order + rng.integers(0, ROWS // 10, NUM_ROWS),
            "clustered": order + rng.integers(0, 2 * ROWS, NUM_ROWS),
            "random": unique,
            "random_text": [f"user-{number:x}" for number in rng.permutation(unique)],
            "member": pa.array([{"id": int(number)} for number in rng.permutation(unique)]),
            "amount": pa.array(cents, pa.decimal128(20, 2)),
            "when": pa.array(rng.permutation(unique) * 1_000_003, pa.timestamp("us", "UTC")),
            "shared": rng.integers(0, ROWS, NUM_ROWS),
            "low_cardinality": rng.integers(0, 40, NUM_ROWS),
            "constant": np.full(NUM_ROWS, 7),
            "flag": rng.integers(0, 2, NUM_ROWS).astype(bool),
            "nothing": pa.nulls(NUM_ROWS, pa.string()),
            "list": pa.array([[int(number)] for number in unique]),
            "price": rng.random(NUM_ROWS),
        }
    )


@pytest.fixture(scope="module")
def table():
    return made_table()


@pytest.fixture(scope="module")
def source(table, tmp_path_factory):
    path = tmp_path_factory.mktemp("advise") / "table.parquet"
    pq.write_table(table, path, row_group_size=ROWS, use_dictionary=["low_cardinality", "constant"])
    return path


@pytest.fixture(scope="module")
def report(source):
    return advise(source)


@pytest.fixture(scope="module")
def advice(report):
    return {each.column: each for each in report.columns}


@pytest.fixture(scope="module")
def built(source, advice):
    path = source.with_name("built.parquet")
    pb.build(source, path, columns=[each.column for each in advice.values() if each.eligible])
    return path


def values_of(table, column):
    """The distinct values of a leaf column of the table."""
    name, *fields = column.split(".")
    array = table[name].combine_chunks()
    for field in fields[-1:]:
        array = array.flatten() if field == "element" else array.field(field)
    return array.drop_null().unique()


# ------------------------------------------------------------------------------------------------
# Verdicts


def test_the_verdicts_are_an_experts(advice):
    assert {column: each.verdict for column, each in advice.items()} == EXPECTED


def test_recommended_are_those_to_build(report):
    assert report.recommended == tuple(c for c, verdict in EXPECTED.items() if verdict == "build")


def test_a_report_describes_the_file(report, source):
    assert (report.path, report.num_rows, report.num_groups, report.size, report.fpp) == (
        str(source),
        NUM_ROWS,
        ROW_GROUPS,
        source.stat().st_size,
        0.01,
    )


@pytest.mark.parametrize(
    ("column", "reason"),
    [
        (
            "sorted",
            "min/max alone leaves 1.00 of 20 row groups to read, so a filter would save nothing",
        ),
        ("flag", "BOOLEAN: two values need no filter"),
        ("nothing", "no non-null values"),
        (
            "low_cardinality",
            "a filter rules out next to nothing:"
            + " a look-up reads 20 of 20 row groups with a filter, 20 with min/max alone",
        ),
    ],
)
def test_reasons_in_words(advice, column, reason):
    assert advice[column].reason == reason


def test_reasons_name_the_numbers(advice):
    elements = "elements of lists and maps are rarely looked up by equality; a look-up reads 1."
    assert advice["list.list.element"].reason.startswith(elements)
    assert advice["random"].reason.startswith("a look-up reads 1.")
    assert "of 20 row groups with a filter, 20 with min/max alone" in advice["random"].reason
    assert advice["price"].reason.startswith("floating-point numbers are rarely looked up")


def test_only_the_columns_that_are_asked_about(source):
    report = advise(source, columns=["random", "sorted"])
    assert [each.column for each in report.columns] == ["sorted", "random"]


def test_the_verdict_counts_filters_that_are_there(built, advice):
    again = advise(built, columns=["random"]).columns[0]
    assert (again.already, again.verdict) == (ROW_GROUPS, "build")
    assert again.reason.startswith(
        "every row group already has a filter, and today a look-up reads about 1.02 of 20 row groups, with filters of that size;"
        " min/max alone leaves 20 to read"
    )
    assert "a new filter" not in again.reason
    heading, _, row = outcome("advise", built, "-c", "random").stdout.splitlines()
    assert heading.endswith("; keep the filters of random")
    assert row.split("\t")[2] == "keep"
    assert advice["random"].already == 0


def test_the_figures_of_filters_to_keep_are_those_that_are_there(table, source, tmp_path):
    """Their sizes are in the footer, and so, nearly, is what a look-up reads with them."""
    out = tmp_path / "out.parquet"
    pb.build(source, out, columns=["random"], fpp=0.08)
    (found,) = advise(out, columns=["random"]).columns
    values = values_of(table, "random")[::29].to_pylist()
    left = remaining_by_statistics(out, "random", values)
    left &= remaining_by_filters(out, "random", values)
    assert found.groups_filter_there == pytest.approx(left.sum() / len(values), rel=0.1)
    assert found.groups_filter < found.groups_filter_there
    there = pb.inspect(out, columns=["random"]).filter_bytes
    assert found.filter_bytes_there == there < found.filter_bytes
    row = outcome("advise", out, "-c", "random").stdout.splitlines()[2].split("\t")
    assert row[2] == "keep"
    assert row[4] == f"{there / 1024:.1f} KiB"
    assert row[6] == f"19.99 → {found.groups_filter_there:.2f}"
    (without,) = advise(source, columns=["random"]).columns
    assert (without.filter_bytes_there, without.groups_filter_there) == (0, None)


@pytest.mark.parametrize(("max_bytes", "verdict"), [(2048, "rebuild"), (4096, "keep")])
def test_filters_that_are_there_and_too_small_are_to_be_built_again(
    source, tmp_path, max_bytes, verdict
):
    """By their lengths alone, in the footer: of 4,000 values, 31 % of others pass 2,048 bytes, and 3 % pass 4,096."""
    out = tmp_path / "out.parquet"
    pb.build(source, out, columns=["random"], max_bytes=max_bytes, force=True)
    (found,) = advise(out, columns=["random"]).columns
    is_small = verdict == "rebuild"
    assert (found.already, found.too_small) == (ROW_GROUPS, ROW_GROUPS * is_small)
    heading, _, row, *lines = outcome("advise", out, "-c", "random").stdout.splitlines()
    assert heading.endswith(f"; {verdict} the filters of random")
    again = f"next: pbloom build {out} -c random --in-place --existing replace"
    assert lines == [again] * is_small
    assert row.split("\t")[2] == verdict
    told = json.loads(outcome("advise", out, "-c", "random", "--json").stdout)["columns"][0]
    assert (told["verdict"], told["to_do"]) == ("build", verdict)
    asked_for = advise(out, columns=["random"], fpp=0.4).columns[0]
    assert asked_for.too_small == 0


def test_filters_to_keep_miss_a_lower_rate_that_is_asked_for(built, tmp_path):
    """The reason is about the filters whose size stands beside it."""
    there = pb.inspect(built, columns=["random"]).filter_bytes
    (usual,), (found,) = (
        advise(built, columns=["random"], **fpp).columns for fpp in ({}, {"fpp": 1e-4})
    )
    assert (found.to_do, found.filter_bytes_there) == ("keep", there)
    assert found.filter_bytes > there
    missed = re.search("(about [0-9.]+ %) of absent values pass these, and (.*?);", found.reason)
    assert missed[1] == "about 0.12 %"
    assert missed[2] == "0.01 % was asked for: --existing replace builds new ones"
    assert "asked for" not in usual.reason
    share = re.search("the filters that are there are (.*?) of the column's size", found.reason)[1]
    assert share == percent(there / found.chunk_bytes)
    pb.build(
        built, out := tmp_path / "out.parquet", columns=["random"], fpp=1e-4, existing="replace"
    )
    assert "asked for" not in advise(out, columns=["random"], fpp=1e-4).columns[0].reason


def test_of_several_engines_each_is_spoken_for(tmp_path):
    """A look-up reads less only in one that uses the filters."""
    path = tmp_path / "a.parquet"
    amounts = [Decimal(int(number)) for number in np.random.default_rng(2).permutation(4_000)]
    table = pa.table({"amount": pa.array(amounts, pa.decimal128(20, 0))})
    pq.write_table(table, path, row_group_size=400)

    def found(*engines):
        return advise(path, engines=engines).columns[0]

    decimal = "not for DECIMAL in FIXED_LEN_BYTE_ARRAY"
    alone, both, three = (
        found("duckdb"),
        found("duckdb", "spark"),
        found("duckdb", "spark", "datafusion"),
    )
    assert alone.reason == f"DuckDB does not use filters on such a column: {decimal}"
    assert both.reason == (
        "not needed for Spark: all values are in dictionaries, which are searched instead of the filters, so a look-up"
        f" reads 1.00 of 10 row groups; not used by DuckDB ({decimal})"
    )
    for each, read, if_absent in ((alone, alone.groups_statistics, 10), (both, 1, 0)):
        assert (each.verdict, each.groups_filter) == ("skip", read)
        assert each.groups_filter_absent == pytest.approx(if_absent, abs=0.1)
    assert f"; not used by DuckDB ({decimal})" in three.reason
    assert three.groups_filter < 2


def test_filters_that_cannot_be_used_are_to_be_repaired(built, source, tmp_path):
    """Lengths in the footer know nothing of headers, nor of bits; others need no new filters."""
    out = tmp_path / "out.parquet"
    data = bytearray(built.read_bytes())
    first, second = (
        part.columns[0].filter for part in pb.inspect(built, columns=["random"]).parts[:2]
    )
    data[first.offset : first.offset + 8] = b"\xff" * 8
    end = second.offset + second.length
    data[end - second.num_bytes : end] = bytes(second.num_bytes)
    out.write_bytes(data)
    (found,) = advise(out, columns=["random"]).columns
    assert (found.already, found.unreadable, found.too_small, found.missing) == (
        ROW_GROUPS,
        2,
        0,
        0,
    )
    assert found.groups_filter_there == pytest.approx(3, abs=0.1)
    assert found.reason.startswith(
        "2 row groups have filters that cannot be used: pbloom validate says why, pbloom repair --rebuild builds"
        " new ones; every row group already has a filter, and today a look-up reads about 2.9"
    )
    heading, _, row, *lines = outcome("advise", out, "-c", "random").stdout.splitlines()
    assert heading.endswith("; rebuild the filters of random")
    assert row.split("\t")[2] == "rebuild"
    assert lines == [f"next: pbloom repair {out} --rebuild -c random --in-place"]
    assert outcome(*lines[0].split()[2:]).code == 0
    assert advise(out, columns=["random"]).columns[0].unreadable == 0


@pytest.mark.parametrize("module", [FILTER_HEADER, FILTER_BITSET])
def test_filters_that_cannot_be_decrypted_are_to_be_repaired(module, tmp_path):
    path = tmp_path / "sealed.parquet"
    path.write_bytes(flipped(module, 1))
    (found,) = advise(path, columns=["a"], keys=KEYS).columns
    assert (found.already, found.unreadable) == (2, 1)
    path.write_bytes(sealed().data)
    assert advise(path, columns=["a"], keys=KEYS).columns[0].unreadable == 0


def test_a_filter_of_a_row_group_without_values_stands_for_no_other(tmp_path):
    """Where only nulls have one that others lack, there is one to build; the page about the file says the same."""
    path, page = tmp_path / "a.parquet", tmp_path / "a.html"
    values = [*range(0, 14_000, 7), *[None] * 1000]
    values[:2000] = values[:2000:2] + values[1:2000:2]
    table = pa.table({"id": pa.array(values, pa.int64())})
    wanted = {"id": {"ndv": 1000, "fpp": 0.01}}
    pq.write_table(table, path, row_group_size=1000, bloom_filter_options=wanted)
    pb.strip(path, in_place=True, row_groups=[0])
    (found,) = advise(path).columns
    assert (found.already, found.missing, found.groups, found.verdict) == (2, 1, 2, "build")
    assert (
        "; 1 of the row groups already has a filter, and today a look-up reads about 1.5"
        in found.reason
    )
    assert outcome("report", path, "-o", page, "--no-config").code == 0
    (done,) = re.findall(
        r"id INT64 \d of 3 .*? (build|keep|rebuild) ", Document(page.read_text()).text
    )
    assert done == "build"


def test_an_engine_that_does_not_use_filters_of_a_column_says_of_what(tmp_path):
    """And that others may use those that are there; nobody is sent to remove them."""
    path = tmp_path / "a.parquet"
    values = np.random.default_rng(5).integers(0, 60_000, 6000)
    small = pa.array(values, pa.uint16())
    pq.write_table(pa.table({"n": small}), path, row_group_size=1000, use_dictionary=False)
    pb.build(path, columns=["n"], in_place=True)
    there = "6 row groups have filters, which other readers may use"
    (found,) = advise(path, engines=["spark", "polars"]).columns
    assert found.reason == (
        "Spark and Polars do not use filters on such a column: not for 16-bit unsigned integers; "
        + there
    )
    (found,) = advise(path, engines="Polars").columns
    assert found.reason == (
        "Polars (no support for filters yet, but pb.polars_source skips row groups by them) uses no filters in such"
        f" files; {there}"
    )


def test_engines_that_search_dictionaries_are_not_said_to_use_the_filters(tmp_path):
    path = tmp_path / "a.parquet"
    values = np.random.default_rng(5).integers(0, 1 << 40, 6000)
    pq.write_table(pa.table({"n": values}), path, row_group_size=1000)
    lines = outcome("advise", path, "--details").stdout.splitlines()
    assert [line.strip() for line in lines if "used by " in line][:2] == [
        "used by DuckDB, DataFusion, ClickHouse",
        "not used by Spark, Trino, Iceberg, Impala: all values are in dictionaries, which are searched instead",
    ]
    page = tmp_path / "a.html"
    outcome("report", path, "-o", page, "--no-config")
    assert (
        "Used by DuckDB, DataFusion, ClickHouse. Spark, Trino, Iceberg, Impala: search the dictionaries, which have all"
        " values; pyarrow: its readers ignore filters, but"
    ) in Document(page.read_text()).text


def test_one_row_group_is_optional(table, tmp_path):
    path = tmp_path / "one.parquet"
    pq.write_table(table.slice(0, ROWS).select(["random", "low_cardinality"]), path)
    one, few = advise(path).columns
    assert (one.verdict, few.verdict) == ("optional", "skip")
    reason, told = one.reason.split("; not needed for ")
    assert reason.startswith("one row group: a filter can only say that a value is not in it,")
    assert ": all values are in dictionaries; " in told
    assert few.reason == "one row group with 40 distinct values"


def test_a_target_out_of_reach_is_skipped(source):
    report = advise(source, columns=["random"], fpp=1e-6, max_bytes=4096)
    assert (report.columns[0].verdict, report.columns[0].filter_bytes) == ("skip", 0)
    assert (
        report.columns[0].reason == "the target FPP of 0.0001 % is out of reach within 4,096 bytes"
    )
    assert report.columns[0].settings == ()
    # What a budget may choose has been tried.
    (column,) = advise(source, columns=["random"], max_bytes=2048, budget=1 << 20).columns
    assert (column.verdict, column.reason) == (
        "skip", "the target FPP of 1 % is out of reach within 2,048 bytes; 50 % would fit",
    )  # fmt: skip


def test_int96_has_no_reader(tmp_path):
    path = tmp_path / "int96.parquet"
    moments = [datetime.datetime(2024, 1, 1) + datetime.timedelta(hours=i * 37) for i in range(500)]
    times = pa.table({"when": pa.array(moments[::2] + moments[1::2], pa.timestamp("ns"))})
    pq.write_table(times, path, row_group_size=100, use_deprecated_int96_timestamps=True)
    (when,) = advise(path).columns
    assert (when.physical_type, when.verdict, when.ndv) == ("INT96", "skip", 500)
    assert when.reason == "no engine uses filters on such a column: not for INT96"
    assert when.groups_statistics == 5
    assert advise(path, engines=["spark", "polars"]).columns == (when,)


def test_dictionaries_are_a_reason_to_think_twice(table, tmp_path):
    path = tmp_path / "dictionary.parquet"
    pq.write_table(table.select(["random"]), path, row_group_size=ROWS)
    (random,) = advise(path).columns
    assert (random.verdict, random.only_dictionary, random.ndv_exact) == ("build", True, False)
    saved, others, *_ = random.reason.split("; ")
    assert saved.endswith(" with min/max alone")
    assert others == (
        "Spark, Trino, Iceberg and Impala search the dictionaries instead, which have all values"
    )


# ------------------------------------------------------------------------------------------------
# Distinct values and sizes


def test_the_distinct_values_are_right(table, advice):
    for column, each in advice.items():
        if column == "flag":
            assert each.ndv is None
            continue
        actual = len(values_of(table, column))
        assert each.ndv_exact == (each.ndv_error is None) == (actual <= 1 << 14), column
        assert abs(each.ndv - actual) <= 5 * (each.ndv_error or 0) * actual, column


def test_there_are_no_more_distinct_values_than_values(table, tmp_path):
    """Some estimates exceed what there is; nobody is told so."""
    for seed in range(6):
        path = tmp_path / f"{seed}.parquet"
        numbers = np.random.default_rng(seed).integers(0, 1 << 62, 30_000)
        pq.write_table(pa.table({"id": numbers}), path, row_group_size=17_000, use_dictionary=False)
        (each,) = advise(path).columns
        assert (each.ndv <= 30_000, each.group_ndv <= 17_000) == (True, True)


def test_a_dictionary_is_exact_however_many_entries_it_has(tmp_path):
    path = tmp_path / "dictionary.parquet"
    numbers = np.random.default_rng(2).permutation(20_000)
    pq.write_table(pa.table({"id": numbers}), path)
    (each,) = advise(path).columns
    assert (each.ndv, each.ndv_exact, each.only_dictionary) == (20_000, True, True)


def test_one_row_group_without_a_dictionary(table, tmp_path):
    path = tmp_path / "mixed.parquet"
    numbers = np.random.default_rng(2).permutation(20_000)
    schema = pa.schema({"id": pa.int64()})
    with pq.ParquetWriter(path, schema, dictionary_pagesize_limit=1 << 12) as writer:
        writer.write_table(pa.table({"id": numbers % 100}))
        writer.write_table(pa.table({"id": numbers}))
    (each,) = advise(path).columns
    assert (each.only_dictionary, each.ndv_exact) == (False, False)


def test_the_most_distinct_values_of_a_row_group(table, advice):
    groups = [table["shared"].slice(start, ROWS) for start in range(0, NUM_ROWS, ROWS)]
    assert advice["shared"].group_ndv == max(len(group.unique()) for group in groups)
    assert advice["nothing"].group_ndv == 0


def test_sizes_are_those_of_the_filters_that_build_writes(built, advice):
    sizes = dict.fromkeys(advice, 0)
    for group in pb.inspect(built).row_groups:
        for column in group.columns:
            sizes[column.column] += column.filter_bytes
    assert sizes == {column: each.filter_bytes for column, each in advice.items()}


def test_shares_are_of_the_file(report):
    for each in report.columns:
        assert each.filter_share == each.filter_bytes / report.size


# ------------------------------------------------------------------------------------------------
# Expected row groups against a measurement


def remaining_by_statistics(path, column, values):
    """For each row group, whether its statistics leave it to each value; by pyarrow's decoding."""
    remaining = []
    metadata = pq.read_metadata(path)
    for row_group in range(metadata.num_row_groups):
        group = metadata.row_group(row_group)
        chunks = [group.column(i) for i in range(group.num_columns)]
        statistics = next(c.statistics for c in chunks if c.path_in_schema == column)
        low, high = statistics.min, statistics.max
        remaining.append([low <= value <= high for value in values])
    return np.array(remaining)


def remaining_by_filters(path, column, values):
    with pb.open(path) as file:
        filters = [file.bloom_filter(group, column) for group in range(file.num_row_groups)]
        return np.array([filter.check_many(values) for filter in filters])


MEASURED = [
    "sorted",
    "drifting",
    "clustered",
    "random",
    "random_text",
    "member.id",
    "amount",
    "when",
    "shared",
    "low_cardinality",
    "price",
]


@pytest.mark.parametrize("column", MEASURED)
def test_expected_row_groups_agree_with_a_measurement(table, built, advice, column):
    distinct = values_of(table, column)
    chosen = np.random.default_rng(5).permutation(len(distinct))[:1000]
    values = distinct.take(pa.array(chosen)).to_pylist()
    by_statistics = remaining_by_statistics(built, column, values)
    both = by_statistics & remaining_by_filters(built, column, values)
    each = advice[column]
    assert each.groups_statistics == pytest.approx(by_statistics.sum() / len(values), rel=0.1)
    assert each.groups_filter == pytest.approx(both.sum() / len(values), rel=0.1)


@pytest.mark.parametrize("column", ["random", "shared", "clustered"])
def test_so_do_those_of_absent_values(table, tmp_path, column):
    """At an FPP that is high enough to be measured with few values."""
    source, built = tmp_path / "in.parquet", tmp_path / "out.parquet"
    numbers = table[column].to_numpy() * 2
    pq.write_table(pa.table({column: numbers}), source, row_group_size=ROWS)
    pb.build(source, built, columns=[column], fpp=0.3)
    (each,) = advise(source, fpp=0.3).columns
    values = np.unique(numbers)[::7] + 1
    by_statistics = remaining_by_statistics(built, column, values)
    both = by_statistics & remaining_by_filters(built, column, values)
    assert each.groups_statistics == pytest.approx(by_statistics.sum() / len(values), rel=0.1)
    assert each.groups_filter_absent == pytest.approx(both.sum() / len(values), rel=0.1)


def test_without_statistics_every_row_group_is_read(table, tmp_path):
    path = tmp_path / "bare.parquet"
    narrow = table.select(["sorted", "low_cardinality"])
    pq.write_table(narrow, path, row_group_size=ROWS, write_statistics=False)
    ordered, few = advise(path).columns
    assert (ordered.groups_statistics, few.groups_statistics) == (20, 20)
    assert (ordered.verdict, few.verdict) == ("build", "skip")


def test_row_groups_without_a_value_do_not_count(tmp_path):
    path = tmp_path / "nulls.parquet"
    some = np.random.default_rng(1).permutation(30_000).reshape(3, 10_000)
    groups = [pa.array(some[0]), pa.nulls(10_000, pa.int64()), pa.array(some[1]), pa.array(some[2])]
    with pq.ParquetWriter(path, pa.schema({"id": pa.int64()})) as writer:
        for group in groups:
            writer.write_table(pa.table({"id": group}))
    (each,) = advise(path).columns
    assert (each.groups, each.groups_statistics) == (3, pytest.approx(3, rel=0.01))
    assert each.verdict == "build"


# ------------------------------------------------------------------------------------------------
# Real look-up values


def test_a_value_sample_replaces_the_estimate(table, source, built):
    stored = table["random"].to_pylist()[:300]
    absent = [value + 10 * NUM_ROWS for value in range(300)]
    each = advise(source, columns=["random"], value_sample={"random": stored + absent}).columns[0]
    assert (each.basis, each.values_asked, each.values_stored) == ("value sample", 600, 300)
    by_statistics = remaining_by_statistics(built, "random", stored + absent)
    both = by_statistics & remaining_by_filters(built, "random", stored + absent)
    assert each.groups_statistics == by_statistics.sum() / 600
    assert each.groups_filter == pytest.approx(both.sum() / 600, rel=0.1)


def test_a_value_sample_counts_repetitions(source):
    sample = {"shared": [ROWS // 2] * 3 + [999999999]}
    each = advise(source, columns=["shared"], value_sample=sample).columns[0]
    assert (each.values_asked, each.values_stored) == (4, 3)
    assert each.groups_statistics == pytest.approx(0.75 * ROW_GROUPS)


def test_a_value_sample_can_turn_a_verdict(table, tmp_path):
    """Nobody knows that look-ups ask for what is not there, unless somebody says so."""
    path = tmp_path / "one.parquet"
    numbers = table["random"].slice(0, ROWS)
    pq.write_table(pa.table({"id": numbers}), path)
    held = set(numbers.to_pylist())
    absent = [n for n in range(min(held), max(held)) if n not in held][:100]
    outside = [max(held) + 1, min(held) - 1]
    assert advise(path).columns[0].verdict == "optional"
    assert advise(path, value_sample={"id": absent}).recommended == ("id",)
    assert advise(path, value_sample={"id": outside}).columns[0].verdict == "skip"


def test_literals_are_typed_by_their_column(table, source):
    sample = {
        "amount": [str(table["amount"][0]), "0.005".rstrip("5")],
        "when": [table["when"][0].as_py().isoformat()],
        "random_text": [table["random_text"][3].as_py(), "nobody"],
    }
    literals = {column: list(map(pb.literal, texts)) for column, texts in sample.items()}
    advised = advise(source, columns=list(sample), value_sample=literals).columns
    assert {each.column: each.values_stored for each in advised} == {
        "random_text": 1,
        "amount": 1,
        "when": 1,
    }


def test_nan_is_never_excluded(source):
    each = advise(source, columns=["price"], value_sample={"price": [float("nan")]}).columns[0]
    assert (each.groups_statistics, each.groups_filter) == (20, 20)


def test_a_sample_that_does_not_fit_is_an_error(source):
    with pytest.raises(
        pb.ValueTypeError, match="value sample: column random: 'x': cannot be a value"
    ):
        advise(source, value_sample={"random": ["x"]})
    with pytest.raises(pb.ColumnError, match="did you mean random"):
        advise(source, value_sample={"randon": [1]})
    with pytest.raises(
        pb.ColumnError, match="value sample: column random is not one of the columns to judge"
    ):
        advise(source, columns=["sorted"], value_sample={"random": [1]})


# ------------------------------------------------------------------------------------------------
# Any file


@pytest.mark.every(2)
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.parquet")), ids=lambda path: path.stem)
def test_files_of_every_writer(path):
    report = advise(path)
    eligible = [each.column for each in report.columns if each.eligible]
    assert {each.column for each in report.columns if not each.eligible} == {
        each.column for each in report.columns if each.physical_type == "BOOLEAN"
    }
    built = pb.build(path, columns=eligible, existing="replace", dry_run=True)
    for each in report.columns:
        wanted = sum(item.length for item in built.filters if item.column == each.column)
        assert each.filter_bytes == wanted
        assert each.reason
        assert (each.settings != ()) == (each.filter_bytes > 0)
        assert sum(item.column == each.column for item in built.filters) == each.groups


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_do_not_change_the_advice(source, report, threads):
    assert advise(source, threads=threads) == report


def test_progress_counts_the_chunks(source):
    calls = []
    advise(source, columns=["sorted", "random"], progress=lambda *call: calls.append(call))
    assert calls == [(done, 40) for done in range(1, 41)]


def test_no_row_group_is_no_value():
    report = advise(FIXTURES / "pyarrow_empty.parquet")
    assert {each.reason for each in report.columns if each.eligible} == {"no non-null values"}


def test_a_codec_that_cannot_be_read_is_a_reason(tmp_path):
    path = forged(tmp_path / "lzo.parquet", [data_page(bytes(8), 1)], 1, codec=3,
                  type=ttypes.Type.INT64)  # fmt: skip
    (each,) = advise(path).columns
    assert (each.eligible, each.verdict, each.ndv) == (False, "skip", None)
    assert each.reason.startswith("row group 0, column values: codec LZO")


def test_damage_is_an_error(tmp_path):
    path = forged(tmp_path / "short.parquet", [data_page(bytes(8), 1)], 2,
                  type=ttypes.Type.INT64)  # fmt: skip
    with pytest.raises(pb.PageError, match="row group 0, column values"):
        advise(path)


@pytest.mark.parametrize("width", [0, 3, 9, 70])
def test_statistics_of_a_wrong_width_prune_nothing(tmp_path, width):
    statistics = ttypes.Statistics(min_value=bytes(width), max_value=bytes(width))
    path = forged(tmp_path / "hostile.parquet", [data_page(bytes(8), 1)], 1,
                  type=ttypes.Type.INT64, meta={"statistics": statistics})  # fmt: skip
    (each,) = advise(path, value_sample={"values": 5}).columns
    assert (each.groups_statistics, each.values_stored) == (1, 0)


def test_a_dictionary_and_what_comes_after_it(tmp_path):
    """A chunk that fell back to PLAIN has values in both."""
    path = FIXTURES / "pyarrow_fallback_v1.parquet"
    actual = pq.read_table(path)
    for each in advise(path).columns:
        if each.physical_type != "BOOLEAN":
            assert each.ndv == len(values_of(actual, each.column)), each.column


def test_nulls_are_not_values(tmp_path):
    nulls = data_page_v2(rle_run(0, 2, 1), b"", 2, 2)
    path = forged(tmp_path / "nulls.parquet", [nulls], 2, type=ttypes.Type.INT64, repetition=1)
    (each,) = advise(path).columns
    assert (each.ndv, each.groups, each.reason) == (0, 0, "no non-null values")


@pytest.mark.parametrize("option", [{"fpp": 0.0}, {"fpp": 1.0}, {"max_bytes": 63}])
def test_impossible_options_are_refused(source, option):
    with pytest.raises(ValueError, match=next(iter(option))):
        advise(source, **option)


def test_a_column_that_is_not_there_is_an_error(source):
    with pytest.raises(pb.ColumnError, match="did you mean random"):
        advise(source, columns=["randon"])


@pytest.mark.parametrize("in_arrow", [True, False])
def test_a_uuid_of_arrow_is_none_for_datafusion(tmp_path, in_arrow):
    """DataFusion 55 finds its row groups by filters only where the file has no schema of Arrow,
    or one without UUID."""
    path = tmp_path / "v.parquet"
    values = [np.random.default_rng(each).bytes(16) for each in range(1000)]
    uuids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array(values, pa.binary(16)))
    table = pa.table({"id": range(1000), "uid": uuids})
    pq.write_table(table, path, row_group_size=100, store_schema=in_arrow, use_dictionary=False)
    (found,) = advise(path, columns=["uid"], engines="DataFusion").columns
    (use,) = (each for each in found.engines if each.engine == "DataFusion")
    if in_arrow:
        assert (use.uses, use.reason) == (False, "this file's Arrow schema says UUID")
        assert found.verdict == "skip"
        assert found.reason.endswith(f"on such a column: {use.reason}")
    else:
        assert (use.uses, found.verdict) == (True, "build")


# ------------------------------------------------------------------------------------------------
# By a policy


POLICY = """[validate]
max-fpp = 0.001
require = ["seq", "kind", "nowhere"]
[validate.columns.kind]
max-fpp = 0.2
"""


@pytest.fixture
def for_policy(tmp_path):
    rng, rows = np.random.default_rng(5), 6_000
    table = pa.table(
        {
            "id": rng.permutation(1 << 20)[:rows],
            "seq": np.arange(rows),
            "kind": rng.integers(0, 4, rows),
        }
    )
    path, config = tmp_path / "events.parquet", tmp_path / "limits.toml"
    pq.write_table(table, path, row_group_size=rows // 6)
    config.write_text(POLICY)
    return path, config


def test_columns_and_rates_are_those_of_a_policy(for_policy):
    path, config = for_policy
    assert pb.advise(path).recommended == ("id",)
    policy = pb.read_policy(config)
    found = pb.advise(path, policy=policy)
    assert {each.column: (each.verdict, each.fpp) for each in found.columns} == {
        "id": ("build", 0.001),
        "seq": ("build", 0.001),
        "kind": ("build", 0.01),
    }
    reasons = {each.column: each.reason for each in found.columns}
    assert "; the policy accepts an FPP of at most 0.1 %;" in reasons["id"]
    assert reasons["seq"].startswith("the policy wants filters; min/max alone leaves 1.00 of 6 ")
    assert reasons["kind"].startswith(
        "the policy wants filters; a filter rules out next to nothing"
    )
    pb.build(path, in_place=True, advice=found)
    built = pb.advise(path, policy=policy)
    assert not any(each.missing or each.too_small for each in built.columns)
    findings = pb.validate(path, policy=policy).findings
    assert [each.column for each in findings if each.severity == "error"] == ["nowhere"]
    # What is asked for is built, whatever a policy says.
    asked = pb.advise(path, policy=policy, fpp=0.3)
    assert {each.fpp for each in asked.columns} == {0.3}


def test_a_budget_is_spent_on_what_a_policy_requires_first(for_policy):
    """Columns in order save nothing, and are required all the same."""
    path, config = for_policy
    config.write_text('[validate]\nrequire = ["seq"]\n')
    policy = pb.read_policy(config)
    small = pb.advise(path, policy=policy, budget=2_000).budget
    reasons = {each.column: each.reason for each in small.left_out}
    wanted = "the budget is too small for what the policy requires: needs at least "
    assert reasons["seq"].startswith(wanted)
    assert not reasons["id"].startswith(wanted)
    needs = next(each.needs for each in small.left_out if each.column == "seq")
    enough = pb.advise(path, policy=policy, budget=needs)
    assert enough.recommended == ("seq",)
    assert enough.budget.used == needs
    both = pb.advise(path, policy=policy, budget=small.for_all)
    assert both.recommended == ("id", "seq")
    pb.build(path, in_place=True, advice=both)
    # None is missing; a budget may choose filters that let much pass.
    report = pb.validate(path, policy=policy)
    assert report.ok
    assert {each.rule for each in report.findings} <= {"PB302"}


@pytest.mark.parametrize(
    ("settings", "rate"),
    [
        ("", 0.5),
        ("max-fpp = 0.05\n", 0.05),
        ('fail-on = "warning"\n', 0.1),
        ('fail-on = "warning"\nignore = ["PB302"]\n', 0.5),
        ('fail-on = "warning"\nmax-fpp = 0.2\n', 0.2),
    ],
)
def test_what_a_policy_requires_takes_no_more_than_it_has_to(for_policy, settings, rate):
    """The highest rate with which `validate` passes: a byte less is too little for all, and that is enough."""
    path, config = for_policy
    config.write_text(f'[validate]\nrequire = ["seq"]\n{settings}')
    policy = pb.read_policy(config)
    (needs,) = (
        each.needs
        for each in pb.advise(path, policy=policy, budget=1).budget.left_out
        if each.column == "seq"
    )
    less = pb.advise(path, policy=policy, budget=needs - 1)
    assert "seq" in {each.column for each in less.budget.left_out}
    enough = pb.advise(path, policy=policy, budget=needs)
    (seq,) = enough.budget.columns
    assert seq.fpp <= rate
    pb.build(path, in_place=True, advice=enough)
    assert pb.validate(path, policy=policy).ok
    # None that is smaller passes.
    for other, is_ok in ((rate, True), (min(0.9, 8 * rate), False)):
        built = pb.build(path, in_place=True, columns="seq", fpp=other, existing="replace")
        assert pb.validate(path, policy=policy).ok == is_ok
        assert (sum(each.length for each in built.filters) == needs) == is_ok


def test_what_a_policy_does_not_accept_is_built_again(for_policy):
    path, config = for_policy
    pb.build(path, in_place=True, columns=["id", "seq", "kind"], fpp=0.08)
    policy = pb.read_policy(config)
    for found in (pb.advise(path, policy=policy), pb.report(path, policy=policy).advice):
        assert [each.too_small for each in found.columns] == [6, 6, 0]
        assert found.columns[0].reason.startswith(
            "6 row groups have filters that are too small for the values (more than 0.1 % of absent"
            " ones pass, the most that the policy accepts): --existing replace builds new ones; "
        )


def test_commands_with_a_policy(for_policy, monkeypatch):
    path, config = for_policy
    monkeypatch.chdir(path.parent)
    with_policy = "--config", config.name
    told = outcome("advise", path.name, *with_policy).stdout.splitlines()
    assert told[-2:] == [
        "next: pbloom build events.parquet -c id,seq --in-place --fpp 0.001",
        "next: pbloom build events.parquet -c kind --in-place",
    ]
    told = outcome("advise", path.name, *with_policy, "--budget", "1MiB").stdout.splitlines()
    assert told[-1] == (
        "next: pbloom build events.parquet --auto --in-place --budget 1048576 --config limits.toml"
    )
    outcome("build", path.name, "--auto", *with_policy, "-o", "built.parquet")
    rates = {each.column: each.worst_fpp for each in pb.report("built.parquet").columns}
    assert rates["id"] <= 0.001
    assert rates["seq"] <= 0.001
    # It is found where it lies, as by validate and report.
    config.rename("pbloom.toml")
    assert (
        " build filters for id (at 0.1 %), seq (at 0.1 %), kind\n"
        in outcome("advise", path.name).stdout
    )
    assert " build filters for id\n" in outcome("advise", path.name, "--no-config").stdout
    again = outcome("build", path.name, "--auto", "-o", "again.parquet")
    assert (
        path.with_name("again.parquet").read_bytes() == path.with_name("built.parquet").read_bytes()
    )
    # Nobody named it.
    note = "note: pbloom.toml requires seq, kind and limits rates; --no-config leaves it out"
    assert again.stderr.splitlines()[0] == f"pbloom: {note}"
    assert note in outcome("advise", path.name).stdout.splitlines()
    (path.parent / "below").mkdir()
    monkeypatch.chdir(path.parent / "below")
    (told,) = re.findall("note: (.*) requires .*", outcome("advise", path).stdout)
    assert told == str(path.with_name("pbloom.toml"))
    for given in (["-c", "id", "--no-config"], ["--config", told]):
        assert "leaves it out" not in outcome("advise", path, *given).stdout


def test_a_policy_is_for_what_is_advised(for_policy):
    path, config = for_policy
    for given in (["--config", config], ["--no-config"]):
        result = outcome("build", path, "-c", "id", *given, "--dry-run")
        assert result.code == 2
        assert f"{given[0]}: expected with --auto" in result.stderr
    config.with_name("pbloom.toml").write_text("[validate\n")
    # Who names columns needs no policy.
    assert outcome("build", path, "-c", "id", "--dry-run").code == 0
