"""Sound files by every writer at hand: no rule says that something is wrong where nothing is.

The tables below hold every finding there is on these files, so that each can be judged. The files are
small: what a filter of a few hundred bytes could save is not worth a word.
"""

from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, SHARED, missing
from make.defects_files import sound
from make.footers import with_created_by
from make.parquet_files import open_parquet

import parquet_bloom as pb
from parquet_bloom.verbs.validate import ValidationReport, validate

PUBLIC = SHARED / "data" / "parquet-testing"

ROWS = 20_000

# As the writers made them: the columns of which each rule says something, None for the whole file.
OF_WRITERS = {
    # DataFusion hashes a BOOLEAN as one byte, into 32 bytes, which Impala would not stand.
    "datafusion_filters": {"PB202": {"boolean"}, "PB207": {"boolean"}},
    "duckdb_filters": {},
    "java_filters": {
        # A real defect of parquet-java: no bit of the filter of a BOOLEAN is set.
        "PB205": {None},
        "PB207": {"boolean"},
        "PB402": {"boolean"},
        # It hashes the stored bytes of decimals and halves, as the format wants it.
        "PB208": {"decimal_minimal"},
        "PB209": {"float16"},
    },
    "pyarrow_filters": {},
    "spark_filters": {},
}
DEFECTIVE = {("java_filters", "PB402")}

# With filters for all columns by build, in place of those that were there. Rules only.
NO_SMALLER_THAN_DICTIONARY = "PB305"
ANY_LENGTH = "PB208"
OF_BUILD = {
    # The filters of their BOOLEAN columns stay; parquet-java's has no bits (see above).
    "datafusion_filters": {"PB202", "PB206", "PB207"},
    "java_filters": {"PB205", "PB206", "PB207", "PB208", "PB402"},
    "java_types": {ANY_LENGTH},
    "java_types_v2": {ANY_LENGTH},
    "java_types_dictionary": {ANY_LENGTH},
    # Dictionaries of a few values.
    "pyarrow_floats_dictionary": {NO_SMALLER_THAN_DICTIONARY},
    "pyarrow_types_dictionary": {NO_SMALLER_THAN_DICTIONARY},
    # Public files of a handful of rows.
    "byte_array_decimal": {ANY_LENGTH},
    "float16_nonzeros_and_nans": {NO_SMALLER_THAN_DICTIONARY},
    "non_hadoop_lz4_compressed": {NO_SMALLER_THAN_DICTIONARY},
    "rle-dict-snappy-checksum": {NO_SMALLER_THAN_DICTIONARY},
    "sort_columns": {NO_SMALLER_THAN_DICTIONARY},
    "unknown-logical-type": {NO_SMALLER_THAN_DICTIONARY},
}

# Public files that have filters already: the columns, as above.
OF_PUBLIC_WRITERS = {
    # A real defect of parquet-mr before 1.14.0.
    "data_index_bloom_encoding_stats": {"PB111": {"String"}, "PB205": {None}},
}
DEFECTIVE |= {("data_index_bloom_encoding_stats", "PB111")}

# A page of it is damaged, so nothing can be built.
DAMAGED = "datapage_v1-corrupt-checksum"
# These cannot be read at all without keys.
ENCRYPTED_FOOTERS = ("encrypt_columns_and_footer", "uniform_encryption")


# Said of every filter of some types, however right it is.
LOST_BY_READERS = "PB212"


def found(report: ValidationReport) -> dict[str, set[str | None]]:
    """The columns of each rule that something is said of, but for what the types alone bring along."""
    columns = defaultdict(set)
    for each in report.findings:
        columns[each.rule].add(each.column)
    assert columns.pop(LOST_BY_READERS, set()) == lost_by_readers(report.path)
    return dict(columns)


