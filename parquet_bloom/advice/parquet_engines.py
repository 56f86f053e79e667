"""Which engines use the Bloom filters of a Parquet column, and why the others do not.

An engine uses filters for the types whose literals it converts to stored bytes, as far as its
source, its documentation or an experiment tells. That holds for top-level columns and members of
structs: no engine uses filters for the elements of lists and maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parquet_bloom.advice.engines import NO_ELEMENTS, EngineUse
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.values.types import LeafType


@dataclass(frozen=True, slots=True)
class Engine:
    """`types`: kinds of values (see `kind_of`) that it uses filters for; `members`: also in
    structs; `never`: why it uses none at all; `caveats`: by kind, where it does not."""

    name: str
    source: str
    types: frozenset[str] = frozenset()
    members: bool = True
    never: str = ""
    caveats: Mapping[str, str] = field(default_factory=dict)


_WIDE = frozenset({"32-bit integers", "64-bit integers"})
_INTEGERS = _WIDE | {"8-bit integers", "16-bit integers"}
_WIDE_UNSIGNED = frozenset({"32-bit unsigned integers", "64-bit unsigned integers"})
_UNSIGNED = _WIDE_UNSIGNED | {"8-bit unsigned integers", "16-bit unsigned integers"}
_FLOATS = frozenset({"FLOAT", "DOUBLE"})
_INTEGER_DECIMALS = frozenset({"DECIMAL in INT32", "DECIMAL in INT64"})
_TIMESTAMPS = frozenset({"TIMESTAMP in MILLIS", "TIMESTAMP in MICROS"})
_LOCAL = frozenset({"local TIMESTAMP in MILLIS", "local TIMESTAMP in MICROS"})
_NANOS = frozenset({"TIMESTAMP in NANOS", "local TIMESTAMP in NANOS"})

ENGINES = (
    Engine(
        "Spark",
        "spark ParquetFilters.scala, makeEq; measured with 4.3",
        _INTEGERS
        | _FLOATS
        | _INTEGER_DECIMALS
        | _TIMESTAMPS
        | {"STRING", "BYTE_ARRAY", "DATE", "DECIMAL in FIXED_LEN_BYTE_ARRAY"},
        caveats={"STRING": "not for CHAR(n) and collated columns"},
    ),
    Engine(
        "DuckDB",
        "duckdb extension/parquet/parquet_statistics.cpp; measured with 2.0",
        _INTEGERS
        | _FLOATS
        | _INTEGER_DECIMALS
        | _TIMESTAMPS
        | _LOCAL
        | _NANOS
        | _UNSIGNED
        | {"STRING", "ENUM", "JSON", "BSON", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY", "UUID"}
        | {"DATE", "local TIME", "FLOAT16"},
    ),
    Engine(
        "DataFusion",
        "datafusion datasource-parquet/src/row_group_filter.rs, check_scalar; measured with 55",
        _WIDE
        | _WIDE_UNSIGNED
        | _FLOATS
        | _INTEGER_DECIMALS
        | {"STRING", "ENUM", "JSON", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY", "UUID"}
        | {"DECIMAL in FIXED_LEN_BYTE_ARRAY"},
        members=False,
        caveats=dict.fromkeys(
            ("UUID", "FIXED_LEN_BYTE_ARRAY"), "not where the file's Arrow schema says UUID"
        ),
    ),
    Engine(
        "Trino",
        "trino TupleDomainParquetPredicate.java, checkInBloomFilter; trino issue 21538",
        _INTEGERS | _FLOATS | {"STRING", "BYTE_ARRAY", "DATE", "UUID"},
        members=False,
    ),
    Engine(
        "Iceberg",
        "iceberg ParquetBloomRowGroupFilter.java",
        _WIDE
        | _FLOATS
        | _INTEGER_DECIMALS
        | {"STRING", "ENUM", "JSON", "BSON", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY", "UUID", "DATE"}
        | {"TIMESTAMP in MICROS", "local TIMESTAMP in MICROS"}
        | {"DECIMAL in FIXED_LEN_BYTE_ARRAY"},
    ),
    Engine(
        "ClickHouse",
        "ClickHouse parquetBloomFilterHash.cpp",
        _INTEGERS | _UNSIGNED | {"STRING", "JSON", "BSON", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"},
        members=False,
    ),
    Engine(
        "Impala",
        "impala parquet-bloom-filter-util.cc, IsParquetBloomFilterSupported",
        _INTEGERS | _FLOATS | {"STRING", "BYTE_ARRAY"},
    ),
    Engine(
        "pyarrow",
        "arrow docs/source/cpp/parquet.rst",
        never="its readers ignore filters",
    ),
    Engine(
        "Polars",
        "polars pull request 27837",
        never="it ignores filters so far",
    ),
)


def kind_of(leaf: LeafType) -> str:
    """What the values of a column are, in the words of the table above."""
    logical = leaf.logical
    match leaf.logical_name:
        case "DECIMAL":
            return f"DECIMAL in {leaf.physical}"
        case "TIME" if logical:
            return "TIME" if logical.utc else "local TIME"
        case "TIMESTAMP" if logical:
            return f"{'' if logical.utc else 'local '}TIMESTAMP in {logical.unit}"
        case "INTEGER" if logical:
            return f"{logical.bit_width}-bit {'' if logical.signed else 'unsigned '}integers"
        case "":
            plain = {"INT32": "32-bit integers", "INT64": "64-bit integers"}
            return plain.get(leaf.physical, leaf.physical)
        case name:
            return name


def engine_uses(leaf: LeafColumn) -> tuple[EngineUse, ...]:
    """Whether each engine uses a column's filters, in the order of ENGINES."""
    return tuple(_use(engine, leaf) for engine in ENGINES)


def _use(engine: Engine, leaf: LeafColumn) -> EngineUse:
    kind = kind_of(leaf.type)
    if engine.never:
        return EngineUse(engine.name, False, engine.never)
    if leaf.max_repetition_level:
        return EngineUse(engine.name, False, NO_ELEMENTS)
    if kind not in engine.types:
        return EngineUse(engine.name, False, f"not for {kind}")
    if len(leaf.path) > 1 and not engine.members:
        return EngineUse(engine.name, False, "not for members of structs")
    return EngineUse(engine.name, True, engine.caveats.get(kind, ""))
