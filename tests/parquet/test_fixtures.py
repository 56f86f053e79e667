"""The fixture files are what their descriptions say, by pyarrow's reading and nobody else's.

Nothing here makes a file: a fixture that is missing fails, and fixtures/README.md says what to run.
"""

import json
import re
import uuid
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES

MOST_BYTES = 300_000
MOST_BYTES_TOGETHER = 2_500_000
# The writer as file names have it, and as descriptions have it before its version.
WRITERS = {
    "pyarrow": "pyarrow",
    "duckdb": "duckdb",
    "datafusion": "datafusion",
    "spark": "pyspark",
    "java": "parquet-java",
    "polars": "polars",
    "fastparquet": "fastparquet",
}
# They cannot write Bloom filters.
WITHOUT_FILTERS = {"polars", "fastparquet"}
# DuckDB's deltas between 32-bit numbers may take 33 bits, which pyarrow does not decode.
NOT_FOR_PYARROW = {"duckdb_delta_wide": {"int32", "uint32"}}
FILES = sorted(FIXTURES.glob("*.parquet"))
FRACTION_DIGITS = {"ms": 3, "us": 6, "ns": 9}

each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)


def description_of(path: Path) -> dict[str, Any]:
    return json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))


def leaf_arrays(array: pa.Array) -> Iterator[pa.Array]:
    """The leaves below an array, in the order of the schema."""
    if isinstance(array, pa.MapArray):
        yield from leaf_arrays(array.keys)
        yield from leaf_arrays(array.items)
    elif isinstance(array, pa.ListArray):
        yield from leaf_arrays(array.flatten())
    elif isinstance(array, pa.StructArray):
        for field in array.flatten():
            yield from leaf_arrays(field)
    elif isinstance(array, pa.ExtensionArray):
        yield array.storage
    else:
        yield array


def distinct(array: pa.Array) -> set[Any]:
    """The non-null values of a leaf: numbers, bytes, and times as counts of their unit."""
    if pa.types.is_temporal(array.type):
        array = array.cast(pa.int32() if array.type.bit_width == 32 else pa.int64())
    values = (value for value in array.to_pylist() if value is not None)
    return {value.encode() if isinstance(value, str) else value for value in values}


def parse(literal: str, logical_type: str | None, arrow: pa.DataType) -> Any:
    """What ``distinct`` holds for a literal."""
    if logical_type in ("STRING", "ENUM", "JSON"):
        return literal.encode()
    if logical_type == "UUID":
        return uuid.UUID(literal).bytes
    if logical_type == "DATE":
        return (date.fromisoformat(literal) - date(1970, 1, 1)).days
    if pa.types.is_temporal(arrow):
        return parse_time(literal, arrow.unit)
    if pa.types.is_decimal(arrow):
        return Decimal(literal)
    if pa.types.is_floating(arrow):
        return float(literal)
    if pa.types.is_integer(arrow):
        return int(literal)
    assert literal.startswith("0x")
    return bytes.fromhex(literal.removeprefix("0x"))


def parse_time(literal: str, unit: str) -> int:
    whole, _, fraction = literal.removesuffix("Z").partition(".")
    day_and_time = whole if "T" in whole else f"1970-01-01T{whole}"
    seconds = (datetime.fromisoformat(day_and_time) - datetime(1970, 1, 1)).total_seconds()
    digits = FRACTION_DIGITS[unit]
    return int(seconds) * 10**digits + int(fraction.ljust(digits, "0"))


def readable_columns(path: Path) -> Iterator[tuple[dict[str, Any], list[pa.Array]]]:
    """Each column's description, and its leaf array of each row group."""
    file = pq.ParquetFile(path)
    refused = NOT_FOR_PYARROW.get(path.stem, set())
    described = [c for c in description_of(path)["columns"] if c["column"] not in refused]
    names = [column["column"] for column in described]
    leaves_of_groups = []
    for group in range(file.num_row_groups):
        table = file.read_row_group(group, columns=names)
        leaves = [leaf for column in table.columns for leaf in leaf_arrays(combined(column))]
        assert len(leaves) == len(names)
        leaves_of_groups.append(leaves)
    for index, column in enumerate(described):
        arrays = [leaves[index] for leaves in leaves_of_groups]
        # pyarrow takes parquet-java's intervals, annotated as UNKNOWN too, for nulls.
        if not any(pa.types.is_null(array.type) for array in arrays):
            yield column, arrays


