"""diff: what is the same, what differs and how, and the exit code."""

import json
import os
import random
import re
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, ROOT
from make.commands import outcome
from make.defects_files import encrypted
from make.filters import filter_header, with_filter_bytes
from make.footers import edited, footer_start, pointer, with_meta

import parquet_bloom as pb
from parquet_bloom.container import FilterDescription
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.verbs.diff import FileDiff, FilterDiff, diff
from parquet_bloom.vocabulary import DiffStatus, words

A, S = 0, 1

# Two blocks: every bit of the first word of each, and the lowest of each of the others.
BITS = (b"\xff" * 4 + b"\x01\0\0\0" * 7) * 2
NUM_BITS = 2 * (32 + 7)


@pytest.fixture
def pair(tmp_path: Path) -> Callable[[bytes, bytes], tuple[Path, Path]]:
    def pair(a: bytes, b: bytes) -> tuple[Path, Path]:
        paths = tmp_path / "a.parquet", tmp_path / "b.parquet"
        for path, data in zip(paths, (a, b), strict=True):
            path.write_bytes(data)
        return paths

    return pair


Pair = Callable[[bytes, bytes], tuple[Path, Path]]


def with_bits(data: bytes, bits: bytes, **unions: Any) -> bytes:
    """The same file with this filter for `a` in row group 0."""
    return with_filter_bytes(data, 0, A, filter_header(len(bits), **unions) + bits)


def only(report: FileDiff) -> FilterDiff:
    assert len(report.filters) == 1
    return report.filters[0]


# ------------------------------------------------------------------------------------------------
# The same


def test_a_file_is_the_same_as_itself(filtered: bytes, pair: Pair) -> None:
    report = diff(*pair(filtered, filtered))
    assert report.same
    assert [(item.row_group, item.column, item.status, item.reason) for item in report.filters] == [
        (group, column, "same", "") for group in range(2) for column in "as"
    ]
    assert {(item.fold, item.bits_only_a, item.bits_only_b) for item in report.filters} == {
        (1, 0, 0)
    }


def test_files_without_filters_are_the_same(plain: bytes, pair: Pair) -> None:
    report = diff(*pair(plain, plain))
    assert (report.same, report.filters) == (True, ())


def test_where_a_filter_lies_does_not_count(plain: bytes, pair: Pair) -> None:
    header = filter_header(64)
    longer = header[:-1] + b"\x18\x02hi\0"
    assert compact.decode(ttypes.BloomFilterHeader, longer)[1] == len(longer)
    moved = with_filter_bytes(with_bits(plain, bytes(64)), 0, A, longer + BITS)
    report = diff(*pair(with_bits(plain, BITS), moved))
    assert report.same
    a, b = only(report).a, only(report).b
    assert a is not None
    assert b is not None
    assert (a.header_bytes, b.header_bytes) == (len(header), len(longer))
    assert (a.length, b.length) == (len(header) + 64, len(longer) + 64)
    assert a.offset < b.offset


def test_the_sides_are_described(plain: bytes, pair: Pair) -> None:
    data = with_bits(plain, BITS)
    found = only(diff(*pair(data, data)))
    assert found.a == found.b
    offset, length = pointer(data, 0, A)
    assert found.a is not None
    assert found.a.ndv_estimate is not None
    assert 9 < found.a.ndv_estimate < 11
    assert replace(found.a, ndv_estimate=None) == FilterDescription(
        dialect="xxhash",
        offset=offset,
        length=length,
        stored_bytes=length,
        num_filters=1,
        num_bytes=64,
        fill=NUM_BITS / 512,
        fpp=(1 / 32) ** 7,
        worst_fpp=(1 / 32) ** 7,
        ndv_estimate=None,
        encrypted=False,
        header_bytes=length - 64,
        num_blocks=2,
        algorithm="BLOCK",
        hash="XXHASH",
        compression="UNCOMPRESSED",
    )


# ------------------------------------------------------------------------------------------------
# Different


