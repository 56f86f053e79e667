"""The files that were asked for an answer, each in the state in which it was."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from typing import Literal, TypeAlias, overload

from parquet_bloom.container import number_of
from parquet_bloom.dataclass import dataclass
from parquet_bloom.storage.folder import Found

AnsweredBy: TypeAlias = Literal["index", "filters", "values"]


@dataclass(frozen=True, slots=True)
class AskedFile:
    """A file of `size` bytes. `version`: what tells its state, as `index` keeps it: the ETag of an object, or size, time of
    change (ns) and inode of a local file; None if nobody had to ask the store. `answered_by`: what ruled all values out in
    it, or its values where they had to be read."""

    path: str
    size: int
    version: str | None
    answered_by: AnsweredBy


class AskedFiles(Sequence[AskedFile]):
    """In the order of their paths; put together when they are looked at, as they can be many."""

    def __init__(
        self, listed: Mapping[str, Found], read: Mapping[str, AskedFile], unknown: Collection[str]
    ) -> None:
        """`listed`: as a listing or a table has them; `read`: as they were when they were opened; `unknown`: those that
        could not be asked."""
        self._listed, self._read, self._unknown = listed, read, unknown

    @cached_property
    def _files(self) -> tuple[AskedFile, ...]:
        unknown = {*self._unknown}
        listed = {
            path: AskedFile(path, file.size, file.version or None, "index")
            for path, file in self._listed.items()
        }
        found = {**listed, **self._read}
        return tuple(found[path] for path in sorted(found) if path not in unknown)

    def __len__(self) -> int:
        return len(self._files)

    @overload
    def __getitem__(self, index: int) -> AskedFile: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[AskedFile, ...]: ...
    def __getitem__(self, index: int | slice) -> AskedFile | tuple[AskedFile, ...]:
        return self._files[index]

    def __repr__(self) -> str:
        return f"<AskedFiles: {number_of(len(self), 'file')}>"
