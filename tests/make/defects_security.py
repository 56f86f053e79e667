"""Files that give away what they encrypt, or that encrypt as nobody else does."""

from typing import Any

from make.defects_files import Defect, encrypted, making, sound
from make.encrypting import FILTER_BITSET, FILTER_HEADER, FOOTER_KEY, Encrypted, Recipe, encrypt
from make.footers import edited

from parquet_bloom.encryption.keys import Keys

KEYS = Keys(footer=FOOTER_KEY, columns={"a": b"k" * 16})
OWN_KEY = {"a": b"k" * 16}


def sealed(**more: Any) -> Encrypted:
    """Column `a` is encrypted with a key of its own, under a signed footer."""
    return encrypt(sound(), Recipe(columns=OWN_KEY, plaintext_footer=True, **more))


def flipped(kind: int, row_group: int) -> bytes:
    """With another bit in the middle of one module of the filter of `a`."""
    made = sealed()
    module = made.of(kind, row_group, 0)
    data = bytearray(made.data)
    assert module.start is not None
    assert module.end is not None
    data[(module.start + module.end) // 2] ^= 1
    return bytes(data)


def leaked() -> bytes:
    return sealed(filters="plaintext", copies=("bloom_filter_offset", "bloom_filter_length")).data


def same_ordinals() -> bytes:
    """Both row groups say that they are the first one, and what is in them is bound to that."""
    return sealed(ordinals=lambda position: 0, bound_to=lambda position: 0).data


def unsigned() -> bytes:
    """Without what the footer says of encryption, and without its signature."""

    def edit(footer: Any) -> None:
        footer.encryption_algorithm = None

    return edited(sealed().data, edit)


def unmasked() -> bytes:
    """Column `a` is shown as if it had never been encrypted; the signature cannot fit."""

    def edit(footer: Any) -> None:
        for group in footer.row_groups:
            group.columns[0].crypto_metadata = group.columns[0].encrypted_column_metadata = None

    return edited(sealed().data, edit)


SECURITY = (
    Defect("plaintext", "PB501", making(lambda: encrypted(sound(), 0)), issue="B10"),
    Defect("row group 1", "PB501", making(lambda: encrypted(sound(), 1)), 1, "s", issue="B10"),
    Defect("seen without a key", "PB501", making(leaked)),
    Defect("seen with the key", "PB501", making(leaked), 1, keys=KEYS),
    Defect("header", "PB502", making(lambda: flipped(FILTER_HEADER, 1)), 1, keys=KEYS),
    Defect("bitset", "PB502", making(lambda: flipped(FILTER_BITSET, 0)), keys=KEYS),
    Defect("as arrow-rs did", "PB503", making(lambda: sealed(copies=("statistics",)).data), None),
    Defect("encodings", "PB504", making(lambda: sealed(copies=("encoding_stats",)).data), None),
    Defect("parquet-go", "PB505", making(lambda: sealed(filter_modules=(6, 7)).data), keys=KEYS),
    Defect(
        "no column key",
        "PB313",
        making(lambda: sealed().data),
        policy={"require": ("a",)},
    ),
    Defect("no footer key", "PB506", making(lambda: sealed().data), None, None),
    Defect(
        "as parquet-java does",
        "PB507",
        making(lambda: sealed(copies=("bloom_filter_offset", "bloom_filter_length")).data),
        None,
        keys=KEYS,
    ),
    Defect("same ordinals", "PB115", making(same_ordinals), None, None, keys=KEYS),
    Defect("no signature", "PB508", making(unsigned), None, None),
    Defect("a column in plaintext", "PB508", making(unmasked), None, keys=Keys(columns=OWN_KEY)),
)
