"""PB62x: whether readers look into the filters at all."""

from __future__ import annotations

from collections.abc import Iterator

from parquet_bloom.orc import writers
from parquet_bloom.rules.catalogue import Finding
from parquet_bloom.rules.orc.view import IndexView

# How writers.ignored begins, and the rule for it.
_IGNORED_BY = {
    "ignored by ORC Java and C++": "PB621",
    "ignored by ORC Java": "PB622",
    "ignored by ORC C++": "PB623",
}


def check_readers(view: IndexView, has_statistics: bool) -> Iterator[Finding]:
    """Why readers make no use of the filters. Where there are two streams, the other one is for
    readers of before ORC 1.3. `has_statistics`: the row index has some for each index group."""
    if not view.is_asked:
        return
    lines = writers.ignored(
        view.file.generation,
        view.column,
        view.stream.kind,
        view.bloom_encoding,
        has_statistics=has_statistics,
    )
    for line in lines:
        readers, _, reason = line.partition(": ")
        yield view.finding(_IGNORED_BY[readers], reason, found=view.file.generation.created_by)


def check_evenness(view: IndexView) -> Iterator[Finding]:
    """Filters of one size are what orc-tools can put together."""
    sizes = {(each.num_bits, each.num_hashes) for each in view.filters if each is not None}
    if len(sizes) > 1:
        shown = ", ".join(f"{bits} bits and {hashes} hashes" for bits, hashes in sorted(sizes))
        yield view.finding(
            "PB625", "the filters are not of one size: orc-tools fails on the file when it puts"
            " them together", expected="one size", found=shown,
        )  # fmt: skip
