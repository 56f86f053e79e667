"""Which engines use the Bloom filters of a Parquet column, and why the others do not.

An engine uses filters for the types whose literals it converts to stored bytes, as far as its
source, its documentation or an experiment tells. That holds for top-level columns. For members of
structs, elements of lists, values of maps and fields of a VARIANT, docs/engines.md has what was measured;
no engine uses filters for the keys of maps.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.parquet import shredded
from parquet_bloom.parquet.mishashed import mishashed
from parquet_bloom.values.types import LeafType

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.schema import LeafColumn

# Where a leaf is, if it is no column of its own.
MEMBERS: Final = "members of structs"
ELEMENTS: Final = "elements of lists and maps"
KEYS: Final = "keys of maps"
FIELDS: Final = "fields of a VARIANT"
BARE_FIELDS: Final = "fields of a VARIANT without its annotation"
IN_VARIANT: Final = "parts of a VARIANT that are no typed fields"

NO_ELEMENTS: Final = f"not for {ELEMENTS}"


@dataclass(frozen=True, slots=True)
class EngineUse:
    """Whether an engine uses the filters of a column; `reason` is why not, or a caveat."""

    engine: str
    uses: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Engine:
    """`never`: why it uses no filters at all; `nested`: which leaves below the top it uses them for, and
    when, if not always; `caveats`: by kind of values, where it does not."""

    name: str
    source: str
    never: str = ""
    nested: Mapping[str, str] = field(default_factory=dict)
    caveats: Mapping[str, str] = field(default_factory=dict)


_IS_UUID = "not where the file's Arrow schema says UUID"

ENGINES = (
    Engine(
        "Spark",
        "spark ParquetFilters.scala, makeEq; measured with 4.3",
        nested={MEMBERS: ""},
        caveats={"STRING": "not for CHAR(n) and collated columns"},
    ),
    Engine(
        "DuckDB",
        "duckdb extension/parquet/parquet_statistics.cpp; measured with 2.0",
        nested={
            MEMBERS: "since 2.0",
            ELEMENTS: "since 2.0, for l[1] = x and m['k'] = x, not for list_contains and UNNEST",
            FIELDS: "since 2.0, for v.a::INTEGER = x with the type that is stored, if all values of the"
            " field are of this type",
            BARE_FIELDS: "since 2.0, which takes the VARIANT for a struct, as the annotation is missing",
        },
    ),
    Engine(
        "DataFusion",
        "datafusion datasource-parquet/src/row_group_filter.rs, check_scalar; measured with 55",
        caveats={"UUID": _IS_UUID, "FIXED_LEN_BYTE_ARRAY": _IS_UUID},
    ),
    Engine(
        "Trino",
        "trino TupleDomainParquetPredicate.java, checkInBloomFilter; trino issue 21538",
    ),
    Engine("Iceberg", "iceberg ParquetBloomRowGroupFilter.java", nested={MEMBERS: ""}),
    Engine(
        "ClickHouse",
        "ClickHouse parquetBloomFilterHash.cpp; measured with 26.9",
        nested={MEMBERS: "since 26.9, not in 25.8"},
    ),
    Engine(
        "Impala",
        "impala parquet-bloom-filter-util.cc, IsParquetBloomFilterSupported",
        nested={MEMBERS: ""},
    ),
    Engine("pyarrow", "arrow docs/source/cpp/parquet.rst", "its readers ignore filters"),
    Engine("Polars", "polars pull request 27837", "it ignores filters so far"),
)

# The engines that use filters, by kind of values (see `kind_of`).
USERS = {
    "8-bit integers": "Spark DuckDB Trino ClickHouse Impala",
    "16-bit integers": "Spark DuckDB Trino ClickHouse Impala",
    "32-bit integers": "Spark DuckDB DataFusion Trino Iceberg ClickHouse Impala",
    "64-bit integers": "Spark DuckDB DataFusion Trino Iceberg ClickHouse Impala",
    "8-bit unsigned integers": "DuckDB ClickHouse",
    "16-bit unsigned integers": "DuckDB ClickHouse",
    "32-bit unsigned integers": "DuckDB DataFusion ClickHouse",
    "64-bit unsigned integers": "DuckDB DataFusion ClickHouse",
    "FLOAT": "Spark DuckDB DataFusion Trino Iceberg Impala",
    "DOUBLE": "Spark DuckDB DataFusion Trino Iceberg Impala",
    "FLOAT16": "DuckDB",
    "DECIMAL in INT32": "Spark DuckDB DataFusion Iceberg",
    "DECIMAL in INT64": "Spark DuckDB DataFusion Iceberg",
    "DECIMAL in FIXED_LEN_BYTE_ARRAY": "Spark DataFusion Iceberg",
    "DATE": "Spark DuckDB Trino Iceberg",
    "local TIME": "DuckDB",
    "TIMESTAMP in MILLIS": "Spark DuckDB",
    "TIMESTAMP in MICROS": "Spark DuckDB Iceberg",
    "TIMESTAMP in NANOS": "DuckDB",
    "local TIMESTAMP in MILLIS": "DuckDB",
    "local TIMESTAMP in MICROS": "DuckDB Iceberg",
    "local TIMESTAMP in NANOS": "DuckDB",
    "STRING": "Spark DuckDB DataFusion Trino Iceberg ClickHouse Impala",
    "ENUM": "DuckDB DataFusion Iceberg",
    "JSON": "DuckDB DataFusion Iceberg",
    "BSON": "DataFusion Iceberg ClickHouse",
    "UUID": "DuckDB DataFusion Trino Iceberg",
    "BYTE_ARRAY": "Spark DuckDB DataFusion Trino Iceberg ClickHouse Impala",
    "FIXED_LEN_BYTE_ARRAY": "DuckDB DataFusion Iceberg ClickHouse",
}


def kind_of(leaf: LeafType) -> str:
    """What the values of a column are, in the words of USERS."""
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


def nesting_of(leaf: LeafColumn) -> str:
    """Where a leaf is, in the words of `Engine.nested`; empty for a column of its own."""
    if shredded.is_in_variant(leaf):
        of_field = BARE_FIELDS if shredded.is_bare(leaf) else FIELDS
        return of_field if shredded.is_field(leaf) else IN_VARIANT
    if "KEY" in leaf.groups:
        return KEYS
    if leaf.max_repetition_level:
        return ELEMENTS
    return MEMBERS if len(leaf.path) > 1 else ""


def engine_uses(leaf: LeafColumn) -> tuple[EngineUse, ...]:
    """Whether each of ENGINES uses a column's filters."""
    return tuple(EngineUse(engine.name, *_use(engine, leaf)) for engine in ENGINES)