def lost_by_readers(path: str) -> set[str]:
    """The columns with filters of types that some versions of DataFusion or DuckDB look up wrongly."""
    columns = set()
    with open_parquet(path) as file:
        for leaf in file.footer.leaves:
            logical = leaf.type.logical
            if logical and logical.name == "DECIMAL":
                of_16_bytes = leaf.type.length in (0, 16) or "." in leaf.name
                is_lost = logical.precision > 38 or not of_16_bytes
            else:
                is_lost = leaf.type.physical.endswith("BYTE_ARRAY") and logical is None
            chunks = (file.chunk(group, leaf.name) for group in range(file.num_row_groups))
            if (
                is_lost
                and not leaf.max_repetition_level
                and any(each.has_filters for each in chunks)
            ):
                columns.add(leaf.name)
    return columns


def errors(report: ValidationReport) -> set[str]:
    return {each.rule for each in report.findings if each.severity == "error"}


def public_files() -> list[Path]:
    if not PUBLIC.exists():
        missing("../shared/data/parquet-testing")
    return sorted(PUBLIC.glob("*.parquet"))


def check_built(path: Path, folder: Path) -> None:
    """Nothing but what the table says is found after filters were built for all columns."""
    out = folder / f"{path.stem}.parquet"
    with pb.open(path) as file:
        columns = file.columns
    pb.build(path, out, columns=columns, existing="replace")
    report = validate(out)
    assert set(found(report)) == OF_BUILD.get(path.stem, set())
    assert errors(report) <= {rule for stem, rule in DEFECTIVE if stem == path.stem}
    # Without a look at the values, a filter twice is worth a note: a column may be constant.
    assert set(found(validate(out, deep=False))) - {"PB407"} <= set(found(report))


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*_filters.parquet")), ids=lambda p: p.stem)
def test_filters_of_other_writers(path):
    report = validate(path)
    assert found(report) == OF_WRITERS[path.stem]
    assert errors(report) == {rule for stem, rule in DEFECTIVE if stem == path.stem}
    assert report.checked.values > 0


@pytest.mark.every(2)
@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*.parquet")), ids=lambda path: path.stem)
def test_filters_of_our_own_in_files_of_other_writers(path, tmp_path):
    check_built(path, tmp_path)


def test_public_files():
    with_findings = {}
    for path in public_files():
        report = validate(path)
        assert errors(report) == {rule for stem, rule in DEFECTIVE if stem == path.stem}
        if report.findings:
            with_findings[path.stem] = found(report)
    assert with_findings == OF_PUBLIC_WRITERS


def test_public_files_with_filters_of_our_own(tmp_path):
    for path in public_files():
        if path.stem != DAMAGED:
            check_built(path, tmp_path)


def test_public_files_that_are_encrypted():
    public_files()
    for path in sorted(PUBLIC.glob("*.encrypted")):
        if path.name.startswith(ENCRYPTED_FOOTERS):
            with pytest.raises(pb.MissingKeyError, match="the footer is encrypted"):
                validate(path)
        else:
            rules = [found.rule for found in validate(path).findings]
            assert rules == ["PB506", "PB408", "PB408"]


# What is said only of whole pages, by the stems of files.
OF_PAGES = {
    # Its pages are damaged, and one of its ColumnIndexes calls a page with values one of nulls.
    "datapage_v1-corrupt-checksum": {"PB116", "PB125"},
    # Readers of 2013 did not count the header of a dictionary page.
    "nation.dict-malformed": {"PB127"},
}


def test_whole_pages():
    """Of every writer at hand."""
    files = [*FIXTURES.glob("**/*.parquet"), *public_files()]
    found = {}
    for path in files:
        report = validate(path, deep=False, pages=True)
        rules = {each.rule for each in report.findings} & {
            "PB116",
            "PB124",
            "PB125",
            "PB126",
            "PB127",
            "PB128",
            "PB129",
            "PB130",
        }
        if rules:
            found[path.stem] = rules
    assert found == OF_PAGES
    assert report.checked.pages > 0


def test_the_tables_name_files_that_are_there():
    public = {path.stem for path in public_files()}
    fixtures = {path.stem for path in FIXTURES.glob("*.parquet")}
    assert OF_BUILD.keys() <= public | fixtures
    assert OF_WRITERS.keys() == {stem for stem in fixtures if stem.endswith("_filters")}


