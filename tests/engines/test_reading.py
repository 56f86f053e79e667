"""The table of engines: what it says, and that the manual says the same."""

from dataclasses import replace

import pytest
from conftest import ROOT

from parquet_bloom.engines.catalogue import engines
from parquet_bloom.engines.reading import engine_uses, kind_of
from parquet_bloom.parquet.footer.column_kind import column_kind
from parquet_bloom.parquet.footer.schema import BARE_VARIANT, LeafColumn
from parquet_bloom.values.types import LeafType, LogicalType


def leaf(physical, logical=None, path=("c",), repeated=0, length=0):
    return LeafColumn(0, path, LeafType(physical, length, logical), repeated, repeated)


def nested(*groups, path, repeated=0):
    return replace(leaf("INT64", path=path, repeated=repeated), groups=groups)


ADVISED = {engine.name: engine.parquet for engine in engines() if engine.parquet}

OF_FIELD = ("typed_value", "a", "typed_value")
OF_ARRAY = (*OF_FIELD, "list", "element", "typed_value")


def uses(column):
    return {use.engine: use.uses for use in engine_uses(column_kind(column))}


def reason(column, engine):
    return next(use.reason for use in engine_uses(column_kind(column)) if use.engine == engine)


def test_a_plain_integer_is_used_by_all_that_use_any():
    advised = {name: not reader.never for name, reader in ADVISED.items()}
    assert uses(leaf("INT64")) == advised
    assert [name for name, used in advised.items() if not used] == ["pyarrow", "Polars"]


@pytest.mark.parametrize(
    ("column", "users"),
    [
        (leaf("INT96"), set()),
        (leaf("BOOLEAN"), set()),
        (leaf("FIXED_LEN_BYTE_ARRAY", LogicalType("INTERVAL"), length=12), set()),
        (leaf("INT64", path=("l", "list", "element"), repeated=1), {"DuckDB"}),
        (nested("MAP", "", "", path=("m", "key_value", "value"), repeated=1), {"DuckDB"}),
        (nested("MAP", "", "KEY", path=("m", "key_value", "key"), repeated=1), set()),
        (
            leaf("INT64", path=("s", "id")),
            {"Spark", "DuckDB", "Iceberg", "ClickHouse", "Impala"},
        ),
        (nested("VARIANT", "", "", "", path=("v", *OF_FIELD)), {"DuckDB"}),
        (nested(BARE_VARIANT, "", "", "", path=("v", *OF_FIELD)), {"DuckDB"}),
        (nested("VARIANT", "", path=("v", "typed_value")), set()),
        (nested("VARIANT", "", path=("v", "value")), set()),
        (nested("VARIANT", "", "", "LIST", "", "", "", path=("v", *OF_ARRAY), repeated=1), set()),
        (
            leaf("INT64", LogicalType("TIMESTAMP", unit="MICROS", utc=False)),
            {"DuckDB", "Iceberg"},
        ),
        (
            leaf("INT64", LogicalType("TIMESTAMP", unit="MICROS", utc=True)),
            {"Spark", "DuckDB", "Iceberg"},
        ),
        (leaf("INT64", LogicalType("TIMESTAMP", unit="NANOS", utc=True)), {"DuckDB"}),
        (
            leaf("INT32", LogicalType("INTEGER", bit_width=32, signed=False)),
            {"DuckDB", "DataFusion", "ClickHouse"},
        ),
        (
            leaf("FIXED_LEN_BYTE_ARRAY", LogicalType("UUID"), length=16),
            {"DuckDB", "DataFusion", "Trino", "Iceberg"},
        ),
        (leaf("BYTE_ARRAY", LogicalType("DECIMAL", precision=9)), set()),
        (
            leaf("FIXED_LEN_BYTE_ARRAY", LogicalType("DECIMAL", precision=30), length=13),
            {"Spark", "DataFusion", "Iceberg"},
        ),
        (leaf("BYTE_ARRAY", LogicalType("ENUM")), {"DuckDB", "DataFusion", "Iceberg"}),
        (leaf("DOUBLE"), {"Spark", "DuckDB", "DataFusion", "Trino", "Iceberg", "Impala"}),
    ],
    ids=lambda case: f"{kind_of(case.type)} {case.name}" if isinstance(case, LeafColumn) else "",
)
def test_who_uses_what(column, users):
    assert {engine for engine, used in uses(column).items() if used} == users


def test_reasons():
    assert reason(leaf("INT96"), "Spark") == "not for INT96"
    assert reason(leaf("INT64", path=("s", "id")), "Trino") == "not for members of structs"
    assert reason(leaf("INT64", repeated=1), "Spark") == "not for elements of lists and maps"
    assert reason(leaf("INT64", path=("s", "id")), "ClickHouse") == "since 26.9, not in 25.8"
    since = "since 2.0, for l[1] = x and m['k'] = x, not for list_contains and UNNEST"
    assert reason(leaf("INT64", repeated=1), "DuckDB") == since
    key = nested("MAP", "", "KEY", path=("m", "key_value", "key"), repeated=1)
    assert reason(key, "DuckDB") == "not for keys of maps"
    residual = nested("VARIANT", "", path=("v", "value"))
    assert {reason(residual, name) for name in ("Spark", "DuckDB", "Iceberg", "Impala")} == {
        "not for parts of a VARIANT that are no typed fields"
    }
    field = nested("VARIANT", "", "", "", path=("v", *OF_FIELD))
    assert reason(field, "DuckDB").startswith("since 2.0, for v.a::INTEGER = x")
    assert reason(field, "Spark") == "not for fields of a VARIANT"
    bare = nested(BARE_VARIANT, "", "", "", path=("v", *OF_FIELD))
    assert reason(bare, "DuckDB").startswith("since 2.0, which takes the VARIANT for a struct")
    assert reason(bare, "Spark") == "not for fields of a VARIANT without its annotation"
    assert (
        reason(leaf("INT64"), "pyarrow")
        == "its readers ignore filters, but pb.rows and pb.dataset skip row groups by them"
    )
    assert reason(leaf("INT64"), "Spark") == ""
    text = leaf("BYTE_ARRAY", LogicalType("STRING"))
    assert reason(text, "Spark") == "not for CHAR(n) and collated columns"
    local = leaf("INT64", LogicalType("TIMESTAMP", unit="MILLIS", utc=False))
    assert reason(local, "Spark") == "not for local TIMESTAMP in MILLIS"


def test_the_page_has_the_table():
    """One row per kind, one column per engine that uses any filter."""
    text = (ROOT / "docs" / "engines.md").read_text()
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text[text.index("| values | Spark") :].split("\n\n")[0].splitlines()
    ]
    users = {name: reader.uses for name, reader in ADVISED.items() if not reader.never}
    assert rows[0] == ["values", *users]
    told = {row[0]: [cell != "" for cell in row[1:]] for row in rows[2:]}
    assert told.keys() == set().union(*users.values())
    assert told == {kind: [kind in used for used in users.values()] for kind in told}