def test_one_file_has_the_filter(plain: bytes, pair: Pair) -> None:
    for a, b, status, without in (
        (with_bits(plain, BITS), plain, "only in a", "b"),
        (plain, with_bits(plain, BITS), "only in b", "a"),
    ):
        report = diff(*pair(a, b))
        found = only(report)
        assert not report.same
        assert (found.status, found.reason) == (status, f"{without}: no filter")
        assert getattr(found, without) is None
        assert (found.fold, found.bits_only_a, found.bits_only_b) == (None, None, None)


def test_bits_are_counted_on_either_side(plain: bytes, pair: Pair) -> None:
    other = bytearray(BITS)
    other[0] = 0b11111000
    other[63] = 0b11
    found = only(diff(*pair(with_bits(plain, BITS), with_bits(plain, bytes(other)))))
    assert (found.status, found.fold) == ("different", 1)
    assert (found.bits_only_a, found.bits_only_b) == (3, 2)
    assert found.reason == "bits set only in a: 3, only in b: 2"


def folded(bits: bytes, factor: int) -> bytes:
    """Every `factor` neighbouring blocks, ORed."""
    blocks = [int.from_bytes(bits[at : at + 32]) for at in range(0, len(bits), 32)]
    result = b""
    for at in range(0, len(blocks), factor):
        block = 0
        for other in blocks[at : at + factor]:
            block |= other
        result += block.to_bytes(32)
    return result


@pytest.mark.parametrize(("num_blocks", "factor"), [(4, 2), (8, 4), (64, 64), (6, 3), (12, 6)])
def test_a_folded_filter_is_recognised(
    plain: bytes, pair: Pair, num_blocks: int, factor: int
) -> None:
    large = random.Random(num_blocks).randbytes(32 * num_blocks)
    small = folded(large, factor)
    found = only(diff(*pair(with_bits(plain, large), with_bits(plain, small))))
    assert (found.status, found.fold) == ("folded", factor)
    assert (found.bits_only_a, found.bits_only_b) == (0, 0)
    assert found.reason == f"b is a, folded by {factor}"
    turned = only(diff(*pair(with_bits(plain, small), with_bits(plain, large))))
    assert (turned.status, turned.reason) == ("folded", f"a is b, folded by {factor}")


def test_what_build_folds_is_recognised(plain: bytes, pair: Pair) -> None:
    """The same values, built for another rate."""
    a, b = pair(plain, plain)
    pb.build(FIXTURES / "pyarrow_types.parquet", a, columns=["int64"], fpp=0.0001, overwrite=True)
    pb.build(FIXTURES / "pyarrow_types.parquet", b, columns=["int64"], fpp=0.1, overwrite=True)
    assert {item.status for item in diff(a, b).filters} == {"folded"}


def test_the_larger_one_is_folded_to_be_compared(plain: bytes, pair: Pair) -> None:
    large = random.Random(0).randbytes(128)
    small = bytearray(folded(large, 2))
    lost = small[5].bit_count()
    small[5] = 0
    found = only(diff(*pair(with_bits(plain, bytes(small)), with_bits(plain, large))))
    assert (found.status, found.fold) == ("different", 2)
    assert (found.bits_only_a, found.bits_only_b) == (0, lost)
    assert found.reason == (
        f"b is 2 times as large as a: folded by 2, bits set only in a: 0, only in b: {lost}"
    )


def test_sizes_without_a_common_measure(plain: bytes, pair: Pair) -> None:
    found = only(diff(*pair(with_bits(plain, bytes(64)), with_bits(plain, bytes(96)))))
    assert (found.status, found.fold, found.bits_only_a) == ("different", None, None)
    assert found.reason == "64 bytes in a, 96 in b"


def test_headers_that_differ(plain: bytes, pair: Pair) -> None:
    other = with_bits(plain, BITS, hash=ttypes.BloomFilterHash())
    found = only(diff(*pair(with_bits(plain, BITS), other)))
    assert (found.status, found.bits_only_a, found.bits_only_b) == ("different", 0, 0)
    assert found.reason == "hash is XXHASH in a, unknown in b"


def test_a_folded_filter_of_another_hash_is_another_filter(plain: bytes, pair: Pair) -> None:
    other = with_bits(plain, folded(BITS, 2), hash=ttypes.BloomFilterHash())
    found = only(diff(*pair(with_bits(plain, BITS), other)))
    assert (found.status, found.fold) == ("different", 2)
    assert found.reason == "hash is XXHASH in a, unknown in b; b is a, folded by 2"


