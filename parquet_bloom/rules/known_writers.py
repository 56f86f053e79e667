"""Writers whose filters are known to be trouble: which versions, when, for whom, and why.

`created_by` in the footer names the writer:

    <application> version <major>.<minor>.<patch>… (build <hash>)

Only troubles with a public report are in here, and only as far as the report goes: where a fixed
version is known, that version and all after it are sound. A trouble says which rule proves it on a
file, since the version alone makes a filter no worse than suspect.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk

Version = tuple[int, ...]


class When(StrEnum):
    """Which column chunks of a file a trouble can concern, as far as the footer tells."""

    ANY = "any"
    WITHOUT_LENGTH = "without length"
    BOOLEAN = "BOOLEAN"
    ENCRYPTED = "encrypted"


@dataclass(frozen=True, slots=True)
class KnownTrouble:
    """`application` is how created_by begins, up to its version.

    `since` is the first version that has the trouble, `before` the first that does not; None where
    no bound is known. `condition`, `readers` and `consequence` are for people. `proof` is the id of
    the rule that finds the trouble on a file that has it.
    """

    application: str
    since: Version | None
    before: Version | None
    when: When
    condition: str
    readers: str
    consequence: str
    link: str
    proof: str

    def concerns(self, chunk: ColumnChunk) -> bool:
        """Whether a filter of this chunk can have the trouble."""
        match self.when:
            case When.WITHOUT_LENGTH:
                return chunk.bloom_filter_length is None
            case When.BOOLEAN:
                return chunk.leaf.type.physical == "BOOLEAN"
            case When.ENCRYPTED:
                return chunk.has_crypto_metadata
            case When.ANY:
                return True

    def _covers(self, version: Version | None) -> bool:
        """Whether a file of this version can have it; an unreadable version only where all can."""
        if version is None:
            return self.since is None and self.before is None
        return (self.since or ()) <= version and (self.before is None or version < self.before)


_SHORT_READS = "parquet-java 1.14.0 to 1.15.2: Spark 4.0, Iceberg 1.9"
_ROWS_LOST_TO_ZEROS = "the end of the filter is read as zeros, and rows are lost"
_PROBING_READERS = "every reader that probes"
_ROWS_LOST = "values that are stored seem absent, and rows are lost"

KNOWN: tuple[KnownTrouble, ...] = (
    KnownTrouble(
        application="parquet-mr",
        since=None,
        before=(1, 14, 0),
        when=When.WITHOUT_LENGTH,
        condition="before 1.14.0 it writes no bloom_filter_length",
        readers=_SHORT_READS,
        consequence=_ROWS_LOST_TO_ZEROS,
        link="https://github.com/apache/parquet-java/issues/3249",
        proof="PB111",
    ),
    KnownTrouble(
        application="parquet-mr",
        since=None,
        before=None,
        when=When.BOOLEAN,
        condition="the filter of a BOOLEAN column is written without its values",
        readers="readers that probe BOOLEAN columns: arrow-rs, DataFusion",
        consequence=_ROWS_LOST,
        link="https://github.com/apache/datafusion/pull/23245",
        proof="PB402",
    ),
    KnownTrouble(
        application="Trino",
        since=None,
        before=None,
        when=When.WITHOUT_LENGTH,
        condition="it writes no bloom_filter_length",
        readers=_SHORT_READS,
        consequence=_ROWS_LOST_TO_ZEROS,
        link="https://github.com/apache/iceberg/issues/12458",
        proof="PB111",
    ),
    KnownTrouble(
        application="Trino",
        since=None,
        before=(460,),
        when=When.ANY,
        condition="before 460 it leaves out the values of the dictionary where PLAIN pages follow",
        readers=_PROBING_READERS,
        consequence=_ROWS_LOST,
        link="https://github.com/trinodb/trino/pull/23604",
        proof="PB401",
    ),
    KnownTrouble(
        application="impala",
        since=None,
        before=None,
        when=When.WITHOUT_LENGTH,
        condition="it writes no bloom_filter_length",
        readers=_SHORT_READS,
        consequence=_ROWS_LOST_TO_ZEROS,
        link="https://github.com/apache/parquet-java/issues/3249",
        proof="PB111",
    ),
    KnownTrouble(
        application="parquet-cpp-arrow",
        since=None,
        before=(12, 0, 0),
        when=When.ANY,
        condition="before 12.0.0 values are hashed with Murmur3",
        readers=_PROBING_READERS,
        consequence=_ROWS_LOST,
        link="https://github.com/apache/arrow/pull/33776",
        proof="PB401",
    ),
    KnownTrouble(
        application="parquet-go",
        since=None,
        before=(18, 5, 0),
        when=When.ANY,
        condition="arrow-go up to 18.4 writes adaptive filters from memory that may be freed",
        readers=_PROBING_READERS,
        consequence=_ROWS_LOST,
        link="https://github.com/apache/arrow-go/issues/525",
        proof="PB401",
    ),
    KnownTrouble(
        application="parquet-go",
        since=None,
        before=(18, 7, 0),
        when=When.ANY,
        condition="arrow-go, at least before 18.7.0, leaves out what is written as dictionary array",
        readers=_PROBING_READERS,
        consequence=_ROWS_LOST,
        link="https://github.com/apache/arrow-go/pull/1164",
        proof="PB401",
    ),
    KnownTrouble(
        application="github.com/segmentio/parquet-go",
        since=None,
        before=None,
        when=When.ANY,
        condition="before August 2022 a writer that is used again writes the filter of no values",
        readers=_PROBING_READERS,
        consequence=_ROWS_LOST,
        link="https://github.com/segmentio/parquet-go/pull/270",
        proof="PB401",
    ),
    KnownTrouble(
        application="parquet-rs",
        since=None,
        before=None,
        when=When.ENCRYPTED,
        condition="without the fix of 57.3.3 the filter of an encrypted column is in plaintext",
        readers="whoever can read the file, without a key",
        consequence="guessed values of the encrypted column can be confirmed",
        link="https://github.com/apache/arrow-rs/releases/tag/57.3.3",
        proof="PB501",
    ),
)
"""Every trouble that is known. Source: the link of each."""

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)")


def troubles(created_by: str) -> tuple[KnownTrouble, ...]:
    """What is known of filters by the writer that calls itself `created_by`, in the order of KNOWN.

    A pre-release counts as the version that it becomes. Empty for writers without a trouble.
    """
    application, _, rest = created_by.partition(" version ")
    digits = _VERSION.match(rest)
    version = tuple(map(int, digits[1].split("."))) if digits else None
    return tuple(
        trouble
        for trouble in KNOWN
        if trouble.application == application and trouble._covers(version)
    )
