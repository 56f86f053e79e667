"""Filters for files that nobody thought of: the very bits that the specification wants, or in ORC no
value lost; and the same rows as before.

PBLOOM_RANDOM_FILES: how many of each format; `make random` has 3,000.
"""

import os
import struct
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import xxhash
from make.footers import footer_start
from make.leaves import ZEROS
from make.random_files import write_orc, write_parquet
from oracle.arrow import bitsets, leaf_array
from oracle.specification import bitset, filter_of
from pyarrow import orc

import parquet_bloom as pb

SEEDS = range(int(os.environ.get("PBLOOM_RANDOM_FILES", "60")))
BLOCK_BYTES = 32

# The bits of each filter, or how many bytes they are, by row group and column.
Filters = dict[tuple[int, str], bytes]
Sizes = dict[tuple[int, str], int]


def plain(values: pa.Array, physical: str, length: int) -> set[bytes]:
    """What is stored for values, in PLAIN; both zeros for either."""
    kind = values.type
    if pa.types.is_date(kind) or pa.types.is_time32(kind):
        values = values.cast(pa.int32())
    elif pa.types.is_time(kind) or pa.types.is_timestamp(kind):
        values = values.cast(pa.int64())
    found = values.to_pylist()
    if pa.types.is_decimal(kind):
        found = [int(f"{value:f}".replace(".", "")) for value in found]
        if physical == "FIXED_LEN_BYTE_ARRAY":
            return {number.to_bytes(length, "big", signed=True) for number in found}
    if physical in ("INT32", "INT64"):
        width = 4 if physical == "INT32" else 8
        return {(number % (1 << 8 * width)).to_bytes(width, "little") for number in found}
    if physical in ("FLOAT", "DOUBLE"):
        stored = {struct.pack("<f" if physical == "FLOAT" else "<d", number) for number in found}
        zeros = set(ZEROS[physical])
        return stored | zeros if stored & zeros else stored
    return {value.encode() if isinstance(value, str) else value for value in found}


def filters_of(table: pa.Table, path: Path, sizes: Sizes) -> Filters:
    """The filters of these sizes that the specification wants for a table in the row groups of a file."""
    meta_data = pq.read_metadata(path)
    leaves = {
        leaf.path: leaf for leaf in map(meta_data.schema.column, range(meta_data.num_columns))
    }
    found, start = {}, 0
    for group in range(meta_data.num_row_groups):
        rows = table.slice(start, meta_data.row_group(group).num_rows)
        start += rows.num_rows
        for name, leaf in leaves.items():
            top, *below = name.split(".")
            stored = plain(leaf_array(rows[top], below), leaf.physical_type, leaf.length)
            if stored:
                num_blocks = sizes.get((group, name), BLOCK_BYTES) // BLOCK_BYTES
                hashes = map(xxhash.xxh64_intdigest, stored)
                found[group, name] = bitset(filter_of(hashes, num_blocks))
    return found


def errors(path: Path) -> list[tuple[str, str | None, str]]:
    """What is wrong with a file, but for filters that were told to be too small."""
    findings = pb.validate(path).findings
    found = [each for each in findings if each.severity == "error"]
    return [
        (each.rule, each.column, each.message)
        for each in found
        if each.rule not in ("PB301", "PB303")
    ]


def some_size(random: Random) -> dict[str, int]:
    return random.choice(({}, {}, {"ndv": random.choice((1, 100, 10_000))}))


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_parquet(seed, tmp_path):
    random = Random(seed)
    source, built = tmp_path / "in.parquet", tmp_path / "out.parquet"
    written = write_parquet(random, source)
    with pb.open(source) as file:
        columns = file.columns
    size, threads = some_size(random), random.choice((1, 2))
    pb.build(source, built, columns=columns, force=True, threads=threads, **size)
    found = bitsets(built)
    sizes = {chunk: len(bits) for chunk, bits in found.items()}
    assert found == filters_of(written.table, source, sizes), (written.settings, size)
    assert errors(built) == [], written.settings
    before = source.read_bytes()
    end = footer_start(before)
    assert built.read_bytes()[:end] == before[:end]


def is_group(name: str, columns: Sequence[str]) -> bool:
    return any(other.startswith(f"{name}.") for other in columns)


@pytest.mark.every(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_orc(seed, tmp_path):
    random = Random(seed)
    source, built = tmp_path / "in.orc", tmp_path / "out.orc"
    written = write_orc(random, source)
    with pb.open(source) as file:
        columns = [name for name in file.columns if not is_group(name, file.columns)]
    size, threads = some_size(random), random.choice((1, 2))
    pb.build(source, built, columns=columns, force=True, threads=threads, **size)
    table = orc.read_table(built)
    assert repr(table.to_pylist()) == repr(orc.read_table(source).to_pylist())
    for name in columns:
        top, *below = name.split(".")
        array = leaf_array(table[top], below)
        answers = pb.probe(built, name, array).results
        absent = [each.value for each in answers if each.verdict == "absent"]
        assert absent == [], (name, written.settings, size)
    assert errors(built) == [], written.settings
