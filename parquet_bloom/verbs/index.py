"""An index over many files, to Python users."""

from __future__ import annotations

import os
from collections.abc import Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from parquet_bloom.index.asking import AskedIndex
from parquet_bloom.index.manifest import existing
from parquet_bloom.native.lazy import NDArray, np
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.values.given import list_values
from parquet_bloom.verbs.find import are_held
from parquet_bloom.verbs.index_change import (
    IndexChange,
    add_to_index,
    build_index,
    remove_from_index,
)
from parquet_bloom.verbs.index_check import IndexCheck, check_index
from parquet_bloom.verbs.index_compact import IndexCompaction, compact_index
from parquet_bloom.verbs.index_probe import IndexReport, files_if_given, probe_asked
from parquet_bloom.verbs.index_sql import SqlEngine, index_sql

if TYPE_CHECKING:
    from parquet_bloom.arguments import SomeNames
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.index.manifest import IndexForm, Places
    from parquet_bloom.options import TableView
    from parquet_bloom.parallel import Progress
    from parquet_bloom.vocabulary import TableChoice


class Index:
    """An index in a folder, by path or URL, as it is when it is opened: others may change it meanwhile.

    What was read of it is kept, so that to ask it again takes less. Leave it with `with`, or `close` it. Raises
    FileNotFoundError if there is none, EncryptionError unless `hash_key` is its key, FormatError for damage, OSError.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, str] | None = None,
        *,
        hash_key: bytes | str | None = None,
    ) -> None:
        self._place = with_options(os.fspath(path), storage_options)
        self._hash_key = hash_key
        self._options = storage_options
        self._open()

    def _open(self) -> None:
        folder = open_folder(self._place)
        self.path = folder.path
        self._asked = AskedIndex(folder, existing(folder), self._hash_key)

    @classmethod
    def build(
        cls,
        path: str | os.PathLike[str],
        files: Any,
        columns: SomeNames,
        *,
        table: TableChoice | TableView | None = None,
        places: Places = "row-group",
        form: IndexForm = "map",
        include_encrypted: bool = False,
        hash_key: bytes | str | None = None,
        keys: Keys | None = None,
        storage_options: Mapping[str, str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Make an index over files and open it, see build_index."""
        build_index(
            path,
            files,
            columns,
            table=table,
            places=places,
            form=form,
            include_encrypted=include_encrypted,
            hash_key=hash_key,
            keys=keys,
            storage_options=storage_options,
            threads=threads,
            progress=progress,
        )
        return cls(path, storage_options, hash_key=hash_key)

    def add(
        self,
        files: Any = (),
        *,
        table: TableChoice | TableView | None = None,
        keys: Keys | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> IndexChange:
        """Bring the index up to date, see add_to_index; what it says from now on is about that."""
        change = add_to_index(
            self._place,
            files,
            table=table,
            hash_key=self._hash_key,
            keys=keys,
            storage_options=self._options,
            threads=threads,
            progress=progress,
        )
        self._reopen()
        return change

    def remove(self, files: Any) -> IndexChange:
        """Forget files, see remove_from_index."""
        change = remove_from_index(self._place, files, storage_options=self._options)
        self._reopen()
        return change

    def compact(
        self,
        *,
        everything: bool = False,
        older_than: float = 3600.0,
        progress: Progress | None = None,
    ) -> IndexCompaction:
        """Merge what it consists of, see compact_index."""
        report = compact_index(
            self._place,
            everything=everything,
            older_than=older_than,
            storage_options=self._options,
            progress=progress,
        )
        self._reopen()
        return report

    def check(
        self,
        *,
        deep: bool = False,
        keys: Keys | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> IndexCheck:
        """Prove it, as it is by now, see check_index."""
        return check_index(
            self._place,
            deep=deep,
            hash_key=self._hash_key,
            keys=keys,
            storage_options=self._options,
            threads=threads,
            progress=progress,
        )

    def probe(
        self,
        column: str,
        values: Any,
        *,
        files: Any = None,
        table: TableChoice | TableView | None = None,
    ) -> IndexReport:
        """Which files may hold values of `column`, see probe_index."""
        values = list_values(values)
        among = files_if_given(files, table, self._options)
        return probe_asked(self._asked, self.path, column, values, among, self._options)

    def new_values(
        self,
        column: str,
        values: Any,
        *,
        files: Any = None,
        table: TableChoice | TableView | None = None,
        verify: bool = False,
        keys: Keys | None = None,
    ) -> NDArray[np.bool_]:
        """Which of `values` are certainly new: no file of the index holds them. Shape (n,), dtype bool.

        values: as for probe; files and table: as there. False for all while there is a file of which nothing is known.
        verify: look for the others in the files themselves, as `pb.find` does, with `keys`: then False is only of
        values that a file holds, that cannot be looked for, as NaN and null, and of all that are not proved new while
        a file cannot be read. Raises as probe.
        """
        values = list_values(values)
        results = self.probe(column, values, files=files, table=table).results
        new = results.absent
        wanted = np.flatnonzero(~new & results.askable)
        if not verify or not wanted.size:
            return new
        some = (
            [values[at] for at in wanted.tolist()] if isinstance(values, list) else values[wanted]
        )
        held = are_held(
            files, column, some, table=table, index=self._place, hash_key=self._hash_key, keys=keys,
            storage_options=self._options,
        )  # fmt: skip
        if held is not None:
            new[wanted] = ~held
        return new

    def sql(self, column: str, values: Any, *, engine: SqlEngine = "duckdb") -> str:
        """The query that asks the index about a few values, see index_sql."""
        return index_sql(
            self._place,
            column,
            values,
            engine=engine,
            hash_key=self._hash_key,
            storage_options=self._options,
        )

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it is about."""
        return self._asked.manifest.columns

    @property
    def generation(self) -> int:
        """The number of its manifest; each change has a higher one."""
        return self._asked.manifest.generation

    def __repr__(self) -> str:
        return f"<Index {self.path}: {', '.join(self.columns)}; generation {self.generation}>"

    def _reopen(self) -> None:
        self._asked.close()
        self._open()

    def close(self) -> None:
        self._asked.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
