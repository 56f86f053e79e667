"""Tables as what a command reads, or changes. It is imported with --table only: without, nothing of
tables is loaded."""

from __future__ import annotations

import errno
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar

from parquet_bloom.commands.inputs import Answers, FoundInputs, Inputs
from parquet_bloom.commands.store_options import storage_options
from parquet_bloom.container import number_of
from parquet_bloom.container.in_commands import InCommands
from parquet_bloom.errors import ParquetBloomError, for_command
from parquet_bloom.options import TableView
from parquet_bloom.program import TROUBLE
from parquet_bloom.render.reports import ReportView
from parquet_bloom.render.terminal import complain, progress
from parquet_bloom.storage.paths import Input, expand_tables
from parquet_bloom.tables.open import open_table
from parquet_bloom.tables.partitions import files_where
from parquet_bloom.tables.table import LakeTable, TableFile
from parquet_bloom.verbs.table_step import left_alone

if TYPE_CHECKING:
    from parquet_bloom.container.protocols import Container
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import TableOptions
    from parquet_bloom.parallel import Progress
    from parquet_bloom.verbs.table_step import ChangedFile


class ChangeReport(Protocol):
    """What is said about a table that was changed."""

    @property
    def files(self) -> tuple[ChangedFile, ...]: ...


Changed = TypeVar("Changed", bound=ChangeReport)


def _options_in_catalog(catalog: str | None) -> Mapping[str, str] | None:
    """Options of the store for a table of a catalog; a URL has its own."""
    return None if catalog is None else storage_options()


class TableInputs(Inputs):
    """The live files of tables, each as long as its table says."""

    def __init__(self, names: tuple[str, ...], view: TableView) -> None:
        self._view = view
        self._tables: list[LakeTable] = []
        self._recorded: dict[str, tuple[LakeTable, TableFile]] = {}
        super().__init__(self._find(names), are_held=False)
        self._tell_empty()
        self._tell_deleted()

    def open(self, path: str, keys: Keys | None) -> AbstractContextManager[Container]:
        table, recorded = self._recorded[path]
        return table.open_file(recorded, keys)

    def in_commands(self, path: str) -> InCommands:
        table, file = self._recorded[path]
        return table.in_commands_of(file)

    def notes_on_readers(self) -> Sequence[str]:
        """As a dry run of build has them; of several tables, each names its own."""
        is_one = len(self._tables) == 1
        return [
            note if is_one else f"{table.location}: {note}"
            for table in self._tables
            for note in table.readers
        ]

    def leave_alone(self, options: TableOptions) -> None:
        """Keep those to which a change of their tables appends."""
        self.files = [
            file for file in self.files if left_alone(self._recorded[file.path][1], options) is None
        ]

    def check_columns(self, columns: Iterable[str]) -> None:
        """Raise ColumnError for a column that a table does not have."""
        for table in self._tables:
            for name in columns:
                table.physical(name)

    def _find(self, names: tuple[str, ...]) -> FoundInputs:
        found, errors = expand_tables(names, storage_options())
        inputs = []
        for name, _ in found:
            try:
                table, files = self._files_of(name)
            except OSError as error:
                errors.append(error)
            except ParquetBloomError as error:
                problem = for_command(str(error)).removeprefix(f"{name}: ")
                errors.append(OSError(errno.EINVAL, problem, name))
            else:
                self._recorded |= {file.path: (table, file) for file in files}
                inputs += [Input(file.path, str(Path(file.name))) for file in files]
        return inputs, errors

    def _files_of(self, name: str) -> tuple[LakeTable, tuple[TableFile, ...]]:
        view = self._view
        table = open_table(
            name,
            view.kind,
            catalog=view.catalog,
            version=view.version,
            as_of=view.as_of,
            storage_options=_options_in_catalog(view.catalog),
        )
        self._tables.append(table)
        return table, files_where(table, view.where, view.since)

    def _tell_empty(self) -> None:
        """Where only some files are asked for, somebody else says that there are none of these."""
        filled = {table.location for table, _ in self._recorded.values()}
        are_some = self._view.since is not None or bool(self._view.where)
        for table in () if are_some else self._tables:
            if table.location not in filled:
                complain(
                    f"{table.location}: 0 files: the table is empty at version {table.version}"
                )

    def _tell_deleted(self) -> None:
        """Filters know rows that a table has deleted without rewriting their file."""
        for table in self._tables:
            for note in table.notes:
                complain(f"{table.location}: {note}")
        files_read = [file for _, file in self._recorded.values()]
        deleted = [file.num_deleted for file in files_read if file.num_deleted]
        if deleted:
            rows, files = number_of(sum(deleted), "row"), number_of(len(deleted), "file")
            complain(
                f"{rows} of {files} are deleted by deletion vectors: any filters still know them"
            )


def tables(names: tuple[str, ...]) -> Inputs:
    """The tables that names mean."""
    return Inputs(expand_tables(names, storage_options()), are_held=False, noun="table")


def files_to_change(tables: Inputs, options: TableOptions) -> Inputs:
    """The live files of tables to which a change appends."""
    names = tuple(table.path for table in tables.files)
    view = TableView(
        kind=options.kind, catalog=options.catalog, where=options.where, since=options.since
    )
    files = TableInputs(names, view)
    files.leave_alone(options)
    return files


def change_tables(
    answers: Answers,
    options: TableOptions,
    view: ReportView[Changed],
    change: Callable[[LakeTable, Progress], Changed],
) -> tuple[int, list[Changed]]:
    """The exit code, and what `change` reported of each table; it gets what shows the progress, too."""
    reports: list[Changed] = []

    def work(path: str) -> Changed:
        with progress(path) as show:
            of_store = _options_in_catalog(options.catalog)
            table = open_table(
                path, options.kind, catalog=options.catalog, storage_options=of_store
            )
            reports.append(change(table, show))
        return reports[-1]

    return exit_code(answers.each(work, view), reports), reports


def exit_code(code: int, reports: Collection[ChangeReport]) -> int:
    """TROUBLE if the change of any file failed."""
    failed = any(file.action == "failed" for report in reports for file in report.files)
    return TROUBLE if failed else code
