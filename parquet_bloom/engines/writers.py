"""Writers whose filters are known to cause trouble.

`created_by` in the footer names the writer:

    <application> version <major>.<minor>.<patch>… (build <hash>)

A version alone only makes a filter suspect.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquet_bloom.engines.engine import WriterTrouble, engines, engines_where, version, writer_of


def troubles(created_by: str) -> Sequence[WriterTrouble]:
    """What is known about filters by this writer, in the order of the catalogue.

    A pre-release counts as its release. Without a readable version only troubles of all versions
    count.
    """
    application, _, rest = created_by.partition(" version ")
    its_version = version(rest)

    def has(name: str, before: tuple[int, ...] | None) -> bool:
        is_old = before is None or (its_version is not None and its_version < before)
        return name == application and is_old

    named = engines_where("created_by", lambda line: has(*writer_of(line.strip('"'))))
    found = (trouble for engine in named for trouble in engine.wrote)
    return [trouble for trouble in found if has(trouble.application, trouble.before)]


def known_troubles() -> Sequence[WriterTrouble]:
    """All of them."""
    return [trouble for engine in engines() for trouble in engine.wrote]