@pytest.mark.parametrize("num_bytes", [256, 2048, 4096, 65536])
def test_bits_of_one_filter_only_are_counted(plain: bytes, pair: Pair, num_bytes: int) -> None:
    """The kernel counts 2 KiB at a time."""
    first, second = (random.Random(seed).randbytes(num_bytes) for seed in range(2))
    found = only(diff(*pair(with_bits(plain, first), with_bits(plain, second))))
    number, other = int.from_bytes(first), int.from_bytes(second)
    assert found.bits_only_a == (number & ~other).bit_count()
    assert found.bits_only_b == (other & ~number).bit_count()


def test_filters_of_the_same_size_are_not_copied(plain: bytes, pair: Pair) -> None:
    """The two bitsets, and the bytes that one of them is made from."""
    num_bytes = 16 << 20
    a, b = pair(with_bits(plain, b"\x01" * num_bytes), with_bits(plain, b"\x03" * num_bytes))
    tracemalloc.start()
    found = only(diff(a, b))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert (found.bits_only_a, found.bits_only_b) == (0, num_bytes)
    assert peak < 3.5 * num_bytes


def test_headers_that_nobody_knows_are_not_called_the_same(plain: bytes, pair: Pair) -> None:
    other = with_bits(plain, BITS, compression=ttypes.BloomFilterCompression())
    report = diff(*pair(other, other))
    assert (report.same, only(report).status) == (False, "unreadable")
    assert only(report).reason == "compression is unknown in both"


@pytest.mark.parametrize(
    ("lengths", "reason"),
    [
        ((None, 0), "bloom_filter_length is missing in a, as the header says in b"),
        ((0, 1), "bloom_filter_length is as the header says in a, not as the header says in b"),
        ((-1, None), "bloom_filter_length is not as the header says in a, missing in b"),
        ((1, -1), ""),
        ((None, None), ""),
    ],
)
def test_lengths_in_the_footer(
    plain: bytes, pair: Pair, lengths: tuple[int | None, int | None], reason: str
) -> None:
    data = with_bits(plain, BITS)
    length = pointer(data, 0, A)[1]
    sides = [
        with_meta(data, 0, A, bloom_filter_length=None if more is None else length + more)
        for more in lengths
    ]
    report = diff(*pair(*sides))
    assert (only(report).reason, report.same) == (reason, not reason)


UNREADABLE: list[tuple[str, Callable[[bytes], bytes]]] = [
    (
        "bloom_filter_offset is -1, expected 4 to ",
        lambda data: with_meta(data, 0, A, bloom_filter_offset=-1),
    ),
    ("no filter header at", lambda data: with_filter_bytes(data, 0, A, b"\xff" * 20)),
    ("numBytes is 33", lambda data: with_filter_bytes(data, 0, A, filter_header(33) + bytes(64))),
    ("numBytes is 0", lambda data: with_filter_bytes(data, 0, A, filter_header(0) + bytes(64))),
    ("numBytes is -32", lambda data: with_filter_bytes(data, 0, A, filter_header(-32) + bytes(64))),
    (
        "the filter reaches into the footer",
        lambda data: with_filter_bytes(data, 0, A, filter_header(96) + bytes(64)),
    ),
]


@pytest.mark.parametrize(("reason", "make"), UNREADABLE, ids=[reason for reason, _ in UNREADABLE])
def test_filters_that_cannot_be_read(
    plain: bytes, pair: Pair, reason: str, make: Callable[[bytes], bytes]
) -> None:
    sound, broken = with_bits(plain, BITS), make(plain)
    found = only(diff(*pair(sound, broken)))
    assert (found.status, found.b) == ("unreadable", None)
    assert found.a is not None
    assert found.reason.startswith(f"b: {reason}")
    alone = only(diff(*pair(broken, plain)))
    assert alone.status == "unreadable"
    assert re.fullmatch(f"a: {reason}.*; b: no filter", alone.reason)
    both = diff(*pair(broken, broken))
    assert (both.same, only(both).status) == (False, "unreadable")


