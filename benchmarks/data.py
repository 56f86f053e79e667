"""The files that are measured, as pyarrow writes them by default, zstd, seeded.

Run as a program, `python -m benchmarks.data KIND ROWS FILE`, so that the memory that it takes is
not the benchmark's own.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
from pyarrow import orc

from benchmarks.kms import BenchmarkKms

SEED = 20240131
ROW_GROUP_ROWS = 1 << 20  # pyarrow's default
TINY_FILE_ROWS = 1_000
TINY_FILE_STEP = 7_919
ROW_GROUP_CHUNKS = 500
ID_BYTES = 25
# Numbers of a range times the one, modulo the other, are distinct, and in no order.
LARGE_PRIME, LARGER_PRIME = 1_000_000_007, 2_147_483_647
FIRST_TIMESTAMP = 1_704_067_200_000_000  # 2024-01-01T00:00:00Z in microseconds


def write_events(rows: int, file: Path) -> None:
    """Ten columns of the usual kinds; `id` is a unique string."""
    rng = np.random.default_rng(SEED)
    pq.write_table(events(rng, rows), file, compression="zstd")


def write_encodings(rows: int, file: Path) -> None:
    """Unique values of more kinds and encodings, without dictionaries."""
    rng = np.random.default_rng(SEED)
    ids = unique_ids(rng, rows)
    columns = {
        "short": (mixed_strings(rng, rows, 6, 30), "PLAIN"),
        "long": (mixed_strings(rng, rows, 20, 200), "PLAIN"),
        "int32": (rng.permutation(rows).astype(np.int32), "PLAIN"),
        "delta": (np.cumsum(rng.integers(1, 10_000_000, rows)), "DELTA_BINARY_PACKED"),
        "lengths": (ids, "DELTA_LENGTH_BYTE_ARRAY"),
        "prefixes": (ids.take(pa.compute.sort_indices(ids)), "DELTA_BYTE_ARRAY"),
        "streams": (rng.gamma(2.0, 20.0, rows), "BYTE_STREAM_SPLIT"),
    }
    pq.write_table(
        pa.table({name: values for name, (values, _) in columns.items()}),
        file,
        compression="zstd",
        use_dictionary=False,
        column_encoding={name: encoding for name, (_, encoding) in columns.items()},
    )


def mixed_strings(rng: np.random.Generator, rows: int, least: int, most: int) -> pa.StringArray:
    """Strings of `least` to `most` random letters."""
    lengths = rng.integers(least, most + 1, rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    letters = rng.integers(ord("a"), ord("z") + 1, offsets[-1], np.uint8)
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(letters))


def write_gcm_events(rows: int, file: Path) -> None:
    """The same with every byte encrypted and authenticated, each column with a key of its own."""
    write_encrypted_events(rows, file, "AES_GCM_V1")


def write_ctr_events(rows: int, file: Path) -> None:
    """The same with pages that are not authenticated."""
    write_encrypted_events(rows, file, "AES_GCM_CTR_V1")


def write_encrypted_events(rows: int, file: Path, algorithm: str) -> None:
    table = events(np.random.default_rng(SEED), rows)
    configuration = pe.EncryptionConfiguration(
        footer_key="footer",
        column_keys={"column": table.column_names},
        encryption_algorithm=algorithm,
    )
    properties = pe.CryptoFactory(BenchmarkKms).file_encryption_properties(
        pe.KmsConnectionConfig(), configuration
    )
    pq.write_table(table, file, compression="zstd", encryption_properties=properties)


def write_orc_events(rows: int, file: Path) -> None:
    """The same in ORC."""
    orc.write_table(events(np.random.default_rng(SEED), rows), file, compression="zstd")


def events(rng: np.random.Generator, rows: int) -> pa.Table:
    return pa.table(
        {
            "id": unique_ids(rng, rows),
            "user_id": rng.integers(0, 1 << 60, rows),
            "country": picked(rng, rows, [f"country-{n}" for n in range(200)]),
            "city": picked(rng, rows, [f"city of {n}" for n in range(20_000)]),
            "status": rng.choice(np.array([200, 301, 404, 500], np.int32), rows),
            "amount": rng.gamma(2.0, 20.0, rows),
            "score": pa.array(rng.normal(size=rows), mask=rng.random(rows) < 0.3),
            "parent": pa.array(rng.integers(0, 1 << 60, rows), mask=rng.random(rows) < 0.5),
            "ts": pa.array(
                FIRST_TIMESTAMP + np.cumsum(rng.integers(1, 10_000_000, rows)), pa.timestamp("us")
            ),
            "flag": rng.random(rows) < 0.1,
        }
    )


def unique_ids(rng: np.random.Generator, rows: int) -> pa.StringArray:
    """Strings of 25 bytes in the shape of a cuid: `c` and 24 random letters and digits."""
    alphabet = np.frombuffer(b"0123456789abcdefghijklmnopqrstuvwxyz", np.uint8)
    text = alphabet[rng.integers(0, len(alphabet), (rows, ID_BYTES), dtype=np.uint8)]
    text[:, 0] = ord("c")
    offsets = np.arange(rows + 1, dtype=np.int32) * ID_BYTES
    return pa.StringArray.from_buffers(rows, pa.py_buffer(offsets), pa.py_buffer(text))


def picked(rng: np.random.Generator, rows: int, choices: list[str]) -> pa.Array:
    """One of a few strings for each row."""
    return pa.array(choices).take(pa.array(rng.integers(0, len(choices), rows)))


def write_many_row_groups(rows: int, file: Path) -> None:
    """One column of unique strings. Row groups repeat each other: each is a filter of its own."""
    table = pa.table({"id": unique_ids(np.random.default_rng(SEED), min(rows, ROW_GROUP_ROWS))})
    with pq.ParquetWriter(file, table.schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, rows, ROW_GROUP_ROWS):
            writer.write_table(table.slice(0, rows - start))


def write_one_chunk(rows: int, file: Path) -> None:
    """Distinct integers in a single column chunk, of more rows than pyarrow writes into one."""
    from datafusion import SessionContext

    order = f"value * {LARGE_PRIME} % {LARGER_PRIME}"
    SessionContext().sql(
        f"COPY (SELECT {order} AS id FROM range({rows}))"
        f" TO '{file}' STORED AS PARQUET OPTIONS (compression 'zstd(1)', max_row_group_size {rows},"
        " dictionary_enabled false)"
    ).collect()


def write_dictionary(entries: int, file: Path) -> None:
    """One column chunk whose values are in a dictionary, each of them twice."""
    numbers = np.random.default_rng(SEED).permutation(entries)
    pq.write_table(
        pa.table({"id": np.concatenate([numbers, numbers])}),
        file,
        compression="none",
        row_group_size=2 * entries,
        dictionary_pagesize_limit=16 * entries,
    )


def write_row_groups(count: int, file: Path) -> None:
    """Row groups of three rows of one column."""
    table = pa.table({"id": range(3)})
    with pq.ParquetWriter(file, table.schema, compression="none", use_dictionary=False) as writer:
        for _ in range(count):
            writer.write_table(table)


def write_nulls(count: int, file: Path) -> None:
    """Row groups of a hundred rows of one column, with nothing but null in all of them but the first."""
    schema = pa.schema([("id", pa.int64())])
    with pq.ParquetWriter(file, schema, compression="none", use_dictionary=False) as writer:
        writer.write_table(pa.table({"id": range(100)}, schema))
        nulls = pa.table({"id": [None] * 100}, schema)
        for _ in range(1, count):
            writer.write_table(nulls)


def write_columns(count: int, file: Path) -> None:
    """Four row groups of a thousand rows of many columns, whose values are distinct and in no order."""
    rng = np.random.default_rng(SEED)
    values = {f"column-{number}": rng.integers(0, 1 << 60, 4000) for number in range(count)}
    table = pa.table(values)
    pq.write_table(table, file, compression="none", use_dictionary=False, row_group_size=1000)


def write_filters(count: int, file: Path) -> None:
    """Row groups of a thousand rows of one column, each with a filter of 2 KiB."""
    table = pa.table({"id": np.random.default_rng(SEED).integers(0, 1 << 60, 1000)})
    with pq.ParquetWriter(
        file,
        table.schema,
        compression="none",
        use_dictionary=False,
        bloom_filter_options={"id": {"ndv": 1000, "fpp": 0.01}},
    ) as writer:
        for _ in range(count):
            writer.write_table(table)


def write_one_group(rows: int, file: Path) -> None:
    """Unique strings and integers in a single row group."""
    rng = np.random.default_rng(SEED)
    table = pa.table({"id": unique_ids(rng, rows), "user_id": rng.integers(0, 1 << 60, rows)})
    pq.write_table(table, file, compression="zstd", use_dictionary=False, row_group_size=rows)


def write_wide(columns: int, file: Path) -> None:
    """A hundred row groups of many small column chunks; one in a hundred has a filter."""
    names = [f"column-{number}" for number in range(columns)]
    rng = np.random.default_rng(SEED)
    values = pa.table({name: rng.integers(0, 1 << 60, 1000) for name in names})
    with pq.ParquetWriter(
        file,
        values.schema,
        compression="none",
        use_dictionary=False,
        bloom_filter_options={name: {"ndv": 10, "fpp": 0.01} for name in names[::100]},
    ) as writer:
        for start in range(0, 1000, 10):
            writer.write_table(values.slice(start, 10))


def write_chunks(chunks: int, file: Path) -> None:
    """Row groups of 500 column chunks of 30 values, each with a filter of 64 bytes; 0 to 29 in the first column."""
    names = [f"column-{number}" for number in range(ROW_GROUP_CHUNKS)]
    rng = np.random.default_rng(SEED)
    types = pa.schema([(name, pa.int64()) for name in names])
    options = {name: {"ndv": 50, "fpp": 0.001} for name in names}
    with pq.ParquetWriter(
        file,
        types,
        compression="none",
        use_dictionary=False,
        bloom_filter_options=options,
    ) as writer:
        for _ in range(0, chunks, ROW_GROUP_CHUNKS):
            values = rng.integers(0, 1 << 60, (ROW_GROUP_CHUNKS, 30))
            values[0] = range(30)
            writer.write_table(pa.table(list(values), schema=types))


def write_lookups(row_groups: int, file: Path) -> None:
    """One column of distinct integers; each row group has a filter of 64 KiB."""
    table = pa.table(
        {"user_id": np.random.default_rng(SEED).integers(0, 1 << 60, row_groups * 50_000)}
    )
    pq.write_table(
        table,
        file,
        compression="none",
        use_dictionary=False,
        row_group_size=50_000,
        bloom_filter_options={"user_id": {"ndv": 50_000, "fpp": 0.01}},
    )


def write_huge(rows: int, folder: Path) -> None:
    """The usual ten columns in one large file, the same million rows again and again."""
    folder.mkdir()
    rng = np.random.default_rng(SEED)
    first = events(rng, min(rows, ROW_GROUP_ROWS))
    with pq.ParquetWriter(folder / "huge.parquet", first.schema, compression="zstd") as writer:
        for start in range(0, rows, ROW_GROUP_ROWS):
            writer.write_table(first.slice(0, rows - start))


def write_large_files(count: int, folder: Path) -> None:
    """Files of 100 MB of the usual ten columns, all with the same two million rows."""
    folder.mkdir()
    write_events(2 * ROW_GROUP_ROWS, folder / "part-00000.parquet")
    for number in range(1, count):
        shutil.copyfile(folder / "part-00000.parquet", folder / f"part-{number:05}.parquet")


def write_tiny_files(count: int, folder: Path) -> None:
    """Many files of a thousand rows of three columns, 12 KB each; the values of `id` are in no order."""
    _write_tiny_files(count, folder)


def write_tiny_files_with_filters(count: int, folder: Path) -> None:
    """The same, with a filter for `id` in each."""
    _write_tiny_files(count, folder, {"id": {"ndv": TINY_FILE_ROWS, "fpp": 0.01}})


def _write_tiny_files(count: int, folder: Path, filters: Mapping[str, Any] | None = None) -> None:
    folder.mkdir()
    for number in range(count):
        rows = np.arange(number * TINY_FILE_ROWS, (number + 1) * TINY_FILE_ROWS)
        ids = rows * TINY_FILE_STEP % (count * TINY_FILE_ROWS)
        table = pa.table(
            {
                "id": [f"user-{row:09d}" for row in ids.tolist()],
                "amount": rows * 31 % 9_973,
                "score": rows * 0.25,
            }
        )
        file = folder / f"part-{number:05d}.parquet"
        pq.write_table(table, file, compression="zstd", bloom_filter_options=filters)


KINDS: dict[str, Callable[[int, Path], None]] = {
    "chunks": write_chunks,
    "columns": write_columns,
    "dictionary": write_dictionary,
    "encodings": write_encodings,
    "events": write_events,
    "events-ctr": write_ctr_events,
    "events-gcm": write_gcm_events,
    "events-orc": write_orc_events,
    "filters": write_filters,
    "huge": write_huge,
    "large-files": write_large_files,
    "lookups": write_lookups,
    "many-row-groups": write_many_row_groups,
    "nulls": write_nulls,
    "one-chunk": write_one_chunk,
    "one-group": write_one_group,
    "row-groups": write_row_groups,
    "tiny-files": write_tiny_files,
    "tiny-files-with-filters": write_tiny_files_with_filters,
    "wide": write_wide,
}

if __name__ == "__main__":
    kind, rows, file = sys.argv[1:]
    KINDS[kind](int(rows), Path(file))
