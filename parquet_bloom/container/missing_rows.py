"""Which rows have values that are not found in their filter."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Final

from parquet_bloom.container import WHERE_KNOWN
from parquet_bloom.dataclass import dataclass
from parquet_bloom.native.lazy import NDArray, np

# What is written over a page takes some of its values with it; a writer that hashes otherwise, nearly all.
FEW_MISSING: Final = 0.1
# That rows which are anywhere in a chunk are as close together as that is less likely.
BY_CHANCE: Final = 1e-6
# A writer that closes its filter too early leaves out more.
FEWEST_AT_END: Final = 8


@dataclass(frozen=True, slots=True)
class MissingRows:
    """`count` rows from `first` to `last`, counted from the start of the file, have values that are
    not found. `only_at_end`: other values are, but none after the first that is not. `first_page`
    and `last_page`: the data pages of these rows, counted from 0 in the column chunk."""

    first: int
    last: int
    count: int
    only_at_end: bool
    first_page: int | None = field(default=None, metadata=WHERE_KNOWN)
    last_page: int | None = field(default=None, metadata=WHERE_KNOWN)

    def are_like_damage(self, first_row: int, num_rows: int) -> bool:
        """Whether bytes of pages may have changed, and not the filter: they are adjacent, and few of these rows or
        between whole pages of others, or close together behind others. `first_row`: the first of these
        `num_rows`."""
        if self._are_of_closed_filter:
            return False
        among = self.last - self.first + 1
        are_adjacent = among <= 2 * self.count
        if self.first > first_row and (among / num_rows) ** self.count < BY_CHANCE:
            return True
        # A writer that hashes otherwise, or leaves out its dictionary, has no page without any before them.
        is_behind_a_page = bool(self.first_page)
        return are_adjacent and (is_behind_a_page or self.count < FEW_MISSING * num_rows)

    def are_few(self, num_rows: int) -> bool:
        """Whether there are few of these rows, wherever: those of one entry of a dictionary that has changed are."""
        return self.count < FEW_MISSING * num_rows and not self._are_of_closed_filter

    def may_be_damage(self, first_row: int, num_rows: int) -> bool:
        """Whether they are like damage, or few, which may be damage or what a writer left out."""
        return self.are_like_damage(first_row, num_rows) or self.are_few(num_rows)

    @property
    def _are_of_closed_filter(self) -> bool:
        return self.only_at_end and self.count >= FEWEST_AT_END


def missing_rows(
    pages: Iterable[tuple[int | None, NDArray[np.int64], NDArray[np.bool_]]],
) -> MissingRows | None:
    """None if no value is missing. `pages`: the number of each (None in a format without pages), and
    of its values, in order, the rows and whether they are missing, both of shape (n,)."""
    first = last = first_page = last_page = None
    count = 0
    before = after = False
    for page, rows, is_missing in pages:
        missing = rows[is_missing]
        start = 0
        if first is None:
            start = int(is_missing.argmax()) if missing.size else rows.size
            before |= start > 0
        after |= not is_missing[start:].all()
        if not missing.size:
            continue
        if first is None:
            first, first_page = int(missing[0]), page
        # A row can have several values, and go on in the next page.
        count += 1 + int((missing[1:] != missing[:-1]).sum()) - int(last == missing[0])
        last, last_page = int(missing[-1]), page
    if first is None or last is None:
        return None
    return MissingRows(first, last, count, before and not after, first_page, last_page)
