"""Other implementations of Parquet, asked what they make of a file and of its Bloom filters.

Nothing here imports `parquet_bloom`: a literal becomes stored bytes by a conversion of this module's
own, and every verdict is another reader's. `tests/oracle/judges/README.md` tells what each of them takes.

Where a judge says which row groups may hold a value, the answer is a `frozenset` of row group
ordinals; a row group without a filter is always among them, unless a judge says otherwise.
"""

import calendar
import datetime
import importlib.util
import json
import re
import shutil
import struct
import subprocess
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from decimal import Context, Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

JUDGES = Path(__file__).parent / "judges"

Kept = frozenset[int]

# ------------------------------------------------------------------------------------------------
# A literal and the bytes that are stored for it


@dataclass(frozen=True)
class FileKeys:
    """What an encrypted file is opened with: a prefix only if the file does not store it."""

    footer: bytes
    columns: Mapping[str, bytes]
    aad_prefix: bytes = b""

    @property
    def columns_text(self) -> list[str]:
        return [f"{path}={key.hex()}" for path, key in self.columns.items()]


@dataclass(frozen=True)
class Leaf:
    """A leaf column as its file describes it; `length` is that of a FIXED_LEN_BYTE_ARRAY."""

    path: str
    physical_type: str
    logical_type: str | None
    length: int
    repeated: bool


@dataclass(frozen=True)
class Stored:
    """A value as it is stored: `data` is its PLAIN encoding, without the length of a BYTE_ARRAY."""

    leaf: Leaf
    data: bytes

    @property
    def text(self) -> str:
        """The value for a judge's list of queries: a number in decimal, bytes in hexadecimal."""
        form = {"INT32": "<i", "INT64": "<q", "FLOAT": "<f", "DOUBLE": "<d"}.get(
            self.leaf.physical_type
        )
        return repr(struct.unpack(form, self.data)[0]) if form else self.data.hex()


def leaves(path: Path, described: Iterable[dict[str, Any]]) -> dict[str, Leaf]:
    """The leaf columns of a description, with what only the file's schema knows about them."""
    schema = pq.read_metadata(path).schema
    columns = {schema.column(i).path: schema.column(i) for i in range(len(schema))}
    return {
        entry["column"]: Leaf(
            entry["column"],
            entry["physical_type"],
            entry["logical_type"],
            columns[entry["column"]].length,
            columns[entry["column"]].max_repetition_level > 0,
        )
        for entry in described
    }


def stored_values(leaf: Leaf, literal: str) -> tuple[Stored, ...]:
    """Every form in which a writer may have stored `literal`: one, but for BYTE_ARRAY decimals."""
    physical, logical = leaf.physical_type, leaf.logical_type or ""
    if physical == "INT96":
        return (Stored(leaf, _int96(literal)),)
    if physical in ("FLOAT", "DOUBLE"):
        return (Stored(leaf, struct.pack("<f" if physical == "FLOAT" else "<d", float(literal))),)
    if physical in ("INT32", "INT64"):
        size = 4 if physical == "INT32" else 8
        number = _stored_integer(logical, literal) % (1 << (8 * size))
        return (Stored(leaf, number.to_bytes(size, "little")),)
    if logical.startswith("DECIMAL") and physical == "BYTE_ARRAY":
        number = _unscaled(logical, literal)
        shortest = len(_minimal(number))
        lengths = range(shortest, max(16, shortest) + 1)
        return tuple(Stored(leaf, number.to_bytes(n, "big", signed=True)) for n in lengths)
    return (Stored(leaf, _stored_bytes(leaf, logical, literal)),)


def _stored_bytes(leaf: Leaf, logical: str, literal: str) -> bytes:
    if logical.startswith("DECIMAL"):
        return _unscaled(logical, literal).to_bytes(leaf.length, "big", signed=True)
    if logical == "UUID":
        return uuid.UUID(literal).bytes
    if logical == "FLOAT16":
        return struct.pack("<e", float(literal))
    if logical in ("STRING", "ENUM", "JSON"):
        return literal.encode()
    return bytes.fromhex(literal.removeprefix("0x"))


