"""Ask a file's filters about values: which row groups remain to be read.

A verdict costs the footer, and of each filter its header and the one block that the hash selects.
Of an ORC file: see verbs.orc.probe.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np

from parquet_bloom.errors import (
    FilterError,
    FormatError,
    MissingKeyError,
    UnsupportedError,
    ValueTypeError,
)
from parquet_bloom.files import open as open_file
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.filters.verdict import Verdict, verdict_on_all
from parquet_bloom.legacy.murmur3.block_filter import BlockFilter
from parquet_bloom.legacy.of_chunk import NO_FILTER, Dialect, check_asked, noted, published
from parquet_bloom.legacy.verdicts import of_older, of_published
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import NO_KEY, ParquetFile, RowGroupVerdict
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.values.encode import Encodings
from parquet_bloom.values.literals import encode_literal

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.verbs.orc.probe import BitExplanation, OrcProbeReport


@dataclass(frozen=True, slots=True)
class ProbedValue:
    """The verdict on one value in a file: `absent` only if it is absent in every row group."""

    value: str
    verdict: Verdict
    row_groups: tuple[RowGroupVerdict, ...]
    rows_to_read: int

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return tuple(group.verdict for group in self.row_groups)


@dataclass(frozen=True, slots=True)
class ProbeReport:
    """The verdicts on all values in one file, and the bytes that were read for them. `unverified`:
    why the footer of an encrypted file can be another one than was written, None if it cannot."""

    path: str
    column: str
    results: tuple[ProbedValue, ...]
    bytes_read: int
    unverified: str | None = None
    format: Literal["parquet"] = "parquet"

    @property
    def is_absent(self) -> bool:
        """Whether no value can be in the file."""
        return all(result.verdict == "absent" for result in self.results)


def probe(
    path: str | os.PathLike[str],
    column: str,
    values: Sequence[str],
    *,
    read_as: str | None = None,
    dialect: Dialect | None = None,
    seed: int | None = None,
    keys: Keys | None = None,
) -> ProbeReport | OrcProbeReport:
    """The verdicts on literals (see parquet_bloom.values.literals) of `column` in one file.

    read_as: read the literals as this type, one of literals.TYPES. dialect: ask the filters of this
    one; otherwise those to which bloom_filter_offset leads, whichever they are. seed: of the hash
    of `murmur3` filters, if nothing in the file tells it. keys: for encrypted files.

    Raises ColumnError, ValueTypeError, FormatError, UnsupportedError, EncryptionError for what does
    not open, OSError.
    """
    with open_file(path, keys) as file:
        if file.format == "orc":
            from parquet_bloom.verbs.orc.probe import probe_orc

            if dialect is not None:
                raise UnsupportedError(f"{file.path}: an ORC file: its filters have one dialect")
            return probe_orc(file, column, values, read_as=read_as)
        return _probe_file(file, column, values, read_as, dialect, seed)


def _probe_file(
    file: ParquetFile,
    column: str,
    values: Sequence[str],
    read_as: str | None,
    dialect: Dialect | None,
    seed: int | None,
) -> ProbeReport:
    check_asked(dialect, seed)
    leaf = file.leaf(column)
    encodings = [_encoded(file, leaf, value, read_as) for value in values]
    results = tuple(
        _probed(value, verdicts)
        for value, verdicts in zip(
            values, _verdicts(file, leaf, encodings, dialect, seed), strict=True
        )
    )
    unverified = file.footer.protection.unverified or None
    return ProbeReport(file.path, leaf.name, results, file.source.bytes_read, unverified)


def _verdicts(
    file: ParquetFile,
    leaf: LeafColumn,
    values: Sequence[Encodings],
    dialect: Dialect | None,
    seed: int | None,
) -> Sequence[tuple[RowGroupVerdict, ...]]:
    if dialect is not None and dialect != "xxhash":
        return of_older(file, leaf, values, dialect, seed)
    verdicts = file.probe_encodings(leaf, values)
    return verdicts if dialect else of_published(file, leaf, values, verdicts)


def _encoded(file: ParquetFile, leaf: LeafColumn, value: str, read_as: str | None) -> Encodings:
    """The stored bytes of a literal. Raises ValueTypeError, naming file and column."""
    try:
        return encode_literal(leaf.type, value, read_as)
    except ValueTypeError as error:
        raise ValueTypeError(f"{file.path}: column {leaf.name}: {error}") from None


def _probed(value: str, row_groups: tuple[RowGroupVerdict, ...]) -> ProbedValue:
    verdict = verdict_on_all({group.verdict for group in row_groups})
    rows = sum(group.num_rows for group in row_groups if group.verdict != "absent")
    return ProbedValue(value, verdict, row_groups, rows)


@dataclass(frozen=True, slots=True)
class BlockExplanation:
    """How one stored form of a value meets one filter.

    `bits`: for each of the eight words, the bit (0 to 31) that the value sets; `clear`: the words
    where that bit is clear, any of which proves the value absent.
    """

    row_group: int
    value: str
    plain: str
    hash: str
    block: int | None
    num_blocks: int | None
    bits: tuple[int, ...]
    clear: tuple[int, ...]
    reason: str | None


def explain(
    path: str | os.PathLike[str],
    column: str,
    values: Sequence[str],
    *,
    read_as: str | None = None,
    dialect: Dialect | None = None,
    seed: int | None = None,
    keys: Keys | None = None,
) -> tuple[BlockExplanation, ...] | tuple[BitExplanation, ...]:
    """Why probe says what it says: hash, block and bits of every stored form of each value.

    Raises UnsupportedError for the dialect `statistics`, whose filters have no blocks.
    """
    with open_file(path, keys) as file:
        if file.format == "orc":
            from parquet_bloom.verbs.orc.probe import explain_orc

            return explain_orc(file, column, values, read_as=read_as)
        check_asked(dialect, seed)
        if dialect == "statistics":
            raise UnsupportedError(f"{file.path}: filters inside Statistics have no blocks to show")
        leaf = file.leaf(column)
        find = partial(_older_filter, file, dialect, seed)
        return tuple(
            explanation
            for value in values
            for explanation in _explain_value(
                file, leaf, value, _encoded(file, leaf, value, read_as), find
            )
        )


# The filter of a chunk that is of an older dialect.
_FindOlder = Callable[[ColumnChunk], BlockFilter | None]


def _older_filter(
    file: ParquetFile, dialect: Dialect | None, seed: int | None, chunk: ColumnChunk
) -> BlockFilter | None:
    """The one that is asked: of this dialect, or what bloom_filter_offset leads to. Raises
    FilterError if there is none of the dialect."""
    if dialect == "xxhash":
        return None
    found = (noted(file, chunk) if dialect and seed is None else None) or published(
        file, chunk, seed
    )
    if found is None and dialect is not None:
        raise FilterError(NO_FILTER)
    return found


def _explain_value(
    file: ParquetFile, leaf: LeafColumn, value: str, encodings: Encodings, find: _FindOlder
) -> Iterator[BlockExplanation]:
    for row_group in range(file.num_row_groups):
        if encodings.unknown:
            yield BlockExplanation(row_group, value, "", "", None, None, (), (), encodings.unknown)
        for plain in encodings.plain:
            yield _explain_block(file, file.footer.chunk(row_group, leaf), value, plain, find)


def _explain_block(
    file: ParquetFile, chunk: ColumnChunk, value: str, plain: bytes, find: _FindOlder
) -> BlockExplanation:
    hash = _kernel.xxh64(plain)
    block: int | None = None
    num_blocks: int | None = None
    clear: tuple[int, ...] = ()
    reason: str | None = None
    try:
        older = find(chunk)
        stored = None if older else bloom.read_usable_header(file.source, file.footer, chunk)
        if older is not None:
            hash, num_blocks = older.place.scheme.raw_hash(older.leaf, plain), older.bits.num_blocks
            block, found = older.block_of(plain)
            clear = _clear_words(found, hash)
        elif stored is not None:
            num_blocks = stored.num_blocks
            block, found = bloom.read_block(bloom.bits(file.source, stored), stored, hash)
            clear = _clear_words(found, hash)
        else:
            reason = "no filter"
    except MissingKeyError:
        reason = NO_KEY
    except FormatError as error:
        reason = str(error)
    return BlockExplanation(
        row_group=chunk.row_group,
        value=value,
        plain=plain.hex(),
        hash=f"{hash:016x}",
        block=block,
        num_blocks=num_blocks,
        bits=word_bits(hash),
        clear=clear,
        reason=reason,
    )


def _clear_words(block: SplitBlockBloomFilter, hash: int) -> tuple[int, ...]:
    """The words of a block in which the bit of `hash` is clear."""
    return tuple(
        word for word, bit in enumerate(word_bits(hash)) if not int(block.words[word]) >> bit & 1
    )


def word_bits(hash: int) -> tuple[int, ...]:
    """The bit that `hash` sets in each of the eight words of its block."""
    alone = SplitBlockBloomFilter.empty(1)
    alone.insert_hashes(np.array([hash], np.uint64))
    return tuple(int(word).bit_length() - 1 for word in alone.words)
