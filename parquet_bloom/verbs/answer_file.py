"""Answers that go to a file: it appears once it is complete, and no one can read more in it than in
the files that it is about."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import filterfalse

from parquet_bloom.storage.local_output import Output, default_mode
from parquet_bloom.storage.new_version import output_target
from parquet_bloom.storage.paths import expand
from parquet_bloom.storage.source import is_url, local_path


@contextmanager
def answer_file(
    output: str | os.PathLike[str],
    sources: Sequence[str | os.PathLike[str]],
    *,
    overwrite: bool = False,
) -> Iterator[Output]:
    """What is appended becomes the file `output` unless an error ends the context. Only those who may
    read all `sources` can read it: answers have values in them.

    Raises RewriteError if `output` is one of `sources`, or exists and `overwrite` is not set; OSError.
    """
    names = [os.fspath(source) for source in sources]
    local = [path for path in map(local_path, filterfalse(is_url, names)) if path.exists()]
    target = output_target(output, local, overwrite)
    target.recover_first()
    mode = default_mode()
    for path in local:
        mode &= path.stat().st_mode | stat.S_IRWXU
    with target.output(mode, 0) as written:
        yield written
        written.flush()
        written.commit()


def check_free(
    outputs: Sequence[str | os.PathLike[str]], names: Iterable[str], overwrite: bool
) -> None:
    """Raise as answer_file for what cannot be written, before anybody waits for what is to be in it. `names`: of
    files and folders that are looked into; no file there is an output."""
    is_any_there = any(os.path.exists(local_path(output)) for output in outputs)
    # Nobody lists a store for that: no output is in one.
    found, _ = expand(filterfalse(is_url, names) if is_any_there else ())
    local = [local_path(each.path) for each in found]
    for output in outputs:
        output_target(output, [path for path in local if path.exists()], overwrite)


def save(
    data: bytes,
    source: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    overwrite: bool = False,
) -> None:
    """Write `data` about one file. Raises as answer_file."""
    with answer_file(output, [source], overwrite=overwrite) as written:
        written.append(data)
