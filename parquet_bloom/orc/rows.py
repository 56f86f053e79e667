"""The rows of index groups that hold one of several values: the last question, behind filters and indexes.

Values whose hash is that of one that is asked for are compared themselves: numbers by value, so that both zeros are
one, times to the nanosecond, decimals whatever their scale, CHAR without its padding.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container import FoundIn
from parquet_bloom.orc.arrays import Texts, Values
from parquet_bloom.orc.bloom import OrcKeyForm
from parquet_bloom.orc.columns import OrcColumn, above
from parquet_bloom.orc.keys import AskedValues, lookup_hashes
from parquet_bloom.orc.reader import OrcReader, value_ranges
from parquet_bloom.orc.stripe import OrcChunk
from parquet_bloom.orc.values import groups


def find_rows(
    file: OrcReader,
    column: OrcColumn,
    places: Mapping[int, Collection[int] | None],
    asked: AskedValues,
) -> Iterator[FoundIn]:
    """See Askable.find_rows; pages are index groups."""
    stored, owners = asked.to_compare()
    if file.source.is_remote:
        path = column, *above(file.tail.columns, column)
        file.will_read_stripes([*places])
        file.source.will_read(
            value_ranges(chunk for part in places for chunk in file.chunks(part, path))
        )
    wanted: dict[Hashable, list[int]] = {}
    for each, owner in zip(_comparable(column, stored), owners.tolist(), strict=True):
        wanted.setdefault(each, []).append(owner)
    for part, among in places.items():
        (chunk,) = file.chunks(part, [column])
        form = OrcKeyForm(writer_timezone=chunk.stripe.writer_timezone)
        hashes = np.unique(lookup_hashes(column, stored, form))
        yield from _rows_of(file, chunk, among, hashes, wanted)


def _rows_of(
    file: OrcReader,
    chunk: OrcChunk,
    among: Collection[int] | None,
    hashes: NDArray[np.uint64],
    wanted: Mapping[Hashable, Sequence[int]],
) -> Iterator[FoundIn]:
    """In one stripe, which is decoded from its start to the last group that is wanted."""
    column, stripe = chunk.column, chunk.stripe
    form = OrcKeyForm(writer_timezone=stripe.writer_timezone)
    last = stripe.num_index_groups - 1 if among is None else max(among, default=-1)
    for number, group in enumerate(groups(file, chunk)):
        if number > last:
            return
        file.pages_read += 1
        if among is not None and number not in among:
            continue
        is_near = np.isin(lookup_hashes(column, group.values, form), hashes).any(axis=1)
        positions = np.flatnonzero(is_near)
        near = _comparable(column, group.values.take(positions))
        first = stripe.group_first_row(number)
        rows = (first + group.rows[positions]).tolist()
        found = {
            (row, owner)
            for row, each in zip(rows, near, strict=True)
            for owner in wanted.get(each, ())
        }
        pairs = np.array(sorted(found), np.int64).reshape(-1, 2)
        yield FoundIn(stripe.index, pairs[:, 0], pairs[:, 1])


def _comparable(column: OrcColumn, values: Values) -> list[Hashable]:
    """Equal for equal values."""
    if column.kind == "CHAR" and isinstance(values, Texts):
        return [each.rstrip(b" ") for each in values.tolist()]
    return [*values.tolist()]
