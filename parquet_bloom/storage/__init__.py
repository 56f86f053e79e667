"""Where files are: read in ranges from paths and URLs, and written atomically."""

from __future__ import annotations

import os

from parquet_bloom.storage.source import LocalSource, Source, is_url, local_path


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a path, or a URL that pyarrow supports (`s3://`, `gs://`, …). Raises OSError, TypeError
    for anything but one path."""
    if not isinstance(path, str | os.PathLike):
        raise TypeError(f"path: {path!r}, expected one path or URL, as str or os.PathLike")
    text = os.fspath(path)
    if is_url(text):
        # Lazily: importing pyarrow takes longer than building most files.
        from parquet_bloom.storage.remote import RemoteSource

        return RemoteSource(text)
    return LocalSource(local_path(text), text)
