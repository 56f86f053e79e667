"""PB5xx: whether a filter gives away what encryption hides."""

from __future__ import annotations

from collections.abc import Iterator

from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.footer import ColumnChunk
from parquet_bloom.rules.catalogue import Finding
from parquet_bloom.rules.view import chunk_finding


def check_plaintext(chunk: ColumnChunk, stored: bloom.StoredFilter) -> Iterator[Finding]:
    """A header that can be read without a key is that of a filter that anybody can ask."""
    if chunk.has_crypto_metadata:
        yield chunk_finding(
            "PB501", chunk, "the column is encrypted and its filter is not: whoever has the file"
            " can try values", expected="an encrypted header", found=f"one at {stored.offset}",
        )  # fmt: skip
