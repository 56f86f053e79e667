"""Two of our commands and a stranger at one Iceberg table of one file, or of two that get a commit each: its
catalog and its metadata are in memory, as the file system is that has its files. What the catalog is asked
is a step; metadata files have names of their own.
"""

import io
from collections.abc import Hashable, Sequence
from contextlib import ExitStack
from functools import cache, partial
from typing import Any, Final, Self
from unittest import mock

from interleavings.delta import check, columns_with_filters
from interleavings.files import USUAL, Can, FileSystem
from interleavings.local import parquet
from interleavings.outcomes import Command, Outcomes
from interleavings.search import READ, WRITE, Scenario, Touched, running, step
from pyiceberg.catalog import CommitTableResponse
from pyiceberg.exceptions import CommitFailedException
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata
from pyiceberg.types import LongType, NestedField, StringType

import parquet_bloom as pb
from parquet_bloom.tables.iceberg import table as iceberg_table

CATALOG: Final = "simulated"
NAME: Final = "lake.events"
FOLDER: Final = "/sim/table"
FILE: Final = f"{FOLDER}/part-0.parquet"
OTHER: Final = f"{FOLDER}/part-1.parquet"
SECOND: Final = f"{FOLDER}/part-2.parquet"

_SCHEMA: Final = Schema(
    NestedField(1, "a", LongType(), required=False),
    NestedField(2, "b", StringType(), required=False),
)
# Its commits are tried again at once.
_QUICKLY: Final = {"commit.retry.min-wait-ms": "1", "commit.retry.max-wait-ms": "1"}


class Bytes(io.BytesIO):
    """What is written is there when it is closed."""

    def __init__(self, files: dict[str, bytes], name: str) -> None:
        super().__init__()
        self._files, self._name = files, name

    def close(self) -> None:
        if not self.closed:
            self._files[self._name] = self.getvalue()
        super().close()


class Place(InputFile, OutputFile):
    def __init__(self, files: dict[str, bytes], location: str) -> None:
        InputFile.__init__(self, location)
        self._files = files

    def __len__(self) -> int:
        return len(self._files[self.location])

    def exists(self) -> bool:
        return self.location in self._files

    def open(self, seekable: bool = True) -> Any:
        if self.location not in self._files:
            raise FileNotFoundError(2, "no such file", self.location)
        return io.BytesIO(self._files[self.location])

    def create(self, overwrite: bool = False) -> Any:
        return Bytes(self._files, self.location)

    def to_input_file(self) -> InputFile:
        return self


class Memory(FileIO):
    """Metadata files by their names, and data files as they were at first, for whoever adds them."""

    def __init__(self, files: dict[str, bytes]) -> None:
        super().__init__()
        self.files = files

    def new_input(self, location: str) -> Any:
        return Place(self.files, location)

    def new_output(self, location: str) -> Any:
        return Place(self.files, location)

    def delete(self, location: Any) -> None:
        self.files.pop(getattr(location, "location", location), None)


class Catalog:
    """Compares and swaps. `commits`: who made them, and what they knew."""

    name: Final = CATALOG

    def __init__(self, metadata: TableMetadata, files: dict[str, bytes], touched: Touched) -> None:
        self.metadata, self._touched = metadata, touched
        self.io = Memory(dict(files))
        self.commits: list[tuple[int, int]] = []
        self.properties: dict[str, str] = {}

    def load_table(self, identifier: Any) -> Table:
        self._step(READ)
        return Table(("lake", "events"), self.metadata, "memory:metadata", self.io, self)  # type: ignore[arg-type]

    def commit_table(self, table: Table, requirements: Any, updates: Any) -> CommitTableResponse:
        self._step(WRITE)
        for requirement in requirements:
            requirement.validate(self.metadata)
        self.metadata = update_table_metadata(
            self.metadata, updates, enforce_validation=False, metadata_location="memory:metadata"
        )
        process = running()
        self.commits.append((-1, 0) if process is None else (process.number, process.seen))
        return CommitTableResponse(metadata=self.metadata, metadata_location="memory:metadata")

    def _step(self, how: str) -> None:
        step(self._touched, lambda: [("catalog", how)])
        process = running()
        if process is not None:
            process.sees(*self.commits)

    def _delete_old_metadata(self, *_: Any) -> None:
        """It keeps them."""


