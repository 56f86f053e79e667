"""Files that break PB7xx: filters of older dialects."""

from collections.abc import Callable
from pathlib import Path

from make.defects_files import Defect, sound
from make.footers import footer_start, meta_of, with_footer
from make.older_files import (
    bitset,
    file_of,
    murmur3,
    page_header,
    plain_header,
    texts,
    thrift_header,
    with_other_note,
)
from make.statistics_files import with_struct

import parquet_bloom as pb
from parquet_bloom.legacy.presence import NOTE_KEY
from parquet_bloom.legacy.statistics.filter_struct import StatisticsStruct
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

# A filter of them takes less than their chunk, and finds few others.
VALUES = texts(500, "a value of some length")
BLOCKS = 64
SIZE = 32 * BLOCKS

PUBLISHED = frozenset({"PB701"})


def published(header: bytes, bits: bytes = b"", place: str = "footer") -> Callable[[Path], Path]:
    """A file whose bloom_filter_offset leads to this filter; without `bits` to the right ones."""
    stored = header + (bits or bitset(VALUES, BLOCKS))
    return lambda folder: file_of(folder, VALUES, stored, place=place)


def by_build(
    dialect: pb.Murmur3 | pb.StatisticsFilter, change: Callable[[bytes], bytes] = bytes
) -> Callable[[Path], Path]:
    """The sound file with filters of `dialect` for its column `a`, and then a change."""

    def make(folder: Path) -> Path:
        path = folder / "built.parquet"
        path.write_bytes(sound())
        pb.build(path, columns=["a"], row_groups=[0], in_place=True, dialect=dialect)
        path.write_bytes(change(path.read_bytes()))
        return path

    return make


def with_note(value: str) -> Callable[[bytes], bytes]:
    """Another text for the first note."""

    def change(data: bytes) -> bytes:
        start = footer_start(data)
        footer, _ = compact.decode(ttypes.FileMetaData, data[start:-8])
        (pair,) = meta_of(footer, 0, 0).key_value_metadata
        assert pair.key == NOTE_KEY
        pair.value = value
        return with_footer(data[:start], footer)

    return change


def without_bits(data: bytes) -> bytes:
    """Half of the bits of the last filter before the footer are cleared."""
    start = footer_start(data)
    return data[: start - 1024] + bytes(1024) + data[start:]


def in_statistics(*numbers: int) -> Callable[[Path], Path]:
    """A struct in the Statistics with this number of bits and of hashes, and bits of nothing."""

    def make(folder: Path) -> Path:
        source, path = folder / "source.parquet", folder / "struct.parquet"
        source.write_bytes(sound())
        num_bits, num_hashes = numbers
        struct = StatisticsStruct("list", b"\x11" * 4096, num_bits, num_hashes, 0, "hive")
        with_struct(source, path, struct, "a")
        return path

    return make


OLDER = [
    # PB701
    *(
        Defect(f"published behind {name}", "PB701", published(header))
        for name, header in {
            "12 bytes": plain_header(SIZE, 12),
            "three fields": thrift_header(SIZE),
            "a page header": page_header(SIZE),
        }.items()
    ),
    # PB702
    Defect(
        "a filter among pages", "PB702",
        published(thrift_header(4096), bytes(32), "before"), beside=PUBLISHED,
    ),
    Defect(
        "a filter without an end", "PB702",
        published(thrift_header(1 << 20), bytes(32)), beside=PUBLISHED,
    ),
    Defect(
        "a size of no blocks", "PB702",
        published(thrift_header(1000), bytes(1000)), beside=PUBLISHED,
    ),
    Defect("a note of nobody's", "PB702", by_build(pb.Murmur3(), with_note("{}"))),
    Defect(
        "a note that leads nowhere", "PB702",
        by_build(pb.Murmur3(), with_note(
            '{"offset":4,"length":4108,"pages":4,"header":"12-byte","hash":"MURMUR3","seed":1,'
            '"selection":"mask"}'
        )),
    ),
    Defect("a struct with more bits than it has", "PB702", in_statistics(1 << 20, 4)),
    Defect("a struct without hashes", "PB702", in_statistics(8 * 4096, 0)),
    # PB703
    Defect(
        "three blocks", "PB703",
        published(thrift_header(96), bitset(VALUES, 1) * 3), beside=PUBLISHED,
    ),
    # PB704
    Defect("where is_max_value_exact is", "PB704", by_build(pb.StatisticsFilter(field_id=7))),
    Defect("where max_value is", "PB704", by_build(pb.StatisticsFilter(field_id=5))),
    # PB705
    Defect(
        "published without some values", "PB705",
        published(plain_header(SIZE, 12), bitset(VALUES[:400], BLOCKS)),
        deep=True, beside=PUBLISHED,
    ),
    Defect("bits that got lost", "PB705", by_build(pb.Murmur3(), without_bits), deep=True),
    Defect("a struct of other values", "PB705", in_statistics(8 * 4096, 4), deep=True),
    # PB706
    Defect(
        "a seed of nobody's", "PB706",
        published(plain_header(SIZE, 12), bitset(VALUES, BLOCKS, murmur3(4711))),
        deep=True, beside=PUBLISHED,
    ),
    Defect(
        "all bits are set", "PB706", published(plain_header(SIZE, 12), b"\xff" * SIZE),
        deep=True, beside=PUBLISHED,
    ),
    # PB707
    Defect(
        "a note with another seed", "PB707",
        by_build(pb.Murmur3(), lambda data: with_other_note(data, "seed")),
        deep=True,
    ),
]  # fmt: skip
