"""What leads to an old split block filter: bloom_filter_offset, or a note of ours.

The field is what old writers set, and what today's readers look at, who lose rows or fail on what
they find there. So the pointer is a pair of the chunk's own key-value metadata unless told
otherwise, which they leave alone:

    ColumnMetaData.key_value_metadata    "pbloom.murmur3" = {"offset":4096,"length":1036,"pages":4, ...}

The note says all that the header cannot: hash, seed, and how a block is selected.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Final, get_args
from zlib import crc32

from parquet_bloom.errors import FilterError, FormatError
from parquet_bloom.legacy.murmur3.headers import HeaderForm
from parquet_bloom.legacy.murmur3.schemes import MAX_SEED, HashName, Scheme, Selection
from parquet_bloom.legacy.presence import KEY_VALUE_METADATA, NOTE_KEY, has_notes
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.thrift import ttypes

_KEY, _VALUE = 1, 2

# Of all that stands before it in the note.
_CHECKSUM: Final = "crc32"


@dataclass(frozen=True, slots=True)
class Note:
    """Where a filter lies, `length` bytes of header and bitset from `offset`, and how it was made.

    `pages`: where the chunk's pages began then. Whoever moves them without knowing of the note makes
    it worthless.
    """

    offset: int
    length: int
    pages: int
    header: HeaderForm
    hash: HashName
    seed: int
    selection: Selection

    @property
    def scheme(self) -> Scheme:
        return Scheme(self.hash, self.seed, self.selection)

    def encoded(self) -> str:
        """As the value of the pair: with a checksum, because nothing but the note tells the seed, and
        by another one values would seem absent."""
        text = _json(asdict(self))
        return _json(asdict(self) | {_CHECKSUM: crc32(text.encode())})


def _json(fields: dict[str, Any]) -> str:
    return json.dumps(fields, separators=(",", ":"))


def decoded(text: str) -> Note:
    """The note in the value of a pair. Raises FilterError if it is none of ours, or damaged."""
    try:
        found: Any = json.loads(text)
        checksum = found.pop(_CHECKSUM, None)
        note = Note(**found)
    except (AttributeError, RecursionError, TypeError, ValueError):
        raise FilterError(f"{NOTE_KEY}: no note of a filter") from None
    numbers = (note.offset, note.length, note.pages, note.seed)
    if (
        not all(type(number) is int and number >= 0 for number in numbers)
        or note.seed > MAX_SEED
        or note.header not in get_args(HeaderForm)
        or note.hash not in ("MURMUR3", "XXHASH")
        or note.selection not in get_args(Selection)
    ):
        raise FilterError(f"{NOTE_KEY}: a note that cannot be: {text[:200]!r}")
    if note.encoded() != text:
        raise FilterError(f"{NOTE_KEY}: damaged: its checksum is not {str(checksum)[:20]}")
    return note


def note_of(footer: Footer, chunk: ColumnChunk) -> Note | None:
    """The chunk's note. Raises FilterError for one that is not ours, or damaged."""
    if chunk.meta_start is None or chunk.has_crypto_metadata:
        return None
    try:
        return _note_in(footer, chunk)
    except FilterError as error:
        raise FilterError(f"{footer.where}: {chunk.where}: {error}") from None


def _note_in(footer: Footer, chunk: ColumnChunk) -> Note | None:
    for pair in _pairs(footer, chunk):
        found = _key_value(pair)
        if found.key == NOTE_KEY:
            return decoded(found.value or "")
    return None


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


def note_fields(
    footer: Footer, chunk: ColumnChunk, note: Note | None
) -> dict[int, tuple[int, bytes] | None]:
    """The field of the chunk's ColumnMetaData that has `note`, or no note; other pairs stay."""
    pairs = [pair for pair in _pairs(footer, chunk) if _key_value(pair).key != NOTE_KEY]
    if note is not None:
        pairs.append(_pair(note))
    if not pairs:
        return {KEY_VALUE_METADATA: None}
    value = compact.list_header(compact.TYPE_STRUCT, len(pairs)) + b"".join(pairs)
    return {KEY_VALUE_METADATA: (compact.TYPE_LIST, value)}


def _key_value(pair: bytes) -> ttypes.KeyValue:
    try:
        return compact.decode(ttypes.KeyValue, pair)[0]
    except (FormatError, _kernel.ScanError) as error:
        raise FilterError(f"key_value_metadata: {error}") from None


def _pairs(footer: Footer, chunk: ColumnChunk) -> Iterator[bytes]:
    """The encoded KeyValues of a chunk."""
    text, start = footer.meta_data(chunk)
    for number, kind, _, value, _ in _kernel.fields(text, start):
        is_list = (number, kind) == (KEY_VALUE_METADATA, compact.TYPE_LIST)
        if is_list and text[value] & 0x0F == compact.TYPE_STRUCT:
            boundaries = _kernel.elements(text, value)
            for begin, end in pairwise(boundaries):
                yield text[begin:end]


def _pair(note: Note) -> bytes:
    return compact.splice(b"\0", 0, {_KEY: _binary(NOTE_KEY), _VALUE: _binary(note.encoded())})


def _binary(text: str) -> tuple[int, bytes]:
    data = text.encode()
    return compact.TYPE_BINARY, compact.varint(len(data)) + data
