"""The location and header of a page."""

from __future__ import annotations

from dataclasses import dataclass

from parquet_bloom.parquet.thrift.ttypes import PageHeader


@dataclass(frozen=True, slots=True)
class Page:
    """A page whose body takes `size` bytes from `start`. `ordinal` counts the data pages of the
    chunk from 0; another page has that of the next data page."""

    header: PageHeader
    start: int
    size: int
    ordinal: int
