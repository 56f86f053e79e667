"""Fixtures: files whose filters leak, and share bytes with others."""

from pathlib import Path

import pytest
from make.encrypted_files import PLAIN, encrypted, filters
from make.encrypting import FOOTER_KEY, Recipe

import parquet_bloom as pb
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.parquet.thrift import ttypes

# ColumnMetaData by row group and column.
Chunks = dict[tuple[int, str], ttypes.ColumnMetaData]


def longer(chunks: Chunks) -> None:
    """A length that reaches into the next filter."""
    chunks[0, "int64"].bloom_filter_length += 64


def shared(chunks: Chunks) -> None:
    """A filter that two column chunks point to."""
    chunks[0, "string"].bloom_filter_offset = chunks[0, "int64"].bloom_filter_offset


def within(chunks: Chunks) -> None:
    """A pointer to the second block of another filter, which may be taken for a header."""
    chunks[1, "string"].bloom_filter_offset = chunks[0, "int64"].bloom_filter_offset + 40


def unknown(chunks: Chunks) -> None:
    """No length anywhere."""
    for chunk in chunks.values():
        chunk.bloom_filter_length = None


EDITS = {edit.__name__: edit for edit in (longer, shared, within, unknown)}


@pytest.fixture
def disputed(
    request: pytest.FixtureRequest, tmp_path: Path
) -> tuple[Path, Keys, dict[tuple[int, str], bytes]]:
    """A leak whose bytes the footer gives to several filters, and the bits that it points to."""

    def edit(footer: ttypes.FileMetaData) -> None:
        EDITS[request.param](
            {
                (row_group, chunk.meta_data.path_in_schema[0]): chunk.meta_data
                for row_group, group in enumerate(footer.row_groups)
                for chunk in group.columns
            }
        )

    plain = tmp_path / "plain.parquet"
    pb.build(PLAIN, plain, columns=["int64", "string"])
    path = encrypted(tmp_path, Recipe(filters="plaintext", edit=edit), plain)
    bits = filters(plain)
    if request.param == "shared":
        del bits[0, "string"]
    if request.param == "within":
        del bits[1, "string"]
    return path, Keys(footer=FOOTER_KEY), bits
