"""What a rule may look at: one filter of one column chunk, with all that is known of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.bloom import StoredFilter
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.rules.catalogue import Finding, finding
from parquet_bloom.rules.policy import ColumnPolicy


def without_place(error: Exception, file: ParquetFile, chunk: ColumnChunk | None = None) -> str:
    """An error's message without the file and chunk, which a finding has in fields of their own."""
    message = str(error).removeprefix(f"{file.path}: ")
    return message if chunk is None else message.removeprefix(f"{chunk.where}: ")


def known_non_null(file: ParquetFile, chunk: ColumnChunk) -> int | None:
    """How many values of a chunk are not null; None where there can be nulls and the footer does not
    count them."""
    num_values = max(0, chunk.num_values or 0)
    if num_values == 0 or chunk.leaf.max_definition_level == 0:
        return num_values
    statistics = file.footer.column_meta_data(chunk).statistics
    nulls = statistics and statistics.null_count
    return None if nulls is None or not 0 <= nulls <= num_values else num_values - nulls


def may_have_values(file: ParquetFile, chunk: ColumnChunk) -> bool:
    """Whether a chunk has values that are not null, unless the footer is certain of the opposite."""
    return known_non_null(file, chunk) != 0


def chunk_finding(rule: str, chunk: ColumnChunk, message: str, **details: Any) -> Finding:
    """A finding about one column chunk."""
    return finding(rule, message, row_group=chunk.row_group, column=chunk.leaf.name, **details)


def not_checked(chunk: ColumnChunk, reason: str) -> Finding:
    """The values could not be read, for a reason that is not damage."""
    return chunk_finding("PB408", chunk, f"the values were not looked up: {reason}")


@dataclass(frozen=True, slots=True)
class FilterView:
    """A filter whose bits can be read.

    `num_values`: the chunk's non-null values, as many as were looked up (those of a dictionary
    once), or else as the footer says; None if it does not.
    """

    file: ParquetFile
    chunk: ColumnChunk
    stored: StoredFilter
    bits: SplitBlockBloomFilter
    policy: ColumnPolicy
    num_values: int | None

    def finding(self, rule: str, message: str, **details: Any) -> Finding:
        return chunk_finding(rule, self.chunk, message, **details)
