"""Plain Parquet files made into encrypted ones, module by module, in every way that the format and
its writers know. Nothing here uses what the package knows about encryption.

Spec: parquet-format, Encryption.md.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any
from zlib import crc32

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import PageType

FOOTER_KEY = b"0123456789012345"
UNIQUE = b"\1\2\3\4\5\6\7\x08"

FOOTER, META_DATA, PAGE, DICTIONARY, PAGE_HEADER, DICTIONARY_HEADER = range(6)
FILTER_HEADER, FILTER_BITSET = 8, 9


@dataclass(frozen=True)
class Recipe:
    """How to encrypt. `columns`: by dotted path, a key of its own or None for the footer key; those
    that are not named stay in plaintext, and without any names all are for the footer key.

    `padding`: zeros behind every Thrift struct, as parquet-java leaves them. `plain_levels`: the
    levels of a DataPageV2 stand before its envelope, as there. `filters`: what becomes of those of
    encrypted columns. `copies`: what is kept in redacted copies that should not be. `strange_key`,
    `strange_prefix`: kinds of modules that are sealed with others than they should be. `bound_to`: the
    ordinal that what belongs to a row group is sealed with.
    `edit`: changes the FileMetaData before it is sealed or signed.
    """

    columns: Mapping[str, bytes | None] | None = None
    footer_key: bytes = FOOTER_KEY
    algorithm: str = "AES_GCM_V1"
    plaintext_footer: bool = False
    aad_prefix: bytes = b""
    stores_prefix: bool = True
    padding: int = 0
    plain_levels: bool = False
    filters: str = "sealed"
    copies: Sequence[str] = ()
    ordinals: Callable[[int], int | None] = lambda position: position
    bound_to: Callable[[int], int] = lambda position: position
    key_ids: Mapping[str, bytes] = field(default_factory=dict)
    filter_modules: tuple[int, int] = (FILTER_HEADER, FILTER_BITSET)
    strange_key: frozenset[int] = frozenset()
    strange_prefix: frozenset[int] = frozenset()
    edit: Callable[[Any], None] = lambda footer: None

    @property
    def file_aad(self) -> bytes:
        return self.aad_prefix + UNIQUE


@dataclass(frozen=True)
class Module:
    """Where an envelope lies in the file. A ColumnMetaData lies in the footer, which can be sealed
    as well; then it has no place of its own, and `start` is None."""

    kind: int
    row_group: int | None
    column: int | None
    page: int | None
    start: int | None
    end: int | None


@dataclass(frozen=True)
class Encrypted:
    data: bytes
    modules: list[Module]

    def of(self, kind: int, row_group: int | None = None, column: int | None = None) -> Module:
        """The first module of a kind in a chunk."""
        return next(
            module
            for module in self.modules
            if (module.kind, module.row_group, module.column) == (kind, row_group, column)
        )


def aad(recipe: Recipe, kind: int, *ordinals: int) -> bytes:
    strange = b"of another table" if kind in recipe.strange_prefix else b""
    return (
        strange
        + recipe.file_aad
        + bytes([kind])
        + b"".join(n.to_bytes(2, "little") for n in ordinals)
    )


def gcm(key: bytes, plain: bytes, data: bytes) -> bytes:
    nonce = os.urandom(12)
    sealed = nonce + AESGCM(key).encrypt(nonce, plain, data)
    return len(sealed).to_bytes(4, "little") + sealed


def ctr(key: bytes, plain: bytes) -> bytes:
    nonce = os.urandom(12)
    stream = Cipher(algorithms.AES(key), modes.CTR(nonce + b"\0\0\0\1")).encryptor()
    sealed = nonce + stream.update(plain)
    return len(sealed).to_bytes(4, "little") + sealed


def encrypt(plain: bytes, recipe: Recipe) -> Encrypted:
    """An encrypted file with the same data; without page indexes."""
    return _Encryption(plain, recipe).run()


class _Encryption:
    def __init__(self, plain: bytes, recipe: Recipe) -> None:
        self.plain = plain
        self.recipe = recipe
        self.out = bytearray(b"PAR1" if recipe.plaintext_footer else b"PARE")
        self.modules: list[Module] = []
        length = int.from_bytes(plain[-8:-4], "little")
        self.footer, _ = compact.decode(ttypes.FileMetaData, plain[-8 - length : -8])

    def run(self) -> Encrypted:
        chunks = [
            (row_group, column, chunk)
            for row_group, group in enumerate(self.footer.row_groups)
            for column, chunk in enumerate(group.columns)
        ]
        for row_group, column, chunk in chunks:
            self.chunk(row_group, column, chunk)
        for row_group, column, chunk in chunks:
            self.filter(row_group, column, chunk)
        for row_group, column, chunk in chunks:
            self.meta_data(row_group, column, chunk)
        for row_group, group in enumerate(self.footer.row_groups):
            group.ordinal = self.recipe.ordinals(row_group)
            group.file_offset = None
        self.recipe.edit(self.footer)
        self.write_footer()
        return Encrypted(bytes(self.out), self.modules)

    # --------------------------------------------------------------------------------------------

    def key(self, chunk: Any) -> bytes | None:
        """The key of a chunk, None if it stays in plaintext."""
        path = ".".join(chunk.meta_data.path_in_schema)
        if self.recipe.columns is None:
            return self.recipe.footer_key
        if path not in self.recipe.columns:
            return None
        return self.recipe.columns[path] or self.recipe.footer_key

    def put(self, kind: int, place: tuple[int, ...], envelope: bytes, before: bytes = b"") -> None:
        row_group, column, page = (*place, None)[:3]
        start = len(self.out) + len(before)
        self.out += before + envelope
        self.modules.append(Module(kind, row_group, column, page, start, len(self.out)))

    def sealed(self, key: bytes, kind: int, place: tuple[int, ...], plain: bytes) -> bytes:
        key = b"s" * len(key) if kind in self.recipe.strange_key else key
        if kind in (PAGE, DICTIONARY) and self.recipe.algorithm == "AES_GCM_CTR_V1":
            return ctr(key, plain)
        ordinals = (self.recipe.bound_to(place[0]), *place[1:]) if place else ()
        return gcm(key, plain, aad(self.recipe, kind, *ordinals))

    def struct(self, key: bytes, kind: int, place: tuple[int, ...], struct: Any) -> bytes:
        encoded = struct if isinstance(struct, bytes) else compact.encode(struct)
        return self.sealed(key, kind, place, encoded + bytes(self.recipe.padding))

    def chunk(self, row_group: int, column: int, chunk: Any) -> None:
        key, meta = self.key(chunk), chunk.meta_data
        chunk.offset_index_offset = chunk.offset_index_length = None
        chunk.column_index_offset = chunk.column_index_length = None
        start = meta.data_page_offset
        if meta.dictionary_page_offset:
            start = min(start, meta.dictionary_page_offset)
        end = start + meta.total_compressed_size
        begin = len(self.out)
        chunk.file_offset = begin
        if key is None:
            self.out += self.plain[start:end]
            meta.data_page_offset += begin - start
            if meta.dictionary_page_offset:
                meta.dictionary_page_offset += begin - start
            return
        meta.data_page_offset = None
        ordinal = 0
        at = start
        while at < end:
            header, length = compact.decode(ttypes.PageHeader, self.plain[at:end])
            body = self.plain[at + length : at + length + header.compressed_page_size]
            at += length + len(body)
            ordinal += self.page((row_group, column), key, header, body, ordinal, meta)
        meta.total_compressed_size = len(self.out) - begin
        if meta.data_page_offset is None:
            meta.data_page_offset = begin

    def page(
        self, place: tuple[int, int], key: bytes, header: Any, body: bytes, ordinal: int, meta: Any
    ) -> int:
        """Write a page; 1 if it is a data page."""
        is_data = header.type != PageType.DICTIONARY_PAGE
        kinds = (PAGE_HEADER, PAGE) if is_data else (DICTIONARY_HEADER, DICTIONARY)
        own: tuple[int, ...] = (*place, ordinal) if is_data else place
        levels = b""
        if header.type == PageType.DATA_PAGE_V2 and self.recipe.plain_levels:
            v2 = header.data_page_header_v2
            split = v2.repetition_levels_byte_length + v2.definition_levels_byte_length
            levels, body = body[:split], body[split:]
        envelope = self.sealed(key, kinds[1], own, body)
        header.compressed_page_size = len(levels) + len(envelope)
        if header.crc is not None:
            crc = crc32(levels + envelope)
            header.crc = crc - (1 << 32) if crc >> 31 else crc
        if is_data and meta.data_page_offset is None:
            meta.data_page_offset = len(self.out)
        if not is_data and meta.dictionary_page_offset:
            meta.dictionary_page_offset = len(self.out)
        self.put(kinds[0], own, self.struct(key, kinds[0], own, header))
        self.put(kinds[1], own, envelope, levels)
        return int(is_data)

    def filter(self, row_group: int, column: int, chunk: Any) -> None:
        key, meta = self.key(chunk), chunk.meta_data
        offset, place = meta.bloom_filter_offset, (row_group, column)
        meta.bloom_filter_offset = meta.bloom_filter_length = None
        if offset is None or (key is not None and self.recipe.filters == "none"):
            return
        header, length = compact.decode(ttypes.BloomFilterHeader, self.plain[offset : offset + 99])
        encoded = self.plain[offset : offset + length]
        bits = self.plain[offset + length : offset + length + header.numBytes]
        meta.bloom_filter_offset = len(self.out)
        if key is None or self.recipe.filters == "plaintext":
            self.out += encoded + bits
        else:
            for kind, plain in zip(self.recipe.filter_modules, (encoded, bits), strict=True):
                padded = plain + bytes(self.recipe.padding if plain is encoded else 0)
                self.put(kind, place, self.sealed(key, kind, place, padded))
        meta.bloom_filter_length = len(self.out) - meta.bloom_filter_offset

    def meta_data(self, row_group: int, column: int, chunk: Any) -> None:
        key, recipe = self.key(chunk), self.recipe
        if key is None:
            return
        path = list(chunk.meta_data.path_in_schema)
        own = (recipe.columns or {}).get(".".join(path))
        chunk.crypto_metadata = ttypes.ColumnCryptoMetaData()
        if own is None:
            chunk.crypto_metadata.ENCRYPTION_WITH_FOOTER_KEY = ttypes.EncryptionWithFooterKey()
            if not recipe.plaintext_footer:
                return
        else:
            chunk.crypto_metadata.ENCRYPTION_WITH_COLUMN_KEY = ttypes.EncryptionWithColumnKey(
                path_in_schema=path, key_metadata=recipe.key_ids.get(".".join(path))
            )
        place = (row_group, column)
        sealed = self.struct(key, META_DATA, place, chunk.meta_data)
        chunk.encrypted_column_metadata = sealed
        self.modules.append(Module(META_DATA, row_group, column, None, None, None))
        copy = deepcopy(chunk.meta_data) if recipe.plaintext_footer else None
        for name in ("statistics", "encoding_stats", "bloom_filter_offset", "bloom_filter_length"):
            if copy is not None and name not in recipe.copies:
                setattr(copy, name, None)
        chunk.meta_data = copy

    def write_footer(self) -> None:
        recipe, footer = self.recipe, self.footer
        details = {
            "aad_file_unique": UNIQUE,
            "aad_prefix": recipe.aad_prefix if recipe.stores_prefix and recipe.aad_prefix else None,
            "supply_aad_prefix": bool(recipe.aad_prefix) and not recipe.stores_prefix,
        }
        kinds = {"AES_GCM_V1": ttypes.AesGcmV1, "AES_GCM_CTR_V1": ttypes.AesGcmCtrV1}
        algorithm = ttypes.EncryptionAlgorithm(
            **{recipe.algorithm: kinds[recipe.algorithm](**details)}
        )
        key_id = recipe.key_ids.get("")
        start = len(self.out)
        if recipe.plaintext_footer:
            footer.encryption_algorithm = algorithm
            footer.footer_signing_key_metadata = key_id
            raw = compact.encode(footer)
            signed = self.sealed(recipe.footer_key, FOOTER, (), raw)
            self.out += raw + signed[4:16] + signed[-16:]
            # A flipped bit of the signed bytes or of the signature must both be seen.
            self.modules.append(Module(FOOTER, None, None, None, start, len(self.out)))
        else:
            crypto = ttypes.FileCryptoMetaData(encryption_algorithm=algorithm, key_metadata=key_id)
            self.out += compact.encode(crypto)
            envelope = self.struct(recipe.footer_key, FOOTER, (), footer)
            self.modules.append(
                Module(FOOTER, None, None, None, len(self.out), len(self.out) + len(envelope))
            )
            self.out += envelope
        self.out += (len(self.out) - start).to_bytes(4, "little")
        self.out += b"PAR1" if recipe.plaintext_footer else b"PARE"
