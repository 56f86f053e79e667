"""Damaged files: no Parquet at all, cut, flipped, footers and schemas that lie.

Whatever comes: one line on stderr and exit code 2, or the right answer.
"""

import errno
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import IS_LONG
from make.commands import commands, outcome, pbloom, refuses, survives, verdicts
from make.footers import MAGIC, edited, footer_start, with_footer

import parquet_bloom as pb
from parquet_bloom.errors import FormatError
from parquet_bloom.native import _kernel
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes

# Enough for Python, numpy and pyarrow.
ADDRESS_SPACE = 1500 << 20


# ------------------------------------------------------------------------------------------------
# No Parquet file


@pytest.mark.parametrize("size", range(13))
def test_a_few_bytes_are_no_file(write: Callable[[bytes], Path], size: int) -> None:
    refuses(write((MAGIC + b"\0\0\0\0" + MAGIC)[:size] or b""))
    refuses(write(MAGIC[:size]))


@pytest.mark.parametrize(
    "data",
    [b"id,name\n1,one\n" * 9, b"\0" * 100, b"PAR2" + b"\0" * 60 + MAGIC],
    ids=["text", "zeros", "another magic"],
)
def test_other_formats(write: Callable[[bytes], Path], data: bytes) -> None:
    assert "Parquet" in refuses(write(data))


def test_a_file_that_begins_as_orc(write: Callable[[bytes], Path]) -> None:
    assert refuses(write(b"ORC" + b"\1" * 50)).endswith(
        ": truncated or not an ORC file: 1 byte before the last one, expected a postscript; if it was one, its"
        " end is lost: take another copy"
    )


def test_a_folder_without_files(tmp_path: Path) -> None:
    result = outcome("inspect", tmp_path)
    assert result.code == 2
    assert result.complaint == f"{tmp_path}: no Parquet or ORC files"


def test_a_missing_file(tmp_path: Path) -> None:
    for arguments in commands(tmp_path / "none.parquet", tmp_path / "out.parquet"):
        result = outcome(*arguments)
        assert result.code == 2
        assert result.complaint == f"{tmp_path}/none.parquet: No such file or directory"
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("error", [errno.EACCES, errno.EIO, errno.EPERM])
def test_a_file_that_cannot_be_opened(
    write: Callable[[bytes], Path], plain: bytes, monkeypatch: pytest.MonkeyPatch, error: int
) -> None:
    path = write(plain)
    real = os.open

    def fails(file: Any, flags: int, *rest: Any, **kw: Any) -> int:
        if str(file) == str(path):
            raise OSError(error, os.strerror(error), str(file))
        return real(file, flags, *rest, **kw)

    monkeypatch.setattr(os, "open", fails)
    assert refuses(path) == f"{path}: {os.strerror(error)}"


def test_a_file_that_cannot_be_read(
    write: Callable[[bytes], Path], plain: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pread's error has no file name, and among many files the line must still say which."""
    path = write(plain)

    def fails(*_: Any) -> bytes:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "pread", fails)
    assert refuses(path) == f"{path}: {os.strerror(errno.EIO)}"


