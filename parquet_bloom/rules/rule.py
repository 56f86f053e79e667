"""The rules: what can be wrong with filters, read from the catalogue.

    catalogue/structure.toml        one file per kind, one table per rule

    [kind]
    title = "Structure"
    prose = '''…'''               optional, about all rules of the kind

    [PB111]
    name = "length-missing"         for people, words with hyphens
    severity = "error"
    title = "…"                     one sentence without a full stop
    formats = ["parquet"]
    needs_values = true             whether finding it takes the stored values
    needs_pages = true              whether it takes --pages
    found_is_value = true           whether `found` may be a stored value, which --no-values hides
    repair = "set length"           what `repair` does about it
    instead = "…"                   what to do if `repair` can only report it
    next = "strip FILE -c COLUMN"   the command that helps, if that is not `repair`; other words
                                    that it fills in: ROW_GROUP, LIMIT, and FILES for all that the user named
    first = "validate FILE --pages" the command before it, where what that says decides if it helps
    by_hand = "…"                   what helps, if no command does; every error has one or the other
    prose = '''…'''               one paragraph of Markdown; {not a power of two} stands for what engines
                                    do then, see engines.reading.paragraph

The files are read on the first finding, or when somebody asks for a rule; sound files need none. Ids
are never reused. The first digit of an id is the number of its kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from pkgutil import get_data
from textwrap import fill
from types import MappingProxyType
from typing import Any, Final, NoReturn

from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import ConfigError, similar
from parquet_bloom.vocabulary import Format, Remedy, check_word

# The kinds, in the order of the first digits of their rules.
_KINDS: Final = ("structure", "portability", "quality", "truth", "security", "orc", "legacy")

PAGE_WIDTH: Final = 100

_ID = re.compile(r"PB\d+", re.IGNORECASE)
_ABOUT = re.compile(r"\{([^{}]+)\}")
_SPACE = re.compile(r"\s+")
# What stays on one line, and what a space in it is meanwhile.
_WHOLE = re.compile(r"`[^`]*`|\[[^\]]*\]\(")
_KEPT = "\N{NO-BREAK SPACE}"
_LINK = re.compile(r"\[([^\]]*)\]\(([^)]*)\)")


class Severity(StrEnum):
    """Severities compare by rank, and with words as with each other: `finding.severity >= "warning"`. Raises
    ValueError for a word that is none of them.

    error      readers lose rows, fail or leak, or a filter misses the user's requirements
    warning    some readers do, or the filter is not worth its bytes
    note       good to know
    """

    NOTE = "note"
    WARNING = "warning"
    ERROR = "error"

    @classmethod
    def _missing_(cls, value: object) -> NoReturn:
        raise ValueError(f"severity: {value!r}, expected {', '.join(cls)}")

    @property
    def rank(self) -> int:
        """1 is the lowest."""
        return _RANKS[self]

    def __lt__(self, other: str) -> bool:
        return self.rank < Severity(other).rank

    def __le__(self, other: str) -> bool:
        return self.rank <= Severity(other).rank

    def __gt__(self, other: str) -> bool:
        return self.rank > Severity(other).rank

    def __ge__(self, other: str) -> bool:
        return self.rank >= Severity(other).rank


_RANKS: Final = {severity: rank for rank, severity in enumerate(Severity, 1)}


@dataclass(frozen=True, slots=True)
class Rule:
    """A table of the catalogue. Raises ValueError for unknown words."""

    id: str
    kind: str
    name: str
    severity: Severity
    title: str
    formats: tuple[Format, ...]
    repair: Remedy
    prose: str
    needs_values: bool = False
    needs_pages: bool = False
    found_is_value: bool = False
    instead: str | None = None
    next: str | None = None
    first: str | None = None
    by_hand: str | None = None

    def __post_init__(self) -> None:
        check_word(f"{self.id}: repair", self.repair, Remedy)
        for format in self.formats:
            check_word(f"{self.id}: formats", format, Format)

    @property
    def is_dropped_on_request(self) -> bool:
        """Whether `repair` needs --drop-bad: it must read all values or rewrite the whole file."""
        return self.repair == "drop" and (self.needs_values or self.formats == ("orc",))

    @property
    def command(self) -> str | None:
        """The command that helps next, with words such as FILE to fill in; None if none does."""
        if self.next is None and self.repair != "nothing":
            rebuild = "" if self.repair.endswith("length") else " --rebuild"
            return f"pbloom repair FILE{rebuild} --in-place"
        return self.next and f"pbloom {self.next}"

    @property
    def first_command(self) -> str | None:
        """The command before that one, which says whether it helps; None if it does in any case."""
        return self.first and f"pbloom {self.first}"

    @property
    def steps(self) -> tuple[str, ...]:
        """Both, in their order, as far as there are any."""
        return tuple(filter(None, (self.first_command, self.command)))

    @property
    def heading(self) -> str:
        """`PB111 length-missing`"""
        return f"{self.id} {self.name}"

    @property
    def concerns_repair(self) -> bool:
        """Whether `repair` does something about it, or at least reports it."""
        return self.repair != "nothing" or self.instead is not None

    @property
    def text(self) -> str:
        """The prose, with what the catalogue of engines says in its place; only who asks for a rule loads
        it."""
        if "{" not in self.prose:
            return self.prose.strip()
        from parquet_bloom.engines.reading import paragraph

        filled = _ABOUT.sub(lambda about: paragraph(about[1]), self.prose)
        whole = _WHOLE.sub(lambda part: _SPACE.sub(_KEPT, part[0]), filled)
        text = fill(whole, PAGE_WIDTH, break_long_words=False, break_on_hyphens=False)
        return text.replace(_KEPT, " ")

    @property
    def plain_text(self) -> str:
        """The text on one line, with link targets in angle brackets."""
        return " ".join(_LINK.sub(r"\1 <\2>", self.text).split())


@dataclass(frozen=True, slots=True)
class Kind:
    """Rules of one kind. `prose`: Markdown; `{shared}` stands for the ids of rules for several
    formats."""

    title: str
    rules: tuple[Rule, ...]
    prose: str = ""


@cache
def kinds() -> tuple[Kind, ...]:
    """All kinds, in order."""
    return tuple(map(_read_kind, _KINDS))


@cache
def rules() -> Mapping[str, Rule]:
    """Every rule by its id, in order."""
    return MappingProxyType({rule.id: rule for kind in kinds() for rule in kind.rules})


def rules_of(format: Format) -> tuple[Rule, ...]:
    """The rules that a file of this format can break, by id."""
    return tuple(rule for rule in rules().values() if format in rule.formats)


def is_rule(word: str) -> bool:
    """Whether a rule has this name, or could have this id."""
    return _ID.fullmatch(word) is not None or any(word == each.name for each in rules().values())


def find_rule(word: str) -> Rule:
    """The rule with this id, in either case, or name. Raises ConfigError, naming the close ones."""
    names = {rule.name: rule for rule in rules().values()} | dict(rules())
    if found := names.get(word) or names.get(word.upper()):
        return found
    close = similar(word, names, cutoff=0.7)
    hint = f"did you mean {', '.join(close)}?" if close else "`pbloom rule` lists them"
    if not close and not word.startswith("PB"):
        hint += "; a finding that has a diagnosis explains it"
    raise ConfigError(f"no such rule {word!r}; {hint}")


def _read_kind(name: str) -> Kind:
    import tomllib

    data = get_data("parquet_bloom.rules", f"catalogue/{name}.toml")
    assert data is not None, name
    tables = tomllib.loads(data.decode())
    about = tables.pop("kind")
    return Kind(rules=tuple(_rule(id, name, facts) for id, facts in tables.items()), **about)


def _rule(id: str, kind: str, facts: dict[str, Any]) -> Rule:
    severity, formats = Severity(facts.pop("severity")), tuple(facts.pop("formats"))
    return Rule(id=id, kind=kind, severity=severity, formats=formats, **facts)