def combined(column: pa.ChunkedArray) -> pa.Array:
    array = column.combine_chunks()
    return pa.concat_arrays(array.chunks) if isinstance(array, pa.ChunkedArray) else array


def test_every_file_has_its_description_and_every_description_its_file():
    assert FILES
    assert [path.stem for path in FILES] == sorted(path.stem for path in FIXTURES.glob("*.json"))


def test_the_readme_lists_every_file_and_no_other():
    readme = (FIXTURES / "README.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^\| `(\w+)\.parquet` \|", readme, re.MULTILINE)) == [
        path.stem for path in FILES
    ]


def test_every_writer_has_files_and_one_with_filters_if_it_writes_them():
    assert {path.stem.split("_")[0] for path in FILES} == WRITERS.keys()
    assert {path.stem for path in FILES if path.stem.endswith("_filters")} == {
        f"{writer}_filters" for writer in WRITERS.keys() - WITHOUT_FILTERS
    }


def test_the_files_are_small():
    sizes = {path.name: path.stat().st_size for path in FIXTURES.iterdir() if path.is_file()}
    assert {name: size for name, size in sizes.items() if size >= MOST_BYTES} == {}
    assert sum(sizes.values()) < MOST_BYTES_TOGETHER


@each_file
def test_the_description_agrees_with_the_footer(path: Path):
    description, metadata = description_of(path), pq.read_metadata(path)
    assert description["writer"].split(" ")[0] == WRITERS[path.stem.split("_")[0]]
    assert description["created_by"] == metadata.created_by
    assert description["num_rows"] == metadata.num_rows
    assert description["num_row_groups"] == metadata.num_row_groups
    assert [(column["column"], column["physical_type"]) for column in description["columns"]] == [
        (leaf.path, leaf.physical_type)
        for leaf in map(metadata.schema.column, range(metadata.num_columns))
    ]
    for index, column in enumerate(description["columns"]):
        assert [group["num_values"] for group in column["row_groups"]] == [
            metadata.row_group(group).column(index).num_values
            for group in range(metadata.num_row_groups)
        ]


@each_file
def test_present_literals_are_in_their_row_group_and_in_no_other(path: Path):
    for column, arrays in readable_columns(path):
        values = [distinct(array) for array in arrays]
        for group, described in enumerate(column["row_groups"]):
            for literal in described["present"]:
                value = parse(literal, column["logical_type"], arrays[group].type)
                found = [at for at, of_group in enumerate(values) if value in of_group]
                assert found == [group], (column["column"], literal)


@each_file
def test_absent_literals_are_in_no_row_group(path: Path):
    for column, arrays in readable_columns(path):
        for array in arrays:
            values = distinct(array)
            for literal in column["absent"]:
                value = parse(literal, column["logical_type"], array.type)
                assert value not in values, (column["column"], literal)


@each_file
def test_what_has_values_has_literals(path: Path):
    """Booleans have none, nor have chunks with nothing but nulls or one kind of zero."""
    for column, arrays in readable_columns(path):
        for described, array in zip(column["row_groups"], arrays, strict=True):
            values = distinct(array) - {0.0}
            expected = bool(values) and column["physical_type"] != "BOOLEAN"
            assert bool(described["present"]) == expected, column["column"]
        assert bool(column["absent"]) == (column["physical_type"] != "BOOLEAN"), column["column"]


@pytest.mark.parametrize(
    "path", [path for path in FILES if "_types" in path.stem], ids=lambda path: path.stem
)
def test_minimum_and_maximum_prune_no_present_literal(path: Path):
    """So that in these files nothing but a Bloom filter tells the row groups apart."""
    for column, arrays in readable_columns(path):
        if column["logical_type"] == "INTERVAL":  # without an order, hence without statistics
            continue
        ranges = [(min(values), max(values)) for values in map(distinct, arrays)]
        for described in column["row_groups"]:
            for literal in described["present"]:
                value = parse(literal, column["logical_type"], arrays[0].type)
                assert all(low <= value <= high for low, high in ranges), (column, literal)


@each_file
def test_only_files_named_for_filters_have_filters(path: Path):
    metadata = pq.read_metadata(path)
    offsets = [
        metadata.row_group(group).column(column).bloom_filter_offset
        for group in range(metadata.num_row_groups)
        for column in range(metadata.num_columns)
    ]
    assert any(offset is not None for offset in offsets) == path.stem.endswith("_filters")
