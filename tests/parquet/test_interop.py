"""Filters that `build` adds, judged by the other implementations of Parquet.

Each file of `fixtures/` names values that are in one row group only, and values that are in none.
For every reader: the row group that has a value is kept (a miss would lose rows), nearly all others
are dropped (the filters are in use), and the rows are what they were before.

The layouts alternate from file to file. `make layouts` has each file in each of them, and those that
had filters before.
"""

import itertools
import math
import os
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from oracle.arrow import bitsets, describe, leaves_of, pyarrow_rows
from oracle.arrow_cpp import ArrowCpp
from oracle.engines import DataFusion, DuckDB, spark_count, spark_prunes, spark_rows
from oracle.parquet_java import ParquetJava
from oracle.programs import Kept
from oracle.stored import Leaf, Stored, stored_values

import parquet_bloom as pb
from parquet_bloom.vocabulary import FileLayout, words

pytestmark = pytest.mark.interop

IS_FULL = os.environ.get("PBLOOM_LAYOUTS") == "full"

SOURCES = sorted(
    path
    for path in FIXTURES.glob("*.parquet")
    if path.with_suffix(".json").exists() and (IS_FULL or not path.stem.endswith("_filters"))
)

# A file of SOURCES, and how it gets filters.
Built = tuple[Path, FileLayout]
BUILT: list[Built] = (
    list(itertools.product(SOURCES, words(FileLayout)))
    if IS_FULL
    else list(zip(SOURCES, itertools.cycle(words(FileLayout)), strict=False))
)

# What a reader does not read even without filters, and what it says.
UNREADABLE = {
    "duckdb": {
        "java_filters": "Unsupported converted type (20): BSON",
        "java_nested": "MAP_KEY_VALUE requires two children",
        "java_types": "Unsupported converted type (20): BSON",
        "java_types_dictionary": "Unsupported converted type (20): BSON",
        "java_types_v2": "Unsupported converted type (20): BSON",
        "pyarrow_delta": "BYTE_STREAM_SPLIT of FIXED_LEN_BYTE_ARRAY",
        "pyarrow_delta_v2": "BYTE_STREAM_SPLIT of FIXED_LEN_BYTE_ARRAY",
    },
    "datafusion": {
        "duckdb_delta_wide": "'min_delta' too large",
        "java_filters": "Logical type Unknown is incompatible with converted type INTERVAL",
        "java_types": "Logical type Unknown is incompatible with converted type INTERVAL",
        "java_types_dictionary": "Logical type Unknown is incompatible with INTERVAL",
        "java_types_v2": "Logical type Unknown is incompatible with INTERVAL",
    },
    "pyarrow": {"duckdb_delta_wide": "Unexpected end of stream: InitBlock EOF"},
    "parquet-java": {"pyarrow_codec_brotli": "BrotliCodec was not found"},
    "spark": {"pyarrow_codec_brotli": "BrotliCodec was not found"},
}

# Of all pairs of a value and a row group that does not have it, what a filter may keep: ten times
# the rate that the filters are built for.
TOLERATED = 0.1


@dataclass(frozen=True)
class Question:
    """A literal, and the only row group that has it: None if no row group has."""

    leaf: Leaf
    literal: str
    home: int | None

    @cached_property
    def stored(self) -> tuple[Stored, ...]:
        return stored_values(self.leaf, self.literal)


