"""PB5xx, PB651: whether a filter, or the footer, gives away what encryption hides; whether it opens."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parquet_bloom.container import Units
from parquet_bloom.container.protocols import Chunk
from parquet_bloom.rules.finding import Finding, chunk_finding, finding
from parquet_bloom.vocabulary import NO_KEY

# parquet-go numbers the modules of filters like those of page indexes.
_OF_PARQUET_GO = "column index"


def plaintext(chunk: Chunk, offset: int) -> Finding:
    """A header that can be read without a key is that of a filter that anybody can ask."""
    return chunk_finding(
        "PB501",
        chunk,
        "the column is encrypted and its filter is not: anyone who has the file can test values",
        expected="an encrypted header",
        found=f"one at {offset}",
    )


def does_not_open(chunk: Chunk, message: str, opens_as: str | None) -> Finding:
    """A filter whose header or bitset is not what its key has sealed; `opens_as`: the kind of module
    as which it opens, if any."""
    if opens_as == _OF_PARQUET_GO:
        return chunk_finding(
            "PB505",
            chunk,
            "the header is encrypted as if it were a column index, as parquet-go does it: no other"
            " reader opens it",
            expected="a filter header",
            found=opens_as,
        )
    return chunk_finding("PB502", chunk, message, found=opens_as)


def check_signature(unverified: str | None, is_signed: bool) -> Iterator[Finding]:
    """Without the key a reader believes a footer that anybody may have changed."""
    if unverified and is_signed:
        yield finding(
            "PB506", f"the footer is signed, and its signature was not verified: {unverified}"
        )
    elif unverified:
        yield finding("PB508", unverified)


def check_plain_columns(doubts: Iterable[tuple[str, str]]) -> Iterator[Finding]:
    """Columns that a footer, which anybody may have changed, shows as not encrypted; and the doubts
    about that."""
    for column, doubt in doubts:
        yield finding("PB508", doubt, column=column)


def check_locked(hidden: Iterable[tuple[str, int]], units: Units) -> Iterator[Finding]:
    """Columns without a key, of whose filters nothing is known, not even whether there are any, in
    so many parts."""
    for column, count in hidden:
        parts = units.part if count == 1 else f"{units.part}s"
        yield finding(
            "PB408",
            f"{NO_KEY}: nothing is known of the filters of {count} {parts}, not even whether there"
            " are any",
            column=column,
        )


def check_shown(
    column: str, statistics: int, locations: int, others: Sequence[str]
) -> Iterator[Finding]:
    """What the footer shows of an encrypted column to those who do not have its key: `statistics` and
    `locations` of filters, in so many row groups, and fields with other names."""
    if statistics:
        yield finding(
            "PB503",
            "the column is encrypted, and the footer shows its statistics, such as its least and"
            f" greatest value, in {_row_groups(statistics)}",
            column=column,
            expected="no statistics",
            found=_times(statistics),
        )
    if locations:
        yield finding(
            "PB507",
            "the column is encrypted, and the footer shows where its filters are, and so how large"
            " they are",
            column=column,
            found=_times(locations),
        )
    if others:
        names = ", ".join(others)
        yield finding(
            "PB504",
            f"the column is encrypted, and the footer shows its {names}",
            column=column,
            found=names,
        )


def _row_groups(count: int) -> str:
    return "1 row group" if count == 1 else f"{count} row groups"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def not_encrypted(chunk: Chunk) -> Finding:
    """Anyone who has the file can ask these filters, with no key."""
    return chunk_finding(
        "PB651",
        chunk,
        "the column is encrypted and its filters are not: unless they are of masked values, anyone"
        " can confirm a guess at a value",
    )
