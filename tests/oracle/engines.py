"""SQL engines: DuckDB, DataFusion and Spark, and how much of a file they scan for a query."""

import importlib.util
import re
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from oracle.arrow import comparable
from oracle.programs import Kept
from oracle.stored import Leaf, stored_values


class DuckDB:
    """DuckDB: `parquet_bloom_probe` row group by row group, and the answers of ordinary queries."""

    needs = "duckdb"

    @staticmethod
    def is_here() -> bool:
        return importlib.util.find_spec("duckdb") is not None

    def __init__(self) -> None:
        import duckdb

        self._connection = duckdb.connect(
            config={"autoinstall_known_extensions": "false", "threads": "1"}
        )
        self._connection.execute("SET TimeZone = 'UTC'")
        self._kinds: dict[tuple[Path, int, str], str] = {}

    def asks(self, leaf: Leaf) -> bool:
        """Whether a query can compare the column with a literal. FLOAT16 has a test of its own."""
        return not leaf.repeated and leaf.logical_type != "FLOAT16"

    def prunes(self, leaf: Leaf) -> bool:
        """Whether the Bloom filters of such a column are used for queries."""
        logical = leaf.logical_type or ""
        as_bytes = leaf.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY")
        return not (
            leaf.repeated
            or leaf.physical_type == "INT96"
            or logical == "INTERVAL"
            or (logical.startswith("DECIMAL") and as_bytes)
            or (logical.startswith("TIME(") and logical.endswith("true)"))
        )

    def probes(self, leaf: Leaf) -> bool:
        """Whether `parquet_bloom_probe` answers for the column.

        It takes top-level columns only. For JSON (DuckDB 2.0) it excludes every value, even those
        that a query finds in the same filter.
        """
        return (
            self.asks(leaf)
            and self.prunes(leaf)
            and "." not in leaf.path
            and leaf.logical_type != "JSON"
        )

    def kept(self, path: Path, leaf: Leaf, literal: str) -> Kept:
        probe = f"parquet_bloom_probe({_sql(str(path))}, {_sql(leaf.path)}, {{}})"
        value = self._literal(path, leaf, literal)
        answers = self._connection.execute(
            f"SELECT row_group_id, bloom_filter_excludes FROM {probe.format(value)}"
        ).fetchall()
        return frozenset(row_group for row_group, excludes in answers if not excludes)

    def count(self, path: Path, leaf: Leaf, literal: str) -> tuple[int, int]:
        """Rows where the column equals the literal, and row groups that were scanned for them."""
        query = (
            f"SELECT count(*) FROM {_sql(str(path))} "
            f"WHERE {_dotted(leaf)} = {self._literal(path, leaf, literal)}"
        )
        rows = self._connection.execute(query).fetchall()[0][0]
        plan = self._connection.execute(f"EXPLAIN ANALYZE {query}").fetchall()[0][1]
        # A plan without a scan has been answered by the statistics.
        scanned = re.search(r"Row Groups Scanned: (\d+) / \d+", plan)
        return rows, int(scanned[1]) if scanned else 0

    def _literal(self, path: Path, leaf: Leaf, literal: str) -> str:
        if leaf.logical_type == "INTERVAL":
            months, days, millis = struct.unpack("<3I", bytes.fromhex(literal[2:]))
            return f"(to_months({months}) + to_days({days}) + to_milliseconds({millis}))"
        kind = self._kind(path, leaf)
        text = literal
        if kind == "BLOB":
            (stored,) = stored_values(leaf, literal)
            text = "".join(f"\\x{byte:02X}" for byte in stored.data)
        return f"CAST({_sql(text)} AS {kind})"

    def _kind(self, path: Path, leaf: Leaf) -> str:
        """DuckDB's type of a column; it is asked once, as that takes as long as a query."""
        key = path, path.stat().st_mtime_ns, _dotted(leaf)
        if key not in self._kinds:
            described = self._connection.execute(
                f"DESCRIBE SELECT {_dotted(leaf)} AS it FROM {_sql(str(path))}"
            ).fetchall()
            self._kinds[key] = described[0][1]
        return self._kinds[key]

    def write(self, query: str, path: Path) -> None:
        """The answer of a query as a Parquet file, with the filters that DuckDB adds by itself."""
        self._connection.execute(f"COPY ({query}) TO {_sql(str(path))} (FORMAT parquet)")

    def rows(self, path: Path) -> list[str]:
        return comparable(self._connection.sql(f"FROM {_sql(str(path))}").to_arrow_table())


