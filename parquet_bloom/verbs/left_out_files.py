"""Who names a folder may mean files in it that are not looked at because of their names."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Final

from parquet_bloom.container import number_of
from parquet_bloom.errors import LeftOutWarning
from parquet_bloom.verbs.table_folders import level_of_caller

# So many are named.
_MOST_NAMES: Final = 3


def left_out(paths: Sequence[str]) -> str:
    """That files of folders were not looked at."""
    from parquet_bloom.storage.temporary_files import is_temporary

    shown = ", ".join(paths[:_MOST_NAMES])
    such_as = f", such as {shown}" if len(paths) > _MOST_NAMES else f": {shown}"
    is_one = len(paths) == 1
    why = (
        "its name is not that of a data file"
        if is_one
        else "their names are not those of data files"
    )
    include = "to include it, name it itself" if is_one else "to include them, name them one by one"
    count = number_of(len(paths), "file")
    left = any(map(is_temporary, map(os.path.basename, paths)))
    removed = "; pbloom clean-temp removes temporary files that killed runs have left" * left
    return f"{count} left out{such_as}; {why}: {include}{removed}"


def warn_of_left_out(paths: Sequence[str]) -> None:
    """Say it to the caller of this package as a warning, if there are any."""
    if paths:
        warnings.warn(left_out(paths), LeftOutWarning, level_of_caller())
