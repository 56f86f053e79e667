"""PB2xx, PB62x: whether all readers take the filter, or some are known to stumble over it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Final

from parquet_bloom.container import number_of
from parquet_bloom.container.protocols import Chunk
from parquet_bloom.engines.reading import ColumnKind, engine_note, engines_in, lost_rows
from parquet_bloom.engines.writers import troubles
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES, MIN_BYTES
from parquet_bloom.parquet.footer.column_kind import column_kind
from parquet_bloom.rules.finding import Finding, chunk_finding, finding
from parquet_bloom.rules.view import FilterView

if TYPE_CHECKING:
    from parquet_bloom.engines.engine import Concerned, Situation, WriterTrouble
    from parquet_bloom.parquet.filters.bloom import StoredFilter
    from parquet_bloom.parquet.footer.chunk_table import ChunkKey
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
    from parquet_bloom.parquet.footer.footer import Footer

UNCOMPRESSED = "UNCOMPRESSED"

# In a file with this key, DuckDB looks up a normalized form of each INTERVAL.
DUCKDB_INTERVALS = "duckdb.interval_bloom_filter"

# The rules that prove the troubles of writers on a file, by which chunks are concerned.
PROOFS: Final[Mapping[Concerned, str]] = {
    "any": "PB401",
    "without length": "PB111",
    "BOOLEAN": "PB402",
    "encrypted": "PB501",
}

# A look-up of every value settles these better than any list of writers.
LOST_VALUES = ("PB401", "PB402")

_CONSEQUENCES: Final[Mapping[Concerned, str]] = {
    "any": "stored values seem absent, and rows are lost",
    "without length": "the end of the filter is read as zeros, and rows are lost",
    "BOOLEAN": "stored values seem absent, and rows are lost",
    "encrypted": "guesses at values of the encrypted column can be confirmed",
}

# The rules, by how a reason for not asking filters begins.
_IGNORED_BY = {
    "asked by no engine": "PB628",
    "ignored by ORC Java and C++": "PB621",
    "ignored by ORC Java": "PB622",
    "ignored by ORC C++": "PB623",
}

# What readers look up where a filter only has the stored form of the values, by rule.
_LACKING_FORMS: Final[Mapping[str, tuple[str, Situation]]] = {
    "PB209": (
        "the filter only has FLOAT16 values as stored, in two bytes",
        "FLOAT16 only as stored",
    ),
    "PB210": (
        f"the file has the key {DUCKDB_INTERVALS}, and the filter only has intervals as stored",
        "INTERVAL only as stored",
    ),
}
_UNUSUAL_FORM = (
    "values are stored in an unusual form, and only that is in the filter: readers that hash the usual"
    " form lose rows"
)


def check_writer(created_by: str, chunks: Iterable[tuple[ColumnChunk, bool]]) -> Iterator[Finding]:
    """What is known about filters by this writer of Parquet. `chunks`: the column chunks that have
    one, and whether all their values were found, which proves that the writer lost none."""
    known = troubles(created_by)
    # Chunks are decoded for this alone.
    chunks = list(chunks) if known else []
    for trouble in known:
        is_settled = PROOFS[trouble.when] in LOST_VALUES
        concerned = sum(
            is_concerned(chunk, trouble.when) and not (is_right and is_settled)
            for chunk, is_right in chunks
        )
        if concerned:
            yield finding(
                "PB205",
                f"{number_of(concerned, 'filter')} may be wrong; known of their writer: {trouble.condition}. Affects"
                f" {_misled(trouble)}: {_CONSEQUENCES[trouble.when]} ({trouble.link})",
                found=created_by,
            )


def is_concerned(chunk: ColumnChunk, when: Concerned) -> bool:
    """Whether a filter of this chunk can have such a trouble."""
    match when:
        case "any":
            return True
        case "without length":
            return chunk.bloom_filter_length is None
        case "BOOLEAN":
            return chunk.leaf.type.physical == "BOOLEAN"
        case "encrypted":
            return chunk.has_crypto_metadata


def _misled(trouble: WriterTrouble) -> str:
    if trouble.when == "without length":
        return engines_in("without length")
    return trouble.readers or "every reader that uses filters"


def check_order(places: Iterable[tuple[ChunkKey, int, int]], footer: Footer) -> Iterator[Finding]:
    """`places`: where all filters of a file begin and end, by row group and column."""
    for (_, before, _), ((row_group, column), found, _) in itertools.pairwise(places):
        if found < before:
            yield chunk_finding(
                "PB206",
                footer.chunk(row_group, footer.leaves[column]),
                "filters are not in the order of row groups and columns: nothing has to be done, though readers"
                " that fetch a row group's filters together need more requests",
                expected=f"after {before}",
                found=found,
            )
            return


def is_unremarkable(num_bytes: int) -> bool:
    """Whether check_header surely has nothing to say about an uncompressed bitset of this size."""
    return BLOCK_BYTES < num_bytes <= MAX_BYTES and not num_bytes & (num_bytes - 1)


def check_header(chunk: Chunk, stored: StoredFilter) -> Iterator[Finding]:
    """What readers that are stricter than the format make of the header."""
    if stored.names_nothing:
        return
    if stored.compression != UNCOMPRESSED:
        yield chunk_finding(
            "PB204",
            chunk,
            "the header says that the bitset is compressed, which the format does not define:"
            " readers ignore the filter or fail",
            expected=UNCOMPRESSED,
            found=stored.compression,
        )
    if stored.num_bytes > MAX_BYTES:
        yield chunk_finding(
            "PB203",
            chunk,
            f"the bitset is too large: {engine_note('more than 128 MiB')}",
            expected=f"at most {MAX_BYTES} bytes",
            found=stored.num_bytes,
        )
    elif stored.num_bytes == BLOCK_BYTES:
        yield chunk_finding(
            "PB202",
            chunk,
            f"the bitset is a single block: {engine_note('less than 64 bytes')}",
            expected=f"{MIN_BYTES} bytes or more",
            found=stored.num_bytes,
        )
    if stored.num_blocks > 0 and stored.num_blocks & (stored.num_blocks - 1):
        yield chunk_finding(
            "PB201",
            chunk,
            f"the number of blocks is not a power of two: {engine_note('not a power of two')}",
            expected="a power of two",
            found=f"{stored.num_blocks} blocks",
        )


def check_type(chunk: ColumnChunk) -> Iterator[Finding]:
    """Types whose values writers and readers hash differently."""
    if chunk.column.physical_type == "BOOLEAN":
        yield chunk_finding(
            "PB207",
            chunk,
            "the format does not say which bytes of a BOOLEAN are hashed, and writers differ",
        )
    is_decimal = (chunk.column.logical_type or "").startswith("DECIMAL")
    if chunk.column.physical_type == "BYTE_ARRAY" and is_decimal:
        yield chunk_finding(
            "PB208",
            chunk,
            "a DECIMAL in a BYTE_ARRAY is hashed at the length that its writer chose, which readers"
            " have to guess",
        )
    for lost in lost_rows(column_kind(chunk.leaf)):
        yield chunk_finding("PB212", chunk, str(lost))


def check_forms(view: FilterView) -> Iterator[Finding]:
    """Forms of the values that only some readers look for."""
    if (rule := view.lacking_form) is None:
        return
    if rule in _LACKING_FORMS:
        fact, situation = _LACKING_FORMS[rule]
        yield view.finding(rule, f"{fact}: {engine_note(situation)}")
    else:
        yield view.finding(rule, _UNUSUAL_FORM)


def check_readers(chunk: Chunk, ignored: Iterable[str], created_by: str) -> Iterator[Finding]:
    """`ignored`: which readers do not ask the filters, and why, in words."""
    for line in ignored:
        readers, _, reason = line.partition(": ")
        yield chunk_finding(_IGNORED_BY[readers], chunk, reason, found=created_by)


def check_trust(chunk: Chunk, doubt: str, was_right: bool, created_by: str) -> Iterator[Finding]:
    """What `probe` makes of filters whose writer is known to lose values, also where none is missing: `was_right`, if
    all of them were looked up."""
    if doubt:
        fact = (
            "these filters lack no stored value, which only looking up all of them shows"
            if was_right
            else "the filters may be right or wrong"
        )
        yield chunk_finding(
            "PB627", chunk, f"probe answers unknown: {doubt}; {fact}", found=created_by
        )


def check_look_ups(chunk: Chunk, kind: str, created_by: str) -> Iterator[Finding]:
    """Who loses rows of an ORC column of this kind even with correct filters."""
    for lost in lost_rows(ColumnKind(kind)):
        yield chunk_finding("PB626", chunk, str(lost), found=created_by)


def check_evenness(chunk: Chunk, sizes: Iterable[tuple[int, int]]) -> Iterator[Finding]:
    """`sizes`: the bits and hashes of its filters. orc-tools can only merge filters of one size."""
    distinct = sorted(set(sizes))
    if len(distinct) > 1:
        shown = ", ".join(f"{bits} bits and {hashes} hashes" for bits, hashes in distinct)
        yield chunk_finding(
            "PB625",
            chunk,
            "the filters differ in size: orc-tools fails on the file when it merges them",
            expected="one size",
            found=shown,
        )
