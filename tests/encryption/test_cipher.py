"""Modules of encrypted files: exact bytes, every tampering seen, nothing of a key in sight."""

import copy
import pickle
import tracemalloc

import pytest
from conftest import SHARED, missing

from parquet_bloom.encryption import cipher as ciphers
from parquet_bloom.encryption.cipher import (
    CTR_OVERHEAD,
    GCM_OVERHEAD,
    SIGNATURE_BYTES,
    Algorithm,
    FileCipher,
    Key,
    Module,
    envelope_size,
    file_cipher,
)
from parquet_bloom.errors import EncryptionError, MissingKeyError, TamperedError, UnsupportedError
from parquet_bloom.parquet.filters.bloom import encode_header
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

SECRET = b"1234567890123450"
NONCE = bytes(range(12))
FILE_AAD = b"tester" + bytes(range(1, 9))
GCM, CTR = Algorithm.AES_GCM_V1, Algorithm.AES_GCM_CTR_V1
PLACE = (1, 2)
PAGE = (*PLACE, 3)

# A 32-byte bitset with the INT64 5 inserted, and the header of one of 1024 bytes.
BITSET = bytes.fromhex("0080000000080000000100000000000800010000004000004000000000004000")
HEADER = bytes.fromhex("1580101c1c00001c1c00001c1c000000")
SEALED_HEADER = bytes.fromhex(
    "2c000000000102030405060708090a0b6794351bc04c053cd185b94b6ee278a3bf874a72637f869a110c17b0739f49"
    "d1"
)
SEALED_BITSET = bytes.fromhex(
    "3c000000000102030405060708090a0b72942507dc440520cd84b95772e278ab5ac921d89d49c5be7bd05943018159"
    "5f702582e7a62f6cc668d6d5361c0aaa25"
)
SIGNATURE = bytes.fromhex("000102030405060708090a0bb7564d3e30f0fdebf2250eec6254564f")


def places(module):
    """The ordinals that a module has."""
    if module is Module.FOOTER:
        return ()
    return PAGE if module in (Module.DATA_PAGE, Module.DATA_PAGE_HEADER) else PLACE


@pytest.fixture
def key():
    return Key(SECRET, "footer key (ascii)")


@pytest.fixture
def fixed_nonce(monkeypatch):
    monkeypatch.setattr(ciphers, "urandom", lambda size: NONCE[:size])


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize(
    ("module", "expected"),
    [
        (Module.FOOTER, "746573746572010203040506070800"),
        (Module.COLUMN_META_DATA, "74657374657201020304050607080101000200"),
        (Module.DATA_PAGE, "746573746572010203040506070802010002000300"),
        (Module.DICTIONARY_PAGE, "74657374657201020304050607080301000200"),
        (Module.DATA_PAGE_HEADER, "746573746572010203040506070804010002000300"),
        (Module.DICTIONARY_PAGE_HEADER, "74657374657201020304050607080501000200"),
        (Module.COLUMN_INDEX, "74657374657201020304050607080601000200"),
        (Module.OFFSET_INDEX, "74657374657201020304050607080701000200"),
        (Module.BLOOM_FILTER_HEADER, "74657374657201020304050607080801000200"),
        (Module.BLOOM_FILTER_BITSET, "74657374657201020304050607080901000200"),
    ],
)
def test_aad(module, expected, algorithm):
    assert FileCipher(algorithm, FILE_AAD).aad(module, *places(module)).hex() == expected


def test_ordinals_are_little_endian():
    aad = FileCipher(GCM, b"").aad(Module.DATA_PAGE, 0x7FFF, 0x0102, 0x0300)
    assert aad.hex() == "02ff7f02010003"


@pytest.mark.parametrize("place", range(3))
def test_an_ordinal_of_more_than_15_bits_is_refused(place):
    ordinals = [*PAGE]
    ordinals[place] = 32768
    with pytest.raises(UnsupportedError, match=r"^data page: ordinals .*32768.*0 to 32767"):
        FileCipher(GCM, FILE_AAD).aad(Module.DATA_PAGE, *ordinals)


@pytest.mark.parametrize("module", Module)
@pytest.mark.parametrize("wrong", [(), (1,), PLACE, PAGE])
def test_a_module_has_the_ordinals_of_its_kind(module, wrong):
    if wrong != places(module):
        with pytest.raises(ValueError, match="ordinals"):
            FileCipher(GCM, FILE_AAD).aad(module, *wrong)


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize(
    ("module", "plain", "sealed"),
    [
        (Module.BLOOM_FILTER_HEADER, HEADER, SEALED_HEADER),
        (Module.BLOOM_FILTER_BITSET, BITSET, SEALED_BITSET),
    ],
)
def test_vectors_of_the_filter(module, plain, sealed, algorithm, key, fixed_nonce):
    cipher = FileCipher(algorithm, FILE_AAD)
    assert encode_header(1024) == HEADER
    assert cipher.seal(key, module, plain, *PLACE) == sealed
    assert cipher.open(key, module, sealed, *PLACE) == plain
    assert cipher.open(key, module, memoryview(bytearray(sealed)), *PLACE) == plain


