"""How the filters of a Parquet file are examined: one for each column chunk."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

from xxhash import xxh3_128_digest

from parquet_bloom.container.records import record
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.errors import EncryptionError, FormatError, TamperedError, UnsupportedError
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES, MIN_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.chunk_filters import headers_at
from parquet_bloom.legacy.presence import candidates
from parquet_bloom.native import _kernel
from parquet_bloom.options import ValidateOptions
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.chunk_values import (
    dictionary_bytes,
    is_all_dictionary,
    known_non_null,
    may_have_values,
)
from parquet_bloom.parquet.container import ParquetContainer
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.membership import (
    ChunkMembership,
    check_membership,
    membership_room,
    stores_values,
)
from parquet_bloom.parquet.sealed import exposure
from parquet_bloom.rules import legacy, portability, security, structure_parquet
from parquet_bloom.rules.finding import (
    Finding,
    chunk_finding,
    not_checked,
    without_place,
)
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.view import FilterView, LackingForm, Look, Opening, Weight
from parquet_bloom.values.show import shown
from parquet_bloom.vocabulary import UNKNOWN


@record
class StoredChunk:
    """A column chunk with the header of its filter."""

    chunk: ColumnChunk
    stored: bloom.StoredFilter


@dataclass
class ParquetExamination:
    """See view.Examination; an item is a StoredChunk."""

    file: ParquetContainer
    options: ValidateOptions
    policy: Policy
    _stored: dict[ChunkKey, StoredChunk] = field(default_factory=dict, init=False)

    @cached_property
    def _leaves(self) -> tuple[LeafColumn, ...]:
        return self.file.leaves(self.options.columns)

    # --------------------------------------------------------------------------------------------
    # The footer

    def opening(self) -> Opening:
        file, footer = self.file, self.file.footer
        opening = Opening([*structure_parquet.check_footer(file, self._leaves)])
        opening.findings += security.check_signature(file.unverified, footer.is_signed)
        doubted = exposure.doubted_columns(footer, self._leaves)
        opening.findings += security.check_plain_columns(doubted)
        hidden = exposure.hidden_filters(footer, self._leaves)
        opening.findings += security.check_locked(hidden, file.units)
        for chunk in structure_parquet.pointing(file, self._leaves):
            opening.findings += self._read_header(chunk)
        opening.num_filters += len(self._stored)
        self._look_at_legacy(opening)
        in_order = ((each.chunk, each.stored) for each in self._in_order)
        opening.findings += portability.check_order(in_order)
        return opening

    def _read_header(self, chunk: ColumnChunk) -> Iterator[Finding]:
        if chunk.has_file_path:
            yield not_checked(chunk, "the column chunk lies in another file")
            return
        stored, problems = structure_parquet.read_header(self.file, chunk)
        # Legacy headers name no compression.
        if (stored is None or stored.compression == UNKNOWN) and headers_at(self.file, chunk):
            return
        yield from problems
        if stored is None:
            return
        self._stored[chunk.key] = StoredChunk(chunk, stored)
        yield from structure_parquet.check_header(self.file, chunk, stored)
        yield from structure_parquet.check_sharing(self.file, chunk, stored)
        yield from portability.check_header(chunk, stored)
        yield from portability.check_type(chunk)
        if bloom.is_leaked(chunk, stored):
            yield security.plaintext(chunk, stored.offset)
        if stored.num_bytes > MAX_BYTES:
            yield not_checked(chunk, f"a bitset of more than {MAX_BYTES} bytes")

    def _look_at_legacy(self, opening: Opening) -> None:
        """Legacy filters, in columns that are not encrypted."""
        for chunk in candidates(self.file.footer, self._leaves, self._stored):
            if chunk.meta_start is None or chunk.has_file_path or chunk.has_crypto_metadata:
                continue
            found = legacy.look_at(self.file, chunk)
            opening.findings += found.findings
            opening.num_filters += found.num_filters
            if self.options.deep:
                looked = legacy.look_up(self.file, chunk, found)
                opening.findings += looked.findings
                opening.num_values += looked.num_values

    @cached_property
    def _in_order(self) -> list[StoredChunk]:
        return [self._stored[key] for key in sorted(self._stored)]

    # --------------------------------------------------------------------------------------------
    # Filters

    def items(self) -> list[StoredChunk]:
        return [each for each in self._in_order if self._is_readable(each)]

    def _is_readable(self, item: StoredChunk) -> bool:
        """Whether the bits can be looked at. Without an end, they could take all of the memory."""
        return (
            structure_parquet.is_readable(self.file, item.stored)
            and item.stored.num_bytes <= MAX_BYTES
            and not bloom.is_leaked(item.chunk, item.stored)
        )

    def room(self, item: StoredChunk) -> int:
        return membership_room(item.stored.num_bytes)

    def look(self, item: StoredChunk) -> Look:
        chunk, stored = item.chunk, item.stored
        try:
            bits = bloom.read_bitset(self.file.source, stored)
        except TamperedError as error:
            return Look([structure_parquet.does_not_open(self.file, chunk, error)])
        membership, problems = self._look_up(chunk, bits)
        view = FilterView(
            chunk=chunk,
            place=chunk.place,
            bits=bits,
            policy=self.policy.for_column(chunk.leaf.name),
            num_values=(membership.num_values if membership else known_non_null(chunk)),
            membership=membership,
            examples=partial(_examples, chunk, membership),
            diagnose=partial(self._diagnosis, item, membership),
            lacking_form=self._lacking_form(chunk, membership),
            weight=Weight(
                num_bytes=stored.num_bytes,
                chunk_bytes=chunk.total_compressed_size or 0,
                dictionary_bytes=dictionary_bytes(self.file.footer, chunk),
                folds=partial(_folds, bits),
            ),
            digest=_digest(chunk, bits),
        )
        # Why there is nothing to say of the values comes before what there is to say of the bits.
        return Look(problems, [view])

    def _look_up(
        self, chunk: ColumnChunk, bits: SplitBlockBloomFilter
    ) -> tuple[ChunkMembership | None, list[Finding]]:
        """What the values say; None, and why, if they cannot be looked up."""
        if not self.options.deep or chunk.leaf.type.physical == "BOOLEAN":
            return None, []
        places = self.file.path, chunk.where
        try:
            return check_membership(self.file, chunk, bits), []
        except UnsupportedError as error:
            return None, [not_checked(chunk, without_place(error, *places))]
        except (FormatError, TamperedError) as error:
            return None, [chunk_finding("PB116", chunk, without_place(error, *places))]

    def _lacking_form(
        self, chunk: ColumnChunk, membership: ChunkMembership | None
    ) -> LackingForm | None:
        if membership is None or membership.missing_form_bits == 0:
            return None
        if chunk.leaf.type.logical_name == "FLOAT16":
            return "FLOAT"
        has_key = portability.DUCKDB_INTERVALS in self.file.footer.keys
        return "DuckDB's INTERVAL" if has_key else None

    def _diagnosis(self, item: StoredChunk, membership: ChunkMembership | None) -> Diagnosis | None:
        """What the writer did instead; None also if indices, which membership does without, are
        damaged."""
        if membership is None or not self.options.diagnose:
            return None
        from parquet_bloom.diagnosis.diagnose import diagnose

        try:
            return diagnose(self.file, item.chunk, item.stored, membership)
        except (EncryptionError, FormatError, UnsupportedError):
            return None

    # --------------------------------------------------------------------------------------------
    # Columns, and the file

    def about_writer(self, right: Collection[Any]) -> list[Finding]:
        chunks = [(each.chunk, each.chunk.key in right) for each in self._in_order]
        return list(portability.check_writer(self.file.created_by, chunks))

    def columns(self) -> Sequence[LeafColumn]:
        return self._leaves

    def column(self, name: str) -> LeafColumn | None:
        return next((leaf for leaf in self.file.footer.leaves if leaf.name == name), None)

    def parts_without(self, column: LeafColumn) -> list[int]:
        of_leaf = self._offsets[column.index :: len(self.file.footer.leaves)]
        return [group for group, offset in enumerate(of_leaf) if offset == _kernel.ABSENT]

    @cached_property
    def _offsets(self) -> array[int]:
        return self.file.footer.chunks.every("bloom_filter_offset")

    def has_values(self, part: int, column: LeafColumn) -> bool:
        """Where the footer does not tell, the pages do, if they may be read."""
        return self._has_values(self.file.footer.chunk(part, column))

    def _has_values(self, chunk: ColumnChunk) -> bool:
        if not self.options.deep:
            return may_have_values(chunk)
        known = known_non_null(chunk)
        return stores_values(self.file, chunk) if known is None else known > 0

    def deserves_filters(self, part: int, column: LeafColumn) -> bool:
        """Writers rightly leave out chunks without values, and those whose dictionary says it all."""
        chunk = self.file.footer.chunk(part, column)
        if chunk.is_locked or chunk.meta_start is None:
            return False
        return not is_all_dictionary(self.file.footer, chunk) and self._has_values(chunk)

    def is_hidden(self, part: int, column: LeafColumn) -> bool:
        return self.file.footer.chunk(part, column).is_locked

    def filter_bytes(self) -> int:
        return sum(each.stored.end - each.stored.offset for each in self._stored.values())

    def closing(self) -> list[Finding]:
        findings: list[Finding] = []
        for leaf, fields in exposure.shown_fields(self.file.footer, self._leaves):
            findings += security.check_shown(
                leaf.name,
                statistics=sum(exposure.STATISTICS in each for each in fields),
                locations=sum(exposure.BLOOM_FILTER_OFFSET in each for each in fields),
                others=[
                    name
                    for number, name in exposure.TELLING.items()
                    if any(number in each for each in fields)
                ],
            )
        return findings


def _examples(chunk: ColumnChunk, membership: ChunkMembership | None) -> tuple[str, ...]:
    """What is encrypted is not for logs."""
    if membership is None or chunk.has_crypto_metadata:
        return ()
    return tuple(shown(chunk.leaf.type, plain) for plain in membership.examples)


def _folds(bits: SplitBlockBloomFilter, target: float) -> int:
    """How often the filter can be halved within the target FPP; an empty one is another matter."""
    if bits.bits_set == 0 or bits.fpp > target:
        return 0
    smallest = bits.fold_to_fpp(target, MIN_BYTES // BLOCK_BYTES)
    return (bits.num_blocks // smallest.num_blocks).bit_length() - 1


def _digest(chunk: ColumnChunk, bits: SplitBlockBloomFilter) -> bytes | None:
    """None if it means nothing that two filters are the same."""
    if chunk.leaf.type.physical == "BOOLEAN" or bits.bits_set == 0:
        return None
    return xxh3_128_digest(bits.bitset)
