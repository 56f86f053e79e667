"""Which row groups of a file may have rows that fulfil a condition: by statistics, then by filters.

    In         some value is within the bounds of the chunk, which has not only nulls, and may be in its filter
    Compared   the bounds of the chunk reach beyond the value

A row group is excluded only by what no engine reads otherwise, see `agreed`; any doubt keeps it.
"""

from __future__ import annotations

import operator
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from parquet_bloom.container.conditions import Compared, Condition, In, PartsLeft
from parquet_bloom.errors import ColumnError, ValueTypeError
from parquet_bloom.filters.rates import at_least_once, never_false
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.parallel import read_once
from parquet_bloom.parquet.filters.agreed import SLACK, has_nanoseconds, is_agreed
from parquet_bloom.parquet.filters.ahead import (
    FEW_BYTES,
    beginning,
    block_ranges,
    filter_ranges,
    null_ranges,
)
from parquet_bloom.parquet.filters.asked import Asked
from parquet_bloom.parquet.filters.bloom import encode_header
from parquet_bloom.parquet.filters.bounds import Bounds, among, compared, reaching
from parquet_bloom.parquet.filters.clear import are_clear
from parquet_bloom.parquet.filters.probe import BYTES_PER_VALUE, ChunkProber
from parquet_bloom.parquet.footer import shredded
from parquet_bloom.parquet.pages.chunk_values import is_known_to_be_null
from parquet_bloom.parquet.sealed.protection import UNPROTECTED
from parquet_bloom.values.types import LeafType

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.layout import Range
    from parquet_bloom.parquet.footer.schema import LeafColumn
    from parquet_bloom.parquet.open_file import OpenFile

# Up to so many hashes, their blocks are read; of more, the filter.
_FEW: Final = 4
# Of many hashes, so many are looked up first: mostly, one is found.
_FIRST: Final = 256
# So many bytes of a filter tell its rate, as hashes spread over its blocks evenly: to count all bits of a large one
# takes longer than to look up the values.
_SAMPLE: Final = 128 * BLOCK_BYTES


def parts_left(
    file: OpenFile, condition: Condition, parts: Sequence[int], by_filters: bool = True
) -> PartsLeft:
    """Those of `parts` that may have such rows, by statistics and, if wanted, `by_filters`. Raises ColumnError,
    TamperedError, OSError."""
    column = file.column(condition.column)
    if isinstance(column, shredded.ShreddedField):
        raise ColumnError(
            f"{file.path}: column {column.name}: readers compare no fields of a VARIANT, expected a leaf"
            f" column such as {column.dotted}"
        )
    footer = file.footer
    doubt = footer.row_count_doubt or footer.doubt_about_plaintext(column, parts)
    if doubt or shredded.is_in_variant(column):
        return PartsLeft(parts, parts)
    if column.type not in condition.tests:
        condition.tests[column.type] = _test(column.type, condition)
    test = condition.tests[column.type]
    if test is None:
        return PartsLeft(parts, parts, is_decidable=False)
    some = [part for part in parts if not _is_empty(file, column, part)]
    within = [part for part in some if test.bounds is None or test.bounds.hold(file, column, part)]
    if test.asked is None:
        return PartsLeft(within, within)
    if file.source.is_remote:
        file.source.will_read(_ranges(file, within, column, test.asked if by_filters else None))
    within = [part for part in within if not _is_null(file, column, part)]
    if not by_filters:
        return PartsLeft(within, within)
    return _by_filters(file, column, within, test.asked)


def _is_empty(file: OpenFile, column: LeafColumn, part: int) -> bool:
    """Whether a row group has no rows, by all that says so."""
    num_values = file.footer.chunks_of([column]).one("num_values", part, column.index)
    return num_values == 0 == file.footer.row_group_num_rows(part)


# ------------------------------------------------------------------------------------------------
# What a condition asks of a type


class _Test(NamedTuple):
    """`bounds`: None if they do not tell. `asked`: what to look up in filters, None if they do not tell."""

    bounds: Bounds | None
    asked: _Hashed | None = None


