"""Filters that are dubious, and filters beyond gigabytes.

No value that is in a row group is ever called `absent` there.
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome, verdicts
from make.filters import filter_header, with_filter_bytes
from make.footers import edited, footer_start, pointer, with_meta
from make.hostile_files import ABSENT_VALUE
from make.pages import byte_arrays, data_page, int64s
from make.parquet_files import Column, forge

import parquet_bloom as pb
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import Type
from parquet_bloom.storage import local_output


def reasons(path: Path, column: str) -> list[str | None]:
    report = pb.inspect(path, columns=[column])
    return [group.columns[0].reason for group in report.row_groups]


# ------------------------------------------------------------------------------------------------
# Filters


def _filter_attacks(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Files in which something about the filter of row group 0, column a is dubious."""
    offset, length = pointer(data, 0, 0)
    other, other_length = pointer(data, 1, 0)
    header = filter_header(64)
    # One in which no bit is set would exclude nothing anyway.
    bits = b"\1" + bytes(63)

    def pointing(place: int | None, size: int | None) -> bytes:
        return with_meta(data, 0, 0, bloom_filter_offset=place, bloom_filter_length=size)

    def stored(*parts: bytes) -> bytes:
        return with_filter_bytes(data, 0, 0, b"".join(parts))

    for place in (0, 1, 3, -1, -(2**62), 2**63 - 1, 2**40, len(data), len(data) - 4):
        yield f"offset {place}", pointing(place, length)
    yield "offset of the footer", pointing(footer_start(data), length)
    yield "offset into pages", pointing(4, length)
    yield "offset into the bitset", pointing(offset + 20, length)
    yield "offset into another bitset", pointing(other + 30, other_length)
    yield "the filter of another chunk", pointing(other, other_length)
    yield "the filter of another column", pointing(*pointer(data, 0, 1))
    for size in (length - 1, length + 1, 0, 1, -1, 2**31 - 1, -(2**31), length + 32):
        yield f"length {size}", pointing(offset, size)
    for size in (0, -1, -64, 33, 63, 65, 2**31 - 1, -(2**31), 2**30, 1 << 20, None):
        yield f"numBytes {size}", stored(filter_header(size), bits)
        yield (
            f"numBytes {size} without a length",
            with_meta(stored(filter_header(size), bits), 0, 0, bloom_filter_length=None),
        )
    yield "header cut", stored(header[:-3])
    yield "no header", stored(b"\xff" * 80)
    yield "an empty header", stored(b"\0" * 80)
    algorithm = ttypes.BloomFilterAlgorithm
    yield "no algorithm", stored(filter_header(64, algorithm=None), bits)
    yield "an empty algorithm", stored(filter_header(64, algorithm=algorithm()), bits)
    yield "no hash", stored(filter_header(64, hash=None), bits)
    yield "no compression", stored(filter_header(64, compression=None), bits)
    # The unions BLOCK (1), XXHASH (1), UNCOMPRESSED (1), each as a member 2 that nobody knows.
    usual = b"\x15\x80\x01\x1c\x1c\0\0\x1c\x1c\0\0\x1c\x1c\0\0\0"
    assert header == usual
    for name, at in (("algorithm", 4), ("hash", 8), ("compression", 12)):
        unknown = bytearray(usual)
        unknown[at] = 0x2C
        yield f"unknown {name}", stored(bytes(unknown), bits)
        both = usual[: at + 2] + b"\x1c\0" + usual[at + 2 :]
        yield f"two members of {name}", stored(both, bits)


