"""Options of commands that read the live files of a table of a lake, or change them."""

from __future__ import annotations

import re
import shlex
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import Any, Final

import click
from click.core import ParameterSource

from parquet_bloom.commands.parameters import Number, any_size, moment
from parquet_bloom.commands.sections import SIZE, Callback, Decorator, table_option, together
from parquet_bloom.errors import TableFolderWarning
from parquet_bloom.options import FILES_PER_COMMIT, TableOptions, TableView
from parquet_bloom.render.terminal import complain
from parquet_bloom.verbs.table_folders import tables_among
from parquet_bloom.vocabulary import NULL_PARTITION, TableChoice, words

# The parameters that say which files, when they are not those of a table; and which of those are changed,
# all of which get one commit.
_WHICH_FILES = {"manifest", "union_by_name"}
_WHICH_CHANGED = {*_WHICH_FILES, "shard"}

# The options of a table by name, as click gives them.
_Given = dict[str, Any]

# Conditions that people know from elsewhere.
_IN: Final = re.compile(r"\s*(\S+)\s+in\s*\((.+)\)\s*", re.IGNORECASE | re.DOTALL)
_OF_OTHERS: Final = re.compile(r"[\s<>!]")
_IS_NULL: Final = re.compile(r"\s*(\S+)\s+is\s+null\s*", re.IGNORECASE)


