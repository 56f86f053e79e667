"""A file with most of what can be wrong with filters, and with names that want to be markup."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from make.filters import bitset_at
from make.footers import pointer

import parquet_bloom as pb

ROWS, GROUPS = 8000, 4
SCRIPT = "<script>document.title='ran'</script>"
CONTROLS = "a\u202eb\x1b[31m\tc"
COLUMNS = ("id", SCRIPT, CONTROLS, "half", "part", "full", "country", "flag")


def write(folder: Path) -> Path:
    """Four row groups. Of the filters, those of `half` are half empty, those of `full` saturated,
    those of `part` in two row groups only; the last one of `id` lacks its header."""
    rng = np.random.default_rng(11)
    table = pa.table(
        {name: rng.integers(0, 1 << 40, ROWS) for name in COLUMNS[:6]}
        | {"country": rng.choice(["de", "fr", "it"], ROWS), "flag": rng.random(ROWS) < 0.5}
    )
    files = [folder / f"{step}.parquet" for step in ("in", "one", "two", "<b>trouble\x1b[31m")]
    pq.write_table(table, files[0], row_group_size=ROWS // GROUPS, use_dictionary=["country"])
    pb.build(files[0], files[1], columns=COLUMNS[:4])
    pb.build(files[1], files[2], columns=["part"], row_groups=[0, 2])
    pb.build(files[2], files[3], columns=["full"], ndv=200, force=True)
    stored = files[3].read_bytes()
    data = bytearray(stored)
    for group in range(GROUPS):
        start, end = bitset_at(stored, group, 3)
        middle = (start + end) // 2
        data[middle:end] = bytes(end - middle)
    broken, _ = pointer(stored, GROUPS - 1, 0)
    data[broken : broken + 3] = b"xyz"
    files[3].write_bytes(data)
    return files[3]
