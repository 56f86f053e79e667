"""Which metadata file of an Iceberg table is the newest, without a catalog that would know.

Spec: Iceberg Table Spec, "Table Metadata and Snapshots"; names as catalogs and Hadoop tables give them.
"""

from __future__ import annotations

import re
from typing import Final

from parquet_bloom.storage.folder import Folder

METADATA: Final = "metadata"

# `00003-….metadata.json` of catalogs, `v3.metadata.json` of tables without one.
_NAME: Final = re.compile(r"(?:v(\d+)|(\d+)-.+?)(?:\.gz)?\.metadata\.json(?:\.gz)?", re.ASCII)


def newest_metadata(folder: Folder) -> str | None:
    """The name of the file with the highest number below a table's folder; None if there is none."""
    found = [
        (int(match[1] or match[2]), entry.modified, entry.name)
        for entry in folder.entries(METADATA)
        if (match := _NAME.fullmatch(entry.name))
    ]
    return f"{METADATA}/{max(found)[2]}" if found else None