def test_a_pipe_does_not_hang(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    done = pbloom("inspect", pipe)
    assert done.code == 2
    assert done.complaint.startswith(f"{pipe}: ")


# ------------------------------------------------------------------------------------------------
# Cut, and flipped


def test_cut_anywhere(write: Callable[[bytes], Path], filtered: bytes) -> None:
    lengths = {*range(len(filtered) - 400, len(filtered)), *range(0, len(filtered) - 400, 37)}
    for length in lengths:
        path = write(filtered[:length])
        with pytest.raises(FormatError, match=r"f\.parquet"):
            pb.open(path)
    refuses(write(filtered[:-1]))
    refuses(write(filtered[: len(filtered) // 2]))


@pytest.mark.parametrize("change", [-(10**9), -1000, -2, -1, 1, 2, 1000, 2**31, 2**32 - 1])
def test_the_footer_length_is_wrong(
    write: Callable[[bytes], Path], filtered: bytes, change: int
) -> None:
    length = int.from_bytes(filtered[-8:-4], "little") + change
    path = write(filtered[:-8] + (length % 2**32).to_bytes(4, "little") + MAGIC)
    assert "footer" in refuses(path)


@pytest.mark.parametrize("length", [0, 1])
def test_no_footer(write: Callable[[bytes], Path], filtered: bytes, length: int) -> None:
    path = write(filtered[:-8] + length.to_bytes(4, "little") + MAGIC)
    assert "footer" in refuses(path)


@pytest.mark.every(2)
@pytest.mark.parametrize("part", range(8) if IS_LONG else (0, 5))
def test_each_byte_flipped(
    write: Callable[[bytes], Path], filtered: bytes, part: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bytes of the footer, the filters and the pages, each in another way."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    chance = random.Random(part)
    for turn, at in enumerate(range(4 + part, len(filtered) - 8, 24)):
        changed = bytearray(filtered)
        changed[at] = chance.choice([0, 0x7F, 0x80, 0xFF, changed[at] ^ 1, changed[at] ^ 0x10])
        survives(write(bytes(changed)), turn)


def test_several_bytes_flipped(
    write: Callable[[bytes], Path], filtered: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)
    chance = random.Random(8)
    for turn in range(100):
        changed = bytearray(filtered)
        for _ in range(4):
            changed[chance.randrange(footer_start(filtered), len(filtered) - 8)] = chance.randrange(
                256
            )
        survives(write(bytes(changed)), turn)


def test_random_footers(write: Callable[[bytes], Path]) -> None:
    chance = random.Random(9)
    for size in range(1, 200):
        path = write(with_footer(MAGIC + b"\0" * 64, chance.randbytes(size)))
        with pytest.raises(FormatError, match=r"f\.parquet"), pb.open(path) as file:
            pytest.fail(f"{file.columns} of {file.num_row_groups} row groups")


@pytest.mark.parametrize(
    "raw",
    [
        b"\x1c" * 100_000,  # structs in structs
        b"\x29" * 100_000,  # lists
        b"\x19\xfc" + b"\xff" * 4 + b"\x0f" + b"\x1c" * 40,  # a list longer than the file
        b"\x2b\xff\xff\xff\xff\x0f\xcc",  # a map longer than the file
        b"\x18\xff\xff\xff\xff\x07",  # a text longer than the file
        b"\x15" + b"\xff" * 20,  # a number without end
    ],
)
def test_hostile_thrift(write: Callable[[bytes], Path], raw: bytes) -> None:
    assert "footer" in refuses(write(with_footer(MAGIC, raw)))


# ------------------------------------------------------------------------------------------------
# Schemas


def _schema(*elements: tuple[str, int | None, int | None]) -> Callable[[ttypes.FileMetaData], None]:
    def edit(footer: ttypes.FileMetaData) -> None:
        footer.schema = [
            ttypes.SchemaElement(name=name, type=kind, num_children=children, repetition_type=0)
            for name, kind, children in elements
        ]

    return edit


@pytest.mark.parametrize(
    "elements",
    [
        [],
        [("root", None, -1), ("a", 2, None)],
        [("root", None, 2**31 - 1), ("a", 2, None)],
        [("root", None, 2), ("a", 2, None)],
        [("root", None, 1), ("a", 2, None), ("b", 2, None)],
        [("root", None, 1), ("a", 99, None)],
        [("root", None, 1), ("a", -1, None)],
        [("root", None, 1), ("a", None, 5)],
        [("root", None, 1), *[("g", None, 1)] * 5000, ("a", 2, None)],
        [("root", None, 1), *[("g", None, -3)] * 3],
    ],
)
def test_schemas_that_are_no_tree(
    write: Callable[[bytes], Path], filtered: bytes, elements: list[tuple[str, Any, Any]]
) -> None:
    assert "schema" in refuses(write(edited(filtered, _schema(*elements))))


def test_a_schema_of_other_things(write: Callable[[bytes], Path], filtered: bytes) -> None:
    """`schema` as a list of numbers instead of structs."""
    start = footer_start(filtered)
    raw = filtered[start:-8]
    _, _, _, value, end = next(field for field in _kernel.fields(raw) if field[0] == 2)
    numbers = b"\x35" + b"\x02\x04\x06"
    raw = raw[:value] + numbers + raw[end:]
    refuses(write(with_footer(filtered[:start], raw)))


def test_deep_nesting_with_many_leaves(write: Callable[[bytes], Path]) -> None:
    """Every leaf has a path of hundreds of names: memory must not be their product."""
    leaves = 100_000
    elements = [("r", None, 1), *[("g", None, 1)] * 480, ("g", None, leaves)]
    footer = ttypes.FileMetaData(version=2, schema=[], num_rows=0, row_groups=[])
    _schema(*elements)(footer)
    leaf = ttypes.SchemaElement(name="a", type=2, repetition_type=0)
    footer.schema += [leaf] * leaves
    path = write(with_footer(MAGIC, footer))
    done = pbloom("inspect", path, address_space=ADDRESS_SPACE)
    assert done.code in (0, 2)
    assert done.code == 0 or done.complaint.startswith(f"{path}: ")


def test_more_chunks_than_memory(write: Callable[[bytes], Path], plain: bytes) -> None:
    """Row groups times columns: each is cheap to write, the product of both is not."""

    def edit(footer: ttypes.FileMetaData) -> None:
        _schema(("r", None, 40_000), *[("a", 2, None)] * 40_000)(footer)
        footer.row_groups = [ttypes.RowGroup()] * 40_000

    path = write(edited(plain, edit))
    good = path.with_name("good.parquet")
    good.write_bytes(plain)
    result = outcome("inspect", path, good)
    assert result.code == 2
    assert result.complaint.startswith(f"{path}: ")
    assert str(good) in result.stdout


@pytest.mark.parametrize("field", ["num_rows", "created_by"])
def test_a_footer_field_of_another_type(
    write: Callable[[bytes], Path], filtered: bytes, field: str
) -> None:
    """A struct whose bytes read as one number of tens of thousands of bits."""
    start = footer_start(filtered)
    raw = filtered[start:-8]
    number = {"num_rows": 3, "created_by": 6}[field]
    _, _, at, _, end = next(item for item in _kernel.fields(raw) if item[0] == number)
    header = bytes([raw[at] & 0xF0 | 0x0C])
    value = b"\xf7" + b"\xff" * 8
    raw = raw[:at] + header + value * 2000 + b"\0" + raw[end:]
    survives(write(with_footer(filtered[:start], raw)))


def test_fields_that_the_footer_says_twice(write: Callable[[bytes], Path], filtered: bytes) -> None:
    """A ColumnChunk with two meta_data: the pointer of the first is none of the second's."""
    footer = compact.decode(ttypes.FileMetaData, filtered[footer_start(filtered) : -8])[0]
    chunk = footer.row_groups[0].columns[0]
    once = compact.encode(chunk)
    stripped = compact.decode(ttypes.ColumnMetaData, compact.encode(chunk.meta_data))[0]
    stripped.bloom_filter_offset = stripped.bloom_filter_length = None
    end = next(item[4] for item in _kernel.fields(once) if item[0] == 3)
    twice = once[:end] + b"\x0c\x06" + compact.encode(stripped) + once[end:]
    raw = filtered[footer_start(filtered) : -8]
    path = write(with_footer(filtered[: footer_start(filtered)], raw.replace(once, twice)))
    assert compact.decode(ttypes.ColumnChunk, twice)[0].meta_data.bloom_filter_offset is None
    with pytest.raises(pb.FooterError, match="footer: damaged: byte"):
        verdicts(path, "a", 123456)