@cache
def _first(num_files: int) -> tuple[TableMetadata, dict[str, bytes]]:
    metadata = new_table_metadata(
        schema=_SCHEMA,
        partition_spec=UNPARTITIONED_PARTITION_SPEC,
        sort_order=UNSORTED_SORT_ORDER,
        location=FOLDER,
        properties=_QUICKLY,
    )
    files = {FILE: parquet(), OTHER: parquet(7), SECOND: parquet(7)}
    catalog = Catalog(metadata, files, Touched())
    for name in (FILE, SECOND)[:num_files]:
        catalog.load_table(NAME).add_files([name])
    return catalog.metadata, catalog.io.files


class Lake:
    """A World: files, and the catalog."""

    def __init__(self, touched: Touched, can: Can, num_files: int) -> None:
        metadata, files = _first(num_files)
        there = {FILE: parquet(), OTHER: parquet(7)}
        if num_files > 1:
            there[SECOND] = parquet(7)
        self.files = FileSystem(touched, there, can)
        self.catalog = Catalog(metadata, files, touched)
        self._patches = ExitStack()

    @property
    def contents(self) -> Any:
        return self.files.contents

    def state(self) -> Hashable:
        return (self.files.state(), tuple(self.catalog.commits))

    def bury(self, process: Any) -> None:
        self.files.bury(process)

    def __enter__(self) -> Self:
        self._patches.enter_context(self.files)
        self._patches.enter_context(
            mock.patch.object(iceberg_table, "load_catalog", return_value=self.catalog)
        )
        return self

    def __exit__(self, *_: object) -> None:
        self._patches.close()


def build(column: str) -> Command:
    """Filters of another size for each column."""
    ndv = {"a": 10, "b": 200}[column]

    def work(_: Any) -> Any:
        return pb.build_table(
            NAME,
            catalog=CATALOG,
            columns=[column],
            ndv=ndv,
            min_file_size=0,
            files_per_commit=1,
            threads=1,
        )

    return Command(f"build {column}", work, _is_committed)


def strip() -> Command:
    return Command("strip", lambda _: pb.strip_table(NAME, catalog=CATALOG), _is_committed)


def _is_committed(report: Any) -> bool:
    """Or there was nothing to do."""
    return report.committed is not None or all(each.action == "unchanged" for each in report.files)


def add_file() -> Command:
    """Another program's commit, which is tried until it is the next."""

    def work(lake: Lake) -> None:
        while True:
            try:
                lake.catalog.load_table(NAME).add_files([OTHER])
            except CommitFailedException:
                continue
            return

    return Command("add a file", work, is_ours=False)


def remove_file() -> Command:
    def work(lake: Lake) -> None:
        while True:
            try:
                lake.catalog.load_table(NAME).delete()
            except CommitFailedException:
                continue
            return

    return Command("remove the file", work, is_ours=False)


def recorded(lake: Lake) -> Hashable:
    """As delta.recorded."""
    found = []
    for file in pb.open_table(NAME, catalog=CATALOG).files():
        found.append((file.name, columns_with_filters(file.path, file.size)))
        columns_with_filters(file.path, None)
        first = parquet(1 if file.path == FILE else 7)
        assert lake.contents()[file.path].startswith(first), f"other rows: {file.name}"
    return tuple(found)


def scenario(
    commands: Sequence[Command], can: Can = USUAL, kills: bool = True, num_files: int = 1
) -> Scenario:
    """`num_files`: 1, or 2."""

    def make(touched: Touched) -> Lake:
        return Lake(touched, can, num_files)

    ours = [number for number, command in enumerate(commands) if command.is_ours]
    checked = partial(check, commands, Outcomes(make, recorded), recorded)
    return Scenario(make, commands, checked, ours if kills else ())
