"""By which bytes an ORC file is known, without what reads one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source

MAGIC: Final = b"ORC"


def is_orc(source: Source) -> bool:
    """Whether the file starts or ends with ORC's magic."""
    if source.size <= len(MAGIC):
        return False
    if not source.is_remote and source.read_at(0, len(MAGIC)) == MAGIC:
        return True
    end = source.read_at(source.size - len(MAGIC) - 1, len(MAGIC) + 1)
    if end[:-1] == MAGIC and end[-1] > len(MAGIC):
        return True
    return source.is_remote and source.read_at(0, len(MAGIC)) == MAGIC
