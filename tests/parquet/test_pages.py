"""The values of a chunk, page by page: every page shape, and every way a page can lie."""

import gzip
import zlib
from itertools import pairwise

import numpy as np
import pytest
from make.pages import (
    byte_arrays,
    compressed,
    data_page,
    data_page_v2,
    dictionary_page,
    hadoop_lz4,
    levels_v1,
    page,
    v1,
)
from make.parquet_files import forged
from oracle.specification import delta_binary_packed, packed_run, rle_run

import parquet_bloom as pb
from parquet_bloom.errors import UnreadableError
from parquet_bloom.files import open_file
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.pages.codecs import decompress
from parquet_bloom.parquet.pages.pages import chunk_runs, located
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import CompressionCodec, Encoding, PageType, Type

A, B, C = b"alpha", b"beta", b""
DICTIONARY_INDICES = bytes([1]) + rle_run(0, 4, 1)


def hash_of(value):
    return _kernel.xxh64(value)


def hashes_of(path):
    """The hashes of every value of the one chunk, and which of them were a dictionary's."""
    with open_file(path) as file:
        chunk = file.footer.chunk(0, file.footer.leaves[0])
        with located(file.footer, chunk):
            return [
                (part.is_dictionary, part.run.hashes().tolist())
                for part in chunk_runs(file.source, file.footer, chunk)
            ]


def write(tmp_path, *args, **options):
    return forged(tmp_path / "handmade.parquet", *args, **options)


def refused(tmp_path, *args, **options):
    """The message of the error that reading the chunk ends with."""
    path = write(tmp_path, *args, **options)
    with pytest.raises(pb.ParquetBloomError) as caught:
        hashes_of(path)
    message = str(caught.value)
    assert message.startswith(f"{path}: row group 0, column values: ")
    return type(caught.value), message.split("column values: ")[1]


def test_plain_pages(tmp_path):
    path = write(tmp_path, [data_page(byte_arrays(A, C), 2), data_page(byte_arrays(B), 1)], 3)
    assert hashes_of(path) == [(False, [hash_of(A), hash_of(C)]), (False, [hash_of(B)])]


def test_dictionary_encoded_pages_are_not_read(tmp_path):
    """Their bodies may as well be garbage."""
    pages = [
        dictionary_page(byte_arrays(A, B), 2),
        data_page(b"\xff" * 50, 4, Encoding.RLE_DICTIONARY),
        data_page(b"\xff" * 50, 4, Encoding.PLAIN_DICTIONARY, uncompressed_page_size=10**7),
    ]
    assert hashes_of(write(tmp_path, pages, 8)) == [(True, [hash_of(A), hash_of(B)])]


def test_fallback_from_dictionary_to_plain(tmp_path):
    pages = [
        dictionary_page(byte_arrays(A), 1),
        data_page(DICTIONARY_INDICES, 4, Encoding.RLE_DICTIONARY),
        data_page(byte_arrays(B), 1),
    ]
    assert hashes_of(write(tmp_path, pages, 5)) == [(True, [hash_of(A)]), (False, [hash_of(B)])]


@pytest.mark.parametrize("dictionary_page_offset", [None, 0, 4])
def test_the_dictionary_page_is_found_whatever_the_footer_says(tmp_path, dictionary_page_offset):
    pages = [dictionary_page(byte_arrays(A), 1), data_page(DICTIONARY_INDICES, 4, 8)]
    first = len(pages[0]) if dictionary_page_offset == 4 else 0
    meta = {"data_page_offset": 4 + first, "dictionary_page_offset": dictionary_page_offset}
    path = write(tmp_path, pages, 4, meta=meta)
    assert hashes_of(path) == [(True, [hash_of(A)])]


def test_index_pages_and_unknown_pages_are_passed_over(tmp_path):
    pages = [
        page(PageType.INDEX_PAGE, b"index", index_page_header=ttypes.IndexPageHeader()),
        page(17, b"later"),
        data_page(byte_arrays(A), 1),
    ]
    for more in ([], [page(17, b"later")]):
        assert hashes_of(write(tmp_path, pages + more, 1)) == [(False, [hash_of(A)])]


