"""Every rule that a filter can break: id, name, severity, one line. docs/rules.md says more.

An id is never given to another rule. The hundreds are kinds: 1 structure, 2 portability,
3 quality, 4 truth, 5 security; 6 what only ORC files have. Rules of IN_BOTH_FORMATS are for Parquet
and ORC alike.

    error      readers lose rows, fail, or leak; or it breaks what somebody has asked for
    warning    some readers do, or the filter is not worth its bytes
    note       good to know
"""

from __future__ import annotations

from dataclasses import dataclass
from difflib import get_close_matches
from enum import IntEnum
from types import MappingProxyType
from typing import Literal

from parquet_bloom.errors import ConfigError


class Severity(IntEnum):
    """In order, so that severities can be compared; `str()` is the word."""

    NOTE = 1
    WARNING = 2
    ERROR = 3

    def __str__(self) -> str:
        return self.name.lower()


NOTE, WARNING, ERROR = Severity.NOTE, Severity.WARNING, Severity.ERROR


@dataclass(frozen=True, slots=True)
class Rule:
    """`name` is for people, in words with hyphens; `title` is one sentence without a full stop."""

    id: str
    name: str
    severity: Severity
    title: str


_RULES = (
    Rule("PB101", "offset-outside-data", ERROR,
         "bloom_filter_offset leads to no byte of the data"),
    Rule("PB102", "no-filter-header", ERROR,
         "There is no filter header where bloom_filter_offset points"),
    Rule("PB103", "overlaps-pages", ERROR,
         "The filter shares bytes with the pages of a column chunk"),
    Rule("PB104", "overlaps-page-index", ERROR,
         "The filter shares bytes with a page index"),
    Rule("PB105", "overlaps-footer", ERROR,
         "The filter reaches into the footer"),
    Rule("PB106", "overlaps-filter", ERROR,
         "The filter shares bytes with the filter of another column chunk"),
    Rule("PB107", "shared-filter", ERROR,
         "Several column chunks point to the same filter"),
    Rule("PB108", "unknown-algorithm", ERROR,
         "The header names an algorithm that the format does not define"),
    Rule("PB109", "unknown-hash", ERROR,
         "The header names a hash that the format does not define"),
    Rule("PB110", "bad-size", ERROR,
         "The bitset is not a positive number of whole 32-byte blocks"),
    Rule("PB111", "length-missing", ERROR,
         "bloom_filter_length is missing"),
    Rule("PB112", "length-too-short", ERROR,
         "bloom_filter_length is less than header and bitset take"),
    Rule("PB113", "length-too-long", ERROR,
         "bloom_filter_length is more than header and bitset take"),
    Rule("PB114", "length-without-offset", WARNING,
         "bloom_filter_length is set and bloom_filter_offset is not"),
    Rule("PB115", "contradictory-footer", ERROR,
         "The footer contradicts itself about rows or places"),
    Rule("PB116", "damaged-pages", ERROR,
         "Pages of a column chunk that has a filter cannot be read"),
    Rule("PB201", "not-a-power-of-two", WARNING,
         "The number of blocks is not a power of two"),
    Rule("PB202", "below-64-bytes", WARNING,
         "The bitset is smaller than 64 bytes"),
    Rule("PB203", "beyond-128-mib", ERROR,
         "The bitset is larger than 128 MiB"),
    Rule("PB204", "compressed-bitset", ERROR,
         "The header says that the bitset is compressed"),
    Rule("PB205", "known-trouble", WARNING,
         "Readers are known to mishandle filters that this writer wrote"),
    Rule("PB206", "out-of-order", NOTE,
         "Filters are not in the order of row groups and columns"),
    Rule("PB207", "boolean-filter", WARNING,
         "A BOOLEAN column has a filter"),
    Rule("PB208", "decimal-of-any-length", NOTE,
         "A DECIMAL of variable length has a filter"),
    Rule("PB209", "float16-as-float", WARNING,
         "FLOAT16 values are not in the filter as FLOAT"),
    Rule("PB210", "interval-as-written", WARNING,
         "INTERVAL values are not in the filter in the form that DuckDB looks for"),
    Rule("PB301", "saturated", ERROR,
         "The filter finds more than half of all values"),
    Rule("PB302", "high-fpp", WARNING,
         "The filter finds more than a tenth of all values"),
    Rule("PB303", "all-bits-set", ERROR,
         "Every bit is set, so the filter excludes nothing"),
    Rule("PB304", "oversized", WARNING,
         "The filter could be folded to an eighth or less"),
    Rule("PB305", "dictionary-suffices", NOTE,
         "The filter is no smaller than the dictionary that says the same"),
    Rule("PB306", "larger-than-data", WARNING,
         "The filter is larger than the column chunk"),
    Rule("PB307", "some-row-groups", WARNING,
         "The column has filters in some row groups or stripes only"),
    Rule("PB308", "empty-chunk", NOTE,
         "A column chunk without values has a filter"),
    Rule("PB309", "filters-dominate", WARNING,
         "Filters take more than a quarter of the file"),
    Rule("PB310", "required-missing", ERROR,
         "A filter that is required is not there"),
    Rule("PB311", "fpp-above-limit", ERROR,
         "The false positive probability is above the limit that was set"),
    Rule("PB312", "bytes-above-limit", ERROR,
         "The bitset is above the limit that was set"),
    Rule("PB401", "false-negatives", ERROR,
         "Values that are stored are not in the filter"),
    Rule("PB402", "all-bits-clear", ERROR,
         "No bit is set although there are values"),
    Rule("PB403", "zero-without-sibling", WARNING,
         "A zero is in the filter and the zero of the other sign is not"),
    Rule("PB404", "nan-without-canonical", NOTE,
         "NaN is stored and the canonical NaN is not in the filter"),
    Rule("PB405", "foreign-bits", WARNING,
         "Bits are set that no stored value explains"),
    Rule("PB406", "fpp-unexplained", WARNING,
         "The measured false positive rate is above what the stored values explain"),
    Rule("PB407", "identical-filters", NOTE,
         "Row groups with other values have the same filter, bit for bit"),
    Rule("PB408", "not-checked", NOTE,
         "The values could not be compared with the filter"),
    Rule("PB501", "plaintext-filter", ERROR,
         "An encrypted column has a filter in plaintext"),
    Rule("PB502", "does-not-open", ERROR,
         "The filter of an encrypted column does not open"),
    Rule("PB503", "plaintext-statistics", ERROR,
         "The footer shows statistics of an encrypted column"),
    Rule("PB504", "telling-copy", WARNING,
         "The footer shows more of an encrypted column than it must"),
    Rule("PB505", "other-modules", ERROR,
         "The filter is encrypted as another kind of module, which no other reader opens"),
    Rule("PB506", "unverified-footer", NOTE,
         "The footer is signed, and there is no key to verify the signature with"),
    Rule("PB507", "location-shown", NOTE,
         "The footer shows where the filter of an encrypted column lies"),
    Rule("PB508", "encryption-taken-away", ERROR,
         "What the footer should say of encryption is missing"),
    Rule("PB601", "contradictory-stripe", ERROR,
         "The streams of a stripe contradict its order or its length"),
    Rule("PB602", "damaged-filter-stream", ERROR,
         "A filter stream cannot be decoded"),
    Rule("PB603", "pre-release-layout", ERROR,
         "The filters are in the layout of Hive before release 1.2"),
    Rule("PB604", "wrong-number-of-filters", ERROR,
         "A filter stream does not have one filter for each index group"),
    Rule("PB605", "bad-bitset", ERROR,
         "A bitset is not a positive number of whole 64-bit words"),
    Rule("PB606", "two-bitsets", ERROR,
         "A filter has two bitsets that differ"),
    Rule("PB607", "odd-hash-count", WARNING,
         "The number of hashes is one that no sane target leads to"),
    Rule("PB608", "unknown-column", WARNING,
         "There is a filter stream of a column that does not exist"),
    Rule("PB609", "no-row-index", WARNING,
         "A column has filters and no row index"),
    Rule("PB610", "repeated-stream", WARNING,
         "A column has several filter streams of one kind in a stripe"),
    Rule("PB611", "damaged-values", ERROR,
         "The values of a column that has filters cannot be read"),
    Rule("PB621", "asked-by-nobody", WARNING,
         "No reader asks the filters of this column"),
    Rule("PB622", "not-asked-by-java", WARNING,
         "ORC Java does not ask the filters of this column"),
    Rule("PB623", "not-asked-by-cpp", WARNING,
         "ORC C++ does not ask the filters of this column"),
    Rule("PB624", "field-missing", WARNING,
         "A filter lacks a field that ORC C++ wants"),
    Rule("PB625", "uneven-filters", WARNING,
         "The filters of a column in one stripe differ in size or number of hashes"),
    Rule("PB651", "filter-not-encrypted", WARNING,
         "An encrypted column has filters that are not encrypted"),
    Rule("PB701", "older-filter-published", ERROR,
         "bloom_filter_offset leads to a filter of an older dialect"),
    Rule("PB702", "no-older-filter", ERROR,
         "What leads to a filter of an older dialect leads to none that can be read"),
    Rule("PB703", "older-size", ERROR,
         "The bitset of an older split block filter is not a power of two"),
    Rule("PB704", "struct-in-statistics", ERROR,
         "A filter stands in a field of Statistics that means something else today"),
    Rule("PB705", "older-false-negatives", ERROR,
         "Values that are stored are not in a filter of an older dialect"),
    Rule("PB706", "unknown-older-hash", WARNING,
         "Nothing tells how the values in a filter of an older dialect were hashed"),
    Rule("PB707", "wrong-note", ERROR,
         "A note says another hash than the one by which the filter finds the values"),
)  # fmt: skip