# ------------------------------------------------------------------------------------------------
# Written here and now, and large enough for filters to be worth their bytes


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Distinct numbers and texts, some null, and a column of few values."""
    random = np.random.default_rng(3)
    numbers = random.permutation(10 * ROWS)[:ROWS]
    return pa.table(
        {
            "id": pa.array(numbers, pa.int64()),
            "name": [f"name {number:06} of a customer" for number in numbers],
            "amount": pa.array(numbers / 4 + 0.125),
            "maybe": pa.array([None if number % 7 == 0 else number for number in numbers.tolist()]),
            "country": [f"country {number % 200}" for number in numbers],
            "text": [random.bytes(40).hex() for _ in range(ROWS)],
        }
    )


FILTERED = ["id", "name", "amount", "maybe", "country"]


def test_pyarrow(table, tmp_path):
    filters = {name: {"ndv": ROWS // 2, "fpp": 0.01} for name in FILTERED}
    for dictionary in (False, ["country"]):
        path = tmp_path / "pyarrow.parquet"
        pq.write_table(
            table,
            path,
            row_group_size=ROWS // 2,
            bloom_filter_options=filters,
            use_dictionary=dictionary,
        )
        report = validate(path)
        assert found(report) == {}
        assert report.checked.filters == 10


def test_duckdb(table, tmp_path):
    """Also an INTERVAL, for which it inserts a second form of each value."""
    if find_spec("duckdb") is None:
        missing("duckdb")
    import duckdb

    path = tmp_path / "duckdb.parquet"
    with duckdb.connect(config={"threads": 1}) as connection:
        connection.register("source", table)
        connection.execute(
            "COPY (SELECT *, to_days((id % 5000)::INTEGER) AS period FROM source)"
            f" TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 10240, DICTIONARY_SIZE_LIMIT 100000)"
        )
    report = validate(path)
    assert found(report) == {}
    assert report.checked.filters == 14


def test_datafusion(table, tmp_path):
    if find_spec("datafusion") is None:
        missing("datafusion")
    import datafusion
    from datafusion.dataframe import ParquetWriterOptions

    path = tmp_path / "datafusion.parquet"
    context = datafusion.SessionContext(datafusion.SessionConfig().with_target_partitions(1))
    options = ParquetWriterOptions(
        max_row_group_size=ROWS // 2,
        bloom_filter_on_write=True,
        bloom_filter_fpp=0.01,
        bloom_filter_ndv=ROWS // 2,
    )
    context.from_arrow(table).write_parquet_with_options(str(path), options)
    report = validate(path)
    assert found(report) == {}
    assert report.checked.filters == 12


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, {}),
        ({"fpp": 0.05}, {}),
        # Twice as large as for 1 %, which is no reason for a warning.
        ({"fpp": 0.001}, {}),
        ({"exact_blocks": True}, {"PB201": set(FILTERED)}),
    ],
    ids=["1 %", "5 %", "0.1 %", "exact blocks"],
)
def test_our_own(table, tmp_path, options, expected):
    path = tmp_path / "own.parquet"
    pq.write_table(table, path, row_group_size=ROWS // 2)
    pb.build(path, in_place=True, columns=FILTERED, **options)
    report = validate(path)
    assert found(report) == expected
    assert report.checked.filters == 10


@pytest.mark.parametrize(
    "created_by",
    [
        "Trino version 459 (build n/a)",
        "parquet-cpp-arrow version 11.0.0",
        "parquet-go version 18.4.0",
    ],
)
def test_filters_of_our_own_in_files_of_writers_that_are_known_for_trouble(tmp_path, created_by):
    """created_by stays that of the old writer: a suspicion, until the values prove it wrong."""
    path = tmp_path / "old.parquet"
    path.write_bytes(with_created_by(sound(), created_by))
    assert found(validate(path, deep=False)) == {"PB205": {None}}
    assert found(validate(path)) == {}
