"""What sketches are made of, as bytes: a document of JSON, and arrays.

    | magic | size of the header, 8 bytes | header, JSON | array | array | ... |     all but the magic in zlib
    header: {"document": ..., "arrays": [["<u8", 12], ...]}

All numbers are little-endian. The same content gives the same bytes.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.advice.lookups import OrderKey
from parquet_bloom.errors import FormatError

Array = NDArray[Any]

# The last byte is the version.
MAGIC: Final = b"PBSKETC\x01"
_SIZE_BYTES: Final = 8
_DTYPES: Final = frozenset({"<u8", "<i8", "<f8", "|u1"})
# Sketches travel once; higher levels take longer and save little.
_LEVEL: Final = 1


def packed(document: object, arrays: Iterable[Array]) -> bytes:
    """The document, which JSON can hold, and the arrays, of shape (n,)."""
    arrays = [np.ascontiguousarray(each) for each in arrays]
    shapes = [[each.dtype.str, each.size] for each in arrays]
    header = json.dumps({"document": document, "arrays": shapes}, sort_keys=True).encode()
    body = [
        len(header).to_bytes(_SIZE_BYTES, "little"),
        header,
        *(each.tobytes() for each in arrays),
    ]
    return MAGIC + zlib.compress(b"".join(body), _LEVEL)


def unpacked(data: bytes) -> tuple[Any, Iterator[Array]]:
    """The document, and the arrays in order. Raises FormatError for bytes that `packed` did not make."""
    if data[: len(MAGIC)] != MAGIC:
        raise FormatError(f"sketch: begins with {data[: len(MAGIC)]!r}, expected {MAGIC!r}")
    try:
        body = zlib.decompress(data[len(MAGIC) :])
        start = _SIZE_BYTES + int.from_bytes(body[:_SIZE_BYTES], "little")
        header = json.loads(body[_SIZE_BYTES:start])
        arrays = list(_arrays(body, start, header["arrays"]))
        return header["document"], iter(arrays)
    except (zlib.error, ValueError, KeyError, TypeError) as error:
        raise FormatError(f"sketch: damaged: {error}") from None


def _arrays(body: bytes, start: int, shapes: Sequence[tuple[str, int]]) -> Iterator[Array]:
    for dtype, size in shapes:
        if dtype not in _DTYPES:
            raise ValueError(f"array of {dtype}")
        found = np.frombuffer(body, dtype, size, start)
        start += found.nbytes
        yield found


# ------------------------------------------------------------------------------------------------
# Places in the order of a column

Keys = Sequence[OrderKey | None]


def key_arrays(keys: Keys) -> tuple[str, list[Array]]:
    """What the keys are, and them as arrays; None is one of them where the first array has a 0."""
    is_known = np.array([key is not None for key in keys], np.uint8)
    known: list[Any] = [key for key in keys if key is not None]
    kind = _kind(known)
    return kind, [is_known, *_TO_ARRAYS[kind](known)]


def keys_of(kind: str, arrays: Iterator[Array]) -> list[OrderKey | None]:
    """The keys again, from the next of the arrays."""
    is_known = next(arrays)
    known = iter(_FROM_ARRAYS[kind](arrays))
    return [next(known) if each else None for each in is_known.tolist()]


def _kind(known: Sequence[Any]) -> str:
    types = {type(key) for key in known}
    if types <= {int} and all(-(1 << 63) <= key < 1 << 63 for key in known):
        return "integers"
    if types == {float}:
        return "floats"
    return "bytes" if types == {bytes} else "numbers"


def _bytes_to_arrays(texts: Sequence[bytes]) -> list[Array]:
    lengths = np.array([len(text) for text in texts], np.int64)
    return [lengths, np.frombuffer(b"".join(texts), np.uint8)]


def _bytes_from_arrays(arrays: Iterator[Array]) -> list[bytes]:
    ends = np.cumsum(next(arrays)).tolist()
    joined = next(arrays).tobytes()
    return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _number_texts(numbers: Sequence[int | Decimal]) -> list[Array]:
    """Integers of any size are marked by an `i`."""
    texts = (f"{number}i" if isinstance(number, int) else str(number) for number in numbers)
    return _bytes_to_arrays([text.encode() for text in texts])


def _numbers_from_texts(arrays: Iterator[Array]) -> list[int | Decimal]:
    texts = [text.decode() for text in _bytes_from_arrays(arrays)]
    return [int(text[:-1]) if text.endswith("i") else Decimal(text) for text in texts]


_TO_ARRAYS: Final[dict[str, Callable[[Any], list[Array]]]] = {
    "integers": lambda keys: [np.array(keys, np.int64)],
    "floats": lambda keys: [np.array(keys, np.float64)],
    "bytes": _bytes_to_arrays,
    "numbers": _number_texts,
}
_FROM_ARRAYS: Final[dict[str, Callable[[Iterator[Array]], list[Any]]]] = {
    "integers": lambda arrays: list(next(arrays).tolist()),
    "floats": lambda arrays: list(next(arrays).tolist()),
    "bytes": _bytes_from_arrays,
    "numbers": _numbers_from_texts,
}
