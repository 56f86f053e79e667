"""Writers whose filters are known to cause trouble.

`created_by` in the footer names the writer:

    <application> version <major>.<minor>.<patch>… (build <hash>)

A version alone only makes a filter suspect.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from parquet_bloom.engines.catalogue import engines, engines_where

if TYPE_CHECKING:
    from parquet_bloom.engines.engine import WriterTrouble


def troubles(created_by: str) -> Sequence[WriterTrouble]:
    """What is known about filters by this writer, in the order of the catalogue.

    A pre-release counts as its release. Without a readable version only troubles of all versions
    count.
    """
    application, _, rest = created_by.partition(" version ")
    its_version = _version(rest)

    def is_meant(writer: str) -> bool:
        name, _, first_sound = writer.partition(" < ")
        is_old = its_version is not None and its_version < (_version(first_sound) or ())
        return name == application and (not first_sound or is_old)

    named = engines_where("created_by", lambda line: is_meant(line.strip('"')))
    found = (trouble for engine in named for trouble in engine.wrote)
    return [trouble for trouble in found if is_meant(trouble.created_by)]


def known_troubles() -> Sequence[WriterTrouble]:
    """All of them."""
    return [trouble for engine in engines() for trouble in engine.wrote]


def _version(text: str) -> tuple[int, ...] | None:
    """The numbers that it begins with."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", text)
    return tuple(map(int, found[1].split("."))) if found else None
