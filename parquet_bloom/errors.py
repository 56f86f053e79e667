"""The errors of parquet_bloom. A message is one line, *where: what: expected, found*. `OSError`
passes through unchanged."""

import re
from collections.abc import Iterable, Mapping, Sequence
from types import ModuleType

# What is before the query of a URL, since what a message says before it. Local files may have a question mark.
_URL = re.compile(r"(?<!file):/")
_PASSWORD = re.compile(r"(?<=://)[^\s/@?:]*:[^\s/@?]*@")
# What may follow a URL in a message. No query begins so.
_AFTER = "'\"`,;:.?!)"
_QUERY = re.compile(rf"[^\s{_AFTER}]\S*")


def without_secrets(text: str) -> str:
    """The same, with a word in place of the queries of URLs, which may be signatures, or keys of a store, and without
    names and passwords in them."""
    return _PASSWORD.sub("", _without_queries(text)) if ":/" in text else text


def _without_queries(text: str) -> str:
    """In one pass, as a message may be long."""
    shown, done, start = [], 0, 0
    while (mark := text.find("?", start) + 1) > 0:
        place = text[start : mark - 1].rpartition(": ")[2]
        start = mark
        if _URL.search(place) and (query := _QUERY.match(text, mark)):
            start += len(query[0].rstrip(_AFTER))
            shown.append(f"{text[done:mark]}QUERY")
            done = start
    return "".join((*shown, text[done:]))


class ParquetBloomError(Exception):
    """The base class of all errors of this package. Whoever raises one may name a URL as it was given."""

    def __init__(self, *args: object) -> None:
        super().__init__(
            *(without_secrets(each) if isinstance(each, str) else each for each in args)
        )


class FormatError(ParquetBloomError):
    """The bytes violate the file format."""


class NotSupportedFileError(FormatError):
    """Not a Parquet or ORC file: the magic bytes are missing, or it is too short;
    perhaps one that has lost its end."""


class FooterError(FormatError):
    """The footer is damaged, truncated or contradicts the file."""


class PageError(FormatError):
    """A page of a column chunk is damaged."""


class FilterError(FormatError):
    """A Bloom filter's header, range or bits are unusable."""


class UnsupportedError(ParquetBloomError):
    """Valid, but not supported: a codec, an encoding, an encryption."""


class UnreadableError(UnsupportedError):
    """Pages with a codec or in an encoding that nothing here can read: their chunk gets no filter."""


class ColumnError(ParquetBloomError):
    """No such column; suggests similar names."""


class ValueTypeError(ParquetBloomError):
    """A literal that cannot be a value of the column."""


class EncryptionError(ParquetBloomError):
    """An invalid key, or a KMS that failed."""


class MissingKeyError(EncryptionError):
    """No key for the footer or a column, or no AAD prefix. `detail`: what is worth saying wherever the key is
    missed: how the user's own code answered that was asked for it, or that a column called much the same has one."""

    detail = ""

    @classmethod
    def told(cls, message: str) -> "MissingKeyError":
        """One of which all is worth saying."""
        error = cls(message)
        error.detail = message
        return error


class TamperedError(EncryptionError):
    """Decryption failed: the key or the AAD prefix is wrong, or the bytes were altered."""


class RewriteError(ParquetBloomError):
    """An output that must not or could not be written."""


class UnsafeStoreError(RewriteError):
    """A store that would lose concurrent writes, whichever of its objects is replaced."""


class TableFolderWarning(UserWarning):
    """The folder of a table was given for its files, among which are those that the table has deleted."""


class LeftOutWarning(UserWarning):
    """A folder was given that has files besides those that are read, which are not called like data files."""


class ConfigError(ParquetBloomError):
    """An invalid configuration file, or limit of a policy."""


class AdapterError(ParquetBloomError):
    """A program that asks an engine for `conformance` does not start, or says what it should not."""


class SparkError(ParquetBloomError):
    """A Spark job failed as a whole, rather than on single files."""


def at(where: str, error: Exception, kind: type[Exception] | None = None) -> Exception:
    """The same error with its place, of its own class or of `kind`."""
    return (kind or type(error))(f"{where}: {error}")