def test_a_long_header_is_read_whole(tmp_path):
    """Statistics in the page header, longer than what is read ahead."""
    header = v1(1, statistics=ttypes.Statistics(min_value=b"x" * 100_000))
    long = page(PageType.DATA_PAGE, byte_arrays(A), data_page_header=header)
    path = write(tmp_path, [long, data_page(byte_arrays(B), 1)], 2)
    assert hashes_of(path) == [(False, [hash_of(A)]), (False, [hash_of(B)])]


def test_v1_levels_are_skipped(tmp_path):
    body = levels_v1(rle_run(1, 1, 1) + rle_run(0, 5, 1)) + byte_arrays(A)
    assert hashes_of(write(tmp_path, [data_page(body, 6)], 6, repetition=1)) == [
        (False, [hash_of(A)])
    ]


def test_v1_repetition_and_definition_levels_are_skipped(tmp_path):
    body = (
        levels_v1(rle_run(0, 1, 1) + rle_run(1, 1, 1))
        + levels_v1(rle_run(1, 2, 1))
        + byte_arrays(A, B)
    )
    assert hashes_of(write(tmp_path, [data_page(body, 2)], 2, repetition=2)) == [
        (False, [hash_of(A), hash_of(B)])
    ]


def test_v1_bit_packed_levels_are_skipped(tmp_path):
    """Nine values take two bytes; one of them is there."""
    body = bytes([0b00010000, 0]) + byte_arrays(A)
    pages = [data_page(body, 9, levels=Encoding.BIT_PACKED)]
    assert hashes_of(write(tmp_path, pages, 9, repetition=1)) == [(False, [hash_of(A)])]


def delta_lengths(*values):
    """DELTA_LENGTH_BYTE_ARRAY of up to 32 values: lengths as deltas of one byte, then the bytes."""
    lengths = [len(value) for value in values]
    deltas = [after - before for before, after in pairwise(lengths)]
    least = min(deltas, default=0)
    header = bytes([0x80, 0x01, 0x04, len(values), lengths[0] << 1])
    if not deltas:
        return header + b"".join(values)
    packed = bytes(delta - least for delta in deltas).ljust(32, b"\0")
    block = compact.zigzag(least) + bytes([8, 0, 0, 0]) + packed
    return header + block + b"".join(values)


@pytest.mark.parametrize("levels", [Encoding.RLE, Encoding.BIT_PACKED])
def test_other_encodings_count_their_values_in_the_levels(tmp_path, levels):
    encoded = rle_run(1, 2, 1) + rle_run(0, 1, 1) if levels == Encoding.RLE else bytes([0b11000000])
    prefix = levels_v1(encoded) if levels == Encoding.RLE else encoded
    pages = [
        data_page(prefix + delta_lengths(A, B), 3, Encoding.DELTA_LENGTH_BYTE_ARRAY, levels=levels)
    ]
    assert hashes_of(write(tmp_path, pages, 3, repetition=1)) == [(False, [hash_of(A), hash_of(B)])]


def test_v2_levels_are_not_compressed_and_not_read(tmp_path):
    values = byte_arrays(A, B)
    snappy = compressed(CompressionCodec.SNAPPY, values)
    definition = rle_run(1, 2, 1) + rle_run(0, 3, 1)
    pages = [
        data_page_v2(
            definition, snappy, 5, 3, uncompressed_page_size=len(definition) + len(values)
        ),
        data_page_v2(definition, values, 5, 3, is_compressed=False),
        data_page_v2(rle_run(0, 5, 1), b"", 5, 5),
    ]
    path = write(tmp_path, pages, 15, repetition=1, codec=CompressionCodec.SNAPPY)
    both = [hash_of(A), hash_of(B)]
    assert hashes_of(path) == [(False, both), (False, both), (False, [])]