def test_vector_of_the_signature(key, fixed_nonce):
    cipher = FileCipher(GCM, FILE_AAD)
    assert cipher.sign(key, b"footer") == SIGNATURE
    cipher.check_signature(key, b"footer", SIGNATURE)


def test_ctr_is_the_keystream_from_block_one(key, fixed_nonce):
    """GCM encrypts with the same blocks, but from 2 on: 1 is kept for the tag."""
    blocks = bytes(48)
    ctr = FileCipher(CTR, FILE_AAD).seal(key, Module.DATA_PAGE, blocks, *PAGE)
    gcm = FileCipher(GCM, FILE_AAD).seal(key, Module.DATA_PAGE, blocks, *PAGE)
    assert ctr[:16] == b"\x3c\0\0\0" + NONCE
    assert gcm[:16] == b"\x4c\0\0\0" + NONCE
    assert ctr[32:] == gcm[16:48]


@pytest.mark.parametrize("secret", [SECRET, SECRET + b"abcdefgh", SECRET * 2], ids=len)
@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("module", Module)
@pytest.mark.parametrize("plain", [b"", b"a", BITSET], ids=len)
def test_sealed_opens(module, algorithm, secret, plain):
    cipher, key = FileCipher(algorithm, FILE_AAD), Key(secret, "footer key (ascii)")
    sealed = cipher.seal(key, module, plain, *places(module))
    is_ctr = algorithm is CTR and module in (Module.DATA_PAGE, Module.DICTIONARY_PAGE)
    assert cipher.overhead(module) == (CTR_OVERHEAD if is_ctr else GCM_OVERHEAD)
    assert len(sealed) == len(plain) + cipher.overhead(module)
    assert envelope_size(sealed[:4], len(sealed), cipher.overhead(module)) == len(sealed)
    assert cipher.open(key, module, sealed, *places(module)) == plain


@pytest.mark.parametrize("module", Module)
def test_every_flipped_bit_is_seen(module, key):
    cipher = FileCipher(GCM, FILE_AAD)
    sealed = cipher.seal(key, module, b"plain", *places(module))
    for bit in range(len(sealed) * 8):
        flipped = bytearray(sealed)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(TamperedError, match=f"^{module.words}: "):
            cipher.open(key, module, bytes(flipped), *places(module))


@pytest.mark.parametrize("algorithm", Algorithm)
@pytest.mark.parametrize("module", Module)
def test_every_truncation_and_every_extension_is_seen(module, algorithm, key):
    cipher = FileCipher(algorithm, FILE_AAD)
    sealed = cipher.seal(key, module, b"plain", *places(module))
    for wrong in [sealed[:size] for size in range(len(sealed))] + [sealed + b"\0"]:
        with pytest.raises(TamperedError, match=f"^{module.words}: .* bytes, expected"):
            cipher.open(key, module, wrong, *places(module))


def test_a_module_opens_as_itself_only(key):
    """Neither as another kind, nor in another place or file, nor with another key."""
    cipher = FileCipher(GCM, FILE_AAD)
    sealed = cipher.seal(key, Module.BLOOM_FILTER_HEADER, HEADER, *PLACE)
    attempts = [
        (cipher, key, Module.BLOOM_FILTER_BITSET, PLACE),
        (cipher, key, Module.BLOOM_FILTER_HEADER, (0, 2)),
        (cipher, key, Module.BLOOM_FILTER_HEADER, (1, 3)),
        (FileCipher(GCM, b"Tester" + FILE_AAD[6:]), key, Module.BLOOM_FILTER_HEADER, PLACE),
        (cipher, Key(SECRET[::-1], "footer key (ascii)"), Module.BLOOM_FILTER_HEADER, PLACE),
    ]
    for other, other_key, module, place in attempts:
        with pytest.raises(TamperedError) as error:
            other.open(other_key, module, sealed, *place)
        assert str(error.value) == (
            f"{module.words}: cannot be decrypted with footer key (ascii): wrong key, wrong AAD"
            " prefix or altered bytes"
        )
        with pytest.raises(TamperedError) as error:
            other.open(other_key, module, sealed, *place, is_right=True)
        assert str(error.value) == (
            f"{module.words}: cannot be decrypted with footer key (ascii), which is right: altered or moved"
            " bytes, or not sealed as the format says"
        )


