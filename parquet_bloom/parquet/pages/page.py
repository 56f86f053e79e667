"""Where a page is, and what its header says."""

from __future__ import annotations

from dataclasses import dataclass

from parquet_bloom.parquet.thrift.ttypes import PageHeader


@dataclass(frozen=True, slots=True)
class Page:
    """A page whose body takes `size` bytes from `start`. `ordinal` counts the data pages of the
    chunk from 0; of another page it is the next data page's."""

    header: PageHeader
    start: int
    size: int
    ordinal: int
