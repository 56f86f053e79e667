"""Columns of several files that go by their names: one that a file has not got is null there."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from itertools import takewhile
from typing import Final
from urllib.parse import unquote

from parquet_bloom.storage.source import is_url

# Between a column and what is nested in it, or a field of a VARIANT.
_BELOW: Final = re.compile(r"[.:]")
# What Hive has called all columns of files that do not name theirs.
_BY_PLACE: Final = re.compile(r"_col[0-9]+$")
# By the place of a column, which is another one in each file.
_OF_ONE_FILE: Final = re.compile(r"^#|#[0-9]+$")


def is_without(name: str, columns: Iterable[str], path: str) -> bool:
    """Whether a file certainly has not got a column: in the struct in which it would be, or in the file and in the
    folders of its `path`, nothing has its name, in upper or lower case. `columns`: dotted names, only as far as they
    are those of fields of structs: what is nested in a list or a map that is there may be called otherwise."""
    if _OF_ONE_FILE.search(name):
        return False
    wanted, *found = (tuple(_BELOW.split(each.casefold())) for each in (name, *columns))
    depth = max((_num_alike(wanted, each) for each in found), default=0)
    beside = {each[depth] for each in found if each[:depth] == wanted[:depth] and each[depth:]}
    if depth:
        return len(wanted) > depth and bool(beside) and not _are_by_place(beside)
    if beside and _are_by_place(beside):
        return False
    # In which a relative path is, too.
    folders = (path if is_url(path) else os.path.abspath(path)).replace(os.sep, "/").split("/")[:-1]
    pairs = (unquote(each).partition("=") for each in folders)
    return wanted[0] not in {each.casefold() for each, mark, _ in pairs if mark}


def or_null(reason: str) -> str:
    """Why nothing is known of a file that is without a column which others have, and what its user may say."""
    if reason.endswith("?"):
        # What it has under a name that is close may be meant.
        return f"{reason} If not, null there with union_by_name=True"
    return f"{reason}; null there with union_by_name=True"


def _num_alike(wanted: Sequence[str], found: Sequence[str]) -> int:
    """How many segments two names begin with that are the same."""
    pairs = zip(wanted, found, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _are_by_place(names: Iterable[str]) -> bool:
    return all(map(_BY_PLACE.match, names))
