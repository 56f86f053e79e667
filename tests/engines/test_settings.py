"""The settings for other writers, as text; test_advice_interop.py pastes them."""

import shlex
from dataclasses import replace

import pytest

from parquet_bloom.commands.parameters import names
from parquet_bloom.engines.settings import InTable, WantedFilter, all_settings
from parquet_bloom.filters.sizing import MAX_BYTES

WANTED = WantedFilter(
    path="in.parquet",
    column_path=("user_id",),
    fpp=0.01,
    ndv=100_000,
    rows=100_000,
    num_bytes=1 << 17,
    dictionary_bytes=900_000,
    only_dictionary=False,
)


def settings(*names, max_bytes=MAX_BYTES, **changes):
    path = {"column_path": names} if names else {}
    wanted = replace(WANTED, **path, **changes)
    return {each.writer: each.text for each in all_settings("parquet", wanted, max_bytes)}


def test_settings_to_paste():
    assert settings() == {
        "pbloom": "pbloom build in.parquet -c user_id --fpp 0.01 -o out.parquet",
        "Spark": '.option("parquet.bloom.filter.enabled#user_id", "true")\n'
        '.option("parquet.bloom.filter.expected.ndv#user_id", "100000")\n'
        '.option("parquet.bloom.filter.fpp#user_id", "0.01")\n'
        '.option("parquet.bloom.filter.max.bytes", "1048576")\n'
        '.option("parquet.block.row.count.limit", "100000")',
        "pyarrow": 'pq.write_table(table, "out.parquet", row_group_size=100000, bloom_filter_options='
        '{\'user_id\': {"ndv": 100000, "fpp": 0.01}})',
        "DuckDB": "COPY (FROM read_parquet('in.parquet')) TO 'out.parquet' (FORMAT parquet,"
        " ROW_GROUP_SIZE 100352, DICTIONARY_SIZE_LIMIT 100352, STRING_DICTIONARY_PAGE_SIZE_LIMIT 903168,"
        " BLOOM_FILTER_FALSE_POSITIVE_RATIO 0.01) -- for all columns",
        "DataFusion": "COPY t TO 'out.parquet' STORED AS PARQUET OPTIONS"
        " ('format.bloom_filter_enabled::user_id' 'true',"
        " 'format.bloom_filter_fpp::user_id' '0.01',"
        " 'format.bloom_filter_ndv::user_id' '100000', 'format.max_row_group_size' '100000')",
        "Iceberg": "ALTER TABLE t SET TBLPROPERTIES"
        " ('write.parquet.bloom-filter-enabled.column.user_id' = 'true',"
        " 'write.parquet.bloom-filter-fpp.column.user_id' = '0.01',"
        " 'write.parquet.bloom-filter-ndv.column.user_id' = '100000',"
        " 'write.parquet.bloom-filter-max-bytes' = '1048576')"
        " -- for row groups of up to 100000 rows",
    }


def test_a_large_filter_lifts_the_limit_of_java():
    large = settings(num_bytes=4 << 20)
    assert '.option("parquet.bloom.filter.max.bytes", "4194304")' in large["Spark"]
    assert "'write.parquet.bloom-filter-max-bytes' = '4194304')" in large["Iceberg"]


def test_rows_come_in_vectors():
    """DuckDB takes more rows than were measured, which may have as many more values."""
    few = settings(ndv=30, rows=40, dictionary_bytes=1000)["DuckDB"]
    assert "ROW_GROUP_SIZE 2048, DICTIONARY_SIZE_LIMIT 1536, " in few
    assert "STRING_DICTIONARY_PAGE_SIZE_LIMIT 51200, " in few
    whole = settings(ndv=30, rows=4096)["DuckDB"]
    assert "ROW_GROUP_SIZE 4096, DICTIONARY_SIZE_LIMIT 30, " in whole


@pytest.mark.parametrize(("digits", "has_some"), [(18, True), (19, False)])
def test_duckdb_writes_no_filters_of_long_decimals(digits, has_some):
    assert ("DuckDB" in settings(digits=digits)) == has_some


