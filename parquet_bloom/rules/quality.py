"""PB3xx: whether a filter is worth its bytes, and meets what was asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from parquet_bloom.filters.sizing import BLOCK_BYTES, MIN_BYTES
from parquet_bloom.native import _kernel
from parquet_bloom.parquet import bloom
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.parquet.thrift.ttypes import Encoding, PageType
from parquet_bloom.rules.catalogue import Finding, finding
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.view import FilterView, chunk_finding

HIGH_FPP = 0.1
USELESS_FPP = 0.5
# What a filter may be folded to if nobody has said more.
USUAL_FPP = 0.01
# A power of two for 0.001 % can be eight times as large as one for 1 %; from here on it is
# somebody's mistake.
LEAST_FOLDS = 3
# Less than a page of memory, which is not worth a word.
NEGLIGIBLE_BYTES = 4 << 10
LARGE_SHARE = 0.25
# Less than what readers fetch together with the footer.
NEGLIGIBLE_SHARE_BYTES = 64 << 10

_DICTIONARY = (Encoding.PLAIN_DICTIONARY, Encoding.RLE_DICTIONARY)
_LEVELS = (Encoding.RLE, Encoding.BIT_PACKED)


def check_filter(view: FilterView) -> Iterator[Finding]:
    """One filter: is it too full, too large, of use?"""
    fpp = view.bits.fpp
    if view.bits.fill == 1:
        yield view.finding("PB303", "every bit is set: the filter excludes nothing")
    elif fpp > USELESS_FPP:
        yield _too_full(view, "PB301", "the filter is saturated", USELESS_FPP)
    elif fpp > HIGH_FPP:
        yield _too_full(view, "PB302", "the filter is too full to exclude much", HIGH_FPP)
    yield from _check_size(view)
    yield from _check_limits(view)


def _too_full(view: FilterView, rule: str, what: str, limit: float) -> Finding:
    return view.finding(
        rule, f"{what}: some {view.bits.ndv_estimate:,.0f} values in {view.bits.num_bytes} bytes",
        expected=f"FPP of at most {limit:g}", found=f"{view.bits.fpp:.3g}",
    )  # fmt: skip


def _check_size(view: FilterView) -> Iterator[Finding]:
    chunk, stored = view.chunk, view.stored
    if view.num_values == 0:
        yield view.finding(
            "PB308", "the chunk has no values, and needs no filter", found=stored.num_bytes
        )
        return
    target = view.policy.max_fpp or USUAL_FPP
    folds = _folds(view, target)
    if folds >= LEAST_FOLDS and stored.num_bytes > NEGLIGIBLE_BYTES:
        yield view.finding(
            "PB304", f"the filter could be folded {folds} times and stay within an FPP of {target:g}",
            expected=f"{stored.num_bytes >> folds} bytes", found=stored.num_bytes,
        )  # fmt: skip
    dictionary = _dictionary_bytes(view.file, chunk)
    if dictionary is not None and stored.num_bytes >= dictionary:
        yield view.finding(
            "PB305", "every page is dictionary-encoded, and the filter is no smaller than the"
            " dictionary, which readers can look into",
            expected=f"less than {dictionary} bytes", found=stored.num_bytes,
        )  # fmt: skip
    chunk_bytes = chunk.total_compressed_size or 0
    if stored.num_bytes > max(chunk_bytes, NEGLIGIBLE_BYTES):
        yield view.finding(
            "PB306", "the filter is larger than the column chunk that it saves readers from",
            expected=f"at most {chunk_bytes} bytes", found=stored.num_bytes,
        )  # fmt: skip


def _folds(view: FilterView, target: float) -> int:
    """How often the filter can be halved within the target FPP; an empty one is another matter."""
    if view.bits.bits_set == 0 or view.bits.fpp > target:
        return 0
    smallest = view.bits.fold_to_fpp(target, MIN_BYTES // BLOCK_BYTES)
    return (view.bits.num_blocks // smallest.num_blocks).bit_length() - 1


def _dictionary_bytes(file: ParquetFile, chunk: ColumnChunk) -> int | None:
    """The bytes of the dictionary page where every data page is encoded with it."""
    if not is_all_dictionary(file, chunk):
        return None
    dictionary, data = chunk.dictionary_page_offset or 0, chunk.data_page_offset or 0
    return data - dictionary if 0 < dictionary < data else None


def is_all_dictionary(file: ParquetFile, chunk: ColumnChunk) -> bool:
    """Whether the footer says that every data page is dictionary-encoded."""
    meta_data = file.footer.column_meta_data(chunk)
    if meta_data.encoding_stats:
        data = [
            found.encoding
            for found in meta_data.encoding_stats
            if found.page_type in (PageType.DATA_PAGE, PageType.DATA_PAGE_V2) and found.count
        ]
        return bool(data) and all(encoding in _DICTIONARY for encoding in data)
    # Before encoding_stats, PLAIN_DICTIONARY was the dictionary's encoding and the pages'.
    others = set(meta_data.encodings or ()) - set(_LEVELS)
    return others == {Encoding.PLAIN_DICTIONARY}


def _check_limits(view: FilterView) -> Iterator[Finding]:
    max_fpp, max_bytes = view.policy.max_fpp, view.policy.max_bytes
    if max_fpp is not None and view.bits.fpp > max_fpp:
        yield view.finding(
            "PB311", "the FPP is above the limit", expected=f"at most {max_fpp:g}",
            found=f"{view.bits.fpp:.3g}",
        )  # fmt: skip
    if max_bytes is not None and view.stored.num_bytes > max_bytes:
        yield view.finding(
            "PB312", "the bitset is above the limit", expected=f"at most {max_bytes} bytes",
            found=view.stored.num_bytes,
        )  # fmt: skip


HasValues = Callable[[ParquetFile, ColumnChunk], bool]
"""Whether there can be values that are not null in a chunk."""


def check_columns(
    file: ParquetFile, leaves: Sequence[LeafColumn], has_values: HasValues
) -> Iterator[Finding]:
    """Columns that have filters in some row groups only."""
    offsets = file.footer.chunks.every("bloom_filter_offset")
    width = len(file.footer.leaves)
    for leaf in leaves:
        of_leaf = offsets[leaf.index :: width]
        without = [group for group, offset in enumerate(of_leaf) if offset == _kernel.ABSENT]
        if 0 < len(without) < len(of_leaf):
            chunks = (file.footer.chunk(group, leaf) for group in without)
            wanting = [chunk for chunk in chunks if _deserves_one(file, chunk, has_values)]
            if wanting:
                there = len(of_leaf) - len(without)
                wanted = there + len(wanting)
                yield finding(
                    "PB307", f"no filter in {len(wanting)} of {wanted} row groups that have values,"
                    f" the first of them {wanting[0].row_group}",
                    column=leaf.name, expected=wanted, found=there,
                )  # fmt: skip


def _deserves_one(file: ParquetFile, chunk: ColumnChunk, has_values: HasValues) -> bool:
    """Writers rightly leave out chunks without values, and those whose dictionary says it all."""
    if chunk.is_locked or chunk.meta_start is None:
        return False
    return not is_all_dictionary(file, chunk) and has_values(file, chunk)


def check_required(file: ParquetFile, policy: Policy, has_values: HasValues) -> Iterator[Finding]:
    """Columns that must have a filter in every row group with values."""
    for name in policy.required_columns():
        leaf = next((leaf for leaf in file.footer.leaves if leaf.name == name), None)
        if leaf is None:
            yield finding("PB310", "a filter is required, and there is no such column", column=name)
            continue
        for row_group in range(file.num_row_groups):
            chunk = file.footer.chunk(row_group, leaf)
            if chunk.bloom_filter_offset is None and chunk.is_locked:
                yield chunk_finding(
                    "PB310", chunk, "a filter is required, and whether there is one is encrypted"
                )
            elif chunk.bloom_filter_offset is None and has_values(file, chunk):
                yield chunk_finding("PB310", chunk, "a filter is required")


def check_share(file: ParquetFile, stored: Sequence[bloom.StoredFilter]) -> Iterator[Finding]:
    """All filters together, beside the file."""
    size = sum(found.end - found.offset for found in stored)
    if size > max(LARGE_SHARE * file.source.size, NEGLIGIBLE_SHARE_BYTES):
        yield finding(
            "PB309", f"filters take {size / file.source.size:.1%} of the file",
            expected=f"at most {LARGE_SHARE:.0%}", found=f"{size} of {file.source.size} bytes",
        )  # fmt: skip