def test_a_column_chunk_in_another_file(plain: bytes, pair: Pair) -> None:
    def edit(footer: ttypes.FileMetaData) -> None:
        footer.row_groups[0].columns[A].file_path = "part-0.parquet"

    data = with_bits(plain, BITS)
    found = only(diff(*pair(data, edited(data, edit))))
    assert (found.status, found.reason) == (
        "unreadable",
        "b: the column chunk is in another file",
    )


def test_nobody_knows_what_is_encrypted(filtered: bytes, pair: Pair) -> None:
    """Without its key not even whether a chunk has a filter: two such are not called the same."""

    def edit(footer: ttypes.FileMetaData) -> None:
        meta = footer.row_groups[0].columns[A].meta_data
        meta.bloom_filter_offset = meta.bloom_filter_length = None

    a, b = pair(encrypted(edited(filtered, edit), A), filtered)
    found = diff(a, b).filters[0]
    why = "a: encrypted, no key: its key is the footer's"
    assert (found.status, found.reason) == ("unreadable", why)
    report = diff(a, a)
    assert (report.same, [item.status for item in report.filters]) == (
        False,
        ["unreadable", "same", "same", "same"],
    )


# ------------------------------------------------------------------------------------------------
# Row groups and columns


def without_row_group(footer: ttypes.FileMetaData) -> None:
    lost = footer.row_groups.pop()
    footer.num_rows -= lost.num_rows


def test_a_row_group_that_only_one_file_has(filtered: bytes, plain: bytes, pair: Pair) -> None:
    report = diff(*pair(filtered, edited(filtered, without_row_group)))
    assert (report.same, report.num_parts_a, report.num_parts_b) == (False, 2, 1)
    assert [(item.row_group, item.status, item.reason) for item in report.filters] == [
        (0, "same", ""),
        (0, "same", ""),
        (1, "only in a", "b: no such row group"),
        (1, "only in a", "b: no such row group"),
    ]
    without_filters = diff(*pair(plain, edited(plain, without_row_group)))
    assert (without_filters.same, without_filters.filters) == (False, ())