def test_a_dictionary_is_turned_off_for_java():
    last = settings(only_dictionary=True)["Spark"].splitlines()[-1]
    assert last == '.option("parquet.enable.dictionary#user_id", "false")'


def test_what_cannot_write_encrypted_files_is_not_told_of_them():
    keys = ("--footer-key", "env:FOOTER,hex")
    found = settings(path="a.parquet", is_encrypted=True, keys=keys)
    assert [*found] == ["pbloom", "Spark"]
    assert found["pbloom"].endswith(" -o out.parquet --footer-key env:FOOTER,hex")


def test_names_are_quoted():
    odd = settings('a "b" c\'d', path="it's.parquet")
    assert odd["Spark"].startswith('.option("parquet.bloom.filter.enabled#a \\"b\\" c\'d", ')
    assert odd["DuckDB"].startswith("COPY (FROM read_parquet('it''s.parquet')) ")
    assert "::a \"b\" c''d' 'true'" in odd["DataFusion"]


@pytest.mark.parametrize(
    "name", ["a,b", '"', '""', '"x", y', "new\nline", "it's", "$HOME", "`x`", "-c", " ", "#", "ü"]
)
def test_the_command_takes_the_name_as_it_is(name):
    """Through a shell and through the option, where commas separate names."""
    words = shlex.split(settings(name)["pbloom"])
    assert names(None, None, (words[words.index("-c") + 1],)) == (name,)


def test_a_path_is_no_option():
    assert shlex.split(settings(path="-c.parquet")["pbloom"])[2] == "./-c.parquet"


def test_a_limit_and_an_fpp_are_passed_on():
    assert settings(max_bytes=4096, fpp=0.0123456789)["pbloom"] == (
        "pbloom build in.parquet -c user_id --fpp 0.0123456789 --max-bytes 4096 -o out.parquet"
    )


def test_strings_are_for_every_language():
    """Python takes the two halves of a surrogate pair for two characters."""
    assert settings("\U0001f600")["Spark"].startswith(
        '.option("parquet.bloom.filter.enabled#\U0001f600", "true")'
    )


@pytest.mark.parametrize("names", [("dot.ted",), ("member", "i.d")])
def test_dots_in_names_cannot_be_said_to_all(names):
    found = settings(*names)
    assert list(found) == ["pbloom", "DuckDB", "DataFusion", "pyarrow"]
    assert "::" not in found["DataFusion"]


@pytest.mark.parametrize("name", ["ID", "dot.ted", "Größe"])
def test_datafusion_takes_some_names_only_as_all_columns(name):
    assert settings(name)["DataFusion"] == (
        "COPY t TO 'out.parquet' STORED AS PARQUET OPTIONS ('format.bloom_filter_on_write' 'true',"
        " 'format.bloom_filter_fpp' '0.01', 'format.bloom_filter_ndv' '100000',"
        " 'format.max_row_group_size' '100000') -- for all columns"
    )


def test_members_of_structs_are_dotted():
    found = settings("member", "id")
    assert "'format.bloom_filter_enabled::member.id' 'true'" in found["DataFusion"]
    assert '"parquet.bloom.filter.enabled#member.id"' in found["Spark"]


def test_only_what_writes_into_a_table_is_told_of_its_files():
    """Options of Spark's do not get into either."""
    of_iceberg = settings(path="lake.events", table=InTable("iceberg", ("--table", "iceberg")))
    assert of_iceberg == {
        "pbloom": "pbloom build lake.events -c user_id --fpp 0.01 --table iceberg",
        "Iceberg": settings()["Iceberg"],
    }
    of_delta = settings(
        path="lake/events", table=InTable("delta", ("--table", "delta")), max_bytes=64
    )
    assert of_delta == {
        "pbloom": "pbloom build lake/events -c user_id --fpp 0.01 --max-bytes 64 --table delta"
    }
    assert list(settings(table=InTable("iceberg", None))) == ["Iceberg"]
