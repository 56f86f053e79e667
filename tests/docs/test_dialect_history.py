"""One test for each difference in docs/dialects.md between a document, the writers and us.

The name of a test is that of the difference. What a document says is spelled out here in plain Python,
and shown not to be what writers did; the writers' files themselves are read in the tests of each
dialect.
"""

import io
import re
import struct
from dataclasses import replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pyorc
import pytest
from conftest import ROOT, SHARED, missing
from make.orc_values import values_of
from oracle import hashing
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.filters.k_hash import KHashFilter, hive_size
from parquet_bloom.filters.sizing import MAX_BYTES, Size, bits_per_value, expected_fpp
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.legacy.chunk_filters import statistics_filter
from parquet_bloom.legacy.murmur3.dialect import num_bytes_for
from parquet_bloom.legacy.murmur3.headers import encode, read
from parquet_bloom.legacy.murmur3.schemes import HIVE_SEED, PARQUET_SEED, Scheme
from parquet_bloom.legacy.statistics.hive_conf import read_conf
from parquet_bloom.legacy.statistics.stored import usable
from parquet_bloom.native import _kernel
from parquet_bloom.orc.bloom import OrcKeyForm, encode_filters, is_pre_release, read_filters
from parquet_bloom.orc.columns import KINDS, OrcColumn
from parquet_bloom.orc.keys import insertion_hashes, lookup_hashes, never_absent
from parquet_bloom.orc.proto import orc_pb2
from parquet_bloom.orc.stripe import BLOOM_FILTER, BLOOM_FILTER_UTF8
from parquet_bloom.orc.values import groups
from parquet_bloom.parquet.filters.bloom import encode_header
from parquet_bloom.parquet.pages.runs import Run, SlicedRun, run_of

PAGE = ROOT / "docs/dialects.md"

TODAY = OrcKeyForm()


def test_every_difference_has_a_test():
    differences = re.findall(
        r"^\| `((?:xxhash|orc|murmur3|statistics)-[\w-]+)` \|", PAGE.read_text(), re.MULTILINE
    )
    assert len(set(differences)) == len(differences)
    tests = {name for name in globals() if name.startswith("test_")}
    tests.remove("test_every_difference_has_a_test")
    assert tests == {f"test_{name.replace('-', '_')}" for name in differences}


def column(kind: str, **details) -> OrcColumn:
    given = {"length": 0, "precision": 0, "scale": 0, "children": (), "attributes": {}, **details}
    return OrcColumn(id=1, name="c", kind=kind, parent=0, **given)


def keys(kind: str, values: pa.Array, form: OrcKeyForm = TODAY, **details) -> list[int]:
    """The first hash of each value."""
    return lookup_hashes(column(kind, **details), values_of(values), form)[:, 0].tolist()


def of_long(number: int) -> int:
    return hashing.wang(number)


# --- xxhash ---------------------------------------------------------------------------------------


def test_xxhash_size():
    """The printed formula misses its target by half."""
    printed = -8 / np.log(1 - 0.01 ** (1 / 8))
    assert printed == pytest.approx(9.68, abs=0.01)
    assert expected_fpp(256 / printed, 1) == pytest.approx(0.0146, abs=0.0001)
    assert expected_fpp(256 / bits_per_value(0.01), 1) == pytest.approx(0.01, rel=1e-6)


def test_xxhash_check():
    """A check that sets what it asks for would find everything the second time."""
    words = np.zeros(8, np.uint32)
    for _ in range(2):
        assert not _kernel.check_value(words, b"value")
    assert not words.any()


def test_xxhash_optimum():
    assert expected_fpp(256 / 11.54, 1) == pytest.approx(0.0065, abs=0.00005)
    assert bits_per_value(0.005) == pytest.approx(12.2, abs=0.05)


