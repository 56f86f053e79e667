"""What a search for values looks into: all files, or the places in them that an index does not exclude."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ValueTypeError
from parquet_bloom.index.states import in_stores_of
from parquet_bloom.storage.folder import Found
from parquet_bloom.values.given import python_values, show_value
from parquet_bloom.values.not_held import in_one_line

if TYPE_CHECKING:
    from parquet_bloom.index.asking import AskedIndex, FoundValues
    from parquet_bloom.native.lazy import Array
    from parquet_bloom.verbs.listed_files import ListedFiles

# By part, the data pages of the column; None for all.
Places: TypeAlias = Mapping[int, Collection[int] | None]
_PlacesFound: TypeAlias = dict[int, set[int] | None]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file to look into: if it is in this state, only in these row groups, and there in these pages of the column
    (None: all); else where its statistics and filters do not exclude the values. `seen`: as it was listed, or if not
    `is_listed`, as it was indexed."""

    path: str
    places: Mapping[str, Places]
    seen: Found
    is_listed: bool = True


@dataclass(frozen=True, slots=True)
class ByIndex:
    """An index that was asked: its folder and generation, when its files were looked at last, and whether it knew
    any of the files, and the values can be any of its column; `is_column`: whether some of its files have that."""

    index: str
    generation: int
    made: float
    is_known: bool = False
    is_column: bool = False


@dataclass(frozen=True, slots=True)
class Candidates:
    """The files to look into, of `num_files` in all. `all_paths`: tells where the columns of rows may be that those
    with rows lack. `not_held`: of the others, those whose column cannot hold some of the values, and why;
    `unsure`: the positions of these values."""

    found: Sequence[Candidate]
    num_files: int
    all_paths: Callable[[], Sequence[str]]
    by: ByIndex | None = None
    not_held: Mapping[str, str] = field(default_factory=dict)
    unsure: Collection[int] = ()

    @property
    def have_column(self) -> bool:
        """Whether an index knows that some file has the column."""
        return self.by is not None and self.by.is_column

    @property
    def are_by_index(self) -> bool:
        return self.by is not None and self.by.is_known


def in_files(files: ListedFiles, by: ByIndex | None = None) -> Candidates:
    """All of them; `by`: an index that knows none of them as it is now."""
    found = [Candidate(path, {}, seen) for path, seen in files.found.items()]
    return Candidates(found, len(found), lambda: [*files.found], by)


def in_index(
    asked: AskedIndex,
    index: str,
    column: str,
    values: Sequence[Any] | Array,
    files: ListedFiles | None,
) -> Candidates:
    """Those that an index does not exclude: of its own files, or of these, by their names. Raises ValueTypeError,
    FormatError, OSError."""
    by = ByIndex(index, asked.manifest.generation, asked.manifest.made)
    new = set() if files is None else _not_known(asked, column, files)
    # A table may have widened the type since, which its files then say.
    may_be_wider = files is not None and bool(files.tables)
    try:
        found = asked.look_up_some(column, values)
    except ValueTypeError:
        # What is new may be of another type.
        if files is None or not (new or may_be_wider):
            raise
        return in_files(files, by)
    for value, reason in found.not_asked.items():
        shown = show_value(python_values(values)[value])
        raise ValueTypeError(f"{shown}: cannot be looked for: {reason}")
    if files is not None and len(new) == len(files.found):
        return in_files(files, by)
    if files is not None:
        found = found.named(files.given)
    places = _places(asked, found)
    whole = new | {unit.path for unit in found.unknown}
    not_held: dict[str, str] = {}
    unsure: set[int] = set()
    for each in found.not_held:
        paths = {unit.path for unit in each.units}
        if may_be_wider or len(each.problems) == len(values):
            whole |= paths
        else:
            not_held.update(dict.fromkeys(paths, in_one_line(each.problems, values)))
            unsure.update(each.problems)
    if asked.places == "file":
        whole |= places.keys()
    wanted = whole | places.keys()
    seen = _as_indexed(found) if files is None else files.found
    listed = sorted(wanted & seen.keys())
    sources = asked.manifest.sources
    return Candidates(
        [
            Candidate(path, {} if path in whole else places[path], seen[path], files is not None)
            for path in in_stores_of(sources, listed)
        ],
        asked.num_files(column) if files is None else len(files.found),
        partial(_all_paths, asked, column) if files is None else lambda: [*files.found],
        # Those that the index rules out have the column.
        replace(by, is_known=True, is_column=asked.has_column(column)),
        {
            path: f"column {column}: {problem}"
            for path, problem in sorted(not_held.items())
            if path not in wanted and (files is None or path in files.found)
        },
        unsure,
    )


def _places(asked: AskedIndex, found: FoundValues) -> dict[str, dict[str, _PlacesFound]]:
    """Where in the states of files values may be."""
    places: dict[str, dict[str, _PlacesFound]] = {}
    for hits in found.hits:
        for unit, place in hits.distinct_places:
            in_state = places.setdefault(unit.path, {}).setdefault(unit.version, {})
            if asked.places == "row-group":
                in_state[unit.row_group + place] = None
            elif asked.places == "page":
                pages = in_state.setdefault(unit.row_group, set())
                assert pages is not None
                pages.add(place)
    for unit in found.unknown_parts:
        in_state = places.setdefault(unit.path, {}).setdefault(unit.version, {})
        in_state[unit.row_group] = None
    return places


def _as_indexed(found: FoundValues) -> Mapping[str, Found]:
    """The files that an answer is about, as they were read."""
    return {unit.path: Found(unit.path, unit.size, unit.version, None) for unit in found.units}


def _not_known(asked: AskedIndex, column: str, files: ListedFiles) -> set[str]:
    """The files that an index does not know as they are now."""
    known = {
        files.given(unit.path)
        for unit, read_as in asked.units(column)
        if files.is_known(unit, column, read_as)
    }
    return files.found.keys() - known


def _all_paths(asked: AskedIndex, column: str) -> Sequence[str]:
    """Those of all files that an index knows."""
    paths = {unit.path for unit, _ in asked.units(column)}
    return in_stores_of(asked.manifest.sources, sorted(paths))
