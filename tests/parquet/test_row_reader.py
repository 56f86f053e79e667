"""Single rows of a file: those that pyarrow reads, whatever is in the file, out of as few pages as hold them."""

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, IS_LONG, SHARED, missing
from make.encrypted_files import PLAIN, RECIPES, encrypted, keys_of
from make.parquet_files import open_parquet
from make.random_files import write_parquet

import parquet_bloom as pb
from parquet_bloom.errors import ColumnError, FormatError, ParquetBloomError

PUBLIC = SHARED / "data"
# So many files are damaged.
TIMES = 300 if IS_LONG else 30


def read(
    path: Path, columns: list[str], rows: dict[int, list[int]], keys: pb.Keys | None = None
) -> pa.Table:
    with open_parquet(path, keys) as file:
        return file.read_rows(columns, rows)


def some_rows(random: Random, path: Path, file: pq.FileMetaData) -> dict[int, list[int]]:
    groups = random.sample(range(file.num_row_groups), min(3, file.num_row_groups))
    found = {}
    for group in sorted(groups):
        count = file.row_group(group).num_rows
        wanted = random.sample(range(count), min(count, random.choice((1, 2, 7, 40))))
        found[group] = sorted(wanted)
    return found


def expected(path: Path, columns: list[str], rows: dict[int, list[int]]) -> pa.Table:
    with pq.ParquetFile(path) as file:
        if not any(rows.values()):
            return file.schema_arrow.empty_table().select(columns)
        return pa.concat_tables(
            [
                table.slice(row, 1)
                for group, wanted in rows.items()
                for table in [file.read_row_group(group).select(columns)]
                for row in wanted
            ]
        )


def assert_equal(found: pa.Table, wanted: pa.Table, what: Any = None) -> None:
    """Types and values, NaN and -0.0 among them."""
    assert found.schema.equals(wanted.schema), what
    for name in wanted.column_names:
        assert repr(shown(found[name])) == repr(shown(wanted[name])), (what, name)


def shown(column: pa.ChunkedArray) -> Any:
    try:
        return column.to_pylist()
    except (OverflowError, ValueError):
        # Times that Python has not, text that is not UTF-8.
        return column.combine_chunks().to_string(window=1 << 20)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", range(120))
def test_random_files(seed: int, tmp_path: Path) -> None:
    random, path = Random(seed), tmp_path / "any.parquet"
    table = write_parquet(random, path).table
    names = random.sample(table.column_names, random.choice((1, 2, 3)))
    rows = some_rows(random, path, pq.read_metadata(path))
    assert_equal(read(path, names, rows), expected(path, names, rows), seed)


TYPES = {
    "large": pa.large_string(),
    "view": pa.string_view(),
    "bytes": pa.large_binary(),
    "category": pa.dictionary(pa.int32(), pa.string()),
    "seconds": pa.timestamp("s", "Europe/Berlin"),
    "nanos": pa.timestamp("ns"),
    "duration": pa.duration("ms"),
    "half": pa.float16(),
    "wide": pa.decimal256(60, 3),
    "list": pa.large_list(pa.int32()),
    "fixed list": pa.list_(pa.float32(), 3),
    "map": pa.map_(pa.string(), pa.int64()),
    "struct": pa.struct([("a", pa.int64()), ("b", pa.list_(pa.string()))]),
    "nothing": pa.null(),
    "truth": pa.bool_(),
}


def value_of(kind: pa.DataType, number: int) -> Any:
    if number % 7 == 0 or pa.types.is_null(kind):
        return None
    if pa.types.is_map(kind):
        return [(f"k{number % 5}", number)]
    if pa.types.is_struct(kind):
        return {"a": number, "b": [str(number)] * (number % 3)}
    if pa.types.is_fixed_size_list(kind):
        return [number, number + 0.5, -0.0]
    if pa.types.is_large_list(kind):
        return list(range(number % 4))
    if pa.types.is_boolean(kind):
        return number % 3 == 0
    if pa.types.is_floating(kind):
        return np.float16("nan") if number % 5 == 0 else np.float16(number % 900)
    if pa.types.is_decimal(kind) or pa.types.is_temporal(kind):
        return number
    text = f"value {number % 90}"
    return text.encode() if pa.types.is_large_binary(kind) else text


