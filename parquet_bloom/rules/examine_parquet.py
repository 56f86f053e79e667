"""How the filters of a Parquet file are examined: one per column chunk."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import field
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from xxhash import xxh3_128_digest

from parquet_bloom.container import Place, record
from parquet_bloom.container.missing_rows import MissingRows
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import PAGES_MAY_HAVE_CHANGED, Diagnosis
from parquet_bloom.errors import (
    EncryptionError,
    FormatError,
    TamperedError,
    UnsupportedError,
    without_place,
)
from parquet_bloom.filters.sizing import MAX_BYTES, WORDS_PER_BLOCK
from parquet_bloom.filters.split_block import SettledFilter, SplitBlockBloomFilter
from parquet_bloom.legacy.presence import candidates
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.ahead import pages_range
from parquet_bloom.parquet.filters.insertion import (
    is_stored_unusually,
    most_hashes,
    reason_for_none,
)
from parquet_bloom.parquet.filters.membership import (
    ChunkMembership,
    check_membership,
    membership_room,
    rows_of_missing,
    stores_values,
)
from parquet_bloom.parquet.filters.ordinary import OrdinaryFilter, OrdinaryFilters, read_ordinary
from parquet_bloom.parquet.footer.chunk_table import ChunkKey
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.layout import Range
from parquet_bloom.parquet.footer.schema import LeafColumn, leaves_called
from parquet_bloom.parquet.pages.chunk_values import (
    dictionary_bytes,
    is_all_dictionary,
    most_values,
)
from parquet_bloom.parquet.pages.pages import pages_room
from parquet_bloom.rules import (
    filter_bits,
    footer_parquet,
    portability,
    security,
    structure_parquet,
)
from parquet_bloom.rules.finding import Finding, chunk_finding, not_checked
from parquet_bloom.rules.policy import ColumnPolicy, Policy
from parquet_bloom.rules.view import Examination, Examined, FilterView, ItemView, Spot, Twin
from parquet_bloom.storage.source import Source
from parquet_bloom.values.literals import as_examples, format_literal
from parquet_bloom.vocabulary import UNKNOWN

if TYPE_CHECKING:
    from parquet_bloom.diagnosis.agreement import Explained


@record
class ChunkFilter:
    """A column chunk with the header of its filter."""

    chunk: ColumnChunk
    stored: bloom.StoredFilter


class ChunkPages(NamedTuple):
    """A column chunk, every page of which is decoded."""

    chunk: ColumnChunk


Item: TypeAlias = "list[ChunkFilter] | ChunkPages"

# Filters that are looked at together, if their values are not looked up, have this many bytes at most.
_TOGETHER = 1 << 20


@dataclass
class ParquetExamination(Examination[Item, LeafColumn]):
    """An item is a list of ChunkFilters, or a chunk whose pages are decoded."""

    file: ParquetContainer
    _explained: list[Explained] = field(default_factory=list)
    _of_headers: dict[ChunkKey, list[Finding]] = field(default_factory=dict)

    @cached_property
    def _stored(self) -> list[ChunkFilter]:
        """The filters whose headers can be read, by row group and column, except for unremarkable
        ones; `opening` collects them all."""
        return []

    @cached_property
    def _unremarkable(self) -> UnremarkableFilters:
        return UnremarkableFilters(self.file.footer, self.columns, self.policy)

    # --------------------------------------------------------------------------------------------
    # The footer

    def opening(self) -> Examined:
        file, footer, parts = self.file, self.file.footer, set(self.parts)
        opening = Examined([*structure_parquet.check_footer(file, self.columns, self.parts)])
        opening.findings += footer_parquet.check_fields(
            footer, self.columns, self.parts, every_chunk=self.options.pages
        )
        opening.findings += security.check_signature(file.unverified, footer.is_signed)
        opening.findings += security.check_doubts(footer, self.columns)
        opening.findings += security.check_locked(footer, self.columns, self.parts)
        opening.num_locked = security.num_locked(footer, self.columns, self.parts)
        file.will_read_filters(self.parts, self.columns)
        for row_group in self.parts:
            opening.findings += self._read_headers(row_group)
        if structure_parquet.may_be_elsewhere(file, opening.findings):
            lost = structure_parquet.lost_pages(file)
            opening.findings += [lost] if lost else []
            opening.has_lost_bytes = lost is not None
        places = sorted(self._places())
        opening.num_filters += len(places)
        opening.num_filters += sum(map(security.is_of_sealed_filter, opening.findings))
        for chunk in candidates(footer, self.columns, {key for key, _, _ in places}):
            if chunk.meta_start is None or chunk.has_file_path or chunk.has_crypto_metadata:
                continue
            if chunk.row_group not in parts:
                continue
            # Needs numpy, and there are hardly any.
            from parquet_bloom.rules import legacy

            opening.add(legacy.examine(file, chunk, self.options))
        opening.findings += portability.check_order(places, footer)
        return opening

    def _places(self) -> Iterator[tuple[ChunkKey, int, int]]:
        """Where each filter whose header can be read begins and ends."""
        for each in self._stored:
            yield each.chunk.key, each.stored.offset, each.stored.end
        yield from self._unremarkable.places()

    def _read_headers(self, row_group: int) -> Iterator[Finding]:
        """Those of one row group. Chunks without filters, or with unremarkable ones, are not even
        decoded."""
        footer = self.file.footer
        offsets = footer.chunks.part("bloom_filter_offset", row_group)
        filters = read_ordinary(self.file, row_group, self.columns)
        if not self.options.deep:
            self._unremarkable.take(row_group, filters)
        for leaf in self.columns:
            if (
                offsets[leaf.index] == _kernel.ABSENT
                or (row_group, leaf.index) in self._unremarkable
            ):
                continue
            chunk, ordinary = footer.chunk(row_group, leaf), filters.get(leaf.index)
            if ordinary is None or chunk.has_file_path:
                yield from self._read_header(chunk)
            else:
                yield from self._keep(chunk, bloom.stored_as_usual(footer, chunk, ordinary))

    def twins(self) -> list[Twin]:
        return self._unremarkable.twins()

    def _read_header(self, chunk: ColumnChunk) -> Iterator[Finding]:
        if chunk.has_file_path:
            yield not_checked(chunk, "the column chunk is in another file")
            return
        stored, problems = structure_parquet.read_header(self.file, chunk, self.options.deep)
        # Legacy headers name no compression.
        if stored is None or stored.compression == UNKNOWN:
            from parquet_bloom.legacy.chunk_filters import headers_at

            if headers_at(self.file, chunk):
                return
        yield from problems
        if stored is None:
            return
        if stored.names_nothing:
            yield structure_parquet.unnamed(self.file, chunk, stored, self._may_diagnose)
        else:
            of_header = list(structure_parquet.check_header(self.file, chunk, stored))
            self._of_headers[chunk.key] = of_header
            yield from of_header
        yield from structure_parquet.check_sharing(self.file, chunk, stored)
        yield from self._keep(chunk, stored)
        if stored.is_leaked:
            yield security.plaintext(chunk, stored.offset)
        if stored.num_bytes > MAX_BYTES:
            yield not_checked(chunk, f"a bitset of more than {MAX_BYTES} bytes")

    @property
    def _may_diagnose(self) -> bool:
        return self.options.deep and self.options.diagnose

    def _keep(self, chunk: ColumnChunk, stored: bloom.StoredFilter) -> Iterator[Finding]:
        """Keep a filter for `items`. Of an ordinary one, there is no more to say before its bits."""
        self._stored.append(ChunkFilter(chunk, stored))
        yield from portability.check_header(chunk, stored)
        if not stored.names_nothing:
            yield from portability.check_type(chunk)

    # --------------------------------------------------------------------------------------------
    # Filters

    def items(self) -> list[Item]:
        """The filters whose bits can be read, without those that would take too much memory; several
        small ones are one item if the bits are all there is to look at, and so are all chunks that
        point to one filter. Then the chunks whose pages are to be decoded."""
        return [*self.grouped(self._readable()), *self._chunks_to_decode()]

    def _readable(self) -> Iterator[ChunkFilter]:
        for each in self._stored:
            if (
                structure_parquet.is_readable(self.file, each.stored)
                and each.stored.num_bytes <= MAX_BYTES
                and not each.stored.is_leaked
            ):
                yield each

    def _chunks_to_decode(self) -> Iterator[ChunkPages]:
        footer = self.file.footer
        if self.options.pages:
            for row_group in self.parts:
                for chunk in (footer.chunk(row_group, leaf) for leaf in self.columns):
                    if not (chunk.is_locked or chunk.has_file_path or chunk.meta_start is None):
                        yield ChunkPages(chunk)

    def grouped(self, filters: Iterable[ChunkFilter]) -> list[list[ChunkFilter]]:
        """As in `items`, so that no filter is read twice."""
        items: list[list[ChunkFilter]] = []
        at: dict[int, list[ChunkFilter]] = {}
        room = 0
        for each in filters:
            stored = each.stored
            if stored.offset in at and not stored.is_encrypted:
                at[stored.offset].append(each)
                continue
            together = not self.options.deep and not stored.is_encrypted
            if stored.num_bytes <= room and together:
                items[-1].append(each)
                room -= stored.num_bytes
            else:
                items.append([each])
                room = _TOGETHER - stored.num_bytes
            at[stored.offset] = items[-1]
        if self.options.deep:
            self.will_read(items)
        return items

    def will_read(self, items: list[list[ChunkFilter]]) -> None:
        """Say that `view` will be called with each of these."""
        self.file.source.will_read(self._ranges(items))

    def _ranges(self, items: list[list[ChunkFilter]]) -> Iterator[Range]:
        """The filter, and the values."""
        for each in chain(*items):
            yield each.stored.offset, each.stored.end
            yield pages_range(self.file, each.chunk)

    def room(self, item: Item) -> int:
        if isinstance(item, ChunkPages):
            return pages_room(self.file.source, self.file.footer, item.chunk)
        sizes = {each.stored.offset: each.stored.num_bytes for each in item}
        room = sum(map(membership_room, sizes.values()))
        if not self.options.deep:
            return room
        file = self.file
        # Chunks are looked at in turn.
        return room + max(pages_room(file.source, file.footer, each.chunk) for each in item)

    def view(self, item: Item) -> ItemView:
        if isinstance(item, ChunkPages):
            return self._decode(item.chunk)
        seen = ItemView()
        for _, of_chunk in self.chunk_views(item):
            seen.findings += of_chunk.findings
            seen.views += of_chunk.views
            # Known once the views are looked at.
            of_chunk.proofs = seen.proofs
        return seen

    def _decode(self, chunk: ColumnChunk) -> ItemView:
        # It needs numpy, and few ask for it.
        from parquet_bloom.rules.pages_parquet import check_pages, unread_finding

        checked = check_pages(self.file, chunk)
        seen = ItemView(
            checked.findings, num_pages=checked.num_pages, num_unsummed=checked.num_unsummed
        )
        if checked.proof is not None:
            seen.proofs[chunk.place, chunk.leaf.name] = checked.proof
        if checked.unread is not None:
            seen.findings.append(unread_finding(self.file, chunk, checked.unread))
        return seen

    def chunk_views(self, item: list[ChunkFilter]) -> Iterator[tuple[ChunkFilter, ItemView]]:
        """The same chunk by chunk."""
        source = self.file.source if len(item) == 1 else self.file.source.window()
        known: dict[int, SettledFilter] = {}
        for each in item:
            seen = ItemView()
            self._view_chunk(each, source, seen, known)
            yield each, seen

    def _view_chunk(
        self, item: ChunkFilter, source: Source, seen: ItemView, known: dict[int, SettledFilter]
    ) -> None:
        """`known`: filters to which several chunks point, by their offset."""
        chunk, footer = item.chunk, self.file.footer
        try:
            bits = self._bits(item.stored, source, known)
        except TamperedError as error:
            seen.findings.append(structure_parquet.does_not_open(self.file, chunk, error))
            return
        membership, problems = self._look_up(chunk, bits)
        view = FilterView(
            chunk=chunk,
            place=chunk.place,
            bits=bits,
            policy=self.policy.for_column(chunk.leaf.name),
            num_values=membership.num_values if membership else chunk.known_non_null,
            membership=membership,
            examples=partial(_examples, chunk, membership),
            missing_rows=partial(self._missing_rows, chunk, bits),
            diagnose=partial(self._diagnosis, item, membership, seen),
            foreign_from=partial(_foreign_from, bits, membership),
            lacking_form=self._lacking_form(chunk, membership),
            dictionary_bytes=dictionary_bytes(footer, chunk),
            digest=_digest(chunk, bits),
            max_bits=partial(self._max_bits, chunk, bits),
        )
        if view.is_right and view.num_values:
            for found in self._of_headers.get(chunk.key, ()):
                structure_parquet.settle_length(found)
        # Why the values were not looked up comes before what there is to say about the bits.
        seen.findings += problems
        if membership is not None and not membership.bounds_are_values and not self.options.pages:
            seen.findings += self._bounds_of_values(chunk)
        seen.views.append(view)

    def _bits(
        self, stored: bloom.StoredFilter, source: Source, known: dict[int, SettledFilter]
    ) -> SplitBlockBloomFilter:
        offset = stored.offset
        # An encrypted one opens only for the chunk whose it is.
        if offset in known and not stored.is_encrypted:
            return known[offset]
        bits = SettledFilter.from_bytes(bloom.bits(source, stored)(0, stored.num_bytes))
        if self.file.footer.layout.filters.num_at(offset) > 1 and not stored.is_encrypted:
            known[offset] = bits
        return bits

    def _max_bits(self, chunk: ColumnChunk, bits: SplitBlockBloomFilter) -> int | None:
        """How many bits the values can set; None if unknown. Looks for a dictionary only if there are more
        than those in rows can set."""
        leaf, num_values = chunk.leaf.type, chunk.num_values
        if num_values is None:
            return None
        of_rows = WORDS_PER_BLOCK * most_hashes(leaf, num_values)
        if bits.bits_set <= of_rows:
            return of_rows
        most = most_values(self.file.source, self.file.footer, chunk)
        return None if most is None else WORDS_PER_BLOCK * most_hashes(leaf, most)

    def _look_up(
        self, chunk: ColumnChunk, bits: SplitBlockBloomFilter
    ) -> tuple[ChunkMembership | None, list[Finding]]:
        """What the values say; or None and why they cannot be looked up."""
        if not self.options.deep or chunk.leaf.type.physical == "BOOLEAN":
            return None, []
        places = self.file.path, chunk.where
        try:
            return check_membership(self.file, chunk, bits), []
        except UnsupportedError as error:
            return None, [not_checked(chunk, without_place(error, *places))]
        except (FormatError, TamperedError) as error:
            return None, [chunk_finding("PB116", chunk, without_place(error, *places))]

    def _bounds_of_values(self, chunk: ColumnChunk) -> list[Finding]:
        """What is wrong with bounds that are no values: they may be wider than these."""
        from parquet_bloom.rules.pages_parquet import check_pages

        return [each for each in check_pages(self.file, chunk).findings if each.rule == "PB125"]

    def _missing_rows(self, chunk: ColumnChunk, bits: SplitBlockBloomFilter) -> MissingRows | None:
        """None also where only what tells the rows of values is damaged."""
        try:
            return rows_of_missing(self.file, chunk, lambda run: run.found_in(bits))
        except (EncryptionError, FormatError, UnsupportedError):
            return None

    def _lacking_form(self, chunk: ColumnChunk, membership: ChunkMembership | None) -> str | None:
        if membership is None or membership.missing_form_bits == 0:
            return None
        if chunk.leaf.type.logical_name == "FLOAT16":
            return "PB209"
        if is_stored_unusually(chunk.leaf.type):
            return "PB211"
        return "PB210" if portability.DUCKDB_INTERVALS in self.file.footer.keys else None

    def _diagnosis(
        self, item: ChunkFilter, membership: ChunkMembership | None, seen: ItemView
    ) -> Diagnosis | str | None:
        """What the writer did instead, or what was tried; None if nobody asked. What pages prove of a filter
        that nothing explains goes into `seen`."""
        if membership is None or not self.options.diagnose:
            return None
        from parquet_bloom.diagnosis.agreement import diagnose_noting

        found = diagnose_noting(self.file, item.chunk, item.stored, membership, self._explained)
        may_be_pages = isinstance(found, str) and found.endswith(PAGES_MAY_HAVE_CHANGED)
        if may_be_pages and not self.options.pages:
            self._note_proof(item.chunk, seen)
        return found

    def _note_proof(self, chunk: ColumnChunk, seen: ItemView) -> None:
        """Where all pages have checksums, or are encrypted, or a checksum is wrong, nothing is left for --pages to
        tell."""
        from parquet_bloom.rules.pages_parquet import check_pages

        checked = check_pages(self.file, chunk)
        if checked.proof is not None and checked.is_all:
            seen.proofs[chunk.place, chunk.leaf.name] = checked.proof

    def agreed_diagnoses(self) -> dict[Spot, Diagnosis]:
        if not self._explained:
            return {}
        from parquet_bloom.diagnosis.agreement import agreed

        found = agreed(self.file, self._explained)
        return {(chunk.place, chunk.leaf.name): diagnosis for chunk, diagnosis in found}

    # --------------------------------------------------------------------------------------------
    # Columns, and the file

    def about_writer(self, right: Collection[ChunkKey]) -> list[Finding]:
        return list(portability.check_writer(self.file.created_by, self._chunks(right)))

    def _chunks(self, right: Collection[ChunkKey]) -> Iterator[tuple[ColumnChunk, bool]]:
        footer = self.file.footer
        for each in self._stored:
            yield each.chunk, each.chunk.key in right
        for row_group, column in self._unremarkable:
            yield footer.chunk(row_group, footer.leaves[column]), False

    def columns_called(self, name: str) -> list[LeafColumn]:
        return leaves_called(self.file.footer.leaves, name)

    def reason_for_none(self, column: LeafColumn) -> str | None:
        return reason_for_none(column.type)

    def parts_without(self, column: LeafColumn) -> list[int]:
        of_leaf = self._offsets[column.index :: len(self.file.footer.leaves)]
        return [group for group in self.parts if of_leaf[group] == _kernel.ABSENT]

    @cached_property
    def _offsets(self) -> array[int]:
        return self.file.footer.chunks.every("bloom_filter_offset")

    def has_values(self, part: int, column: LeafColumn) -> bool:
        """As the footer says; if it does not and pages may be read, as these say."""
        chunk = self.file.footer.chunk(part, column)
        if not self.options.deep:
            return chunk.may_have_values
        known = chunk.known_non_null
        return stores_values(self.file, chunk) if known is None else known > 0

    def deserves_filters(self, part: int, column: LeafColumn) -> bool:
        """Writers rightly leave out chunks without values or with nothing but a dictionary."""
        chunk = self.file.footer.chunk(part, column)
        if chunk.is_locked or chunk.meta_start is None:
            return False
        return not is_all_dictionary(self.file.footer, chunk) and self.has_values(part, column)

    def is_hidden(self, part: int, column: LeafColumn) -> bool:
        return self.file.footer.chunk(part, column).is_locked

    def filter_bytes(self) -> int:
        return sum(end - offset for _, offset, end in self._places())

    def closing(self) -> list[Finding]:
        return [
            *structure_parquet.check_checksums(self.file.footer),
            *security.check_shown(self.file.footer, self.columns, self.parts),
        ]


def _examples(chunk: ColumnChunk, membership: ChunkMembership | None) -> tuple[str, ...]:
    """None of an encrypted column: they would end up in logs."""
    if membership is None or chunk.has_crypto_metadata:
        return ()
    return as_examples(format_literal(chunk.leaf.type, plain) for plain in membership.examples)


def _foreign_from(bits: SplitBlockBloomFilter, membership: ChunkMembership | None) -> str | None:
    """What set bits that no stored value sets; None if that is not known."""
    if membership is None:
        return None
    from parquet_bloom.diagnosis.accidents import blocks_filled

    return blocks_filled(bits, membership.foreign_bits)


def _digest(chunk: ColumnChunk, bits: SplitBlockBloomFilter) -> bytes | None:
    if chunk.leaf.type.physical == "BOOLEAN" or bits.bits_set == 0:
        return None
    return digest_of(bits.bitset)


# ------------------------------------------------------------------------------------------------
# Filters that need no view


# What rules look at in the footer, as in _kernel.CHUNK_FIELDS.
_FIELDS = (
    "has_file_path",
    "num_values",
    "null_count",
    "dictionary_page_offset",
    "data_page_offset",
)


def digest_of(bitset: memoryview) -> bytes:
    """16 bytes that only filters with the same bits share."""
    return xxh3_128_digest(bitset)


class _Known(NamedTuple):
    """What has to be kept of a filter: where it is, and a digest of its bits."""

    offset: int
    end: int
    digest: bytes


class UnremarkableFilters:
    """Filters about which no rule has anything to say, as long as values are not looked up: those of one
    file that were found so far, by row group and column.

    A file can have 100,000 small filters. A FilterView of each, for every rule to look at, takes longer
    than all else, so a few numbers tell which of them need none. Whatever is in doubt gets one: a filter
    may be looked at in vain, but is never passed over.
    """

    def __init__(self, footer: Footer, leaves: Sequence[LeafColumn], policy: Policy) -> None:
        self._footer = footer
        self._leaves = leaves
        self._policy = policy
        self._known: dict[ChunkKey, _Known] = {}

    @cached_property
    def _policies(self) -> dict[int, ColumnPolicy]:
        """By the index of the leaf column; of columns whose type is none to warn of."""
        return {
            leaf.index: self._policy.for_column(leaf.name)
            for leaf in self._leaves
            if not any(portability.check_type(self._footer.chunk(0, leaf)))
        }

    def take(self, row_group: int, filters: OrdinaryFilters) -> None:
        """Find those of one more row group."""
        chunks = self._footer.chunks
        fields = list(zip(*(chunks.part(field, row_group) for field in _FIELDS), strict=True))
        for column, found in filters:
            policy = self._policies.get(column)
            if policy is not None and _is_unremarkable(found, fields[column], policy):
                digest = digest_of(filters.bitset(found))
                end = found.offset + found.length
                self._known[row_group, column] = _Known(found.offset, end, digest)

    def __contains__(self, key: ChunkKey) -> bool:
        return key in self._known

    def __iter__(self) -> Iterator[ChunkKey]:
        return iter(self._known)

    def places(self) -> Iterator[tuple[ChunkKey, int, int]]:
        """Where each begins and ends."""
        for key, (offset, end, _) in self._known.items():
            yield key, offset, end

    def twins(self) -> list[Twin]:
        """What of them may be the same elsewhere."""
        names = [leaf.name for leaf in self._footer.leaves]
        places = [Place(row_group) for row_group in range(self._footer.num_row_groups)]
        return [
            Twin(key, places[key[0]], names[key[1]], digest, is_right=False)
            for key, (_, _, digest) in self._known.items()
        ]


def _is_unremarkable(found: OrdinaryFilter, fields: tuple[int, ...], policy: ColumnPolicy) -> bool:
    # A missing field is less than any number.
    is_elsewhere, num_values, num_nulls, dictionary, data = fields
    size = found.num_bytes
    return (
        filter_bits.is_unremarkable(size, found.fpp, policy)
        and portability.is_unremarkable(size)
        # There are values, and bits of them, of which no more than one form of each sets.
        and num_values > 0
        and num_nulls != num_values
        and 0 < found.bits_set <= WORDS_PER_BLOCK * num_values
        # There is no dictionary, or a larger one.
        and (not 0 < dictionary < data or size < data - dictionary)
        and not is_elsewhere
    )