def test_xxhash_million(tmp_path):
    million = 1_000_000
    assert expected_fpp(million, 1_200_000 // 32) == pytest.approx(0.0152, abs=0.0001)
    assert bits_per_value(0.01) * million / 8 == pytest.approx(1.316e6, rel=0.001)
    blocks = Size(0.01, MAX_BYTES).blocks_for(million)
    assert blocks * 32 == 2 << 20
    exactly = Size(0.01, MAX_BYTES, exact_blocks=True).blocks_for(million) * 32
    assert exactly == pytest.approx(1.32e6, rel=0.005)
    plain, filtered = tmp_path / "plain.parquet", tmp_path / "filtered.parquet"
    pq.write_table(pa.table({"a": np.arange(million) * 7919}), plain, row_group_size=million)
    (unlucky,) = pb.build(plain, filtered, columns="a", exact_blocks=True).filters
    assert unlucky.num_bytes == pytest.approx(1.34e6, rel=0.005)


class Recorder(io.BytesIO):
    """A file that remembers which bytes somebody read."""

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self.reads: set[tuple[int, bytes]] = set()

    def read(self, size: int | None = -1) -> bytes:
        start = self.tell()
        data = super().read(size)
        self.reads.add((start, data))
        return data


def test_xxhash_overhead(tmp_path):
    """Whoever asks no filter reads the same bytes in the same places, but for the footer."""
    plain, filtered = tmp_path / "plain.parquet", tmp_path / "filtered.parquet"
    column = pa.array(range(20_000))
    rows = pa.table({"a": [f"text {row}" for row in range(20_000)], "b": column})
    pq.write_table(rows, plain, row_group_size=10_000)
    report = pb.build(plain, filtered, columns=["a"])
    with open_file(plain) as file:
        end = file.footer.start
    assert all(each.offset >= end for each in report.filters)
    pages = []
    for path in (plain, filtered):
        data = path.read_bytes()
        recorder = Recorder(data)
        assert pq.ParquetFile(recorder).read(columns=["b"])["b"].combine_chunks().equals(column)
        # The footer is read with as much as happens to be before it.
        pages.append({read for read in recorder.reads if read[0] + len(read[1]) < len(data)})
    assert pages[0] == pages[1]
    assert len(pages[0]) == 2


@pytest.mark.parametrize(("values", "fpp"), [(26_214, 0.0126), (52_428, 0.18), (13_107, 0.0004)])
def test_xxhash_rates(values, fpp):
    assert expected_fpp(values, 1024) == pytest.approx(fpp, rel=0.05)


# --- orc ------------------------------------------------------------------------------------------


def test_orc_float():
    (printed,) = struct.unpack("<i", struct.pack("<f", 1.5))
    (widened,) = struct.unpack("<q", struct.pack("<d", 1.5))
    assert keys("FLOAT", pa.array([1.5], pa.float32())) == [of_long(widened)]
    assert of_long(widened) != of_long(printed)


def test_orc_double_zero():
    (negative,) = struct.unpack("<q", struct.pack("<d", -0.0))
    both = {of_long(0), of_long(negative)}
    for zero in (0.0, -0.0):
        assert set(insertion_hashes(column("DOUBLE"), values_of(pa.array([zero])), TODAY)) == both


def test_orc_murmur3():
    for text in (b"", b"a", b"hello", b"0123456789abcdef!"):
        hash = hashing.hive64(text)
        assert keys("STRING", pa.array([text.decode()])) == [hash]
        assert hash not in _kernel.murmur3_128(text, _kernel.HIVE_SEED)


def test_orc_signed():
    """The two agree on many numbers, but not on these."""
    assert keys("LONG", pa.array([0, -1])) == [0, 0x5BCA868437950D03]
    assert [hashing.wang_logical(number) for number in (0, -1)] == [
        0x77CFA1EEF01BCA90,
        0x1F89206E3F8EC794,
    ]


def test_orc_wrap():
    """Without the wrap, hash1 + k * hash2 would be larger than any number of 32 bits."""
    hash, num_bits = 0x7FFFFFFF_7FFFFFFF, 9_600
    start, step = hash % 2**32, hash >> 32
    unwrapped = [(start + i * step) % num_bits for i in (1, 2, 3)]
    filter = KHashFilter.empty(num_bits, 3)
    filter.insert_hashes(np.array([hash], np.uint64))
    bits = hashing.k_hash_bits(hash, num_bits, 3)
    assert filter.words.tolist() == hashing.long_words(bits, num_bits // 64)
    assert bits != unwrapped


def test_orc_word():
    """Bit 65 is bit 1 of long 1; by the letter of the document, bit 1 of long 1 only by luck."""
    filter = KHashFilter.empty(128, 1)
    filter.insert_hashes(np.array([65 | 0 << 32], np.uint64))
    assert filter.words.tolist() == [0, 1 << 1]
    filter = KHashFilter.empty(640, 1)
    filter.insert_hashes(np.array([65 * 2], np.uint64))
    assert filter.words.tolist() == [0, 0, 1 << 2, 0, 0, 0, 0, 0, 0, 0]


def test_orc_zero():
    assert keys("LONG", pa.array([0])) == [0]
    filter = KHashFilter.empty(*hive_size(1_000, 0.01))
    filter.insert_hashes(np.array([0], np.uint64))
    assert filter.words.tolist() == [1, *[0] * 149]


def test_orc_size():
    assert hive_size(10_000, 0.05) == (62_400, 4)
    exact = next(n for n in range(1, 10**5) if int(-n * np.log(0.05) / np.log(2) ** 2) % 64 == 0)
    assert hive_size(exact, 0.05)[0] == int(-exact * np.log(0.05) / np.log(2) ** 2) + 64


def test_orc_decimal():
    values = ["-0.05", "1.50", "100.00", "0.00", "12345678901234567890123456.10"]
    stored = pa.array([Decimal(value) for value in values], pa.decimal128(30, 2))
    hashed = ["-0.05", "1.5", "100", "0", "12345678901234567890123456.1"]
    assert keys("DECIMAL", stored, precision=30, scale=2) == [
        hashing.hive64(text.encode()) for text in hashed
    ]


def test_orc_char():
    values = pa.array(["ab", "ä"])
    assert keys("CHAR", values, length=4) == [
        hashing.hive64(b"ab  "),
        hashing.hive64("ä   ".encode()),
    ]
    assert keys("VARCHAR", values, length=4) == [
        hashing.hive64(b"ab"),
        hashing.hive64("ä".encode()),
    ]


def test_orc_timestamp():
    """12 o'clock in New York, and what is left below a millisecond is rounded down."""
    values = pa.array([43_200_000_001_999, -1_500_001], pa.timestamp("ns"))
    utf8 = OrcKeyForm(writer_timezone="America/New_York")
    original = OrcKeyForm(utf8=False, writer_timezone="America/New_York")
    assert keys("TIMESTAMP", values[:1], utf8) == [of_long(43_200_000)]
    assert keys("TIMESTAMP", values[:1], original) == [of_long(43_200_000 + 5 * 3_600_000)]
    assert of_long(-2) in lookup_hashes(column("TIMESTAMP"), values_of(values[1:]), utf8)


def test_orc_nulls(tmp_path):
    null = 2862933555777941757
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"c": pa.array([7, None])}), path)
    with open_file(path) as file:
        of = file.column("c")
        (group,) = groups(file, next(file.chunks(0, [of])))
    with_null = insertion_hashes(of, group.distinct, TODAY)
    assert with_null.tolist() == [of_long(7)]
    assert null not in with_null


