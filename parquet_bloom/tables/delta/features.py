"""What a Delta table must not have if its files are to be recorded anew: what this program does not
know, what somebody else keeps in step with the log, and what a copy of its records would lose.

Spec: PROTOCOL.md, "Table Features", "Valid Feature Names in Table Features".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from parquet_bloom.tables.delta.action import PARSED
from parquet_bloom.tables.delta.log import Snapshot

if TYPE_CHECKING:
    from parquet_bloom.engines.engine import InTables

# What a reader has to know of to find the live files and what is in them.
_READ: Final = {
    "columnMapping",
    "deletionVectors",
    "timestampNtz",
    "typeWidening",
    "typeWidening-preview",
    "v2Checkpoint",
    "vacuumProtocolCheck",
    "variantShredding",
    "variantShredding-preview",
    "variantType",
    "variantType-preview",
}
# What a writer has to know of, and a new record of a file that is live anyway does not break.
_WRITTEN: Final = _READ | {
    "allowColumnDefaults",
    "appendOnly",
    "changeDataFeed",
    "checkConstraints",
    "clustering",
    "domainMetadata",
    "generatedColumns",
    "identityColumns",
    "inCommitTimestamp",
    "invariants",
    "rowTracking",
}
# Types that Arrow has, too: their readers need to know no more. Source: SUPPORTED_READER_FEATURES of deltalake.
_ARROWS_OWN: Final = {"timestampNtz", "variantType", "variantType-preview"}
# With the one slash of `dbfs:/x` and `file:/x`, or two.
_ABSOLUTE: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_READER_VERSIONS: Final = (1, 2, 3)
_WRITER_VERSIONS: Final = (1, 2, 3, 4, 5, 6, 7)
_MAPPINGS: Final = ("none", "name", "id")

_THROUGH_CATALOG: Final = ("delta.coordinatedCommits", "delta.catalogManaged")
_ICEBERG: Final = ("delta.enableIcebergCompat", "delta.universalFormat.enabledFormats")


def refused_by_some(snapshot: Snapshot) -> Iterator[InTables]:
    """What its readers have to know of, and not all of them do, or use no filters then, whether or not any file is
    concerned."""
    features = set(snapshot.protocol.get("readerFeatures") or ()) - _ARROWS_OWN
    if _mapping(snapshot) != "none":
        yield "column mapping"
        if "deletionVectors" in features and _enables_vectors(snapshot):
            yield "column mapping with delta.enableDeletionVectors"
        features.discard("columnMapping")
    if "deletionVectors" in features:
        yield "the feature deletionVectors"
    if features - {"deletionVectors"}:
        yield "other reader features"


def _enables_vectors(snapshot: Snapshot) -> bool:
    """As deltalake reads the property: in other letters, it is not set."""
    return snapshot.configuration.get("delta.enableDeletionVectors") == "true"


def unreadable(snapshot: Snapshot) -> Iterator[str]:
    """Why nobody here can say what is live."""
    protocol = snapshot.protocol
    if protocol.get("minReaderVersion") not in _READER_VERSIONS:
        yield f"its protocol needs readers of version {protocol.get('minReaderVersion')}, expected up to 3"
    if unknown := sorted(set(protocol.get("readerFeatures") or ()) - _READ):
        yield f"its readers need {_features(unknown)}, which pbloom does not know"
    mode = _mapping(snapshot)
    if mode not in _MAPPINGS:
        yield f"delta.columnMapping.mode is {mode}, expected {', '.join(_MAPPINGS)}"


def unwritable(snapshot: Snapshot) -> Iterator[str]:
    """Why nothing should be committed to it, besides what is unreadable."""
    protocol, configuration = snapshot.protocol, snapshot.configuration
    if protocol.get("minWriterVersion") not in _WRITER_VERSIONS:
        yield f"its protocol needs writers of version {protocol.get('minWriterVersion')}, expected up to 7"
    features = set(protocol.get("writerFeatures") or ())
    if unknown := sorted(features - _WRITTEN - set(protocol.get("readerFeatures") or ())):
        yield f"its writers need {_features(unknown)}, which pbloom does not know"
    if any(name.startswith(_THROUGH_CATALOG) for name in configuration):
        yield "its commits go through a catalog, which pbloom does not support"
    if any(
        name.startswith(_ICEBERG) and value not in ("false", "")
        for name, value in configuration.items()
    ):
        yield (
            "it is also an Iceberg table (UniForm), whose metadata would keep the old sizes: drop"
            " delta.universalFormat.enabledFormats and delta.enableIcebergCompat… first"
        )
    if _has_timestamps(snapshot) and snapshot.in_commit_timestamp is None:
        yield (
            f"the time of version {snapshot.version:,}, which the next one has to follow, is not in"
            " its commit: let another writer commit first"
        )
    yield from _lost(snapshot)


def _lost(snapshot: Snapshot) -> Iterator[str]:
    """What a copy of the records of its files could not keep, or would be about another table's."""
    adds = snapshot.adds.values()
    if any(add.get("stats") is None and add.get(PARSED) is not None for add in adds):
        yield (
            "its checkpoint has statistics as structs only, which would be lost: set"
            " delta.checkpoint.writeStatsAsJson to true, and let its writer make a checkpoint"
        )
    outside = next((path for path, _ in snapshot.adds if is_outside(path)), None)
    if outside is not None:
        yield (
            f"its file {outside} is outside of its folder, as in a shallow clone: build the filters in"
            " the table that owns it"
        )
    seen: set[str] = set()
    for path, _ in snapshot.adds:
        if path in seen:
            yield f"its file {path} has two live records, expected one"
            return
        seen.add(path)


def _mapping(snapshot: Snapshot) -> str:
    """The mode by which it maps columns."""
    return snapshot.configuration.get("delta.columnMapping.mode", "none")


def is_outside(path: str) -> bool:
    """Whether a decoded path leads out of the table's folder."""
    return path.startswith("/") or _ABSOLUTE.match(path) is not None or ".." in path.split("/")


def _has_timestamps(snapshot: Snapshot) -> bool:
    return snapshot.configuration.get("delta.enableInCommitTimestamps") == "true"


def _features(names: list[str]) -> str:
    noun = "the feature" if len(names) == 1 else "the features"
    return f"{noun} {', '.join(names)}"
