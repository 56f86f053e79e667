"""Every field of a footer: its name, its bytes' place in the file, its value.

The scan gives the spans of what is stored, unknown fields included, and the generated structs say what
it is (see definition). Nothing is decoded but what is asked for, item by item.

    plain, signed  | FileMetaData | signature            at the footer's start
    encrypted      | FileCryptoMetaData | length (4), nonce (12) | FileMetaData, encrypted | tag (16) |

AES-GCM keeps each byte in its place: a field of decrypted bytes is where its ciphertext is.

Spec: parquet-format, parquet.thrift, Encryption.md section 5; thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, Final

from parquet_bloom.container import number_of
from parquet_bloom.container.footer_fields import (
    Content,
    FooterDescription,
    FooterField,
    FooterProtection,
    Several,
    Stretch,
)
from parquet_bloom.dataclass import dataclass
from parquet_bloom.encryption.cipher import CTR_OVERHEAD
from parquet_bloom.errors import FooterError
from parquet_bloom.native import _kernel
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.footer.definition import (
    LISTS,
    SPELLED,
    FieldType,
    fields_of,
    fits,
    list_header,
    type_found,
)
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.footer.foreign_fields import EXTENSIONS
from parquet_bloom.parquet.sealed.modules import LockedModules
from parquet_bloom.parquet.sealed.protection import MAGIC, MAGIC_ENCRYPTED
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.values.literals import format_literal
from parquet_bloom.values.types import LeafType

_INTEGERS: Final = (compact.TYPE_I16, compact.TYPE_I32, compact.TYPE_I64)
_BITS: Final = {compact.TYPE_I16: 16, compact.TYPE_I32: 32}
# What is in a list as an item with content of its own.
NESTED: Final = (*LISTS, compact.TYPE_MAP, compact.TYPE_STRUCT)


def any_text(wire: int) -> FieldType:
    """The type of what nobody knows: bytes are taken for text where they can be."""
    is_binary = wire == compact.TYPE_BINARY
    return FieldType(wire, "string" if is_binary else SPELLED.get(wire, "?"))


# ------------------------------------------------------------------------------------------------
# Values


def read_value(data: bytes, kind: FieldType, wire: int, at: int) -> Content:
    """The value of a field at a position, and what is wrong with it."""
    if wire <= compact.TYPE_FALSE:
        return Content(wire == compact.TYPE_TRUE)
    value, _ = _item_value(data, kind, at)
    note = None
    if (bits := _BITS.get(wire)) and not -(1 << bits - 1) <= value < 1 << bits - 1:
        note = f"does not fit {bits} bits"
    elif kind.words is not None:
        word = kind.words.get(value)
        value, note = (value, f"no {kind.name}") if word is None else (word, None)
    elif kind.name == "string" and isinstance(value, bytes):
        note = "not UTF-8"
    return Content(value, None, note)


def read_values(data: bytes, kind: FieldType, count: int, at: int) -> Iterator[Any]:
    """The items of a list, of which the first begins at `at`."""
    for _ in range(count):
        value, at = _item_value(data, kind, at)
        yield value if kind.words is None else kind.words.get(value, value)


def _item_value(data: bytes, kind: FieldType, at: int) -> tuple[Any, int]:
    """A value without the field around it, and the position after it."""
    if kind.wire in _INTEGERS:
        if (byte := data[at]) < 0x80:
            return (byte >> 1) ^ -(byte & 1), at + 1
        number, at = compact.read_varint(data, at)
        return compact.unzigzag(number), at
    match kind.wire:
        case compact.TYPE_BINARY:
            length, at = compact.read_varint(data, at)
            stored = data[at : at + length]
            return stored if kind.name == "binary" else _text(stored), at + length
        case compact.TYPE_BYTE:
            return int.from_bytes(data[at : at + 1], signed=True), at + 1
        case compact.TYPE_DOUBLE:
            return struct.unpack_from("<d", data, at)[0], at + 8
        case compact.TYPE_UUID:
            return data[at : at + 16], at + 16
    return data[at] == compact.TYPE_TRUE, at + 1


def _text(stored: bytes) -> str | bytes:
    """Itself if it is not UTF-8."""
    try:
        return stored.decode()
    except UnicodeDecodeError:
        return stored


@lru_cache(maxsize=64)
def decoded_bound(leaf: LeafType, stored: bytes) -> tuple[str | None, str | None]:
    """What the bytes of a bound mean, as a literal, and what is wrong with them. A bound of bytes may be
    shorter than values. Most bounds are in the Statistics twice."""
    width = 1 if leaf.physical == "BOOLEAN" else leaf.width
    if width is not None and len(stored) != width:
        is_short = leaf.physical == "FIXED_LEN_BYTE_ARRAY" and len(stored) < width
        return None, None if is_short else f"expected {width} bytes"
    if leaf.physical == "BOOLEAN":
        return str(stored != b"\0").lower(), None
    return format_literal(leaf, stored), None


# In which more is to be said of some fields if the chunk is known.
_TOLD_BY_CHUNK: Final = (ttypes.Statistics, ttypes.ColumnChunk)
_BOUNDS: Final = ("min", "max", "min_value", "max_value")

# What it takes to note where an item of a list begins.
_POSITION_BYTES: Final = 8

_EXTENSION: Final = "an extension, such as a second footer in FlatBuffers"
_REPEATED: Final = "comes again: readers take the last one"


def every_field(
    footer: Footer,
    end: int,
    columns: Collection[int] | None = None,
    row_groups: Collection[int] | None = None,
) -> FooterDescription:
    """The footer, which ends at `end`. `columns`: leave out the chunks, elements of the schema and
    orders of other leaf columns, by index; `row_groups`: leave out others.

    Raises FooterError if it is damaged, UnsupportedError if it does not fit the memory budget. So do
    loops over fields: for a struct of too many, or a list of too many items.
    """
    reader = _FooterReader(footer, columns, row_groups)
    protection, crypto, at = footer.protection, None, footer.start
    word: FooterProtection = "signed" if footer.is_signed else "plain"
    if protection.hides_footer:
        word = "encrypted"
        crypto = reader.whole(_Stored(protection.crypto, at), ttypes.FileCryptoMetaData)
        at += len(protection.crypto) + CTR_OVERHEAD
    metadata = reader.whole(_Stored(footer.raw, at), ttypes.FileMetaData)
    behind = Stretch(at + metadata.length, end - at - metadata.length)
    return FooterDescription(
        magic=(MAGIC_ENCRYPTED if protection.hides_footer else MAGIC).decode(),
        protection=word,
        offset=footer.start,
        length=end - footer.start,
        crypto_metadata=crypto,
        metadata=metadata,
        signature=behind if word == "signed" else None,
        rest=behind if word == "plain" and behind.length else None,
    )


@dataclass(frozen=True, slots=True)
class _Stored:
    """Bytes with structs in them, whose first byte is at `shift` in the file; `row_group` and `chunk`:
    what they are about."""

    data: bytes
    shift: int
    row_group: int = 0
    chunk: ColumnChunk | None = None


class _FooterReader:
    """Reads the structs of one footer."""

    def __init__(
        self, footer: Footer, columns: Collection[int] | None, row_groups: Collection[int] | None
    ) -> None:
        self._footer = footer
        footer.check_chunks()
        self._wanted = {
            ttypes.RowGroup: row_groups,
            ttypes.ColumnChunk: columns,
            ttypes.ColumnOrder: columns,
            ttypes.SchemaElement: None if columns is None else _with_groups(footer, columns),
        }

    def whole(self, stored: _Stored, kind: Any) -> FooterField:
        """The struct that `stored` begins with, of this class."""
        end = _kernel.struct_end(stored.data)
        content = Content(fields=self._fields(stored, 0, kind))
        return FooterField(0, None, kind.__name__, stored.shift, 0, end, content)

    def _fields(self, stored: _Stored, at: int, kind: Any = None) -> Several:
        """Those of the struct at a position, of this class; None for one that the format does not know."""
        try:
            spans = _kernel.fields(stored.data, at)
        except _kernel.ScanError as error:
            place = stored.shift + error.position
            raise FooterError(f"{self._footer.where}: byte {place}: {error.problem}") from None
        return Several(len(spans), lambda: self._read(stored, kind, spans))

    def _read(
        self, stored: _Stored, around: Any, spans: Sequence[compact.StoredField]
    ) -> Iterator[FooterField]:
        known = fields_of(around) if around else {}
        last = {span[0]: span for span in spans}
        for span in spans:
            number, wire, start, at, end = span
            name, kind = known.get(number, _UNKNOWN)
            if kind is None or last[number] is not span or not fits(kind, wire, stored.data, at):
                yield self._skipped_field(stored, around, span, name, kind)
                continue
            content = self._content(stored, kind, wire, at)
            if stored.chunk is not None and around in _TOLD_BY_CHUNK:
                content = self._of_chunk(stored.chunk, around, name, content, stored.shift + end)
            place = stored.shift + start, at - start, end - start
            yield FooterField(number, name, kind.name, *place, content)

    def _content(self, stored: _Stored, kind: FieldType, wire: int, at: int) -> Content:
        """What a field of a type has in it, from `at` on."""
        if kind.struct is not None:
            return Content(fields=self._fields(stored, at, kind.struct))
        if kind.item is None:
            return read_value(stored.data, kind, wire, at)
        item, (count, _, first) = kind.item, list_header(stored.data, at)
        if item.struct is None:
            return Content(Several(count, lambda: read_values(stored.data, item, count, first)))
        return Content(items=Several(count, lambda: self._items(stored, item, at, count)))

    def _items(
        self, stored: _Stored, kind: FieldType, at: int, count: int
    ) -> Iterator[FooterField]:
        """The structs in the list at a position that are to be shown."""
        wanted = self._wanted.get(kind.struct)
        for index, (start, end) in enumerate(pairwise(self._boundaries(stored, at, count))):
            if wanted is not None and index not in wanted:
                continue
            name, about = None, stored
            if kind.struct is ttypes.RowGroup:
                about = _Stored(stored.data, stored.shift, index)
            elif kind.struct is ttypes.ColumnChunk:
                chunk = self._footer.chunk(stored.row_group, self._footer.leaves[index])
                name = chunk.leaf.name
                about = _Stored(stored.data, stored.shift, stored.row_group, chunk)
            content = Content(fields=self._fields(about, start, kind.struct))
            place = stored.shift + start, 0, end - start
            yield FooterField(index, name, kind.name, *place, content)

    def _boundaries(self, stored: _Stored, at: int, count: int) -> Sequence[int]:
        """Where each item of a list begins, and the last one ends."""
        items = number_of(count, "item")
        check_fits(f"{self._footer.where}: footer: {items} of a list take", _POSITION_BYTES * count)
        return _kernel.elements(stored.data, at)

    def _of_chunk(
        self, chunk: ColumnChunk, around: Any, name: str | None, content: Content, end: int
    ) -> Content:
        """The same for a field that only the column's type, or its key, tells more about. `end`: of the
        field, in the file."""
        if around is ttypes.Statistics and name in _BOUNDS:
            decoded, note = decoded_bound(chunk.leaf.type, content.value)
            return content._replace(decoded=decoded, note=note)
        if around is not ttypes.ColumnChunk or name != "encrypted_column_metadata":
            return content
        if isinstance(chunk.modules, LockedModules):
            return content._replace(note=f"encrypted: {chunk.modules.reason}")
        text, start = self._footer.meta_data(chunk)
        shift = end - len(content.value) + CTR_OVERHEAD - start
        opened = _Stored(text, shift, chunk.row_group, chunk)
        fields = self._fields(opened, start, ttypes.ColumnMetaData)
        return content._replace(note="decrypted", fields=fields)

    def _skipped_field(
        self,
        stored: _Stored,
        around: Any,
        span: compact.StoredField,
        name: str | None,
        kind: FieldType | None,
    ) -> FooterField:
        """A field of the class `around` that readers skip, although it may have a name and a type."""
        number, wire, start, at, end = span
        found = type_found(stored.data, wire, at)
        if kind is None:
            is_extension = around is ttypes.FileMetaData and number in EXTENSIONS
            note = _EXTENSION if is_extension else None
        else:
            is_fitting = fits(kind, wire, stored.data, at)
            note = _REPEATED if is_fitting else f"expected {kind.name}, found {found}"
        content = self._skipped(stored, wire, at)._replace(note=note)
        place = stored.shift + start, at - start, end - start
        return FooterField(number, name, found, *place, content, stored.data[at:end])

    def _skipped(self, stored: _Stored, wire: int, at: int) -> Content:
        """What bytes of a type have in them, of which nothing else is known."""
        data = stored.data
        if wire == compact.TYPE_STRUCT:
            return Content(fields=self._fields(stored, at))
        if wire == compact.TYPE_MAP:
            return Content()
        if wire not in LISTS:
            return read_value(data, any_text(wire), wire, at)
        count, item, first = list_header(data, at)
        if item in NESTED:
            return Content(
                items=Several(count, lambda: self._skipped_items(stored, item, at, count))
            )
        return Content(Several(count, lambda: read_values(data, any_text(item), count, first)))

    def _skipped_items(
        self, stored: _Stored, wire: int, at: int, count: int
    ) -> Iterator[FooterField]:
        for index, (start, end) in enumerate(pairwise(self._boundaries(stored, at, count))):
            kind, place = type_found(stored.data, wire, start), (stored.shift + start, 0)
            content = self._skipped(stored, wire, start)
            found = stored.data[start:end]
            yield FooterField(index, None, kind, *place, end - start, content, found)


_UNKNOWN: Final[tuple[None, None]] = None, None


def _with_groups(footer: Footer, columns: Collection[int]) -> frozenset[int]:
    """Which elements of the schema are these leaf columns, or groups around them."""
    kept: set[int] = set()
    # The groups around an element, each with the number of children to come.
    around: list[list[int]] = []
    leaf = 0
    for number, element in enumerate(footer.elements()):
        while around and around[-1][1] == 0:
            around.pop()
        if around:
            around[-1][1] -= 1
        if number == 0 or element.type is None:
            around.append([number, element.num_children or 0])
            continue
        if leaf in columns:
            kept.update((number, *(group for group, _ in around)))
        leaf += 1
    return frozenset(kept)