def test_orc_utf8():
    filter = KHashFilter.from_bytes(bytes(range(8)), 3)
    longs = b"\x0a\x0b\x08\x03\x11" + bytes(range(8))
    text = b"\x0a\x0c\x08\x03\x1a\x08" + bytes(range(8))
    # What follows is a mark of ours, in a field that readers pass over.
    assert encode_filters([filter], BLOOM_FILTER).startswith(longs)
    assert encode_filters([filter], BLOOM_FILTER_UTF8).startswith(text)
    for data, kind in ((longs, BLOOM_FILTER), (text, BLOOM_FILTER_UTF8)):
        (read,) = read_filters(data, kind, 1, "here")
        assert (read.num_hashes, bytes(read.bitset)) == (3, bytes(range(8)))


def test_orc_nested():
    hashable = {kind for kind in KINDS if never_absent(column(kind)) is None}
    assert set(KINDS) - hashable == {"BOOLEAN", "LIST", "MAP", "STRUCT", "UNION"}
    assert keys("LIST", pa.array([[1, 2, 3]])) == [of_long(3)]


def test_orc_pre_release():
    """What one entry looked like: 10,000 expected entries, 5 % of false positives, varints."""
    entry = b"\x08\x90\x4e" + b"\x11" + struct.pack("<d", 0.05) + b"\x18\x01" + b"\x18\x02"
    index = b"\x0a" + bytes([len(entry)]) + entry
    assert is_pre_release(index, BLOOM_FILTER, "here")
    # Readers of today see 64 bits and 10,000 hashes.
    assert orc_pb2.BloomFilterIndex.FromString(index).bloomFilter[0].numHashFunctions == 10_000
    with pytest.raises(pb.FilterError, match="layout of Hive before"):
        read_filters(index, BLOOM_FILTER, 1, "here")


