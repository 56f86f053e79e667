"""Read the end of a file: the footer, its length, and the magic, which tells encrypted footers.

Spec: parquet-format, README.md "File format".
"""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from parquet_bloom.container import number_of
from parquet_bloom.container.whole_file import end_of_whole_file, what_follows_a_whole_file
from parquet_bloom.errors import (
    EncryptionError,
    FooterError,
    FormatError,
    MissingKeyError,
    NotSupportedFileError,
    UnsupportedError,
)
from parquet_bloom.parallel import check_fits
from parquet_bloom.parquet.footer.footer import Footer
from parquet_bloom.parquet.sealed.protection import MAGIC, MAGIC_ENCRYPTED, UnsignedFooter
from parquet_bloom.storage.source import Cut

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.storage.source import Source

TAIL_BYTES = 8
# Where bytes that others added would be behind a whole file.
_NEAR_END = 64

# How files end that are newer than what is read here.
# Source: parquet-format #588 (a draft), BinaryProtocolExtensions.md (an example).
_NEWER = {
    b"PARX": "a footer with flags and a checksum",
    b"PAR3": "a footer in FlatBuffers only",
}

# What other files begin or end with.
_KINDS = {
    MAGIC: "Parquet",
    MAGIC_ENCRYPTED: "encrypted Parquet",
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "Zstandard",
    b"PK\x03\x04": "ZIP",
    b"Obj\x01": "Avro",
    b"ARRO": "Arrow",
    b"tml>": "HTML",
    b"<!DOCTYPE html": "HTML",
    b"<!doctype html": "HTML",
    b"<html": "HTML",
    b"<?xml": "XML",
    b"version https://git-lfs": "a Git LFS pointer",
}
# As long as the longest of these, and as what of a file is looked at for zeros.
_KIND_BYTES = 64


def read_footer(source: Source, keys: Keys | None = None) -> Footer:
    """Read and scan the footer of a file.

    Raises NotSupportedFileError if it is not a Parquet file, UnsupportedError for a newer kind of
    footer, FooterError if the footer is damaged;
    for an encrypted footer MissingKeyError, TamperedError, or UnsupportedError for encryption that
    violates the format; EncryptionError if the footer is in plaintext but `keys` has a key for it.
    """
    where = source.path
    if source.size < len(MAGIC) + TAIL_BYTES:
        is_cut = _beginning(source).startswith((MAGIC, MAGIC_ENCRYPTED))
        raise NotSupportedFileError(
            f"{where}: {'truncated or ' * is_cut}not a Parquet file: {source.size} bytes, expected"
            f" {len(MAGIC) + TAIL_BYTES} or more"
        )
    tail = bytes(source.read_at(source.size - TAIL_BYTES, TAIL_BYTES))
    # To read the head would take a request, and the tail says the same.
    if (newer := _NEWER.get(tail[4:])) is not None:
        raise UnsupportedError(
            f"{where}: ends with {tail[4:]!r}: {newer} is newer than this version, and not supported"
        )
    head = tail[4:] if source.is_remote else bytes(source.read_at(0, len(MAGIC)))
    magic = MAGIC_ENCRYPTED if head == MAGIC_ENCRYPTED else MAGIC
    if head != magic and not source.is_remote:
        if _has_footer(source, tail, keys):
            raise NotSupportedFileError(
                f"{where}: ends with a footer, but does not start with {MAGIC.decode()}: its beginning is lost: take"
                " another copy of the file"
            )
        raise NotSupportedFileError(
            f"{where}: not a Parquet file: does not start with {MAGIC.decode()}{_as_others(_beginning(source))}"
        )
    if tail[4:] != magic:
        if follow := what_follows_a_whole_file(source, magic, 0, partial(read_footer, keys=keys)):
            raise NotSupportedFileError(f"{where}: {follow}")
        if more := _bytes_behind(source, magic):
            raise NotSupportedFileError(
                f"{where}: ends {number_of(more, 'byte')} behind {magic.decode()}, which ends a Parquet file:"
                " expected none, as readers look for it at the end"
            )
        raise NotSupportedFileError(
            f"{where}: truncated or not a Parquet file: does not end with {magic.decode()}{_as_others(tail[4:])}"
        )
    length = int.from_bytes(tail[:4], "little")
    start = source.size - TAIL_BYTES - length
    if start < len(MAGIC):
        raise FooterError(
            f"{where}: footer: damaged: its length is {length}, expected at most"
            f" {source.size - TAIL_BYTES - len(MAGIC)}"
        )
    check_fits(f"{where}: footer: takes", length)
    return _protected(bytes(source.read_at(start, length)), magic, start, where, keys)