def _stored_integer(logical: str, literal: str) -> int:
    kind, *arguments = re.split(r"[(,)]", logical)
    if kind == "DECIMAL":
        return _unscaled(logical, literal)
    if kind == "DATE":
        return (datetime.date.fromisoformat(literal) - datetime.date(1970, 1, 1)).days
    if kind in ("TIME", "TIMESTAMP"):
        nanos = _nanoseconds(literal)
        unit = {"MILLIS": 1_000_000, "MICROS": 1_000, "NANOS": 1}[arguments[0]]
        assert nanos % unit == 0, f"{literal} is finer than {logical}"
        return nanos // unit
    return int(literal)


def _unscaled(logical: str, literal: str) -> int:
    scale = int(logical.rstrip(")").split(",")[1])
    # Up to 76 digits: more than the default context keeps.
    unscaled = Decimal(literal).scaleb(scale, Context(prec=100))
    assert unscaled == int(unscaled), f"{literal} is finer than {logical}"
    return int(unscaled)


def _minimal(number: int) -> bytes:
    magnitude = number if number >= 0 else ~number
    return number.to_bytes(magnitude.bit_length() // 8 + 1, "big", signed=True)


def _nanoseconds(literal: str) -> int:
    """Nanoseconds since the epoch, or since midnight where `literal` has no date."""
    date, _, time = literal.removesuffix("Z").rpartition("T")
    clock, _, fraction = time.partition(".")
    hours, minutes, seconds = (int(part) for part in clock.split(":"))
    year, month, day = (int(part) for part in (date or "1970-01-01").rsplit("-", 2))
    whole = calendar.timegm((year, month, day, hours, minutes, seconds))
    return whole * 1_000_000_000 + int(fraction.ljust(9, "0"))


def _int96(literal: str) -> bytes:
    """Nanoseconds within the day, then the Julian day; both little-endian."""
    day, nanos = divmod(_nanoseconds(literal), 86_400_000_000_000)
    return struct.pack("<qi", nanos, day + 2_440_588)


# ------------------------------------------------------------------------------------------------
# The bits in the file


def bitsets(path: Path) -> dict[tuple[int, str], bytes]:
    """Bitset of every filter, by row group and column, read where the footer points."""
    metadata = pq.read_metadata(path)
    data = path.read_bytes()
    found = {}
    for row_group in range(metadata.num_row_groups):
        for i in range(metadata.num_columns):
            chunk = metadata.row_group(row_group).column(i)
            if chunk.bloom_filter_offset is not None:
                end = chunk.bloom_filter_offset + chunk.bloom_filter_length
                module = data[chunk.bloom_filter_offset : end]
                found[row_group, chunk.path_in_schema] = module[-_num_bytes(module) :]
    return found


def _num_bytes(header: bytes) -> int:
    """BloomFilterHeader.numBytes: field 1, an i32 of Thrift's compact protocol."""
    assert header[0] == 0x15
    zigzag = shift = 0
    for byte in header[1:]:
        zigzag |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return zigzag >> 1


# ------------------------------------------------------------------------------------------------
# Programs


def _run(command: Sequence[str | Path]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]}: {done.stderr}"
    return done.stdout


