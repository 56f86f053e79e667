"""Filters that lie one behind the other, found by their bytes alone: nothing need point to them.

    plain    | header | bitset | header | bitset | … | what is known to begin here
    sealed   | length, sealed header | length, sealed bitset | … |

A header that build writes has 15 bytes or more, of which only numBytes varies. Of an encrypted filter, the
first envelope is as long as the header of a bitset that is as long as the second. Each filter must end where
the next one begins, and the last where something else does: bytes that others put there are not taken for
filters.

Spec: parquet-format, BloomFilter.md "File Format", Encryption.md section 5.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES
from parquet_bloom.parquet.filters.bloom import encode_header, plain_filter_end
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.storage.source import Source

# Of each gap, from its end; and how much at a time.
SEARCHED_BYTES: Final = 64 << 20
PIECE_BYTES: Final = 1 << 20
# What only looks like a filter costs a read or two: nobody has so many that are not used.
MOST_CANDIDATES: Final = 100_000

# numBytes is a varint of 1 to 5 bytes, between these.
_FIRST, _REST = encode_header(0)[:1], encode_header(0)[2:]
_SIZES = (0, 1 << 6, 1 << 13, 1 << 20, 1 << 27)
_PLAIN_HEADER = re.compile(
    rb"(?=%s[\x80-\xff]{0,4}[\x00-\x7f]%s)" % (re.escape(_FIRST), re.escape(_REST))
)
_LONGEST_HEADER = len(encode_header(_SIZES[-1]))

# Where a filter that begins at a place ends, by an end; None if none is there.
EndOf = Callable[[Source, int, int], int | None]


def filters_up_to(
    source: Source, start: int, end: int, is_encrypted: bool, legacy_end: EndOf | None = None
) -> list[Range]:
    """The filters in the bytes [start, end) that lie one behind the other up to `end`, as many as there
    are. `is_encrypted`: the file is, and so may they be. `legacy_end`: of those of another dialect, whose
    headers say too little to be searched for: there must be nothing but filters."""
    ends_of: list[tuple[re.Pattern[bytes], int, EndOf]] = [
        (_PLAIN_HEADER, _LONGEST_HEADER, plain_filter_end)
    ]
    if is_encrypted:
        # Else nothing that decrypts is loaded.
        from parquet_bloom.encryption.cipher import GCM_OVERHEAD, LENGTH_BYTES

        pattern = _sealed_pattern(GCM_OVERHEAD - LENGTH_BYTES)
        ends_of.append((pattern, LENGTH_BYTES, partial(_sealed_end, LENGTH_BYTES, GCM_OVERHEAD)))
    readings = [end_of for _, _, end_of in ends_of] + ([legacy_end] if legacy_end else [])
    if found := _from(source, start, end, readings):
        return found
    begins = max(start, end - SEARCHED_BYTES)
    filters: list[Range] = []
    for pattern, width, end_of in ends_of:
        for at in _places(source, pattern, width, (begins, end)):
            found_end = end_of(source, at, end)
            if found_end is not None:
                filters.append((at, found_end))
            if len(filters) > MOST_CANDIDATES:
                return []
    return _chained(filters, end)


def _from(source: Source, start: int, end: int, ends_of: list[EndOf]) -> list[Range]:
    """The filters from `start` up to `end`, if there is nothing but filters."""
    found, at = [], start
    while at < end:
        after = next(filter(None, (end_of(source, at, end) for end_of in ends_of)), None)
        if after is None:
            return []
        found.append((at, after))
        at = after
    return found


def _places(source: Source, pattern: re.Pattern[bytes], width: int, whole: Range) -> Iterator[int]:
    """Where a pattern begins, which looks at no more than `width` bytes."""
    start, end = whole
    for first in range(start, end, PIECE_BYTES):
        piece = source.read_at(first, min(PIECE_BYTES + width - 1, end - first))
        for found in pattern.finditer(piece):
            if found.start() < PIECE_BYTES:
                yield first + found.start()


def _chained(filters: list[Range], end: int) -> list[Range]:
    """Those that lead to `end`, from the first that does."""
    next_of: dict[int, int] = {}
    for start, after in sorted(filters, reverse=True):
        if after == end or after in next_of:
            next_of[start] = after
    at, chain = min(next_of, default=end), []
    while at != end:
        chain.append((at, next_of[at]))
        at = next_of[at]
    return chain


def _sealed_pattern(overhead: int) -> re.Pattern[bytes]:
    """The lengths of the envelopes that a header of ours can have."""
    lengths = {overhead + len(encode_header(size)) for size in _SIZES}
    choice = b"|".join(re.escape(length.to_bytes(4, "little")) for length in sorted(lengths))
    return re.compile(b"(?=%s)" % choice)


def _sealed_end(prefix: int, overhead: int, source: Source, start: int, end: int) -> int | None:
    """Where the encrypted filter at `start` ends. `prefix`: the size of a length; `overhead`: of all
    that an envelope has beside what it holds."""
    sizes, at = [], start
    for _ in range(2):
        if at + prefix > end:
            return None
        size = prefix + int.from_bytes(source.read_at(at, prefix), "little")
        sizes.append(size - overhead)
        at += size
    header, bitset = sizes
    is_one = 0 < bitset <= MAX_BYTES and bitset % BLOCK_BYTES == 0 and at <= end
    return at if is_one and header == len(encode_header(bitset)) else None