def test_ctr_pages_are_not_authenticated(key):
    """What the documentation says; so a filter of such a page is only as true as the page."""
    cipher = FileCipher(CTR, FILE_AAD)
    sealed = bytearray(cipher.seal(key, Module.DATA_PAGE, b"plain", *PAGE))
    sealed[-1] ^= 1
    assert cipher.open(key, Module.DATA_PAGE, bytes(sealed), *PAGE) == b"plaio"


def test_a_signature_is_of_these_bytes_this_key_and_this_file(key):
    cipher = FileCipher(GCM, FILE_AAD)
    signature = cipher.sign(key, b"footer")
    assert len(signature) == SIGNATURE_BYTES
    cipher.check_signature(key, b"footer", signature)
    flipped = [
        signature[:at] + bytes([signature[at] ^ 1]) + signature[at + 1 :]
        for at in range(SIGNATURE_BYTES)
    ]
    cut = [signature[:size] for size in range(SIGNATURE_BYTES)]
    attempts = [
        (cipher, key, b"Footer", signature),
        (cipher, key, b"footer\0", signature),
        (cipher, Key(SECRET[::-1], "footer key (ascii)"), b"footer", signature),
        (FileCipher(GCM, FILE_AAD[:-1]), key, b"footer", signature),
        *((cipher, key, b"footer", wrong) for wrong in [*flipped, *cut, signature + b"\0"]),
    ]
    for other, other_key, footer, stored in attempts:
        with pytest.raises(TamperedError, match=r"^footer signature: "):
            other.check_signature(other_key, footer, stored)


@pytest.mark.parametrize("overhead", [CTR_OVERHEAD, GCM_OVERHEAD])
def test_the_size_of_an_envelope_is_bounded(overhead):
    def prefix(size):
        return (size - 4).to_bytes(4, "little")

    assert envelope_size(prefix(overhead), 100, overhead) == overhead
    assert envelope_size(prefix(100) + b"more", 100, overhead) == 100
    for size in (4, overhead - 1, 101, (1 << 32) + 3):
        with pytest.raises(TamperedError, match=f"envelope of {size} bytes, expected {overhead}"):
            envelope_size(prefix(size), 100, overhead)
    for size in range(4):
        with pytest.raises(TamperedError, match=f"^{size} bytes, expected an envelope"):
            envelope_size(bytes(size), 100, overhead)


def test_nothing_is_allocated_for_a_length_that_lies(key):
    sealed = b"\xff\xff\xff\x7f" + bytes(64)
    cipher = FileCipher(CTR, FILE_AAD)
    tracemalloc.start()
    try:
        for module in Module:
            with pytest.raises(TamperedError):
                cipher.open(key, module, sealed, *places(module))
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()


def test_nonces_never_repeat(key):
    seals = 3000
    cipher = FileCipher(CTR, FILE_AAD)
    nonces = set()
    for _ in range(seals):
        nonces.add(cipher.seal(key, Module.BLOOM_FILTER_HEADER, HEADER, *PLACE)[4:16])
        nonces.add(cipher.seal(key, Module.DATA_PAGE, HEADER, *PAGE)[4:16])
        nonces.add(cipher.sign(key, HEADER)[:12])
    assert len(nonces) == 3 * seals


@pytest.mark.parametrize("module", [Module.BLOOM_FILTER_HEADER, Module.DICTIONARY_PAGE])
def test_a_key_seals_so_often_and_no_more(module, key, monkeypatch):
    monkeypatch.setattr(ciphers, "MAX_SEALS", 2)
    cipher = FileCipher(CTR, FILE_AAD)
    sealed = [cipher.seal(key, module, b"", *PLACE) for _ in range(2)]
    for seal in (
        lambda: cipher.seal(key, module, b"", *PLACE),
        lambda: cipher.sign(key, b"footer"),
    ):
        with pytest.raises(
            EncryptionError, match=r"^footer key \(ascii\): already encrypted 2 modules"
        ):
            seal()
    assert cipher.open(key, module, sealed[0], *PLACE) == b""


@pytest.mark.parametrize("size", [16, 24, 32])
def test_a_key_of_zeros_seals_nothing(size):
    key, cipher = Key(bytes(size), "file:k"), FileCipher(CTR, FILE_AAD)
    for seal in (
        lambda: cipher.seal(key, Module.BLOOM_FILTER_BITSET, b"", *PLACE),
        lambda: cipher.seal(key, Module.DATA_PAGE, b"", *PAGE),
        lambda: cipher.sign(key, b"footer"),
    ):
        with pytest.raises(
            EncryptionError, match=r"^file:k: refusing to encrypt with a key of zeros"
        ):
            seal()