def test_a_dubious_filter_excludes_nothing(write: Callable[[bytes], Path], filtered: bytes) -> None:
    wrong = []
    for name, data in _filter_attacks(filtered):
        path = write(data)
        found = verdicts(path, "a", 7)
        if found[0] == "absent":
            wrong.append(f"{name}: 7 is {found[0]}")
        if verdicts(path, "a", ABSENT_VALUE)[0] != "unknown":
            wrong.append(f"{name}: the filter is used")
        reason = reasons(path, "a")[0]
        if not reason or reason == "no filter" or "('" in reason:
            wrong.append(f"{name}: inspect gives the reason {reason!r}")
        said = {pb.probe(path, "a", [7]).results[0].groups[0].reason, reason}
        if any(str(path) in each or "row group 0" in each for each in said if each):
            wrong.append(f"{name}: the place is said twice: {said}")
    assert wrong == []


def test_a_dubious_filter_is_kept_replaced_or_stripped(
    write: Callable[[bytes], Path], filtered: bytes, plain: bytes
) -> None:
    """keep says that it keeps a broken one, replace mends, strip drops the pointer; pages stay.

    A pointer past the data is not kept: it would lead into what is written there.
    """
    rows = pq.read_table(pa.BufferReader(plain))
    for name, data in _filter_attacks(filtered):
        path = write(data)
        output = path.parent / "out.parquet"
        try:
            kept = pb.build(path, output, columns=["a"], existing="keep", overwrite=True)
        except pb.FooterError as error:
            assert re.search(r"extends? past", str(error)), name  # noqa: PT017
        else:
            assert len(kept.filters) + len(kept.skipped) == 2, name
            assert pq.read_table(output).equals(rows), name
        pb.build(path, output, columns=["a"], existing="replace", overwrite=True)
        assert verdicts(output, "a", 7) == ["maybe", "absent"], name
        assert verdicts(output, "a", 2) == ["absent", "maybe"], name
        assert verdicts(output, "s", "z")[1] == "maybe", name
        assert pq.read_table(output).equals(rows), name
        pb.strip(path, output, overwrite=True)
        assert verdicts(output, "a", 7) == ["unknown", "unknown"], name
        assert pq.read_table(output).equals(rows), name
        pb.strip(path, output, overwrite=True, columns=["a"], row_groups=[0])
        assert verdicts(output, "s", "x")[0] == "maybe", name
        assert verdicts(output, "s", "z")[1] == "maybe", name
        assert verdicts(output, "a", 2)[1] == "maybe", name


def test_a_length_that_is_missing_is_no_damage(
    write: Callable[[bytes], Path], filtered: bytes
) -> None:
    path = write(with_meta(filtered, 0, 0, bloom_filter_length=None))
    assert verdicts(path, "a", 7) == ["maybe", "absent"]
    assert reasons(path, "a") == [None, None]


def test_unknown_fields_after_a_header_are_no_damage(
    write: Callable[[bytes], Path], filtered: bytes
) -> None:
    bits = pb.SplitBlockBloomFilter.empty(2)
    bits.insert_hashes(np.array([_kernel.xxh64(int64s(7))], np.uint64))
    header = filter_header(64)[:-1] + b"\x58\x05extra" + b"\x15\x02" + b"\0"
    long = filter_header(64)[:-1] + b"\x58\xe8\x07" + b"x" * 1000 + b"\0"
    for stored in (header, long):
        path = write(with_filter_bytes(filtered, 0, 0, stored + bits.to_bytes()))
        assert verdicts(path, "a", 7)[0] == "maybe"
        assert verdicts(path, "a", ABSENT_VALUE)[0] == "absent"


def test_a_filter_over_pages_whose_size_is_a_lie(write: Callable[[bytes], Path]) -> None:
    """A page that looks like a filter; the chunk's size, which would tell, is out of range."""
    bits = b"\0" * 64
    body = filter_header(64) + bits
    page_bytes = data_page(byte_arrays(body), 1)
    offset = 4 + page_bytes.index(body)
    for size in (-1, 0, 2**62, None):
        meta = {
            "total_compressed_size": size,
            "bloom_filter_offset": offset,
            "bloom_filter_length": len(body),
        }
        path = write(forge(Column([page_bytes], 1, type=Type.BYTE_ARRAY, meta=meta)))
        assert verdicts(path, "a", b"anything") == ["unknown"], size
        output = path.parent / "out.parquet"
        pb.strip(path, output, overwrite=True)
        assert output.read_bytes().startswith(path.read_bytes()[: 4 + len(page_bytes)]), size