def without_place(error: Exception, *places: str) -> str:
    """An error's message without the places that it starts with: a finding has fields for them."""
    message = str(error)
    for place in places:
        message = message.removeprefix(f"{place}: ")
    return message


class placing:
    """Errors inside go on with their place, `where`. `kinds`: which of them, and as which class, None
    for their own."""

    __slots__ = ("_kinds", "_where")

    def __init__(
        self, where: str, kinds: Mapping[type[Exception], type[ParquetBloomError] | None]
    ) -> None:
        self._where = where
        self._kinds = kinds

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is None:
            return
        for caught, ours in self._kinds.items():
            if isinstance(error, caught):
                raise at(self._where, error, ours) from None


def install(extra: str) -> str:
    """The command that brings an extra of this package."""
    return f"pip install 'parquet-bloom[{extra}]'"


def lacking(what: str, package: str, extra: str) -> UnsupportedError:
    """`what` needs a package that an extra of this one brings."""
    return UnsupportedError(f"{what}: needs {package}, which is not installed: {install(extra)}")


class needing:
    """What is imported inside needs `package`, whose module is called `module`. Without it,
    UnsupportedError says that `what` does."""

    __slots__ = ("_extra", "_module", "_package", "_what")

    def __init__(self, what: str, package: str, extra: str, module: str = "") -> None:
        self._what, self._package, self._extra = what, package, extra
        self._module = module or package

    def __enter__(self) -> None:
        return

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if not isinstance(error, ImportError):
            return
        # Of a.b, a may be missing, or b alone, or what is in it.
        lacked, module = f"{error.name}.", f"{self._module}."
        if module.startswith(lacked) or lacked.startswith(module):
            raise lacking(self._what, self._package, self._extra) from None


def similar(word: str, words: Iterable[str], cutoff: float = 0.5) -> list[str]:
    """Up to three of `words` that may have been meant: those that differ only in case or in zeros before a number,
    or else close ones, of which those that begin with `word.` or end with `.word` come first."""
    from difflib import get_close_matches

    by_case: dict[str, list[str]] = {}
    for each in words:
        by_case.setdefault(_loosely(each), []).append(each)
    wanted = _loosely(word)
    if wanted in by_case:
        return by_case[wanted][:3]
    parts = [
        each for each in by_case if each.startswith(f"{wanted}.") or each.endswith(f".{wanted}")
    ]
    close = dict.fromkeys([*parts, *get_close_matches(wanted, by_case, n=3, cutoff=cutoff)])
    return [each for name in close for each in by_case[name]][:3]


def _loosely(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name.lower())


def quoted_name(name: str) -> str:
    """A name as it stands in a list of names, such as `-c` takes: with quotes as in CSV if it is empty, could be
    taken for several, or would lose spaces."""
    if not name or name != name.strip(" ") or {*name} & {*',"\r\n'}:
        return '"{}"'.format(name.replace('"', '""'))
    return name


# Of the columns that are there, where none is like the one that is not.
_MOST_NAMED = 10


def no_column(name: str, names: Sequence[str], what: str = "file", path: str = "") -> str:
    """`no column userid; did you mean user_id?` `path`: as for did_you_mean."""
    called = f"no column {quoted_name(name)}"
    if matching := _matching(name, names):
        return f"{called}: a pattern, expected names such as {_listed(matching)}"
    hint = did_you_mean(name, names, path)
    if hint:
        return f"{called}{hint}"
    has = "have" if what.endswith("s") else "has"
    known = f"{_listed(names[:_MOST_NAMED])}{', …' * (len(names) > _MOST_NAMED)}" or "no columns"
    return f"{called}; the {what} {has} {known}"


# Before names that are close to a wrong one.
DID_YOU_MEAN = "; did you mean "
# Of one whose values no file has.
IS_PARTITION = "; it is a partition: its values are in"


