"""Open what a path or URL names."""

from __future__ import annotations

import os

from parquet_bloom.storage.source import LocalSource, Source, is_url, local_path


def open_source(path: str | os.PathLike[str]) -> Source:
    """Open a local path or URL for ranged reads. Raises OSError if it cannot be opened."""
    text = os.fspath(path)
    if is_url(text):
        # Only here is pyarrow needed, which takes longer to import than most files take to build.
        from parquet_bloom.storage.remote import RemoteSource

        return RemoteSource(text)
    return LocalSource(local_path(text), text)
