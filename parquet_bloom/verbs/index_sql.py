"""The query with which engines ask an index themselves."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Any, Final, Literal

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import UnsupportedError, ValueTypeError
from parquet_bloom.index.asking import ValuesByKind, key_of
from parquet_bloom.index.kinds import AskedHashes
from parquet_bloom.index.manifest import Places, Segment, existing
from parquet_bloom.index.names import lasting
from parquet_bloom.index.opened import OpenSegment
from parquet_bloom.index.slices import SlicesFile, SlicesFiles
from parquet_bloom.index.sorted_map import MapFile
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.storage.address import Address
from parquet_bloom.storage.folder import Folder
from parquet_bloom.values.given import list_values, show_values
from parquet_bloom.verbs.index_probe import check_column, check_has_files
from parquet_bloom.vocabulary import NOT_HELD, check_word

if TYPE_CHECKING:
    from parquet_bloom.index.units import Unit

# Beyond that, a query takes longer to plan than `probe` takes.
MOST_VALUES: Final = 20

SqlEngine = Literal["duckdb", "polars", "datafusion", "spark"]

# Those that take a key in a URL as it is.
_DECODE_NOTHING: Final = frozenset({"duckdb", "polars", "spark"})

# How each names a Parquet file, whose path is in quotes of its own.
_FILE: Final[Mapping[SqlEngine, str]] = {
    "duckdb": "read_parquet('{}')",
    "polars": "read_parquet('{}')",
    "datafusion": "'{}'",
    "spark": "parquet.`{}`",
}

# Where in a file a place is, by what places are.
_WHERE: Final[Mapping[Places, str]] = {
    "file": "NULL AS row_group, NULL AS page",
    "row-group": "{place} - u.first_place AS row_group, NULL AS page",
    "page": "u.row_group AS row_group, {place} - u.first_place AS page",
}

# The same of slices, whose units begin with any row group.
_OF_SLICES: Final[Mapping[Places, str]] = {
    "file": "NULL AS row_group, NULL AS page",
    "row-group": "u.row_group + {place} AS row_group, NULL AS page",
}


# Many more than compact leaves, each of which is several times as large as all smaller ones.
_MANY: Final = 10


@dataclass(frozen=True, slots=True)
class IndexQuery:
    """The `text` of a query, which asks each of `num_segments` by itself; of all of them merged,
    so many would be left."""

    text: str
    num_segments: int
    num_merged: int

    @property
    def is_long(self) -> bool:
        """Whether it is worth to compact the index first."""
        return self.num_segments - self.num_merged >= _MANY


def index_sql(
    index: str | os.PathLike[str],
    column: str,
    values: Any,
    *,
    engine: SqlEngine = "duckdb",
    hash_key: bytes | str | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> IndexQuery:
    """The query that asks an index, as Index.sql."""
    check_word("engine", engine, SqlEngine)
    folder = open_folder(with_options(os.fspath(index), storage_options))
    wanted = list_values(values)
    if len(wanted) > MOST_VALUES:
        raise UnsupportedError(
            f"{len(wanted):,} values: expected {MOST_VALUES} or fewer in a query; to_arrow of what `probe` answers"
            " can be joined"
        )
    manifest = existing(folder)
    check_column(folder.path, manifest, column)
    asked = ValuesByKind(wanted, key_of(folder.path, manifest, hash_key))
    segments = [each for each in manifest.segments if each.column == column and each.is_alive]
    check_has_files(folder.path, column, sum(segment.num_files for segment in segments))
    query = _Query(folder, manifest.places, engine, show_values(wanted))
    if engine != "duckdb" and any(segment.slices for segment in segments):
        raise UnsupportedError(
            f"{folder.path}: {column}: slices can be asked in SQL by duckdb, which has bits; not by {engine}"
        )
    parts = [part for segment in segments for part in query.of_segment(segment, asked)]
    asked.check()
    return IndexQuery(
        text="\nUNION ALL\n".join(parts or [query.nothing]),
        num_segments=len(segments),
        num_merged=len({(segment.subject, segment.slices is None) for segment in segments}),
    )


class _Query:
    def __init__(
        self,
        folder: Folder,
        places: Places,
        engine: SqlEngine,
        texts: Sequence[str],
    ) -> None:
        self._folder, self._places, self._texts = folder, places, texts
        self._engine, self._file = engine, _FILE[engine]

    nothing: Final = (
        "SELECT '' AS value, '' AS verdict, '' AS path, NULL AS row_group, NULL AS page WHERE 1 = 0"
    )

    def of_segment(self, segment: Segment, values: ValuesByKind) -> Iterator[str]:
        """The queries for one segment."""
        if segment.map is None and segment.slices is None:
            for text in self._texts:
                yield self._of_unknown(segment, text)
            return
        found = values.of(segment.kind)
        for value in found.problems:
            yield self._of_unknown(segment, self._texts[value])
        asked = found.hashes
        if asked is None:
            return
        assert isinstance(asked, AskedHashes)
        for value, reason in asked.unknown.items():
            # What no value of its type in a file is, is not there.
            if reason not in NOT_HELD:
                raise ValueTypeError(f"{self._texts[value]}: cannot be looked up: {reason}")
        if segment.slices is not None:
            yield from self._of_slices(segment, segment.slices, asked)
            return
        assert segment.map is not None
        for owner, hashes in _by_owner(asked).items():
            yield self._of_map(segment, segment.map, hashes, self._texts[owner])

    def _of_map(self, segment: Segment, map: MapFile, hashes: Sequence[int], text: str) -> str:
        places = "\nUNION ALL ".join(self._places_of(map, hash) for hash in hashes)
        # Several hashes of a value can be at one place.
        return (
            f"SELECT DISTINCT {_quoted(text)} AS value, 'maybe' AS verdict, u.path AS path,"
            f" {_WHERE[self._places].format(place='m.place')}\n"
            f"FROM ({places}) AS m"
            f" CROSS JOIN {self._named(segment.units.name)} AS u\n"
            "WHERE u.first_place <= m.place AND m.place < u.first_place + u.num_places"
            + self._with_places_alive(segment)
        )

    def _places_of(self, map: MapFile, hash: int) -> str:
        first, name = map.bits.key(hash), self._named(map.name)
        found = f"FROM {name} WHERE k BETWEEN {first} AND {first + (1 << map.bits.place) - 1}"
        if not map.is_folded:
            return f"SELECT k - {first} AS place {found}"
        each = "explode" if self._engine == "spark" else "unnest"
        return (
            f"SELECT k - {first} AS place {found} UNION ALL SELECT {each}(others) AS place {found}"
        )

    def _of_slices(
        self, segment: Segment, slices: SlicesFiles, asked: AskedHashes
    ) -> Iterator[str]:
        for owner, some in _by_owner(asked).items():
            text = self._texts[owner]
            found = [self._of_slices_file(segment, file, some, text) for file in slices.files]
            if found:
                # A file can have filters of several sizes.
                yield "SELECT * FROM (\n" + "\nUNION\n".join(found) + "\n)"
            if slices.num_others:
                where = _OF_SLICES[self._places]
                yield (
                    f"SELECT DISTINCT {_quoted(text)} AS value,"
                    f" 'unknown' AS verdict, u.path AS path, {where.format(place='0')}\n"
                    f"FROM {self._named(segment.units.name)} AS u\nWHERE u.reason <> ''"
                    + self._alive(segment)
                )

    def _of_slices_file(
        self, segment: Segment, file: SlicesFile, hashes: Sequence[int], text: str
    ) -> str:
        """Row groups whose filters have all eight bits of one of the hashes, and the units that they are in."""
        bits = " OR ".join(
            f"get_bit((SELECT bit_and(bits::BIT) FROM {self._named(file.name)}"
            f" WHERE row IN ({', '.join(map(str, file.rows(hash)))})),"
            f" (u.first_place - {file.first_place} + p.at)::INTEGER) = 1"
            for hash in hashes
        )
        end = file.first_place + file.num_slots
        return (
            f"SELECT DISTINCT {_quoted(text)} AS value, 'maybe' AS verdict, u.path AS path,"
            f" {_OF_SLICES[self._places].format(place='p.at')}\n"
            f"FROM {self._named(segment.units.name)} AS u,"
            " LATERAL (SELECT unnest(range(u.num_places)) AS at) AS p\n"
            f"WHERE u.first_place >= {file.first_place} AND u.first_place < {end}\n"
            f"  AND ({bits})" + self._alive(segment)
        )

    def _of_unknown(self, segment: Segment, text: str) -> str:
        # Without places, the others have no value.
        wanted = "1 = 1" if segment.map or segment.slices else "u.reason <> ''"
        return (
            f"SELECT DISTINCT {_quoted(text)} AS value, 'unknown' AS verdict, u.path AS path,"
            " NULL AS row_group, NULL AS page\n"
            f"FROM {self._named(segment.units.name)} AS u\nWHERE {wanted}" + self._alive(segment)
        )

    def _named(self, name: str) -> str:
        # A query is run from anywhere.
        (path,) = lasting([self._folder.path_of(name)])
        if isinstance(path, Address) and self._engine in _DECODE_NOTHING:
            path = path.undecoded
        return self._file.format(str(path).replace("'", "''"))

    def _with_places_alive(self, segment: Segment) -> str:
        """What keeps out units of a map that are dead, of those that have places."""
        places = [str(unit.first_place) for unit in self._dead(segment) if unit.num_places]
        return f"\n  AND u.first_place NOT IN ({', '.join(places)})" if places else ""

    def _alive(self, segment: Segment) -> str:
        """What keeps out files that are dead, whose units may be in several places, or in none."""
        pairs = dict.fromkeys(
            f"(u.path = {_quoted(unit.path)} AND u.version = {_quoted(unit.version)})"
            for unit in self._dead(segment)
        )
        return "".join(f"\n  AND NOT {pair}" for pair in pairs)

    def _dead(self, segment: Segment) -> list[Unit]:
        if not segment.dead:
            return []
        with closing(OpenSegment(self._folder, segment)) as opened:
            return [unit for number, unit in enumerate(opened.units) if segment.is_dead(number)]


def _by_owner(asked: AskedHashes) -> dict[int, list[int]]:
    """The hashes of each value, by its position, each once."""
    hashes: dict[int, dict[int, None]] = {}
    for hash, owner in zip(asked.hashes, asked.owners, strict=True):
        hashes.setdefault(owner, {})[hash] = None
    return {owner: [*each] for owner, each in hashes.items()}


def _quoted(text: str) -> str:
    escaped = text.replace("'", "''")
    return f"'{escaped}'"
