"""What leads to a split block filter of before parquet-format 2.7.0: bloom_filter_offset, or our note.

Old writers set the field, but today's readers expect another kind of filter there, and lose rows or
fail. So unless told otherwise, we use a pair of the chunk's own key-value metadata, which readers
leave alone:

    ColumnMetaData.key_value_metadata    "pbloom.murmur3" = {"offset":4096,"length":1036,"pages":4, ...}

The note says what the header cannot: hash, seed, and how a block is selected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from itertools import pairwise
from typing import Any, Final, get_args
from zlib import crc32

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FilterError, FormatError
from parquet_bloom.legacy.murmur3.headers import StoredLayout
from parquet_bloom.legacy.murmur3.schemes import MAX_SEED, BlockSelection, HashName, Scheme
from parquet_bloom.legacy.presence import KEY_VALUE_METADATA, NOTE_KEY, has_notes
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.sealed.opened_chunks import Fields
from parquet_bloom.parquet.thrift import ttypes

# Of everything before it in the note.
_CHECKSUM: Final = "crc32"


@dataclass(frozen=True, slots=True)
class Note:
    """Where a filter is, `length` bytes of header and bitset from `offset`, and how it was made.

    `pages`: where the chunk's pages began then. Whoever moves them without knowing about the note
    invalidates it.
    """

    offset: int
    length: int
    pages: int
    header: StoredLayout
    hash: HashName
    seed: int
    selection: BlockSelection

    @property
    def end(self) -> int:
        return self.offset + self.length

    @property
    def scheme(self) -> Scheme:
        return Scheme(self.hash, self.seed, self.selection)

    def encoded(self) -> str:
        """The value of the pair. It has a checksum, because nothing else tells the seed, and with a
        wrong one values would seem absent."""
        text = _json(asdict(self))
        return _json(asdict(self) | {_CHECKSUM: crc32(text.encode())})


def _json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def decoded(text: str) -> Note:
    """The note in the value of a pair. Raises FilterError if it is not ours, or damaged."""
    try:
        found: Any = json.loads(text)
        checksum = found.pop(_CHECKSUM, None)
        note = Note(**found)
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise FilterError(f"{NOTE_KEY}: not a note about a filter") from None
    numbers = (note.offset, note.length, note.pages, note.seed)
    if (
        not all(type(number) is int and number >= 0 for number in numbers)
        or note.seed > MAX_SEED
        or note.header not in get_args(StoredLayout)
        or note.hash not in ("MURMUR3", "XXHASH")
        or note.selection not in get_args(BlockSelection)
    ):
        raise FilterError(f"{NOTE_KEY}: an impossible note: {text[:200]!r}")
    if note.encoded() != text:
        raise FilterError(f"{NOTE_KEY}: damaged: its checksum is not {str(checksum)[:20]}")
    return note


def note_of(footer: Footer, chunk: ColumnChunk) -> Note | None:
    """The chunk's note. Raises FilterError for one that is not ours, or damaged."""
    if chunk.meta_start is None or chunk.has_crypto_metadata:
        return None
    try:
        pairs = map(_key_value, _pairs(footer, chunk))
        found = next((pair for pair in pairs if pair.key == NOTE_KEY), None)
        return None if found is None else decoded(found.value or "")
    except FilterError as error:
        raise FilterError(f"{footer.where}: {chunk.where}: {error}") from None


def every_note(footer: Footer) -> Iterator[tuple[ColumnChunk, Note]]:
    """The chunks that have a note. Raises FilterError for one that is damaged."""
    if not has_notes(footer):
        return
    for row_group in range(footer.num_row_groups):
        for leaf in footer.leaves:
            chunk = footer.chunk(row_group, leaf)
            note = note_of(footer, chunk)
            if note is not None:
                yield chunk, note


def note_fields(footer: Footer, chunk: ColumnChunk, note: Note | None) -> Fields:
    """The edit of the chunk's ColumnMetaData that sets or drops its note; other pairs stay."""
    pairs = [pair for pair in _pairs(footer, chunk) if _key_value(pair).key != NOTE_KEY]
    if note is not None:
        pairs.append(compact.encode(ttypes.KeyValue(NOTE_KEY, note.encoded())))
    if not pairs:
        return {KEY_VALUE_METADATA: None}
    value = compact.list_header(compact.TYPE_STRUCT, len(pairs)) + b"".join(pairs)
    return {KEY_VALUE_METADATA: (compact.TYPE_LIST, value)}


def _pairs(footer: Footer, chunk: ColumnChunk) -> Iterator[bytes]:
    """The encoded KeyValues of a chunk."""
    field = footer.fields(chunk, (KEY_VALUE_METADATA,))[KEY_VALUE_METADATA]
    if field is None:
        return
    kind, value = field
    if kind == compact.TYPE_LIST and value[0] & 0x0F == compact.TYPE_STRUCT:
        for begin, end in pairwise(_kernel.elements(value, 0)):
            yield value[begin:end]


def _key_value(pair: bytes) -> ttypes.KeyValue:
    try:
        return compact.decode(ttypes.KeyValue, pair)[0]
    except (FormatError, _kernel.ScanError) as error:
        raise FilterError(f"key_value_metadata: {error}") from None
