"""What is fuzzed: each target takes any bytes, and nothing but the errors that users see comes out.

file      a whole file, Parquet or ORC
footer    FileMetaData, behind the data of a sound file
data      the beginning of a sound file, whose footer stays: pages, headers and bits of filters
streams   the same of an ORC file
literal   a literal for a column of each type
kernel    a function of the kernel, and its bytes
"""

from __future__ import annotations

import io
import json
from array import array
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from parquet_bloom.container.data_file import DataFile
from parquet_bloom.errors import NotSupportedFileError, ParquetBloomError, ValueTypeError
from parquet_bloom.legacy import kind as legacy
from parquet_bloom.native import _kernel
from parquet_bloom.options import BuildOptions, InspectOptions, ValidateOptions
from parquet_bloom.orc.file import OrcContainer
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.storage.new_version import ImaginedVersion
from parquet_bloom.storage.source import Window, check_length
from parquet_bloom.values.literals import encode_literal, format_literal
from parquet_bloom.verbs.dump_footer import dump_footer_of
from parquet_bloom.verbs.inspect import inspect_file
from parquet_bloom.verbs.validate import validate_file

CORPUS = Path(__file__).parent / "corpus"

# What a user may meet; anything else is a defect.
ALLOWED = (ParquetBloomError, OSError)

# Of the columns, so many are built: a damaged schema can have thousands.
MOST_COLUMNS = 50


class MemorySource:
    """A Source of bytes."""

    is_remote = False
    held_ahead = 0
    requests = None
    version = ""

    def __init__(self, data: bytes) -> None:
        self.path = "fuzzed"
        self.size = len(data)
        self.bytes_read = 0
        self._data = data

    def read_at(self, offset: int, length: int) -> bytes:
        data = self._data[offset : offset + length] if offset >= 0 and length >= 0 else b""
        check_length(self.path, offset, length, len(data))
        self.bytes_read += length
        return data

    def will_read(self, ranges: Iterable[tuple[int, int]]) -> None:
        return

    def window(self) -> Window:
        return Window(self)

    def check_unchanged(self) -> None:
        return

    check_one_version = check_unchanged

    def close(self) -> None:
        return


def opened(data: bytes) -> Any:
    source = MemorySource(data)
    try:
        return ParquetContainer(source, None, legacy)
    except NotSupportedFileError:
        return OrcContainer(source)


def use(data: bytes) -> None:
    """What all verbs do with a file."""
    with suppress(*ALLOWED):
        file = opened(data)
        offered = DataFile(file)
        columns = file.columns[:MOST_COLUMNS]
        with suppress(*ALLOWED):
            inspect_file(file, InspectOptions())
        with suppress(*ALLOWED):
            json.loads(b"".join(dump_footer_of(file, None, None).json_parts()))
        with suppress(*ALLOWED):
            has_pages = file.format == "parquet"
            options = ValidateOptions(threads=1, diagnose=True, pages=has_pages)
            validate_file(file, options)
        for column in columns:
            for text in ("7", "a", "2020-01-01"):
                with suppress(*ALLOWED):
                    offered.probe(column, text)
            with suppress(*ALLOWED):
                change = file.build(BuildOptions(columns=(column,), existing="replace", threads=1))
                change.compose(ImaginedVersion(change.prefix))


@cache
def seed(name: str) -> bytes:
    return (CORPUS / "file" / name).read_bytes()


def file(data: bytes) -> None:
    use(data)


def footer(data: bytes) -> None:
    sound = seed("filters.parquet")
    start = len(sound) - 8 - int.from_bytes(sound[-8:-4], "little")
    use(sound[:start] + data + len(data).to_bytes(4, "little") + b"PAR1")


def data(data: bytes) -> None:
    """The first byte chooses the file."""
    names = sorted(path.name for path in (CORPUS / "file").glob("*.parquet"))
    _overwrite(names, 4, data)


def streams(data: bytes) -> None:
    _overwrite(sorted(path.name for path in (CORPUS / "file").glob("*.orc")), 3, data)


def _overwrite(names: list[str], magic: int, data: bytes) -> None:
    if data:
        sound = seed(names[data[0] % len(names)])
        use(sound[:magic] + data[1:] + sound[magic + len(data) - 1 :])


