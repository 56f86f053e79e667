"""What is made of wrong checksums of a file's pages.

HAWQ and Parquet.jl write 0 for all of them: they compute none.

Spec: parquet-format, README.md "Checksumming".
"""

from __future__ import annotations

from typing import Final

from parquet_bloom.parquet.footer.chunk_table import ChunkKey

NONE_COMPUTED: Final = "the checksums of its pages are all 0, which is taken as having none"
IGNORED: Final = "wrong checksums of its pages were ignored"


class PageChecksums:
    """Whether wrong ones are ignored, and of which chunks they were. The threads that read a file share
    one."""

    def __init__(self) -> None:
        self.are_ignored = False
        self._unchecked: dict[ChunkKey, str] = {}

    def leave_unchecked(self, chunk: ChunkKey, reason: str) -> None:
        """Note that pages of a chunk were read although their checksums are wrong."""
        self._unchecked[chunk] = reason

    def are_computed(self, chunk: ChunkKey) -> bool:
        """Whether those of a chunk are taken as checksums."""
        return self._unchecked.get(chunk) != NONE_COMPUTED

    def were_ignored(self, chunk: ChunkKey) -> bool:
        """Whether wrong ones of a chunk were."""
        return self._unchecked.get(chunk) == IGNORED

    def unchecked(self) -> list[tuple[int, str]]:
        """The index of each leaf column of which such pages were read, and why."""
        return sorted({(column, reason) for (_, column), reason in self._unchecked.items()})
