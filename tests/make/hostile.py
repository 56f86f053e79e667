"""Files that no writer writes: Parquet by hand, so that every number in it can be a lie.

    file     | PAR1 | page | page | ... | filters | FileMetaData | length | PAR1 |
    page     | PageHeader | body |

`forge` puts columns of pages together, `edited` changes the footer of a file that is there, and
`outcome` runs the command in this process. Headers are Thrift structs, so a field that is left out
or impossible is just an argument.
"""

import os
import resource
import struct
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import cramjam
import pyarrow as pa
from click.testing import CliRunner

import parquet_bloom as pb
from parquet_bloom.cli import cli
from parquet_bloom.parquet.footer import compact
from parquet_bloom.parquet.thrift import ttypes
from parquet_bloom.parquet.thrift.ttypes import (
    CompressionCodec,
    Encoding,
    FieldRepetitionType,
    PageType,
    Type,
)

MAGIC = b"PAR1"

# In no row group of any file here.
ABSENT_VALUE = 123456


NO_ADVICE = "no column that advise would build; `pbloom advise` says why"


@dataclass(frozen=True)
class Outcome:
    """What the command did: its exit code, and the two streams."""

    code: int
    stdout: str
    stderr: str

    @property
    def complaint(self) -> str:
        """The only line on stderr, but for what `build --auto` says before it builds; anything but
        one clear line is a failure."""
        lines = [line for line in self.stderr.splitlines() if not line.endswith(NO_ADVICE)]
        assert len(lines) == 1, self
        assert lines[0].startswith("pbloom: "), self
        assert "internal error" not in lines[0], self
        assert "Traceback" not in self.stdout + self.stderr, self
        return lines[0].removeprefix("pbloom: ")