@cache
def _leaves() -> list[Any]:
    files = [opened(seed(path.name)) for path in sorted((CORPUS / "file").glob("*.parquet"))]
    return [leaf.type for each in files for leaf in each.footer.leaves]


def literal(data: bytes) -> None:
    """The first byte chooses the type."""
    text = data[1:].decode(errors="surrogateescape")
    if not data:
        return
    leaf = _leaves()[data[0] % len(_leaves())]
    with suppress(ValueTypeError):
        found = encode_literal(leaf, text)
        for plain in found.plain:
            format_literal(leaf, plain)


def _delta(data: bytes) -> None:
    for _ in _kernel.DeltaDecoder(data):
        pass


def _alp(data: bytes) -> None:
    """The first byte chooses the type."""
    for _ in _kernel.AlpDecoder(data[1:], 4 + data[0] % 2 * 4 if data else 4):
        pass


def _orc(decode: Callable[..., tuple[int, int]], room: Any, data: bytes) -> None:
    """Into this room, again and again, up to the end."""
    at, count = 0, len(room)
    while count == len(room):
        count, at = decode(data, at, room)


def _picked(data: bytes) -> None:
    """Lengths of 0 and 1, and entries of which some are there."""
    numbers = np.frombuffer(data, np.uint8).astype(np.int64)
    starts = _kernel.orc_starts(numbers % 2, len(data))
    _kernel.orc_picked(data, starts, numbers // 2, 1 << 16)
    if data:
        _kernel.orc_extremes(data, starts)


def _many(data: bytes) -> None:
    everything = _kernel.Ranges(array("q", []), len(data), "pages", "indexes", "filters")
    size = array("q", [len(data)])
    _kernel.ordinary_filters(data, 0, array("q", [0]), size, everything)


def _joined(data: bytes) -> None:
    """Prefixes and suffixes of 0 to 15 bytes, and the bytes themselves."""
    numbers = np.frombuffer(data, np.uint8).astype(np.int64)
    _kernel.delta_join(data, numbers % 16, numbers // 16, 16 * len(data))


# Type, width, whether it is a float, and levels.
_COLUMNS = (
    *((1, 4, False, 0, 0), (2, 8, False, 0, 1), (5, 8, True, 0, 0), (6, 0, False, 0, 0)),
    *((6, 0, False, 1, 2), (7, 12, False, 0, 0), (7, 3, False, 0, 1), (4, 4, True, 0, 0)),
)
_ENCODINGS = (0, 5, 6, 7, 9, 10)


def _varint(number: int) -> bytes:
    return bytes([number & 127 | 128]) + _varint(number >> 7) if number > 127 else bytes([number])


def _whole(data: bytes) -> None:
    """A page of bytes behind the first three, which choose its column, encoding and number of values;
    or else whatever begins with a header."""
    with_header = data
    if data[0] < 224:
        count, body = data[2] if data[2] < 200 else data[2] << 8, data[3:]
        numbers = 0, len(body), len(body), count, _ENCODINGS[data[1] % len(_ENCODINGS)], 3, 3
        fields = [_varint(2 * number) for number in numbers]
        with_header = b"\x15" + b"\x15".join(fields[:3]) + b"\x2c\x15" + b"\x15".join(fields[3:])
        with_header += bytes(2) + body
    column = _COLUMNS[data[0] % len(_COLUMNS)]
    pages = _kernel.WholePages(column, 1 << 20, False, (None, ValueError, 1 << 20))
    # Where a buffer ends, a sanitizer sees.
    pages.find(memoryview(io.BytesIO(with_header).getvalue()), 1 << 62, 1 << 20)
    found = io.BytesIO(with_header[: pages.num_bytes]).getvalue()
    words, room = _kernel.clear_words(2), memoryview(bytearray())
    pages.insert(words, memoryview(found), room, 1 << 62, _kernel.Turns())


# Each takes the bytes; the sizes are small ones that a page could claim.
KERNEL: tuple[Callable[[bytes], Any], ...] = (
    _kernel.struct_end,
    _kernel.fields,
    lambda data: _kernel.elements(data, 0),
    lambda data: _kernel.chunks(data, array("q", [0, len(data) // 2]), data[0] >> 4 if data else 0),
    lambda data: _kernel.row_groups(data, array("q", [0, len(data) // 2])),
    _kernel.count_byte_array,
    _kernel.hash_byte_array,
    lambda data: _kernel.insert_byte_array(memoryview(bytearray(64)).cast("I"), data),
    lambda data: _kernel.hash_byte_array(data, len(data) % 9),
    lambda data: _kernel.check_byte_array(_kernel.clear_words(2), data, len(data) % 9),
    lambda data: _kernel.count_levels(data, 1 + len(data) % 32, 1000, 1),
    lambda data: _kernel.count_bit_packed_levels(data, 1 + len(data) % 32, 1000, 1),
    lambda data: _kernel.mark_indices(data, len(data) % 33, 1000, bytearray(100)),
    lambda data: _kernel.decode_hybrid(data, len(data) % 33, 1000),
    _delta,
    _alp,
    _many,
    lambda data: _orc(_kernel.OrcIntegers(1, True).decode, np.empty(100, np.int64), data),
    lambda data: _orc(_kernel.OrcIntegers(2, True).decode, np.empty(100, np.int64), data),
    lambda data: _orc(_kernel.OrcIntegers(2, False).decode, np.empty(100, np.int64), data),
    lambda data: _orc(_kernel.OrcBytes().decode, np.empty(100, np.uint8), data),
    lambda data: _orc(_kernel.orc_decimals, np.empty((100, 2), np.uint64), data),
    _picked,
    _kernel.page_header,
    _kernel.delta_end,
    _joined,
    lambda data: _kernel.join_streams(data, 1 + len(data) % 9),
    lambda data: _kernel.xxh64_fixed(data, 1 + len(data) % 99),
    lambda data: _whole(data) if len(data) > 3 else None,
)


def kernel(data: bytes) -> None:
    """The first byte chooses the function."""
    if data:
        with suppress(ValueError, OverflowError):
            # A buffer of its own, so that a sanitizer sees where it ends.
            KERNEL[data[0] % len(KERNEL)](io.BytesIO(data[1:]).getvalue())


TARGETS: dict[str, Callable[[bytes], None]] = {
    each.__name__: each for each in (file, footer, data, streams, literal, kernel)
}


def seeds_of(target: str) -> list[bytes]:
    """What a target takes, made of the files in the corpus."""
    files = sorted((CORPUS / "file").iterdir())
    if target == "file":
        return [seed(path.name) for path in files]
    if target == "footer":
        parquet = [seed(path.name) for path in files if path.suffix == ".parquet"]
        return [each[-8 - int.from_bytes(each[-8:-4], "little") : -8] for each in parquet]
    if target in ("data", "streams"):
        suffix = ".orc" if target == "streams" else ".parquet"
        found = [seed(path.name) for path in files if path.suffix == suffix]
        return [bytes([index]) + each[4:600] for index, each in enumerate(found)]
    if target == "literal":
        texts = (b"7", b"-1.5", b"nan", b"2020-01-01T00:00:00Z", b"01:02:03.5", b"0x00ff", b"true")
        return [bytes([kind]) + text for kind in range(40) for text in texts]
    found = [bytes([kind]) + seed("filters.parquet")[-700:] for kind in range(len(KERNEL))]
    found.append(bytes([KERNEL.index(_alp), 1]) + _DECIMALS)
    return found + [bytes([len(KERNEL) - 1]) + each for each in _sections()]


# ALP: three values of 4 bits each, the second of which is an exception of eight bytes.
_DECIMALS = bytes.fromhex(
    "000003 03000000 04000000 0201 0100 6400000000000000 04 2103 0100 000000000000f03f"
)


def _sections() -> list[bytes]:
    """Pages of three values for _whole in each encoding that a column may have."""
    numbers = bytes.fromhex("8001 04 03 0a 01 02000000 80808080 80808080".replace(" ", ""))
    starts = bytes.fromhex("8001 04 03 00 02 01000000 02000000".replace(" ", ""))
    bodies = [bytes(24), numbers, numbers + bytes(24), starts + numbers + bytes(24), bytes(36)]
    bodies.append(_DECIMALS)
    return [
        bytes([column, encoding, 3]) + levels + body
        for column in range(len(_COLUMNS))
        for encoding, body in enumerate(bodies)
        for levels in (b"", bytes([2, 0, 0, 0, 6, 1]), bytes([2, 0, 0, 0, 6, 0] * 2))
    ]
