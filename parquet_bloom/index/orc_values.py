"""The hashes of the values of an ORC file, for an index: those that build inserts into filters. A place is a
stripe, a page of it an index group."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.index.kinds import orc_kind
from parquet_bloom.orc.bloom import OrcKeyForm
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcContainer
from parquet_bloom.orc.keys import insertion_hashes, not_looked_up, spread
from parquet_bloom.orc.stripe import OrcChunk
from parquet_bloom.orc.values import batches, groups, reason_unreadable, room_for_values
from parquet_bloom.vocabulary import ENCRYPTED, NOT_SLICED


class OrcValues:
    """Reads one file; see values_reader.ValuesReader."""

    def __init__(self, file: OrcContainer) -> None:
        """Raises FooterError if stripes may be missing from the footer."""
        file.check_row_counts()
        self.file = file

    def kind(self, column: OrcColumn) -> str:
        return orc_kind(column, next(iter(self._zones(column)), ""))

    def is_encrypted(self, column: OrcColumn) -> bool:
        return self.file.tail.is_encrypted_column(column)

    def reason_for_none(self, column: OrcColumn) -> str:
        if self.is_encrypted(column):
            return ENCRYPTED
        zones = self._zones(column)
        if len(zones) > 1:
            # What is hashed of a wall-clock time depends on what the clocks of its zone showed.
            return f"TIMESTAMP: stripes of several time zones: {', '.join(sorted(zones))}"
        return not_looked_up(column) or reason_unreadable(self.file, column) or ""

    def _zones(self, column: OrcColumn) -> set[str]:
        """The time zones that the hashes of its values depend on."""
        if column.kind != "TIMESTAMP":
            return set()
        parts = range(self.file.num_stripes)
        self.file.will_read_stripes(parts)
        return {self.file.stripe(part).writer_timezone for part in parts}

    def room(self, chunk: OrcChunk) -> int:
        # Values, and 16 bytes for the hash of each and its key.
        return room_for_values(self.file, chunk) + 16 * chunk.stripe.num_rows

    def hashes(self, chunk: OrcChunk) -> Iterator[NDArray[np.uint64]]:
        form = OrcKeyForm(writer_timezone=chunk.stripe.writer_timezone)
        for batch in batches(self.file, chunk):
            yield spread(insertion_hashes(chunk.column, batch.values, form))

    def hashes_by_page(self, chunk: OrcChunk) -> Iterator[NDArray[np.uint64]]:
        """The same of each index group in turn."""
        form = OrcKeyForm(writer_timezone=chunk.stripe.writer_timezone)
        for group in groups(self.file, chunk):
            yield spread(insertion_hashes(chunk.column, group.distinct, form))

    def filters(self, column: OrcColumn) -> list[str]:
        """ORC's filters have other bits."""
        return [NOT_SLICED] * self.file.num_stripes