def _test(leaf: LeafType, condition: Condition) -> _Test | None:
    """None if all row groups have to be read."""
    values = condition.values if isinstance(condition, In) else [condition.value]
    if not is_agreed(leaf, values):
        return None
    try:
        asked = Asked(leaf, values)
    except ValueTypeError:
        # Each engine has a way of its own to compare it.
        return None
    if asked.unknown:
        return None
    slack = SLACK if has_nanoseconds(leaf) else 0
    if isinstance(condition, Compared):
        return _Test(compared(leaf, condition.operator, asked, slack))
    return _Test(among(leaf, asked, slack), None if slack else _Hashed(asked))


# ------------------------------------------------------------------------------------------------
# Filters


class _Hashed:
    """What is looked up: `asked`, and all that may be stored for it; or `some` of `every`."""

    def __init__(
        self, asked: Asked, every: _Hashed | None = None, some: Sequence[int] = ()
    ) -> None:
        self.asked, self._every, self._some = asked, every, some

    def between(self, low: Any, high: Any) -> _Hashed:
        """What of it has a place between these two, which a filter is asked about: other values may be in it by
        chance, and are not in its chunk."""
        in_order = self.asked.in_order
        if in_order is None:
            return self
        keys, order = in_order
        some = order[bisect_left(keys, low) : bisect_right(keys, high)]
        return self if len(some) == len(keys) else _Hashed(self.asked, self, some)

    @read_once
    def few(self) -> Sequence[tuple[bytes, int]] | None:
        """As `each`; None for more than a few."""
        return None if self.asked.is_many or len(self.each) > _FEW else self.each

    @read_once
    def each(self) -> Sequence[tuple[bytes, int]]:
        """With the half of its hash that selects the block."""
        if self._every is not None:
            return [self._every.each[at] for at in self._some]
        return [(each, _kernel.xxh64(each) >> 32) for each in self.asked.plain]

    @read_once
    def hashes(self) -> NDArray[np.uint64]:
        if self._every is not None:
            return self._every.hashes[self._some]
        if self.asked.is_many:
            return self.asked.stored.hashes
        return np.array([_kernel.xxh64(each) for each in self.asked.plain], np.uint64)

    def by_chance(self, fpp: float) -> float:
        """How likely a filter of this rate is to seem to hold any of them, if it holds none."""
        return at_least_once(never_false(fpp, len(self.hashes)))


class _Found(NamedTuple):
    """Whether a filter may hold any of the values, and how likely it was to seem so if it held none; None if too
    little of it was read to tell."""

    is_any: bool
    by_chance: float | None


def _by_filters(
    file: OpenFile, column: LeafColumn, parts: Sequence[int], every: _Hashed
) -> PartsLeft:
    is_plain = file.footer.protection is UNPROTECTED
    chunks = file.footer.chunks_of([column])
    left: list[int] = []
    by_chance: list[float] = []
    without_filter: list[int] = []
    bounds = Bounds(column.type, operator.lt)
    for part in parts:
        offset = chunks.one("bloom_filter_offset", part, column.index)
        length = chunks.one("bloom_filter_length", part, column.index)
        has_none = is_plain and offset == _kernel.ABSENT
        if has_none:
            left.append(part)
            if bounds.hold(file, column, part):
                without_filter.append(part)
            continue
        # One value is within them, or would not be asked.
        places = bounds.places(file, column, part) if len(every.asked) > 1 else None
        hashed = every if places is None else every.between(*places)
        header = usual_header(length) if is_plain else b""
        if header and file.footer.layout.is_alone(offset, offset + length):
            found = _asked_usually(file, offset, length, header, hashed)
        else:
            found = None
        found = found or _asked_otherwise(file, part, column, hashed)
        if found.is_any:
            left.append(part)
        if found.by_chance is not None:
            by_chance.append(found.by_chance)
    return PartsLeft(parts, left, by_chance, without_filter)


def _seems_null(file: OpenFile, column: LeafColumn, part: int) -> bool:
    """Whether the footer says that all is null. The pages of few bytes show whether it is."""
    one = file.footer.chunks_of([column]).one
    return one("null_count", part, column.index) == one("num_values", part, column.index)


def _is_null(file: OpenFile, column: LeafColumn, part: int) -> bool:
    """Whether that is so, of a chunk without a filter."""
    if not _seems_null(file, column, part):
        return False
    chunk = file.footer.chunk(part, column)
    return not chunk.has_filters and is_known_to_be_null(file.source, file.footer, chunk)