def outcome(*arguments: object) -> Outcome:
    """Run `pbloom` with these arguments in this process."""
    result = CliRunner().invoke(cli, [str(argument) for argument in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Outcome(result.exit_code, result.stdout, result.stderr)


# ------------------------------------------------------------------------------------------------
# Pages


def page(kind: int | None, body: bytes, **fields: Any) -> bytes:
    """One page: header and body. Sizes are those of the body unless told otherwise."""
    sizes = {"uncompressed_page_size": len(body), "compressed_page_size": len(body)}
    return compact.encode(ttypes.PageHeader(type=kind, **(sizes | fields))) + body


def data_page(
    body: bytes, num_values: int | None, encoding: int = Encoding.PLAIN, **f: Any
) -> bytes:
    """A data page, version 1."""
    return page(PageType.DATA_PAGE, body, data_page_header=v1(num_values, encoding), **f)


def v1(num_values: int | None, encoding: int | None = Encoding.PLAIN) -> ttypes.DataPageHeader:
    return ttypes.DataPageHeader(
        num_values=num_values,
        encoding=encoding,
        definition_level_encoding=Encoding.RLE,
        repetition_level_encoding=Encoding.RLE,
    )


def v2(num_values: int, encoding: int = Encoding.PLAIN, **fields: Any) -> ttypes.DataPageHeaderV2:
    told = {
        "num_values": num_values,
        "num_nulls": 0,
        "num_rows": num_values,
        "encoding": encoding,
        "definition_levels_byte_length": 0,
        "repetition_levels_byte_length": 0,
        "is_compressed": False,
    }
    return ttypes.DataPageHeaderV2(**(told | fields))


def dictionary_page(body: bytes, num_values: int | None, **fields: Any) -> bytes:
    header = ttypes.DictionaryPageHeader(num_values=num_values, encoding=Encoding.PLAIN)
    return page(PageType.DICTIONARY_PAGE, body, dictionary_page_header=header, **fields)


def int64s(*values: int) -> bytes:
    return b"".join(struct.pack("<q", value) for value in values)


def byte_arrays(*values: bytes) -> bytes:
    return b"".join(len(value).to_bytes(4, "little") + value for value in values)


def compressed(codec: int, data: bytes) -> bytes:
    """`data` as a page of this codec holds it."""
    match codec:
        case CompressionCodec.SNAPPY:
            return bytes(pa.compress(data, "snappy", asbytes=True))
        case CompressionCodec.GZIP:
            return bytes(cramjam.gzip.compress(data))
        case CompressionCodec.BROTLI:
            return bytes(cramjam.brotli.compress(data))
        case CompressionCodec.ZSTD:
            return bytes(cramjam.zstd.compress(data))
        case CompressionCodec.LZ4_RAW:
            return bytes(cramjam.lz4.compress_block(data, store_size=False))
        case CompressionCodec.LZ4:
            block = bytes(cramjam.lz4.compress_block(data, store_size=False))
            return struct.pack(">II", len(data), len(block)) + block
        case _:
            return data


# ------------------------------------------------------------------------------------------------
# Files


@dataclass
class Column:
    """One column of a forged file of one row group. `meta` overrides fields of its ColumnMetaData."""

    pages: Sequence[bytes]
    num_values: int
    name: str = "a"
    type: int = Type.INT64
    codec: int = CompressionCodec.UNCOMPRESSED
    repetition: int = FieldRepetitionType.REQUIRED
    meta: dict[str, Any] = field(default_factory=dict)
    element: dict[str, Any] = field(default_factory=dict)


def forge(*columns: Column, num_rows: int | None = None) -> bytes:
    """A file of one row group with these columns, below a root."""
    data = MAGIC
    chunks = []
    for column in columns:
        pages = b"".join(column.pages)
        told = {
            "type": column.type,
            "encodings": [Encoding.PLAIN],
            "path_in_schema": [column.name],
            "codec": column.codec,
            "num_values": column.num_values,
            "total_uncompressed_size": len(pages),
            "total_compressed_size": len(pages),
            "data_page_offset": len(data),
        }
        meta = ttypes.ColumnMetaData(**(told | column.meta))
        chunks.append(ttypes.ColumnChunk(file_offset=0, meta_data=meta))
        data += pages
    rows = columns[0].num_values if num_rows is None else num_rows
    return with_footer(
        data,
        ttypes.FileMetaData(
            version=2,
            schema=[
                ttypes.SchemaElement(name="schema", num_children=len(columns)),
                *(_element(column) for column in columns),
            ],
            num_rows=rows,
            row_groups=[ttypes.RowGroup(columns=chunks, total_byte_size=1, num_rows=rows)],
            created_by="forged",
        ),
    )


def _element(column: Column) -> ttypes.SchemaElement:
    told = {"name": column.name, "type": column.type, "repetition_type": column.repetition}
    return ttypes.SchemaElement(**(told | column.element))


def with_footer(data: bytes, footer: ttypes.FileMetaData | bytes) -> bytes:
    raw = footer if isinstance(footer, bytes) else compact.encode(footer)
    return data + raw + len(raw).to_bytes(4, "little") + MAGIC


def footer_start(data: bytes) -> int:
    return len(data) - 8 - int.from_bytes(data[-8:-4], "little")


def edited(data: bytes, edit: Callable[[ttypes.FileMetaData], None]) -> bytes:
    """The same file after `edit` has changed its footer; what stands behind that, such as a
    signature, stays."""
    start = footer_start(data)
    footer, end = compact.decode(ttypes.FileMetaData, data[start:-8])
    behind = data[start:-8][end:]
    edit(footer)
    return with_footer(data[:start], compact.encode(footer) + behind)


def meta_of(footer: ttypes.FileMetaData, row_group: int, column: int) -> ttypes.ColumnMetaData:
    return footer.row_groups[row_group].columns[column].meta_data


def with_meta(data: bytes, row_group: int, column: int, **fields: Any) -> bytes:
    """The same file with other numbers in one ColumnMetaData."""

    def edit(footer: ttypes.FileMetaData) -> None:
        for name, value in fields.items():
            setattr(meta_of(footer, row_group, column), name, value)

    return edited(data, edit)


def pointer(data: bytes, row_group: int, column: int) -> tuple[int, int]:
    """bloom_filter_offset and bloom_filter_length of one chunk."""
    footer = compact.decode(ttypes.FileMetaData, data[footer_start(data) : -8])[0]
    meta = meta_of(footer, row_group, column)
    return meta.bloom_filter_offset, meta.bloom_filter_length


def filter_header(num_bytes: int | None, **unions: Any) -> bytes:
    """A BloomFilterHeader; a union that is named here replaces the usual one."""
    usual = {
        "algorithm": ttypes.BloomFilterAlgorithm(BLOCK=ttypes.SplitBlockAlgorithm()),
        "hash": ttypes.BloomFilterHash(XXHASH=ttypes.XxHash()),
        "compression": ttypes.BloomFilterCompression(UNCOMPRESSED=ttypes.Uncompressed()),
    }
    return compact.encode(ttypes.BloomFilterHeader(numBytes=num_bytes, **(usual | unions)))


def with_filter_bytes(data: bytes, row_group: int, column: int, stored: bytes) -> bytes:
    """The same file with `stored` before the footer, as the filter of one chunk."""
    start = footer_start(data)
    grown = data[:start] + stored + data[start:]
    place = {"bloom_filter_offset": start, "bloom_filter_length": len(stored)}
    return with_meta(grown, row_group, column, **place)


def files_in(folder: Path) -> dict[str, bytes]:
    """Every file below a folder, hidden ones included, with its bytes."""
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def int_column(*pages: bytes, num_values: int = 3, **fields: Any) -> Column:
    return Column(pages, num_values, **fields)


HONEST = data_page(int64s(1, 2, 3), 3)


# ------------------------------------------------------------------------------------------------
# What the command does with them


def pbloom(
    *arguments: object, address_space: int | None = None, file_size: int | None = None,
    timeout: float = 30,
) -> Outcome:  # fmt: skip
    """Run the command in a process of its own, within limits."""

    def limit() -> None:
        if address_space is not None:
            resource.setrlimit(resource.RLIMIT_AS, (address_space, address_space))
        if file_size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (file_size, file_size))

    done = subprocess.run(
        [sys.executable, "-m", "parquet_bloom", *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, preexec_fn=limit, check=False,
    )  # fmt: skip
    return Outcome(done.returncode, done.stdout, done.stderr)


def commands(path: Path, output: Path) -> list[tuple[object, ...]]:
    """Every way to make the command read a file."""
    build = ("build", path, "-c", "a,s,l.list.element", "-o", output, "--overwrite")
    return [
        ("inspect", path),
        ("probe", path, "-c", "a", "-v", "7"),
        ("probe", path, "-c", "s", "-v", "z"),
        (*build, "--existing", "keep"),
        (*build, "--existing", "replace"),
        ("strip", path, "-o", output, "--overwrite"),
        ("dump", path, "-c", "a"),
        ("validate", path, "--diagnose", "--no-config"),
        ("validate", path, "--no-deep", "--no-config", "--json"),
        ("repair", path, "-o", output, "--overwrite"),
        ("repair", path, "--rebuild", "-o", output, "--overwrite"),
        ("diff", path, path),
        ("advise", path),
        ("build", path, "--auto", "-o", output, "--overwrite"),
        ("report", path, "-o", output, "--overwrite"),
        ("inspect", path, "--histogram"),
    ]


def refuses(path: Path, *names: str) -> str:
    """Every command refuses `path` in one line that names it, and leaves nothing; the last line."""
    before = files_in(path.parent)
    output = path.parent / "out.parquet"
    complaint = ""
    for arguments in commands(path, output):
        result = outcome(*arguments)
        assert result.code == 2, (arguments, result)
        complaint = result.complaint
        assert complaint.startswith(f"{path}: "), complaint
        assert result.stdout == ""
        for name in names:
            assert name in complaint
    assert files_in(path.parent) == before
    return complaint


def build_refused(path: Path, column: str = "a") -> str:
    """build refuses `path` in one line that names it, and leaves nothing; that line."""
    before = files_in(path.parent)
    result = outcome("build", path, "-c", column, "-o", path.parent / "out.parquet")
    assert result.code == 2, result
    assert files_in(path.parent) == before
    assert result.complaint.startswith(f"{path}: "), result
    return result.complaint


def verdicts(path: Path, column: str, value: object) -> list[str]:
    with pb.open(path) as file:
        return [group.verdict for group in file.probe(column, value)]


def reasons(path: Path, column: str) -> list[str | None]:
    report = pb.inspect(path, columns=[column])
    return [group.columns[0].reason for group in report.row_groups]


def survives(path: Path) -> None:
    """Every command gives a right answer or one line, and `absent` is never wrong."""
    output = path.parent / "out.parquet"
    for arguments in commands(path, output):
        result = outcome(*arguments)
        assert result.code in (0, 1, 2), (arguments, result)
        if result.code == 2:
            assert result.complaint.startswith(f"{path}: "), (arguments, result)
    output.unlink(missing_ok=True)
    assert os.listdir(path.parent) == [path.name]
