"""Opens tables of Iceberg: what can be said of one without PyIceberg, which is loaded for a table only.

Without a catalog, which would know, the newest metadata file is the one with the highest number.

Spec: Iceberg Table Spec, "Table Metadata and Snapshots"; names as catalogs and Hadoop tables give them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from parquet_bloom.storage.folder import Folder
from parquet_bloom.tables.iceberg.library import check_installed
from parquet_bloom.tables.table import LakeTable, Moment

_METADATA: Final = "metadata"

# `00003-….metadata.json` of catalogs, `v3.metadata.json` of tables without one.
_NAME: Final = re.compile(r"(?:v(\d+)|(\d+)-.+?)(?:\.gz)?\.metadata\.json(?:\.gz)?", re.ASCII)


def newest_metadata(folder: Folder) -> str | None:
    """The name of the file with the highest number below a table's folder; None if there is none."""
    found = [
        (int(match[1] or match[2]), entry.modified, entry.name)
        for entry in folder.entries(_METADATA)
        if (match := _NAME.fullmatch(entry.name))
    ]
    return f"{_METADATA}/{max(found)[2]}" if found else None


def is_at(folder: Folder) -> bool:
    """See TableModule."""
    return newest_metadata(folder) is not None


def open_at(folder: Folder, moment: Moment, options: Mapping[str, str] | None) -> LakeTable:
    """See TableModule."""
    check_installed(folder.path)
    from parquet_bloom.tables.iceberg.table import in_folder

    return in_folder(folder, newest_metadata, moment, options)


def open_in_catalog(
    catalog: str, name: str, moment: Moment, options: Mapping[str, str] | None
) -> LakeTable:
    """See TableModule."""
    check_installed(name)
    from parquet_bloom.tables.iceberg.table import in_catalog

    return in_catalog(catalog, name, moment, options)