def test_checksums_are_verified_where_they_are(tmp_path):
    good = data_page(byte_arrays(A), 1, checksum=True)
    assert hashes_of(write(tmp_path, [good], 1)) == [(False, [hash_of(A)])]
    body, other = byte_arrays(A), byte_arrays(b"ALPHA")
    kind, message = refused(tmp_path, [good.replace(body, other)], 1)
    assert kind is pb.PageError
    assert message == (
        f"page at {4 + len(good) - 9}: checksum {zlib.crc32(other):08x},"
        f" expected {zlib.crc32(body):08x}; take another copy, or read it anyway with --ignore-checksums of build, validate or repair"
    )


CODECS = (
    CompressionCodec.SNAPPY,
    CompressionCodec.GZIP,
    CompressionCodec.BROTLI,
    CompressionCodec.ZSTD,
    CompressionCodec.LZ4_RAW,
)

TEXT = b"".join(byte_arrays(f"value {i % 97}".encode()) for i in range(5000))

FRAMINGS = {
    **{CompressionCodec._VALUES_TO_NAMES[codec]: (codec, [compressed(codec, TEXT)])
       for codec in CODECS},
    "gzip, three members": (CompressionCodec.GZIP,
                            [gzip.compress(TEXT[:100]), gzip.compress(b""), gzip.compress(TEXT[100:])]),
    "gzip, zlib header": (CompressionCodec.GZIP, [zlib.compress(TEXT)]),
    "lz4, bare block": (CompressionCodec.LZ4, [compressed(CompressionCodec.LZ4_RAW, TEXT)]),
    "lz4, Hadoop, one block": (CompressionCodec.LZ4, [hadoop_lz4(TEXT, 1 << 20)]),
    "lz4, Hadoop, blocks": (CompressionCodec.LZ4, [hadoop_lz4(TEXT, 10_000)]),
    "lz4, Hadoop, frames": (CompressionCodec.LZ4,
                            [hadoop_lz4(TEXT[:7000], 5000), hadoop_lz4(TEXT[7000:], 1 << 20)]),
}  # fmt: skip


