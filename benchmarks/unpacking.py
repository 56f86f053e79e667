"""Nanoseconds of CPU time to decode a number: ALP against DELTA_BINARY_PACKED, which packs them alike.

Run as a program, `python -m benchmarks.unpacking ROUNDS`; prints JSON: for each encoding the bytes per value, and on
each code path what each round took. The ALP pages are made here, as no library in reach writes them: two digits
behind the point, and for one value in a hundred all that it has, which makes it an exception.
"""

from __future__ import annotations

import json
import struct
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.data import SEED
from parquet_bloom.native import _kernel

NUM_VALUES: Final = 1_000_000
LOG: Final = 10
DIGITS: Final = 2
# With these, as many digits come out as they were as with any, by the bytes of a value.
EXPONENTS: Final = {8: 14, 4: 6}
PAR1_BYTES: Final = 4

Decoder = Callable[[bytes], Iterable[Any]]


def delta_page() -> bytes:
    """Times of events, as pyarrow packs them."""
    numbers = np.cumsum(np.random.default_rng(SEED).integers(1, 10_000_000, NUM_VALUES))
    schema = pa.schema([pa.field("x", pa.int64(), nullable=False)])
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.table({"x": numbers}, schema),
        sink,
        compression="none",
        use_dictionary=False,
        column_encoding={"x": "DELTA_BINARY_PACKED"},
        data_page_size=1 << 30,
        max_rows_per_page=NUM_VALUES,
    )
    data = sink.getvalue().to_pybytes()
    _, size = _kernel.page_header(data[PAR1_BYTES:])
    return bytes(data[PAR1_BYTES + size :])


def alp_page(kind: str) -> bytes:
    """Amounts of money, of which a vector has more than 1,000."""
    rng = np.random.default_rng(SEED)
    amounts = rng.gamma(2.0, 20.0, NUM_VALUES)
    is_short = rng.random(NUM_VALUES) < 0.99
    values = np.where(is_short, amounts.round(DIGITS), amounts).astype(kind)
    vectors = [alp_vector(part) for part in np.split(values, range(1 << LOG, NUM_VALUES, 1 << LOG))]
    starts = 4 * len(vectors) + np.cumsum([0, *map(len, vectors[:-1])])
    header = struct.pack("<BBBi", 0, 0, LOG, NUM_VALUES) + starts.astype("<u4").tobytes()
    return header + b"".join(vectors)


def alp_vector(values: np.ndarray) -> bytes:
    kind, width = values.dtype.type, values.dtype.itemsize
    exponent = EXPONENTS[width]
    factor = exponent - DIGITS
    numbers = np.rint(values.astype("f8") * 10**DIGITS).astype(np.int64)
    is_right = numbers.astype(values.dtype) * kind(f"1e{factor}") * kind(f"1e-{exponent}") == values
    least = int(numbers[is_right].min())
    deltas = np.where(is_right, numbers - least, 0)
    bits = int(deltas.max()).bit_length()
    packed = np.packbits(deltas[:, None] >> np.arange(bits) & 1, bitorder="little")
    positions = np.flatnonzero(~is_right)
    header = struct.pack("<BBH", exponent, factor, positions.size)
    frame = least.to_bytes(width, "little", signed=True) + bytes([bits])
    exceptions = positions.astype("<u2").tobytes() + values[positions].tobytes()
    return header + frame + packed.tobytes() + exceptions


def nanoseconds(decode: Decoder, page: bytes) -> float:
    started = time.process_time_ns()
    for _ in decode(page):
        pass
    return (time.process_time_ns() - started) / NUM_VALUES


def measured(rounds: int) -> dict[str, Any]:
    """The contenders take turns."""
    used = _kernel.code_path()
    paths = _kernel.CODE_PATHS[: 1 + _kernel.CODE_PATHS.index(used)]
    cases: dict[str, tuple[Decoder, bytes]] = {
        "int64, DELTA_BINARY_PACKED": (_kernel.DeltaDecoder, delta_page()),
        "double, ALP": (lambda page: _kernel.AlpDecoder(page, 8), alp_page("f8")),
        "float, ALP": (lambda page: _kernel.AlpDecoder(page, 4), alp_page("f4")),
    }
    found: dict[str, Any] = {
        name: {"bytes": len(page) / NUM_VALUES, "nanoseconds": {path: [] for path in paths}}
        for name, (_, page) in cases.items()
    }
    for _ in range(rounds):
        for path in paths:
            _kernel.choose_code_path(path)
            for name, (decode, page) in cases.items():
                found[name]["nanoseconds"][path].append(nanoseconds(decode, page))
    return found


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))
