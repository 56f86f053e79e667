"""The end of an ORC file: the footer and the postscript.

    | ORC | stripes | encrypted statistics | metadata | footer | postscript | its length (1) |
                    ^ statistics_start     ^ metadata_start    ^ postscript_start
                                                      ^ footer_start

The postscript is never compressed. The metadata, which holds statistics of stripes, is not read.

Spec: apache/orc-format, specification/ORCv1.md "File Tail".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from google.protobuf.message import DecodeError

from parquet_bloom.errors import FooterError, FormatError, NotSupportedFileError, UnsupportedError
from parquet_bloom.orc.columns import OrcColumn, columns_of, is_below
from parquet_bloom.orc.compression import DEFAULT_BLOCK_BYTES, MAX_BLOCK_BYTES, Compression
from parquet_bloom.orc.proto import orc_pb2

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source

MAGIC: Final = b"ORC"
# The postscript's length is one byte.
MAX_POSTSCRIPT_BYTES: Final = 255


@dataclass(frozen=True, slots=True)
class StripePlace:
    """Where a stripe lies in the file, in bytes, and how many rows it has."""

    offset: int
    index_length: int
    data_length: int
    footer_length: int
    num_rows: int

    @property
    def data_start(self) -> int:
        return self.offset + self.index_length

    @property
    def footer_start(self) -> int:
        return self.data_start + self.data_length

    @property
    def end(self) -> int:
        return self.footer_start + self.footer_length


@dataclass(frozen=True)
class Tail:
    """The decoded end of a file of `size` bytes; `where` names it.

    `postscript_raw` and `footer_raw` (decompressed) are what was decoded, for lossless edits.
    """

    where: str
    size: int
    compression: Compression
    postscript: Any = field(repr=False)
    postscript_raw: bytes = field(repr=False)
    footer: Any = field(repr=False)
    footer_raw: bytes = field(repr=False)

    @property
    def postscript_start(self) -> int:
        return self.size - 1 - len(self.postscript_raw)

    @property
    def footer_start(self) -> int:
        return self.postscript_start - int(self.postscript.footerLength)

    @property
    def metadata_start(self) -> int:
        return self.footer_start - int(self.postscript.metadataLength)

    @property
    def statistics_start(self) -> int:
        """Where the tail begins; the stripes end before it."""
        return self.metadata_start - int(self.postscript.stripeStatisticsLength)

    @property
    def num_rows(self) -> int:
        return int(self.footer.numberOfRows)

    @property
    def row_index_stride(self) -> int:
        """Rows per index group; 0 if there is no index."""
        return int(self.footer.rowIndexStride)

    @cached_property
    def columns(self) -> tuple[OrcColumn, ...]:
        """By id, the root first. Raises FooterError."""
        try:
            stored = [_StoredType(type) for type in self.footer.types]
            return columns_of(stored, [type.attributes for type in stored])
        except FooterError as error:
            raise FooterError(f"{self.where}: footer: {error}") from None

    @cached_property
    def stripes(self) -> tuple[StripePlace, ...]:
        """In the order of the footer. Raises FooterError for a stripe outside of the file, for
        overlapping stripes, and if their rows do not add up to the file's."""
        places = tuple(
            StripePlace(
                stripe.offset,
                stripe.indexLength,
                stripe.dataLength,
                stripe.footerLength,
                stripe.numberOfRows,
            )
            for stripe in self.footer.stripes
        )
        end = 0
        for index, place in enumerate(places):
            if not max(end, len(MAGIC)) <= place.offset <= place.end <= self.statistics_start:
                raise FooterError(
                    f"{self.where}: footer: stripe {index} at {place.offset} to {place.end},"
                    f" expected between {max(end, len(MAGIC))} and {self.statistics_start}"
                )
            end = place.end
        # A stripe that got lost must not make a value seem absent.
        held = sum(place.num_rows for place in places)
        if held != self.num_rows:
            raise FooterError(
                f"{self.where}: footer: the stripes hold {held} rows, the file {self.num_rows}"
            )
        return places

    @cached_property
    def first_rows(self) -> tuple[int, ...]:
        """The first row of each stripe, counted from the start of the file."""
        ends = accumulate((place.num_rows for place in self.stripes), initial=0)
        return tuple(ends)[:-1]

    @cached_property
    def encrypted_roots(self) -> tuple[int, ...]:
        """The ids of encrypted columns; all columns below them are encrypted, too."""
        return tuple(int(variant.root) for variant in self.footer.encryption.variants)

    @property
    def is_encrypted(self) -> bool:
        return bool(self.footer.HasField("encryption"))

    def is_encrypted_column(self, column: OrcColumn) -> bool:
        return any(is_below(self.columns, column, root) for root in self.encrypted_roots)