RULES = MappingProxyType({rule.id: rule for rule in _RULES})

# What only a look at the stored values can find.
NEED_VALUES = frozenset(
    {
        "PB116",
        "PB209",
        "PB210",
        "PB401",
        "PB403",
        "PB404",
        "PB405",
        "PB406",
        "PB408",
        "PB611",
        "PB705",
        "PB706",
        "PB707",
    }
)

IN_BOTH_FORMATS = frozenset(
    {"PB301", "PB302", "PB303", "PB307", "PB309", "PB310", "PB311", "PB312"}
    | {"PB401", "PB402", "PB403", "PB405", "PB408"}
)

Format = Literal["parquet", "orc"]

_IDS = {rule.name: rule.id for rule in _RULES} | {rule.id: rule.id for rule in _RULES}


def rule_id(word: str) -> str:
    """The id of the rule that has this id or name. Raises ConfigError, naming the close ones."""
    try:
        return _IDS[word]
    except KeyError:
        close = get_close_matches(word, list(_IDS), n=3, cutoff=0.7)
        hint = f"did you mean {', '.join(close)}" if close else "docs/rules.md has them all"
        raise ConfigError(f"no such rule {word!r}, {hint}") from None


def rules_of(format: Format) -> tuple[Rule, ...]:
    """The rules that a file of this format can break, by id."""
    return tuple(rule for rule in _RULES if _is_for(rule.id, format))


