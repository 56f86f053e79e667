"""Every closed list of words, which the command offers and the library checks.

A list is a Literal, so that type checkers know it; `words` returns its words.
"""

from __future__ import annotations

from typing import Final, Literal, get_args

Format = Literal["parquet", "orc"]

# As texts for people spell them.
FORMAT_TITLES: Final[dict[Format, str]] = {"parquet": "Parquet", "orc": "ORC"}

# The kinds of tables, and what may be asked for.
TableKind = Literal["delta", "iceberg"]
TableChoice = Literal["auto", TableKind]

# What became of a file of a table. `appended before`: by a run that did not commit, or whose commit was
# taken back.
TableAction = Literal[
    "appended", "appended before", "taken back", "unchanged", "too small", "gone", "failed"
]

# What a filter says about a value: certainly not there, possibly there, or no way to tell.
Verdict = Literal["absent", "maybe", "unknown"]

# The kinds of filters that a Parquet file may have; `xxhash` is today's.
LegacyDialect = Literal["murmur3", "statistics"]
Dialect = Literal["xxhash", "murmur3", "statistics"]

# What to do with existing filters.
Existing = Literal["keep", "replace", "error"]

# Whether a new footer and filters take the place of the old footer, or follow the old file.
FileLayout = Literal["replace", "append"]

# Where a new version can be cut and is as the file was: nowhere, where what it keeps of it ends, or at each of
# its earlier ends.
KeptEnds = Literal["none", "one", "all"]

# Which filter streams an ORC file gets: today's, or also those from before ORC 1.3.
OrcStreams = Literal["utf8", "both"]

# What precedes the bits of a new `murmur3` filter, and where it is put.
HeaderLayout = Literal["12-byte", "thrift", "page"]
Placement = Literal["footer", "chunk"]

# How values are hashed for a `statistics` filter, and how its bits are stored.
StrategyName = Literal["hive", "guava-32", "guava-64"]
BitsetEncoding = Literal["list", "binary", "java"]

# Types that a literal may be read as, instead of the column's.
LiteralType = Literal[
    "bytes", "date", "decimal", "float", "int", "string", "time", "timestamp", "uuid"
]

# Output formats of a dumped filter, and of findings.
DumpFormat = Literal["raw", "hex", "json", "npy"]
FindingsFormat = Literal["text", "json", "sarif", "junit", "github"]
ConformanceFormat = Literal["text", "json", "junit"]

# Shells that complete a command.
Shell = Literal["bash", "zsh", "fish"]

# When verdicts and severities are in colour.
ColorChoice = Literal["auto", "always", "never"]

# The lowest severity that makes a file fail.
FailOn = Literal["error", "warning", "note", "never"]

DiffStatus = Literal["same", "only in a", "only in b", "different", "folded", "unreadable"]

AdviceVerdict = Literal["build", "left out", "optional", "skip"]

# The same, with what is left to be done where filters are there.
AdviceToDo = Literal["build", "rebuild", "keep", "left out", "optional", "skip"]

# The look-ups that advice is based on.
AdviceBasis = Literal["stored values", "value sample"]

# The kinds of values of which engines lose rows even with correct filters, in the words of engines/reading:
# for any other kind, the catalogue of engines need not be read.
LostKind = Literal[
    "BYTE_ARRAY",
    "DECIMAL in BYTE_ARRAY",
    "DECIMAL in FIXED_LEN_BYTE_ARRAY",
    "FIXED_LEN_BYTE_ARRAY",
    "TIMESTAMP_INSTANT",
]

# What `repair` does about a broken rule. `drop`: remove the filter, unless another is built;
# `rebuild`: keep it, unless another is built; `nothing`: not its business, or beyond its power.
Remedy = Literal["set length", "remove length", "drop", "rebuild", "nothing"]

RepairAction = Literal[
    "length set", "length removed", "pointer dropped", "filters dropped", "rebuilt"
]

# What `recover` did about the journal of a file.
RecoveryAction = Literal["cut back", "journal removed", "nothing"]

# What `clean-temp` finds.
LeftoverKind = Literal["temporary file", "upload"]

# For a word in a header that the format does not have.
UNKNOWN: Final = "unknown"

# What null is called as the value of a partition column, also in names of folders.
NULL_PARTITION: Final = "__HIVE_DEFAULT_PARTITION__"