class _StoredType:
    """A type of the footer with its names decoded."""

    def __init__(self, stored: Any) -> None:
        self.kind = int(stored.kind)
        self.subtypes: Sequence[int] = list(stored.subtypes)
        self.fieldNames: Sequence[str] = [text_of(name) for name in stored.fieldNames]
        self.maximumLength = int(stored.maximumLength)
        self.precision = int(stored.precision)
        self.scale = int(stored.scale)
        self.attributes = {text_of(pair.key): text_of(pair.value) for pair in stored.attributes}


def text_of(stored: bytes) -> str:
    """Decode stored text, which should be UTF-8."""
    return stored.decode(errors="backslashreplace")


def is_orc(source: Source) -> bool:
    """Whether the file starts or ends with the magic of ORC."""
    if source.size <= len(MAGIC):
        return False
    if source.read_at(0, len(MAGIC)) == MAGIC:
        return True
    end = source.read_at(source.size - len(MAGIC) - 1, len(MAGIC) + 1)
    return end[:-1] == MAGIC and end[-1] > len(MAGIC)


def read_tail(source: Source) -> Tail:
    """Read postscript and footer.

    Raises NotSupportedFileError if it is not an ORC file, FooterError if its tail is damaged or
    contradicts its size, UnsupportedError for an unknown codec.
    """
    where = source.path
    raw = _read_postscript(source)
    postscript = decode(orc_pb2.PostScript, raw, f"{where}: postscript")
    compression = _compression(postscript, where)
    start = source.size - 1 - len(raw)
    lengths = (
        postscript.footerLength + postscript.metadataLength + postscript.stripeStatisticsLength
    )
    if lengths > start - len(MAGIC):
        raise FooterError(
            f"{where}: postscript: footer, metadata and statistics of {lengths} bytes, expected at"
            f" most {start - len(MAGIC)}"
        )
    stored = source.read_at(start - postscript.footerLength, postscript.footerLength)
    footer_raw = expand(compression, stored, f"{where}: footer")
    footer = decode(orc_pb2.Footer, footer_raw, f"{where}: footer")
    return Tail(where, source.size, compression, postscript, raw, footer, footer_raw)


def _read_postscript(source: Source) -> bytes:
    num_bytes = min(source.size, MAX_POSTSCRIPT_BYTES + 1)
    end = source.read_at(source.size - num_bytes, num_bytes)
    length = end[-1] if end else 0
    if not 0 < length < len(end):
        raise NotSupportedFileError(
            f"{source.path}: truncated or not an ORC file: postscript of {length} bytes, expected"
            f" 1 to {max(1, len(end) - 1)}"
        )
    raw = end[-1 - length : -1]
    # Hive 0.11 wrote the magic only at the start of the file.
    if not raw.endswith(MAGIC) and source.read_at(0, len(MAGIC)) != MAGIC:
        raise NotSupportedFileError(
            f"{source.path}: truncated or not an ORC file: postscript ends with {raw[-3:]!r},"
            f" expected {MAGIC!r}"
        )
    return raw


def _compression(postscript: Any, where: str) -> Compression:
    block_bytes = (
        int(postscript.compressionBlockSize)
        if postscript.HasField("compressionBlockSize")
        else DEFAULT_BLOCK_BYTES
    )
    compression = Compression(int(postscript.compression), block_bytes)
    if compression.codec and not 0 < block_bytes <= MAX_BLOCK_BYTES:
        raise FooterError(
            f"{where}: postscript: compressionBlockSize is {block_bytes}, expected 1 to"
            f" {MAX_BLOCK_BYTES}"
        )
    return compression


def decode(message: Any, data: bytes, where: str) -> Any:
    """Decode a message of this generated class from all of `data`. Raises FooterError."""
    try:
        return message.FromString(data)
    except DecodeError:
        raise FooterError(f"{where}: {len(data)} bytes, not a {message.__name__}") from None


def expand(compression: Compression, data: bytes, where: str) -> bytes:
    """Decompress the chunks in `data`. Raises FooterError or UnsupportedError, naming `where`."""
    try:
        return compression.expand(data)
    except FormatError as error:
        raise FooterError(f"{where}: {error}") from None
    except UnsupportedError as error:
        raise UnsupportedError(f"{where}: {error}") from None