def did_you_mean(name: str, names: Iterable[str], path: str = "") -> str:
    """`; did you mean user_id?`, if any of `names` is close; of one with a comma that was not quoted, each part is,
    and of one that is several of `names` with commas between, the list of them. What the file at `path` has as a
    partition, as in `country=DE/`, was meant."""
    partitions = [folder.partition("=")[0] for folder in path.split("/")[:-1] if "=" in folder]
    if name in partitions:
        return f"{IS_PARTITION} the paths, not in the files"
    among = list(names)
    parts = re.split(" *, *", name)
    if len(parts) > 1 and {*parts} <= {*among}:
        import json

        return f"{DID_YOU_MEAN}{json.dumps(parts, ensure_ascii=False)}?"
    close = [each for each in among if "," in each and name in re.split(" *, *", each)]
    close = close or [*_similar_columns(name, among), *similar(name, partitions, cutoff=0.6)]
    return f"{DID_YOU_MEAN}{_listed(close[:3])}?" if close else ""


def _similar_columns(name: str, columns: Sequence[str]) -> list[str]:
    """Those that are similar to a name. Of one with dots, first what is on the same path: `user.list.element.id` for
    `user.id`, as nobody types what stands in it for the list, and `user` where whole columns are taken."""
    close = similar(name, columns)
    if {_loosely(each) for each in close} == {_loosely(name)}:
        return close
    wanted = _loosely(name).split(".")
    related = [each for each in columns if _are_on_one_path(wanted, _loosely(each).split("."))]
    return [*dict.fromkeys([*related, *close])]


def _are_on_one_path(wanted: Sequence[str], path: Sequence[str]) -> bool:
    """Whether a path begins and ends as is wanted, with the parts between in the same order, or is of what the wanted
    one is in."""
    if len(path) < len(wanted):
        return path == wanted[: len(path)]
    parts = iter(path)
    return (path[0], path[-1]) == (wanted[0], wanted[-1]) and all(each in parts for each in wanted)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(quoted_name, names))


def _matching(pattern: str, names: Sequence[str]) -> list[str]:
    """Up to three of `names` that a shell's pattern means; none if it is no pattern."""
    from fnmatch import filter

    return filter(names, pattern)[:3] if "*" in pattern else []


# What replaces a file that is there, as Python's callers say it.
REPLACE = "use overwrite=True to replace it"

# And of one of several outputs in a folder.
REPLACE_OR_RESUME = f"{REPLACE}, or resume=True to go on with the others"

# What makes values of a column of others.
LIST = "pass a list of literals"
LITERAL = "pb.literal(…) to read it from text"
TEXT = "str(…) to make text of it"
AS_COLUMN = "without read_as, it is a value of the column"

# Which names the catalog of a table.
CATALOG = "catalog=NAME"
IN_CATALOG = "catalog=NAME, in a TableView for what reads"

# What takes more files.
INDEX_ADD = "add of pb.Index"

# What gives the key that the hashes of an index are made with.
HASH_KEY = "hash_key=KEYSPEC"

# What they say of an option, and what users of the command say.
_BY_COMMAND = {
    "overwrite=True": "--overwrite",
    "resume=True": "--resume",
    "in_place=True": "--in-place",
    "unconditional=True": "--unconditional",
    "sole_writer=True": "--sole-writer",
    "union_by_name=True": "--union-by-name",
    "unparsed=True": "--unparsed",
    "by build_table, repair_table and strip_table, which also commit the new sizes": (
        "with --table of `pbloom build`, `repair` and `strip`, which also commits the new sizes"
    ),
    "write copies with output=": "write copies with -o or --output-dir",
    "build_table and repair_table append without a commit (commit=False)": (
        "build and repair append without a commit (--no-commit)"
    ),
    # Which has the shorter one in it.
    IN_CATALOG: "--catalog NAME",
    CATALOG: "--catalog NAME",
    HASH_KEY: "--hash-key",
    INDEX_ADD: "pbloom index add",
    "expected columns=": "name them with -c",
    LIST: "repeat -v for each",
    "to_arrow of what `probe` answers can be joined": (
        "`pbloom index probe -o FILE.parquet` writes an answer about more, to be joined"
    ),
    AS_COLUMN: "without --type, it is a value of the column",
    LITERAL: "--type TYPE to read it from text (values from .txt or .csv, where files have several types)",
    TEXT: "values from .txt or .csv, which each file reads as its own type, or --type string where all have text",
}