NO_FILTER: Final = "no filter"
# What helps where there is none.
ADVISED: Final = "pbloom advise says whether it deserves one, pbloom build adds it"
# Of a chunk that needs none.
ONLY_NULLS: Final = f"{NO_FILTER}: the chunk has only nulls"
# Of a value in such a chunk: statistics alone prove nothing.
NULLS_SHOWN: Final = "only nulls, by its null_count and its pages"
# Of one in a column of no type, whatever its statistics say.
NULLS_OF_TYPE: Final = "only nulls, by its type and its pages"
# Of one in a column of a stripe.
NULLS_IN_STRIPE: Final = "only nulls, by its row index and its streams"
# These are known without a filter.
ARE_NULLS: Final = (NULLS_SHOWN, NULLS_OF_TYPE, NULLS_IN_STRIPE)
NULLS_NOT_SHOWN: Final = f"{NO_FILTER}: only nulls by its null_count, but not by its pages"
HAS_ONE: Final = "has a filter already"
# Of one that was to be replaced, where the new one would miss the target and let more pass.
OLD_ONE_STAYS: Final = "what is there is better, and stays"
# Of one that was to be replaced, of whose values nobody can say whether it has them.
UNREAD_STAYS: Final = "what is there stays"
# Of one that is of no use to any reader.
NEEDLESS: Final = "which pbloom strip removes"
# The same in a table, where strip takes back what was appended of all columns, and a later build brings it back.
NEEDLESS_IN_TABLE: Final = "which go when a writer rewrites the files"
# What has others judged, too, where a column has values in only one row group: of files, and of a table named as one.
NAME_ALL_FILES: Final = "name all its files to have them judged together"
ALL_FILES_OF_TABLE: Final = "without --since and --where, all its files are judged together"
# How a note on those begins that nothing brings back: after a change, and in a dry run.
REPLACED: Final = ("replaced the filters of", "would replace the filters of")
REMOVED: Final = ("removed the filters of", "would remove the filters of")

# Of one in a file of a table, which does not record it: nobody committed it, or it was taken back.
APPENDED_BEFORE: Final = "was appended before: a commit makes it visible"
# Of a chunk of which nobody knows what is there.
NO_META_DATA: Final = "no ColumnMetaData"
NO_VALUES: Final = "no non-null values"
NO_KEY: Final = "encrypted, no key"
# More on that, of a column that has no key of its own.
OF_FOOTER: Final = "its key is the footer's"
NO_PREFIX: Final = "no AAD prefix given, and the file does not store its own"
UNLISTED: Final = "a folder that cannot be listed"
NO_OBJECT: Final = "no such object"
NO_OBJECT_OR_FOLDER: Final = "no such object or folder"
NO_INDEX: Final = "no index, expected a folder with manifest-*.json"
IN_THE_OPEN: Final = "encrypted: an index would hold hashes of its values in the open"
IS_INDEX: Final = "an index, expected Parquet or ORC files"
# A table that got a column later can still have values of it for the rows of an older file: those of a
# partition, or the column's default.
LACKS_COLUMN: Final = "no such column in the file"
# All others have null there, by the specifications of tables.
NULL_IN_TABLE: Final = f"{LACKS_COLUMN}, so the table reads null there"
# Of a verb that changes files.
DRY_RUN: Final = "dry run: nothing was written"
# Of files that are no table's, if their user says so, and others of them have the column.
BY_NAME: Final = "null there by union-by-name"
NULL_BY_NAME: Final = f"{LACKS_COLUMN}: {BY_NAME}"
# Of a value that only a wider type holds, which a table has given the column since.
BEYOND_TYPE: Final = (
    "the column's type in the file, which the table has widened since, does not hold it"
)
# Of an integer that takes more bits than there are for one, with or without a sign.
BEYOND_BITS: Final = "the column's type in the file holds no integer of so many bits"
# Of a DECIMAL that is no stored number: of more digits after the point than the scale,
# or of more bits than there are.
BEYOND_DIGITS: Final = "the column's type in the file holds no number of so many digits"
# Of what is no integer, as which such a column would be stored if it had values.
OF_NULLS: Final = "the column's type in the file has nothing but null"
# Why an index has slices of no filter of a file.
NOT_SLICED: Final = "filters of ORC cannot be sliced, only values mapped"

# Why a value is in no row, whatever is stored.
NOT_HELD: Final = (BEYOND_TYPE, BEYOND_BITS, BEYOND_DIGITS, OF_NULLS)
# Why it is in no row of a row group, of which its filter, if there is one, says nothing.
WITHOUT_FILTERS: Final = (*ARE_NULLS, *NOT_HELD)
# A field of a VARIANT, which then is encoded in the residual of the VARIANT.
NOT_SHREDDED: Final = "the field is not shredded in the file"
ENCRYPTED: Final = "encrypted"
NO_MEMORY: Final = "does not fit the memory budget"


def words(literal: object) -> tuple[str, ...]:
    """The words of one of these lists."""
    return get_args(literal)


def is_no_filter(reason: str) -> bool:
    """Whether a reason says that there is none, as in `no filter: the chunk has no values`, and not that one cannot
    be used, as in `no filter header at 4`."""
    return reason.partition(":")[0] == NO_FILTER


def is_out_of_sight(reason: str) -> bool:
    """Whether a reason says that nobody sees the filter, nor, it may be, whether there is one: without a key, or in
    an encrypted column of an ORC file."""
    return reason == ENCRYPTED or reason.startswith(NO_KEY)


def is_unlisted(reason: str) -> bool:
    """Whether a reason is that of a folder, of whose files nobody knows, and of no file."""
    return reason.startswith(f"{UNLISTED}: ")


def check_word(name: str, word: str, literal: object) -> None:
    """Raise ValueError, naming the argument and its words, unless `word` is in the list."""
    if word not in words(literal):
        raise ValueError(f"{name}: {word}, expected {', '.join(words(literal))}")
