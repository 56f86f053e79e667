"""Add Bloom filters to a Parquet file; no page is rewritten.

    | pages, page indexes: as they were | new filters | FileMetaData with pointers | length | PAR1 |

Spec: parquet-format, BloomFilter.md "File Format"; the order is parquet-java's.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import replace

from parquet_bloom.container import BuildChange
from parquet_bloom.filters.sizing import MAX_BYTES, Size
from parquet_bloom.options import DEFAULT_FPP, BuildOptions, refuse
from parquet_bloom.parallel import Progress
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.filter_builder import FilterBuilder
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.plan import plan_of
from parquet_bloom.parquet.writer import (
    Built,
    FilterChange,
    NewFilters,
    check_end,
    check_rewritable,
    kept_end,
)
from parquet_bloom.storage.new_version import Version
from parquet_bloom.vocabulary import HAS_ONE

OF_DUCKDB = "DuckDB, up to 2.0, does not read encrypted columns that have a filter"
OF_KEPT = "filters that are there already are not shown: to expose where they lie, replace them"
OF_CTR = "pages in AES-CTR have no tag: whoever changed a value there has changed the filter"


class ParquetBuild(FilterChange, BuildChange):
    """Filters of today for the column chunks that `options` name."""

    def __init__(
        self, file: ParquetFile, options: BuildOptions, progress: Progress | None = None
    ) -> None:
        refuse(file.path, options, ("orc_streams",), "a Parquet file")
        check_rewritable(file)
        file.footer.check_row_counts()
        self._options = options
        size = size_of(options)
        plan = plan_of(file, options, lambda chunk: chunk.has_filters)
        replaced = plan.replaced
        check_end(file, replaced)
        self._builder = FilterBuilder(file, size, options.threads)
        new = NewFilters(
            chunks=plan.chunks,
            built=self.built,
            reason_against=(lambda filter: "") if options.force else size.reason_against,
            is_shown=options.expose_filter_location,
            progress=progress,
        )
        # A filter that is to be replaced goes in any case: its bytes may be overwritten.
        places = dict.fromkeys(replaced)
        super().__init__(file, kept_end(file, replaced), places, new)
        self.skipped += plan.skipped

    @property
    def planned(self) -> Sequence[ColumnChunk]:
        # No bits of an encrypted file are to go anywhere else.
        return () if self.file.is_encrypted else self._new.chunks

    def built(self, chunks: Sequence[ColumnChunk]) -> Generator[Built]:
        return self._builder.built(chunks)

    def take(self, filters: Generator[Built]) -> None:
        self._new = replace(self._new, built=lambda chunks: filters)

    def compose(self, version: Version) -> None:
        super().compose(version)
        self.notes = (*self._of_encrypted(), *self._remains(), *self._not_shown())

    def _of_encrypted(self) -> Iterator[str]:
        """What readers make of filters of encrypted columns. Source: docs/encryption.md."""
        if not self._any_encrypted((each.place.part, each.column) for each in self.filters):
            return
        yield OF_DUCKDB
        if self.file.footer.protection.has_untagged_pages:
            yield OF_CTR

    def _remains(self) -> Iterator[str]:
        """What is still in plaintext of filters that were replaced."""
        for leak in self.leaks:
            if leak.remains:
                yield f"{leak.chunk.where}: {leak.remains}"

    def _not_shown(self) -> Iterator[str]:
        """What was asked to be shown, and is of filters that stay as they are."""
        kept = (each for each in self.skipped if each.reason == HAS_ONE)
        if self._options.expose_filter_location and self._any_encrypted(
            (each.place.part, each.column) for each in kept
        ):
            yield OF_KEPT

    def _any_encrypted(self, chunks: Iterable[tuple[int, str]]) -> bool:
        # Most files have nothing that is encrypted, and need not be asked chunk by chunk.
        return any(self.file.footer.chunks.every("has_crypto_metadata")) and any(
            self.file.chunk(*each).has_crypto_metadata for each in chunks
        )


def size_of(options: BuildOptions) -> Size:
    """The size of split block filters that is asked for."""
    return Size(
        fpp=DEFAULT_FPP if options.fpp is None else options.fpp,
        max_bytes=MAX_BYTES if options.max_bytes is None else options.max_bytes,
        ndv=options.ndv,
        exact_blocks=options.exact_blocks,
    )
