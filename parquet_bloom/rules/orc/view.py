"""What a rule for ORC files may look at: the filters of one column in one stripe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.stripe import OrcStream, Stripe
from parquet_bloom.rules.catalogue import Finding, finding

Filters = tuple[KHashFilter | None, ...]
"""By index group; None where there is none that can be used."""


@dataclass(frozen=True, slots=True)
class IndexView:
    """The filters in one stream: those of a column in a stripe, by index group.

    `is_asked`: it is the stream that readers of today take where there are two.
    """

    file: OrcFile
    stripe: Stripe
    column: OrcColumn
    stream: OrcStream
    form: KeyForm
    is_marked: bool
    is_asked: bool
    filters: Filters

    @property
    def bloom_encoding(self) -> int:
        return self.stripe.bloom_encoding(self.column.id)

    def finding(
        self, rule: str, message: str, index_group: int | None = None, **details: Any
    ) -> Finding:
        """About all of the filters, or those of one index group."""
        return stripe_finding(
            rule, self.stripe, self.column, message, index_group=index_group, **details
        )


def stripe_finding(
    rule: str, stripe: Stripe, column: OrcColumn | None, message: str, **details: Any
) -> Finding:
    """A finding about one column in one stripe, or all of the stripe."""
    name = None if column is None else column.name
    return finding(rule, message, stripe=stripe.index, column=name, **details)


def not_checked(stripe: Stripe, column: OrcColumn, reason: str) -> Finding:
    """The values could not be read, for a reason that is not damage."""
    return stripe_finding("PB408", stripe, column, f"the values were not looked up: {reason}")


def without_place(error: Exception, stripe: Stripe, column: OrcColumn) -> str:
    """An error's message without file, stripe and column, which a finding has in fields of their
    own."""
    message = str(error)
    for prefix in (f"{stripe.where}, column {column.name}: ", f"{stripe.where}: "):
        message = message.removeprefix(prefix)
    return message
