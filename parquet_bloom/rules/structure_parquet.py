"""PB1xx: whether a Parquet file has a filter where its footer says, in a place of its own."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Final

from parquet_bloom.container import number_of
from parquet_bloom.engines.reading import engine_note
from parquet_bloom.errors import (
    FilterError,
    FooterError,
    MissingKeyError,
    TamperedError,
    without_place,
)
from parquet_bloom.filters.sizing import BLOCK_BYTES
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.edit.ends import false_ends
from parquet_bloom.parquet.edit.lost_bytes import is_behind_another, lost_bytes
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.unparsed import bare_bitset
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import BLOOM_FILTER_OFFSET, Footer
from parquet_bloom.parquet.footer.foreign_fields import (
    chunks_with_foreign_pointer,
    extension,
    foreign_pointer,
)
from parquet_bloom.parquet.footer.layout import MAGIC_BYTES
from parquet_bloom.parquet.footer.schema import LeafColumn
from parquet_bloom.rules import security
from parquet_bloom.rules.finding import (
    Finding,
    chunk_finding,
    diagnosed,
    finding,
    not_checked,
)
from parquet_bloom.vocabulary import UNKNOWN

# What is said of bytes that are no filter.
_NONE_THERE: Final = ("PB102", "PB108", "PB109", "PB110", "PB204", "PB214")


def check_footer(
    file: ParquetContainer, leaves: Sequence[LeafColumn], row_groups: Sequence[int]
) -> Iterator[Finding]:
    """What the footer says about rows and places as a whole, and about filters of `leaves` in these
    row groups."""
    footer = file.footer
    try:
        footer.check_row_counts()
    except FooterError as error:
        yield finding("PB115", without_place(error, file.path))
    if footer.layout.pages_reach_past_the_end:
        yield finding(
            "PB115",
            f"pages extend past {footer.start}, where the data ends, so no later offset can be trusted",
        )
    if footer.repeated_ordinals and any(footer.chunks.every("has_crypto_metadata")):
        groups = ", ".join(map(str, sorted(footer.repeated_ordinals)))
        yield finding(
            "PB115",
            f"row groups {groups} do not have unique ordinals: anyone who can write to the file can"
            " swap what is encrypted in them, filters included",
        )
    if (number := extension(footer)) is not None:
        yield finding(
            "PB117",
            f"field {number} of the footer is an extension, such as a second footer in"
            " FlatBuffers: whether it agrees about filters is not checked, and the file cannot be"
            " changed while it has one",
        )
    if footer.has_file_references:
        yield finding(
            "PB118",
            "a column of type FILE may refer to bytes of the file by their offset: anything that"
            " moves bytes breaks that",
        )
    for end in false_ends(file):
        yield finding(
            "PB119",
            f"cut at {end}, the file looks complete, but is not what it was before something was"
            " appended",
            found=end,
        )
    wanted, groups_wanted = {leaf.index for leaf in leaves}, set(row_groups)
    yield from _indexes_outside(file, wanted)
    yield from _foreign_fields(file, wanted)
    for chunk, found in lengths_without_offset(file):
        if chunk.leaf.index in wanted and chunk.row_group in groups_wanted:
            yield found


def _indexes_outside(file: ParquetContainer, wanted: Collection[int]) -> Iterator[Finding]:
    """The columns, among those `wanted`, with page indexes behind the data, each once."""
    footer, places = file.footer, file.footer.layout.indexes_past_the_end
    by_column: dict[int, list[tuple[int, int]]] = {}
    for number, place in places.items():
        by_column.setdefault(number % len(footer.leaves), []).append(place)
    for column, ranges in sorted(by_column.items()):
        if column in wanted:
            start, end = ranges[0]
            yield finding(
                "PB121",
                f"page indexes of {number_of(len(ranges), 'column chunk')} reach past the data",
                column=footer.leaves[column].name,
                expected=f"an end by {footer.start}",
                found=f"bytes {start} to {end - 1}",
            )


def _foreign_fields(file: ParquetContainer, wanted: Collection[int]) -> Iterator[Finding]:
    """The columns, among those `wanted`, with something else in the fields of a filter's pointer, each
    once."""
    reported = set()
    for chunk in chunks_with_foreign_pointer(file.footer):
        if chunk.leaf.index not in wanted or chunk.leaf.index in reported or chunk.has_filters:
            continue
        reported.add(chunk.leaf.index)
        is_refused = chunk.foreign_pointer == BLOOM_FILTER_OFFSET
        yield finding(
            "PB120",
            f"{foreign_pointer(file.footer, chunk)}:"
            f" {'`build` refuses the column' if is_refused else '`build` writes no length'}",
            column=chunk.leaf.name,
        )


def check_checksums(footer: Footer) -> Iterator[Finding]:
    """Of which columns pages were read although their checksums are wrong."""
    for column, reason in footer.checksums.unchecked():
        yield finding("PB123", reason, column=footer.leaves[column].name)


def lengths_without_offset(file: ParquetContainer) -> Iterator[tuple[ColumnChunk, Finding]]:
    """The chunks that have a bloom_filter_length only, and what is wrong with that."""
    footer = file.footer
    offsets, lengths = map(footer.chunks.every, ("bloom_filter_offset", "bloom_filter_length"))
    for index, (offset, length) in enumerate(zip(offsets, lengths, strict=True)):
        if offset == _kernel.ABSENT and length != _kernel.ABSENT:
            row_group, column = divmod(index, len(footer.leaves))
            chunk = footer.chunk(row_group, footer.leaves[column])
            message = "there is a bloom_filter_length but no bloom_filter_offset"
            yield chunk, chunk_finding("PB114", chunk, message, found=length)


def read_header(
    file: ParquetContainer, chunk: ColumnChunk, deep: bool
) -> tuple[bloom.StoredFilter | None, list[Finding]]:
    """The header that the chunk points to; or None and why there is none. `deep`: the stored values
    may be looked up in what is there instead."""
    offset = chunk.bloom_filter_offset
    if offset is None:
        return None, []
    if not MAGIC_BYTES <= offset < file.footer.start:
        problem = chunk_finding(
            "PB101",
            chunk,
            "bloom_filter_offset points outside the data",
            expected=f"{MAGIC_BYTES} to {file.footer.start - 1}",
            found=offset,
        )
        return None, [problem]
    try:
        stored = bloom.read_header(file.window, file.footer, chunk)
        # Bits can look like a header that says nothing.
        says_nothing = stored and {stored.algorithm, stored.hash, stored.compression} == {UNKNOWN}
        if deep and says_nothing and bare_bitset(file, chunk, deep):
            return None, [no_header(file, chunk, f"no filter header at {offset}", deep)]
        return stored, []
    except FilterError as error:
        return None, [no_header(file, chunk, without_place(error, file.path, chunk.where), deep)]
    except TamperedError as error:
        return None, [does_not_open(file, chunk, error)]
    except MissingKeyError:
        return None, [not_checked(chunk, chunk.no_key)]


def no_header(file: ParquetContainer, chunk: ColumnChunk, message: str, deep: bool) -> Finding:
    """The finding that there is no header, and whether a bitset is there all the same."""
    bare = bare_bitset(file, chunk, deep)
    return chunk_finding("PB102", chunk, f"{message}; {bare}" if bare else message)


def has_no_filter(found: Finding) -> bool:
    """Whether it says that where the footer places a filter, there is none that a reader could use."""
    return found.rule in _NONE_THERE


def may_be_elsewhere(file: ParquetContainer, findings: Iterable[Finding]) -> bool:
    """Whether pages may be elsewhere than the footer says: something is wrong with filters,
    or an earlier end with it."""
    if any(has_no_filter(each) or each.rule == "PB119" for each in findings):
        return True
    return is_behind_another(file)


def lost_pages(file: ParquetContainer) -> Finding | None:
    """What lost_bytes finds, for where there is no filter, which is the smaller loss."""
    lost = lost_bytes(file)
    return lost and chunk_finding("PB116", *lost)


def does_not_open(file: ParquetContainer, chunk: ColumnChunk, error: TamperedError) -> Finding:
    """A filter whose header or bitset does not decrypt with its key."""
    offset = chunk.bloom_filter_offset or 0
    opens_as = chunk.modules.another_module(file.source, offset, file.footer.start)
    return security.does_not_open(chunk, without_place(error, file.path, chunk.where), opens_as)


def is_readable(file: ParquetContainer, stored: bloom.StoredFilter) -> bool:
    """Whether the bits can be read, whatever else is wrong."""
    return (
        (stored.algorithm, stored.hash, stored.compression)
        == (bloom.SPLIT_BLOCK, bloom.XXHASH, bloom.UNCOMPRESSED)
        and _has_blocks(stored)
        and stored.end <= file.footer.start
    )


def check_header(
    file: ParquetContainer, chunk: ColumnChunk, stored: bloom.StoredFilter
) -> Iterator[Finding]:
    """What the header says, by itself and compared with the footer."""
    if stored.names_nothing:
        # What follows from that would not help anybody.
        yield unnamed(file, chunk, stored, may_diagnose=False)
        return
    for rule, what, expected, found in (
        ("PB108", "an algorithm", bloom.SPLIT_BLOCK, stored.algorithm),
        ("PB109", "a hash", bloom.XXHASH, stored.hash),
    ):
        if found != expected:
            message = f"the header names {what} that the format does not define"
            yield chunk_finding(rule, chunk, message, expected=expected, found=found)
    if not _has_blocks(stored):
        rest = stored.num_bytes - stored.header_bytes
        has_header = rest > 0 and rest % BLOCK_BYTES == 0
        why = f"; without the {stored.header_bytes} bytes of its header, it would be" * has_header
        yield chunk_finding(
            "PB110",
            chunk,
            f"the bitset is not a whole number of blocks{why}",
            expected=f"a positive multiple of {BLOCK_BYTES} bytes",
            found=stored.num_bytes,
        )
        return
    reaches_in = stored.end > file.footer.start
    by_length = stored.length is not None and stored.offset + stored.length <= file.footer.start
    if not (reaches_in and by_length):
        yield from _check_length(file, chunk, stored)
    layout, found = file.footer.layout, _bytes(stored)
    if layout.is_alone(stored.offset, stored.end):
        return
    if reaches_in:
        message, expected = "the filter reaches into the footer", f"an end by {file.footer.start}"
        if by_length:
            message += (
                " by its header, though not by bloom_filter_length: header or offset is wrong"
            )
        yield chunk_finding("PB105", chunk, message, expected=expected, found=found)
    if layout.pages.overlap(stored.offset, stored.end):
        message = "the filter shares bytes with the pages of a column chunk"
        yield chunk_finding("PB103", chunk, message, found=found)
    if layout.indexes.overlap(stored.offset, stored.end):
        message = "the filter shares bytes with a page index"
        yield chunk_finding("PB104", chunk, message, found=found)


def unnamed(
    file: ParquetContainer, chunk: ColumnChunk, stored: bloom.StoredFilter, may_diagnose: bool
) -> Finding:
    """A header that names nothing, and if pages may be read, what is in the bits."""
    found = None
    if may_diagnose:
        from parquet_bloom.diagnosis.unnamed import diagnose_unnamed

        found = diagnose_unnamed(file, chunk, stored)
    return chunk_finding("PB214", chunk, bloom.UNNAMED, **diagnosed(found))


def _has_blocks(stored: bloom.StoredFilter) -> bool:
    return stored.num_bytes > 0 and stored.num_bytes % BLOCK_BYTES == 0


# What is wrong where the header is right, by rule.
_OF_LENGTH: Final = {
    "PB112": "bloom_filter_length cuts the filter short: readers that trust it lose rows",
    "PB113": (
        "bloom_filter_length is more than the header and bitset take up: readers that trust it look"
        " for blocks in the wrong bytes, and lose rows"
    ),
}


def _check_length(
    file: ParquetContainer, chunk: ColumnChunk, stored: bloom.StoredFilter
) -> Iterator[Finding]:
    length = stored.end - stored.offset
    if stored.length == length:
        return
    if stored.length is None and chunk.foreign_pointer is not None:
        yield chunk_finding(
            "PB122",
            chunk,
            "another writer keeps something else in the field of bloom_filter_length:"
            f" {engine_note('without length')}",
        )
        return
    if stored.length is None:
        rule = "PB111"
        message = f"bloom_filter_length is missing: {engine_note('without length')}"
    else:
        rule = "PB112" if stored.length < length else "PB113"
        message = _doubt_about_header(file, stored, stored.length) or _OF_LENGTH[rule]
    yield chunk_finding(rule, chunk, message, expected=length, found=stored.length)


def _doubt_about_header(file: ParquetContainer, stored: bloom.StoredFilter, length: int) -> str:
    """What is wrong where the header's numBytes may be, by what begins where; empty if it is right."""
    end = stored.offset + length
    inside = file.footer.layout.filters.sharing(stored.offset, end)
    if not fits_by_length(file, stored) or any(start > stored.offset for start, _ in inside):
        return ""
    by_header, by_length = (_ends_where_more_begins(file, each) for each in (stored.end, end))
    if by_header and not by_length:
        return ""
    amount = "less" if end < stored.end else "more"
    message = f"bloom_filter_length is {amount} than the header and bitset take up"
    if by_length and not by_header:
        return (
            f"{message}, but more begins just where it ends: the header's numBytes seems wrong, and readers that"
            " trust it lose rows"
        )
    return f"{message}, and either that or the header's numBytes is wrong: readers lose rows"


