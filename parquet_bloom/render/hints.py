"""What helps where something was refused or left, by the reason that is given."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from parquet_bloom.container.in_commands import MOST_JUDGED, AsFile, InCommands, command_for
from parquet_bloom.dataclass import dataclass
from parquet_bloom.errors import (
    COLUMN_KEY_GIVEN_BY,
    FOOTER_KEY_GIVEN_BY,
    MATERIAL_FOUND_BY,
    NO_MATERIAL,
    WRAPPED_KEY_GIVEN_BY,
    quoted_name,
)
from parquet_bloom.render.wording import shortened
from parquet_bloom.storage import file_in_commands, name_in_commands, store_arguments
from parquet_bloom.vocabulary import (
    ADVISED,
    HAS_ONE,
    IN_THE_OPEN,
    IS_INDEX,
    NO_FILTER,
    NO_INDEX,
    NO_KEY,
    NO_MEMORY,
    NO_META_DATA,
    NO_PREFIX,
    OF_FOOTER,
    OLD_ONE_STAYS,
    UNREAD_STAYS,
)

# Of columns that some files lack.
BY_NAME: Final = (
    "where a file has no such column, in whatever case, and others have, --union-by-name takes it as"
    " null there"
)

# Where one of several columns cannot have a value.
OF_ONE_TYPE: Final = (
    "each value is looked for in each --column: a column of another type takes a call of its own"
)

_ANOTHER_COPY: Final = "take another copy of the file"

# Nothing else mends an index: all of it is derived from its files.
MADE_ANEW: Final = (
    "pbloom index build --overwrite, with its files and columns, makes the index anew"
)

_HINTS: Final = {
    HAS_ONE: "validate proves it, and --existing replace rebuilds it for the rate of --fpp",
    NO_FILTER: ADVISED,
    NO_META_DATA: "nobody knows what is there: take another copy of the file",
    NO_MEMORY: "--memory raises it",
    NO_KEY: COLUMN_KEY_GIVEN_BY,
    NO_PREFIX: "--aad-prefix gives it",
    IN_THE_OPEN: "index build --include-encrypted --overwrite makes an index with it",
    NO_INDEX: "pbloom index build makes one",
    IS_INDEX: "pbloom index probe --index asks it, pbloom index check --index proves it and says what is in it",
}
# By reasons that have numbers or names in them: patterns, which few commands need, so that none is compiled before.
_HINTS_LIKE: Final = {
    rf"(^|: ){NO_KEY}: ({OF_FOOTER} \()?(wrapped by master key|key material) [^;]*$": WRAPPED_KEY_GIVEN_BY,
    rf"(^|: ){NO_KEY}: {OF_FOOTER}( \(key id [^;]*\))?(, not [^;]*)?$": FOOTER_KEY_GIVEN_BY,
    rf"(^|: ){NO_KEY}: key id [^;]*$": COLUMN_KEY_GIVEN_BY,
    r"(^|: )(the footer is )?encrypted: ([^;]*: )?no key for [^;]* \((wrapped by master key|key material) [^;]*\)$": (
        WRAPPED_KEY_GIVEN_BY
    ),
    r"(^|: )encrypted: no key for column [^;]*\)$": COLUMN_KEY_GIVEN_BY,
    rf"{NO_MATERIAL}$": MATERIAL_FOUND_BY,
    r"(^|: )(the footer is )?encrypted: ([^;]*: )?no key for the footer \([^;]*\)$": FOOTER_KEY_GIVEN_BY,
    r"the most allowed: misses the target of [\d.]+ %$": (
        "a higher --max-bytes or --fpp allows one, --force writes this one"
    ),
    r"sized for an NDV of \d+: misses the target of [\d.]+ %$": (
        "a higher --ndv, or none, allows one, --force writes this one"
    ),
    r"the most possible: misses the target of [\d.]+ %$": (
        "a higher --fpp allows one, --force writes this one"
    ),
    r": no column [^;]*; the file has col-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(, |$)": (
        "a Delta table has given its columns such names: --table delta, with the table's folder, takes those that it"
        " shows"
    ),
    # Without looking, such a name is that of an object. Web servers have no folders.
    r"^(?!https?:)[^:]+://.*\.(?i:parquet|parq|pq|orc): no such object$": (
        "a folder that is called so is named with a / at its end"
    ),
    r": truncated or not an? \w+ file: (?!.*, but as )[^;]*$": (
        "if it was one, its end is lost: take another copy"
    ),
    # Of the files of an index.
    r"(^|/)(manifest-\d{10}\.json|[0-9a-f]{16}\.[a-z]+[^/: ]*\.parquet): "
    r"[^;]*(damaged|is not there|not a manifest|of the manifest)": (MADE_ANEW),
    r", but as (encrypted )?Parquet does$": _ANOTHER_COPY,
    r": not an? \w+ file: .*, but with zeros$": (
        "what was in it was never written, or is lost: take another copy"
    ),
    r", but as (HTML|XML) does$": (
        "it may be what a server said instead of sending the file: take another copy"
    ),
    r", but as a Git LFS pointer does$": "`git lfs pull` gets the file that it stands for",
    r": footer: no FileCryptoMetaData: [^;]*$": _ANOTHER_COPY,
    r": row group \d+, column .*: (page( header)? at \d+: |[A-Z0-9_]+: .*corrupt)(?!.*another copy)[^;]*$": (
        f"{_ANOTHER_COPY}, or see with pbloom validate --pages what else is damaged"
    ),
    r": footer: damaged: [^;]*$": _ANOTHER_COPY,
    r": repair all column chunks first$": "pbloom repair --rebuild without -c and -g does",
    r": postscript: [^;]*$": _ANOTHER_COPY,
    # Bytes are lost in front of the footer of an ORC file, or were added.
    r": footer: stripe \d+ at \d+ to \d+, expected between \d+ and \d+$": _ANOTHER_COPY,
    r": stripe \d+, column .*: (DATA|LENGTH|PRESENT|SECONDARY|DICTIONARY_DATA): (?!.*another copy)[^;]*$": (
        f"{_ANOTHER_COPY}, or name other columns with -c"
    ),
    r": stripe \d+(, column .*: ROW_INDEX|: ROW_INDEX of column \d+): damaged: [^;]*$": (
        f"{_ANOTHER_COPY}, or name other columns with -c"
    ),
    r": not an? \w+ file: 0 bytes, expected .*$": "it is empty: take another copy",
    r": not an? \w+ file: (\d+ bytes, expected .*|does not start with PAR1(, but as .*)?)$": (
        "what is in another format must first be written as Parquet or ORC"
    ),
    r": (?i:null|none|n/a): cannot be a value of .*": "nulls are in no filter, and cannot be looked up",
    # As a glob finds it.
    r"(^|/)_delta_log/[^/]+: .*no column ": (
        "what is in _delta_log is no data of the table: name its folder instead of a glob"
    ),
    r"value sample: no column .*": (
        "line 1 was read as names of columns; with one --column, each line is a value of it"
    ),
    r"value sample: column .+: [^\W\d]\w*: cannot be a value of .*": (
        "if this is a header, it is not the name of the column"
    ),
}


def with_hint(message: str) -> str:
    """A message that ends with a reason, followed by what helps, if anything does."""
    hint = hint_for(message)
    return f"{message}; {hint}" if hint else message


def hint_for(message: str) -> str:
    """What helps alone; empty if nothing does."""
    for stays in (OLD_ONE_STAYS, UNREAD_STAYS):
        message = message.removesuffix(f"; {stays}")
    for reason, hint in _HINTS.items():
        if message == reason or message.endswith(f": {reason}"):
            return hint
    return next((hint for like, hint in _HINTS_LIKE.items() if re.search(like, message)), "")


def with_key_hint(reason: str) -> str:
    """A reason, followed by what helps if a key is missing, and nothing else."""
    return with_hint(reason) if reason.startswith(NO_KEY) else reason


# As Python's callers call what the command has options for.
_REFUSED: Final = (
    r"(?<=: )[a-z]+(_[a-z]+)*(?= is not supported for )|^(places|hash_key)(?=: (?!no such command))"
)
_OF_STORE: Final = r"the storage option (?=\w+=)"


def in_options(message: str) -> str:
    """A message with the options of the command in it: `--max-bytes is not supported for ORC files`."""
    named = re.sub(_REFUSED, lambda name: f"--{name[0].replace('_', '-')}", message)
    return re.sub(_OF_STORE, "--storage-option ", named)


def not_listed(add: str, *, are_tables: bool = False) -> str:
    """Of what an index says, whatever it has found, where nobody has listed the files; `add`: the command that brings
    it up to date."""
    named = "table, too (--table)" if are_tables else "folder, too"
    return f"files that were added or changed since then may be missing here: name the {named}, or run `{add}` first"


def would_refuse(obstacles: Sequence[str] | None) -> list[str]:
    """What `build` would refuse, a line for each."""
    return [f"build would refuse: {each}" for each in obstacles or ()]


def command(verb: str, *arguments: str) -> str:
    """`pbloom advise 'my data.parquet'`, with the options of the stores that files among the arguments are in."""
    import shlex

    of_stores = () if "--storage-option" in arguments else store_arguments(*arguments)
    return shlex.join(["pbloom", verb, *map(name_in_commands, arguments), *of_stores])


def next_line(verb: str, *arguments: str) -> str:
    """`next: pbloom advise 'my data.parquet'`"""
    return f"next: {command(verb, *arguments)}"


def on_replaced_too(columns: Sequence[str]) -> str:
    """What to know where a command builds filters again, and more of them than are to be."""
    names = shortened([quoted_name(each) for each in columns])
    return f"with --existing replace, filters of {names} that are good enough are built again, too"


# Up to so many names stand for all files in a command.
MOST_NAMES: Final = 5
# What judges files together is told up to MOST_JUDGED of those that it is about: others would decide with them. So is
# what builds upon that.
TAKES_IN_OTHERS: Final = "this command takes in the other files, too"
# What may be done to all files where it helps some: it changes nothing that is in order.
_SPARING: Final = frozenset(("build", "repair", "validate"))
# With which `build` and `repair` put other filters in the place of those that are there.
_REPLACING: Final = frozenset(("--existing", "--rebuild"))


def for_many(command: str, path: str, names: Sequence[str], concerned: Sequence[str] = ()) -> str:
    """A command that helps with the file at `path`, for those that `concerned` means; if these are too many, for all
    that `names` mean, unless files that need no help would change, or decide with the others; and for any file,
    called FILE, if these are too many, too, or it is about a row group, which in others is another."""
    import shlex

    words = shlex.split(command)
    if "-g" in words:
        return for_any(command, path)
    is_sparing = words[1] in _SPARING and "--existing" not in words
    most = MOST_JUDGED if words[1] == "advise" else MOST_NAMES
    is_for_all = is_sparing and not 0 < len(concerned) <= most
    if is_for_all and words[1] == "validate" and "-c" in words:
        # The others need not have the column.
        at = words.index("-c")
        command = shlex.join((*words[:at], *words[at + 2 :]))
    return for_all(command, path, names if is_for_all else concerned, most)


def on_others(command: str, names: Sequence[str], concerned: Sequence[str]) -> str:
    """What follows a command of `for_many` that is for all that `names` mean, as those that it is about are too many;
    empty if it is for these alone."""
    import shlex

    words = shlex.split(command)
    is_for_all = bool(names) and all(name_in_commands(each) in words for each in names)
    return TAKES_IN_OTHERS if is_for_all and [*concerned] != [*names] else ""


def by_name(command: str) -> str:
    """A command; if it builds filters of a column, one that does not fail for files that lack it."""
    import shlex

    words = shlex.split(command)
    is_of_files = words[1] == "build" and "-c" in words and "--table" not in words
    if not is_of_files or "--union-by-name" in words:
        return command
    return f"{command} --union-by-name"


def concerned_of(
    paths: Sequence[str], names: Sequence[str], are_all: bool, have_some_failed: bool
) -> Sequence[str]:
    """What means the files at `paths` and no others that could be read: `names`, if they `are_all` that could. With
    those that could not, a command for a folder would fail: few files are named instead."""
    is_few = have_some_failed and 0 < len(paths) <= MOST_NAMES
    return (names if are_all and not is_few else ()) or paths


def is_rebuilding(command: str | None) -> bool:
    """Whether a command makes other filters of all that are wrong."""
    return "--rebuild" in (command or "").split()


def is_replacing(command: str) -> bool:
    """Whether filters that are there go by a command, or by what it recommends."""
    import shlex

    words = shlex.split(command)
    return words[1] in ("advise", "strip") or not _REPLACING.isdisjoint(words)


def for_any(command: str, path: str) -> str:
    """A command for the file at `path`, for any file, called FILE."""
    return for_all(command, path, ())


def for_all(command: str, path: str, names: Sequence[str], most: int = MOST_NAMES) -> str:
    """A command for the file at `path`, for all that `names` mean; if these are more than `most`, or none,
    for any file, called FILE."""
    import shlex

    files = [*map(name_in_commands, names)] if 0 < len(names) <= most else ["FILE"]
    words, named = shlex.split(command), file_in_commands(path)
    if len(options_in(words)[0]) > len(("pbloom", "verb", "FILE")):
        # It names all that it is for.
        return command
    return shlex.join(word for each in words for word in (files if each == named else (each,)))


def _each_once(columns: Iterable[str]) -> str:
    """The names of several lists, as one."""
    from parquet_bloom.options import names_in

    names = dict.fromkeys(name for listed in columns for name in names_in(listed))
    return ",".join(map(quoted_name, names))


def united(commands: Iterable[str]) -> list[str]:
    """Each once, in order, whatever the order of its options is, and one for all columns for which it is the same."""
    import shlex

    alike: dict[frozenset[tuple[str, ...]], tuple[list[str], list[str], dict[str, None]]] = {}
    for command in commands:
        words = shlex.split(command)
        at = words.index("-c") + 1 if "-c" in words else len(words)
        before, named, after = words[:at], words[at : at + 1], words[at + 1 :]
        meaning = frozenset(options_in(before) + options_in(after))
        alike.setdefault(meaning, (before, after, {}))[2].update(dict.fromkeys(named))
    return [
        shlex.join([*before, *([_each_once(named)] if named else ()), *after])
        for before, after, named in alike.values()
    ]


# What is said of filters to build.
_OF_BUILDING: Final = frozenset(("--existing", "--fpp", "--max-bytes", "--ndv"))


def stripping(command: str) -> str:
    """The command that strips the filters that this one builds again; any other as it is."""
    import shlex

    (pbloom, verb, *names), *options = options_in(shlex.split(command))
    if verb != "build" or ("--existing", "replace") not in options:
        return command
    kept = [word for option in options if option[0] not in _OF_BUILDING for word in option]
    return shlex.join([pbloom, "strip", *names, *kept])


def options_in(words: Iterable[str]) -> list[tuple[str, ...]]:
    """What stands before the first option, and each with what follows it."""
    found: list[list[str]] = [[]]
    for word in words:
        if word.startswith("-"):
            found.append([])
        found[-1].append(word)
    return list(map(tuple, found))


@dataclass(frozen=True, slots=True)
class NextLines:
    """The commands that help with files next. `named`: how they name one, by its path; `again`: options
    that they need, too."""

    named: Callable[[str], InCommands] = AsFile
    again: Sequence[str] = ()

    def lines(self, path: str, command: str, column: str | None = None) -> list[str]:
        """`next: pbloom build events.parquet -c user_id`, for `build FILE -c COLUMN`; none if nothing
        helps."""
        found = command_for(self.named(path), f"pbloom {command}", {"COLUMN": column}, self.again)
        return [] if found is None else [f"next: {found}"]


OF_FILES: Final = NextLines()
