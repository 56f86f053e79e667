"""Fixtures encrypted in every way, and what is in an encrypted file for those who have its keys."""

from itertools import chain
from pathlib import Path
from typing import Any

from conftest import FIXTURES
from make.encrypting import Recipe, encrypt
from make.footers import footer_start
from make.parquet_files import open_parquet

from parquet_bloom.container import OneFilter
from parquet_bloom.encryption.keys import Keys
from parquet_bloom.parquet.pages.pages import chunk_runs, located

PLAIN = FIXTURES / "pyarrow_types.parquet"
OTHER_KEY = b"another key of 32 bytes, for one."
OWN, SHARED_KEY = b"k" * 24, None


def mixed(path: Path) -> dict[str, bytes | None]:
    """Columns in turn with a key of their own, with the footer's, and in plaintext."""
    with open_parquet(path) as file:
        return {
            name: (OWN, SHARED_KEY)[index % 3]
            for index, name in enumerate(file.columns)
            if index % 3 < 2
        }


RECIPES = {
    "uniform": lambda path: Recipe(),
    "uniform, signed": lambda path: Recipe(plaintext_footer=True),
    "uniform, CTR": lambda path: Recipe(algorithm="AES_GCM_CTR_V1"),
    "uniform, padded": lambda path: Recipe(padding=300, plain_levels=True),
    "columns": lambda path: Recipe(columns=mixed(path)),
    "columns, signed": lambda path: Recipe(columns=mixed(path), plaintext_footer=True),
    "columns, CTR, signed, padded": lambda path: Recipe(
        columns=mixed(path), algorithm="AES_GCM_CTR_V1", plaintext_footer=True, padding=77,
        plain_levels=True,
    ),
    "256 bits, prefix stored": lambda path: Recipe(
        footer_key=OTHER_KEY[:32], aad_prefix=b"table", columns=mixed(path)
    ),
    "192 bits, prefix supplied, signed": lambda path: Recipe(
        footer_key=OTHER_KEY[:24], aad_prefix=b"table", stores_prefix=False, plaintext_footer=True
    ),
}  # fmt: skip


def encrypted(
    folder: Path, recipe: Recipe, plain: Path = PLAIN, name: str = "encrypted.parquet"
) -> Path:
    path = folder / name
    path.write_bytes(encrypt(plain.read_bytes(), recipe).data)
    return path


def keys_of(recipe: Recipe, **more: Any) -> Keys:
    prefix = recipe.aad_prefix if recipe.aad_prefix and not recipe.stores_prefix else None
    columns = {path: key for path, key in (recipe.columns or {}).items() if key is not None}
    told = {"footer": recipe.footer_key, "columns": columns, "aad_prefix": prefix}
    return Keys(**(told | more))


def columns_of(path: Path) -> list[str]:
    with open_parquet(path) as file:
        return [leaf.name for leaf in file.footer.leaves if leaf.type.physical != "BOOLEAN"]


def values(path: Path, keys: Keys | None = None) -> dict[tuple[int, int], list[bytes]]:
    """The stored bytes of every column chunk but BOOLEANs, as often as they are found."""
    found = {}
    with open_parquet(path, keys) as file:
        for row_group in range(file.num_row_groups):
            for leaf in file.footer.leaves:
                if leaf.type.physical == "BOOLEAN":
                    continue
                chunk = file.footer.chunk(row_group, leaf)
                with located(file.footer, chunk):
                    runs = chunk_runs(file.source, file.footer, chunk)
                    found[row_group, leaf.index] = list(
                        chain.from_iterable(part.run.values() for part in runs)
                    )
    return found


def meta_data(path: Path, keys: Keys | None = None) -> list[tuple[Any, ...]]:
    """What footer and filters say, but for places, and sizes that envelopes add to."""
    found = []
    with open_parquet(path, keys) as file:
        for row_group in range(file.num_row_groups):
            for leaf in file.footer.leaves:
                chunk = file.footer.chunk(row_group, leaf)
                about = file.footer.column_meta_data(chunk)
                about.data_page_offset = about.dictionary_page_offset = None
                about.total_compressed_size = about.index_page_offset = None
                about.bloom_filter_offset = about.bloom_filter_length = None
                found.append((chunk.where, chunk.type, chunk.codec, chunk.num_values, about))
    return found


def filters(path: Path, keys: Keys | None = None) -> dict[tuple[int, str], bytes]:
    """The bits of every filter, by row group and column."""
    with open_parquet(path, keys) as file:
        return {
            (row_group, leaf.name): file.bloom_filter(
                OneFilter(row_group, leaf.name)
            ).words.tobytes()
            for row_group in range(file.num_row_groups)
            for leaf in file.footer.leaves
            if file.chunk(row_group, leaf.name).bloom_filter_offset is not None
        }


def body_of(path: Path) -> bytes:
    """All that precedes the footer."""
    data = path.read_bytes()
    return data[: footer_start(data)]