# --- what ORC C++ gets wrong ----------------------------------------------------------------------


@pytest.fixture
def diagnosed(tmp_path):
    """The findings of PB401 in a file by pyarrow, or by pyorc if the column has a type of its."""

    def find(values, pyorc_type=None):
        path = tmp_path / "a.orc"
        if pyorc_type is None:
            orc.write_table(
                pa.table({"c": values}), path, row_index_stride=1_000, bloom_filter_columns=[1]
            )
        else:
            schema = pyorc.Struct(c=pyorc_type)
            with path.open("wb") as file:
                options = {"row_index_stride": 1_000, "bloom_filter_columns": ("c",)}
                with pyorc.Writer(file, schema, **options) as writer:
                    writer.writerows((value,) for value in values)
        return [
            found
            for found in pb.validate(path, diagnose=True).findings
            if found.rule in ("PB401", "PB621")
        ]

    return find


def test_orc_cpp_byte(diagnosed):
    """The first eighth of the batch has values of its own."""
    numbers = [*range(125), *[-1] * 875]
    assert diagnosed(pa.array(numbers, pa.int16())) == []
    assert [each.diagnosis.hypothesis for each in diagnosed(pa.array(numbers, pa.int8()))] == [
        "cpp-byte"
    ]


def test_orc_cpp_float(diagnosed):
    """0.1 as a FLOAT is another DOUBLE than 0.1."""
    values = [number / 10 for number in range(2_000)]
    assert diagnosed(pa.array(values, pa.float32())) == []
    assert diagnosed(values, pyorc.Double()) == []
    assert diagnosed(values, pyorc.Float()) != []


def test_orc_cpp_char(diagnosed):
    texts = [f"text {number}" for number in range(2_000)]
    assert diagnosed(texts, pyorc.VarChar(20)) == []
    assert diagnosed(texts, pyorc.Char(20)) != []


def test_orc_cpp_timestamp(diagnosed):
    """A microsecond before a whole millisecond counts for that one, and not for the one before."""
    micros = [3_000 * number - 1 for number in range(1_000, 2_000)]
    before = [-number for number in micros]
    assert diagnosed(pa.array(micros, pa.timestamp("us"))) == []
    found = diagnosed(pa.array(before, pa.timestamp("us")))
    assert [each.diagnosis.hypothesis for each in found] == ["rounded-towards-1970"]


def test_orc_cpp_boolean(diagnosed):
    (found,) = diagnosed(pa.array([True, False] * 1_000))
    assert (found.rule, found.column) == ("PB621", "c")


def test_orc_cpp_logical():
    """Readers ignore the filters of these versions; asked with their own hash, they are right."""
    form = OrcKeyForm(logical_shifts=True)
    assert keys("LONG", pa.array([-1]), form) == [0x1F89206E3F8EC794]
    assert keys("LONG", pa.array([-1])) == [0x5BCA868437950D03]


# --- murmur3 --------------------------------------------------------------------------------------

WORDS = (b"hello", b"parquet", b"bloom", b"filter")


