"""PB5xx, PB651: whether filters or the footer give away what is encrypted, and whether they open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parquet_bloom.container import Units, number_of
from parquet_bloom.container.protocols import Chunk
from parquet_bloom.rules.finding import Finding, chunk_finding, finding
from parquet_bloom.vocabulary import NO_KEY

# parquet-go gives filter modules the numbers of page index modules.
_OF_PARQUET_GO = "column index"


def plaintext(chunk: Chunk, offset: int) -> Finding:
    """A filter whose header opens without a key, so that anyone can test values."""
    return chunk_finding(
        "PB501",
        chunk,
        "the column is encrypted but its filter is not: anyone who has the file can test values",
        expected="an encrypted header",
        found=f"one at {offset}",
    )


def does_not_open(chunk: Chunk, message: str, opens_as: str | None) -> Finding:
    """A filter whose header or bitset does not decrypt; `opens_as`: the kind of module that it opens
    as, if any."""
    if opens_as == _OF_PARQUET_GO:
        return chunk_finding(
            "PB505",
            chunk,
            "the header is encrypted as if it were a column index, as by parquet-go: no other reader"
            " opens it",
            expected="a filter header",
            found=opens_as,
        )
    return chunk_finding("PB502", chunk, message, found=opens_as)


def check_signature(unverified: str | None, is_signed: bool) -> Iterator[Finding]:
    """Without the key, a reader believes a footer that anyone may have changed."""
    if unverified and is_signed:
        yield finding(
            "PB506", f"the footer is signed, and its signature was not verified: {unverified}"
        )
    elif unverified:
        yield finding("PB508", unverified)


def check_locked(hidden: Iterable[tuple[str, int]], units: Units) -> Iterator[Finding]:
    """`hidden`: columns without a key, and in how many parts that hides all about their filters."""
    for column, count in hidden:
        yield finding(
            "PB408",
            f"{NO_KEY}: nothing is known about the filters in {number_of(count, units.part)}, not"
            " even whether there are any",
            column=column,
        )


def check_shown(
    column: str, statistics: int, locations: int, others: Sequence[str]
) -> Iterator[Finding]:
    """What the footer shows about an encrypted column without its key: `statistics` and `locations`
    of filters, in so many row groups, and `others`, names of fields."""
    if statistics:
        yield finding(
            "PB503",
            "the column is encrypted but the footer shows its statistics, such as minimum and"
            f" maximum, in {number_of(statistics, 'row group')}",
            column=column,
            expected="no statistics",
            found=_times(statistics),
        )
    if locations:
        yield finding(
            "PB507",
            "the column is encrypted but the footer shows where its filters are, and thus how large"
            " they are",
            column=column,
            found=_times(locations),
        )
    if others:
        names = ", ".join(others)
        yield finding(
            "PB504",
            f"the column is encrypted but the footer shows its {names}",
            column=column,
            found=names,
        )


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def not_encrypted(chunk: Chunk) -> Finding:
    """Filters that anyone who has the file can ask, without a key."""
    return chunk_finding(
        "PB651",
        chunk,
        "the column is encrypted but its filters are not: unless they are built from masked values,"
        " anyone can confirm a guess at a value",
    )
