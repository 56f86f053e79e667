"""Every closed list of words, once: what the command offers and the library checks.

A list is a Literal, so that type checkers know it; `words` gives what is in it.
"""

from __future__ import annotations

from typing import Any, Final, Literal, get_args

Format = Literal["parquet", "orc"]

# How texts for people spell them.
FORMAT_TITLES: Final[dict[Format, str]] = {"parquet": "Parquet", "orc": "ORC"}

# What a filter says of a value: certain, possible, or that nobody can tell.
Verdict = Literal["absent", "maybe", "unknown"]

# The kinds of filters that a Parquet file may have; `xxhash` is that of the format today.
LegacyDialect = Literal["murmur3", "statistics"]
Dialect = Literal["xxhash", "murmur3", "statistics"]

# What to do with filters that are there.
Existing = Literal["keep", "replace", "error"]

# Which filter streams an ORC file gets: those of today, or those of before ORC 1.3, too.
OrcStreams = Literal["utf8", "both"]

# What stands before the bits of a `murmur3` filter that is written, and where it is put.
HeaderLayout = Literal["12-byte", "thrift", "page"]
Placement = Literal["footer", "chunk"]

# How values are hashed for a `statistics` filter, and how its bits are stored.
Strategy = Literal["hive", "guava-32", "guava-64"]
BitsetEncoding = Literal["list", "binary", "java"]

# What a literal may be read as instead of the column's type.
LiteralType = Literal[
    "bytes", "date", "decimal", "float", "int", "string", "time", "timestamp", "uuid"
]

# What a dumped filter, and what findings, are written as.
DumpFormat = Literal["raw", "hex", "json", "npy"]
FindingsFormat = Literal["text", "json", "sarif", "junit", "github"]

# The lowest severity that fails a file.
FailOn = Literal["error", "warning", "note", "never"]

DiffStatus = Literal["same", "only in a", "only in b", "different", "folded", "unreadable"]

AdviceVerdict = Literal["build", "optional", "skip"]

# Whose look-ups advice is based on.
AdviceBasis = Literal["stored values", "value sample"]

# What `repair` does about a broken rule. `drop`: the filter goes, unless another one is built;
# `rebuild`: it stays, unless another one is built; `nothing`: not its business, or beyond it.
Remedy = Literal["set length", "remove length", "drop", "rebuild", "nothing"]

RepairAction = Literal[
    "length set", "length removed", "pointer dropped", "filters dropped", "rebuilt"
]

# What a header says that is no word of the format.
UNKNOWN: Final = "unknown"

NO_FILTER: Final = "no filter"
HAS_ONE: Final = "has a filter already"
NO_VALUES: Final = "no non-null values"
NO_KEY: Final = "encrypted, no key"


def words(literal: Any) -> tuple[str, ...]:
    """The words of one of the lists."""
    return get_args(literal)


def check_word(name: str, word: str, literal: Any) -> None:
    """Raise ValueError, naming the argument and its words, unless `word` is one of the list."""
    if word not in words(literal):
        raise ValueError(f"{name}: {word}, expected {', '.join(words(literal))}")