@pytest.mark.parametrize("size", [0, 1, 15, 17, 31, 33, 64])
def test_other_key_lengths_are_refused(size):
    with pytest.raises(EncryptionError) as error:
        Key(b"k" * size, "env:K")
    assert str(error.value) == f"env:K: {size} bytes, expected 16, 24 or 32"


def test_a_key_shows_nothing(key):
    assert repr(key) == str(key) == f"{key}" == "Key(source='footer key (ascii)')"
    for write in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match=r"^Key: cannot be pickled or copied$"):
            write(key)
    with pytest.raises(TypeError):
        vars(key)
    with pytest.raises(TamperedError) as error:
        FileCipher(GCM, FILE_AAD).open(key, Module.FOOTER, b"\x1c\0\0\0" + bytes(28))
    assert SECRET.decode() not in f"{error.value!r} {error.value}"
    assert error.value.__suppress_context__


def algorithm(member="AES_GCM_V1", **fields):
    struct = {"AES_GCM_V1": ttypes.AesGcmV1, "AES_GCM_CTR_V1": ttypes.AesGcmCtrV1}[member]
    return ttypes.EncryptionAlgorithm(**{member: struct(aad_file_unique=b"unique", **fields)})


@pytest.mark.parametrize("member", ["AES_GCM_V1", "AES_GCM_CTR_V1"])
@pytest.mark.parametrize(
    ("fields", "given", "aad"),
    [
        ({}, None, b"unique"),
        ({"supply_aad_prefix": False}, None, b"unique"),
        ({"aad_prefix": b"tester"}, None, b"testerunique"),
        ({"aad_prefix": b"tester"}, b"tester", b"testerunique"),
        ({"supply_aad_prefix": True}, b"tester", b"testerunique"),
    ],
)
def test_the_cipher_of_a_footer(member, fields, given, aad):
    assert file_cipher(algorithm(member, **fields), given) == FileCipher(Algorithm(member), aad)


@pytest.mark.parametrize(
    ("fields", "given", "error", "message"),
    [
        ({"supply_aad_prefix": True}, None, MissingKeyError, "no AAD prefix given"),
        ({}, b"tester", EncryptionError, "was given, but the file has none"),
        ({"aad_prefix": b"a"}, b"b", EncryptionError, "the AAD prefix given differs"),
    ],
)
def test_prefixes_that_do_not_fit(fields, given, error, message):
    with pytest.raises(error, match=message):
        file_cipher(algorithm(**fields), given)


def test_encryption_that_is_not_the_formats():
    with pytest.raises(UnsupportedError, match="unknown encryption algorithm"):
        file_cipher(ttypes.EncryptionAlgorithm(), None)
    duckdb = ttypes.EncryptionAlgorithm(AES_GCM_V1=ttypes.AesGcmV1())
    with pytest.raises(UnsupportedError, match="as DuckDB does"):
        file_cipher(duckdb, None)


# Footers that Arrow C++ and parquet-java wrote, with the keys of parquet-testing's README.
FOOTER_KEY = b"0123456789012345"


@pytest.mark.parametrize(
    ("name", "aad_prefix"),
    [
        ("encrypt_columns_and_footer", None),
        ("encrypt_columns_and_footer_aad", None),
        ("encrypt_columns_and_footer_bloom_filter", None),
        ("encrypt_columns_and_footer_ctr", None),
        ("uniform_encryption", None),
    ],
)
def test_footers_of_others_open(name, aad_prefix):
    path = SHARED / "data" / "parquet-testing" / f"{name}.parquet.encrypted"
    if not path.exists():
        missing("../shared/data/parquet-testing")
    data = path.read_bytes()
    assert data[-4:] == b"PARE"
    tail = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    crypto, end = compact.decode(ttypes.FileCryptoMetaData, tail)
    cipher = file_cipher(crypto.encryption_algorithm, aad_prefix)
    footer = cipher.open(Key(FOOTER_KEY, "README"), Module.FOOTER, tail[end:])
    metadata, _ = compact.decode(ttypes.FileMetaData, footer)
    assert metadata.num_rows in (50, 2000)


def test_a_footer_signature_of_another_writer():
    path = SHARED / "data/parquet-testing/encrypt_columns_plaintext_footer.parquet.encrypted"
    if not path.exists():
        missing("../shared/data/parquet-testing")
    data = path.read_bytes()
    tail = data[-8 - int.from_bytes(data[-8:-4], "little") : -8]
    metadata, end = compact.decode(ttypes.FileMetaData, tail)
    cipher = file_cipher(metadata.encryption_algorithm, None)
    cipher.check_signature(Key(FOOTER_KEY, "README"), tail[:end], tail[end:])
