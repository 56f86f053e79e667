"""The files that were asked for an answer, each in the state in which it was."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Literal, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.storage.folder import Found
from parquet_bloom.verbs.lazy_items import LazyItems

AnsweredBy: TypeAlias = Literal["index", "schema", "statistics", "filters", "values"]


@dataclass(frozen=True, slots=True)
class AskedFile:
    """A file of `size` bytes. `version`: what tells its state, as `index` keeps it: the ETag of an object, or size,
    time of change (ns) and inode of a local file; None if nobody had to ask the store. `answered_by`: what ruled all
    values out in it (`schema`: of its table, which has null there; `statistics`: these or its type alone, or there
    are no rows; `filters`: its own, in what statistics had left), or its values where they had to be read."""

    path: str
    size: int
    version: str | None
    answered_by: AnsweredBy


class AskedFiles(LazyItems[AskedFile]):
    """In the order of their paths."""

    noun = "file"

    def __init__(
        self, listed: Mapping[str, Found], read: Mapping[str, AskedFile], unknown: Collection[str]
    ) -> None:
        """`listed`: as a listing or a table has them; `read`: as they were when they were opened; `unknown`: those
        that could not be asked."""
        self._listed, self._read, self._unknown = listed, read, unknown

    @cached_property
    def _items(self) -> tuple[AskedFile, ...]:
        unknown = {*self._unknown}
        listed = {
            path: AskedFile(path, file.size, file.version or None, "index")
            for path, file in self._listed.items()
        }
        found = {**listed, **self._read}
        return tuple(found[path] for path in sorted(found) if path not in unknown)
