"""Writers that get one thing wrong, in plain Python: columns, what they do, and files made so.

Nothing here imports `parquet_bloom.diagnosis`. Where a writer does right, it does what
`specification` says.
"""

import random
import struct
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import xxhash
from make.pages import byte_arrays, data_page
from make.parquet_files import forged, open_parquet
from oracle import specification as spec
from oracle.hashing import x64_128

import parquet_bloom as pb
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.footer.footer import FilterPlace
from parquet_bloom.parquet.thrift import ttypes

COUNT = 400


def xxh64(plain: bytes, seed: int = 0) -> int:
    return xxhash.xxh64_intdigest(plain, seed)


@dataclass(frozen=True)
class Writer:
    """How a writer hashes and places values; what it leaves alone is right."""

    form: Callable[[bytes], bytes] = lambda plain: plain
    hash: Callable[[bytes], int] = xxh64
    block: Callable[[int, int], int] = spec.block_index
    key: Callable[[int], int] = lambda hash: hash % 2**32
    mask: Callable[[int], list[int]] = spec.mask
    store: Callable[[spec.Filter], bytes] = spec.bitset

    def bitset(self, values: Iterable[bytes], num_blocks: int) -> bytes:
        filter = spec.new_filter(num_blocks)
        for plain in values:
            hash = self.hash(self.form(plain))
            mask = self.mask(self.key(hash))
            block = filter[self.block(hash, num_blocks)]
            for i in range(8):
                block[i] |= mask[i]
        return self.store(filter)


# --- columns: an Arrow array of distinct values, and their stored bytes ---------------------------


@dataclass(frozen=True)
class Column:
    array: pa.Array
    plain: list[bytes]
    options: dict[str, Any]


def _packed(code: str, numbers: Iterable[Any]) -> list[bytes]:
    return [struct.pack(code, number) for number in numbers]


def _column(array: pa.Array, plain: list[bytes], **options: Any) -> Column:
    assert len(set(plain)) == len(array) == len(plain)
    return Column(array, plain, options)


def _numbers(seed: int, low: int, high: int, count: int = COUNT) -> list[int]:
    rng = random.Random(seed)
    numbers: dict[int, None] = {}
    while len(numbers) < count:
        numbers[rng.randrange(low, high)] = None
    return list(numbers)


