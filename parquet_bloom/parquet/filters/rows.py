"""The rows of a column chunk that hold one of several values: the last question, behind filters and indexes.

Rows whose hash is that of a value are looked at byte by byte. A value can be stored as other bytes than usual; where
a type allows for that, each row is compared in every form that build would insert.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.errors import UnsupportedError
from parquet_bloom.parquet.filters.asked import Asked
from parquet_bloom.parquet.filters.insertion import is_stored_unusually, with_specials
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.parquet.pages.pages import ChunkRun, PageRows, check_readable, located, page_rows
from parquet_bloom.parquet.pages.runs import Run, run_of
from parquet_bloom.values.types import LeafType


class RowFinder:
    """Looks for values of one leaf column. Raises UnsupportedError for a value whose stored bytes nobody can list."""

    def __init__(self, leaf: LeafType, asked: Asked) -> None:
        for value, reason in asked.unknown.items():
            raise UnsupportedError(f"{asked.texts[value]}: cannot be looked for: {reason}")
        self._leaf = leaf
        self._values: dict[bytes, set[int]] = {}
        for value, encodings in enumerate(asked.encodings):
            for plain in encodings.plain:
                self._values.setdefault(plain, set()).add(value)
        stored = run_of(list(self._values), leaf.width).hashes() if self._values else ()
        self._hashes = np.sort(np.array(stored, np.uint64))
        # By the object, as a dictionary is one for all pages of a chunk.
        self._known: tuple[Run | None, NDArray[np.intp], list[set[int]]] = (
            None,
            np.empty(0, np.intp),
            [],
        )

    def rows(self, file: OpenFile, chunk: ColumnChunk) -> Iterator[tuple[int, int]]:
        """Each position of a value with the number of a row in the row group that holds it, row by row. Raises
        PageError for damage, UnsupportedError, EncryptionError, OSError."""
        with located(file.footer, chunk):
            check_readable(file.footer, chunk)
            for part in page_rows(file.source, file.footer, chunk):
                yield from self._rows_in(part)

    def _rows_in(self, part: PageRows) -> Iterator[tuple[int, int]]:
        positions, values = self._found_in(part.run, part.indices is not None)
        if not positions.size:
            return
        if part.indices is None:
            for at, found in zip(positions.tolist(), values, strict=True):
                for value in sorted(found):
                    yield value, int(part.rows[at])
            return
        entries = dict(zip(positions.tolist(), values, strict=True))
        for at in np.flatnonzero(np.isin(part.indices, positions)).tolist():
            for value in sorted(entries[int(part.indices[at])]):
                yield value, int(part.rows[at])

    def _found_in(self, run: Run, is_dictionary: bool) -> tuple[NDArray[np.intp], list[set[int]]]:
        """The positions in a run that hold values, and which."""
        if self._known[0] is run:
            return self._known[1:]
        if is_stored_unusually(self._leaf):
            positions = np.arange(len(run))
        else:
            positions = np.flatnonzero(np.isin(run.hashes(), self._hashes))
        found = [self._values_of(plain) for plain in run.take(positions.tolist())]
        keep = [at for at, values in enumerate(found) if values]
        answer = positions[keep], [found[at] for at in keep]
        if is_dictionary:
            self._known = (run, *answer)
        return answer

    def _values_of(self, plain: bytes) -> set[int]:
        found = set(self._values.get(plain, ()))
        if is_stored_unusually(self._leaf):
            for run in with_specials(
                [ChunkRun(None, run_of([plain], self._leaf.width))], self._leaf
            ):
                for form in run.values():
                    found |= self._values.get(form, set())
        return found


# Row groups are asked for the same values in turn.
_latest: tuple[LeafType, Asked, RowFinder] | None = None


def finder_of(leaf: LeafType, asked: Asked) -> RowFinder:
    """What looks for these values, which is kept for the next row group."""
    global _latest
    latest = _latest
    if latest is not None and latest[0] is leaf and latest[1] is asked:
        return latest[2]
    finder = RowFinder(leaf, asked)
    _latest = leaf, asked, finder
    return finder
