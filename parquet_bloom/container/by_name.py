"""Columns of several files that go by their names: one that a file has not got is null there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

from parquet_bloom.storage.source import is_url

# Between a column and what is nested in it, or a field of a VARIANT.
_BELOW: Final = re.compile(r"[.:]")
# What Hive has called all columns of files that do not name theirs.
_BY_PLACE: Final = re.compile(r"_col[0-9]+$")


def is_without(name: str, columns: Iterable[str], path: str) -> bool:
    """Whether a file certainly has not got a column: nothing in it, or in the folders of its `path`, has the name of the
    whole column, in upper or lower case. What is nested in a column that is there may be called otherwise."""
    if name.startswith("#"):
        # By its place, which is another column in each file.
        return False
    whole, *tops_found = (_BELOW.split(each.casefold(), 1)[0] for each in (name, *columns))
    tops = {*tops_found}
    if tops and all(_BY_PLACE.match(each) for each in tops):
        return False
    # In which a relative path is, too.
    folders = (path if is_url(path) else os.path.abspath(path)).replace(os.sep, "/").split("/")[:-1]
    pairs = (unquote(each).partition("=") for each in folders)
    return whole not in tops | {each.casefold() for each, mark, _ in pairs if mark}
