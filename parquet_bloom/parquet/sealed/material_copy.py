"""External key material for the new version of a file.

Readers look for it beside a file, by the file's name, so an output by another name or in another
folder needs a copy. It is written before the output takes its name, and removed if that fails.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from pathlib import Path

from parquet_bloom.errors import REPLACE, RewriteError
from parquet_bloom.parquet.open_file import OpenFile
from parquet_bloom.storage import open_source
from parquet_bloom.storage.local_output import mode_like, output_to


def material_copy(file: OpenFile, output: str, overwrite: bool) -> AbstractContextManager[None]:
    """A context in which the key material that `output`, another file, needs is beside it. Raises
    RewriteError at once if other material is there and `overwrite` is not set."""
    if not file.is_encrypted:
        return nullcontext()
    from parquet_bloom.encryption.key_material import material_path

    try:
        source = open_source(material_path(file.path))
    except FileNotFoundError:
        return nullcontext()
    with closing(source):
        data = source.read_at(0, source.size)
        mode = mode_like(source)
    path = Path(material_path(os.path.realpath(output)))
    before = _content(path)
    if before == data:
        return nullcontext()
    if before is not None and not overwrite:
        raise RewriteError(f"{path}: already exists, with other key material: {REPLACE}")
    return _placed(path, data, mode, before)


@contextmanager
def _placed(path: Path, data: bytes, mode: int, before: bytes | None) -> Iterator[None]:
    """Put `data` at `path`, where `before` is now (None: nothing), and restore that if the context
    fails. Raises RewriteError if another file appeared there meanwhile."""
    _write(path, data, mode, before is not None)
    try:
        yield
    except BaseException:
        # Unless somebody else has replaced it.
        if _content(path) == data:
            if before is None:
                path.unlink()
            else:
                _write(path, before, mode, True)
        raise


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes, mode: int, overwrite: bool) -> None:
    with output_to(str(path), overwrite, mode, 0) as written:
        written.append(data)
        written.flush()
        written.commit()