def _is_for(rule: str, format: Format) -> bool:
    return rule in IN_BOTH_FORMATS or rule.startswith("PB6") == (format == "orc")


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """What the writer seems to have done instead: of `tried` stored values that are looked up that
    way, `hits` are found; none is tried where what was hashed is not in the file any more.
    `hypothesis` is a stable name, `explanation` a sentence."""

    hypothesis: str
    explanation: str
    hits: int
    tried: int


@dataclass(frozen=True, slots=True)
class Finding:
    """A rule that is broken, and where; `row_group` and `column` are None where it is about all.

    In an ORC file it is the `stripe`, and the `index_group` in it, where not all of the stripe is
    concerned. `severity` is a word of Severity. `examples` are values that it is about, as literals.
    """

    rule: str
    severity: str
    row_group: int | None
    column: str | None
    message: str
    expected: str | None = None
    found: str | None = None
    diagnosis: Diagnosis | None = None
    examples: tuple[str, ...] = ()
    stripe: int | None = None
    index_group: int | None = None

    @property
    def rank(self) -> Severity:
        """The severity as what can be compared."""
        return Severity[self.severity.upper()]

    @property
    def statement(self) -> str:
        """The message with what was expected and found."""
        sides = [
            f"{word} {value}"
            for word, value in (("expected", self.expected), ("found", self.found))
            if value is not None
        ]
        return f"{self.message} ({', '.join(sides)})" if sides else self.message


def finding(
    rule: str,
    message: str,
    *,
    row_group: int | None = None,
    column: str | None = None,
    expected: object = None,
    found: object = None,
    diagnosis: Diagnosis | None = None,
    examples: tuple[str, ...] = (),
    stripe: int | None = None,
    index_group: int | None = None,
) -> Finding:
    """A finding of the rule with this id, at the rule's severity."""
    return Finding(
        rule=rule,
        severity=str(RULES[rule].severity),
        row_group=row_group,
        column=column,
        message=message,
        expected=None if expected is None else str(expected),
        found=None if found is None else str(found),
        diagnosis=diagnosis,
        examples=examples,
        stripe=stripe,
        index_group=index_group,
    )


@dataclass(frozen=True, slots=True)
class Checked:
    """How much was looked at: filters, and stored values (a dictionary's entries once)."""

    filters: int
    values: int


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """One file. `ok`: no finding at or above the severity that fails it."""

    path: str
    ok: bool
    findings: tuple[Finding, ...]
    checked: Checked
    format: Format = "parquet"