@dataclass(frozen=True)
class Case:
    """A file, the file with filters on every column but the BOOLEANs, and what may be asked."""

    source: Path
    built: Path
    questions: list[Question]

    @property
    def values(self) -> list[Stored]:
        return [value for question in self.questions for value in question.stored]

    @cached_property
    def bitsets(self) -> dict[tuple[int, str], bytes]:
        return bitsets(self.built)

    def filtered(self, leaf: Leaf) -> Kept:
        """Row groups whose chunk of the column has a filter."""
        return frozenset(row_group for row_group, column in self.bitsets if column == leaf.path)

    def by_question(self, kept: Sequence[Kept]) -> list[tuple[Question, Kept]]:
        """Answers for `values`, as answers for `questions`: a value may be stored in several ways."""
        rest = iter(kept)
        return [
            (question, frozenset().union(*(next(rest) for _ in question.stored)))
            for question in self.questions
        ]

    def check(self, answers: Sequence[tuple[Question, Kept]]) -> None:
        """No row group that has a value is dropped; nearly all others with a filter are."""
        lost = [
            (question.leaf.path, question.literal, question.home)
            for question, kept in answers
            if question.home is not None and question.home not in kept
        ]
        assert lost == []
        others = [
            (question.leaf.path, question.literal, row_group, row_group in kept)
            for question, kept in answers
            for row_group in self.filtered(question.leaf) - {question.home}
        ]
        found = [other for other in others if other[-1]]
        assert len(found) <= TOLERATED * len(others), found

    def check_counts(
        self, answers: Sequence[tuple[Question, int, int]], prunes: Callable[[Leaf], bool]
    ) -> None:
        """As `check`, of (question, rows that were found, number of row groups that were kept)."""
        lost = [
            (question.leaf.path, question.literal, rows)
            for question, rows, _ in answers
            if (rows > 0) != (question.home is not None)
        ]
        assert lost == []
        others = found = 0
        for question, _, kept in answers:
            if prunes(question.leaf):
                filtered = self.filtered(question.leaf)
                others += len(filtered - {question.home})
                unfiltered = self.num_row_groups - len(filtered | {question.home} - {None})
                found += max(0, kept - (question.home is not None) - unfiltered)
        assert found <= TOLERATED * others

    @cached_property
    def num_row_groups(self) -> int:
        return pq.read_metadata(self.built).num_row_groups

    def sample(self, asks: Callable[[Leaf], bool]) -> list[Question]:
        """One present and one absent literal of each column, present in ever another row group."""
        chosen: dict[tuple[str, bool], Question] = {}
        for number, question in enumerate(self.questions):
            key = question.leaf.path, question.home is None
            if asks(question.leaf) and (key not in chosen or number % 5 == 0):
                chosen[key] = question
        return list(chosen.values())


def read_questions(source: Path) -> list[Question]:
    columns = describe(source)["columns"]
    leaves = leaves_of(source, columns)
    questions = []
    for column in columns:
        leaf = leaves[column["column"]]
        for home, row_group in enumerate(column["row_groups"]):
            questions += [Question(leaf, literal, home) for literal in row_group["present"]]
        questions += [Question(leaf, literal, None) for literal in column["absent"]]
    return questions


def eligible_columns(source: Path) -> list[str]:
    schema = pq.read_metadata(source).schema
    columns = [schema.column(i) for i in range(len(schema))]
    return [c.path for c in columns if c.physical_type != "BOOLEAN"]


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[Built, Case | Exception]:
    """Every file with its filters, or what went wrong: one failure is not the failure of all."""
    folders = {layout: tmp_path_factory.mktemp(layout) for layout in words(FileLayout)}
    cases: dict[Built, Case | Exception] = {}
    for source, layout in BUILT:
        path = folders[layout] / source.name
        options = {"columns": eligible_columns(source), "existing": "replace", "layout": layout}
        try:
            pb.build(source, path, **options)
        except (pb.ParquetBloomError, OSError) as error:
            cases[source, layout] = error
        else:
            cases[source, layout] = Case(source, path, read_questions(source))
    return cases


def files_of(reader: str) -> pytest.MarkDecorator:
    """Run the test on the case of each file that the reader can read."""
    built = [each for each in BUILT if each[0].stem not in UNREADABLE.get(reader, {})]
    return pytest.mark.parametrize("case", built, indirect=True, ids=_name)


def _name(each: Built) -> str:
    path, layout = each
    return f"{path.stem}-{layout}"


ALL_FILES = files_of("parquet_bloom")


@pytest.fixture
def case(request: pytest.FixtureRequest, built: dict[Built, Case | Exception]) -> Case:
    made = built[request.param]
    if isinstance(made, Exception):
        raise made
    return made


@pytest.fixture(scope="session")
def all_cases(built: dict[Built, Case | Exception]) -> list[Case]:
    return [made for made in built.values() if isinstance(made, Case)]


# One run of the JVM for all files: its start takes longer than its answers.


@pytest.fixture(scope="session")
def java_kept(parquet_java: ParquetJava, all_cases: list[Case]) -> dict[Path, list[Kept | str]]:
    asked = [(case.built, value) for case in all_cases for value in case.values]
    answers: dict[Path, list[Kept | str]] = {case.built: [] for case in all_cases}
    for (path, _), answer in zip(asked, parquet_java.kept(asked), strict=True):
        answers[path].append(answer)
    return answers