def _use(engine: Engine, leaf: LeafColumn) -> tuple[bool, str]:
    uses, reason = _use_of_kind(engine, leaf)
    lost = mishashed(leaf)
    if lost is not None and lost.reader == engine.name:
        return uses, "; ".join(filter(None, (reason, str(lost))))
    return uses, reason


def _use_of_kind(engine: Engine, leaf: LeafColumn) -> tuple[bool, str]:
    kind = kind_of(leaf.type)
    if engine.never:
        return False, engine.never
    nesting = nesting_of(leaf)
    if nesting and nesting not in engine.nested:
        return False, f"not for {nesting}"
    if engine.name not in USERS.get(kind, "").split():
        return False, f"not for {kind}"
    caveats = engine.nested.get(nesting, ""), engine.caveats.get(kind, "")
    return True, "; ".join(filter(None, caveats))


def seldom_asked(type: LeafType) -> str:
    """What the values are, if they are seldom looked up by equality; else empty.

    Amounts and points in time are looked up by range. Decimals without a fraction can be keys.
    """
    if type.is_float:
        return "floating-point numbers"
    if type.logical_name == "DECIMAL" and type.logical and type.logical.scale > 0:
        return "decimals with a fraction"
    if type.logical_name in ("TIME", "TIMESTAMP"):
        return "points in time"
    return ""
