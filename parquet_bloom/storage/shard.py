"""One of several shards of the same files: those that one process of many works on.

The shard of a file is XXH64, with seed 0, of its path in UTF-8, modulo the number of shards. Nothing but the
path decides. So no process has to know or to sort all files; a file that comes or goes moves no other, and
even processes that list a growing folder one after the other take no file twice and leave none out. Cuts of
a sorted list would keep the files of a folder together, but each new file would move those behind it across
the cuts.
"""

from __future__ import annotations

from parquet_bloom.dataclass import dataclass
from parquet_bloom.native import _kernel


@dataclass(frozen=True, slots=True)
class Shard:
    """`index`: which one, from 0; `count`: of how many."""

    index: int
    count: int

    def takes(self, path: str) -> bool:
        """Whether the file of that path, spelled as in reports, is in this shard."""
        hashed = _kernel.xxh64(path.encode("utf-8", "surrogatepass"))
        return hashed % self.count == self.index

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"
