"""The filters that the properties of a table ask its writers for.

    parquet.bloom.filter.enabled#NAME=true                    as parquet-java takes it
    parquet.bloom.filter.fpp#NAME=0.01
    parquet.bloom.filter.max.bytes=1048576
    write.parquet.bloom-filter-enabled.column.NAME=true       as Iceberg takes it
    write.parquet.bloom-filter-fpp.column.NAME=0.01
    write.parquet.bloom-filter-max-bytes=1048576

Source: parquet-java, ParquetOutputFormat; Iceberg, TableProperties.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloom.tables.table import Wanted
from parquet_bloom.vocabulary import TableKind

_ENABLED: Final = ("parquet.bloom.filter.enabled#", "write.parquet.bloom-filter-enabled.column.")
_FPP: Final = ("parquet.bloom.filter.fpp#", "write.parquet.bloom-filter-fpp.column.")
_MAX_BYTES: Final = ("parquet.bloom.filter.max.bytes", "write.parquet.bloom-filter-max-bytes")


def wanted_of(properties: Mapping[str, str], columns: Mapping[str, str], kind: TableKind) -> Wanted:
    """The columns that `properties` name, by the name that a table or its files have for them; those
    that it does not have are left out."""
    by_physical = {physical: name for name, physical in columns.items()}
    found: dict[str, float | None] = {}
    for enabled, fpp in zip(_ENABLED, _FPP, strict=True):
        for key, value in properties.items():
            given = key.removeprefix(enabled)
            name = given if given in columns else by_physical.get(given)
            if given != key and name is not None and value.strip().lower() == "true":
                found[name] = _rate(properties.get(fpp + given)) or found.get(name)
    limits = [size for name in _MAX_BYTES if (size := _size(properties.get(name)))]
    example = f"{_ENABLED[kind == 'iceberg']}NAME=true"
    return Wanted(found, example, min(limits, default=None))


def _rate(text: str | None) -> float | None:
    """None if it is no rate: a writer would fail of it, and tell its user."""
    try:
        rate = float(text or "")
    except ValueError:
        return None
    return rate if 0 < rate < 1 else None


def _size(text: str | None) -> int | None:
    """A size that a filter can have; None if it is none."""
    try:
        size = int(text or "")
    except ValueError:
        return None
    return min(max(size, MIN_BYTES), MAX_BYTES) if size > 0 else None
