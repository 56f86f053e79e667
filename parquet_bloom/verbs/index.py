"""An index over many files, to Python users."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from parquet_bloom.arguments import PATH_OR_URL, path_given
from parquet_bloom.index.asking import AskedIndex
from parquet_bloom.native.lazy import Array, NDArray, np
from parquet_bloom.storage import open_folder, with_options
from parquet_bloom.values.given import list_values
from parquet_bloom.verbs.find import are_held, files_of_tables
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
    from parquet_bloom.verbs.listed_files import ListedFiles
    from parquet_bloom.vocabulary import TableChoice


class Index:
    """An index in a folder, by path or URL, as it is when it is opened: others may change it meanwhile.

    What was read of it is kept, so that to ask it again takes less. Leave it with `with`, or `close` it. hash_key:
    that it was built with. storage_options: as for pb.inspect; both hold for all that is done with it. Raises
    FileNotFoundError if there is none, EncryptionError unless `hash_key` is its key, FormatError for damage, OSError.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        storage_options: Mapping[str, str] | None = None,
        *,
        hash_key: bytes | str | None = None,
    ) -> None:
        self._is_closed = False
        self._place = with_options(path_given("path", path, PATH_OR_URL), storage_options)
        self._hash_key = hash_key
        self._options = storage_options
        self._open()

    def _open(self) -> None:
        folder = open_folder(self._place)
        self.path = folder.path
        self._asked = AskedIndex(folder, self._hash_key)

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
        overwrite: bool = False,
        hash_key: bytes | str | None = None,
        keys: Keys | None = None,
        storage_options: Mapping[str, str] | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Make an index in the folder `path` over `files` and open it: paths, URLs, globs and folders,
        which `add` looks at again.

        columns: dotted paths. table: `files` are tables of this kind, `auto` for any, by their folders, or their
        names in the catalog of a TableView: the index is about their live files, whose columns have the table's
        names. places: what an answer leads to: `file`, `row-group`, or `page`, the data pages of the column. form:
        `map`, a hash of every value; `slices`, the filters that the files have, whose values are not read; `auto`,
        the filters of files that have one in every row group, and the values of others. overwrite: make it anew where
        there is an index already, which may be damaged: nothing of it is read but whether it has a `hash_key`, and
        whoever reads it goes on with it. All others as for pb.inspect.

        The index holds a hash of every value, which tells whoever can guess a value which files hold it. So columns
        that are encrypted in a file are left out; include_encrypted: they are not. hash_key: 16 bytes, or a KEYSPEC,
        which hashes are made with: nobody can try values without it, whoever adds to the index or asks it needs it,
        and an index whose key is lost has to be made again.

        Raises RewriteError if there is an index already, unless `overwrite` is set, and for what is no table,
        MissingKeyError without a `hash_key` where that one has one, FileNotFoundError if there are no files,
        ColumnError for a column that is in none, UnsupportedError for tables that cannot be read, EncryptionError for
        what is no key, FormatError, OSError.
        """
        build_index(
            path,
            files,
            columns,
            table=table,
            places=places,
            form=form,
            include_encrypted=include_encrypted,
            overwrite=overwrite,
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
        """Bring the index up to date: index what is new or has changed in the files, folders, globs and tables that
        it is about, and in `files`, which it is about from now on; forget what is gone. table: as for build. What it
        says from now on is about that. What it knows of a place at which nobody may look stays as it was, see
        `not_listed` of the result; `files` must be listed as a whole.

        Raises as build.
        """
        self._check_open()
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
        """Forget `files`, as `add` does with those that are gone: names as they were given to build and add, of
        tables, too, or files, folders and globs, whose files may be gone. Of a glob that was given to these, files
        that others mean, too, stay. What is still there in a place that the index is about comes back with the next
        `add`.

        Raises as build.
        """
        self._check_open()
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
        """Merge the segments of which the index consists, so that fewer are asked, and drop what they know of files
        that are gone.

        Small segments are merged, and those of which much is gone: large ones are seldom written again. everything:
        merge all, so that nothing is left of files that are gone. older_than: in seconds; what nothing needs any more
        is removed once it has been so for this long: others may still read it, or be about to name it. Other writers
        may be at work meanwhile.

        Raises TypeError and ValueError for an age that cannot be, FormatError for damage, OSError.
        """
        self._check_open()
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
        files: Any = None,
        table: TableChoice | TableView | None = None,
        deep: bool = False,
        keys: Keys | None = None,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> IndexCheck:
        """Prove the index, as it is by now: that its files are whole and lead engines to the same keys as us, and
        that it knows all files as they are now.

        files and table: as for add; of all files, only these are looked at,
        and what the index knows in these folders.
        deep: read all values, or filters, again, too, and prove that each is found where it is, and that nothing else
        is. That filters have all values is what validate proves. All others as for pb.inspect.

        Raises FormatError if its manifest is damaged, FileNotFoundError for a name that means nothing, RewriteError
        for what is no table, OSError.
        """
        self._check_open()
        return check_index(
            self._place,
            files=files,
            table=table,
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
        union_by_name: bool = False,
    ) -> IndexReport:
        """Which files may hold values of `column`.

        values: as for pb.probe. files: paths, URLs, globs and folders: the answer is about these as they are now, and
        `unknown` for those that the index does not know, or not in this state. table: `files` are tables of this
        kind, in whose place are their live files; a TableView says of which version. Without them, it is about all
        files as they were when the index was made or added to (`as_indexed`); only those that may hold a value are
        looked at again, and one that is another one by now, or gone, or at which nobody may look, is `unknown` for
        the values that it held. What is said of a value depends on no other. Beside others, a name that means no
        file, or a folder that cannot be listed, is `unknown` for all. union_by_name: as for pb.find, of what the
        files were indexed as.

        Raises ColumnError if the index is not about this column, ValueTypeError for what cannot be a value of it,
        RewriteError for what is no table, FormatError for damage, OSError.
        """
        self._check_open()
        values = list_values(values)
        among = files_if_given(files, table, self._options, union_by_name)
        return self._probe(column, values, among, union_by_name)

    def _probe(
        self,
        column: str,
        values: Sequence[Any] | Array,
        among: ListedFiles | None,
        union_by_name: bool,
    ) -> IndexReport:
        return probe_asked(
            self._asked, self.path, column, values, among, self._options, union_by_name
        )

    def new_values(
        self,
        column: str,
        values: Any,
        *,
        files: Any = None,
        table: TableChoice | TableView | None = None,
        union_by_name: bool = False,
        verify: bool = False,
        keys: Keys | None = None,
    ) -> NDArray[np.bool_]:
        """Which of `values` are certainly new: no file of the index holds them. Shape (n,), dtype bool.

        values: as for probe; files, table and union_by_name: as there. False for all while there is a file of which
        nothing is known.
        verify: look for the others in the files themselves, with `keys`: then False is only of values that a file
        holds, that cannot be looked for, as NaN and null, and of all that are not proved new while a file cannot be
        read. Raises as probe.

        All of the answer is about one moment: with `files`, about these as they are listed when this is called;
        without, about the files as they were indexed, or, to verify an index over tables, about what it is about as
        that is now. Of a file that is another one than at that moment, what it holds now is no answer: values that
        it may have held are False, and all that are not proved new if it changes while this runs.
        """
        self._check_open()
        values = list_values(values)
        among = files_if_given(files, table, self._options, union_by_name)
        if verify and among is None:
            among = files_of_tables(self._asked, self._options)
        results = self._probe(column, values, among, union_by_name).results
        new = results.absent
        if not verify:
            return new
        if among is not None and among.errors:
            # Of a place where nothing is any more, nobody knows what it held.
            return np.zeros_like(new)
        to_verify = ~new & results.askable
        if among is None:
            to_verify &= ~results.changed
        wanted = np.flatnonzero(to_verify)
        if not wanted.size:
            return new
        some = (
            [values[at] for at in wanted.tolist()] if isinstance(values, list) else values[wanted]
        )
        held = are_held(
            self._asked, self.path, column, some, among, keys=keys, storage_options=self._options,
            union_by_name=union_by_name,
        )  # fmt: skip
        if held is not None:
            new[wanted] = ~held
        return new

    def sql(self, column: str, values: Any, *, engine: SqlEngine = "duckdb") -> str:
        """The query, without a semicolon, that asks the index which files may hold a few values of `column`: a row
        with value, verdict (`maybe` or `unknown`), path, row_group and page for each place; none for a value that is
        absent. Of `slices`, only of DuckDB. A `hash_key` is not in the query. It is about the index as it is now, and
        fails once `compact` has removed a segment that it names.

        Raises UnsupportedError for more than 20 values, ValueTypeError for what cannot be looked up, ColumnError,
        FileNotFoundError if the index knows no file, FormatError, OSError.
        """
        self._check_open()
        return index_sql(
            self._place,
            column,
            values,
            engine=engine,
            hash_key=self._hash_key,
            storage_options=self._options,
        ).text

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
        """What is done with it afterwards is a ValueError; `columns` and `generation` stay."""
        self._is_closed = True
        self._asked.close()

    def _check_open(self) -> None:
        if self._is_closed:
            raise ValueError(f"{self.path}: is closed, expected an open index")

    def __enter__(self) -> Self:
        self._check_open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
