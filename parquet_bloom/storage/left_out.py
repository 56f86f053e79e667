"""The files in folders that are not looked at because of their names,
for those whose answer is about all that is there.

    _old/a.parquet, .a.parquet               hidden, see source.is_hidden
    a.parquet.bak, part-0, a.csv             not called like a data file

What holds no rows of the lake does not count: logs and deletion vectors of tables, files of an index, the account of
a run on Spark, checksums, journals and marks of writers, locks of editors, policies, empty files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from parquet_bloom.storage.source import is_hidden, is_of_index

_WITHOUT_ROWS: Final = re.compile(
    r"pbloom\.toml|_SUCCESS|_(common_)?metadata|_(committed|started)_\d+|.*\.crc|.*\.pbloom-journal"
    r"|manifest-\d{10}\.json|\.#.*|deletion_vector_[0-9a-f-]{36}\.bin|.*\.puffin"
    # External key material, see encryption.key_material.
    r"|_KEY_MATERIAL_FOR_.*\.json"
)
# Of Delta Lake and Hudi, see table_formats.
_LOGS: Final = frozenset({"_delta_log", ".hoodie"})
# What Iceberg has besides data, in a folder whose name others use, too.
_OF_ICEBERG: Final = re.compile(
    r"(.*/)?metadata/([^/]+\.(metadata\.json|avro|stats|puffin)|version-hint\.text)"
)
# The account of a run on Spark, see spark.run: what has its id, and what is called as the run calls it.
_OF_RUN: Final = re.compile(
    r"(?P<audit>(.*/)?)(_runs/(?P<run>[^/]+)/(?P<own>started\.json|plan\.json"
    r"|(began|bits|folders|part|segments|sheet|sketches)-[^/]+)"
    r"|run_id=(?P<told>[^/]+)/(task-\d{6,}|missing)\.parquet)"
)


class LeftOut:
    """Takes what a search of folders leaves out. `paths`: of files, and of links to folders, which are not followed;
    `unlisted`: folders that nobody may list, and why; `hidden_unlisted`: those of them that are left out anyway.
    `is_proof`: for whoever has to prove what is nowhere. Others leave out what is hidden as all readers do, which
    nobody has to be told, and a folder that nobody may list is an error."""

    def __init__(self, *, is_proof: bool = True) -> None:
        self.is_proof = is_proof
        self.paths: list[str] = []
        self.unlisted: list[tuple[str, str]] = []
        self.hidden_unlisted: list[tuple[str, str]] = []

    @property
    def all_unlisted(self) -> list[tuple[str, str]]:
        """Of which nobody knows what is in them."""
        return [*self.unlisted, *self.hidden_unlisted]

    def add(self, path: str, place: str) -> None:
        """A file that is not empty, at `place` in the folder that is searched."""
        *folders, name = place.split("/")
        if not self.is_proof and any(map(is_hidden, (*folders, name))):
            return
        if (
            not any(map(is_log, folders))
            and not is_of_index(name)
            and not _WITHOUT_ROWS.fullmatch(name)
            and not _OF_ICEBERG.fullmatch(place)
        ):
            self.paths.append(path)

    def add_local(self, path: str, place: str) -> None:
        """A local file, unless it is empty; of a link that leads nowhere, nobody knows what was there."""
        try:
            may_have_rows = os.stat(path).st_size > 0
        except OSError:
            may_have_rows = os.path.islink(path)
        if may_have_rows:
            self.add(path, place)

    def besides(self, asked: Iterable[str]) -> tuple[str, ...]:
        """Without those that were asked by another name, and without the accounts of runs."""
        known = {os.path.normpath(path) for path in asked}
        return tuple(
            path
            for path in _without_accounts([*dict.fromkeys(self.paths)])
            if os.path.normpath(path) not in known
        )


def _without_accounts(paths: Sequence[str]) -> Iterator[str]:
    """A file of a run is known by its name, and by what the run puts first: others may have such names, too."""
    runs = [_OF_RUN.fullmatch(path) for path in paths]
    known = {(run["audit"], run["run"]) for run in runs if run and run["own"] == "started.json"}
    for path, run in zip(paths, runs, strict=True):
        if run is None or (run["audit"], run["run"] or run["told"]) not in known:
            yield path


def is_log(folder: str) -> bool:
    """Whether a folder with this name is that of a table format."""
    return folder in _LOGS
