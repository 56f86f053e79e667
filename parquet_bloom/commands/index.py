"""pbloom index"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NoReturn

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.key_options import arguments_of, hash_key_arguments, index_add_again
from parquet_bloom.commands.key_options import hash_key as hash_key_option
from parquet_bloom.commands.parameters import PARQUET_FILE
from parquet_bloom.commands.sections import (
    Command,
    encryption_option,
    files_option,
    output_option,
    together,
)
from parquet_bloom.commands.store_options import storage_options, store_options_again, stores
from parquet_bloom.commands.table_options import newest_tables, table_views
from parquet_bloom.container import Units, number_of, some_of
from parquet_bloom.errors import for_command, quoted_name
from parquet_bloom.index.manifest import IndexForm, Places, changes_in_words, unknown_in_words
from parquet_bloom.index.names import lasting
from parquet_bloom.program import FINE, NO, TROUBLE, Ordered
from parquet_bloom.render.hints import command, next_line, not_listed
from parquet_bloom.render.palette import painted
from parquet_bloom.render.stopwatch import Stopwatch
from parquet_bloom.render.terminal import (
    complain,
    progress,
    write_json,
    write_line,
    write_table,
    write_text,
)
from parquet_bloom.render.value_lines import taken_whole
from parquet_bloom.render.wording import (
    MOST_SHOWN,
    SHOWS_ALL,
    as_indexed,
    files_in,
    files_named,
    shortened,
    size,
)
from parquet_bloom.storage.left_out import LeftOut
from parquet_bloom.values.given import show_value
from parquet_bloom.verbs.index_probe import (
    IndexedFile,
    IndexedValue,
    IndexedValues,
    IndexReport,
    probe_index,
    terms_of,
)
from parquet_bloom.verbs.index_sql import SqlEngine, index_sql
from parquet_bloom.verbs.left_out_files import left_out
from parquet_bloom.vocabulary import BY_NAME, NOT_SLICED, words

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.index.manifest import Manifest
    from parquet_bloom.options import TableView
    from parquet_bloom.verbs.index_change import IndexChange, NotIndexed
    from parquet_bloom.verbs.index_check import IndexCheck, IndexFinding
    from parquet_bloom.verbs.index_compact import IndexCompaction
    from parquet_bloom.vocabulary import Verdict

# What is shown of the files of one value, or with one problem; all of them are in the document.
MOST_FILES = 20
# Nobody has to make it anew for that.
_LACKING = (
    "where a file has no such column, it is `unknown` to index probe and find, unless their --union-by-name takes the"
    " column as null there"
)

_NOTHING = "nothing is indexed, so that every answer is unknown: --form map indexes values instead"
# So many places of an index are named in a line; of more, some.
_MOST_PLACES = 5
_MOST_NAMED = 3
_WHERE_FILTERS_HELP = ", and pbloom build adds filters to Parquet files"

_index = files_option(
    "--index", "index_path", required=True, metavar="DIR", help="Folder of the index; can be a URL."
)


@click.group(cls=Ordered)
def index() -> None:
    """Which of many files hold a value, without opening them.

    An index is a folder of Parquet files: for every value a short hash of it, and in which files, row groups or
    pages it is.

    \b
    Examples:
      pbloom index build --index events.index -c user_id events.parquet
      pbloom index add --index events.index lake/
      pbloom index probe --index events.index -c user_id -v 123456
    """


@index.command(cls=Command)
@file_options.file_argument("files", nargs=-1, required=True, metavar="FILE...")
@newest_tables
@_index
@option.columns(required=True)
@files_option(
    "--places",
    type=click.Choice(words(Places)),
    default="row-group",
    show_default=True,
    help="What an answer leads to; a page is a data page of the column.",
)
@files_option(
    "--form",
    type=click.Choice(words(IndexForm)),
    default="map",
    show_default=True,
    help="map: of all values; slices: of the filters that Parquet files have, whose values are not read; auto: "
    "slices of those with a filter in every row group, a map of others.",
)
@files_option(
    "--overwrite",
    is_flag=True,
    help="Make it anew where there is an index already, even a damaged one: of that one, nothing is read but whether"
    " it has a --hash-key.",
)
@option.as_json("index")
@option.quiet
@option.threads
@encryption_option(
    "--include-encrypted",
    is_flag=True,
    help="Index encrypted columns, too, with their keys. Whoever has the index can try values, unless it has a"
    " --hash-key, and count them.",
)
@hash_key_option
@option.access
def build(
    files: tuple[str, ...], index_path: str, columns: tuple[str, ...], as_json: bool, quiet: bool,
    keys: Keys | None, threads: int | None, places: Places, form: IndexForm,
    include_encrypted: bool, overwrite: bool, hash_key: str | None, view: TableView | None,
) -> None:  # fmt: skip
    """Make an index over files.

    FILE is a path, a glob, a folder or a URL, or with --table a table; `index add` looks at all of them again.
    Columns that are encrypted are left out, unless --include-encrypted: the index holds hashes of values in the open.
    Files need not have every column: of one that a file lacks, the file is `unknown` to `index probe` and `find`, or
    without the value with their --union-by-name. Exit code 2: a file could not be read in full.

    \b
    Examples:
      pbloom index build --index lake.index -c user_id,time lake/
      pbloom index build --index pages.index -c user_id --places page lake/
      pbloom index build --index more.index -c user_id --form auto lake/ more/
    """
    from parquet_bloom.verbs.index_change import build_index

    option.check_quiet(quiet, {"--json": as_json})
    stopwatch = Stopwatch()
    with progress("index") as show:
        report = build_index(
            index_path, files, columns, table=view, places=places, form=form,
            include_encrypted=include_encrypted, overwrite=overwrite, hash_key=hash_key, keys=keys,
            storage_options=storage_options(), threads=threads, progress=show,
        )  # fmt: skip
    if form == "slices" and (nothing_of := _nothing_of(report)):
        are_some = {*nothing_of} != {*columns}
        of_some = f"{', '.join(map(quoted_name, nothing_of))}: " * are_some
        are_of_orc = all(each.reason == NOT_SLICED for each in report.not_indexed)
        complain(f"{of_some}{_NOTHING}{'' if are_of_orc else _WHERE_FILTERS_HELP}")
    _end_with(report, as_json, quiet, stopwatch.so_far(report.files))


def _nothing_of(report: IndexChange) -> list[str]:
    """The columns that are not indexed in any file of a new index."""
    num_files = Counter(each.column for each in report.not_indexed)
    return [column for column, num in num_files.items() if num == report.files]


@index.command(cls=Command)
@file_options.file_argument("files", nargs=-1, metavar="[FILE...]")
@newest_tables
@_index
@option.as_json("index")
@option.quiet
@option.threads
@hash_key_option
@option.access
def add(
    files: tuple[str, ...], index_path: str, as_json: bool, quiet: bool, keys: Keys | None,
    threads: int | None, hash_key: str | None, view: TableView | None,
) -> None:  # fmt: skip
    """Bring an index up to date: add what is new or has changed, forget what is gone.

    Looks at the files, folders, globs and tables that the index was made over, and at each FILE, which belongs to
    them from now on. Its columns stay what they are: another one takes an index in a folder of its own,
    by `index build`.

    What it knows of a place at which nobody may look stays as it was. Exit code 2: there is such a place, or a file
    could not be read in full.

    \b
    Examples:
      pbloom index add --index events.index
      pbloom index add --index events.index lake/ more/
      pbloom index add --index events.index -q
    """
    from parquet_bloom.verbs.index_change import PlaceGoneError, add_to_index

    option.check_quiet(quiet, {"--json": as_json})
    stopwatch = Stopwatch()
    try:
        with progress("index") as show:
            report = add_to_index(
                index_path, files, table=view, hash_key=hash_key, keys=keys, storage_options=storage_options(),
                threads=threads, progress=show,
            )  # fmt: skip
    except PlaceGoneError as error:
        add_it = index_add_again(
            index_path, hash_key, keys, (*_as_tables(view), *(files or ["FILE..."]))
        )
        forget = _forgetting(index_path, error.names, add_it)
        raise FileNotFoundError(
            error.errno, f"{error.problem}: {forget}", error.filename
        ) from error
    _end_with(report, as_json, quiet, stopwatch.so_far(report.files))


def _forgetting(index_path: str, names: Sequence[str], add_it: str) -> str:
    """What to do about places that are gone, in order."""
    again = store_options_again()
    few = names if len(names) <= _MOST_PLACES else (*names[:_MOST_NAMED], "PLACE...")
    forget = f"`{command('index', 'remove', '--index', index_path, *few, *again)}`"
    if few is not names:
        check_it = command("index", "check", "--index", index_path, "--json", *again)
        forget += f" with all {len(names):,} places, which `{check_it}` names,"
    return f"{forget} forgets what is gone for good or has moved, then `{add_it}` adds what is elsewhere by now"


def _as_tables(view: TableView | None) -> tuple[str, ...]:
    """The options with which tables were named."""
    if view is None:
        return ()
    catalog = () if view.catalog is None else ("--catalog", view.catalog)
    return ("--table", view.kind, *catalog)


@index.command(cls=Command)
@file_options.file_argument("files", nargs=-1, required=True, metavar="FILE...")
@_index
@option.as_json("index")
@stores
def remove(files: tuple[str, ...], index_path: str, as_json: bool) -> None:
    """Forget files: what was named for build or add, files, all that is in folders, or what globs match.

    What is still there in a place that the index is about comes back with the next `index add`.

    \b
    Examples:
      pbloom index remove --index events.index lake/2019/
      pbloom index remove --index events.index 'lake/*.parquet'
      pbloom index remove --index events.index lake/ --json
    """
    from parquet_bloom.verbs.index_change import remove_from_index

    report = remove_from_index(index_path, files, storage_options=storage_options())
    _end_with(report, as_json, code=FINE)


@index.command(cls=Command)
@file_options.file_argument("files", nargs=-1, metavar="[FILE...]")
@file_options.manifest_option
@table_views
@_index
@option.columns(required=True)
@option.literals
@option.only_verdict
@option.as_json("index")
@output_option(
    "--verbose", is_flag=True, help="Show every value and every file, however many they are."
)
@output_option(
    "-o",
    "--output",
    type=PARQUET_FILE,
    help="Of one --column, write a row for each value and file that may hold it to this Parquet file, too, for "
    "engines to join, and one for each value that is absent.",
)
@option.overwrite_answer
@file_options.union_by_name
@hash_key_option
@together(option.memory, stores)
def probe(
    files: tuple[str, ...], manifest: str | None, view: TableView | None, index_path: str,
    columns: tuple[str, ...], only: Verdict | None, as_json: bool, verbose: bool,
    output: Path | None, overwrite: bool, union_by_name: bool, **given: Any,
) -> None:  # fmt: skip
    """Ask an index which files may hold values, and where in them.

    The answer is about all files as they were when the index was made or added to; only those that may hold a value
    are looked at again, and one that has changed since, or is gone, is `unknown` for this value, as is one at which
    nobody may look. Of files that are named, by FILE or --manifest, it is about their state now, and with --table
    about the live files of these tables: each that the index does not know in this state is `unknown`. A verdict is
    `absent` (certain), `maybe`, or `unknown` with the reason. Exit code 1: every value is absent everywhere; 2: a
    file is `unknown`.

    \b
    Examples:
      pbloom index probe --index events.index -c user_id -v 123456
      pbloom index probe --index events.index -c user_id -v 123456 -o a.parquet
      pbloom index probe --index events.index -c user_id -v 123456 lake/
    """
    if view is not None and not files:
        raise click.UsageError("--table: expected FILE, the tables")
    if output is not None and len(set(columns)) > 1:
        raise click.UsageError(
            "--output: expected one --column; another one takes a call of its own"
        )
    if only and (as_json or len(set(columns)) > 1):
        raise click.UsageError("expected --only with one --column, and without --json")
    named: Sequence[str] = files
    if manifest is not None:
        if files:
            raise click.UsageError("expected FILE or --manifest, not both")
        found, _ = file_options.FilesAsked((), manifest, None, None).found(LeftOut())
        named = [file.path for file in found]
    if output is not None:
        from parquet_bloom.verbs.answer_file import check_free

        check_free([output], named or terms_of(index_path, storage_options()).sources, overwrite)
    code, unasked, is_outdated = NO, "", False
    files_gone: set[str] = set()
    add_to_it = index_add_again(index_path, given["hash_key"])
    for column in dict.fromkeys(columns):
        report = probe_index(
            index_path, column, given["values"], files=named or None, table=view, union_by_name=union_by_name,
            hash_key=given["hash_key"], storage_options=storage_options(),
        ).worded(for_command)  # fmt: skip
        if output is not None:
            from parquet_bloom.verbs.table_file import save_table

            save_table(report.to_arrow(), [index_path], output, overwrite=overwrite)
        if as_json:
            write_json(report)
        elif only:
            _write_values_with(only, report, given["values"])
        else:
            _write_answers(report, verbose)
        if not report.results.are_all_known:
            code = TROUBLE
        elif not report.is_absent and code != TROUBLE:
            code = FINE
        if report.as_indexed:
            unasked = not_listed(add_to_it, are_tables=bool(report.tables))
        is_outdated |= report.is_outdated
        files_gone |= report.results.files_gone
    if files_gone and not as_json and (gone := _places_gone(index_path, files_gone)):
        add_elsewhere = index_add_again(index_path, given["hash_key"], named=["FILE..."])
        complain(f"{gone[0]}: is no more: {_forgetting(index_path, gone, add_elsewhere)}")
    elif unasked and not as_json:
        complain(unasked)
    elif is_outdated and not as_json:
        complain(
            f"{index_path}: not up to date: `{add_to_it}` reads what was added or changed in the places that the"
            " index is about; name those that were never added, or were removed, too"
        )
    if code == NO and (hint := taken_whole(given["values"])):
        complain(hint)
    sys.exit(code)


def _places_gone(index_path: str, files_gone: Collection[str]) -> Sequence[str]:
    """The local folders and globs of an index with these files that are gone as a whole."""
    from parquet_bloom.verbs.index_change import places_not_there

    return places_not_there(terms_of(index_path, storage_options()).sources, files_gone)


@index.command(cls=Command)
@_index
@files_option(
    "--all",
    "everything",
    is_flag=True,
    help="Merge large segments, too: nothing is left of files that are gone.",
)
@option.older_than
@option.as_json("index")
@together(option.memory, stores)
def compact(index_path: str, everything: bool, older_than: float, as_json: bool) -> None:
    """Merge what many calls of `index add` have written, and remove what the index needs no more.

    Others may ask the index and add to it meanwhile. What they may still read is removed by a later run, once it
    is older than --older-than.

    \b
    Examples:
      pbloom index compact --index events.index
      pbloom index compact --index events.index --all
      pbloom index compact --index events.index --older-than 1d --json
    """
    from parquet_bloom.verbs.index_compact import compact_index

    with progress("segments") as show:
        report = compact_index(
            index_path, everything=everything, older_than=older_than,
            storage_options=storage_options(), progress=show,
        )  # fmt: skip
    if as_json:
        write_json(report)
        return
    for _ in range(report.outpaced):
        complain(f"{report.index}: not merged: somebody else was faster")
    written = f"; {_written(report.keys, report.filters, report.bytes_written)}"
    removed = f"; {number_of(report.removed, 'file')} removed, {size(report.bytes_removed)}"
    write_text(
        f"{report.index}: {_merged(report, everything)}"
        f"{written * bool(report.bytes_written)}{removed * bool(report.removed)}"
    )
    if report.unneeded:
        write_text(
            f"{number_of(report.unneeded, 'file')} left that nothing needs, {size(report.bytes_unneeded)}:"
            " a later run removes what nothing has needed for an hour, or for --older-than"
        )


def _merged(report: IndexCompaction, everything: bool) -> str:
    segments = number_of(report.segments, "segment")
    if report.merged:
        before = report.segments - report.merged_into + report.merged
        became = f"merged into {report.merged_into:,}"
        if not report.merged_into:
            became = "removed, of files that are gone"
        elif report.merged_into == report.merged:
            became = "written anew, without what is gone"
        return f"{some_of(report.merged, before, 'segment')} {became}, {report.segments:,} now"
    if report.outpaced:
        return f"nothing merged, {segments} now"
    unlike = (
        "of other columns or types"
        if everything
        else "too different in size, or of other columns or types"
    )
    return f"{segments}, nothing to merge" + f": {unlike}" * (report.segments > 1)


@index.command(cls=Command)
@file_options.file_argument("files", nargs=-1, metavar="[FILE...]")
@newest_tables
@_index
@files_option(
    "--deep",
    is_flag=True,
    help="Read all files again: every value is found where it is, and nothing else is; slices have the bits of their "
    "filters.",
)
@option.as_json("index")
@option.threads
@hash_key_option
@option.access
def check(
    files: tuple[str, ...], index_path: str, deep: bool, as_json: bool, keys: Keys | None,
    threads: int | None, hash_key: str | None, view: TableView | None,
) -> None:  # fmt: skip
    """Prove an index: that it is whole, and that it knows all files as they are now.

    With FILE, of all files only these are looked at, and what the index knows in these folders. Without --deep, size,
    time of change or ETag tell whether a file has changed, and none is opened:
    one that can no longer be read goes unnoticed.

    Exit code 1: something is wrong, in a line for each, up to 20 of a kind. What is new, changed or gone takes an
    `index add`; what is damaged, lost or unexplained a new index; anything else files that can be looked at.
    Exit code 2: a file could not be read in full when it was indexed; `index add` ends so, too. One that was restored
    with the time of change that it had is taken for what it was: --deep says that it can be read by now.

    \b
    Examples:
      pbloom index check --index events.index
      pbloom index check --index events.index --deep lake/2019/
      pbloom index check --index events.index --deep --json
    """
    from parquet_bloom.verbs.index_check import check_index

    if view is not None and not files:
        raise click.UsageError("--table: expected FILE, the tables")
    stopwatch = Stopwatch()
    with progress("files") as show:
        report = check_index(
            index_path, files=files or None, table=view, deep=deep, hash_key=hash_key, keys=keys,
            storage_options=storage_options(), threads=threads, progress=show,
        )  # fmt: skip
    if as_json:
        write_json(report)
    else:
        _write_check(report, stopwatch.so_far(report.files_checked))
        if report.is_about_nothing:
            complain(_about_nothing(report))
        again = *store_options_again(), *arguments_of(keys), *hash_key_arguments(hash_key)
        if report.is_mended_by_add:
            named = _to_add(report, files, view)
            write_text(next_line("index", "add", "--index", report.index, *named, *again))
        elif report.is_mended_by_remove:
            gone = *report.places_gone, *store_options_again()
            write_text(next_line("index", "remove", "--index", report.index, *gone))
            write_text(next_line("index", "add", "--index", report.index, "FILE...", *again))
        elif report.is_mended_by_forgetting:
            for line in _reading_again(report, again):
                write_text(line)
        elif report.is_mended_anew:
            terms = terms_of(index_path, storage_options())
            key = ("--hash-key", "KEYSPEC") if terms.key_check and hash_key is None else ()
            anew = _to_build_anew(report, terms)
            write_text(next_line("index", "build", *anew, *again, *key))
    code = NO if report.findings else FINE
    sys.exit(TROUBLE if report.failed else code)


def _reading_again(report: IndexCheck, again: Sequence[str]) -> Iterator[str]:
    """The commands after which files count that can be read by now. What was given by its own name is to be given
    again."""
    stores, few = store_options_again(), report.readable
    sources = {*terms_of(report.index, storage_options()).sources}
    named = [path for path in few if not sources.isdisjoint(lasting([path]))]
    if len(few) > _MOST_PLACES:
        few, named = (*few[:_MOST_NAMED], "FILE..."), ["FILE..."] * bool(named)
    yield next_line("index", "remove", "--index", report.index, *few, *stores)
    yield next_line("index", "add", "--index", report.index, *named, *again)


def _to_add(report: IndexCheck, files: Sequence[str], view: TableView | None) -> Sequence[str]:
    """The names that `add` needs: of what is new, it may not be about them yet."""
    if not any(finding.problem == "new" for finding in report.findings):
        return ()
    return (*_as_tables(view), *files)


def _write_check(report: IndexCheck, took: str) -> None:
    _name(report.not_indexed)
    write_text(_about(report))
    _write_findings(report.findings)
    compact_it = command("index", "compact", "--index", report.index, *store_options_again())
    left = f"; {number_of(report.unneeded, 'file')} not needed, {size(report.bytes_unneeded)}: `{compact_it}`"
    one = report.unneeded == 1
    left += (
        f" removes {'it once it is' if one else 'them once they are'} an hour old (--older-than)"
    )
    unknown = unknown_in_words(len({each.path for each in report.not_indexed}), report.failed)
    write_text(
        f"{report.index}: {number_of(len(report.findings), 'finding')}:"
        f" {some_of(report.files_checked, report.files, 'file')}{unknown}, "
        f"{_counts(report.keys, report.filters)}{_proved(report)}{_gone(report)}{left * bool(report.unneeded)}{took}"
    )


def _about(report: IndexCheck) -> str:
    """`lake.index: id, time by row group: map of 10.2 KiB, as indexed 2026-11-27 08:12 UTC`"""
    forms = ["slices"] if report.filters else []
    if report.keys or not report.filters:
        forms.insert(0, "map")
    columns = ", ".join(map(quoted_name, report.columns))
    places = report.places.replace("-", " ")
    made = as_indexed(report.made)
    return f"{report.index}: {columns} by {places}: {' and '.join(forms)} of {size(report.size)}, {made}"


def _gone(report: IndexCheck) -> str:
    """`; 900 of 3,600 keys are of files that are gone, have changed, are damaged, or were indexed twice: …`"""
    counts = (
        (report.keys_gone, report.keys, "key"),
        (report.filters_gone, report.filters, "filter"),
    )
    parts = [some_of(gone, num, noun) for gone, num, noun in counts if gone]
    whose = "are of files that are gone, have changed, are damaged, or were indexed twice at a time"
    compact_it = command(
        "index", "compact", "--index", report.index, "--all", *store_options_again()
    )
    return f"; {' and '.join(parts)} {whose}: `{compact_it}` removes them" if parts else ""


def _to_build_anew(report: IndexCheck, terms: Manifest) -> Iterator[str]:
    """What an index was built with, of which nothing but the manifest need be whole."""
    yield from (
        "--overwrite",
        "--index",
        report.index,
        "-c",
        ",".join(map(quoted_name, terms.columns)),
    )
    yield from ("--places", terms.places) if terms.places != "row-group" else ()
    yield from ("--form", terms.form) if terms.form != "map" else ()
    if terms.include_encrypted:
        yield "--include-encrypted"
    ways = {(table.kind, table.catalog) for table in terms.tables}
    if len(ways) + bool(terms.sources) > 1:
        # No command is about both.
        yield "FILE..."
        return
    for kind, catalog in ways:
        yield from ("--table", kind)
        yield from () if catalog is None else ("--catalog", catalog)
    yield from (*terms.sources, *(table.name for table in terms.tables))


def _write_findings(findings: Sequence[IndexFinding]) -> None:
    """Of each kind, so that many files that changed hide nothing else."""
    by_problem: dict[str, list[str]] = {}
    for finding in findings:
        by_problem.setdefault(finding.problem, []).append(finding.message)
    for problem, messages in by_problem.items():
        for message in messages[:MOST_FILES]:
            write_text(f"{problem}: {message}")
        if len(messages) > MOST_FILES:
            write_text(f"{problem}: {len(messages) - MOST_FILES:,} more: --json shows all")


def _about_nothing(report: IndexChange | IndexCheck) -> str:
    add_it = command("index", "add", "--index", report.index, "FILE...", *store_options_again())
    return f"{report.index}: is about no file or folder any more: `{add_it}` names some"


def _proved(report: IndexCheck) -> str:
    """Against what is in the files."""
    if not report.deep:
        return "; the files were not read: --deep does that"
    values = f", {number_of(report.values, 'value')} looked up"
    filters = "; filters were compared with those of the files, not with values: pbloom validate does that"
    return values * bool(report.keys or not report.filters) + filters * bool(report.filters)


@index.command(cls=Command)
@_index
@option.columns(required=True)
@option.literals
@output_option(
    "--engine",
    type=click.Choice(words(SqlEngine)),
    default="duckdb",
    show_default=True,
    help="Whose way to name a Parquet file. In Python, DataFusion takes it only from a SessionContext() with "
    "enable_url_table().",
)
@hash_key_option
@stores
def sql(
    index_path: str, columns: tuple[str, ...], values: tuple[Any, ...], engine: SqlEngine,
    hash_key: str | None,
) -> None:  # fmt: skip
    """Print the query that asks an index about a few values, 20 at most.

    DuckDB, polars, DataFusion and Spark answer it as `index probe` does, but for the states of files, at which they
    do not look; of slices, DuckDB alone. A value that is absent has no row. The query is about the index as it is:
    what is added later takes another one, and it fails once an `index compact` has removed what it names.

    \b
    Examples:
      pbloom index sql --index events.index -c user_id -v 123456
      pbloom index sql --index events.index -c user_id -v 123456 -v 123457
      pbloom index sql --index events.index -c user_id -v 123456 --engine spark
    """
    for column in dict.fromkeys(columns):
        query = index_sql(
            index_path, column, values, engine=engine, hash_key=hash_key,
            storage_options=storage_options(),
        )  # fmt: skip
        # Line by line, none of which is folded: what is printed can be run.
        for line in f"{query.text};".split("\n"):
            write_line(line)
        if query.is_long:
            compact_it = command("index", "compact", "--index", index_path, *store_options_again())
            complain(
                f"{column}: {query.num_segments:,} segments are asked one by one: fewer after {compact_it}"
            )


def _end_with(
    report: IndexChange,
    as_json: bool,
    quiet: bool = False,
    took: str = "",
    code: int | None = None,
) -> NoReturn:
    """End with this exit code; if it is None, with that of what the files were found to be."""
    if as_json:
        write_json(report)
    else:
        _write_change(report, quiet, took)
        if report.failed_before and code is None:
            in_full = ("--json",) if report.failed_before > MOST_FILES else ()
            again = (*in_full, *store_options_again())
            check_it = command("index", "check", "--index", report.index, *again)
            of_them = some_of(report.failed_before, report.failed, "file")
            complain(
                f"{of_them} that cannot be read in full: unchanged since that was found, and not tried again;"
                f" `{check_it}` names all, and with --deep tries them again"
            )
        if report.not_known:
            complain(f"{_places(report.not_known)}: not in the index {report.index}")
        if report.still_about:
            add_it = command("index", "add", "--index", report.index, *store_options_again())
            where = _places(report.still_about)
            complain(
                f"what is still there comes back with the next `{add_it}`, which looks at {where}"
            )
        if report.is_about_nothing:
            complain(_about_nothing(report))
        for problem in report.not_listed[:MOST_FILES]:
            complain(f"{problem}; what the index knows of that stays until somebody may look")
        if len(report.not_listed) > MOST_FILES:
            complain(f"{len(report.not_listed) - MOST_FILES:,} more: --json shows all")
        if report.left_out:
            complain(left_out(report.left_out))
    is_in_trouble = report.failed or report.not_listed
    sys.exit((TROUBLE if is_in_trouble else FINE) if code is None else code)


def _places(names: Sequence[str]) -> str:
    """All of a few; of many, where paths would fill a screen, some and their number."""
    if len(names) <= _MOST_PLACES:
        return ", ".join(names)
    some = ", ".join(names[:_MOST_NAMED])
    return f"{some} and {len(names) - _MOST_NAMED:,} more places, which --json names"


def _write_change(report: IndexChange, quiet: bool, took: str) -> None:
    if quiet:
        _name_in_sum(report.not_indexed, report.files)
    else:
        _name(report.not_indexed)
        if any(each.is_lacking for each in report.not_indexed):
            complain(_LACKING)
    counts = changes_in_words(report.added, report.changed, report.removed)
    written = f"; {_written(report.keys, report.filters, report.bytes_written)}"
    is_written = bool(report.keys or report.filters)
    files = f"{number_of(report.files, 'file')}{unknown_in_words(report.unknown, report.failed)}"
    write_text(f"{report.index}: {files}: {counts}{written * is_written}{took}")


def _name_in_sum(not_indexed: Sequence[NotIndexed], num_files: int) -> None:
    """Some of those that are not indexed for each reason."""
    paths: dict[tuple[str, str], list[str]] = {}
    for path, columns, reason in _by_reason(not_indexed):
        paths.setdefault((columns, reason), []).append(path)
    for (columns, reason), of_reason in paths.items():
        complain(f"{files_named(of_reason, num_files)}: {columns}: not indexed: {reason}")


def _name(not_indexed: Sequence[NotIndexed]) -> None:
    found = _by_reason(not_indexed)
    for path, columns, reason in found[:MOST_FILES]:
        complain(f"{path}: {columns}: not indexed: {reason}")
    if len(found) > MOST_FILES:
        complain(f"{len(found) - MOST_FILES:,} more that are not indexed: --json shows all")


def _by_reason(not_indexed: Iterable[NotIndexed]) -> list[tuple[str, str, str]]:
    """Path, columns and reason: what is wrong with a file is mostly wrong with all its columns."""
    columns: dict[tuple[str, str], list[str]] = {}
    for each in not_indexed:
        columns.setdefault((each.path, each.reason), []).append(each.column)
    return [(path, ", ".join(those), reason) for (path, reason), those in columns.items()]


def _written(keys: int, filters: int, num_bytes: int) -> str:
    return f"{_counts(keys, filters)} written, {size(num_bytes)}"


def _counts(keys: int, filters: int) -> str:
    parts = [number_of(filters, "filter")] if filters else []
    if keys or not filters:
        parts.insert(0, number_of(keys, "key"))
    return ", ".join(parts)


def _write_answers(report: IndexReport, in_full: bool) -> None:
    """With `in_full`, every value has a line, and every file is named."""
    when = as_indexed(report.made) if report.as_indexed else "as they are now"
    files = number_of(report.num_files, "file")
    write_text(
        f"{report.column} in {files}, {when}: {size(report.bytes_read)} read{_without(report)}"
    )
    for table in report.tables:
        version = "at several versions" if table.version is None else f"at version {table.version}"
        write_text(f"{table.name} {version}")
    from parquet_bloom.render.by_value import write_files_unknown, write_files_unknown_of_some

    if len(report.results) <= MOST_SHOWN:
        for value in report.results:
            _write_value(value, report, in_full or not sys.stdout.isatty())
    else:
        _write_many(report, in_full)
        write_files_unknown_of_some(report.results.files_unknown_of_some, report.num_files)
    write_files_unknown(report.files_unknown, report.num_files, in_full)


def _without(report: IndexReport) -> str:
    """`; 2 files without the column: null there by union-by-name`"""
    count = number_of(report.files_without_column, "file")
    return f"; {count} without the column: {BY_NAME}" * bool(report.files_without_column)


def _write_values_with(verdict: Verdict, report: IndexReport, values: Iterable[object]) -> None:
    """The values alone, and on stderr the files of which the index does not know."""
    from parquet_bloom.render.by_value import (
        complain_of_unknown,
        complain_of_unknown_of_some,
        write_values_with,
    )

    write_values_with(verdict, report.results, values, report.column)
    complain_of_unknown_of_some(report.results.files_unknown_of_some, report.num_files)
    complain_of_unknown(report.files_unknown, report.num_files)


def _write_many(report: IndexReport, in_full: bool) -> None:
    """A screen of them, unless `in_full`: how many are in no file, some of these, and some of the others."""
    from parquet_bloom.render.by_value import verdict_counts

    values = report.results
    write_text(f"{number_of(len(values), 'value')}: {verdict_counts(report)}")
    if in_full:
        _write_table_of(values, report, in_full)
        return
    left = values.by_themselves
    _write_values_in(_nowhere_else(report), values, left)
    _write_table_of([values[number] for number in left[:MOST_SHOWN]], report, in_full)
    if len(left) > MOST_SHOWN:
        write_text(
            f"and {len(left) - MOST_SHOWN:,} more{_unknown(values, left[max(MOST_SHOWN, report.maybe) :])}:"
            f" {SHOWS_ALL}"
        )


def _write_table_of(values: Iterable[IndexedValue], report: IndexReport, in_full: bool) -> None:
    rows = [
        (show_value(each.value), each.verdict, f"{len(paths):,}", files_in(paths, in_full))
        for each in values
        for paths in [[file.path for file in _of_it_alone(each, report)]]
    ]
    if rows:
        write_table(("value", "verdict", "files", "in"), rows, full=True)


def _unknown(values: IndexedValues, numbers: Sequence[int]) -> str:
    """` (unknown: 7, 8)`, of those that are not shown."""
    some = [show_value(values[number].value) for number in numbers[:MOST_SHOWN]]
    return f" (unknown: {shortened(some, len(numbers))})" * bool(some)


def _nowhere_else(report: IndexReport) -> str:
    """What is known of values that are in none of the files that can be asked: nothing,
    if there are no such files."""
    if len(report.files_unknown) == report.num_files:
        return "unknown in all files"
    return "in no file" + ", unless in one of those below" * bool(report.files_unknown)


def _write_values_in(where: str, values: IndexedValues, others: Sequence[int]) -> None:
    """`in no file: 7, 8, 9`, of all but the others."""
    count = len(values) - len(others)
    if not count:
        return
    left = {*others}
    some = islice((at for at in range(len(values)) if at not in left), MOST_SHOWN)
    write_text(f"{where}: {shortened([show_value(values[at].value) for at in some], count)}")


def _of_it_alone(value: IndexedValue, report: IndexReport) -> Sequence[IndexedFile]:
    """The files that may hold a value, but for those that may hold any; candidates first."""
    if not report.files_unknown:
        return value.files
    of_all = {file.path for file in report.files_unknown}
    return [file for file in value.files if file.verdict == "maybe" or file.path not in of_all]


def _write_value(value: IndexedValue, report: IndexReport, in_full: bool) -> None:
    shown_value = show_value(value.value) or "''"
    if not value.files:
        write_text(f"{shown_value}: {painted(value.verdict)}")
        return
    num_unknown = sum(each.verdict == "unknown" for each in value.files)
    num_files = len(value.files) - num_unknown or num_unknown
    others = f", {painted('unknown')} in {num_unknown:,}" * (num_files < len(value.files))
    write_text(f"{shown_value}: {painted(value.verdict)} in {number_of(num_files, 'file')}{others}")
    files = _of_it_alone(value, report)
    shown = files if in_full else files[:MOST_FILES]
    if shown:
        write_table(
            ("file", "where", "reason"),
            [
                (each.path, _where(each, report.results.units_of(each.path)), each.reason)
                for each in shown
            ],
            ("reason…", "file…", "where…"),
        )
    if len(files) > len(shown):
        write_text(f"  and {len(files) - len(shown):,} more: {SHOWS_ALL}")


def _where(file: IndexedFile, units: Units) -> str:
    if file.pages:
        return f"{file.verdict}, {_pages(file.pages, units)}"
    if file.row_groups:
        parts = units.part + "s" * (len(file.row_groups) > 1)
        return f"{file.verdict}, {parts} {shortened([str(group) for group in file.row_groups])}"
    return file.verdict


def _pages(pages: Sequence[tuple[int, int]], units: Units) -> str:
    """`row group 0: page 3; row group 2: pages 0, 1`"""
    page, places = units.group if units.has_groups else "page", []
    for part, of_part in groupby(pages[:MOST_SHOWN], key=itemgetter(0)):
        numbers = [str(number) for _, number in of_part]
        places.append(f"{units.part} {part}: {page}{'s' * (len(numbers) > 1)} {', '.join(numbers)}")
    more = f", … ({len(pages):,} in all)" * (len(pages) > MOST_SHOWN)
    return "; ".join(places) + more
