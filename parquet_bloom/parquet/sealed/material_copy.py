"""External key material for the new version of a file.

Readers look for it beside a file, by the file's name: an output by another name, or in another
folder, needs a copy. It stands there when the output takes its name, and goes if that fails.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from parquet_bloom.errors import RewriteError
from parquet_bloom.parquet.file import ParquetFile
from parquet_bloom.storage import open_source
from parquet_bloom.storage.local_output import mode_like, output_to


@dataclass(frozen=True, slots=True)
class MaterialCopy:
    """`data` is to be at `path`, where `before` is now; None if nothing is."""

    path: Path
    data: bytes
    mode: int
    before: bytes | None

    @contextmanager
    def placed(self) -> Iterator[None]:
        """In here it is there. Raises RewriteError if another one appeared meanwhile."""
        _write(self.path, self.data, self.mode, self.before is not None)
        try:
            yield
        except BaseException:
            self._undo()
            raise

    def _undo(self) -> None:
        if _content(self.path) != self.data:
            # Somebody else's by now.
            return
        if self.before is None:
            self.path.unlink()
        else:
            _write(self.path, self.before, self.mode, True)


def material_copy(file: ParquetFile, output: Path, overwrite: bool) -> MaterialCopy | None:
    """What `output`, another file and no link, needs beside it; None if nothing, or if it is there.

    Raises RewriteError if there is other material and `overwrite` is not set.
    """
    if not file.footer.protection.is_encrypted:
        return None
    from parquet_bloom.encryption.key_material import material_path

    try:
        source = open_source(material_path(file.path))
    except FileNotFoundError:
        return None
    with closing(source):
        data = source.read_at(0, source.size)
        mode = mode_like(source)
    path = Path(material_path(str(output)))
    before = _content(path)
    if before == data:
        return None
    if before is not None and not overwrite:
        raise RewriteError(
            f"{path}: already exists, with other key material: use overwrite to replace it"
        )
    return MaterialCopy(path, data, mode, before)


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _write(path: Path, data: bytes, mode: int, overwrite: bool) -> None:
    with output_to(path, overwrite, mode, 0) as written:
        written.append(data)
        written.flush()
        written.commit()
