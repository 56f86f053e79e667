"""Whether a file has gained bytes: writers put the tail directly behind the last stripe. Readers look for stripes
from the start of the file on, and so in those of another file if that stands in front.

    | ORC | stripes | tail of another file | ORC | stripes | tail |
            ^ where the tail's are read    ^ where they begin

Spec: apache/orc-format, specification/ORCv1.md "File Tail".
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from parquet_bloom.container import number_of
from parquet_bloom.container.whole_file import behind_another
from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.orc.magic import MAGIC
from parquet_bloom.orc.tail import Tail, read_tail
from parquet_bloom.storage.source import Cut

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source


def gained_bytes(source: Source, tail: Tail) -> str:
    """How that shows, and what to do; empty for a file that has gained none. Raises FooterError for stripes that do
    not fit into the file, UnsupportedError."""
    end = tail.stripes[-1].end if tail.stripes else len(MAGIC)
    # All that is in front of the tail's own stripes, if nothing was put between them.
    gained = tail.statistics_start - end
    if not gained:
        return ""
    if source.read_at(gained, len(MAGIC)) == MAGIC:
        with suppress(FormatError, UnsupportedError):
            read_tail(Cut(source, gained))
            return behind_another(source, gained)
    return (
        f"footer: {number_of(gained, 'byte')} between the stripes and the tail: the file has lost bytes, or gained"
        " some: take another copy of it"
    )
