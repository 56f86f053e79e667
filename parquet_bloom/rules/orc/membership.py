"""Whether every stored value of an index group is found in its filter.

A second filter of the same size takes the values of the group. Where the stored one has each of its
bits, there is no false negative; where not, the values are looked up one by one, in every form that
a writer may have hashed them in. Bits that only the stored one has come from values that the group
does not hold.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from parquet_bloom.filters.k_hash import KHashFilter
from parquet_bloom.orc.arrow_numbers import floats
from parquet_bloom.orc.columns import OrcColumn
from parquet_bloom.orc.file import OrcFile
from parquet_bloom.orc.keys.key_form import KeyForm
from parquet_bloom.orc.keys.key_hashes import Hashes, lookup_hashes
from parquet_bloom.orc.stripe import Stripe
from parquet_bloom.orc.values import group_values
from parquet_bloom.rules.orc.view import IndexView


@dataclass(frozen=True, slots=True)
class GroupMembership:
    """What the values of an index group say of its filter.

    `values`: all that are not null, an Arrow array; `missing`: where those are that are not found,
    dtype bool, shape (n,), or None if none is; `foreign_bits`: bits set that no value explains in
    any form; `has_lone_zero`: a zero is found whose sibling of the other sign is not.
    """

    values: Any = field(repr=False)
    missing: Any = field(repr=False)
    foreign_bits: int
    has_lone_zero: bool

    @property
    def num_values(self) -> int:
        return len(self.values)

    @property
    def num_missing(self) -> int:
        return 0 if self.missing is None else int(np.count_nonzero(self.missing))


def check_groups(view: IndexView) -> Iterator[GroupMembership | None]:
    """Look up every stored value of a column in a stripe: what that says of each index group, None
    where there is no filter that can be used.

    Raises UnsupportedError for values that cannot be read or have no keys, FormatError for damage.
    """
    groups = group_values(view.file, view.stripe.index, view.column)
    for values, filter in zip(groups, view.filters, strict=True):
        yield None if filter is None else _check_group(view, values, filter)


def _check_group(view: IndexView, values: Any, filter: KHashFilter) -> GroupMembership:
    membership = check_group(view.column, values, filter, view.form)
    if membership.missing is None or view.is_marked or not view.file.generation.hides_its_shifts:
        return membership
    shifted = check_group(view.column, values, filter, replace(view.form, logical_shifts=True))
    return membership if shifted.num_missing else shifted


def check_group(
    column: OrcColumn, values: Any, filter: KHashFilter, form: KeyForm
) -> GroupMembership:
    """Look up `values`, an Arrow array without nulls, in the filter of their index group."""
    forms = lookup_hashes(column, values, form)
    usual, others = forms[:, 0], forms[:, 1:]
    explained = KHashFilter.empty(filter.num_bits, filter.num_hashes)
    explained.insert_hashes(np.ascontiguousarray(usual))
    missing = None
    if explained.bits_outside(filter):
        found = filter.check_hashes(forms.ravel()).reshape(forms.shape).any(axis=1)
        missing = None if found.all() else ~found
    if others.size:
        explained.insert_hashes(others.ravel())
    return GroupMembership(
        values=values,
        missing=missing,
        foreign_bits=filter.bits_outside(explained),
        has_lone_zero=column.kind in ("FLOAT", "DOUBLE") and _has_lone_zero(values, forms, filter),
    )


def _has_lone_zero(values: Any, forms: Hashes, filter: KHashFilter) -> bool:
    zeros = np.flatnonzero(floats(values) == 0)
    if not zeros.size:
        return False
    # All forms of a zero are those of both.
    hashes = np.unique(forms[zeros])
    return len(set(filter.check_hashes(hashes).tolist())) > 1


def stores_values(file: OrcFile, stripe: Stripe, column: OrcColumn) -> bool:
    """Whether a stripe has values of a column that are not null."""
    return any(len(values) for values in group_values(file, stripe.index, column))