def _ranges(
    file: OpenFile, parts: Sequence[int], column: LeafColumn, hashed: _Hashed | None
) -> Iterator[Range]:
    """What is read of filters, if these are asked, and of chunks that may have only nulls."""
    if hashed is not None:
        yield from _filter_ranges(file, parts, column, hashed)
    yield from null_ranges(
        file, [part for part in parts if _seems_null(file, column, part)], column
    )


def _filter_ranges(
    file: OpenFile, parts: Sequence[int], column: LeafColumn, hashed: _Hashed
) -> Iterable[Range]:
    """What is read of filters: of several large ones the beginnings and, for a few values, their blocks,
    all at once."""
    whole = list(filter_ranges(file, parts, (column,)))
    if hashed.few is None or sum(end - start for start, end in whole) <= FEW_BYTES:
        return block_ranges(file, parts, column, len(hashed.asked))
    found: list[Range] = []
    for start, end in whole:
        size = len(usual_header(end - start))
        found.append(beginning(start, end))
        if size:
            found += [_block(start, end, size, half) for _, half in hashed.few]
    return found


def _block(start: int, end: int, header: int, half: int) -> Range:
    """The block for a half of a hash, of a filter with a header of so many bytes."""
    num_blocks = (end - start - header) // BLOCK_BYTES
    first = start + header + BLOCK_BYTES * ((half * num_blocks) >> 32)
    return first, first + BLOCK_BYTES


def _asked_usually(
    file: OpenFile, offset: int, length: int, header: bytes, hashed: _Hashed
) -> _Found | None:
    """What a filter says that is stored as by most writers; None if it is not,
    or has no bits where some should be."""
    if hashed.few is not None or length > BYTES_PER_VALUE * len(hashed.hashes):
        return _asked_by_blocks(file, offset, length, header, hashed)
    data, size = bytes(file.source.read_at(offset, length)), len(header)
    if data[:size] != header:
        return None
    filter, hashes = SplitBlockBloomFilter.over(data[size:]), hashed.hashes
    if are_clear(filter.bitset):
        return None
    found = filter.check_hashes(hashes[:_FIRST]).any() or filter.check_hashes(hashes[_FIRST:]).any()
    some = SplitBlockBloomFilter.over(data[size : size + _SAMPLE])
    return _Found(bool(found), hashed.by_chance(some.fpp))


def _asked_by_blocks(
    file: OpenFile, offset: int, length: int, header: bytes, hashed: _Hashed
) -> _Found | None:
    """The same of a filter that is not read whole. How likely each block is to have a value, its own bits tell."""
    read, size = file.source.read_at, len(header)
    if read(offset, size) != header:
        return None
    is_any, never = False, 0.0
    for plain, half in hashed.each:
        start, _ = _block(offset, offset + length, size, half)
        bits = read(start, BLOCK_BYTES)
        if are_clear(bits):
            return None
        block = SplitBlockBloomFilter.over(bits)
        is_any = is_any or bool(block.check_value(plain))
        never += never_false(block.fpp)
    return _Found(is_any, at_least_once(never))


def _asked_otherwise(file: OpenFile, part: int, column: LeafColumn, hashed: _Hashed) -> _Found:
    """What any filter says."""
    asked = hashed.asked
    prober = ChunkProber(file, file.footer.chunk(part, column), None, None)
    (answer,) = prober.answers(asked)
    found = answer.not_absent
    by_chance = None if answer.fpp is None else hashed.by_chance(answer.fpp)
    if not 0 < len(found) < len(asked):
        return _Found(len(found) > 0, by_chance)
    within = reaching(column.type, asked.keys_at(found))
    return _Found(within is None or within.hold(file, column, part), by_chance)


@lru_cache(maxsize=64)
def usual_header(length: int) -> bytes:
    """The header that most writers give a filter of so many bytes in all; empty if none has this length."""
    for size in range(1, BLOCK_BYTES + 1):
        if length > size and (length - size) % BLOCK_BYTES == 0:
            header = encode_header(length - size)
            return header if len(header) == size else b""
    return b""
