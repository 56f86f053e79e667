"""Kinds of values: types whose equal values have equal hashes, as text that a manifest keeps.

    {"format": "parquet", "physical": "INT64", "length": 0, "logical": {"kind": "TIMESTAMP", …}}
    {"format": "orc", "kind": "TIMESTAMP", "length": 0, …, "zone": "Europe/Berlin"}

What is asked of an index is encoded and hashed for each kind that a column has in its files.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import FormatError
from parquet_bloom.native import _kernel
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.values.literals import encode_given
from parquet_bloom.values.promotion import promoted_among
from parquet_bloom.values.types import LeafType, LogicalType

if TYPE_CHECKING:
    from parquet_bloom.index.hash_key import HashKey
    from parquet_bloom.orc.columns import OrcColumn
    from parquet_bloom.vocabulary import Format

# From here on, it pays to import numpy.
MANY: Final = 256

_ORC_NUMBERS: Final = ("length", "precision", "scale")


def parquet_kind(leaf: LeafType) -> str:
    """The kind of a leaf column of Parquet."""
    found: dict[str, Any] = {"format": "parquet", "physical": leaf.physical, "length": leaf.length}
    if leaf.logical is not None:
        found["logical"] = asdict(leaf.logical)
    if leaf.is_unknown:
        found["is_unknown"] = True
    return json.dumps(found)


def orc_kind(column: OrcColumn, zone: str) -> str:
    """The kind of a column of ORC. `zone`: of the clock whose times its values are; else empty."""
    from parquet_bloom.orc.keys import SPARK_TYPE

    found = {name: getattr(column, name) for name in ("kind", *_ORC_NUMBERS)}
    marked = {SPARK_TYPE: column.attributes.get(SPARK_TYPE, "")}
    return json.dumps({"format": "orc", **found, "attributes": marked, "zone": zone})


def format_of(kind: str) -> Format:
    """The format of files with columns of this kind. Raises FormatError for a kind that nobody knows."""
    with _known(kind):
        return "orc" if json.loads(kind)["format"] == "orc" else "parquet"


def width_of(kind: str) -> int:
    """How many bytes each value of a column of this kind has; 0 if that differs.
    Raises FormatError for a kind that nobody knows."""
    with _known(kind):
        found = json.loads(kind)
        return int(found["length"]) if found["format"] == "orc" else _leaf(found).width or 0


def is_agreed(kind: str, values: Sequence[Any] | Array) -> bool:
    """Whether all engines compare these values with a column of this kind by what is hashed; of ORC, this is known
    of integers and text. Raises FormatError for a kind that nobody knows."""
    from parquet_bloom.parquet.filters.agreed import is_agreed as is_agreed_in_parquet

    with _known(kind):
        found = json.loads(kind)
        leaf = _leaf(found) if found["format"] == "parquet" else _like_parquet(found["kind"])
    return leaf is not None and is_agreed_in_parquet(leaf, values)


def _like_parquet(kind: str) -> LeafType | None:
    """What values of ORC are to all engines."""
    match kind:
        case "SHORT" | "INT" | "LONG":
            return LeafType("INT64")
        case "STRING":
            return LeafType("BYTE_ARRAY", logical=LogicalType("STRING"))
    return None


@dataclass(frozen=True, slots=True)
class AskedHashes:
    """What is looked up: `hashes` of everything that may be stored for the values, and the position `owners[i]` of
    the value that each belongs to. `unknown`: why some values cannot be looked up."""

    hashes: list[int]
    owners: list[int]
    unknown: dict[int, str]

    def keyed(self, key: HashKey) -> AskedHashes:
        return replace(self, hashes=[key.of(hash) for hash in self.hashes])

    def owned_by(self, positions: Sequence[int]) -> AskedHashes:
        """The same if the values are some of others, at these positions."""
        return AskedHashes(
            self.hashes, [positions[at] for at in self.owners], _moved(self.unknown, positions)
        )


@dataclass(frozen=True, slots=True)
class ManyHashes:
    """The same of many values."""

    hashes: NDArray[np.uint64]
    owners: NDArray[np.intp]
    unknown: dict[int, str]

    def keyed(self, key: HashKey) -> ManyHashes:
        return replace(self, hashes=key.of_many(self.hashes))

    def owned_by(self, positions: Sequence[int]) -> ManyHashes:
        """As of AskedHashes."""
        owners = np.array(positions, np.intp)[self.owners]
        return ManyHashes(self.hashes, owners, _moved(self.unknown, positions))


def _moved(unknown: dict[int, str], positions: Sequence[int]) -> dict[int, str]:
    return {positions[at]: reason for at, reason in unknown.items()}


Hashed: TypeAlias = "Callable[[Sequence[Any] | Array], AskedHashes | ManyHashes]"


def asked_hashes(kind: str, values: Sequence[Any] | Array) -> AskedHashes | ManyHashes:
    """Values and literals as what is stored for them in columns of a kind. Raises ValueTypeError for a value that
    such a column cannot hold, FormatError for a kind that nobody knows."""
    return _hashed_as(kind)(values)


@lru_cache
def _hashed_as(kind: str) -> Hashed:
    with _known(kind):
        found = json.loads(kind)
        return _TYPES[found["format"]](found)


def asked_hashes_among(
    kind: str, kinds: Iterable[str], values: Sequence[Any] | Array
) -> AskedHashes | ManyHashes:
    """The same where files of one table have columns of these `kinds`: a value that only a wider one of them holds is
    unknown, as one beyond the type. Raises as asked_hashes."""
    if format_of(kind) != "parquet":
        return asked_hashes(kind, values)
    of_parquet = [each for each in (kind, *kinds) if format_of(each) == "parquet"]
    with _known(kind):
        leaf, *others = [_leaf(json.loads(each)) for each in of_parquet]
    return _of_parquet(promoted_among(leaf, others), values)


@contextmanager
def _known(kind: str) -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError):
        raise FormatError(f"{kind}: not a type of values that this version knows") from None


def _parquet(found: dict[str, Any]) -> Hashed:
    return partial(_of_parquet, _leaf(found))


def _leaf(found: dict[str, Any]) -> LeafType:
    logical = LogicalType(**found["logical"]) if "logical" in found else None
    is_unknown = found.get("is_unknown", False)
    return LeafType(found["physical"], found["length"], logical, is_unknown)


def _of_parquet(leaf: LeafType, values: Sequence[Any] | Array) -> AskedHashes | ManyHashes:
    if len(values) >= MANY:
        from parquet_bloom.parquet.filters.asked import stored_of

        stored = stored_of(leaf, values)
        owners = np.arange(len(values)) if stored.owners is None else stored.owners
        return ManyHashes(stored.hashes, owners, dict(stored.unknown))
    encodings = [encode_given(leaf, value) for value in values]
    plain = [(at, each) for at, found in enumerate(encodings) for each in found.plain]
    return AskedHashes(
        hashes=[_kernel.xxh64(each) for _, each in plain],
        owners=[at for at, _ in plain],
        unknown={at: found.unknown for at, found in enumerate(encodings) if found.unknown},
    )


def _orc(found: dict[str, Any]) -> Hashed:
    from parquet_bloom.orc.columns import OrcColumn

    numbers = {name: found[name] for name in _ORC_NUMBERS}
    column = OrcColumn(
        id=0, name="", kind=found["kind"], children=(), parent=None, attributes=found["attributes"],
        **numbers,
    )  # fmt: skip
    return partial(_of_orc, column, found["zone"])


def _of_orc(
    column: OrcColumn, zone: str, values: Sequence[Any] | Array
) -> AskedHashes | ManyHashes:
    from parquet_bloom.orc.bloom import OrcKeyForm
    from parquet_bloom.orc.keys import AskedValues, spread

    found = AskedValues(column, list(values)).hashes(OrcKeyForm(writer_timezone=zone))
    hashes, unknown = spread(found.hashes), dict(found.unknown)
    if len(values) >= MANY:
        return ManyHashes(hashes, found.owners, unknown)
    return AskedHashes(hashes.tolist(), found.owners.tolist(), unknown)


# By the format of a kind, how it is read.
_TYPES: Final = {"parquet": _parquet, "orc": _orc}
