"""Whether every stored value of an index group is found in its filter.

A second filter of the same size takes the values of the group. Where the stored one has each of its
bits, there is no false negative; where not, the values are looked up one by one, in every form that
a writer may have hashed them in. Bits that only the stored one has come from values that the group
does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.filters.look_up import Membership
from parquet_bloom.orc.arrow_numbers import floats
from parquet_bloom.orc.chunk import OrcChunk
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.keys.key_hashes import Hashes, lookup_hashes
from parquet_bloom.orc.shown_values import selected
from parquet_bloom.orc.values import group_values

_FLOATS = ("FLOAT", "DOUBLE")


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupMembership(Membership):
    """What the values of an index group say of its filter.

    `values`: all that are not null, an Arrow array; `is_missing`: which of them are not found, dtype
    bool, shape (n,), or None if none is.
    """

    values: Any = field(repr=False)
    is_missing: Any = field(repr=False)

    def examples(self, at_most: int) -> Any:
        """The first distinct values that are not found, an Arrow array."""
        return selected(self.values, self.is_missing, at_most)


def check_groups(
    file: OrcFile,
    chunk: OrcChunk,
    filters: Sequence[KHashFilter | None],
    form: KeyForm,
    is_marked: bool,
) -> Iterator[GroupMembership | None]:
    """Look up every stored value of a column in a stripe: what that says of each of `filters`, those
    of its index groups, whose keys were made in `form`; None where there is none that can be used.
    `is_marked`: they are by pbloom.

    Raises UnsupportedError for values that cannot be read or have no keys, FormatError for damage.
    """
    hides_its_shifts = file.generation.hides_its_shifts and not is_marked
    for values, filter in zip(
        group_values(file, chunk.stripe.index, chunk.column), filters, strict=True
    ):
        if filter is None:
            yield None
            continue
        membership = check_group(chunk.column, values, filter, form)
        if membership.missing and hides_its_shifts:
            shifted = check_group(chunk.column, values, filter, replace(form, logical_shifts=True))
            membership = membership if shifted.missing else shifted
        yield membership


def check_group(
    column: OrcColumn, values: Any, filter: KHashFilter, form: KeyForm
) -> GroupMembership:
    """Look up `values`, an Arrow array without nulls, in the filter of their index group."""
    forms = lookup_hashes(column, values, form)
    usual, others = forms[:, 0], forms[:, 1:]
    explained = KHashFilter.empty(filter.num_bits, filter.num_hashes)
    explained.insert_hashes(np.ascontiguousarray(usual))
    is_missing = None
    if explained.bits_outside(filter):
        found = filter.check_hashes(forms.ravel()).reshape(forms.shape).any(axis=1)
        is_missing = None if found.all() else ~found
    if others.size:
        explained.insert_hashes(others.ravel())
    return GroupMembership(
        num_values=len(values),
        missing=0 if is_missing is None else int(np.count_nonzero(is_missing)),
        foreign_bits=filter.bits_outside(explained),
        lone_zero=_lone_zero(values, forms, filter) if column.kind in _FLOATS else None,
        values=values,
        is_missing=is_missing,
    )


def _lone_zero(values: Any, forms: Hashes, filter: KHashFilter) -> str | None:
    numbers = floats(values)
    zeros = np.flatnonzero(numbers == 0)
    if not zeros.size:
        return None
    # The second form of a zero is that of the other sign.
    first = zeros[0]
    has_own, has_other = filter.check_hashes(np.ascontiguousarray(forms[first, :2])).tolist()
    if has_own == has_other:
        return None
    return "-0.0" if np.signbit(numbers[first]) == has_own else "0.0"


def stores_values(file: OrcFile, chunk: OrcChunk) -> bool:
    """Whether a stripe has values of a column that are not null."""
    return any(len(values) for values in group_values(file, chunk.stripe.index, chunk.column))