def fits_by_length(file: ParquetContainer, stored: bloom.StoredFilter) -> bool:
    """Whether the footer's length has room for whole blocks, and none for pages or page indexes, so that it may be
    right where the header says otherwise."""
    length = stored.length or 0
    num_bytes = length - stored.header_bytes - stored.modules.bitset_overhead
    return (
        num_bytes > 0
        and num_bytes % BLOCK_BYTES == 0
        and not file.footer.layout.overlaps_data(stored.offset, stored.offset + length)
    )


def _ends_where_more_begins(file: ParquetContainer, end: int) -> bool:
    return end == file.footer.start or file.footer.layout.everything.num_at(end) > 0


def settle_length(found: Finding) -> None:
    """Say that not the header is wrong: all values were found by it."""
    if found.rule in _OF_LENGTH:
        # A record can be changed.
        vars(found)["message"] = _OF_LENGTH[found.rule]


def check_sharing(
    file: ParquetContainer, chunk: ColumnChunk, stored: bloom.StoredFilter
) -> Iterator[Finding]:
    """Whether the filter of another chunk uses the same bytes, by the lengths in the footer."""
    layout = file.footer.layout
    if not _has_blocks(stored) or layout.is_alone(stored.offset, stored.end):
        return
    filters = layout.filters
    sharing = filters.num_at(stored.offset)
    if sharing > 1:
        message = f"{sharing} column chunks point to this filter"
        yield chunk_finding("PB107", chunk, message, found=stored.offset)
    elif filters.overlap_another(stored.offset, stored.end):
        message = "the filter shares bytes with the filter of another column chunk"
        yield chunk_finding("PB106", chunk, message, found=_bytes(stored))


def _bytes(stored: bloom.StoredFilter) -> str:
    return f"bytes {stored.offset} to {stored.end - 1}"