def _decimals(precision: int, scale: int, seed: int) -> tuple[pa.Array, list[int]]:
    top = min(10**precision, 2**62)
    numbers = [n * (10**precision // top) for n in _numbers(seed, -top + 1, top)]
    exact = [f"{n}E-{scale}" for n in numbers]
    from decimal import Decimal

    return pa.array(map(Decimal, exact), pa.decimal128(precision, scale)), numbers


def _words(seed: int) -> list[str]:
    rng = random.Random(seed)
    return [
        f"{rng.choice(['Über', 'Key', 'A'])} {rng.randrange(10**9)} {rng.choice('xyz')}  "
        for _ in range(COUNT)
    ]


def make_column(name: str, seed: int = 1) -> Column:
    rng = random.Random(seed)
    match name:
        case "int32":
            numbers = _numbers(seed, -(2**31), 2**31)
            return _column(pa.array(numbers, pa.int32()), _packed("<i", numbers))
        case "int32_small":
            numbers = _numbers(seed, 0, 2**30)
            return _column(pa.array(numbers, pa.int32()), _packed("<i", numbers))
        case "int8":
            numbers = _numbers(seed, -128, 128, 200)
            return _column(pa.array(numbers, pa.int8()), _packed("<i", numbers))
        case "uint32":
            numbers = _numbers(seed, 0, 2**32)
            return _column(pa.array(numbers, pa.uint32()), _packed("<I", numbers))
        case "int16":
            numbers = _numbers(seed, -(2**15), 2**15)
            return _column(pa.array(numbers, pa.int16()), _packed("<i", numbers))
        case "int64":
            numbers = _numbers(seed, -(2**62), 2**62)
            return _column(pa.array(numbers, pa.int64()), _packed("<q", numbers))
        case "int64_small":
            numbers = _numbers(seed, 0, 2**31)
            return _column(pa.array(numbers, pa.int64()), _packed("<q", numbers))
        case "int64_of_32":
            numbers = _numbers(seed, -(2**31), 2**31)
            return _column(pa.array(numbers, pa.int64()), _packed("<q", numbers))
        case "time":
            numbers = _numbers(seed, 0, 86_400_000_000)
            return _column(pa.array(numbers, pa.time64("us")), _packed("<q", numbers))
        case "date":
            numbers = _numbers(seed, -20_000, 40_000)
            return _column(pa.array(numbers, pa.int32()).cast(pa.date32()), _packed("<i", numbers))
        case "timestamp":
            numbers = _numbers(seed, -(2**50), 2**50)
            array = pa.array(numbers, pa.timestamp("us"))
            return _column(array, _packed("<q", numbers))
        case "int96":
            numbers = [n * 1000 for n in _numbers(seed, 0, 2**50)]
            plain = [
                struct.pack("<qi", n % 86_400_000_000_000, n // 86_400_000_000_000 + 2_440_588)
                for n in numbers
            ]
            array = pa.array(numbers, pa.timestamp("ns"))
            return _column(array, plain, use_deprecated_int96_timestamps=True)
        case "float":
            numbers = [
                struct.unpack("<f", struct.pack("<f", rng.gauss(0, 1e6)))[0] for _ in range(COUNT)
            ]
            return _column(pa.array(numbers, pa.float32()), _packed("<f", numbers))
        case "double":
            floats = [rng.gauss(0, 1e6) for _ in range(COUNT)]
            return _column(pa.array(floats, pa.float64()), _packed("<d", floats))
        case "float16":
            plain = [struct.pack("<H", n) for n in _numbers(seed, 0x0400, 0x7C00)]
            import numpy as np

            array = pa.array(np.frombuffer(b"".join(plain), "<f2"), pa.float16())
            return _column(array, plain)
        case "decimal_int32":
            array, numbers = _decimals(9, 2, seed)
            return _column(array, _packed("<i", numbers), store_decimal_as_integer=True)
        case "decimal_int64":
            array, numbers = _decimals(18, 4, seed)
            return _column(array, _packed("<q", numbers), store_decimal_as_integer=True)
        case "decimal_fixed":
            array, numbers = _decimals(23, 5, seed)
            return _column(array, [n.to_bytes(10, "big", signed=True) for n in numbers])
        case "decimal_fixed_small":
            array, numbers = _decimals(9, 0, seed)
            return _column(array, [n.to_bytes(4, "big", signed=True) for n in numbers])
        case "uuid" | "fixed16":
            plain = [rng.randbytes(16) for _ in range(COUNT)]
            return _column(pa.array(plain, pa.binary(16)), plain)
        case "fixed7":
            plain = [rng.randbytes(7) for _ in range(COUNT)]
            return _column(pa.array(plain, pa.binary(7)), plain)
        case "text":
            words = _words(seed)
            return _column(pa.array(words), [word.encode() for word in words])
        case "email":
            texts = [f"weiß{n}.{n % 7919:x}@host{n % 97}.example" for n in _numbers(seed, 0, 10**9)]
            return _column(pa.array(texts), [text.encode() for text in texts])
        case "long_text":
            words = [f"{word}{'.' * 70}" for word in _words(seed)]
            return _column(pa.array(words), [word.encode() for word in words])
        case "binary":
            plain = [rng.randbytes(rng.randrange(6, 30)) for _ in range(COUNT)]
            return _column(pa.array(plain, pa.binary()), plain)
        case "uuid_text":
            words = [str(uuid.UUID(int=rng.getrandbits(128))) for _ in range(COUNT)]
            return _column(pa.array(words), [word.encode() for word in words])
        case "uuid_digits":
            words = [f"{rng.getrandbits(128):032x}" for _ in range(COUNT)]
            return _column(pa.array(words), [word.encode() for word in words])
        case "uuid_bytes":
            plain = [rng.randbytes(16) for _ in range(COUNT)]
            return _column(pa.array(plain, pa.binary()), plain)
    raise KeyError(name)


# --- files ----------------------------------------------------------------------------------------


def write(path: Path, column: Column, **options: Any) -> Path:
    """One row group, with a sound filter."""
    return write_table(path, pa.table({"values": column.array}), **{**column.options, **options})


def write_table(path: Path, table: pa.Table, **options: Any) -> Path:
    build = {key: options.pop(key) for key in ("fpp", "exact_blocks", "ndv") if key in options}
    bare = path.with_suffix(".bare")
    pq.write_table(table, bare, **{"use_dictionary": False, **options})
    pb.build(bare, path, columns=table.column_names, force=True, **build)
    return path


def header(path: Path, row_group: int = 0, column: str = "values") -> bloom.StoredFilter:
    with open_parquet(path) as file:
        stored = bloom.read_header(file.source, file.footer, file.chunk(row_group, column))
    assert stored is not None
    return stored


def read_bits(path: Path, row_group: int = 0, column: str = "values") -> bytes:
    stored = header(path, row_group, column)
    start = stored.offset + stored.header_bytes
    return path.read_bytes()[start : start + stored.num_bytes]


def overwrite(path: Path, bitset: bytes, row_group: int = 0, column: str = "values") -> None:
    """Put other bits in the place of a filter's."""
    stored = header(path, row_group, column)
    assert len(bitset) == stored.num_bytes
    with path.open("r+b") as file:
        file.seek(stored.offset + stored.header_bytes)
        file.write(bitset)


def append(path: Path, region: bytes, length: int, column: int = 0) -> None:
    """Put `region` in front of the footer, and let the chunk's filter begin there."""
    with open_parquet(path) as file:
        start = file.footer.start
        tail = file.footer.tail({(0, column): FilterPlace(start, length)})
    path.write_bytes(path.read_bytes()[:start] + region + tail)


def point_to(path: Path, places: dict[tuple[int, int], tuple[int, str]]) -> None:
    """Let the filter of (row group, leaf index) be the one of another (row group, column)."""
    found = {}
    for here, there in places.items():
        stored = header(path, *there)
        found[here] = FilterPlace(stored.offset, stored.end - stored.offset)
    with open_parquet(path) as file:
        start = file.footer.start
        tail = file.footer.tail(found)
    path.write_bytes(path.read_bytes()[:start] + tail)


def byte_array_decimals(path: Path, seed: int = 1) -> tuple[Path, list[bytes]]:
    """A file of BYTE_ARRAY decimals of 5 bytes each, with a sound filter."""
    numbers = _numbers(seed, -(2**30), 2**30)
    plain = [n.to_bytes(5, "big", signed=True) for n in numbers]
    decimal = {
        "logicalType": ttypes.LogicalType(DECIMAL=ttypes.DecimalType(scale=2, precision=11)),
        "converted_type": ttypes.ConvertedType.DECIMAL,
        "scale": 2,
        "precision": 11,
    }
    bare = path.with_suffix(".bare")
    page = data_page(byte_arrays(*plain), len(plain))
    forged(bare, [page], len(plain), element=decimal)
    pb.build(bare, path, columns=["values"])
    return path, plain


# --- hashes ---------------------------------------------------------------------------------------


def murmur3(seed: int) -> Callable[[bytes], int]:
    return lambda plain: x64_128(plain, seed)[0]


def murmur3_last(seed: int) -> Callable[[bytes], int]:
    return lambda plain: x64_128(plain, seed)[1]


def fnv_1a(plain: bytes) -> int:
    hash = 14695981039346656037
    for byte in plain:
        hash ^= byte
        hash = hash * 1099511628211 % 2**64
    return hash


def djb2(plain: bytes) -> int:
    hash = 5381
    for byte in plain:
        hash = ((hash << 5) + hash + byte) % 2**64
    return hash


def signed64(hash: int) -> int:
    return hash - (hash >> 63 << 64)


def swap64(hash: int) -> int:
    return int.from_bytes(hash.to_bytes(8, "little"), "big")


# --- stored words ---------------------------------------------------------------------------------


def words_big_endian(filter: spec.Filter) -> bytes:
    return b"".join(struct.pack(">8I", *block) for block in filter)


def words_in_pairs(filter: spec.Filter) -> bytes:
    return spec.bitset([[b, a, d, c, f, e, h, g] for a, b, c, d, e, f, g, h in filter])


def longs_big_endian(filter: spec.Filter) -> bytes:
    longs = [[block[i] | block[i + 1] << 32 for i in (0, 2, 4, 6)] for block in filter]
    return b"".join(struct.pack(">4Q", *block) for block in longs)


def without_signs(filter: spec.Filter) -> bytes:
    return spec.bitset([[word & 0x7FFFFFFF for word in block] for block in filter])


def mask_with_salts_reversed(key: int) -> list[int]:
    return [1 << (key * salt % 2**32 >> 27) for salt in reversed(spec.SALT)]


def mask_of_salts(*salts: int) -> Callable[[int], list[int]]:
    return lambda key: [1 << (key * salt % 2**32 >> 27) for salt in salts]


def mask_of_seven_words(key: int) -> list[int]:
    return [*spec.mask(key)[:7], 0]


def mask_from_the_top(key: int) -> list[int]:
    return [1 << 31 - (key * salt % 2**32 >> 27) for salt in spec.SALT]


def mask_from_bit(lowest: int) -> Callable[[int], list[int]]:
    return lambda key: [1 << (key * salt >> lowest) % 32 for salt in spec.SALT]


# --- blocks ---------------------------------------------------------------------------------------


def of_other_count(more: int) -> Callable[[int, int], int]:
    return lambda hash, z: min(spec.block_index(hash, z + more), z - 1)
