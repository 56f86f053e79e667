"""Options and arguments that several commands share.

Commands import this module as `option`. A Decorator here may stand for several options, in the
order of the help; it says what the command gets if that is not what was typed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, BinaryIO, Final

import click

from parquet_bloom.commands.completers import engine_names, leaf_columns, row_columns
from parquet_bloom.commands.file_options import (
    FilesAsked,
)
from parquet_bloom.commands.inputs import Answers, Inputs
from parquet_bloom.commands.key_options import key_options
from parquet_bloom.commands.parameters import (
    COPY,
    FILE,
    OUTPUT_FOLDER,
    RATE,
    TABLES,
    TEXT_FILE,
    VALUES_FILE,
    FileOfValues,
    Number,
    age_in_seconds,
    budget_size,
    filter_size,
    least_size,
    names,
    names_like,
    numbers,
)
from parquet_bloom.commands.sections import (
    SIZE,
    Callback,
    Decorator,
    checks_option,
    columns_option,
    files_option,
    filters_option,
    general_option,
    legacy_option,
    output_option,
    together,
    values_option,
)
from parquet_bloom.commands.store_options import stores
from parquet_bloom.commands.table_options import table_views, tell_tables
from parquet_bloom.container import number_of
from parquet_bloom.options import MAX_SEED, Destination
from parquet_bloom.parallel import LEAST_MEMORY, set_memory
from parquet_bloom.parallel import memory as memory_budget
from parquet_bloom.program import FINE
from parquet_bloom.render.hints import command as in_shell
from parquet_bloom.render.terminal import answering_to, complain, without_progress, write_text
from parquet_bloom.render.wording import either, shortened, size
from parquet_bloom.storage.left_out import LeftOut
from parquet_bloom.storage.paths import not_listed, outputs_in
from parquet_bloom.storage.source import is_url, local_name
from parquet_bloom.verbs.table_folders import copied_tables
from parquet_bloom.vocabulary import Dialect, FileLayout, LiteralType, Verdict, words

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.options import TableOptions, TableView
    from parquet_bloom.storage.paths import Input

DestinationOf = Callable[[str], Destination]


def as_json(one_each: str = "file") -> Decorator:
    """`one_each`: what has a document."""
    failed = "; a file that fails has none, but a line on stderr" * (one_each == "file")
    help = f"One JSON document per {one_each}{failed}."
    return output_option("--json", "as_json", is_flag=True, help=help)


verbose = output_option(
    "--verbose",
    is_flag=True,
    help="Show every file in full, however many there are, and never shorten text in tables.",
)
quiet = output_option(
    "-q",
    "--quiet",
    is_flag=True,
    callback=lambda ctx, param, is_set: _quietly(ctx) if is_set else is_set,
    help="Show only the total and what is wrong, was skipped or is worth a note: no line for each file, and no"
    " progress.",
)


def _quietly(ctx: click.Context) -> bool:
    ctx.with_resource(without_progress())
    return True


def check_quiet(quiet: bool, others: Mapping[str, bool]) -> None:
    """Raise UsageError if one of the others is given, too."""
    if quiet and any(others.values()):
        raise click.UsageError(f"--quiet: expected without {either(list(others))}")


# None stands for all, here and for columns.
row_groups = columns_option(
    "-g",
    "--row-group",
    "parts",
    multiple=True,
    metavar="N",
    callback=lambda ctx, param, texts: numbers(ctx, texts) or None,
    help="Only this row group, or stripe of an ORC file, counted from 0; repeatable or"
    " comma-separated.",
)
columns = partial(
    columns_option,
    "-c",
    "--column",
    "columns",
    metavar="COLUMN",
    multiple=True,
    callback=lambda ctx, param, texts: names(ctx, param, texts) or None,
    shell_complete=leaf_columns,
    help="Leaf column, such as user.id, or field of a shredded VARIANT, v:a.b; repeatable or comma-separated. Quote "
    "a name with a comma, '\"a,b\"', and an empty one, '\"\"'. '#3' is the leaf with index 3 of a Parquet file, for "
    "where several share a path.",
)
value_columns = columns_option(
    "--columns",
    "value_columns",
    metavar="COLUMN",
    multiple=True,
    callback=lambda ctx, param, texts: names(ctx, param, texts) or None,
    shell_complete=row_columns,
    help="Also show these columns of the rows that are found, by their top-level names, such as user; repeatable or "
    "comma-separated.",
)
fpp = filters_option(
    "--fpp",
    type=RATE,
    metavar="RATE",
    help="Target false positive rate, between 0 and 1, for all these columns; a column at another rate takes a call "
    "of its own.  [default: 0.01]",
)

fpp_to_build = filters_option(
    "--fpp",
    type=RATE,
    metavar="RATE",
    help="Target false positive rate, between 0 and 1, for all these columns; a column at another rate takes a call "
    "of its own.  [default: 0.01, unless --auto, the table's properties or a legacy dialect say another]",
)
fpp_to_advise = filters_option(
    "--fpp",
    type=RATE,
    metavar="RATE",
    help="Judge filters for this target false positive rate, between 0 and 1, and recommend no other."
    "  [default: 0.01, or a lower one where there are many row groups]",
)
fpp_to_report = filters_option(
    "--fpp",
    type=RATE,
    metavar="RATE",
    help="Judge filters for this target false positive rate, between 0 and 1, in the advice.  [default: 0.01, or a "
    "lower one where there are many row groups]",
)
engines = columns_option(
    "--engine",
    "engines",
    multiple=True,
    callback=names_like("an engine, such as spark"),
    metavar="NAME",
    shell_complete=engine_names,
    help="Recommend for these engines only, such as spark, duckdb or trino; repeatable or comma-separated.",
)
filter_budget = filters_option(
    "--budget",
    callback=budget_size,
    metavar=f"{SIZE}|PERCENT",
    help="The most bytes that the filters of all files may take together, those that stay included; or a share of "
    "the files' bytes, as 1%. It goes to the columns and rates that spare look-ups the most row groups, after what "
    "a policy (--config) requires; --fpp is the rate of all. `build` takes it with --auto.",
)
max_bytes = filters_option(
    "--max-bytes",
    callback=filter_size,
    metavar=SIZE,
    help="Largest bitset, 64 bytes to 128 MiB.  [default: 128MiB]",
)
layout = filters_option(
    "--layout",
    type=click.Choice(words(FileLayout)),
    help="Where to write: over the old footer, or after the whole file, which can then"
    " be cut back.  [default: replace; append for URLs and, with build, for files"
    " that were appended to before]",
)
threads = general_option(
    "--threads",
    type=Number(1),
    metavar="N",
    help="Number of threads.  [default: one per processor, 1 where chunks are small]",
)
threads_to_read = general_option(
    "--threads",
    type=Number(1),
    metavar="N",
    help="Number of files, or of filters in one file, to read at a time."
    "  [default: 16 behind URLs, one per processor for large filters, otherwise 1]",
)


def budget(ctx: click.Context, param: click.Parameter, text: str | None) -> None:
    """Set the memory budget for one command."""
    size = least_size(LEAST_MEMORY)(ctx, param, text)
    if size is not None:
        ctx.call_on_close(partial(set_memory, memory_budget()))
        set_memory(size)


memory = general_option(
    "--memory",
    callback=budget,
    expose_value=False,
    metavar=SIZE,
    help="Memory for footers, pages and filters, of all threads together; 256MiB or more."
    "  [default: 1GiB]",
)


ignore_checksums = files_option(
    "--ignore-checksums",
    is_flag=True,
    help="Read pages even if their checksums are wrong; checksums that are all 0 count"
    " as missing anyway.",
)
# In seconds: what is younger may be another run's.
USUAL_AGE: Final = 3600.0
older_than = files_option(
    "--older-than",
    callback=age_in_seconds,
    default="1h",
    show_default=True,
    metavar="AGE",
    help="Only files not written to for this long.",
)
only_show_removed = files_option("--dry-run", is_flag=True, help="Only show what would be removed.")
no_verify = files_option(
    "--no-verify",
    "verify",
    is_flag=True,
    flag_value=False,
    default=True,
    help="Do not read back what was written.",
)
dry_run = files_option("--dry-run", is_flag=True, help="Do everything but write.")
overwrite = files_option("--overwrite", is_flag=True, help="Replace an existing output.")
overwrite_answer = output_option("--overwrite", is_flag=True, help="Replace an existing file.")

answer_options = together(
    output_option(
        "-o",
        "--output",
        type=TEXT_FILE,
        help="Write the answer to this file once it is complete.  [default: stdout]",
    ),
    overwrite_answer,
)

# Of a command that can answer value by value.
value_answer_options = together(
    output_option(
        "-o",
        "--output",
        type=VALUES_FILE,
        help="Write the answer to this file once it is complete; with --by-value and one --column, to NAME.parquet a "
        "row for each value and file that may hold it, one for each other value, and one without a value for each "
        "file that may hold any, as those without filters; a join by value lacks these, so read what `value IS NULL` "
        "has, too.  [default: stdout]",
    ),
    overwrite_answer,
)


# What names of JSON end with.
_OF_DOCUMENTS: Final = frozenset((".json", ".jsonl", ".ndjson"))


# And what those end with of which a program makes findings.
_OF_FINDINGS: Final = {".sarif": "sarif", ".xml": "junit"}


def _check_format(output: Path) -> None:
    """Raise UsageError for text in a file whose name says another format."""
    if name := _OF_FINDINGS.get(output.suffix):
        raise click.UsageError(f"--output: {output}: expected --format {name}, or a name for text")


@contextmanager
def answering(paths: Sequence[str], output: Path | None, overwrite: bool) -> Iterator[None]:
    """The answer about these files goes to standard output, for None and -, or to a file; an exit code
    does not keep it from being written."""
    if output is None or str(output) == "-":
        yield
        return
    from parquet_bloom.verbs.answer_file import answer_file

    end = SystemExit(FINE)
    with (
        answer_file(output, paths, overwrite=overwrite) as written,
        answering_to(written.append),
    ):
        try:
            yield
        except SystemExit as ended:
            end = ended
    raise end


def inputs_of(files: FilesAsked, view: TableView | None) -> Inputs:
    """The files that were asked for, or the live ones of tables."""
    if view is None:
        left_out = LeftOut()
        inputs = files.inputs(left_out)
        inputs.errors += (not_listed(*each) for each in left_out.hidden_unlisted)
        inputs.left_out = left_out.paths
    else:
        from parquet_bloom.commands.table_inputs import TableInputs

        inputs = TableInputs(files.names, replace(view, since=files.since))
    files.narrow(inputs)
    inputs.names, inputs.narrowed_names = files.whole_words, files.words
    return inputs


def answered(one_each: str = "file", goes_to: Decorator = answer_options) -> Decorator:
    """How the answer is shown, and where it goes. The command gets `answers`, about its files or those
    of tables. `one_each`: what has a JSON document; `goes_to`: the options for where."""

    def add(command: Callback) -> Callback:
        @as_json(one_each)
        @table_views
        @goes_to
        @verbose
        @wraps(command)
        def with_answers(
            files: FilesAsked, view: TableView | None, output: Path | None, overwrite: bool,
            as_json: bool, verbose: bool, **given: object,
        ) -> None:  # fmt: skip
            is_text = not as_json and given.get("findings_format", "text") == "text"
            if is_text and output is not None and output.suffix in _OF_DOCUMENTS:
                raise click.UsageError(f"--output: {output}: expected --json, or a name for text")
            if is_text and output is not None and "findings_format" in given:
                _check_format(output)
            inputs = inputs_of(files, view)
            is_kept = output is not None and str(output) != "-"
            is_table = output is not None and output.suffix.lower() in TABLES
            answers = Answers(
                inputs, as_json=as_json, verbose=verbose, is_kept=is_kept, is_table=is_table
            )
            try:
                with answering([path for path, _ in inputs.files], output, overwrite):
                    command(answers=answers, **given)
            except SystemExit:
                inputs.tell_left_out()
                for text in answers.afterwards:
                    write_text(f"{output}: {text}")
                raise

        return with_answers

    return add


only_verdict = output_option(
    "--only",
    type=click.Choice(words(Verdict)),
    help="Of one --column, print nothing but the values with this verdict over all files, each on a line.",
)

# What reads files takes, whatever it does with them; the command gets `keys`.
access = together(memory, stores, key_options)


def literals(command: Callback) -> Callback:
    """Values to look up; the command gets them as `values`, each a literal."""

    @together(
        values_option(
            "-v",
            "--value",
            "texts",
            metavar="LITERAL",
            multiple=True,
            help="Value to look up, such as 42 or 2026-11-20, which in timestamps is its midnight; repeatable. A text"
            " in quotes is looked up with them and without them.",
        ),
        values_option(
            "--values-from",
            "--ids",
            "values_from",
            type=FileOfValues("rb"),
            metavar="FILE",
            multiple=True,
            help="File with values, repeatable: one per line; in .csv, .tsv and Parquet in the column with the same "
            "name as --column, or with --values-column, or in the only column of Parquet. - is standard input.",
        ),
        values_option(
            "--values-column",
            metavar="NAME",
            help="The column with the values in a .csv, .tsv or Parquet file, if its name is another.",
        ),
        values_option(
            "--type",
            "read_as",
            type=click.Choice(words(LiteralType)),
            help="Read the literals as this type instead of the column's.",
        ),
    )
    @wraps(command)
    def with_literals(
        texts: tuple[str, ...], values_from: tuple[BinaryIO, ...], values_column: str | None,
        read_as: LiteralType | None, **given: object,
    ) -> object:  # fmt: skip
        if values_column is not None and not values_from:
            raise click.UsageError("--values-column: expected with --values-from or --ids only")
        params = click.get_current_context().params
        # Names of tables in a catalog are no files.
        names = () if params.get("catalog") else params.get("files") or ()
        if names and not values_from:
            from parquet_bloom.render.stray_words import value_meant

            is_index_asked = bool(given.get("index") or given.get("index_path"))
            if meant := value_meant(names, is_index_asked, are_given=bool(texts)):
                raise click.UsageError(meant)
        from parquet_bloom.values.literals import check_literal
        from parquet_bloom.values.types import literal

        values: tuple[object, ...] = tuple(literal(text, read_as) for text in dict.fromkeys(texts))
        named = given.get("columns")
        columns = named if isinstance(named, tuple) else ()
        if values_from:
            from parquet_bloom.commands.value_files import values_in

            for file in values_from:
                values += tuple(values_in(file, values_column, columns, read_as))
            if len(values_from) + bool(texts) > 1:
                values = _each_once(values)
        if not values:
            if values_from:
                raise click.UsageError(f"{values_from[0].name}: no values")
            from parquet_bloom.render.stray_words import condition_meant

            expected = "expected at least one --value, or --values-from or --ids"
            raise click.UsageError(condition_meant(columns) or expected)
        for each in values if read_as is not None else ():
            if isinstance(each, literal):
                check_literal(each)
        return command(values=values, **given)

    return with_literals


def _each_once(values: Iterable[object]) -> tuple[object, ...]:
    """What stands in several places, too: each of them gives its own once."""
    found: dict[object, object] = {}
    for each in values:
        found.setdefault(_as_asked(each), each)
    return tuple(found.values())


def _as_asked(value: object) -> object:
    """The same for literals that ask for the same, wherever they were given. What is in quotes, or an escape, may be
    read in one way on the command line and in another in CSV."""
    from parquet_bloom.values.literals import is_escaped, is_in_quotes
    from parquet_bloom.values.types import literal

    if not isinstance(value, literal) or is_in_quotes(value.text) or is_escaped(value.text):
        return type(value), value
    return literal, value.text, value.read_as


def stored_dialect(command: Callback) -> Callback:
    """`dialect` and `seed` of the filters to read."""

    @legacy_option(
        "--dialect",
        type=click.Choice(words(Dialect)),
        help="Dialect of the filters.  [default: any that is there, today's first]",
    )
    @legacy_option(
        "--seed",
        type=Number(0, MAX_SEED),
        metavar="N",
        help="Seed of the hash, with --dialect murmur3.  [default: one that fits the stored values]",
    )
    @wraps(command)
    def with_dialect(dialect: str | None, seed: int | None, **options: object) -> object:
        if seed is not None and dialect != "murmur3":
            raise click.UsageError("--seed: expected with --dialect murmur3 only")
        return command(dialect=dialect, seed=seed, **options)

    return with_dialect


unconditional = files_option(
    "--unconditional",
    is_flag=True,
    help="Replace objects even without conditional writes, and files even without locks:"
    " a concurrent change could be lost.",
)


auto = columns_option(
    "--auto",
    is_flag=True,
    help="Use the columns that `pbloom advise` recommends, among those of --column or among all, each at its rate, "
    "which --fpp sets for all: 0.01, or a lower one where there are many row groups.",
)


# Where a policy comes from: `config` and `no_config`, for check_options.policy_of.
which_policy = together(
    checks_option(
        "--config",
        type=FILE,
        help='TOML file of what is required: require = ["user_id"], max-fpp = 0.02, max-bytes, ignore, fail-on or'
        " no-values in [validate], or in [tool.pbloom.validate] of a pyproject.toml; for one column in"
        ' [validate.columns."user.id"], there with require = true.  [default: the pbloom.toml, or such a'
        " pyproject.toml, in the working folder, or else in the nearest folder above]",
    ),
    checks_option("--no-config", is_flag=True, help="Use no configuration file."),
)


def check_chosen(columns: Collection[str] | None, auto: bool) -> None:
    """Raise UsageError unless one of them, or both, say which columns get filters."""
    if not auto and not columns:
        raise click.UsageError(
            "expected --column COLUMN, or --auto for the columns that `pbloom advise` recommends"
        )


def check_advised(
    auto: bool,
    engines: Sequence[str],
    budget: int | str | None,
    config: Path | None = None,
    no_config: bool = False,
) -> None:
    """Raise UsageError for what says which columns to recommend, where none are, and the other way round."""
    options = {
        "--engine": engines,
        "--budget": budget,
        "--config": config,
        "--no-config": no_config,
    }
    for name, given in options.items():
        if given and not auto:
            raise click.UsageError(
                f"{name}: expected with --auto, which chooses columns and rates, of those of --column if there are "
                "any"
            )


def _check_no_column(names: Sequence[str], given: Mapping[str, object]) -> None:
    """Raise UsageError for a column among the files: without it, all columns would be meant."""
    from parquet_bloom.render.stray_words import column_meant

    if not given.get("columns") and not given.get("auto") and (column := column_meant(names)):
        raise click.UsageError(column)


def _where_to_write(ways: Mapping[str, bool]) -> str:
    """What to say if none of these options, or more than one, says where new versions go."""
    *most, last = ways
    if given := [name for name, is_given in ways.items() if is_given]:
        return f"expected exactly one of {', '.join(most)} and {last}, found {' and '.join(given)}"
    return (
        "expected an output: -o FILE for a copy, --output-dir DIRECTORY for copies of several files, or"
        f" {' or '.join([*most[2:], last])} to change the files themselves"
    )


def _table_named(names: Sequence[str]) -> str:
    """What to say of the first name that is the folder of a table; empty if none is."""
    from parquet_bloom.storage.table_formats import table_at

    for name in names:
        with suppress(OSError):
            if found := table_at(name):
                expected = f"--table {found.kind}, or --output-dir for copies of its files"
                return f"{name}: is {found.table}, expected {expected}"
    return ""


def _folders_listed(names: Sequence[str]) -> list[str]:
    return [name for name in names if not is_url(name) and os.path.isdir(local_name(name))]


def _without_temporary(paths: Sequence[str]) -> Sequence[str]:
    """Without what other runs are at, or have left, of which _tell_of_left tells."""
    if not paths:
        return paths
    from parquet_bloom.storage.leftovers import without_temporary

    return without_temporary(paths)


def _places(inputs: Iterable[Input], output_dir: Path | None) -> Iterator[str]:
    """Where new versions of these go, now or in another run."""
    return (
        each.path if output_dir is None else os.path.join(output_dir, each.place) for each in inputs
    )


def _tell_of_left(folders: Sequence[str], written: Iterable[str]) -> None:
    """That killed runs have left temporary files beside those that are `written`, below these folders."""
    from parquet_bloom.storage.leftovers import left_beside

    if left := left_beside(written, USUAL_AGE):
        taken = size(sum(each.size for each in left))
        complain(
            f"killed runs have left {number_of(len(left), 'temporary file')}, {taken}:"
            f" `{in_shell('clean-temp', *folders)}` removes what is older than an hour"
        )


def destinations(command: Callback) -> Callback:
    """Where new versions go: exactly one of -o, --output-dir, --in-place, and --append-in-place of a
    command that has it, or only --dry-run. The command gets `answers`, about its files, and
    `destination_of`, the Destination of each path; with tables, whose files stay where they are, what
    was given is in `of_table`."""

    @together(
        files_option(
            "-o", "--output", type=COPY, help="Path of the new file, if there is one input."
        ),
        files_option("--output-dir", type=OUTPUT_FOLDER, help="Folder for the new files."),
        files_option("--in-place", is_flag=True, help="Replace each file, atomically."),
        overwrite,
        files_option(
            "--resume",
            is_flag=True,
            help="With --output-dir, leave out files whose outputs exist, whatever is in them: go on after a run"
            " that was stopped, with its options. In place, the same command goes on without it.",
        ),
        dry_run,
        no_verify,
        unconditional,
        as_json(),
        verbose,
        quiet,
    )
    @wraps(command)
    def with_destinations(
        files: FilesAsked, output: Path | None, output_dir: Path | None, in_place: bool,
        overwrite: bool, resume: bool, dry_run: bool, verify: bool, unconditional: bool, as_json: bool,
        verbose: bool, quiet: bool, of_table: TableOptions | None, **given: object,
    ) -> object:  # fmt: skip
        check_quiet(quiet, {"--json": as_json, "--verbose": verbose})
        shown = {"as_json": as_json, "verbose": verbose, "quiet": quiet}
        changes: dict[str, Any] = {
            "dry_run": dry_run, "verify": verify, "unconditional": unconditional,
        }  # fmt: skip
        if of_table is not None:
            from parquet_bloom.commands.table_inputs import tables

            answers = Answers(tables(files.names), **shown)
            answers.inputs.narrowed_names = files.words
            given["of_table"] = replace(of_table, since=files.since, **changes)
            return command(answers=answers, destination_of=None, **given)
        _check_no_column(files.names, given)
        left_out = LeftOut()
        inputs = files.inputs(left_out)
        inputs.names, inputs.narrowed_names = files.whole_words, files.words
        inputs.left_out = _without_temporary(left_out.paths)
        ways = {
            "--output": output is not None,
            "--output-dir": output_dir is not None,
            "--in-place": in_place,
        }
        if "append_in_place" in given:
            ways["--append-in-place"] = bool(given["append_in_place"])
        number = sum(ways.values())
        if number != 1 and not (dry_run and number == 0):
            from parquet_bloom.render.stray_words import output_meant

            copy = None if number else output_meant(files.names)
            raise click.UsageError(copy or _table_named(files.names) or _where_to_write(ways))
        if output is not None and (len(inputs.files) > 1 or files.shard is not None):
            from parquet_bloom.render.stray_words import column_meant

            names = shortened([each.path for each in inputs.files])
            found = "" if files.shard else f", found {names}"
            several = f"--output takes one input{found}; use --output-dir for several"
            raise click.UsageError(column_meant(files.names) or several)
        in_place = in_place or ways.get("--append-in-place", False)
        if resume and (output_dir is None or overwrite):
            goes_on = ": in place, the same command goes on without it"
            expected = "--resume: expected with --output-dir and without --overwrite"
            raise click.UsageError(f"{expected}{goes_on if in_place else ''}")
        if resume and given.get("auto"):
            # Its advice would be about the files that are left, and not that of one run.
            raise click.UsageError(
                "--resume: not with --auto, which judges all files: name each --column"
            )
        if not in_place:
            tell_tables(copied_tables(files.names, "--table {}"))
        outputs = {} if output_dir is None else outputs_in(output_dir, inputs.files)
        files.narrow(inputs)
        if resume:
            inputs.resume(outputs)
        if output is None and output_dir is None:
            inputs.take_once()
        inputs.are_replaced = in_place and not dry_run

        def destination_of(path: str) -> Destination:
            return Destination(
                output=outputs.get(path, output),
                in_place=in_place,
                overwrite=overwrite,
                in_folder=bool(outputs),
                **changes,
            )

        answers = Answers(inputs, **shown)
        folders = _folders_listed(files.names) if output_dir is None else [str(output_dir)]
        try:
            return command(answers=answers, destination_of=destination_of, of_table=None, **given)
        except SystemExit:
            inputs.tell_left_out()
            # Folders of files that are named one by one are not listed for that.
            if folders and (in_place or output_dir is not None):
                _tell_of_left(folders, _places((*inputs.files, *inputs.others), output_dir))
            raise

    return with_destinations
