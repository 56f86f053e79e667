"""What defective files are made of: sound ones, and how one thing in them is made wrong.

`sound()` is a file in which nothing is wrong by any rule, not even by a note: two row groups of
distinct integers and texts, each with a filter of its own that takes a twentieth of its chunk.
"""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from make.filters import with_bits, with_filter_bytes
from make.footers import edited, footer_start, meta_of, with_footer
from make.parquet_files import built, written

from parquet_bloom.encryption.keys import Keys
from parquet_bloom.parquet.thrift import ttypes

ROWS = 2000
ROW_GROUPS = 2


@dataclass(frozen=True)
class Defect:
    """One thing that is wrong: `make(folder)` writes a file that has it.

    `rule` must be found at `row_group` and `column` (None: at no place in particular) with this
    policy; `deep`: only where the values are looked up; `pages`: only where they are decoded. `issue`: which of the
    defects of real writers it is, "B1" to "B36" (see test_defects). `beside`: rules of errors that cannot but be
    broken, too. `keys`: what the file is opened with.
    """

    name: str
    rule: str
    make: Callable[[Path], Path]
    row_group: int | None = 0
    column: str | None = "a"
    policy: dict[str, Any] | None = None
    issue: str | None = None
    deep: bool = False
    pages: bool = False
    keys: Keys | None = None
    beside: frozenset[str] = frozenset()

    def __str__(self) -> str:
        return f"{self.rule} {self.name}"


# ------------------------------------------------------------------------------------------------
# Sound files


def integer(row_group: int, row: int) -> int:
    """Distinct, of both signs, and in no order."""
    digest = hashlib.sha256(f"{row_group} {row}".encode()).digest()
    return int.from_bytes(digest[:8], "little", signed=True)


def text(row_group: int, row: int) -> str:
    return hashlib.sha512(f"{row_group} {row}".encode()).hexdigest()


def integers(row_group: int) -> list[int]:
    return [integer(row_group, row) for row in range(ROWS)]


def texts(row_group: int) -> list[str]:
    return [text(row_group, row) for row in range(ROWS)]


def table(columns: str = "ast") -> pa.Table:
    """`a` integers, `s` texts, `t` more texts, which have no filter and fill the file."""
    groups = range(ROW_GROUPS)
    values = {
        "a": pa.array([value for group in groups for value in integers(group)], pa.int64()),
        "s": [value for group in groups for value in texts(group)],
        "t": [2 * value for group in groups for value in texts(group)],
    }
    return pa.table({name: values[name] for name in columns})


@cache
def without_filters() -> bytes:
    return written(table(), row_group_size=ROWS)


@cache
def sound() -> bytes:
    return built(without_filters(), "as")


# ------------------------------------------------------------------------------------------------
# Changes


def making(edit: Callable[[], bytes]) -> Callable[[Path], Path]:
    """A maker of a file of these bytes."""

    def make(folder: Path) -> Path:
        path = folder / "defective.parquet"
        path.write_bytes(edit())
        return path

    return make


def with_filters(data: bytes, bitsets: Iterable[bytes], column: int = 0) -> bytes:
    """The same with a bitset for each row group."""
    for row_group, bits in enumerate(bitsets):
        data = with_bits(data, bits, row_group, column)
    return data


def with_own_header(data: bytes, header: bytes, bits: bytes) -> bytes:
    return with_filter_bytes(data, 0, 0, header + bits)


def without_pointer(data: bytes, row_group: int, column: int) -> bytes:
    def edit(footer: ttypes.FileMetaData) -> None:
        meta = meta_of(footer, row_group, column)
        meta.bloom_filter_offset = meta.bloom_filter_length = None

    return edited(data, edit)


def encrypted(data: bytes, column: int) -> bytes:
    """The same with a column that the footer calls encrypted; its bytes stay as they are, and the
    signature is none, which nobody sees without the key."""

    def edit(footer: ttypes.FileMetaData) -> None:
        algorithm = ttypes.AesGcmV1(aad_file_unique=b"unique")
        footer.encryption_algorithm = ttypes.EncryptionAlgorithm(AES_GCM_V1=algorithm)
        for row_group in footer.row_groups:
            key = ttypes.EncryptionWithFooterKey()
            crypto = ttypes.ColumnCryptoMetaData(ENCRYPTION_WITH_FOOTER_KEY=key)
            chunk = row_group.columns[column]
            chunk.crypto_metadata = crypto
            chunk.meta_data.statistics = chunk.meta_data.encoding_stats = None
            chunk.meta_data.size_statistics = None

    changed = edited(data, edit)
    start = footer_start(changed)
    return with_footer(changed[:start], changed[start:-8] + bytes(28))


def random_bytes(count: int) -> bytes:
    return np.random.default_rng(0).bytes(count)
