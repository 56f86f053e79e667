"""Writes the units of a segment, see units."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from struct import Struct
from typing import Any, Final
from zlib import crc32

from parquet_bloom.index.parquet_writer import (
    ParquetWriter,
    PlainColumn,
    Writable,
    WrittenPage,
    plain_page,
)
from parquet_bloom.index.units import TEXTS, Unit, UnitGroup, UnitsFile
from parquet_bloom.parquet.thrift import ttypes as thrift

# Of a text, before it.
_LENGTH: Final = Struct("<I")

_PER_GROUP: Final = 1024
# Of many units, more of them come together: a manifest should not name too many groups.
_MOST_GROUPS: Final = 1024


def _leaf(name: str) -> PlainColumn:
    type = thrift.Type.BYTE_ARRAY if name in TEXTS else thrift.Type.INT64
    return PlainColumn(name, type, thrift.Encoding.PLAIN, name in TEXTS)


_LEAVES: Final = tuple(map(_leaf, Unit._fields))


def write_units(file: Writable, name: str, units: Sequence[Unit]) -> UnitsFile:
    """Write units, whose places ascend without gaps. Raises OSError."""
    writer = ParquetWriter(file, "units", _LEAVES, {})
    per_group = max(_PER_GROUP, -(-len(units) // _MOST_GROUPS))
    groups = []
    for at in range(0, len(units), per_group):
        part = units[at : at + per_group]
        start, crc = writer.position, 0
        for leaf, values in zip(_LEAVES, zip(*part, strict=True), strict=True):
            page = plain_page(_plain(leaf, values), len(part))
            writer.add_chunk([page], [WrittenPage(len(page), len(part))])
            crc = crc32(page, crc)
        groups.append(
            UnitGroup(start, writer.position - start, len(part), part[0].first_place, crc)
        )
        writer.end_group()
    places = units[-1].first_place + units[-1].num_places if units else 0
    return UnitsFile(name, writer.close(), len(units), places, tuple(groups))


def _plain(leaf: PlainColumn, values: Sequence[Any]) -> bytes:
    if not leaf.is_text:
        return array("q", values).tobytes()
    plain = [value.encode("utf-8", "surrogateescape") for value in values]
    lengths = map(_LENGTH.pack, map(len, plain))
    return b"".join(chain.from_iterable(zip(lengths, plain, strict=True)))