def test_stripping_a_filter_inside_another(write: Callable[[bytes], Path], plain: bytes) -> None:
    """The inner one ends where the footer begins; the outer one must keep all its bytes, and does
    without a length in the footer, too."""
    inner = filter_header(64) + bytes(64)
    outer_bits = bytes(128 - len(inner)) + inner
    data = with_filter_bytes(plain, 0, 0, filter_header(128) + outer_bits)
    end = footer_start(data)
    place = {"bloom_filter_offset": end - len(inner), "bloom_filter_length": len(inner)}
    path = write(with_meta(data, 1, 0, **place))
    output = path.parent / "out.parquet"
    pb.strip(path, output, columns=["a"], row_groups=[1])
    assert output.read_bytes().startswith(data[:end])
    path = write(with_meta(path.read_bytes(), 0, 0, bloom_filter_length=None))
    pb.strip(path, output, columns=["a"], row_groups=[1], overwrite=True)
    assert output.read_bytes().startswith(data[:end])


def test_rows_that_the_row_groups_do_not_hold(
    write: Callable[[bytes], Path], filtered: bytes
) -> None:
    """num_rows of the file and of its row groups disagree: one is missing, so nothing is absent."""

    def lose(footer: ttypes.FileMetaData) -> None:
        footer.row_groups.pop()

    def lose_all(footer: ttypes.FileMetaData) -> None:
        footer.row_groups = []

    lost = outcome("probe", write(edited(filtered, lose)), "-c", "a", "-v", "2")
    assert lost.code == 0
    assert "the row groups hold 2 rows, the file 4" in lost.stdout
    path = write(edited(filtered, lose_all))
    lost = outcome("probe", path, "-c", "a", "-v", "2")
    assert lost.code == 2
    assert lost.stderr == f"pbloom: {path}: footer: the row groups hold 0 rows, the file 4\n"
    with pb.open(path) as file, pytest.raises(pb.FooterError, match=r"hold 0 rows, the file 4$"):
        file.probe("a", 2)


# ------------------------------------------------------------------------------------------------
# Large offsets


@pytest.mark.every(2)
@pytest.mark.parametrize("gigabytes", [4, 2])
def test_offsets_beyond_gigabytes(
    write: Callable[[bytes], Path], plain: bytes, gigabytes: int
) -> None:
    """A hole between the pages and the footer: sparse, and copied sparse where that is possible."""
    path = write(plain)
    start = footer_start(plain)
    moved = gigabytes * 2**30 + 17
    with path.open("r+b") as file:
        file.truncate(start)
        file.seek(moved)
        file.write(plain[start:])
    # What would be copied is mostly hole: the attack is on offsets, not on the disk.
    report = pb.build(path, columns=["a", "s"], dry_run=True)
    assert report.filters[0].offset == moved
    built = path.parent / "out.parquet"
    _write_with_hole(path, built, moved)
    assert verdicts(built, "a", 7) == ["maybe", "absent"]
    assert verdicts(built, "s", "z") == ["absent", "maybe"]
    assert reasons(built, "a") == [None, None]
    assert pq.read_table(built)["a"].to_pylist() == [7, 1, 2, 3]
    assert pb.strip(built, dry_run=True).size_after == moved + len(plain) - start


def _write_with_hole(path: Path, output: Path, moved: int) -> None:
    """Build, with a hole for what would be copied."""

    def holes(source: int, start: int, copy: int, to: int, length: int) -> int:
        os.pwrite(copy, os.pread(source, min(length, 1 << 20), start), to)
        return length

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(local_output, "copy_range", holes)
        report = pb.build(path, output, columns=["a", "s"])
    assert [item.offset > moved - 1 for item in report.filters] == [True] * 4
    assert report.size_after == output.stat().st_size
