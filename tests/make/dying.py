"""Builds that die: before and after any call that touches the disk, a process ends.

    python -m make.dying links|no-links SOURCE [OUTPUT]
    python -m make.dying table|batches TABLE
    python -m make.dying iceberg|iceberg-batches CATALOG
    python -m make.dying index-add|index-compact|index-spark INDEX

Reads the number of a call, two for each, from a line of stdin, and answers with the exit code of a
build that was to die there. The process that forks is this one, which has one thread and no locks
that somebody might hold: that of the tests has threads of Arrow's, and maybe a JVM.
"""

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import parquet_bloom as pb
from parquet_bloom.storage import local_output

CALLS = ("open", "pwrite", "fchmod", "fsync", "replace", "link", "unlink")
DEAD = 9

# The ways to build in tables, with their options.
DELTA: dict[str, dict[str, Any]] = {"table": {}, "batches": {"files_per_commit": 1}}
ICEBERG: dict[str, dict[str, Any]] = {"iceberg": {}, "iceberg-batches": {"files_per_commit": 1}}

# What is done to an index.
INDEX: dict[str, Callable[[pb.Index], object]] = {
    "index-add": lambda index: index.add(threads=1),
    "index-compact": lambda index: index.compact(everything=True, older_than=0),
    "index-spark": lambda index: add_as_spark_does(index.path),
}

TO_COMMIT = (
    "make.iceberg_tables",
    "parquet_bloom.tables.iceberg.table",
    "parquet_bloom.verbs.build_table",
    "pyiceberg.catalog.sql",
    "pyiceberg.io.pyarrow",
)


@contextmanager
def builds(
    source: Path, output: Path | None = None, links: bool = True, way: str | None = None
) -> Iterator[Callable[[int], bool]]:
    """Gives a function that builds, in place without an output, and dies at the given step; it answers whether the
    build lived to its end. `links`: whether the file system has hard links. `way`: `index-add`, `index-compact` and
    `index-spark` for an index; `table` for one of Delta Lake, `iceberg` for the folder of a catalog, whose files are
    appended to, so that only the commit is left; `batches` and `iceberg-batches`: the same with a commit for each
    file."""
    paths = map(str, filter(None, (source, output)))
    way = way or ("links" if links else "no-links")
    command = [sys.executable, "-m", "make.dying", way, *paths]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        stdin, stdout = process.stdin, process.stdout

        def die_at(step: int) -> bool:
            print(step, file=stdin, flush=True)
            code = int(stdout.readline())
            assert code in (0, DEAD)
            return code == 0

        yield die_at


def no_link(*_: Any, **__: Any) -> None:
    raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))


def build_and_die(step: int, way: str, source: str, output: str | None = None) -> None:
    left = [step]

    def die() -> None:
        if left[0] == 0:
            os._exit(DEAD)
        left[0] -= 1

    def dying(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **named: Any) -> Any:
            die()
            answer = real(*arguments, **named)
            die()
            return answer

        return call

    for name in CALLS:
        setattr(os, name, dying(getattr(os, name)))
    # Whose calls Python does not have; and the copy, which is a call of the system for some file systems.
    for call in ("copy_range", "exchange", "rename_to_free"):
        setattr(local_output, call, dying(getattr(local_output, call)))
    if way in DELTA:
        build_in(source, **DELTA[way])
    elif way in ICEBERG:
        commit_and_die(dying, **ICEBERG[way])
    elif way in INDEX:
        change_index(source, way)
    else:
        pb.build(source, output, columns=["a"], in_place=output is None, threads=1)


def commit_and_die(dying: Callable[..., Any], **options: Any) -> None:
    """Also around what PyIceberg writes, which is not for Python to see, and around its catalog's
    commit."""
    from make.iceberg_tables import build
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.io.pyarrow import PyArrowFile
    from pyiceberg.manifest import ManifestWriter

    for kind, name in (
        (PyArrowFile, "create"),
        (ManifestWriter, "add_entry"),
        (ManifestWriter, "__exit__"),
        (SqlCatalog, "commit_table"),
    ):
        setattr(kind, name, dying(getattr(kind, name)))
    build(threads=1, **options)


def change_index(path: str, way: str) -> None:
    with pb.Index(path) as index:
        INDEX[way](index)


def add_as_spark_does(index: str) -> None:
    """The driver and all executors are this process."""
    import pytest
    from make.executors_here import IndexingHere

    from parquet_bloom import spark as lake

    with pytest.MonkeyPatch.context() as patch:
        IndexingHere(patch)
        no_spark: Any = None
        lake.index(no_spark, index=index, audit=f"{index}-audit", run_id=f"{os.getpid()}")


def build_in(table: str, **options: Any) -> None:
    pb.build_table(table, columns=["id"], min_file_size=0, threads=1, **options)


def main() -> None:
    way, *paths = sys.argv[1:]
    if way == "no-links":
        os.link = no_link
    # So that no child has to import what a build imports.
    with TemporaryDirectory() as folder:
        if way in ICEBERG:
            # What a build there does starts threads.
            for name in TO_COMMIT:
                import_module(name)
        elif way in DELTA:
            build_in(shutil.copytree(paths[0], f"{folder}/table"))
        elif way in INDEX:
            change_index(shutil.copytree(paths[0], f"{folder}/index"), way)
        else:
            pb.build(paths[0], Path(folder) / "out.parquet", columns=["a"], threads=1)
    assert threading.active_count() == 1
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            code = 1
            try:
                build_and_die(int(line), way, *paths)
                code = 0
            finally:
                os._exit(code)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
