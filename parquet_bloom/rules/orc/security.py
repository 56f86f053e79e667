"""PB65x: filters of ORC columns that are encrypted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.rules.catalogue import Finding
from parquet_bloom.rules.orc.quality import has_filters
from parquet_bloom.rules.orc.view import stripe_finding


def check_encrypted(file: OrcFile, columns: Sequence[OrcColumn]) -> Iterator[Finding]:
    """Who can read the file can ask these filters, with no key."""
    for column in columns:
        if not file.tail.is_encrypted_column(column):
            continue
        for index in range(file.num_stripes):
            if has_filters(file, index, column):
                yield stripe_finding(
                    "PB651", file.stripe(index), column, "the column is encrypted and its filters"
                    " are not: unless they are of masked values, guesses at the values can be"
                    " confirmed",
                )  # fmt: skip
