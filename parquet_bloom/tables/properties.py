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

from collections.abc import Iterator, Mapping
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

_FAILS: Final = "it is left out here, and writers that heed it fail"


def wanted_filters(
    properties: Mapping[str, str], columns: Mapping[str, str], usual: _FilterProperties
) -> Wanted:
    """The columns that `properties` name, by the name that a table or its files have for them. `usual`: those of an
    example."""
    by_physical = {physical: name for name, physical in columns.items()}
    found: dict[str, float | None] = {}
    unknown: dict[str, None] = {}
    for enabled, fpp, _ in _KNOWN:
        for key, value in properties.items():
            given = key.removeprefix(enabled)
            if given == key or value.strip().lower() != "true":
                continue
            name = given if given in columns else by_physical.get(given)
            if name is None:
                unknown[given] = None
            else:
                found[name] = _rate(properties.get(fpp + given)) or found.get(name)
    limits = [size for each in _KNOWN if (size := _size(properties.get(each.max_bytes)))]
    return Wanted(
        found,
        f"{usual.enabled}NAME=true",
        min(limits, default=None),
        tuple(unknown),
        tuple(_odd(properties)),
    )


def _odd(properties: Mapping[str, str]) -> Iterator[str]:
    """Those whose values say nothing, and what writers make of these.

    Source: Iceberg, Parquet.java: Boolean.parseBoolean, Double.parseDouble, PropertyUtil.propertyAsInt."""
    for key, value in properties.items():
        said = f"{key} is {value}, expected"
        for each in _KNOWN:
            if key.startswith(each.enabled) and value.strip().lower() not in ("true", "false"):
                yield f"{said} true or false: it asks for no filter"
            if key.startswith(each.fpp) and _rate(value) is None:
                yield f"{said} a rate between 0 and 1: {_FAILS}"
            if key == each.max_bytes and _size(value) is None:
                yield f"{said} a number of bytes: {_FAILS}"


def properties_asking_for(
    rates: Mapping[str, float], max_bytes: int | None, names: _FilterProperties
) -> dict[str, str]:
    """The properties by which writers go on with filters of these columns, each at its rate. `max_bytes`:
    of the largest bitset, None to leave that to the writers."""
    found = {f"{names.enabled}{column}": "true" for column in rates}
    found |= {f"{names.fpp}{column}": str(rate) for column, rate in rates.items()}
    return found if max_bytes is None else {**found, names.max_bytes: str(max_bytes)}


def _rate(text: str | None) -> float | None:
    """None if it is no rate."""
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
