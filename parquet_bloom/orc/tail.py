"""The end of an ORC file: the footer and the postscript.

    | ORC | stripes | encrypted statistics | metadata | footer | postscript | its length (1) |
                    ^ statistics_start     ^ metadata_start    ^ postscript_start
                                                      ^ footer_start

The postscript is never compressed. Only who proves the statistics of stripes reads the metadata, which has them.

Spec: apache/orc-format, specification/ORCv1.md "File Tail".
"""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from google.protobuf.message import DecodeError

from parquet_bloom.container import number_of
from parquet_bloom.container.whole_file import what_follows_a_whole_file
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FooterError, FormatError, NotSupportedFileError, UnsupportedError
from parquet_bloom.orc.columns import OrcColumn, above, read_columns
from parquet_bloom.orc.compression import DEFAULT_BLOCK_BYTES, MAX_BLOCK_BYTES, Compression
from parquet_bloom.orc.magic import MAGIC
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.wire import Message
from parquet_bloom.parallel import check_fits

if TYPE_CHECKING:
    from parquet_bloom.storage.source import Source

# What a byte of a message can take once it is decoded: an empty message inside it has two.
DECODED: Final = 64

# Of each stripe: its place, and its footer, decoded.
_STRIPE_BYTES: Final = 3_000

# The postscript's length is one byte.
MAX_POSTSCRIPT_BYTES: Final = 255


@dataclass(frozen=True, slots=True)
class StripePlace:
    """The offset of a stripe in the file, the lengths of its regions in bytes, and its rows."""

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
    """The decoded end of a file of `size` bytes; `where` names the file.

    `postscript_raw` and `footer_raw` (decompressed) are the bytes, for lossless edits.
    """

    where: str
    size: int
    compression: Compression
    postscript: Message = field(repr=False)
    postscript_raw: bytes = field(repr=False)
    footer: Message = field(repr=False)
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
        """The start of the tail, which no stripe may reach into."""
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
            return read_columns(self.footer.types)
        except (FooterError, UnsupportedError) as error:
            raise type(error)(f"{self.where}: footer: {error}") from None

    @cached_property
    def stripes(self) -> tuple[StripePlace, ...]:
        """In file order. Raises FooterError if stripes overlap or do not fit into the file,
        UnsupportedError if there are more than fit the memory budget."""
        num_stripes = len(self.footer.stripes)
        check_fits(
            f"{self.where}: footer: {number_of(num_stripes, 'stripe')} take",
            _STRIPE_BYTES * num_stripes,
        )
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
        return places

    @cached_property
    def row_count_doubt(self) -> str:
        """What is wrong if the rows of the stripes do not add up to the file's; empty if they do: a
        lost stripe must not make a value seem absent. Some writers recorded no rows for the file."""
        held = sum(place.num_rows for place in self.stripes)
        if held == self.num_rows:
            return ""
        return f"footer: the stripes hold {held} rows, the file {self.num_rows}"

    @cached_property
    def first_rows(self) -> tuple[int, ...]:
        """The first row of each stripe, counted from the start of the file."""
        ends = accumulate((place.num_rows for place in self.stripes), initial=0)
        return tuple(ends)[:-1]

    @property
    def is_encrypted(self) -> bool:
        return bool(self.footer.HasField("encryption"))

    def check_not_encrypted(self) -> None:
        """Raise UnsupportedError for a file with encrypted columns, whose filters cannot be changed."""
        if self.is_encrypted:
            raise UnsupportedError(
                f"{self.where}: has encrypted columns: the filters of such ORC files cannot be changed"
            )

    @cached_property
    def _encrypted_roots(self) -> frozenset[int]:
        return frozenset(variant.root for variant in self.footer.encryption.variants)

    def is_encrypted_column(self, column: OrcColumn) -> bool:
        """Whether it is encrypted, by itself or with a column above it."""
        roots = self._encrypted_roots
        return bool(roots) and any(
            each.id in roots for each in (column, *above(self.columns, column))
        )


def read_tail(source: Source) -> Tail:
    """Read postscript and footer.

    Raises NotSupportedFileError if it is not an ORC file, FooterError if the tail is damaged or does
    not fit into the file, UnsupportedError for an unknown codec.
    """
    try:
        return _read_tail(source)
    except (FormatError, UnsupportedError):
        # Its last byte is the length of its postscript.
        if follow := what_follows_a_whole_file(source, MAGIC, 1, _read_tail):
            raise NotSupportedFileError(f"{source.path}: {follow}") from None
        raise


def _read_tail(source: Source) -> Tail:
    where = source.path
    raw = _read_postscript(source)
    postscript = _decoded_postscript(raw, where)
    compression = _compression(postscript, where)
    start = source.size - 1 - len(raw)
    lengths = (
        postscript.footerLength + postscript.metadataLength + postscript.stripeStatisticsLength
    )
    if lengths > start - len(MAGIC):
        raise FooterError(
            f"{where}: postscript: damaged: footer, metadata and statistics of {lengths} bytes,"
            f" expected at most {start - len(MAGIC)}"
        )
    check_fits(f"{where}: footer: takes", postscript.footerLength)
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
            f"{source.path}: truncated or not an ORC file: postscript does not end with {MAGIC.decode()}"
        )
    return raw


def _decoded_postscript(raw: bytes, where: str) -> Message:
    """Whatever byte is the last of a file that was cut, it is taken for the length of a postscript. The bytes before
    it may be one by chance, which has no footer."""
    try:
        postscript = decode(orc_pb2.PostScript, raw, where)
    except FooterError:
        postscript = None
    if postscript is None or not (raw.endswith(MAGIC) or postscript.footerLength):
        raise FooterError(
            f"{where}: truncated or not an ORC file: {number_of(len(raw), 'byte')} before the last one,"
            " expected a postscript"
        )
    return postscript


def _compression(postscript: Message, where: str) -> Compression:
    has_size = postscript.HasField("compressionBlockSize")
    block_bytes = postscript.compressionBlockSize if has_size else DEFAULT_BLOCK_BYTES
    compression = Compression(postscript.compression, block_bytes)
    if compression.codec and not 0 < block_bytes <= MAX_BLOCK_BYTES:
        raise FooterError(
            f"{where}: postscript: compressionBlockSize is {block_bytes}, expected 1 to"
            f" {MAX_BLOCK_BYTES}"
        )
    return compression


def decode(message: Message, data: bytes, where: str, room: int | None = None) -> Message:
    """Decode `data` as a `message`, a generated class. `room`: the most memory that it takes, where
    that is known to be less than what messages in a message can take. Raises FooterError,
    UnsupportedError for more than fits the memory budget."""
    check_fits(f"{where}: decoded, it takes up to", DECODED * len(data) if room is None else room)
    try:
        return message.FromString(data)
    except DecodeError:
        raise FooterError(
            f"{where}: damaged: {number_of(len(data), 'byte')}, not a {message.__name__}"
        ) from None


def expand(compression: Compression, data: bytes, where: str) -> bytes:
    """Decompress `data`. Raises FooterError and UnsupportedError, which name `where`."""
    try:
        return compression.expand(data)
    except FormatError as error:
        raise FooterError(f"{where}: damaged: {error}") from None
    except UnsupportedError as error:
        raise UnsupportedError(f"{where}: {error}") from None