@pytest.fixture(scope="session")
def java_bitsets(
    parquet_java: ParquetJava, all_cases: list[Case]
) -> dict[Path, dict[tuple[int, str], bytes]]:
    return parquet_java.bitsets(*(case.built for case in all_cases))


@pytest.fixture(scope="session")
def java_rows(parquet_java: ParquetJava, all_cases: list[Case]) -> dict[Path, tuple[int, str]]:
    return parquet_java.rows(*(path for case in all_cases for path in (case.source, case.built)))


# ------------------------------------------------------------------------------------------------
# The filters


@ALL_FILES
def test_every_chunk_that_has_values_has_a_filter(case: Case) -> None:
    chunks = {(question.home, question.leaf.path) for question in case.questions}
    assert {chunk for chunk in chunks if chunk[0] is not None} <= set(case.bitsets)


@pytest.mark.parametrize("each", BUILT, ids=_name)
def test_appended_files_are_whole(each: Built, built: dict[Built, Case | Exception]) -> None:
    case = built[each]
    assert isinstance(case, Case)
    old, new = case.source.read_bytes(), case.built.read_bytes()
    # Some writers' own filters are the same as ours, to the bit.
    assert new.startswith(old) == (each[1] == "append") or new == old


@ALL_FILES
def test_arrow_cpp_reads_every_filter(case: Case, arrow_cpp: ArrowCpp) -> None:
    assert arrow_cpp.bitsets(case.built) == case.bitsets


@ALL_FILES
def test_parquet_java_reads_every_filter(
    case: Case, java_bitsets: dict[Path, dict[tuple[int, str], bytes]]
) -> None:
    assert java_bitsets[case.built] == case.bitsets


@ALL_FILES
def test_arrow_cpp_finds_every_value(case: Case, arrow_cpp: ArrowCpp) -> None:
    case.check(case.by_question(arrow_cpp.kept(case.built, case.values)))


@ALL_FILES
def test_parquet_java_prunes_row_groups(
    case: Case, java_kept: dict[Path, list[Kept | str]]
) -> None:
    answers = java_kept[case.built]
    assert [answer for answer in answers if isinstance(answer, str)] == []
    case.check(case.by_question([answer for answer in answers if not isinstance(answer, str)]))


@ALL_FILES
def test_parquet_java_and_arrow_cpp_agree(
    case: Case, java_kept: dict[Path, list[Kept | str]], arrow_cpp: ArrowCpp
) -> None:
    # Where there is no filter, parquet-java keeps the row group and Arrow C++ has no answer.
    from_java = [
        case.filtered(value.leaf).intersection(kept)
        for value, kept in zip(case.values, java_kept[case.built], strict=True)
    ]
    assert from_java == arrow_cpp.kept(case.built, case.values)


@pytest.mark.every(4)
@files_of("duckdb")
def test_duckdb_probes(case: Case, duckdb: DuckDB) -> None:
    questions = [question for question in case.questions if duckdb.probes(question.leaf)]
    case.check([(q, duckdb.kept(case.built, q.leaf, q.literal)) for q in questions])


@pytest.mark.every(4)
@files_of("duckdb")
def test_duckdb_finds_every_row(case: Case, duckdb: DuckDB) -> None:
    case.check_counts(
        [(q, *duckdb.count(case.built, q.leaf, q.literal)) for q in case.sample(duckdb.asks)],
        duckdb.prunes,
    )


@pytest.mark.every(4)
@files_of("datafusion")
def test_datafusion_finds_every_row(case: Case, datafusion: DataFusion) -> None:
    case.check_counts(
        [
            (q, *datafusion.count(case.built, q.leaf, q.literal))
            for q in case.sample(datafusion.asks)
        ],
        datafusion.prunes,
    )


