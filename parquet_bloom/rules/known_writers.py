"""Writers whose filters are known to cause trouble: which versions, when, for whom, and why.

`created_by` in the footer names the writer:

    <application> version <major>.<minor>.<patch>… (build <hash>)

Only troubles with a public report are listed, and only as far as the report goes: where the fixed
version is known, that version and all later ones are sound. A version alone only makes a filter
suspect, so each trouble names the rule that proves it on a file.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from parquet_bloom.dataclass import dataclass

if TYPE_CHECKING:
    from parquet_bloom.parquet.footer.column_chunk import ColumnChunk

# Which column chunks of a file a trouble can affect, as far as the footer tells.
When = Literal["any", "without length", "BOOLEAN", "encrypted"]


@dataclass(frozen=True, slots=True)
class KnownTrouble:
    """`application`: how created_by begins, up to its version. `before`: the first version without
    the trouble, None if unknown. `condition`, `readers` and `consequence` are for people. `proof`:
    the id of the rule that finds the trouble in a file."""

    application: str
    condition: str
    link: str
    before: tuple[int, ...] | None = None
    when: When = "any"
    readers: str = "every reader that probes"
    consequence: str = "stored values seem absent, and rows are lost"
    proof: str = "PB401"

    def concerns(self, chunk: ColumnChunk) -> bool:
        """Whether a filter of this chunk can have the trouble."""
        match self.when:
            case "any":
                return True
            case "without length":
                return chunk.bloom_filter_length is None
            case "BOOLEAN":
                return chunk.leaf.type.physical == "BOOLEAN"
            case "encrypted":
                return chunk.has_crypto_metadata


def _without_length(
    application: str, condition: str, link: str, before: tuple[int, ...] | None = None
) -> KnownTrouble:
    return KnownTrouble(
        application,
        condition,
        link,
        before,
        when="without length",
        readers="parquet-java 1.14.0 to 1.15.2: Spark 4.0, Iceberg 1.9",
        consequence="the end of the filter is read as zeros, and rows are lost",
        proof="PB111",
    )


KNOWN: tuple[KnownTrouble, ...] = (
    _without_length(
        "parquet-mr",
        "versions before 1.14.0 write no bloom_filter_length",
        "https://github.com/apache/parquet-java/issues/3249",
        before=(1, 14, 0),
    ),
    KnownTrouble(
        "parquet-mr",
        "it writes the filters of BOOLEAN columns without their values",
        "https://github.com/apache/datafusion/pull/23245",
        when="BOOLEAN",
        readers="readers that probe BOOLEAN columns: arrow-rs, DataFusion",
        proof="PB402",
    ),
    _without_length(
        "Trino",
        "it writes no bloom_filter_length",
        "https://github.com/apache/iceberg/issues/12458",
    ),
    KnownTrouble(
        "Trino",
        "versions before 460 leave out dictionary values if PLAIN pages follow",
        "https://github.com/trinodb/trino/pull/23604",
        before=(460,),
    ),
    _without_length(
        "impala",
        "it writes no bloom_filter_length",
        "https://github.com/apache/parquet-java/issues/3249",
    ),
    KnownTrouble(
        "parquet-cpp-arrow",
        "versions before 12.0.0 hash values with Murmur3",
        "https://github.com/apache/arrow/pull/33776",
        before=(12, 0, 0),
    ),
    KnownTrouble(
        "parquet-go",
        "arrow-go up to 18.4 writes adaptive filters from memory that may have been freed",
        "https://github.com/apache/arrow-go/issues/525",
        before=(18, 5, 0),
    ),
    KnownTrouble(
        "parquet-go",
        "arrow-go, at least before 18.7.0, leaves out values that are written as dictionary arrays",
        "https://github.com/apache/arrow-go/pull/1164",
        before=(18, 7, 0),
    ),
    KnownTrouble(
        "github.com/segmentio/parquet-go",
        "before August 2022, a writer that is reused writes empty filters",
        "https://github.com/segmentio/parquet-go/pull/270",
    ),
    KnownTrouble(
        "parquet-rs",
        "versions without the fix of 57.3.3 leave the filters of encrypted columns in plaintext",
        "https://github.com/apache/arrow-rs/releases/tag/57.3.3",
        when="encrypted",
        readers="anyone who can read the file, even without a key",
        consequence="guesses at values of the encrypted column can be confirmed",
        proof="PB501",
    ),
)
"""Every known trouble. Source: the link of each."""

_VERSION = re.compile(r"v?(\d+(?:\.\d+)*)")


def troubles(created_by: str) -> tuple[KnownTrouble, ...]:
    """What is known about filters by this writer, in the order of KNOWN.

    A pre-release counts as its release. Without a readable version only troubles of all versions
    count.
    """
    application, _, rest = created_by.partition(" version ")
    digits = _VERSION.match(rest)
    version = tuple(map(int, digits[1].split("."))) if digits else None
    return tuple(
        trouble
        for trouble in KNOWN
        if trouble.application == application
        and (trouble.before is None or (version is not None and version < trouble.before))
    )