class ParquetJava:
    """parquet-java, out of the jars that pyspark brings."""

    needs = "pyspark and a JDK"

    @staticmethod
    def is_here() -> bool:
        return bool(importlib.util.find_spec("pyspark") and shutil.which("javac"))

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        spec = importlib.util.find_spec("pyspark")
        assert spec is not None
        assert spec.origin is not None
        self._jars = f"{Path(spec.origin).parent / 'jars'}/*"
        sources = sorted(JUDGES.glob("*.java"))
        _run(["javac", "-nowarn", "-cp", self._jars, "-d", folder, *sources])

    def _java(
        self, program: str, *arguments: Path, keys: Mapping[Path, FileKeys] | None = None
    ) -> list[list[str]]:
        # Runs are short: the second compiler and the parallel collector cost more than they give.
        options = ["-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        classes = f"{self._folder}:{self._jars}"
        logging = "-Dlog4j2.level=ERROR"
        if keys:
            options.append(f"-Dkeys={self._written(keys)}")
        output = _run(["java", *options, logging, "-cp", classes, program, *arguments])
        return [line.split("\t") for line in output.splitlines()]

    def _written(self, keys: Mapping[Path, FileKeys]) -> Path:
        path = self._folder / "keys.tsv"
        _write_queries(
            path,
            (
                (str(file), own.footer.hex(), own.aad_prefix.hex(), ",".join(own.columns_text))
                for file, own in keys.items()
            ),
        )
        return path

    def encrypt(self, jobs: Iterable[tuple[Path, FileKeys, str]]) -> None:
        """Write files with these keys; an empty one is the footer's. The words are Encrypt's."""
        path = self._folder / "jobs.tsv"
        _write_queries(
            path,
            (
                (str(out), own.footer.hex(), own.aad_prefix.hex(), ",".join(own.columns_text), more)
                for out, own, more in jobs
            ),
        )
        self._java("Encrypt", path)

    def kept(
        self,
        values: Sequence[tuple[Path, Stored]],
        keys: Mapping[Path, FileKeys] | None = None,
    ) -> list[Kept | str]:
        """Row groups that remain for each value when only Bloom filters prune; or the refusal."""
        queries = self._folder / "queries.tsv"
        _write_queries(queries, ((str(path), *self._query(value)) for path, value in values))
        answers: list[Kept | str] = []
        for outcome, detail in self._java("Pushdown", queries, keys=keys):
            answers.append(_ordinals(detail) if outcome == "kept" else detail)
        assert len(answers) == len(values)
        return answers

    @staticmethod
    def _query(value: Stored) -> tuple[str, str, str]:
        kinds = {"INT32": "i32", "INT64": "i64", "FLOAT": "f32", "DOUBLE": "f64"}
        return value.leaf.path, kinds.get(value.leaf.physical_type, "binary"), value.text

    def bitsets(
        self, *paths: Path, keys: Mapping[Path, FileKeys] | None = None
    ) -> dict[Path, dict[tuple[int, str], bytes]]:
        """Bitset of every filter that parquet-java reads, by file."""
        found: dict[Path, dict[tuple[int, str], bytes]] = {path: {} for path in paths}
        for path, row_group, column, bitset in self._java("Filters", *paths, keys=keys):
            if bitset:
                found[Path(path)][int(row_group), column] = bytes.fromhex(bitset)
        return found

    def rows(
        self, *paths: Path, keys: Mapping[Path, FileKeys] | None = None
    ) -> dict[Path, tuple[int, str]]:
        """Number of rows and a digest of all of them, by file; or 0 and why it reads none."""
        answers = self._java("Rows", *paths, keys=keys)
        return {Path(path): (int(count), digest) for path, count, digest in answers}


class ArrowCpp:
    """Arrow C++, out of the headers and libraries that pyarrow brings: the strictest reader."""

    needs = "g++ and the C++ libraries of pyarrow"

    @staticmethod
    def is_here() -> bool:
        header = Path(pa.get_include()) / "parquet" / "bloom_filter_reader.h"
        return bool(shutil.which("g++") and header.exists() and ArrowCpp._libraries())

    @staticmethod
    def _libraries() -> list[Path]:
        """libparquet and libarrow; nothing unless both are here."""
        folder = Path(pa.get_library_dirs()[0])
        found = [sorted(folder.glob(f"{name}.so*"))[-1:] for name in ("libparquet", "libarrow")]
        return [library for libraries in found for library in libraries] if all(found) else []

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = folder / "arrow_probe"
        libraries = self._libraries()
        compiler = ["g++", "-std=c++20", "-O0", f"-I{pa.get_include()}"]
        run_path = f"-Wl,-rpath,{libraries[0].parent}"
        source = JUDGES / "arrow_probe.cc"
        _run([*compiler, source, "-o", self._program, *libraries, run_path])

    def _probe(
        self, path: Path, values: Sequence[Stored], keys: FileKeys | None = None
    ) -> list[list[str]]:
        queries = self._folder / "queries.tsv"
        kinds = {"INT32": "i32", "INT64": "i64", "FLOAT": "f32", "DOUBLE": "f64", "INT96": "i96"}
        kinds |= {"BYTE_ARRAY": "binary", "FIXED_LEN_BYTE_ARRAY": "flba"}
        _write_queries(
            queries, ((v.leaf.path, kinds[v.leaf.physical_type], v.text) for v in values)
        )
        own: list[str] = []
        if keys is not None:
            own = [keys.footer.hex(), keys.aad_prefix.hex() or "-", *keys.columns_text]
        answers = _run([self._program, path, queries, *own])
        return [line.split("\t") for line in answers.splitlines()]

    def bitsets(self, path: Path, keys: FileKeys | None = None) -> dict[tuple[int, str], bytes]:
        """Bitset of every filter; a filter that Arrow C++ refuses is an error."""
        lines = self._probe(path, (), keys)
        refused = [line for line in lines if line[0] == "error"]
        assert refused == []
        return {(int(line[1]), line[2]): bytes.fromhex(line[3]) for line in lines}

    def kept(
        self, path: Path, values: Sequence[Stored], keys: FileKeys | None = None
    ) -> list[Kept]:
        """Row groups that have a filter which does not exclude the value."""
        kept: list[set[int]] = [set() for _ in values]
        for line in self._probe(path, values, keys):
            if line[0] == "answer" and line[3] == "true":
                kept[int(line[1])].add(int(line[2]))
        return [frozenset(row_groups) for row_groups in kept]


def _write_queries(path: Path, queries: Iterable[tuple[str, ...]]) -> None:
    path.write_text("".join("\t".join(query) + "\n" for query in queries))


def _ordinals(text: str) -> Kept:
    return frozenset(int(ordinal) for ordinal in text.split(",") if ordinal)


# ------------------------------------------------------------------------------------------------
# Engines


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
        described = self._connection.execute(
            f"DESCRIBE SELECT {_dotted(leaf)} AS it FROM {_sql(str(path))}"
        ).fetchall()
        text = literal
        if described[0][1] == "BLOB":
            (stored,) = stored_values(leaf, literal)
            text = "".join(f"\\x{byte:02X}" for byte in stored.data)
        return f"CAST({_sql(text)} AS {described[0][1]})"

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
        self._new = lambda: datafusion.SessionContext(datafusion.SessionConfig(options))
        self._contexts: dict[Path, Any] = {}

    def _context(self, path: Path) -> Any:
        if path not in self._contexts:
            self._contexts[path] = self._new()
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


def pyarrow_rows(path: Path) -> list[str]:
    return comparable(pq.read_table(path))


def comparable(table: pa.Table) -> list[str]:
    """One text per row, in order. NaN equals NaN, and the zeros differ."""
    schema = pa.schema([pa.field(field.name, _without_clock(field.type)) for field in table.schema])
    return [repr(row) for row in table.cast(schema).to_pylist()]


def _without_clock(kind: pa.DataType) -> pa.DataType:
    """The type with every time as the integer that it is: Python's have no nanoseconds."""
    if isinstance(kind, pa.BaseExtensionType):
        return _without_clock(kind.storage_type)
    if pa.types.is_timestamp(kind) or pa.types.is_time64(kind) or pa.types.is_duration(kind):
        return pa.int64()
    if pa.types.is_map(kind):
        return pa.map_(_without_clock(kind.key_type), _without_clock(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, _without_clock(field.type)) for field in kind])
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        made = pa.list_ if pa.types.is_list(kind) else pa.large_list
        return made(kind.value_field.with_type(_without_clock(kind.value_type)))
    return kind


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


def describe(path: Path) -> dict[str, Any]:
    """The description beside a test file."""
    description: dict[str, Any] = json.loads(path.with_suffix(".json").read_text())
    return description
