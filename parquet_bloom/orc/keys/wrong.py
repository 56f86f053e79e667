"""What ORC writers are known to have hashed instead of the stored values.

    ORC C++   BYTE        the batch after it was narrowed in place
              FLOAT       the doubles before they were narrowed (pyorc)
              TIMESTAMP   before 1970: rounded towards 1970 (pyarrow)
    any       FLOAT       its 32 bits, as the first specification said
              CHAR        the text without its padding
              DECIMAL     the unscaled value (ORC Java, file version 1.9999)

Hashes are uint64, of any shape (m,).

Sources: ORC C++, ColumnWriter.cc; Arrow C++, adapters/orc/util.cc; orc-core, Decimal64TreeWriter.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np

from parquet_bloom.native import _kernel
from parquet_bloom.orc.arrays import Decimals, Numbers, Texts, Times
from parquet_bloom.orc.keys.key_hashes import Hashes, text_hashes

# Rows per batch: the default of pyarrow and pyorc, and that of writers whose batches are at least as
# large as an index group.
BATCH_ROWS: Final = (1024, 1 << 40)


def packed_bytes(values: Numbers, first_row: int, batch_rows: int) -> Hashes:
    """The hashes of the first eighth of each batch, whose values were narrowed to bytes in place: each
    number holds eight values, or fewer at the end of a batch.

    `values`: all rows of an index group that starts at row `first_row` of the file. The last batch
    ends with the group.
    """
    numbers = values.numbers.astype(np.int64)
    last_row = first_row + len(numbers)
    second_batch = first_row - first_row % batch_rows + batch_rows
    cuts = [first_row, *range(second_batch, last_row, batch_rows), last_row]
    packed = []
    for start, end in pairwise(cuts):
        batch = numbers[start - first_row : end - first_row].copy()
        narrow = batch.astype(np.int8)
        batch.view(np.int8)[: len(batch)] = narrow
        packed.append(batch[: -(-len(batch) // 8)])
    return _kernel.wang(np.concatenate(packed).astype(np.int64))


def rounded_towards_1970(values: Times) -> Hashes:
    """The hashes of timestamps in milliseconds, truncated instead of rounded down."""
    is_cut = (values.seconds < 0) & (values.nanos % 1_000_000 != 0)
    return _kernel.wang(values.millis + is_cut)


def shortest_doubles(values: Numbers) -> Hashes:
    """The hash of each FLOAT as the DOUBLE with the same shortest decimal digits."""
    doubles = values.numbers.astype(str).astype(np.float64)
    return _kernel.wang(doubles.view(np.int64))


def float_bits(values: Numbers) -> Hashes:
    """The hash of each FLOAT's bits as an integer."""
    return _kernel.wang(values.numbers.view(np.int32).astype(np.int64))


def without_blanks(values: Texts) -> Hashes:
    """The hashes of text without trailing spaces."""
    return text_hashes(Texts.of([text.rstrip(b" ") for text in values.tolist()]))


def unscaled(values: Decimals) -> Hashes:
    """The hash of the unscaled value of each DECIMAL of at most 18 digits."""
    # These fit the low half of the 128 bits.
    return _kernel.wang(values.words[:, 0].view(np.int64).copy())
