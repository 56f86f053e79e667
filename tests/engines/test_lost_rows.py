"""Readers that look up other bytes than those that are stored: who is told, and of which columns."""

from dataclasses import replace
from decimal import Decimal

import pyarrow as pa
import pytest
from make.commands import outcome
from make.leaves import leaf
from make.parquet_files import written

import parquet_bloom as pb
from parquet_bloom.engines.reading import engine_uses, lost_rows
from parquet_bloom.parquet.footer.column_kind import column_kind
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.verbs.validate import validate

DATAFUSION = (
    "DataFusion before 55 loses rows even with correct filters: it looks up 16 bytes for a DECIMAL, however"
    " many are stored"
)
DUCKDB = (
    "DuckDB 1.5 loses rows even with correct filters: it looks up the text that it shows for bytes, such as"
    r" \xFF for 0xff"
)
DUCKDB_DECIMAL = (
    "DuckDB 1.2 to 2.0 loses rows even with correct filters: it looks up a DECIMAL of more than 38 digits as a"
    " DOUBLE"
)


def column(spelling, path=("v",), repeated=0):
    return LeafColumn(0, path, leaf(spelling), repeated, repeated)


def lost(leaf):
    return [str(each) for each in lost_rows(column_kind(leaf))]


@pytest.mark.parametrize(
    ("spelling", "expected"),
    [
        ("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", DATAFUSION),
        ("FIXED_LEN_BYTE_ARRAY(20) DECIMAL(9,2)", DATAFUSION),
        ("FIXED_LEN_BYTE_ARRAY(16) DECIMAL(38,2)", None),
        ("FIXED_LEN_BYTE_ARRAY(17) DECIMAL(39,2)", DUCKDB_DECIMAL),
        ("BYTE_ARRAY DECIMAL(39,2)", DUCKDB_DECIMAL),
        ("BYTE_ARRAY DECIMAL(38,2)", None),
        ("INT64 DECIMAL(18,2)", None),
        ("BYTE_ARRAY", DUCKDB),
        ("FIXED_LEN_BYTE_ARRAY(5)", DUCKDB),
        ("BYTE_ARRAY STRING", None),
        ("FIXED_LEN_BYTE_ARRAY(16) UUID", None),
        ("INT96", None),
    ],
)
def test_which_types(spelling, expected):
    assert lost(column(spelling)) == ([expected] if expected else [])


def test_nested_columns():
    """DataFusion uses no filters of theirs, DuckDB since 2.0, and nobody those of the keys of a map."""
    member, element = ("s", "v"), ("l", "list", "element")
    assert lost(column("FIXED_LEN_BYTE_ARRAY(4) DECIMAL(9,2)", member)) == []
    assert lost(column("BYTE_ARRAY", member)) == []
    assert lost(column("BYTE_ARRAY", element, repeated=1)) == []
    nested = DUCKDB_DECIMAL.replace("1.2 to 2.0", "2.0")
    long = "FIXED_LEN_BYTE_ARRAY(17) DECIMAL(39,2)"
    assert lost(column(long, member)) == [nested]
    assert lost(column(long, element, repeated=1)) == [nested]
    key = replace(column(long, ("m", "key_value", "key"), repeated=1), groups=("MAP", "", "KEY"))
    assert lost(key) == []


@pytest.fixture
def path(tmp_path):
    values = [Decimal(row) for row in range(3)]
    table = pa.table(
        {
            "amount": pa.array(values, pa.decimal128(9, 2)),
            "price": pa.array(values, pa.decimal128(12, 2)),
            "data": pa.array([b"a", b"\xff", b"c"]),
            "name": ["a", "b", "c"],
        }
    )
    path = tmp_path / "lost.parquet"
    path.write_bytes(written(table))
    return path


def test_build_notes_it_once_for_all_columns_of_a_kind(path):
    report = pb.build(path, in_place=True, columns=["amount", "price", "data", "name"])
    assert report.notes == (f"columns amount, price: {DATAFUSION}", f"column data: {DUCKDB}")
    again = outcome("build", path, "-c", "data", "--existing", "replace", "--in-place")
    assert f"note: column data: {DUCKDB}\n" in again.stdout


def test_validate_finds_it(path):
    pb.build(path, in_place=True, columns=["amount", "data", "name"])
    found = [
        (each.column, each.message) for each in validate(path).findings if each.rule == "PB212"
    ]
    assert found == [("amount", DATAFUSION), ("data", DUCKDB)]


def test_advise_says_it_of_the_engine(path):
    of_engine = {each.engine: each for each in pb.advise(path).columns[0].engines}
    assert of_engine["DataFusion"].uses
    assert of_engine["DataFusion"].reason == DATAFUSION
    column_of_many_digits = column("BYTE_ARRAY DECIMAL(39,2)")
    (duckdb,) = (
        each for each in engine_uses(column_kind(column_of_many_digits)) if each.engine == "DuckDB"
    )
    assert not duckdb.uses
    assert duckdb.reason == f"not for DECIMAL in BYTE_ARRAY; {DUCKDB_DECIMAL}"
