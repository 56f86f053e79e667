"""Add filters of an older dialect to a file; readers of today pass over them unless told otherwise.

Spec: parquet-format before 2.7.0, BloomFilter.md; pull request 28, Statistics.md.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from parquet_bloom.errors import FilterError, UnsupportedError
from parquet_bloom.filters.sizing import Size
from parquet_bloom.legacy.murmur3.build import OldSize, built
from parquet_bloom.legacy.murmur3.dialect import Murmur3
from parquet_bloom.legacy.murmur3.footer import Change, check_version, new_footer
from parquet_bloom.legacy.murmur3.places import Added, append_all, in_order_of_pages, insert_all
from parquet_bloom.legacy.murmur3.pointers import every_note
from parquet_bloom.legacy.new_version import Version, unchecked, write_version
from parquet_bloom.legacy.statistics.build import check_unencrypted, statistics_edits
from parquet_bloom.legacy.statistics.dialect import StatisticsFilter
from parquet_bloom.legacy.statistics.edits import write_edits
from parquet_bloom.legacy.statistics.stored import read_stored
from parquet_bloom.parallel import of_all
from parquet_bloom.parquet.build import reason_for_none
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.filter_builder import BuiltFilter, SkippedChunk
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.writer import check_end, kept_end
from parquet_bloom.storage.new_version import Target
from parquet_bloom.verbs.build_plan import BuildOptions, plan_without, reason_to_keep


@dataclass(frozen=True, slots=True)
class BuiltOlder:
    """What came of it: the size of the file, filters, chunks that got none, and what to know."""

    size: int
    filters: list[BuiltFilter]
    skipped: list[SkippedChunk]
    notes: tuple[str, ...] = ()


def build_older(
    file: ParquetFile,
    target: Target | None,
    dialect: Murmur3 | StatisticsFilter,
    options: BuildOptions,
    threads: int | None,
) -> BuiltOlder:
    """As build, with filters of `dialect`; the size of `options` is for those that say nothing of it
    themselves.

    Raises TypeError for a dialect that is none, UnsupportedError for encrypted files, for those in
    which nothing can be put before pages, and for a size that has no meaning.
    """
    if not isinstance(dialect, Murmur3 | StatisticsFilter):
        raise TypeError(f"dialect: {dialect!r}, expected a Murmur3 or a StatisticsFilter")
    size = options.size
    if isinstance(dialect, StatisticsFilter):
        _check_unsized(file, dialect, size)
    check_unencrypted(file)
    file.footer.check_row_counts()
    builder: _Builder = (
        _Murmur3Builder(file, dialect, OldSize(size.fpp, size.ndv, size.max_bytes), threads)
        if isinstance(dialect, Murmur3)
        else _StatisticsBuilder(file, dialect, threads)
    )

    def reason_to_skip(chunk: ColumnChunk) -> str | None:
        return reason_for_none(chunk.leaf.type) or reason_to_keep(
            file, chunk, builder.has_one(chunk), options.existing
        )

    plan = plan_without(file, options.columns, options.row_groups, reason_to_skip)
    if options.in_place and not plan.chunks:
        return BuiltOlder(file.source.size, [], plan.skipped)
    progress = of_all(options.progress, plan.chunks)
    written = builder.write(plan.chunks, target, options.verify, progress)
    return BuiltOlder(
        size=written.size,
        filters=sorted(written.filters, key=lambda built: built.row_group),
        skipped=sorted([*plan.skipped, *written.skipped], key=lambda skip: skip.row_group),
        notes=dialect.notes if written.filters else (),
    )


def _check_unsized(file: ParquetFile, dialect: StatisticsFilter, size: Size) -> None:
    """Raise UnsupportedError if something but the dialect says how large filters are."""
    usual = Size()
    given = {
        "fpp": size.fpp not in (usual.fpp, dialect.fpp),
        "ndv": size.ndv != usual.ndv,
        "max_bytes": size.max_bytes != usual.max_bytes,
    }
    for name, is_given in given.items():
        if is_given:
            raise UnsupportedError(
                f"{file.path}: {name}: a StatisticsFilter says itself how large filters are"
            )


class _Builder(Protocol):
    def has_one(self, chunk: ColumnChunk) -> bool:
        """Whether the chunk has a filter of the dialect, or another one in its place."""

    def write(
        self,
        chunks: Sequence[ColumnChunk],
        target: Target | None,
        verify: bool,
        progress: Callable[[int], None],
    ) -> BuiltOlder: ...


class _Murmur3Builder:
    def __init__(
        self, file: ParquetFile, dialect: Murmur3, size: OldSize, threads: int | None
    ) -> None:
        self._file = file
        self._dialect = dialect
        self._size = size
        self._threads = threads
        self._notes = {chunk.key: note for chunk, note in every_note(file.footer)}

    def has_one(self, chunk: ColumnChunk) -> bool:
        is_taken = self._dialect.publish_offset and chunk.bloom_filter_offset is not None
        return is_taken or chunk.key in self._notes

    def write(
        self,
        chunks: Sequence[ColumnChunk],
        target: Target | None,
        verify: bool,
        progress: Callable[[int], None],
    ) -> BuiltOlder:
        file, dialect = self._file, self._dialect
        if dialect.placement == "chunk":
            chunks = in_order_of_pages(file, chunks)
        prefix = self._prefix(chunks)
        filters = built(file, chunks, dialect, self._size, self._threads)
        replaced = {
            chunk.key: self._notes[chunk.key] for chunk in chunks if chunk.key in self._notes
        }
        changes = []

        def compose(out: Version) -> None:
            if dialect.placement == "chunk":
                added = insert_all(file, out, filters, dialect, progress)
            else:
                added = append_all(out, filters, dialect, progress)
            changes.append(Change(file, dialect, added, replaced))
            footer = new_footer(changes[0], out.size)
            out.append(footer.protection.tail(footer.raw))

        def check(new: ParquetFile) -> None:
            check_version(changes[0], new)

        size = write_version(file, target, prefix, compose, check if verify else unchecked)
        added: Added = changes[0].added
        return BuiltOlder(size, added.filters, added.skipped)

    def _prefix(self, chunks: Sequence[ColumnChunk]) -> int:
        """How much of the file stays at its beginning."""
        file = self._file
        keys = {chunk.key for chunk in chunks}
        gone = [note for key, note in self._notes.items() if key in keys]
        kept = [note for key, note in self._notes.items() if key not in keys]
        offsets = {note.offset for note in gone}
        pointing = {
            chunk.key: chunk
            for chunk in chunks
            if self._dialect.publish_offset or chunk.bloom_filter_offset in offsets
        }
        check_end(file, pointing)
        if self._dialect.placement == "chunk":
            return (chunks[0].pages_start or 0) if chunks else file.footer.start
        return kept_end(
            file,
            {key: chunk for key, chunk in pointing.items() if chunk.bloom_filter_offset},
            [(note.offset, note.offset + note.length) for note in gone],
            max((note.offset + note.length for note in kept), default=0),
        )


class _StatisticsBuilder:
    def __init__(self, file: ParquetFile, dialect: StatisticsFilter, threads: int | None) -> None:
        self._file = file
        self._dialect = dialect
        self._threads = threads

    def has_one(self, chunk: ColumnChunk) -> bool:
        try:
            return read_stored(self._file.footer, chunk) is not None
        except FilterError:
            return True

    def write(
        self,
        chunks: Sequence[ColumnChunk],
        target: Target | None,
        verify: bool,
        progress: Callable[[int], None],
    ) -> BuiltOlder:
        file = self._file
        done = statistics_edits(file, chunks, self._dialect, self._threads, progress)
        size = write_edits(file, target, done.edits, verify)
        return BuiltOlder(size, done.filters, done.skipped)
