"""Add Bloom filters to a Parquet file: which column chunks get one, and the new file, in which no
page is rewritten.

    | pages, page indexes: as they were | new filters | FileMetaData with pointers | length | PAR1 |

Spec: parquet-format, BloomFilter.md "File Format"; the order is parquet-java's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING

from parquet_bloom.container import BuildChange, BuiltFilters, LeftChunk, number_of, of_columns
from parquet_bloom.dataclass import dataclass
from parquet_bloom.engines.reading import engine_note, engine_notes, lost_rows
from parquet_bloom.errors import (
    EncryptionError,
    FormatError,
    RewriteError,
    UnsupportedError,
)
from parquet_bloom.filters.sizing import (
    MAX_BYTES,
    NEGLIGIBLE_BYTES,
    MeasuredFilter,
    Size,
    outweighs,
)
from parquet_bloom.options import DEFAULT_FPP, BuildOptions, refuse
from parquet_bloom.parallel import Progress, check_fits
from parquet_bloom.parquet.edit.change import (
    Built,
    FilterChange,
    NewFilters,
    check_rewritable,
)
from parquet_bloom.parquet.edit.ends import first_end
from parquet_bloom.parquet.edit.kept import Kept, check_end, check_last, check_replaced, kept_bytes
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.builder import FilterBuilder, made_or_reason
from parquet_bloom.parquet.filters.insertion import reason_for_none
from parquet_bloom.parquet.filters.membership import check_membership, membership_room
from parquet_bloom.parquet.footer import foreign_fields
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.column_kind import column_kind
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.encodings import check_encoding
from parquet_bloom.parquet.pages.pages import check_readable, located
from parquet_bloom.storage.change import Version
from parquet_bloom.vocabulary import HAS_ONE, NO_VALUES, OLD_ONE_STAYS, UNREAD_STAYS

if TYPE_CHECKING:
    from parquet_bloom.engines.engine import LostRows
    from parquet_bloom.filters.split_block import SplitBlockBloomFilter

OF_KEPT = (
    "the locations of filters that were kept are not exposed: replace the filters to expose them"
)
OF_CTR = "pages in AES-CTR are not authenticated: a value that was altered there is in the filter"


class ParquetBuild(FilterChange, BuildChange):
    """Filters of the current format for the column chunks that `options` select."""

    def __init__(
        self, file: OpenFile, options: BuildOptions, progress: Progress | None = None
    ) -> None:
        refuse(file.path, options, ("orc_streams",), "a Parquet file")
        if options.drop_foreign_fields:
            _drop_foreign_fields(file, options)
        check_rewritable(file)
        self._options = options
        fpp, max_bytes = options.fpp or DEFAULT_FPP, options.max_bytes or MAX_BYTES
        size = Size(fpp, max_bytes, options.ndv, options.exact_blocks)
        self._unproven = {
            chunk.key: chunk for chunk in (file.chunk(*each) for each in sorted(options.unproven))
        }
        plan = plan_of(file, options, self._has_one)
        foreign_fields.check_pointers(file.footer, plan.chunks)
        replaced = self._unproven | {chunk.key: chunk for chunk in plan.chunks if chunk.has_filters}
        check_end(file, replaced)
        check_replaced(file, replaced)
        sizes = {name: replace(size, fpp=fpp) for name, fpp in options.fpp_of}
        self._builder = FilterBuilder(file, size, options.threads, sizes)
        new = NewFilters(
            chunks=plan.chunks,
            built=self.built,
            reason_against=_no_reason if options.force else self._builder.reason_against,
            is_shown=options.expose_filter_location,
            progress=progress,
        )
        # The bytes of a replaced filter may be overwritten: where it stays after all, they are copied.
        if options.keeps_whole_file:
            kept = Kept(file.source.size, ends=options.kept_ends or "one")
        else:
            kept = kept_bytes(file, replaced, options.layout, options.usual_layout)
        self.replaced: set[tuple[int, str]] = set()
        if kept.ends == "none":
            self.replaced = {(part, chunk.leaf.name) for (part, _), chunk in replaced.items()}
        else:
            check_last(file, replaced)
        super().__init__(file, kept, dict.fromkeys(replaced), new)
        self.skipped += plan.skipped
        # Those of `replaced` that may lack values.
        self._lacking: list[tuple[int, str]] = []

    def _has_one(self, chunk: ColumnChunk) -> bool:
        """A filter that readers may ask."""
        return chunk.has_filters and chunk.key not in self._unproven

    @property
    def planned(self) -> Sequence[ColumnChunk]:
        # The bits of an encrypted file's filters must not leave this process.
        return () if self.file.is_encrypted else self._new.chunks

    def built(self, chunks: Sequence[ColumnChunk]) -> Generator[Built]:
        return self._builder.built(chunks)

    def take(self, filters: Generator[Built]) -> None:
        self._new = replace(self._new, built=lambda chunks: filters)

    def compose(self, version: Version) -> None:
        super().compose(version)
        doubts = self.judge(self._lacking) if self.judge and self._lacking else ()
        self.notes = (*doubts, *self._notes())

    def _append(self, chunk: ColumnChunk, filter: SplitBlockBloomFilter, version: Version) -> None:
        key = chunk.place.part, chunk.leaf.name
        if self.judge is not None and key in self.replaced:
            self._judge_later(chunk, self._lacks_some(chunk, filter))
        super()._append(chunk, filter, version)

    def _keep(
        self, chunk: ColumnChunk, filter: SplitBlockBloomFilter | str, version: Version
    ) -> str:
        """It stays if it lets less pass and has all values: then nobody loses rows by it; or if these cannot be read,
        as nobody knows that it is wrong, unless it has to be proven."""
        stored = self._movable(chunk) if chunk.key in self.places else None
        if stored is None or filter == NO_VALUES:
            return ""
        if isinstance(filter, str):
            if chunk.key in self._unproven:
                return ""
            stays = UNREAD_STAYS
        elif self._is_better(stored, filter):
            stays = OLD_ONE_STAYS
        else:
            return ""
        self._stay(stored, version)
        self.replaced.discard((chunk.place.part, chunk.leaf.name))
        return stays

    def _movable(self, chunk: ColumnChunk) -> bloom.StoredFilter | None:
        """The filter that a chunk has, if it can be used. One in plaintext tells what is encrypted, and goes."""
        footer = self.file.footer
        try:
            stored = bloom.read_usable_header(self.file.source, footer, chunk)
        except (FormatError, EncryptionError, UnsupportedError):
            return None
        if stored is None or stored.is_leaked or chunk.foreign_pointer is not None:
            return None
        return stored if stored.end <= footer.start else None

    def _is_better(self, stored: bloom.StoredFilter, new: SplitBlockBloomFilter) -> bool:
        """Whether it lets less pass, and lacks no stored value in any form that readers ask for."""
        file, chunk = self.file, stored.chunk
        try:
            check_fits(f"{stored.where}: filter takes", membership_room(stored.num_bytes))
            filter = bloom.read_bitset(file.source, stored)
            if filter.fpp >= new.fpp:
                self._judge_later(chunk, self._lacks_some(chunk, new))
                return False
            found = check_membership(file, chunk, filter)
        except (FormatError, EncryptionError, UnsupportedError):
            return False
        lacks_some = bool(found.missing or found.missing_form_bits)
        self._judge_later(chunk, lacks_some)
        return not lacks_some

    def _judge_later(self, chunk: ColumnChunk, lacks_some: bool) -> None:
        """Where a filter goes that lacks values, which may be the only trace of pages that have changed."""
        key = chunk.place.part, chunk.leaf.name
        if lacks_some and self.judge is not None and key in self.replaced:
            self._lacking.append(key)

    def _lacks_some(self, chunk: ColumnChunk, filter: SplitBlockBloomFilter) -> bool:
        """Whether values in the new filter may be missing from the old one, if that can be used."""
        source = self.file.source
        try:
            stored = bloom.read_usable_header(source, self.file.footer, chunk)
            return stored is not None and bloom.lacks_some(source, stored, filter)
        except (FormatError, EncryptionError, UnsupportedError):
            return False

    def _notes(self) -> Iterator[str]:
        """Source: docs/encryption.md."""
        if doubt := self.file.footer.row_count_doubt:
            yield f"{doubt}: `probe` will answer `unknown`"
        if self._any_encrypted(self.filters):
            yield from engine_notes("encrypted")
            if self.file.footer.protection.has_untagged_pages:
                yield OF_CTR
        yield from self._lost_rows()
        yield from self._without_lengths()
        yield from self._outweighing()
        yield from self.too_full()
        for chunk, remains in self.remaining():
            yield f"{chunk.where}: {remains}"
        kept = [each for each in self.skipped if each.reason == HAS_ONE]
        if self._options.expose_filter_location and self._any_encrypted(kept):
            yield OF_KEPT

    def _lost_rows(self) -> Iterator[str]:
        """Which engines the new filters make lose rows, for all columns of a kind at once."""
        columns: dict[LostRows, list[str]] = {}
        built = {each.column for each in self.filters}
        for leaf in self.file.footer.leaves:
            for lost in lost_rows(column_kind(leaf)) if leaf.name in built else ():
                columns.setdefault(lost, []).append(leaf.name)
        for lost, names in columns.items():
            yield of_columns(names, str(lost))

    def _without_lengths(self) -> Iterator[str]:
        """The columns whose filters have no bloom_filter_length."""
        footer = self.file.footer
        if found := {
            chunk.leaf.name: foreign_fields.foreign_pointer(footer, chunk)
            for chunk in foreign_fields.chunks_with_foreign_pointer(footer)
            if chunk.key in self.appended
        }:
            problem = next(iter(found.values()))
            yield (
                f"column{'s' if len(found) > 1 else ''} {', '.join(found)}: {problem}, which stays:"
                f" without the length, {engine_note('without length')}; {foreign_fields.REMEDY}"
            )

    def _outweighing(self) -> Iterator[str]:
        """The columns with filters that are larger than the chunks that they could save readers from
        reading; in files of many small ones, hardly any has to be decoded."""
        columns: Counter[str] = Counter()
        for key, each in zip(self.appended, self.filters, strict=True):
            if each.num_bytes > NEGLIGIBLE_BYTES:
                chunk = self.file.chunk_at(key)
                columns[each.column] += outweighs(each.num_bytes, chunk.stored_bytes)
        for name, count in columns.items():
            if count:
                yield (
                    f"column {name}: {number_of(count, 'filter')}"
                    f" {'is' if count == 1 else 'are'} larger than the data that readers could skip"
                    " (PB306)"
                )

    def _any_encrypted(self, found: Iterable[BuiltFilters | LeftChunk]) -> bool:
        return self.file.is_encrypted and any(
            self.file.chunk(each.place.part, each.column).has_crypto_metadata for each in found
        )


def _drop_foreign_fields(file: OpenFile, options: BuildOptions) -> None:
    """From here on, the file is as if its footer had none. Raises UnsupportedError where it has some, and
    its old end stays, at which it would still have them."""
    dropped = foreign_fields.without_foreign_fields(file.footer)
    layout = options.layout or options.usual_layout
    if dropped is file.footer:
        return
    if options.keeps_whole_file or layout == "append":
        raise UnsupportedError(
            f"{file.path}: footer: fields of another writer can only be dropped with the layout"
            " replace: cut at its old size, the file would have them again"
        )
    if first_end(file) is not file:
        raise UnsupportedError(
            f"{file.path}: footer: fields of another writer cannot be dropped from a file that was"
            " appended to: cut at its old size, it would have them again: strip it first"
        )
    file.footer = dropped


def _no_reason(chunk: ColumnChunk, filter: MeasuredFilter) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class BuildPlan:
    """The chunks that get a filter, in file order, and those that do not."""

    chunks: list[ColumnChunk] = field(default_factory=list)
    skipped: list[LeftChunk] = field(default_factory=list)


def plan_of(
    file: OpenFile, options: BuildOptions, has_one: Callable[[ColumnChunk], bool]
) -> BuildPlan:
    """What to build, where `has_one` tells whether a chunk already has a filter of the dialect.
    Raises ColumnError, UnsupportedError, RewriteError, and MissingKeyError if there is no key for
    one of the columns: as they are asked for, each is needed."""
    plan = BuildPlan()
    for chunk in file.selected(options):
        reason = _reason_to_skip(file, chunk, options, has_one)
        if not reason and (
            unread := made_or_reason(file.footer, chunk, partial(_check, file.footer, has_one))
        ):
            reason = f"{unread}; {UNREAD_STAYS}" if has_one(chunk) else unread
        if reason:
            plan.skipped.append(LeftChunk(chunk.place, chunk.leaf.name, reason))
            continue
        plan.chunks.append(chunk)
    return plan


def _check(footer: Footer, has_one: Callable[[ColumnChunk], bool], chunk: ColumnChunk) -> None:
    check_readable(footer, chunk)
    if has_one(chunk):
        # It would be gone before its pages are read.
        for encoding in footer.column_meta_data(chunk).encodings or ():
            check_encoding(encoding)
    chunk.modules.check_writable()


def _reason_to_skip(
    file: OpenFile,
    chunk: ColumnChunk,
    options: BuildOptions,
    has_one: Callable[[ColumnChunk], bool],
) -> str | None:
    """Why a chunk gets no filter. Raises RewriteError if it has one, which is to be an error, MissingKeyError."""
    if reason := reason_for_none(chunk.leaf.type):
        return reason
    with located(file.footer, chunk):
        chunk.modules.check_readable()
    if options.existing == "replace" or not has_one(chunk):
        return None
    if options.existing == "error":
        raise RewriteError(f"{file.path}: {chunk.where}: {HAS_ONE}")
    return HAS_ONE
