"""One column in one stripe, which has one filter per index group."""

from __future__ import annotations

from dataclasses import dataclass

from parquet_bloom.container import STRIPES, Place
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.stripe import FILTER_KINDS, OrcStream, Stripe


@dataclass(frozen=True, slots=True)
class OrcChunk:
    """One column of one stripe. `where` names file, stripe and column."""

    stripe: Stripe
    column: OrcColumn

    @property
    def key(self) -> tuple[int, int]:
        """Identifies the chunk in the file: stripe and column id."""
        return self.stripe.index, self.column.id

    @property
    def place(self) -> Place:
        return Place(self.stripe.index, units=STRIPES)

    @property
    def where(self) -> str:
        return f"{self.stripe.where}, column {self.column.name}"

    @property
    def filter_streams(self) -> tuple[OrcStream, ...]:
        """Its filter streams of both kinds, in the order of the footer."""
        return self.stripe.streams_of(self.column.id, FILTER_KINDS)

    @property
    def stored_bytes(self) -> int:
        return sum(
            each.length
            for each in self.stripe.streams
            if each.column == self.column.id and not each.is_index
        )

    @property
    def has_filters(self) -> bool:
        return bool(self.filter_streams)