@pytest.mark.parametrize(
    "case", [each for each in BUILT if each[0].stem == "spark_types"], indirect=True, ids=_name
)
def test_spark_skips_row_groups(case: Case, spark: Any) -> None:
    (size,) = {group["num_rows"] for group in pq.read_metadata(case.built).to_dict()["row_groups"]}
    answers = []
    for question in case.sample(spark_prunes):
        rows, scanned = spark_count(spark, case.built, question.leaf, question.literal)
        answers.append((question, rows, scanned // size))
    assert len(answers) > 10
    case.check_counts(answers, spark_prunes)


# ------------------------------------------------------------------------------------------------
# The rows


@files_of("pyarrow")
def test_pyarrow_reads_the_same_rows(case: Case) -> None:
    assert pyarrow_rows(case.built) == pyarrow_rows(case.source)


@files_of("duckdb")
def test_duckdb_reads_the_same_rows(case: Case, duckdb: DuckDB) -> None:
    assert duckdb.rows(case.built) == duckdb.rows(case.source)


@files_of("datafusion")
def test_datafusion_reads_the_same_rows(case: Case, datafusion: DataFusion) -> None:
    assert datafusion.rows(case.built) == datafusion.rows(case.source)


@files_of("parquet-java")
def test_parquet_java_reads_the_same_rows(
    case: Case, java_rows: dict[Path, tuple[int, str]]
) -> None:
    assert java_rows[case.built] == java_rows[case.source]
    assert java_rows[case.built][0] == pq.read_metadata(case.source).num_rows


@pytest.mark.every(6)
@files_of("spark")
def test_spark_reads_the_same_rows(case: Case, spark: Any) -> None:
    assert spark_rows(spark, case.built) == spark_rows(spark, case.source)


# ------------------------------------------------------------------------------------------------
# Bit for bit what Arrow C++ writes


COLUMNS = {
    "int32": pa.array(np.arange(1, 4001, dtype=np.int32) * 40503),
    "int64": pa.array(np.arange(-2000, 2000, dtype=np.int64) * 2654435761),
    "uint32": pa.array(np.arange(4000, dtype=np.uint32) * np.uint32(1073741)),
    "float": pa.array(np.arange(1, 4001, dtype=np.float32) / np.float32(8)),
    "double": pa.array(np.arange(-4000, 0) * 0.1),
    "string": pa.array([f"value {i}" for i in range(4000)]),
    "binary": pa.array([struct.pack(">I", i * 65537)[: 1 + i % 4] for i in range(4000)]),
    "fixed": pa.array([struct.pack(">IHB", i * 7, i, 255) for i in range(4000)], pa.binary(7)),
    "date": pa.array(range(4000), pa.int32()).cast(pa.date32()),
    "timestamp": pa.array(np.arange(4000), pa.timestamp("us", "UTC")),
    "decimal": pa.array(range(-2000, 2000), pa.decimal128(20, 4)),
    "few": pa.array([i % 100 for i in range(4000)], pa.int64()),
    "nulls": pa.array([i if i % 3 else None for i in range(4000)], pa.int64()),
}


@pytest.mark.parametrize("dictionary", [False, True], ids=["plain", "dictionary"])
@pytest.mark.parametrize("name", COLUMNS)
def test_bits_are_those_of_arrow_cpp(name: str, dictionary: bool, tmp_path: Path) -> None:
    table = pa.table({name: COLUMNS[name]})
    written, plain, output = (tmp_path / f"{stem}.parquet" for stem in ("written", "plain", "out"))
    options: dict[str, Any] = {"row_group_size": 1500, "use_dictionary": dictionary}
    pq.write_table(table, plain, **options)
    filters = {name: {"ndv": 1500, "fpp": 0.01}}
    pq.write_table(table, written, bloom_filter_options=filters, **options)
    pb.build(plain, output, columns=[name])
    theirs, ours = bitsets(written), bitsets(output)
    assert list(theirs) == list(ours) == [(0, name), (1, name), (2, name)]
    for chunk in ours:
        size = min(len(ours[chunk]), len(theirs[chunk]))
        assert folded(ours[chunk], size) == folded(theirs[chunk], size)


@pytest.mark.parametrize("dictionary", [False, True], ids=["plain", "dictionary"])
def test_replaced_filters_are_those_of_arrow_cpp(dictionary: bool, tmp_path: Path) -> None:
    """At the number of distinct values that Arrow C++ was told, the size is its size as well."""
    table = pa.table({"int64": COLUMNS["int64"]})
    written, output = tmp_path / "written.parquet", tmp_path / "out.parquet"
    filters = {"int64": {"ndv": 1500, "fpp": 0.01, "fold": False}}
    pq.write_table(
        table,
        written,
        row_group_size=1500,
        use_dictionary=dictionary,
        bloom_filter_options=filters,
    )
    pb.build(written, output, columns=["int64"], ndv=1500, existing="replace")
    assert bitsets(output) == bitsets(written)


def folded(bitset: bytes, size: int) -> bytes:
    """The bitset with neighbouring blocks put together until it has `size` bytes."""
    words = np.frombuffer(bitset, np.uint32).reshape(-1, 8)
    while words.nbytes > size:
        words = words[0::2] | words[1::2]
    return words.tobytes()


# ------------------------------------------------------------------------------------------------
# Values that are equal, and stored differently


@pytest.fixture(scope="module")
def zeros(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Leaf]:
    """Files of one zero each, of either sign and width, with the leaf that it is in."""
    folder = tmp_path_factory.mktemp("zeros")
    leaves = {}
    for physical, zero in itertools.product(("FLOAT", "DOUBLE"), (0.0, -0.0)):
        # A neighbour on either side, so that statistics cannot drop the row group.
        kind = pa.float32() if physical == "FLOAT" else pa.float64()
        source, output = folder / "source.parquet", folder / f"{physical}{zero}.parquet"
        table = pa.table({"x": pa.array([-1.5, zero, 1.5], kind)})
        pq.write_table(table, source, use_dictionary=False)
        pb.build(source, output, columns=["x"])
        leaves[output] = Leaf("x", physical, None, 0, False)
    return leaves


def test_parquet_java_finds_either_zero(zeros: dict[Path, Leaf], parquet_java: ParquetJava) -> None:
    asked = [
        (path, value)
        for path, leaf in zeros.items()
        for literal in ("0.0", "-0.0")
        for value in stored_values(leaf, literal)
    ]
    assert parquet_java.kept(asked) == [{0}] * 8


@pytest.mark.parametrize("engine", ["duckdb", "datafusion"])
def test_engines_find_either_zero(
    engine: str, zeros: dict[Path, Leaf], request: pytest.FixtureRequest
) -> None:
    reader = request.getfixturevalue(engine)
    for path, leaf in zeros.items():
        for literal in ("0.0", "-0.0"):
            assert reader.count(path, leaf, literal) == (1, 1)


def test_any_nan_is_found_as_the_canonical_one(tmp_path: Path, arrow_cpp: ArrowCpp) -> None:
    source, output = tmp_path / "nan.parquet", tmp_path / "out.parquet"
    odd = np.array([0x7FF8_0000_0000_0001, 0xFFF8_0000_0000_0000], np.uint64).view(np.float64)
    pq.write_table(pa.table({"x": odd}), source, use_dictionary=False)
    pb.build(source, output, columns=["x"])
    leaf = Leaf("x", "DOUBLE", None, 0, False)
    assert arrow_cpp.kept(output, [Stored(leaf, struct.pack("<d", math.nan))]) == [{0}]


def test_duckdb_finds_halves(tmp_path: Path, duckdb: DuckDB) -> None:
    """DuckDB hashes a FLOAT16 as the FLOAT that it reads it as."""
    source, output = tmp_path / "half.parquet", tmp_path / "out.parquet"
    halves = np.arange(1, 65, dtype=np.float16) / np.float16(4)
    pq.write_table(pa.table({"x": halves}), source, row_group_size=32, use_dictionary=False)
    pb.build(source, output, columns=["x"])
    leaf = Leaf("x", "FIXED_LEN_BYTE_ARRAY", "FLOAT16", 2, False)
    assert duckdb.count(source, leaf, "2.5")[0] == 1
    assert duckdb.count(output, leaf, "2.5")[0] == 1


def test_duckdb_finds_intervals_in_its_own_files(tmp_path: Path, duckdb: DuckDB) -> None:
    """A file that says so has filters on INTERVAL that hash 60 days as the 2 months they equal."""
    source, output = tmp_path / "interval.parquet", tmp_path / "out.parquet"
    duckdb.write("SELECT to_days((i % 50 + 30)::INTEGER) AS x FROM range(6000) t(i)", source)
    assert b"duckdb.interval_bloom_filter" in pq.read_metadata(source).metadata
    leaf = Leaf("x", "FIXED_LEN_BYTE_ARRAY", "INTERVAL", 12, False)
    sixty_days = "0x" + struct.pack("<3I", 0, 60, 0).hex()
    assert duckdb.count(source, leaf, sixty_days)[0] == 120
    report = pb.build(source, output, columns=["x"], existing="replace")
    assert len(report.filters) == pq.read_metadata(source).num_row_groups
    assert duckdb.count(output, leaf, sixty_days)[0] == 120
    assert pb.validate(source).findings == pb.validate(output).findings == ()