def written(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    return sink.getvalue().to_pybytes()


def test_columns_are_compared_by_name(pair: Pair) -> None:
    a = with_filter_bytes(written(pa.table({"x": [1], "y": [2]})), 0, 1, LIKE_IT)
    b = with_filter_bytes(written(pa.table({"y": [2], "z": [3]})), 0, 0, LIKE_IT)
    b = with_filter_bytes(b, 0, 1, LIKE_IT)
    paths = pair(a, b)
    report = diff(*paths)
    assert (report.columns_only_a, report.columns_only_b) == (("x",), ("z",))
    assert [(item.column, item.status, item.reason) for item in report.filters] == [
        ("y", "same", ""),
        ("z", "only in b", "a: no such column"),
    ]
    assert diff(*paths, columns=["y"]).same
    assert diff(*paths, columns=["z"]).columns_only_b == ("z",)
    assert not diff(*paths, columns=["x"]).same
    with pytest.raises(pb.ColumnError, match="no column w; "):
        diff(*paths, columns=["w"])


LIKE_IT = filter_header(64) + BITS


def test_columns_of_one_name_are_not_confused(pair: Pair) -> None:
    """Two leaves can have the same dotted path."""
    table = pa.table({"x.y": [1], "x": pa.array([{"y": 2}])})
    data = with_filter_bytes(written(table), 0, 0, LIKE_IT)
    other = with_filter_bytes(written(table), 0, 1, LIKE_IT)
    report = diff(*pair(data, other))
    assert [(item.column, item.status) for item in report.filters] == [
        ("x.y#0", "only in a"),
        ("x.y#1", "only in b"),
    ]
    assert diff(*pair(data, data)).same


# ------------------------------------------------------------------------------------------------
# The command


def test_nothing_is_printed_if_nothing_differs(filtered: bytes, pair: Pair) -> None:
    result = outcome("diff", *pair(filtered, filtered))
    assert (result.code, result.stdout, result.stderr) == (0, "", "")
    lines = outcome("diff", *pair(filtered, filtered), "--all").stdout.splitlines()
    assert [line.split("\t")[:3] for line in lines] == [
        ["row group", "column", "filter"],
        ["0", "a", "same"],
        ["0", "s", "same"],
        ["1", "a", "same"],
        ["1", "s", "same"],
    ]


def test_the_table_shows_differences(plain: bytes, pair: Pair) -> None:
    other = with_bits(edited(plain, without_row_group), BITS[:32])
    result = outcome("diff", *pair(with_bits(plain, BITS), other))
    assert result.code == 1
    assert result.stdout.splitlines() == [
        "row groups: 2 in a, 1 in b",
        "row group\tcolumn\tfilter\tsize a\tsize b\tFPP a\tFPP b\tbits only a\tbits only b\tdifference",
        "0\ta\tfolded\t64 B\t32 B\t< 0.0001 %\t< 0.0001 %\t0\t0\tb is a, folded by 2",
    ]


def test_columns_that_only_one_has_are_named(pair: Pair) -> None:
    paths = pair(written(pa.table({"x": [1], "y": [2]})), written(pa.table({"y": [2], "z": [3]})))
    result = outcome("diff", *paths)
    assert (result.code, result.stdout) == (1, "column x: only in a\ncolumn z: only in b\n")
    assert outcome("diff", *paths, "-c", "y").code == 0


def test_json_is_one_document(plain: bytes, pair: Pair) -> None:
    a, b = pair(with_bits(plain, BITS), plain)
    result = outcome("diff", a, b, "--json")
    assert (result.code, result.stdout.count("\n")) == (1, 1)
    document = json.loads(result.stdout)
    assert list(document) == [
        "path_a", "path_b", "format", "same", "num_row_groups_a", "num_row_groups_b",
        "columns_only_a", "columns_only_b", "filters", "notes",
    ]  # fmt: skip
    assert list(document["filters"][0]) == [
        "row_group", "column", "status", "a", "b", "bits_only_a", "bits_only_b", "reason",
        "wrong_a", "wrong_b",
    ]  # fmt: skip
    assert (document["path_a"], document["path_b"], document["same"]) == (str(a), str(b), False)
    assert document["filters"][0]["b"] is None
    assert document["filters"][0]["a"]["num_bytes"] == 64


def test_trouble_is_another_exit_code(filtered: bytes, plain: bytes, pair: Pair) -> None:
    a, b = pair(filtered, b"PAR1 or not")
    none = a.with_name("none.parquet")
    for paths, named in (((a, b), b), ((b, a), b), ((a, none), none), ((none, a), none)):
        result = outcome("diff", *paths)
        assert (result.code, result.stdout) == (2, "")
        assert result.complaint.startswith(f"{named}: ")
    assert outcome("diff", a, a, "-c", "z").code == 2
    assert outcome("diff", a).code == 2


def test_every_status_is_documented() -> None:
    text = (ROOT / "docs" / "json.md").read_text().split("## `pbloom diff`")[1].split("\n## ")[0]
    assert set(words(DiffStatus)) <= set(re.findall(r"`([\w ]+)`", text))


def changed(data: bytes, start: int, end: int, rng: random.Random) -> bytes:
    """Some bytes of [start, end) are others now."""
    result = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at = rng.randrange(start, end)
        result[at] ^= rng.randrange(1, 256)
    return bytes(result)


@pytest.mark.parametrize("seed", range(80))
def test_a_damaged_footer_gives_one_line_or_an_answer(
    filtered: bytes, pair: Pair, seed: int
) -> None:
    broken = changed(filtered, footer_start(filtered), len(filtered) - 8, random.Random(seed))
    a, b = pair(filtered, broken)
    result = outcome("diff", a, b)
    assert result.code in (0, 1, 2)
    if result.code == 2:
        assert result.complaint.startswith(f"{b}: ")
    assert sorted(os.listdir(a.parent)) == ["a.parquet", "b.parquet"]


@pytest.mark.parametrize("seed", range(80))
def test_no_damage_to_a_filter_goes_unnoticed(filtered: bytes, pair: Pair, seed: int) -> None:
    start, end = pointer(filtered, 0, A)[0], footer_start(filtered)
    broken = changed(filtered, start, end, random.Random(seed))
    if broken != filtered:
        assert outcome("diff", *pair(filtered, broken)).code == 1
