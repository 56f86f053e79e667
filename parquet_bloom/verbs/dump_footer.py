"""The footer of a file, field by field.

In the document, the fields of a struct are by their names; what readers skip is in a list beside them:

    {"type": "ColumnMetaData", "offset": 1234, …,
     "fields": {"codec": {"id": 4, "type": "CompressionCodec", "offset": 1240, …, "value": "SNAPPY"}},
     "unknown": [{"id": 99, "name": null, "type": "i32", "offset": 1300, …, "value": 7, "bytes": "0e"}]}
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from math import isfinite
from typing import TYPE_CHECKING, Any, ClassVar, Final

from parquet_bloom.arguments import SomeNames, SomeNumbers, columns_given, row_groups_given
from parquet_bloom.container import WHERE_KNOWN, slim_record
from parquet_bloom.container.footer_fields import FooterDescription, FooterField, Several
from parquet_bloom.container.room import OF_FIELD_BYTE
from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import open_file
from parquet_bloom.parallel import check_fits
from parquet_bloom.storage.near_names import telling_near_names
from parquet_bloom.verbs.documents import VerbReport, as_json, document_of
from parquet_bloom.vocabulary import Format

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Describable
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.traffic import Requests

# A field of so many bytes becomes a document at once.
WHOLE_BYTES: Final = 16 << 10

# Characters or bytes of a value, or values of a list, that are written at a time.
PART: Final = 16 << 10


@slim_record
class FooterRow:
    """A field as a row of a table. `field`: `row_groups[0].columns[1].meta_data.codec`; one that the
    format does not know is `[99]`."""

    field: str
    type: str
    offset: int
    header_bytes: int
    length: int
    value: str | None
    decoded: str | None
    note: str | None


@dataclass(frozen=True, slots=True, repr=False)
class FooterDump(VerbReport):
    """The footer of a file, whose attributes are those of `footer`, too. `unverified`: why the footer of an encrypted
    file may have been replaced, None if it cannot have been. `requests`: sent to the object store that has the
    file."""

    _rows: ClassVar = ("rows",)
    _item: ClassVar = FooterRow
    _merged: ClassVar = "footer"

    path: str
    format: Format
    size: int
    unverified: str | None
    footer: FooterDescription
    requests: Requests | None = field(default=None, metadata=WHERE_KNOWN)

    @property
    def rows(self) -> Iterator[FooterRow]:
        """Every field, in the order of the file."""
        return _rows_of("", self.footer.metadata)

    def to_dict(self) -> dict[str, Any]:
        """The document that `pbloom dump --footer --json` prints. Raises UnsupportedError if it exceeds
        the memory budget."""
        self._check_document()
        described = {name: _document_if_any(each) for name, each in self._described()}
        return self._around() | described

    def _check_document(self) -> None:
        """What is written piece by piece fits anyway."""
        taken = OF_FIELD_BYTE * self.footer.metadata.length
        check_fits(f"{self.path}: the document of the footer takes", taken)

    def json_parts(self) -> Iterator[bytes]:
        """The document on one line, in parts: a footer may have millions of fields."""
        yield as_json(self._around())[:-1]
        for name, each in self._described():
            yield b"," + _json_of(name) + b":"
            yield from [b"null"] if each is None else _json(each)
        yield b"}\n"

    def _around(self) -> dict[str, Any]:
        """What the document has beside fields."""
        footer = self.footer
        found = {
            "path": self.path, "format": self.format, "size": self.size,
            "unverified": self.unverified, "magic": footer.magic, "protection": footer.protection,
            "offset": footer.offset, "length": footer.length,
            "signature": footer.signature and document_of(footer.signature),
            "rest": footer.rest and document_of(footer.rest),
        }  # fmt: skip
        return found if self.requests is None else found | {"requests": document_of(self.requests)}

    def _described(self) -> Iterator[tuple[str, FooterField | None]]:
        yield "crypto_metadata", self.footer.crypto_metadata
        yield "metadata", self.footer.metadata

    def _items(self) -> Iterator[dict[str, Any]]:
        self._check_document()
        for row in self.rows:
            yield {"path": self.path} | document_of(row)

    def _num_rows(self) -> int:
        return sum(1 for _ in self.rows)

    def __repr__(self) -> str:
        footer = self.footer
        return (
            f"<{type(self).__name__} {self.path}: {footer.protection}, {footer.length:,} bytes at"
            f" {footer.offset}>"
        )


def dump_footer(
    path: str | os.PathLike[str],
    *,
    columns: SomeNames | None = None,
    row_groups: SomeNumbers | None = None,
    keys: Keys | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> FooterDump:
    """The FileMetaData of a Parquet file: every field by its name, with the place of its bytes and its
    value, what the format does not know included.

    columns, row_groups: leave out the column chunks of others. keys: for encrypted files; what they
    open is shown decrypted, statistics included. storage_options: for the object store behind a URL,
    such as {"region": "eu-west-1"}.

    Raises ColumnError, FormatError if the file is damaged, EncryptionError if a key is wrong or the
    footer is encrypted and has none, UnsupportedError for an ORC file.
    """
    names, numbers = columns_given(columns), row_groups_given(row_groups)
    with telling_near_names(), open_file(path, keys, storage_options) as file:
        return dump_footer_of(file, names, numbers)


def dump_footer_of(
    file: Describable, columns: tuple[str, ...] | None, parts: tuple[int, ...] | None
) -> FooterDump:
    """The footer of an open file. Raises as dump_footer."""
    chosen = None if columns is None else file.select(columns)
    footer = file.describe_footer(chosen, parts)
    source = file.source
    return FooterDump(file.path, file.format, source.size, file.unverified, footer, source.requests)


def _rows_of(name: str, found: FooterField) -> Iterator[FooterRow]:
    content = found.content
    value = content.value
    if isinstance(value, Several):
        value = as_json([*map(_plain, value)]).decode()
    elif value is not None:
        value = str(_plain(value))
    place = found.offset, found.header_bytes, found.length
    yield FooterRow(name, found.type, *place, value, content.decoded, content.note)
    for each in content.fields or ():
        last = f"[{each.number}]" if each.name is None else each.name
        yield from _rows_of(f"{name}.{last}" if name and each.name else name + last, each)
    for each in content.items or ():
        yield from _rows_of(f"{name}[{each.number}]", each)


# ------------------------------------------------------------------------------------------------
# Documents


def _plain(value: object) -> object:
    """A value as JSON has it: bytes in hexadecimal, infinities and NaN as text."""
    if isinstance(value, bytes):
        return value.hex()
    return repr(value) if isinstance(value, float) and not isfinite(value) else value


def _head(found: FooterField) -> dict[str, object]:
    """What a document says of a field besides what is in it."""
    head: dict[str, object] = {
        "type": found.type, "offset": found.offset, "header_bytes": found.header_bytes,
        "length": found.length,
    }  # fmt: skip
    if found.content.decoded is not None:
        head["decoded"] = found.content.decoded
    if found.content.note is not None:
        head["note"] = found.content.note
    return head


def _document_if_any(found: FooterField | None) -> dict[str, object] | None:
    return None if found is None else _document({}, found)


def _document(key: dict[str, object], found: FooterField) -> dict[str, object]:
    """The document of a field; `key`: what comes first, such as its id."""
    content = found.content
    document = key | _head(found)
    value = content.value
    if value is not None:
        several = isinstance(value, Several)
        document["value"] = [*map(_plain, value)] if several else _plain(value)
    if found.stored is not None:
        document["bytes"] = found.stored.hex()
    if content.fields is not None:
        named, unread = {}, []
        for each in content.fields:
            if each.stored is None:
                named[each.name] = _document({"id": each.number}, each)
            else:
                unread.append(_document(_unread_key(each), each))
        document["fields"] = named
        if unread:
            document["unknown"] = unread
    if content.items is not None:
        document["count"] = content.items.count
        document["items"] = [_document(_item_key(each), each) for each in content.items]
    return document


def _unread_key(found: FooterField) -> dict[str, object]:
    return {"id": found.number, "name": found.name}


def _item_key(found: FooterField) -> dict[str, object]:
    index: dict[str, object] = {"index": found.number}
    return index if found.name is None else index | {"column": found.name}


# ------------------------------------------------------------------------------------------------
# The same in parts


def _json(found: FooterField, key: dict[str, object] | None = None) -> Iterator[bytes]:
    """The JSON of _document; that of a field of few bytes is one part."""
    if found.length <= WHOLE_BYTES:
        yield as_json(_document(key or {}, found))
        return
    content = found.content
    yield as_json((key or {}) | _head(found))[:-1]
    if content.value is not None:
        yield b',"value":'
        yield from _json_value(content.value)
    if found.stored is not None:
        yield b',"bytes":'
        yield from _json_value(found.stored)
    if content.fields is not None:
        fields = list(content.fields)
        named = ((_json_of(each.name) + b":", {"id": each.number}, each)
                 for each in fields if each.stored is None)  # fmt: skip
        yield b',"fields":'
        yield from _joined(b"{", named, b"}")
        if unread := [(b"", _unread_key(each), each) for each in fields if each.stored is not None]:
            yield b',"unknown":'
            yield from _joined(b"[", unread, b"]")
    if content.items is not None:
        yield b',"count":%d,"items":' % content.items.count
        yield from _joined(b"[", ((b"", _item_key(each), each) for each in content.items), b"]")
    yield b"}"


def _joined(
    start: bytes, found: Iterable[tuple[bytes, dict[str, object], FooterField]], end: bytes
) -> Iterator[bytes]:
    yield start
    comma = b""
    for before, key, each in found:
        yield comma + before
        yield from _json(each, key)
        comma = b","
    yield end


def _json_value(value: object) -> Iterator[bytes]:
    if isinstance(value, Several):
        yield b"["
        for index, each in enumerate(value):
            yield (b"," if index else b"") + _json_of(_plain(each))
        yield b"]"
    elif isinstance(value, str | bytes):
        yield b'"'
        for at in range(0, len(value), PART):
            yield _json_of(_plain(value[at : at + PART]))[1:-1]
        yield b'"'
    else:
        yield _json_of(_plain(value))


def _json_of(value: object) -> bytes:
    """Of a value that is no document."""
    return as_json([value])[1:-1]