class DataFusion:
    """DataFusion, whose scan says how many row groups its Bloom filters spared it.

    Statistics prune first and cannot be switched off alone: what they leave is what the filters see.
    """

    needs = "datafusion"

    @staticmethod
    def is_here() -> bool:
        return importlib.util.find_spec("datafusion") is not None

    def __init__(self) -> None:
        import datafusion

        options = {
            "datafusion.execution.target_partitions": "1",
            "datafusion.execution.parquet.bloom_filter_on_read": "true",
            "datafusion.execution.parquet.enable_page_index": "false",
            "datafusion.execution.parquet.pushdown_filters": "false",
        }
        self._session: Any = datafusion.SessionContext
        self._config = datafusion.SessionConfig(options)
        self._contexts: dict[Path, Any] = {}

    def _context(self, path: Path) -> Any:
        if path not in self._contexts:
            self._contexts[path] = self._session(self._config)
            self._contexts[path].register_parquet("t", str(path))
        return self._contexts[path]

    def asks(self, leaf: Leaf) -> bool:
        """Whether a query can compare the column with a literal."""
        return not leaf.repeated and leaf.logical_type != "INTERVAL"

    def prunes(self, leaf: Leaf) -> bool:
        """Whether the Bloom filters of such a column are used for certain."""
        logical = (leaf.logical_type or "").split("(")[0]
        widths = {"INTEGER(32,true)", "INTEGER(32,false)", "INTEGER(64,true)", "INTEGER(64,false)"}
        return (
            "." not in leaf.path
            and leaf.physical_type != "INT96"
            and (
                logical in ("STRING", "ENUM", "JSON", "DECIMAL")
                or leaf.logical_type in widths
                or (not logical and leaf.physical_type != "FIXED_LEN_BYTE_ARRAY")
            )
        )

    def count(self, path: Path, leaf: Leaf, literal: str) -> tuple[int, int]:
        """Rows where the column equals the literal, and row groups that the filters left over."""
        context = self._context(path)
        column, *fields = leaf.path.split(".")
        source = context.sql(f'SELECT "{column}" FROM t LIMIT 0').schema().field(column)
        selected = f'"{column}"'
        for field in fields:
            source = source.type.field(field)
            selected += f"['{field}']"
        parameters = {"literal": _arrow_scalar(source.type, leaf, literal)}
        query = f"SELECT count(*) AS n FROM t WHERE {selected} = $literal"
        rows = context.sql(query, param_values=parameters).to_pylist()[0]["n"]
        explained = context.sql(f"EXPLAIN ANALYZE {query}", param_values=parameters).to_pylist()
        # A plan without a scan has been answered by the statistics.
        left = re.search(
            r"row_groups_pruned_bloom_filter=\d+ total → (\d+) matched", explained[-1]["plan"]
        )
        return rows, int(left[1]) if left else 0

    def rows(self, path: Path) -> list[str]:
        context = self._context(path)
        # pyarrow has no Python class for an interval of days and milliseconds.
        selected = ", ".join(
            f'CAST("{field.name}" AS VARCHAR) AS "{field.name}"'
            if str(field.type) == "day_time_interval"
            else f'"{field.name}"'
            for field in context.sql("SELECT * FROM t LIMIT 0").schema()
        )
        return comparable(context.sql(f"SELECT {selected} FROM t").to_arrow_table())


