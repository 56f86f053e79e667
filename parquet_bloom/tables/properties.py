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
from typing import Final, NamedTuple

from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES
from parquet_bloom.tables.table import Wanted


class _FilterProperties(NamedTuple):
    enabled: str
    fpp: str
    max_bytes: str


PARQUET_JAVA: Final = _FilterProperties(
    "parquet.bloom.filter.enabled#", "parquet.bloom.filter.fpp#", "parquet.bloom.filter.max.bytes"
)
ICEBERG: Final = _FilterProperties(
    "write.parquet.bloom-filter-enabled.column.",
    "write.parquet.bloom-filter-fpp.column.",
    "write.parquet.bloom-filter-max-bytes",
)
_KNOWN: Final = (PARQUET_JAVA, ICEBERG)


def wanted_filters(
    properties: Mapping[str, str], columns: Mapping[str, str], usual: _FilterProperties
) -> Wanted:
    """The columns that `properties` name, by the name that a table or its files have for them; those
    that it does not have are left out. `usual`: those of an example."""
    by_physical = {physical: name for name, physical in columns.items()}
    found: dict[str, float | None] = {}
    for enabled, fpp, _ in _KNOWN:
        for key, value in properties.items():
            given = key.removeprefix(enabled)
            name = given if given in columns else by_physical.get(given)
            if given != key and name is not None and value.strip().lower() == "true":
                found[name] = _rate(properties.get(fpp + given)) or found.get(name)
    limits = [size for each in _KNOWN if (size := _size(properties.get(each.max_bytes)))]
    return Wanted(found, f"{usual.enabled}NAME=true", min(limits, default=None))


def properties_asking_for(
    rates: Mapping[str, float], max_bytes: int | None, names: _FilterProperties
) -> dict[str, str]:
    """The properties by which writers go on with filters of these columns, each at its rate. `max_bytes`:
    of the largest bitset, None to leave that to the writers."""
    found = {f"{names.enabled}{column}": "true" for column in rates}
    found |= {f"{names.fpp}{column}": str(rate) for column, rate in rates.items()}
    return found if max_bytes is None else {**found, names.max_bytes: str(max_bytes)}


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
