"""The deletion vectors of a Delta table: in its log, or in files of its folder.

    file: version 1 | …, at the offset: size 4 | the vector | CRC-32 4                        big-endian

Spec: PROTOCOL.md, "Deletion Vectors", "Deletion Vector File Storage Format".
"""

from __future__ import annotations

import binascii
from base64 import b85decode
from contextlib import closing
from typing import Final
from uuid import UUID

from parquet_bloom.errors import FormatError, UnsupportedError
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.storage import open_source
from parquet_bloom.storage.folder import Folder
from parquet_bloom.tables.deletion_vectors import rows_in
from parquet_bloom.tables.delta.action import Action
from parquet_bloom.tables.delta.features import is_outside

# Z85 writes the digits of base64.b85decode in this way.
_DIGITS: Final = (
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
)
_OF_B85: Final = (
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
)
_TO_B85: Final = str.maketrans(_DIGITS, _OF_B85)
# Of a UUID.
_NUM_DIGITS: Final = 20
# Behind the version, unless it says otherwise.
_FIRST: Final = 1


def deleted_rows(folder: Folder, where: str, vector: Action) -> NDArray[np.int64]:
    """The rows of a file that its `deletionVector` deletes, ascending. Raises FormatError,
    UnsupportedError, OSError."""
    try:
        size, expected = int(vector["sizeInBytes"]), int(vector["cardinality"])
        data = _stored(folder, where, vector, size)
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{where}: its deletion vector does not follow the protocol") from None
    rows = rows_in(data, where)
    if len(rows) != expected:
        raise FormatError(f"{where}: deletion vector of {len(rows)} rows, expected {expected}")
    return rows


def _stored(folder: Folder, where: str, vector: Action, size: int) -> bytes:
    text = vector["pathOrInlineDv"]
    match vector["storageType"]:
        case "i":
            return _decoded(text)[:size]
        case "u":
            name = f"deletion_vector_{UUID(bytes=_decoded(text[-_NUM_DIGITS:]))}.bin"
            name = "/".join(filter(None, (text[:-_NUM_DIGITS], name)))
        case kind:
            raise UnsupportedError(
                f"{where}: its deletion vector is stored as {kind!r}, expected in the log or the table's folder"
            )
    if is_outside(name):
        raise UnsupportedError(f"{where}: its deletion vector {name} is outside of the table")
    return _of_file(folder.path_of(name), int(vector.get("offset") or _FIRST), size)


def _decoded(text: str) -> bytes:
    """Raises ValueError."""
    return b85decode(text.translate(_TO_B85))


def _of_file(path: str, offset: int, size: int) -> bytes:
    with closing(open_source(path)) as source:
        read = bytes(source.read_at(offset, size + 8))
    data = read[4:-4]
    if int.from_bytes(read[:4], "big") != size:
        raise FormatError(f"{path}: deletion vector at {offset}: another size than in the log")
    if int.from_bytes(read[-4:], "big") != binascii.crc32(data):
        raise FormatError(f"{path}: deletion vector at {offset}: checksum does not match")
    return data
