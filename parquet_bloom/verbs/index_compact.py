"""Merge what an index consists of, and remove what it does not need any more."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from parquet_bloom.arguments import flag_given, seconds_given
from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.index.manifest import Manifest, commit, existing
from parquet_bloom.index.unnamed import remove_unneeded, unneeded
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.verbs.documents import VerbReport

if TYPE_CHECKING:
    from parquet_bloom.index.manifest import Segment
    from parquet_bloom.parallel import Progress
    from parquet_bloom.storage.folder import WritableFolder


@dataclass(frozen=True, slots=True, repr=False)
class IndexCompaction(VerbReport):
    """What compact_index did. `segments`: how many there are now; `merged`: how many became others, `merged_into` so
    many, of `keys` pairs of value and place, `filters` and `bytes_written`; `outpaced`: how many merges came to
    nothing, because somebody else had merged the same. `removed`: files that nothing needed, of `bytes_removed`;
    `unneeded`: others, of `bytes_unneeded`, which a later run will remove."""

    index: str
    generation: int
    segments: int
    merged: int
    merged_into: int
    outpaced: int
    keys: int
    filters: int
    bytes_written: int
    removed: int
    bytes_removed: int
    unneeded: int
    bytes_unneeded: int

    def __repr__(self) -> str:
        counts = f"{self.merged} merged, {number_of(self.segments, 'segment')} now"
        return f"<IndexCompaction {self.index}: {counts}>"


def compact_index(
    index: str | os.PathLike[str],
    *,
    everything: bool = False,
    older_than: float = 3600.0,
    storage_options: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> IndexCompaction:
    """Merge segments of an index, as Index.compact."""
    flag_given("everything", everything)
    seconds_given("older_than", older_than)
    folder = open_folder(with_options(os.fspath(index), storage_options))
    work = _Compaction(folder)
    work.merge(existing(folder), everything, progress)
    removed = remove_unneeded(folder, time.time() - older_than)
    left = unneeded(folder)
    now = existing(folder)
    return IndexCompaction(
        index=folder.path,
        generation=now.generation,
        segments=len(now.segments),
        merged=work.merged,
        merged_into=len(work.made),
        outpaced=work.outpaced,
        keys=sum(segment.num_keys for segment in work.made),
        filters=sum(segment.num_filters for segment in work.made),
        bytes_written=sum(segment.num_bytes for segment in work.made),
        removed=len(removed),
        bytes_removed=sum(entry.size for entry in removed),
        unneeded=len(left),
        bytes_unneeded=sum(entry.size for entry in left),
    )


class _Compaction:
    def __init__(self, folder: WritableFolder) -> None:
        self._folder = folder
        self.made: list[Segment] = []
        self.merged = self.outpaced = 0

    def merge(self, index: Manifest, everything: bool, progress: Progress | None) -> None:
        if len(index.segments) == 0:
            return
        from parquet_bloom.index.collecting import KeyRoom
        from parquet_bloom.index.compaction import merge, merges

        groups = merges(index, everything)
        for done, inputs in enumerate(groups):
            if progress:
                progress(done, len(groups))
            merged = merge(self._folder, inputs, KeyRoom.within_budget().most)
            # If it fails, nobody knows whether it is committed: what was written stays.
            made = commit(self._folder, merged.instead_of_inputs)
            if made is not None:
                self.merged += len(inputs)
                self.made += [] if merged.made is None else [merged.made]
                continue
            self.outpaced += 1
            for name in () if merged.made is None else merged.made.files:
                self._folder.remove(name)
        if progress:
            progress(len(groups), len(groups))