# What an install without its dependencies may lack: docs/install.md.
_LACKED = ("numpy", "orjson", "pyarrow", "rich")

# The columns that were meant, and one of a list of them.
_MEANT_COLUMNS = re.compile(r"(?<=; did you mean ).+?(?=\?$|\?; )", re.DOTALL)
_LISTED = re.compile(r'"(?:[^"]|"")*"|[^", ][^,]*')
# What a shell does not take as it is.
_OF_SHELLS = re.compile(r"[^\w@%+=:,./-]")

# Keys that nobody was asked for, and what gives them.
COLUMN_KEY_GIVEN_BY = "--column-key or --keys gives it"
FOOTER_KEY_GIVEN_BY = "--footer-key, --uniform-key or --keys gives it"
# One that key material names: that of the footer or column itself is in nobody's hands. Any other is nothing that a
# KMS could unwrap.
WRAPPED_KEY_GIVEN_BY = "--keys, --kms or --master-key gives it"
NO_MATERIAL = "no such key material file beside the Parquet file"
MATERIAL_FOUND_BY = "copy it under this name, or --key-material names it"
# The first that is in a message is said of it.
_GIVE_KEYS = {
    " (wrapped by master key ": WRAPPED_KEY_GIVEN_BY,
    " (key material ": WRAPPED_KEY_GIVEN_BY,
    "no key for the footer": FOOTER_KEY_GIVEN_BY,
    "no key for column ": COLUMN_KEY_GIVEN_BY,
    NO_MATERIAL: MATERIAL_FOUND_BY,
}

# What Python says.
_NO_THREAD = "can't start new thread"


def complaint(error: BaseException) -> str:
    """The error message for the user of the command."""
    return without_secrets(_said(error))


def _said(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, MissingKeyError):
        ways = [way for missed, way in _GIVE_KEYS.items() if missed in str(error)]
        return "; ".join((for_command(str(error)), *ways[:1]))
    if isinstance(error, ParquetBloomError | ValueError | OSError):
        return for_command(str(error))
    if isinstance(error, MemoryError):
        return "out of memory"
    if isinstance(error, RuntimeError) and str(error) == _NO_THREAD:
        return "the system starts no more threads; --threads 1 needs none"
    if isinstance(error, ModuleNotFoundError) and error.name in _LACKED:
        return f"needs {error.name}, which is not installed: pip install {error.name}"
    if isinstance(error, ImportError) or _is_of_lost_package(error):
        return f"part of the installation is missing or cannot be read: {error}"
    return f"internal error, please report what --debug shows: {type(error).__name__}: {error}"


def for_command(message: str) -> str:
    """A message of Python's callers, as the command says it: with what its users can do."""
    for name, option in _BY_COMMAND.items():
        message = message.replace(name, option)
    return _MEANT_COLUMNS.sub(_for_shells, message) if "no column " in message else message


def _for_shells(names: re.Match[str]) -> str:
    """The columns as shells take them. Several options take some, and nothing tells here which was typed."""
    import json
    import shlex

    # No name in a list begins so: it would be in quotes.
    if names[0].startswith('["'):
        return shlex.quote(",".join(map(quoted_name, json.loads(names[0]))))
    meant: list[str] = _LISTED.findall(names[0])
    return ", ".join(shlex.quote(name) if _OF_SHELLS.search(name) else name for name in meant)


def _is_of_lost_package(error: BaseException) -> bool:
    """Whether Python could not look into the folder of a package: it then takes it for a namespace, in
    which nothing is."""
    package = error.obj if isinstance(error, AttributeError) else None
    spec = package.__spec__ if isinstance(package, ModuleType) else None
    return spec is not None and spec.origin is None


def complaint_about(path: str, error: Exception) -> str:
    """The same for one of many files; adds the path if the error does not name it."""
    message = complaint(error)
    names_a_file = isinstance(error, ParquetBloomError) or getattr(error, "filename", None)
    shown = without_secrets(path)
    return message if names_a_file or shown in message else f"{shown}: {message}"