@pytest.mark.parametrize("stored", [True, False], ids=["its schema", "no schema of Arrow's"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_types_are_those_that_pyarrow_gives_them(
    version: str, stored: bool, tmp_path: Path
) -> None:
    path = tmp_path / "types.parquet"
    columns = {
        name: pa.array([value_of(kind, number) for number in range(3000)], kind)
        for name, kind in TYPES.items()
    }
    pq.write_table(
        pa.table(columns), path, data_page_size=800, write_batch_size=50, row_group_size=1500,
        data_page_version=version, write_page_index=True, store_schema=stored,
    )  # fmt: skip
    rows = {0: [0, 1, 700, 701, 1499], 1: [5]}
    assert_equal(read(path, list(columns), rows), expected(path, list(columns), rows))
    nothing: dict[int, list[int]] = {}
    assert_equal(read(path, list(columns), nothing), expected(path, list(columns), nothing))


def corpora() -> Iterable[Path]:
    yield from FIXTURES.glob("*.parquet")
    yield from PUBLIC.glob("*/*.parquet")


@pytest.mark.every(4)
@pytest.mark.parametrize("path", sorted(corpora()), ids=lambda path: path.stem)
def test_files_of_other_writers(path: Path) -> None:
    """What pyarrow reads, we read, unless something else is wrong with the file that we say."""
    random = Random(path.name)
    try:
        metadata = pq.read_metadata(path)
        rows = some_rows(random, path, metadata)
        names = list(dict.fromkeys(pq.read_schema(path).names))
        wanted = {name: expected(path, [name], rows) for name in names if metadata.num_rows}
    except (pa.ArrowException, OSError, KeyError):
        with suppress(ParquetBloomError):
            read(path, ["x"], {0: [0]})
        return
    for name, table in wanted.items():
        if (path.stem, name) in WRONG:
            with pytest.raises(FormatError, match=WRONG[path.stem, name]):
                read(path, [name], rows)
        else:
            assert_equal(read(path, [name], rows), table, name)


WRONG = {
    ("nested-unsigned-malformed", "g"): "num_values is 4, expected 2",
    (
        "datapage_v1-corrupt-checksum",
        "a",
    ): "checksum .*, expected .*; take another copy, or read it anyway with --ignore-checksums of build, validate or repair",
}


def test_there_are_public_files() -> None:
    if not PUBLIC.exists():
        missing("../shared/data")


@pytest.mark.parametrize("recipe", RECIPES)
def test_encrypted_columns_are_those_of_the_plain_file(recipe: str, tmp_path: Path) -> None:
    made = RECIPES[recipe](PLAIN)
    path = encrypted(tmp_path, made)
    names = pq.read_schema(PLAIN).names
    rows = {0: [0, 3, 4]}
    found = read(path, names, rows, keys_of(made))
    assert_equal(found, expected(PLAIN, names, rows))


@pytest.fixture(scope="module")
def paged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """100 pages of 1,000 rows a column; `list` has two elements a row."""
    path = tmp_path_factory.mktemp("paged") / "paged.parquet"
    numbers = np.arange(100_000)
    table = pa.table(
        {
            "id": numbers,
            "text": pa.array([f"text {number % 50}" for number in numbers.tolist()]),
            "list": pa.array([[number, -number] for number in numbers.tolist()]),
            "struct": pa.array([{"a": number, "b": -number} for number in numbers.tolist()]),
        }
    )
    pq.write_table(
        table, path, write_page_index=True, data_page_size=1, write_batch_size=1000,
        compression="none", use_dictionary=["text"], max_rows_per_page=1000,
    )  # fmt: skip
    return path


def test_only_the_pages_of_the_rows_are_read(paged: Path) -> None:
    with open_parquet(paged) as file:
        before = file.source.bytes_read
        found = file.read_rows(["id", "text", "list"], {0: [1500, 1501, 77_000]})
        assert found["list"].to_pylist()[2] == [77_000, -77_000]
        assert file.pages_read == 6
        # Two pages of 8 bytes a row, of 2 bytes or less, and of 16 and more; and three page indexes.
        assert file.source.bytes_read - before < 2 * 1000 * (8 + 2 + 18) + 3 * 2000
        file.read_rows(["struct"], {0: [5]})
        assert file.pages_read == 6 + 200


def test_columns_have_the_names_that_they_are_asked_for(paged: Path) -> None:
    with pytest.raises(ColumnError, match=r"paged\.parquet: no column txt; did you mean text\?"):
        read(paged, ["txt"], {0: [1]})
    assert read(paged, ["text", "id"], {0: [7]}).to_pylist() == [{"text": "text 7", "id": 7}]


def test_a_page_index_that_is_wrong_is_not_gone_by(paged: Path, tmp_path: Path) -> None:
    """Whatever it says: the rows are right, or something is wrong with the page."""
    data, random = paged.read_bytes(), Random(5)
    with open_parquet(paged) as file:
        one = file.footer.chunks.one
        spans = [
            (one("offset_index_offset", 0, leaf), one("offset_index_length", 0, leaf))
            for leaf in range(3)
        ]
    rows = {0: [1500, 77_000]}
    wanted = expected(paged, ["id", "text", "list"], rows)
    path = tmp_path / "wrong.parquet"
    for _ in range(TIMES):
        wrong = bytearray(data)
        for offset, length in spans:
            for _ in range(random.choice((1, 1, 5))):
                wrong[offset + random.randrange(length)] ^= 1 << random.randrange(8)
        path.write_bytes(wrong)
        assert_equal(read(path, ["id", "text", "list"], rows), wanted)


def test_damaged_pages_are_an_error_or_an_answer(paged: Path, tmp_path: Path) -> None:
    data, random, path = paged.read_bytes(), Random(6), tmp_path / "damaged.parquet"
    with open_parquet(paged) as file:
        start, end = 4, file.footer.start
    for _ in range(TIMES):
        wrong = bytearray(data)
        for _ in range(20):
            wrong[random.randrange(start, end)] = random.randrange(256)
        path.write_bytes(wrong)
        with suppress(ParquetBloomError):
            assert read(path, ["id", "text", "list", "struct"], {0: [9, 77_000]}).num_rows == 2