def _partitions(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> dict[str, tuple[str, ...]]:
    """The values that are wanted of each column."""
    found: dict[str, tuple[str, ...]] = {}
    for text in texts:
        if meant := _as_in_sql(text):
            raise click.BadParameter(f"{text!r}: expected COLUMN=VALUE, as in {meant}")
        name, is_given, value = text.partition("=")
        if not is_given or not name:
            no_other = "; no other condition can be asked" * bool(_OF_OTHERS.search(text))
            raise click.BadParameter(f"{text!r}: expected COLUMN=VALUE{no_other}")
        if name != name.strip():
            raise click.BadParameter(f"{text!r}: expected COLUMN=VALUE, without blanks around =")
        found[name] = (*found.get(name, ()), value)
    return found


def _as_in_sql(text: str) -> str:
    """The options for a condition of SQL that asks for values or null: `--where day=1 --where day=2` for `day IN
    (1, 2)`; empty for any other."""
    if found := _IN.fullmatch(text):
        values = [each.strip().strip("'\"") for each in found[2].split(",")]
    elif found := _IS_NULL.fullmatch(text):
        values = [NULL_PARTITION]
    else:
        return ""
    return " ".join(f"--where {shlex.quote(f'{found[1]}={value}')}" for value in values)


# With --table, what is to be done instead.
_INSTEAD: Final = {
    "columns": ": strip takes back all filters that were appended to a table's files, and those of single columns"
    " go only when a writer rewrites the files",
    "auto": ": name the columns with -c; `pbloom advise --table auto TABLE` recommends some",
    "union_by_name": ", which says what is null where its files lack a column",
    "in_place": ", which changes the files of the table in any case",
}

# Without it.
_WITHOUT: Final = {
    "where": "; of other files, name the folder of the partition, as in lake/day=1/",
}

_kind = table_option(
    "--table",
    "table",
    type=click.Choice(words(TableChoice)),
    help="Take what is named for folders of tables of this kind, which stand for their live files; auto detects the"
    " kind. To change an Iceberg table, or to name it by its identifier, give --catalog, too.",
)
_catalog = table_option(
    "--catalog",
    metavar="NAME",
    help="Take what is named for identifiers of Iceberg tables, such as lake.events, in this catalog from"
    " PyIceberg's configuration.",
)
_where = table_option(
    "--where",
    multiple=True,
    callback=_partitions,
    metavar="COLUMN=VALUE",
    help="Only files that may have rows in this partition, with the value as the table"
    f" stores it; repeatable: of several values of a column, any. {NULL_PARTITION} is null.",
)
_version = table_option(
    "--version",
    "version",
    callback=lambda ctx, param, text: (
        int(text) if text and text.isascii() and text.isdecimal() else text
    ),
    metavar="N",
    help="The table as of this version or snapshot, or the NAME of a branch or tag.  [default: the latest]",
)
_as_of = table_option(
    "--as-of",
    callback=lambda ctx, param, text: None if text is None else moment(text),
    metavar="TIME",
    help="The table as of this time: 2026-11-20, 2026-11-20T06:00Z; UTC unless it says otherwise.",
)
sole_writer = table_option(
    "--sole-writer",
    is_flag=True,
    help="Promise that nobody else writes to the table meanwhile; needed on S3.",
)
files_per_commit = table_option(
    "--files-per-commit",
    type=Number(1),
    default=FILES_PER_COMMIT,
    metavar="N",
    help="Commit after at most so many files, at the end of a partition if possible."
    f"  [default: {FILES_PER_COMMIT:,}]",
)
_no_commit = table_option(
    "--no-commit",
    "commit",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Do not record the new sizes yet; the next run does.",
)
_min_file_size = table_option(
    "--min-file-size",
    callback=any_size,
    metavar=SIZE,
    help="Leave smaller files as they are: until the commit, and in older versions of the table, Trino cannot read"
    " files of up to 3 MB that have grown.  [default: 4MiB]",
)
_all_sizes = table_option("--all-sizes", is_flag=True, help="Include files of any size.")


_set_properties = table_option(
    "--set-properties",
    is_flag=True,
    help="Also set the properties by which an Iceberg table's writers go on with these filters.",
)


def _with_table(
    options: tuple[Decorator, ...],
    refused: Collection[str],
    make: Callable[[TableChoice | None, _Given], object],
    name: str,
) -> Decorator:
    """The command gets as `name` what `make` makes of the kind of table, None without --table, and of
    these options. `refused`: the parameters that are only about files."""
    options = (_catalog, *options)

    def add(command: Callback) -> Callback:
        @together(_kind, *options)
        @wraps(command)
        def with_table(table: TableChoice | None, **given: object) -> object:
            of_table = {each: given.pop(each) for each in _names(options)}
            if table is None:
                _refuse(of_table, "expected with --table only, such as --table auto", _WITHOUT)
            else:
                _refuse(refused, "not with --table", _INSTEAD)
            return command(**{name: make(table, of_table)}, **given)

        return with_table

    return add


def _names(options: Iterable[Decorator]) -> list[str]:
    """Of the parameters of these options."""

    def probe() -> None: ...

    return [param.name for param in vars(together(*options)(probe))["__click_params__"]]


def _refuse(
    names: Collection[str], why: str, instead: Mapping[str, str] = MappingProxyType({})
) -> None:
    """Raise UsageError for those of these parameters that were given; `instead`: what else helps, by parameter."""
    context = click.get_current_context()
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is ParameterSource.COMMANDLINE
        if is_given and parameter.name in names:
            more = instead.get(parameter.name or "", "")
            if parameter.name == "where" and "texts" in context.params:
                more += "; values of a column are asked for with --value"
            raise click.UsageError(f"{parameter.opts[0]}: {why}{more}")


def _view(table: TableChoice | None, given: _Given) -> TableView | None:
    if given.get("version") is not None and given.get("as_of") is not None:
        raise click.UsageError("expected at most one of --version and --as-of")
    if table is None:
        names = click.get_current_context().params.get("files") or ()
        tell_tables(tables_among(names, "--table {}"))
        return None
    return TableView(kind=table, **given)


def tell_tables(said_of_tables: Iterable[str]) -> None:
    """Who asks the folder of a table may mean the table; what is said, see tables_among."""
    for said in said_of_tables:
        complain(said)
        # Which says the same to Python users.
        warnings.simplefilter("ignore", TableFolderWarning)


def _changing(table: TableChoice | None, given: _Given) -> TableOptions | None:
    if table is None:
        return None
    from parquet_bloom.tables.table import MIN_FILE_SIZE

    all_sizes, least = given.pop("all_sizes", False), given.pop("min_file_size", None)
    if all_sizes and least is not None:
        raise click.UsageError("expected at most one of --min-file-size and --all-sizes")
    if given.get("set_properties") and not given["commit"]:
        raise click.UsageError("--set-properties: not with --no-commit")
    size = 0 if all_sizes else MIN_FILE_SIZE if least is None else least
    return TableOptions(kind=table, min_file_size=size, **given)


# With --table, a command that reads gets a TableView as `view`, else None.
table_views = _with_table((_where, _version, _as_of), _WHICH_FILES, _view, "view")
# Of a command that reads the tables again whenever it is called.
newest_tables = _with_table((), (), _view, "view")


def in_tables(*options: Decorator, refused: Collection[str]) -> Decorator:
    """With --table, the command gets the TableOptions as `of_table`, else None. `refused`: the
    parameters that are only about files."""
    return _with_table((_where, *options), {*refused, *_WHICH_CHANGED}, _changing, "of_table")


_APPENDING = (files_per_commit, _no_commit, sole_writer, _min_file_size, _all_sizes)


def appending_in_tables(refused: Collection[str]) -> Decorator:
    """The same, for a command that appends to files."""
    return in_tables(*_APPENDING, refused=refused)


def building_in_tables(refused: Collection[str]) -> Decorator:
    """The same, for filters that the table's writers can go on with."""
    return in_tables(*_APPENDING, _set_properties, refused=refused)
