"""Check that every stored value of an index group is found in its filter.

The group's values go into a second filter of the same size. If the stored one has all its bits, there
is no false negative. If not, the values are looked up one by one, in every form in which a writer may
have hashed them. Bits that only the stored filter has come from values that the group does not hold.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial

import numpy as np

from parquet_bloom.container.missing_rows import MissingRows, missing_rows
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.filters.look_up import Membership
from parquet_bloom.native.lazy import Array
from parquet_bloom.orc.arrays import Numbers, Values, selected
from parquet_bloom.orc.bloom import OrcKeyForm
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.keys import insertion_hashes, lookup_hashes
from parquet_bloom.orc.reader import OrcReader
from parquet_bloom.orc.row_index import IndexEntry
from parquet_bloom.orc.stripe import OrcChunk
from parquet_bloom.orc.values import GroupValues, groups

_FLOATS = ("FLOAT", "DOUBLE")

# A stream that says that all is null takes a few bytes. To read more is no quick look.
_MOST_OF_NULLS = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMembership(Membership):
    """What the values of an index group reveal about its filter.

    `group`: the values; `first_row`: of the group, counted from the start of the file;
    `is_missing`: which of the values are not found, dtype bool, shape (n,), or None if all are
    found.
    """

    group: GroupValues = field(repr=False)
    first_row: int
    is_missing: Array | None = field(repr=False)

    @property
    def values(self) -> Values:
        """The ones that are not null."""
        return self.group.values

    @property
    def rows(self) -> MissingRows | None:
        """The rows of the values that are not found."""
        if self.is_missing is None:
            return None
        return missing_rows([(None, self.first_row + self.group.rows, self.is_missing)])

    def examples(self, at_most: int) -> Values:
        """The first distinct values that are not found."""
        assert self.is_missing is not None
        return selected(self.values, self.is_missing, at_most)


def check_groups(
    file: OrcReader,
    chunk: OrcChunk,
    filters: Sequence[KHashFilter | None],
    key_form: OrcKeyForm,
    is_marked: bool,
) -> Iterator[GroupMembership | None]:
    """Look up every stored value of a chunk in the filter of its index group; None for a group
    without a usable filter. `is_marked`: pbloom built the filters.

    Raises UnsupportedError for values that cannot be read or have no keys, FormatError for damage.
    """
    has_unknown_shifts = file.generation.has_unknown_shifts and not is_marked
    for index, (group, filter) in enumerate(zip(groups(file, chunk), filters, strict=True)):
        if filter is None:
            yield None
            continue
        first_row = chunk.stripe.first_row + chunk.stripe.group_first_row(index)
        check = partial(_check_group, chunk.column, group, first_row, filter)
        membership = check(key_form)
        if membership.missing and has_unknown_shifts:
            shifted = check(replace(key_form, logical_shifts=True))
            membership = membership if shifted.missing else shifted
        yield membership


def _check_group(
    column: OrcColumn, group: GroupValues, first_row: int, filter: KHashFilter, key_form: OrcKeyForm
) -> GroupMembership:
    values = group.values
    forms = lookup_hashes(column, values, key_form)
    usual, others = forms[:, 0], forms[:, 1:]
    explained = KHashFilter.empty(filter.num_bits, filter.num_hashes)
    explained.insert_hashes(np.ascontiguousarray(usual))
    is_missing = None
    if explained.bits_outside(filter):
        found = filter.check_hashes(forms.ravel()).reshape(forms.shape).any(axis=1)
        is_missing = None if found.all() else np.asarray(~found)
    if others.size:
        explained.insert_hashes(others.ravel())
    return GroupMembership(
        num_values=len(values),
        missing=0 if is_missing is None else int(np.count_nonzero(is_missing)),
        foreign_bits=filter.bits_outside(explained),
        lone_zero=_lone_zero(column, values, forms, filter),
        group=group,
        first_row=first_row,
        is_missing=is_missing,
    )


def _lone_zero(column: OrcColumn, values: Values, forms: Hashes, filter: KHashFilter) -> str | None:
    if column.kind not in _FLOATS or not isinstance(values, Numbers):
        return None
    numbers = values.numbers
    zeros = np.flatnonzero(numbers == 0)
    if not zeros.size:
        return None
    # The second hash of a zero belongs to the zero of the other sign.
    first = zeros[0]
    has_own, has_other = filter.check_hashes(np.ascontiguousarray(forms[first, :2])).tolist()
    if has_own == has_other:
        return None
    return "-0.0" if np.signbit(numbers[first]) == has_own else "0.0"


def are_complete(file: OrcReader, chunk: OrcChunk, below: float) -> bool:
    """Whether the filters of a chunk, in each of its streams, can be used, have an FPP `below` this one, and have all
    that `build` inserts of the stored values, so that no reader loses a row by them."""
    try:
        streams = [
            file.filters_in(chunk.stripe, chunk.column, stream) for stream in chunk.filter_streams
        ]
        if any(filter.fpp >= below for stored in streams for filter in stored.filters):
            return False
        return all(
            _has_all(chunk.column, group.values, stored.filters[index], stored.key_form)
            for index, group in enumerate(groups(file, chunk))
            for stored in streams
        )
    except ParquetBloomError:
        return False


def _has_all(column: OrcColumn, values: Values, filter: KHashFilter, key_form: OrcKeyForm) -> bool:
    return bool(filter.check_hashes(insertion_hashes(column, values, key_form)).all())


def stores_values(file: OrcReader, chunk: OrcChunk) -> bool:
    """Whether a chunk has non-null values."""
    return any(group.num_values for group in groups(file, chunk))


def is_known_to_be_null(file: OrcReader, chunk: OrcChunk, entries: Iterable[IndexEntry]) -> bool:
    """Whether all is null in a chunk by the statistics of its row index and, if they are few bytes,
    by its streams."""
    has_none = all(
        each.statistics is not None and each.statistics.num_values == 0 for each in entries
    )
    if not has_none or chunk.stored_bytes > _MOST_OF_NULLS:
        return False
    try:
        return not stores_values(file, chunk)
    except ParquetBloomError:
        return False