# Spark reads through parquet-java; what it pushes down of a query is its own affair.


# Arrow's names of TIME in milliseconds, local TIMESTAMP in nanoseconds, FLOAT16 and UUID.
SPARK_REFUSES = ("time32", "time64", "timestamp[ns", "halffloat", "uuid")


def spark_rows(session: Any, path: Path) -> list[str]:
    """Rows as Spark reads them, without the columns of types that it refuses."""
    columns = _spark_columns(path)
    reader = session.read.schema(", ".join(columns)) if columns else session.read
    return [repr(row) for row in reader.parquet(str(path)).collect()]


def _spark_columns(path: Path) -> list[str]:
    """Names and types of what Spark can read, if that is not all; one column less fails them all."""
    from pyspark.errors import PySparkTypeError
    from pyspark.sql.pandas.types import from_arrow_type

    fields = pq.read_schema(path)
    refused = [f for f in fields if any(name in str(f.type) for name in SPARK_REFUSES)]
    if not refused:
        return []
    columns = []
    for field in fields:
        with suppress(PySparkTypeError):
            # parquet-java's INTERVAL is a column of nulls to pyarrow, and of no type to Spark.
            if field not in refused and field.type != pa.null():
                columns.append(f"`{field.name}` {from_arrow_type(field.type).simpleString()}")
    return columns


def spark_prunes(leaf: Leaf) -> bool:
    """Whether Spark pushes a comparison with such a column down."""
    logical = leaf.logical_type or ""
    return (
        not leaf.repeated
        and leaf.physical_type in ("INT32", "INT64", "FLOAT", "DOUBLE", "BYTE_ARRAY")
        and not logical.startswith("TIME(")
        and not (logical.startswith("TIMESTAMP") and logical.endswith("false)"))
        and not (logical.startswith("INTEGER") and logical.endswith("false)"))
    )


def spark_count(session: Any, path: Path, leaf: Leaf, literal: str) -> tuple[int, int]:
    """Rows where the column equals the literal, and rows that were scanned for them."""
    reader = session.read
    for level in ("stats", "dictionary", "columnindex"):
        reader = reader.option(f"parquet.filter.{level}.enabled", "false")
    frame = reader.parquet(str(path))
    column = ".".join(f"`{part}`" for part in leaf.path.split("."))
    kind = frame.selectExpr(column).schema[0].dataType.simpleString()
    value = f"X'{literal[2:]}'" if kind == "binary" else f"CAST({_sql(literal)} AS {kind})"
    frame = frame.where(f"{column} = {value}")
    rows = len(frame.collect())
    plan = frame._jdf.queryExecution().executedPlan()
    scan = plan.collectLeaves().apply(0)
    return rows, scan.metrics().get("numOutputRows").get().value()


def _arrow_scalar(kind: pa.DataType, leaf: Leaf, literal: str) -> pa.Scalar:
    stored = stored_values(leaf, literal)[0]
    if pa.types.is_time(kind):
        return pa.scalar(int(stored.text), kind)
    if pa.types.is_interval(kind):
        months, days, millis = struct.unpack("<3I", stored.data)
        return pa.scalar(pa.MonthDayNano([months, days, millis * 1_000_000]), kind)
    if pa.types.is_timestamp(kind) and kind.tz is None:
        return pa.scalar(literal.removesuffix("Z")).cast(kind)
    if leaf.physical_type in ("BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY") and _is_bytes(kind):
        return pa.scalar(stored.data, kind)
    return pa.scalar(literal).cast(kind)


def _is_bytes(kind: pa.DataType) -> bool:
    return (
        pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
        or pa.types.is_binary_view(kind)
        or pa.types.is_fixed_size_binary(kind)
    )


def _sql(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _dotted(leaf: Leaf) -> str:
    return ".".join(f'"{part}"' for part in leaf.path.split("."))