@pytest.mark.parametrize("framing", FRAMINGS)
def test_framings(framing):
    codec, parts = FRAMINGS[framing]
    data = memoryview(b"".join(bytes(part) for part in parts))
    assert bytes(decompress(codec, data, len(TEXT))) == TEXT
    for size in (len(TEXT) - 1, len(TEXT) + 1, 1):
        with pytest.raises(pb.PageError):
            decompress(codec, data, size)
    for end in (0, 1, 5, len(data) // 2, len(data) - 1):
        with pytest.raises(pb.PageError):
            decompress(codec, data[:end], len(TEXT))


# | uncompressed size | compressed size | block |, the size alone, and a bare block.
OF_NOTHING = [bytes(4) + b"\0\0\0\1" + b"\0", bytes(4), b"\0", b""]


@pytest.mark.parametrize("nothing", OF_NOTHING)
def test_lz4_of_nothing(nothing):
    assert bytes(decompress(CompressionCodec.LZ4, memoryview(nothing), 0)) == b""
    for size in (1, len(TEXT)):
        with pytest.raises(pb.PageError):
            decompress(CompressionCodec.LZ4, memoryview(nothing), size)
    for wrong in (bytes(3), bytes(4) + b"\0\0\0\2" + b"\0", bytes(4) + b"\0\0\0\1", b"\x10a"):
        with pytest.raises(pb.PageError):
            decompress(CompressionCodec.LZ4, memoryview(wrong), 0)


def test_hadoop_frames_of_nothing_among_others():
    some = hadoop_lz4(TEXT, 5000)
    for data in (OF_NOTHING[0] + some, some + OF_NOTHING[0], some + OF_NOTHING[1]):
        assert bytes(decompress(CompressionCodec.LZ4, memoryview(data), len(TEXT))) == TEXT


@pytest.mark.parametrize("nothing", OF_NOTHING)
def test_an_empty_page_and_dictionary_in_lz4(tmp_path, nothing):
    plain = byte_arrays(A, B)
    pages = [
        dictionary_page(nothing, 0, uncompressed_page_size=0),
        data_page(nothing, 0, uncompressed_page_size=0),
        data_page(hadoop_lz4(plain, len(plain)), 2, uncompressed_page_size=len(plain)),
    ]
    path = write(tmp_path, pages, 2, codec=CompressionCodec.LZ4)
    expected = [hash_of(A), hash_of(B)]
    assert hashes_of(path) == [(True, []), (False, []), (False, expected)]
    pb.build(path, columns=["values"], in_place=True)
    results = pb.probe(path, "values", ["alpha", "beta", ""]).results
    assert [each.verdict for each in results] == ["maybe", "maybe", "absent"]


def test_an_unknown_codec_is_refused(tmp_path):
    kind, message = refused(tmp_path, [data_page(byte_arrays(A), 1)], 1, codec=CompressionCodec.LZO)
    assert (kind, message) == (UnreadableError, "codec LZO is not supported")
    kind, message = refused(tmp_path, [data_page(byte_arrays(A), 1)], 1, codec=99)
    assert (kind, message) == (UnreadableError, "codec 99 is not supported")


def test_an_unknown_encoding_is_refused(tmp_path):
    kind, message = refused(tmp_path, [data_page(byte_arrays(A), 1, encoding=77)], 1)
    assert (kind, message) == (UnreadableError, "encoding 77 is not supported")
    kind, message = refused(tmp_path, [data_page(byte_arrays(A), 1, encoding=Encoding.ALP)], 1)
    assert (kind, message) == (pb.PageError, "ALP: values of BYTE_ARRAY, expected FLOAT or DOUBLE")
    other = data_page(bytes([0, 3, 10, 1, 0, 0, 0]), 1, encoding=Encoding.ALP)
    kind, message = refused(tmp_path, [other], 1, type=Type.DOUBLE)
    assert (kind, message) == (
        UnreadableError,
        "encoding ALP in compression mode 0 with integer encoding 3 is not supported",
    )


LIES = {
    "fewer values than the footer says": ([data_page(byte_arrays(A), 1)], 2, "page header at "),
    "more values than the footer says": (
        [data_page(byte_arrays(A, B), 2)], 1, "pages hold 2 values, the footer says 1",
    ),
    "a value past the end": (
        [data_page(byte_arrays(A)[:-1], 1)], 1, "BYTE_ARRAY: the value at byte 0 runs past the end",
    ),
    "no dictionary": (
        [data_page(DICTIONARY_INDICES, 4, Encoding.RLE_DICTIONARY)], 4,
        "dictionary-encoded page without a dictionary page",
    ),
    "a dictionary of another size": (
        [dictionary_page(byte_arrays(A), 2), data_page(DICTIONARY_INDICES, 4, 8)], 4,
        "dictionary page at 17: 1 value, expected 2",
    ),
    "a dictionary in another encoding": (
        [dictionary_page(byte_arrays(A), 1, encoding=Encoding.DELTA_BYTE_ARRAY)], 1,
        "dictionary page at 17: encoding is not PLAIN",
    ),
    "a negative number of values": (
        [data_page(byte_arrays(A), -1)], 1, "page at 21: num_values is -1",
    ),
    "a body past the footer": (
        [page(PageType.DATA_PAGE, b"", data_page_header=ttypes.DataPageHeader(num_values=1))], 1,
        "page at 15: no num_values or encoding in its header",
    ),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_pages_that_lie(tmp_path, lie):
    pages, num_values, expected = LIES[lie]
    kind, message = refused(tmp_path, pages, num_values)
    assert kind is pb.PageError
    assert message.startswith(expected)


@pytest.mark.parametrize("size", [-1, 10**6, 2**31 - 1])
def test_page_sizes_that_cannot_be(tmp_path, size):
    lying = data_page(byte_arrays(A), 1, compressed_page_size=size)
    kind, message = refused(tmp_path, [lying], 1)
    assert kind is pb.PageError
    assert str(size) in message


@pytest.mark.parametrize("size", [0, 8, 10, 2**24])
def test_uncompressed_sizes_that_lie(tmp_path, size):
    assert refused(tmp_path, [data_page(byte_arrays(A), 1, uncompressed_page_size=size)], 1) == (
        pb.PageError,
        f"UNCOMPRESSED: 9 bytes, expected {size}",
    )


def test_levels_longer_than_the_page(tmp_path):
    body = (10**6).to_bytes(4, "little") + rle_run(1, 1, 1) + byte_arrays(A)
    kind, message = refused(tmp_path, [data_page(body, 1)], 1, repetition=1)
    assert (kind, message) == (
        pb.PageError,
        f"levels take 1000004 bytes of a page of {len(body)}",
    )


def test_fixed_values_that_are_no_whole_number(tmp_path):
    pages = [data_page(bytes(15), 2)]
    kind, message = refused(tmp_path, pages, 2, type=Type.INT64)
    assert (kind, message) == (pb.PageError, "page at 21: 1 value, expected 2")


@pytest.mark.parametrize(
    ("type", "width", "length"),
    [(Type.INT32, 4, None), (Type.INT64, 8, None), (Type.INT96, 12, None), (Type.FLOAT, 4, None),
     (Type.DOUBLE, 8, None), (Type.FIXED_LEN_BYTE_ARRAY, 5, 5)],
)  # fmt: skip
def test_fixed_widths(tmp_path, type, width, length):
    values = np.random.default_rng(1).bytes(7 * width)
    path = write(tmp_path, [data_page(values, 7)], 7, type=type, element={"type_length": length})
    assert hashes_of(path) == [
        (False, [hash_of(values[at : at + width]) for at in range(0, 7 * width, width)])
    ]


WIDTHS = {Type.INT32: 4, Type.INT64: 8, Type.INT96: 12, Type.BYTE_ARRAY: None}
# Eight zeros are fastparquet's behind values of one width, 14 those behind texts; two texts cut off here.
PADDINGS = [bytes(8), bytes(14), b"abc", byte_arrays(b"cut")[:-1], byte_arrays(B)]


def values_of(type, count):
    """Values, and their PLAIN form."""
    width = WIDTHS[type]
    values = [np.random.default_rng(n).bytes(width or 3 * n) for n in range(count)]
    return values, b"".join(values) if width else byte_arrays(*values)


@pytest.mark.parametrize("padding", PADDINGS)
@pytest.mark.parametrize("repetition", [0, 1])
@pytest.mark.parametrize("type", WIDTHS)
def test_padding_at_the_end_of_a_page_is_no_value(tmp_path, type, repetition, padding):
    """No reader gets that far, whatever it is."""
    values, plain = values_of(type, 3)
    levels = levels_v1(rle_run(1, 3, 1)) if repetition else b""
    pages = [dictionary_page(plain + padding, 3), data_page(levels + plain + padding, 3)]
    path = write(tmp_path, pages, 3, type=type, repetition=repetition)
    expected = [hash_of(value) for value in values]
    assert hashes_of(path) == [(True, expected), (False, expected)]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("type", WIDTHS)
def test_the_levels_say_how_many_values_there_are(tmp_path, type, version):
    """60 of 100, and 40 zeros in their place; whatever the number of nulls in the header says."""
    values, plain = values_of(type, 60)
    levels = packed_run([i % 5 < 3 for i in range(100)], 1)
    body = plain + bytes(4 * 40)
    page = (
        data_page(levels_v1(levels) + body, 100)
        if version == 1
        else data_page_v2(levels, body, 100, num_nulls=0)
    )
    path = write(tmp_path, [page], 100, type=type, repetition=1)
    assert hashes_of(path) == [(False, [hash_of(value) for value in values])]


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("type", WIDTHS)
def test_a_page_without_the_values_that_its_levels_promise(tmp_path, type, version):
    _, plain = values_of(type, 40)
    levels = rle_run(1, 100, 1)
    page = (
        data_page(levels_v1(levels) + plain, 100)
        if version == 1
        else data_page_v2(levels, plain, 100, num_nulls=0)
    )
    kind, message = refused(tmp_path, [page], 100, type=type, repetition=1)
    assert kind is pb.PageError
    assert message.endswith(": 40 values, expected 100")
    assert message.startswith("page at ")


def test_one_page_at_a_time(tmp_path, monkeypatch):
    """No read is longer than a page and what is read ahead for the next header."""
    pages = [data_page(byte_arrays(bytes(50_000)), 1) for _ in range(20)]
    path = write(tmp_path, pages, 20)
    with open_file(path) as file:
        lengths = []
        original = file.source.read_at

        def read_at(offset, length):
            lengths.append(length)
            return original(offset, length)

        monkeypatch.setattr(file.source, "read_at", read_at)
        chunk = file.footer.chunk(0, file.footer.leaves[0])
        assert sum(len(run.run) for run in chunk_runs(file.source, file.footer, chunk)) == 20
    assert max(lengths) < 60_000
    assert sum(lengths) < 1.3 * path.stat().st_size


DELTAS = {
    "one": [7],
    "constant": [5] * 1000,
    "ascending": list(range(-500, 500)),
    "far apart": [(-1) ** i * (2**31 - 1 - i) for i in range(300)],
    "random": np.random.default_rng(5).integers(-(2**31), 2**31, 777).tolist(),
}


@pytest.mark.parametrize("shape", [(128, 4), (128, 1), (256, 8), (1024, 4)])
@pytest.mark.parametrize("values", DELTAS)
@pytest.mark.parametrize(("type", "width"), [(Type.INT32, 4), (Type.INT64, 8)])
def test_delta_binary_packed(tmp_path, values, type, width, shape):
    """INT32 with deltas of 33 bits, as DuckDB writes it, is `far apart`."""
    numbers = DELTAS[values]
    pages = [
        data_page(delta_binary_packed(numbers, *shape), len(numbers), Encoding.DELTA_BINARY_PACKED),
        data_page(bytes(width), 1),
    ]
    path = write(tmp_path, pages, len(numbers) + 1, type=type)
    expected = [hash_of(number.to_bytes(width, "little", signed=True)) for number in numbers]
    assert hashes_of(path) == [(False, expected), (False, [hash_of(bytes(width))])]


def test_delta_binary_packed_64_bit_deltas(tmp_path):
    numbers = [-(2**63), 2**63 - 1, 0, -1, 2**62]
    encoded = delta_binary_packed(numbers, 128, 4)
    path = write(
        tmp_path,
        [data_page(encoded, 5, Encoding.DELTA_BINARY_PACKED)],
        5,
        type=Type.INT64,
    )
    assert hashes_of(path) == [
        (False, [hash_of(number.to_bytes(8, "little", signed=True)) for number in numbers])
    ]


def decoded_delta(data):
    decoder = _kernel.DeltaDecoder(data)
    parts = list(decoder)
    assert sum(part.size for part in parts) == decoder.count
    return np.concatenate(parts)


def test_damaged_deltas_are_refused(tmp_path):
    good = delta_binary_packed(DELTAS["random"], 128, 4)
    # The padding of the last miniblock may be missing: 24 of its 32 deltas, of 33 bits each.
    padding = 24 * 33 // 8
    assert decoded_delta(good[:-padding]).size == 777
    for end in range(len(good) - padding):
        with pytest.raises(ValueError, match="DELTA_BINARY_PACKED"):
            decoded_delta(good[:end])
    rng = np.random.default_rng(6)
    for _ in range(2000):
        bad = bytearray(good)
        bad[rng.integers(len(bad))] = rng.integers(256)
        try:
            decoded_delta(bytes(bad))
        except ValueError as error:
            assert "DELTA_BINARY_PACKED" in str(error)  # noqa: PT017
    for header in ("00000000", "8001000100", "8001030100", "ffffffff0f040100"):
        with pytest.raises(ValueError, match="DELTA_BINARY_PACKED"):
            decoded_delta(bytes.fromhex(header))