def old_filter(scheme: Scheme, run: Run, num_bytes: int) -> bytes:
    filter = SplitBlockBloomFilter.empty(num_bytes // 32)
    filter.insert_hashes(scheme.hashes(run, filter.num_blocks))
    return filter.to_bytes()


def words_run() -> SlicedRun:
    offsets = np.cumsum([0, *map(len, WORDS)], dtype=np.int64)
    return SlicedRun(memoryview(b"".join(WORDS)), offsets)


def test_murmur3_seed():
    """parquet-mr's own file of 2018: these four words, by this seed and by no other."""
    file = SHARED / "data/parquet-testing/bloom_filter.bin"
    if not file.exists():
        missing("../shared/data/parquet-testing")
    stored = file.read_bytes()[12:]
    found = [
        seed
        for seed in (PARQUET_SEED, HIVE_SEED, 0, 1, 42)
        if old_filter(Scheme("MURMUR3", seed, "mask"), words_run(), len(stored)) == stored
    ]
    assert found == [1361930890]


def test_murmur3_block():
    """The top 32 bits select a block by their lowest bits, or by their highest."""
    hash = np.array([0x00000003_00000000], np.uint64)
    by_mask = Scheme("MURMUR3", 0, "mask").aligned(hash, 4)
    by_product = Scheme("MURMUR3", 0, "multiply-shift").aligned(hash, 4)
    assert [
        int((each[0] >> np.uint64(32)) * np.uint64(4)) >> 32 for each in (by_mask, by_product)
    ] == [
        3,
        0,
    ]


def test_murmur3_size():
    """9.68 bits a value are 1,210 bytes for 1,000 values, and so 2,048."""
    assert num_bytes_for(1, 0.01) == 32
    assert num_bytes_for(1_000, 0.01) == 2_048
    assert num_bytes_for(10**9, 0.01) == 128 << 20


def test_murmur3_header():
    """Zeros for both, where the document has a page header that names them."""
    plain, page = encode("12-byte", 1024), encode("page", 1024)
    assert plain == bytes.fromhex("00040000 00000000 00000000")
    assert page == bytes.fromhex("15 08 15 8010 15 8010 6c 15 8010 1c 1c 00 00 1c 1c 00 00 00 00")
    assert [header.layout for header in read(plain)] == ["12-byte", "8-byte"]
    assert [header.layout for header in read(page)] == ["page"]


def test_murmur3_place(tmp_path):
    """Before the first page of its chunk as the document says, or before the footer."""
    source = tmp_path / "source.parquet"
    pq.write_table(pa.table({"id": ["a", "b"]}), source)
    starts = {}
    for placement in ("chunk", "footer"):
        output = tmp_path / f"{placement}.parquet"
        report = pb.build(source, output, columns=["id"], dialect=pb.Murmur3(placement=placement))
        chunk = pq.read_metadata(output).row_group(0).column(0)
        starts[placement] = (report.filters[0].offset, chunk.dictionary_page_offset)
    assert starts["chunk"] == (4, 4 + 12 + 32)
    (offset, page) = starts["footer"]
    assert page == 4 < offset


def test_murmur3_prefix():
    """The very first draft took the length of a text for a part of it."""
    oldest = Scheme("HIVE", HIVE_SEED, "mask", "big")
    hash = oldest.hashes(run_of([b"hello"], None), 1)
    low_half = hashing.hive64(b"\x05\0\0\0hello") % 2**32
    assert hash.tolist() == [low_half]
    assert oldest.words(b"\1\2\3\4") == b"\4\3\2\1"


def test_murmur3_offset(tmp_path):
    """Today's readers find nothing, unless they are led there; and never today's header."""
    source = tmp_path / "source.parquet"
    pq.write_table(pa.table({"id": ["a", "b"]}), source)
    for publish_offset in (False, True):
        output = tmp_path / f"{publish_offset}.parquet"
        report = pb.build(
            source, output, columns=["id"], dialect=pb.Murmur3(publish_offset=publish_offset)
        )
        with open_file(output) as file:
            offset = file.chunk(0, "id").bloom_filter_offset
        assert offset == (report.filters[0].offset if publish_offset else None)
        assert bool(report.notes) == publish_offset
        data = output.read_bytes()[report.filters[0].offset :]
        assert not data.startswith(encode_header(32))


# --- statistics -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def example(tmp_path_factory):
    """The document's block of 12, 14, 16 and 17, and how to give it filters."""
    folder = tmp_path_factory.mktemp("example")
    source = folder / "source.parquet"
    ids = pa.array([12, 14, 16, 17], pa.int32())
    columns = {"id": ids, "rate": ids.cast(pa.float32()), "name": ids.cast(pa.string())}
    pq.write_table(pa.table({**columns, "flag": [True, False, True, False]}), source)

    def built(columns=("id",), **options):
        output = folder / f"{len(list(folder.iterdir()))}.parquet"
        return output, pb.build(
            source, output, columns=columns, dialect=pb.StatisticsFilter(**options)
        )

    return built


def filter_inside(path, column="id"):
    with open_file(path) as file:
        return statistics_filter(file, file.chunk(0, column))


def test_statistics_clear(example):
    """An empty filter finds nothing: 4 values set at most 4 * k bits of 6,272."""
    path, _ = example(expected_entries=1000)
    filter = filter_inside(path)
    assert filter.bits.num_bits == 6_272
    assert filter.bits.bits_set == len(
        {
            bit
            for value in (12, 14, 16, 17)
            for bit in hashing.k_hash_bits(hashing.wang(value), 6_272, 4)
        }
    )


def test_statistics_example(example):
    """16 is in the block, between 11 and 17, and the filter finds it."""
    path, _ = example(expected_entries=1000)
    report = pb.probe(path, "id", [16, 12, 13, 15], dialect="statistics")
    assert [found.verdict for found in report.results] == ["maybe", "maybe", "absent", "absent"]


def test_statistics_strategy(example):
    """The numbers that the format gave Guava's strategies; Hive's hashes went by the first."""
    numbers = {}
    for strategy in ("hive", "guava-32", "guava-64"):
        path, _ = example(strategy=strategy, expected_entries=1000)
        filter = filter_inside(path)
        numbers[strategy] = filter.stored.struct.strategy
        unnamed = replace(filter.stored, struct=replace(filter.stored.struct, name=""))
        with open_file(path) as file:
            assert usable(file, file.chunk(0, "id"), unnamed).hash == strategy
    assert numbers == {"hive": 0, "guava-32": 0, "guava-64": 1}


def test_statistics_types(example):
    _, report = example(("id", "rate", "name", "flag"))
    assert [built.column for built in report.filters] == ["id", "rate", "name"]
    assert [skip.column for skip in report.skipped] == ["flag"]


def test_statistics_float(example):
    """ORC widens it."""
    path, _ = example(("rate",), expected_entries=1000)
    (bits,) = struct.unpack("<i", struct.pack("<f", 16.0))
    (widened,) = struct.unpack("<q", struct.pack("<d", 16.0))
    filter = filter_inside(path, "rate").bits
    hashes = np.array([of_long(bits), of_long(widened)], np.uint64)
    assert filter.check_hashes(hashes).tolist() == [True, False]


def test_statistics_longs(example):
    """The same bits in each encoding."""
    found = [
        filter_inside(example(encoding=encoding)[0]) for encoding in ("list", "binary", "java")
    ]
    assert [filter.layout for filter in found] == ["list", "binary", "java"]
    assert len({filter.stored.struct.bitset for filter in found}) == 1


def test_statistics_conf():
    rate, real = "parquet.bloom.filter.fpp.value=0.01", "parquet.bloom.filter.value=0.01"
    provided = "parquet.bloom.filter.fpp.provided"
    assert read_conf([]).others.fpp == 0.05
    assert read_conf([rate]).others.fpp == read_conf([real]).others.fpp == 0.01
    assert read_conf([rate, f"{provided}=false"]).others.fpp == 0.05
    with pytest.raises(pb.ConfigError, match="expected true or false"):
        read_conf([f"{provided}=0.05"])


@pytest.mark.parametrize("key", ["hive.optimize.ppd", "hive.optimize.index.filter"])
def test_statistics_pushdown(key):
    with pytest.raises(pb.ConfigError, match="makes Hive ask filters, and says nothing of one"):
        read_conf([f"{key}=true"])


def test_statistics_place(example):
    """What it costs readers of today is in test_statistics_places."""
    found = [filter_inside(example(field_id=field_id)[0]) for field_id in (31420, 7, 5)]
    assert [filter.stored.field_id for filter in found] == [31420, 7, 5]
    assert [filter.stored.struct.displaced is not None for filter in found] == [False, True, True]