def last_end(source: Source, keys: Keys | None) -> int | None:
    """Where the last whole Parquet file ends in what has lost its own end; None if none does near what is left."""
    magic = bytes(source.read_at(0, min(source.size, len(MAGIC))))
    if magic not in (MAGIC, MAGIC_ENCRYPTED):
        return None
    with suppress(EncryptionError, FormatError, UnsupportedError):
        read_footer(Cut(source, source.size), keys)
        return source.size
    return end_of_whole_file(source, magic, 0, partial(read_footer, keys=keys))


def _has_footer(source: Source, tail: bytes, keys: Keys | None) -> bool:
    """Whether a file that does not start as one ends with a footer that can be read."""
    length, magic = int.from_bytes(tail[:4], "little"), tail[4:]
    start = source.size - TAIL_BYTES - length
    if magic not in (MAGIC, MAGIC_ENCRYPTED) or start < 0:
        return False
    check_fits(f"{source.path}: footer: takes", length)
    with suppress(EncryptionError, FormatError, UnsupportedError):
        _protected(bytes(source.read_at(start, length)), magic, start, source.path, keys)
        return True
    return False


def _bytes_behind(source: Source, magic: bytes) -> int:
    """How many bytes follow what looks like the end of a file, such as a line's; 0 if nothing does nearby."""
    near = min(source.size, _NEAR_END)
    found = bytes(source.read_at(source.size - near, near)).rfind(magic)
    return near - found - len(magic) if found > 0 else 0


def _beginning(source: Source) -> bytes:
    return bytes(source.read_at(0, min(_KIND_BYTES, source.size))) if source.size else b""


def _as_others(found: bytes) -> str:
    """`, but as gzip does`; empty for bytes that may be data, which no message shows."""
    if len(found) == _KIND_BYTES and not any(found):
        return ", but with zeros"
    kind = next((kind for magic, kind in _KINDS.items() if found.startswith(magic)), None)
    return "" if kind is None else f", but as {kind} does"


def _protected(data: bytes, magic: bytes, start: int, where: str, keys: Keys | None) -> Footer:
    """The footer in `data`. Only encrypted files import what they need."""
    if magic == MAGIC_ENCRYPTED:
        from parquet_bloom.parquet.sealed.encrypted_footer import open_sealed_footer

        return open_sealed_footer(data, start, where, keys)
    footer = Footer(data, start, where)
    if not footer.is_signed:
        check_may_be_plain(keys, where)
        is_plain = not any(footer.chunks.every("has_crypto_metadata"))
        return footer if is_plain else Footer(data, start, where, UnsignedFooter())
    from parquet_bloom.parquet.sealed.encrypted_footer import verify_signed_footer

    return verify_signed_footer(footer, keys)


def check_may_be_plain(keys: Keys | None, where: str) -> None:
    """Raise EncryptionError if `keys` has a footer key or an AAD prefix, so the file should be
    encrypted: somebody may have replaced it with a plain one, which nothing else would reveal."""
    if keys is None:
        return
    if keys.aad_prefix is None:
        try:
            keys.footer_key(None)
        except MissingKeyError:
            return
    raise EncryptionError(
        f"{where}: the footer is neither encrypted nor signed, although a key or an AAD prefix was"
        " given for it: ask files that are meant to be plain without these"
    )
