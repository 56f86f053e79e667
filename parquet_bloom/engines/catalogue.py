"""Which engines there are, and those that have something to say.

A command that starts for one small file has no time to parse what they say: that takes as long as building
its filters. So the files are searched for a line first, and most are passed over.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Final, Literal

if TYPE_CHECKING:
    from parquet_bloom.engines.engine import Engine

# In this order they are listed.
NAMES: Final = (
    *("deltalake", "sail", "pyiceberg", "orc-java", "spark", "orc-cpp", "duckdb", "datafusion"),
    *("trino", "iceberg", "clickhouse", "impala", "pyarrow", "polars", "rugo", "daft", "parquetjs"),
    *("hyparquet", "parquet-java", "arrow-cpp", "arrow-rs", "arrow-go", "parquet-go", "hive"),
    *("pyorc", "delta-kernel", "iceberg-rust"),
)


def engines() -> Iterator[Engine]:
    """All of them, in order."""
    return map(find_engine, NAMES)


def engines_where(
    key: Literal["kinds", "when", "created_by"], holds: Callable[[str], bool]
) -> Iterator[Engine]:
    """Those whose file has a line `key = …` of which it holds, in order; no other file is parsed."""
    return (find_engine(name) for name, lines in _lines(key) if any(map(holds, lines)))


@cache
def _lines(key: str) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """What follows this key, in each file that has it."""
    found = ((name, _text(name).split(f"\n{key} = ")[1:]) for name in NAMES)
    return tuple(
        (name, tuple(rest.partition("\n")[0] for rest in after)) for name, after in found if after
    )


@cache
def _text(name: str) -> str:
    # Importing pkgutil would take longer than reading them all.
    path = os.path.join(os.path.dirname(__file__), "catalogue", f"{name}.toml")
    data: bytes = __spec__.loader.get_data(path)  # type: ignore[union-attr]
    return data.decode()


@cache
def find_engine(name: str) -> Engine:
    """The one whose file has this name."""
    from parquet_bloom.engines.engine import parse_engine

    return parse_engine(_text(name))
