"""The rules of the verdict, one by one, and the words for them."""

from dataclasses import replace

import pytest

from parquet_bloom.advice.lookups import ExpectedReads
from parquet_bloom.advice.settings import WantedFilter, writer_settings
from parquet_bloom.advice.verdict import Evidence, judge


def reads(by_statistics, with_filter, stored=1000):
    return ExpectedReads(1000, stored, by_statistics, with_filter, 0.01 * by_statistics)


GOOD = Evidence(
    row_groups=20,
    ndv=1_000_000,
    filters=20,
    filter_bytes=1_000_000,
    chunk_bytes=10_000_000,
    only_dictionary=False,
    is_float=False,
    has_engine=True,
    already=0,
    max_bytes=128 << 20,
    is_measured=False,
    reads=reads(20, 1.1),
)


def test_a_good_column_is_built():
    judged = judge(GOOD)
    assert judged.verdict == "build"
    assert judged.reason == "a look-up reads 1.10 of 20 row groups with a filter, 20 by min/max"


@pytest.mark.parametrize(
    ("change", "verdict", "words"),
    [
        ({"row_groups": 0}, "skip", "no non-null values"),
        ({"has_engine": False}, "skip", "no engine asks the filters of such a column"),
        ({"filters": 0, "max_bytes": 1024}, "skip", "the FPP is out of reach within 1,024 bytes"),
        ({"reads": None}, "skip", "no value that a reader could look up"),
        ({"reads": reads(1.4, 1.0)}, "skip", "min/max leaves 1.40 of 20 row groups to a look-up"),
        ({"reads": reads(20, 18.1)}, "skip", "a filter excludes next to nothing: a look-up reads"),
        ({"reads": reads(20, 17.9)}, "optional", "a filter spares less than half of what min/max"),
        ({"reads": reads(20, 10.1)}, "optional", "a filter spares less than half of what min/max"),
        ({"reads": reads(20, 9.9)}, "build", "a look-up reads 9.90 of 20 row groups"),
        ({"reads": reads(2.9, 1.0)}, "optional", "min/max leaves few row groups"),
        ({"reads": reads(3.1, 1.0)}, "build", "a look-up reads 1.00 of 20 row groups"),
        ({"row_groups": 3, "reads": reads(3, 1.02)}, "build", "a look-up reads 1.02 of 3"),
        ({"row_groups": 2, "reads": reads(2, 1.01)}, "optional", "a filter spares less than half"),
        ({"row_groups": 1, "reads": reads(1, 1)}, "optional", "one row group: a filter can only"),
        ({"row_groups": 1, "ndv": 100}, "skip", "one row group and 100 distinct values"),
        ({"row_groups": 1, "ndv": 101, "reads": reads(1, 1)}, "optional", "one row group: a"),
        ({"is_float": True}, "optional", "floating-point numbers are seldom looked up"),
        ({"filter_bytes": 10_000_001}, "optional", "the filters are larger than the column"),
        (
            {"is_measured": True, "row_groups": 1, "reads": reads(1.0, 0.4)},
            "build",
            "a look-up reads 0.40 of 1 row groups with a filter, 1.00 by min/max",
        ),
        (
            {"is_measured": True, "row_groups": 1, "reads": reads(1.0, 1.0)},
            "skip",
            "min/max leaves 1.00 of 1 row groups",
        ),
        ({"is_measured": True, "reads": reads(1.0, 0.01)}, "optional", "min/max leaves few row"),
    ],
)
def test_each_rule(change, verdict, words):
    judged = judge(replace(GOOD, **change))
    assert (judged.verdict, judged.reason[: len(words)]) == (verdict, words)


@pytest.mark.parametrize(
    ("change", "note"),
    [
        ({"filter_bytes": 2_000_001}, "; the filters take 20% of the column's bytes"),
        ({"only_dictionary": True}, "; all values are in dictionaries, where Spark, Trino, "),
        ({"filters": 18}, "; in 2 row groups the FPP is out of reach"),
        ({"already": 5}, "; 5 of the row groups have a filter already"),
    ],
)
def test_notes(change, note):
    plain = judge(GOOD).reason
    assert judge(replace(GOOD, **change)).reason.startswith(plain + note)


def test_a_small_share_is_not_worth_a_word():
    assert "bytes" not in judge(replace(GOOD, filter_bytes=1_999_999)).reason


# ------------------------------------------------------------------------------------------------
# Settings

WANTED = WantedFilter(
    path="in.parquet",
    column="user_id",
    fpp=0.01,
    ndv=100_000,
    num_bytes=1 << 17,
    dictionary_bytes=900_000,
    only_dictionary=False,
)


def settings(**changes):
    return {each.writer: each.text for each in writer_settings(replace(WANTED, **changes))}


def test_settings_to_paste():
    assert settings() == {
        "pbloom": "pbloom build in.parquet -c user_id --fpp 0.01 -o out.parquet",
        "Spark": '.option("parquet.bloom.filter.enabled#user_id", "true")\n'
        '.option("parquet.bloom.filter.expected.ndv#user_id", "100000")\n'
        '.option("parquet.bloom.filter.fpp#user_id", "0.01")\n'
        '.option("parquet.bloom.filter.max.bytes", "1048576")',
        "pyarrow": 'pq.write_table(table, "out.parquet", bloom_filter_options='
        '{\'user_id\': {"ndv": 100000, "fpp": 0.01}})',
        "DuckDB": "COPY (FROM 'in.parquet') TO 'out.parquet' (FORMAT parquet,"
        " DICTIONARY_SIZE_LIMIT 100000, STRING_DICTIONARY_PAGE_SIZE_LIMIT 900000,"
        " BLOOM_FILTER_FALSE_POSITIVE_RATIO 0.01) -- for all columns",
        "DataFusion": "COPY t TO 'out.parquet' STORED AS PARQUET OPTIONS"
        " ('format.bloom_filter_enabled::user_id' 'true',"
        " 'format.bloom_filter_fpp::user_id' '0.01',"
        " 'format.bloom_filter_ndv::user_id' '100000')",
        "Iceberg": "ALTER TABLE t SET TBLPROPERTIES"
        " ('write.parquet.bloom-filter-enabled.column.user_id' = 'true',"
        " 'write.parquet.bloom-filter-fpp.column.user_id' = '0.01',"
        " 'write.parquet.bloom-filter-ndv.column.user_id' = '100000',"
        " 'write.parquet.bloom-filter-max-bytes' = '1048576')",
    }


def test_a_large_filter_lifts_the_limit_of_java():
    large = settings(num_bytes=4 << 20)
    assert large["Spark"].endswith('.option("parquet.bloom.filter.max.bytes", "4194304")')
    assert large["Iceberg"].endswith("'write.parquet.bloom-filter-max-bytes' = '4194304')")


def test_a_dictionary_is_turned_off_for_java():
    last = settings(only_dictionary=True)["Spark"].splitlines()[-1]
    assert last == '.option("parquet.enable.dictionary#user_id", "false")'


def test_names_are_quoted():
    odd = settings(path="it's.parquet", column='a "b" c\'d')
    assert odd["pbloom"].startswith("pbloom build 'it'\"'\"'s.parquet' -c 'a \"b\" c'\"'\"'d' ")
    assert odd["Spark"].startswith('.option("parquet.bloom.filter.enabled#a \\"b\\" c\'d", ')
    assert odd["DuckDB"].startswith("COPY (FROM 'it''s.parquet') ")
    assert "::a \"b\" c''d' 'true'" in odd["DataFusion"]
