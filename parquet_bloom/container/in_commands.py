"""How the command that helps next names a file: by its path, or, if it is one of a table's, by the table.

pbloom build FILE -c COLUMN --in-place               as the catalogue of rules has it
pbloom build events.parquet -c user_id --in-place    a file
pbloom build lake/events -c user_id --table delta    a file of a table
pbloom advise FILES -c COLUMN                        what is judged together with the others that the user named
pbloom advise lake/ -c user_id --union-by-name

Where a file is a table's, and that was not named with --table, no command changes it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Final, TypeAlias

from parquet_bloom.dataclass import dataclass
from parquet_bloom.storage import file_in_commands, name_in_commands, store_arguments
from parquet_bloom.vocabulary import TableKind

# What single files take, and tables do not: these are changed by appending and one commit.
_OF_FILES: Final = frozenset(("--in-place",))
# What cannot be asked of a table: single row groups, filters of other dialects.
_NOT_OF_TABLES: Final = frozenset(("-g", "--dialect"))
_READ: Final = frozenset(("advise", "inspect", "validate"))
# Of the other verbs, only strip takes tables, and takes back all that was appended to them.
_APPEND: Final = frozenset(("build", "repair"))
# Without which files stay as they are that are small.
ALL_SIZES: Final = "--all-sizes"
# What commands name where there are several tables that they are for.
ANY_TABLE: Final = "TABLE"
# In a command, all files that the user named, as others decide with each.
ALL_NAMED: Final = "FILES"
# Up to so many names stand for files that are judged together: with fewer, others would be the answer.
MOST_JUDGED: Final = 10


@dataclass(frozen=True)
class AsFile:
    """A file that stands for itself; `among`: the words with which the user named it and others, none if alone."""

    place: str
    among: tuple[str, ...] = ()
    left_out: ClassVar[frozenset[str]] = frozenset()

    @cached_property
    def is_of_table(self) -> bool:
        """Whether it is a table's, which was not asked as one, so that nothing changes the file in place. Stores are
        not asked."""
        from parquet_bloom.storage.table_formats import is_in_table

        return is_in_table(self.place)

    def options(self, words: Sequence[str]) -> tuple[str, ...] | None:
        """Those that a command takes besides, None if the command is not to be had."""
        if self.among and {ALL_NAMED, "-c"} <= {*words}:
            # The others need not have the column.
            return ("--union-by-name",)
        is_changed = _OF_FILES & {*words}
        return None if is_changed and (self.is_of_web_server or self.is_of_table) else ()

    @property
    def together(self) -> tuple[str, ...]:
        """What stands for it and the others; if that is too long for a command, all that were named, called FILES."""
        return self.among if len(self.among) <= MOST_JUDGED else (ALL_NAMED,)

    @property
    def is_of_web_server(self) -> bool:
        """Whether it is where nothing can be written."""
        return self.place.startswith(("http://", "https://"))


@dataclass(frozen=True, slots=True)
class AsTable:
    """A file for which its table stands, of this kind, at this place. `reading`: the options of a command that reads
    just this version; `changing`: of one that changes the table, None if nothing can be changed there;
    `is_small`: whether files of this size have to be asked for."""

    place: str
    kind: TableKind
    reading: tuple[str, ...]
    changing: tuple[str, ...] | None
    is_small: bool = False
    left_out: ClassVar[frozenset[str]] = _OF_FILES

    @property
    def together(self) -> tuple[()]:
        """See AsFile. The table stands for all of its files."""
        return ()

    def options(self, words: Sequence[str]) -> tuple[str, ...] | None:
        """See AsFile."""
        _, verb, *_ = words
        if verb in _READ:
            return self.reading
        return self.appending if verb in _APPEND and not _NOT_OF_TABLES & {*words} else None

    @property
    def appending(self) -> tuple[str, ...] | None:
        """Those with which `build` and `repair` take the table, None if nothing can be changed there."""
        return None if self.changing is None else self.changing + (ALL_SIZES,) * self.is_small

    def with_others(self, other: AsTable) -> AsTable:
        """What stands for its files and those of another table, or of this one: any, called TABLE, if they are two;
        that nothing can be changed, where they take other options."""
        return replace(
            self,
            place=self.place if self.place == other.place else ANY_TABLE,
            changing=self.changing if self.changing == other.changing else None,
            is_small=self.is_small or other.is_small,
        )


InCommands: TypeAlias = AsFile | AsTable


def command_for(
    named: InCommands, command: str, values: Mapping[str, str | None], again: Sequence[str] = ()
) -> str | None:
    """A command for a shell, None if nothing helps. `command`: `pbloom build FILE -c COLUMN --in-place`;
    `values`: what to put in place of its words, None for what there is not; `again`: options that it
    needs, too."""
    import shlex

    words = [word for word in command.split() if word not in named.left_out]
    options = named.options(words)
    place = file_in_commands(named.place)
    filled = [{"FILE": place, ALL_NAMED: place, **values}.get(word, word) for word in words]
    if options is None or None in filled:
        return None
    if named.together and ALL_NAMED in words:
        at = words.index(ALL_NAMED)
        filled[at : at + 1] = map(name_in_commands, named.together)
    return shlex.join([*filter(None, filled), *options, *store_arguments(named.place), *again])
