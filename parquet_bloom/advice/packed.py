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

from parquet_bloom.advice.order import Keys, array_of
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


def key_arrays(keys: Keys) -> tuple[str, list[Array]]:
    """What the keys are, and them as arrays; a value has none where the first array has a 0."""
    # However it came about that they are objects.
    known = array_of(keys.known.tolist()) if keys.values.dtype == object else keys.known
    kind = _kind(known)
    return kind, [keys.is_known.astype(np.uint8), *_TO_ARRAYS[kind](known)]


def keys_of(kind: str, arrays: Iterator[Array]) -> Keys:
    """The keys again, from the next of the arrays."""
    is_known = next(arrays).astype(np.bool_)
    return Keys.spread(_FROM_ARRAYS[kind](arrays), is_known)


def _kind(known: Array) -> str:
    if known.size == 0 or known.dtype == np.int64:
        return "integers"
    if known.dtype == np.float64:
        return "floats"
    return "bytes" if isinstance(known[0], bytes) else "numbers"


def _bytes_to_arrays(texts: Sequence[bytes]) -> list[Array]:
    lengths = np.array([len(text) for text in texts], np.int64)
    return [lengths, np.frombuffer(b"".join(texts), np.uint8)]


def _bytes_from_arrays(arrays: Iterator[Array]) -> list[bytes]:
    ends = np.cumsum(next(arrays)).tolist()
    joined = next(arrays).tobytes()
    return [joined[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _number_texts(numbers: Iterable[int | Decimal]) -> list[Array]:
    """Integers of any size are marked by an `i`."""
    texts = (f"{number}i" if isinstance(number, int) else str(number) for number in numbers)
    return _bytes_to_arrays([text.encode() for text in texts])


def _numbers_from_texts(arrays: Iterator[Array]) -> list[int | Decimal]:
    texts = [text.decode() for text in _bytes_from_arrays(arrays)]
    return [int(text[:-1]) if text.endswith("i") else Decimal(text) for text in texts]


_TO_ARRAYS: Final[dict[str, Callable[[Array], list[Array]]]] = {
    "integers": lambda keys: [keys.astype(np.int64)],
    "floats": lambda keys: [keys],
    "bytes": lambda keys: _bytes_to_arrays(keys.tolist()),
    "numbers": lambda keys: _number_texts(keys.tolist()),
}
_FROM_ARRAYS: Final[dict[str, Callable[[Iterator[Array]], Array]]] = {
    "integers": next,
    "floats": next,
    "bytes": lambda arrays: array_of(_bytes_from_arrays(arrays)),
    "numbers": lambda arrays: array_of(_numbers_from_texts(arrays)),
}
