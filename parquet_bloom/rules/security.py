"""PB5xx, PB651: whether filters or the footer give away what is encrypted, and whether they open."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Final

from parquet_bloom.container import number_of
from parquet_bloom.container.protocols import Chunk
from parquet_bloom.native import _kernel
from parquet_bloom.rules.finding import Finding, chunk_finding, finding

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.footer import Footer
    from parquet_bloom.parquet.footer.schema import LeafColumn

# Fields of a ColumnMetaData that reveal something about values; nobody needs them without the key.
_STATISTICS: Final = 12
_FILTER_OFFSET: Final = 14
_TELLING: Final = {13: "encoding_stats", 16: "size_statistics", 17: "geospatial_statistics"}

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
            "the header is encrypted as if it were a column index, as parquet-go does: no other reader"
            " can open it",
            expected="a filter header",
            found=opens_as,
        )
    return chunk_finding("PB502", chunk, message, found=opens_as)


def is_of_sealed_filter(found: Finding) -> bool:
    """Whether it is about a filter that does not open: it is one all the same, since the ColumnMetaData that points
    to it did open."""
    return found.rule in ("PB502", "PB505")


def check_signature(unverified: str | None, is_signed: bool) -> Iterator[Finding]:
    """Without the key, a reader believes a footer that anyone may have changed."""
    if unverified and is_signed:
        yield finding(
            "PB506", f"the footer is signed, but its signature was not verified: {unverified}"
        )
    elif unverified:
        yield finding("PB508", unverified)


def check_doubts(footer: Footer, leaves: Sequence[LeafColumn]) -> Iterator[Finding]:
    """Columns that appear unencrypted in a footer that anyone may have changed."""
    all_groups = range(footer.num_row_groups)
    for leaf in leaves:
        if doubt := footer.doubt_about_plaintext(leaf, all_groups):
            yield finding("PB508", doubt, column=leaf.name)


def check_locked(
    footer: Footer, leaves: Sequence[LeafColumn], row_groups: Sequence[int]
) -> Iterator[Finding]:
    """Columns without a key, which hides all about their filters."""
    for leaf in leaves:
        hidden = [
            row_group
            for row_group in _encrypted_groups(footer, leaf, row_groups)
            if footer.chunks.one("bloom_filter_offset", row_group, leaf.index) == _kernel.ABSENT
            and footer.chunk(row_group, leaf).is_locked
        ]
        if hidden:
            yield finding(
                "PB408",
                f"{footer.chunk(hidden[0], leaf).no_key}: nothing is known about the filters in"
                f" {number_of(len(hidden), 'row group')},"
                " not even whether there are any",
                column=leaf.name,
            )


def num_locked(footer: Footer, leaves: Sequence[LeafColumn], row_groups: Sequence[int]) -> int:
    """How many chunks have no key, be it known or not whether they have filters."""
    if not footer.protection.is_encrypted:
        return 0
    return sum(
        footer.chunk(row_group, leaf).is_locked
        for leaf in leaves
        for row_group in _encrypted_groups(footer, leaf, row_groups)
    )


def check_shown(
    footer: Footer, leaves: Sequence[LeafColumn], row_groups: Sequence[int]
) -> Iterator[Finding]:
    """What the readable copies of their ColumnMetaData show about encrypted columns."""
    if footer.protection.is_encrypted:
        for leaf in leaves:
            groups = _encrypted_groups(footer, leaf, row_groups)
            shown = [footer.shown_fields(row_group, leaf.index) for row_group in groups]
            yield from _check_shown(leaf.name, shown)


def _check_shown(column: str, shown: Sequence[frozenset[int]]) -> Iterator[Finding]:
    """`shown`: the ids of the fields, by row group."""
    if statistics := sum(_STATISTICS in each for each in shown):
        yield finding(
            "PB503",
            "the column is encrypted but the footer shows its statistics, such as minimum and"
            f" maximum, in {number_of(statistics, 'row group')}",
            column=column,
            expected="no statistics",
            found=_times(statistics),
        )
    if locations := sum(_FILTER_OFFSET in each for each in shown):
        yield finding(
            "PB507",
            "the column is encrypted but the footer shows where its filters are, and thus how large"
            " they are",
            column=column,
            found=_times(locations),
        )
    telling = (name for number, name in _TELLING.items() if any(number in each for each in shown))
    if names := ", ".join(telling):
        yield finding(
            "PB504",
            "the footer shows more of the encrypted column than it has to",
            column=column,
            found=names,
        )


def _encrypted_groups(footer: Footer, leaf: LeafColumn, row_groups: Sequence[int]) -> list[int]:
    """Those of these row groups in which a leaf column is encrypted."""
    return [
        row_group
        for row_group in row_groups
        if footer.chunks.one("has_crypto_metadata", row_group, leaf.index)
    ]


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
