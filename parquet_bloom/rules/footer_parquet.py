"""PB128 and PB129: whether a footer is as the format defines it, or readers refuse the file.

Of each struct that can be named, the first thing that is wrong is said, and of chunks nothing if the schema is wrong:
what follows from it helps nobody.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import product
from typing import Final

from parquet_bloom.container import Place
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.misfits import Misfit, Misfits
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec
from parquet_bloom.rules.finding import Finding, finding

# Without these, no reader knows what to do with a chunk.
_NEEDED: Final = (
    "meta_start",
    "type",
    "num_values",
    "total_uncompressed_size",
    "total_compressed_size",
    "data_page_offset",
)


def check_fields(
    footer: Footer, leaves: Sequence[LeafColumn], row_groups: Sequence[int], every_chunk: bool
) -> Iterator[Finding]:
    """Of the footer, and of the chunks of `leaves` in these row groups: with `every_chunk` of all, and of the row
    groups themselves; otherwise of those in which the scan has missed something that readers need."""
    misfits = Misfits(footer)
    of_head = misfits.of_head()
    if any(each.is_vital for each in of_head):
        yield from _findings(of_head)
        return
    yield from _findings([*of_head, *misfits.of_metadata()])
    for leaf in leaves:
        yield from _findings(misfits.of_column(leaf), column=leaf.name)
    for row_group in row_groups if every_chunk else ():
        yield from _findings(misfits.of_row_group(row_group), Place(row_group))
    for chunk in _chunks(footer, leaves, row_groups, every_chunk):
        yield from _findings(misfits.of_chunk(chunk), chunk.place, chunk.leaf.name)


def _chunks(
    footer: Footer, leaves: Sequence[LeafColumn], row_groups: Sequence[int], every_chunk: bool
) -> Iterator[ColumnChunk]:
    incomplete = set() if every_chunk else _incomplete(footer)
    if every_chunk or incomplete:
        for row_group, leaf in product(row_groups, leaves):
            if every_chunk or (row_group, leaf.index) in incomplete:
                yield footer.chunk(row_group, leaf)


def _incomplete(footer: Footer) -> Collection[tuple[int, int]]:
    """The row groups and columns of the chunks in which the scan has missed something, or found no codec."""
    found: set[int] = set()
    for name in _NEEDED:
        found.update(footer.chunks.lacking(name))
    codecs = footer.chunks.every("codec")
    if unknown := set(codecs) - CompressionCodec._VALUES_TO_NAMES.keys():
        found.update(at for at, codec in enumerate(codecs) if codec in unknown)
    return {divmod(at, len(footer.leaves)) for at in found}


def _findings(
    misfits: Sequence[Misfit], place: Place | None = None, column: str | None = None
) -> Iterator[Finding]:
    for rule, is_vital in (("PB128", True), ("PB129", False)):
        first = next((each for each in misfits if each.is_vital == is_vital), None)
        if first is not None:
            yield finding(
                rule,
                f"{first.path} {first.problem}",
                place=place,
                column=column,
                expected=first.expected,
                found=first.found,
            )
