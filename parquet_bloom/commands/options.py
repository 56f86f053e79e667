"""Options and arguments that several commands share.

Commands import this module as `option`. A Decorator here may stand for several options, in the
order of the help; it says what the command gets if that is not what was typed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands.completers import file_names, leaf_columns
from parquet_bloom.commands.inputs import Inputs, tables
from parquet_bloom.commands.sections import (
    Decorator,
    columns_option,
    files_option,
    filters_option,
    general_option,
    legacy_option,
    output_option,
    together,
    values_option,
)
from parquet_bloom.commands.table_views import TableInputs, TableView, table_views
from parquet_bloom.program import FINE
from parquet_bloom.vocabulary import Dialect, FileLayout, LiteralType, words

if TYPE_CHECKING:
    from pathlib import Path

    from parquet_bloom.options import Destination

DestinationOf = Callable[[str], "Destination"]


class LocalPath(click.Path):
    """A path; a URL is refused, as it would become a folder called `s3:`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Path:
        from pathlib import Path

        from parquet_bloom.storage.source import is_url

        if is_url(os.fspath(value)):
            self.fail(f"'{value}' is a URL, expected a local path", param, ctx)
        return Path(os.fsdecode(super().convert(value, param, ctx)))


FILE = LocalPath(dir_okay=False)
FOLDER = LocalPath(file_okay=False)
RATE = click.FloatRange(0, 1, min_open=True, max_open=True)
MAX_SEED = (1 << 32) - 1


def any_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Bytes: a number, or one with KiB, MiB or GiB."""
    from parquet_bloom.filters.sizing import parse_size

    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def filter_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """The same, within the limits of a filter that can be written."""
    from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES

    size = any_size(ctx, param, text)
    return None if size is None else click.IntRange(MIN_BYTES, MAX_BYTES).convert(size, param, ctx)


def one_name(ctx: click.Context, param: click.Parameter, name: str) -> str:
    """A column, verbatim. An unset shell variable makes it empty, which must not mean all."""
    if not name:
        raise click.BadParameter("an empty name, expected a leaf column")
    return name


def names(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The comma-separated names in each text."""
    from parquet_bloom.options import names_in

    try:
        lines = [names_in(text) for text in texts]
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return tuple(one_name(ctx, param, name) for line in lines for name in line)


def numbers(texts: tuple[str, ...]) -> tuple[int, ...]:
    """The comma-separated numbers in each text, from 0."""
    found = [each.strip() for text in texts for each in text.split(",")]
    for each in found:
        if not (each.isascii() and each.isdigit()):
            raise click.BadParameter(f"{each!r}: expected numbers from 0, with commas between them")
    return tuple(map(int, found))


def file_argument(name: str, **settings: Any) -> Decorator:
    """An argument that shells complete with the names of files."""
    return click.argument(name, shell_complete=file_names, **settings)


files = file_argument("files", nargs=-1, required=True, metavar="FILE...")
as_json = output_option("--json", "as_json", is_flag=True, help="One JSON document per file.")
verbose = output_option(
    "--verbose",
    is_flag=True,
    help="Show each file in full, even if there are many, and all text in tables.",
)
# None stands for all, here and for columns.
row_groups = columns_option(
    "-g",
    "--row-group",
    "parts",
    multiple=True,
    metavar="N",
    callback=lambda ctx, param, texts: numbers(texts) or None,
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
    help="Leaf column, such as user.id; repeatable or comma-separated. A name with a comma is quoted:"
    " '\"a,b\"'. '#3' is the leaf with index 3 of a Parquet file, where several have one path.",
)
fpp = filters_option(
    "--fpp",
    type=RATE,
    metavar="RATE",
    help="Target false positive rate, between 0 and 1.  [default: 0.01]",
)
max_bytes = filters_option(
    "--max-bytes",
    callback=filter_size,
    metavar="SIZE",
    help="Largest bitset, 64 bytes to 128 MiB.  [default: 128MiB]",
)
layout = filters_option(
    "--layout",
    type=click.Choice(words(FileLayout)),
    help="Where what is new goes: in the place of the old footer, or behind the whole file, which can be"
    " cut back.  [default: replace; append behind URLs and, for build, where it was done before]",
)
threads = general_option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    help="Number of threads.  [default: one per processor, 1 where chunks are small]",
)
threads_to_read = general_option(
    "--threads",
    type=click.IntRange(1),
    metavar="N",
    help="Number of files, or of filters in one file, to read at a time."
    "  [default: 16 behind URLs, one per processor for large filters, otherwise 1]",
)


def budget(ctx: click.Context, param: click.Parameter, text: str | None) -> None:
    """Set the memory budget for one command."""
    size = any_size(ctx, param, text)
    if size is None:
        return
    from parquet_bloom.parallel import LEAST_MEMORY, memory, set_memory

    ctx.call_on_close(partial(set_memory, memory()))
    set_memory(click.IntRange(LEAST_MEMORY).convert(size, param, ctx))


memory = general_option(
    "--memory",
    callback=budget,
    expose_value=False,
    metavar="SIZE",
    help="Memory for footers, pages and filters, of all threads together; 256MiB or more."
    "  [default: 1GiB]",
)


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
overwrite_answer = output_option(
    "--overwrite", is_flag=True, help="Replace the file if it is there already."
)

answer_options = together(
    output_option(
        "-o",
        "--output",
        type=FILE,
        help="Write the answer to this file, once it is complete.  [default: stdout]",
    ),
    overwrite_answer,
)


@contextmanager
def answering(paths: Sequence[str], output: Path | None, overwrite: bool) -> Iterator[None]:
    """The answer about these files goes to standard output, for None and -, or to a file; an exit code
    does not keep it from being written."""
    if output is None or str(output) == "-":
        yield
        return
    from parquet_bloom.render.terminal import answering_to
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


def answers(command: Any) -> Any:
    """Where the answer goes. The command gets its files, or those of tables, as `inputs`."""

    @table_views
    @answer_options
    @wraps(command)
    def with_answer(
        files: tuple[str, ...], view: TableView | None, output: Path | None, overwrite: bool,
        **given: Any,
    ) -> None:  # fmt: skip
        inputs = Inputs(files) if view is None else TableInputs(files, view)
        with answering([path for path, _ in inputs.files], output, overwrite):
            command(inputs=inputs, **given)

    return with_answer


def literals(command: Any) -> Any:
    """Values to look up; the command gets them as `values`, each a literal."""

    @together(
        values_option(
            "-v",
            "--value",
            "texts",
            metavar="LITERAL",
            multiple=True,
            help="Value to look up, such as 42 or 2026-11-20; repeatable.",
        ),
        values_option(
            "--values-from",
            type=click.File(encoding="utf-8"),
            metavar="FILE",
            help="Values, one per line; - is standard input.",
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
        *args: Any, texts: tuple[str, ...], values_from: Any, read_as: LiteralType | None,
        **given: Any,
    ) -> Any:  # fmt: skip
        from parquet_bloom.values.types import literal

        lines = (line.rstrip("\r\n") for line in values_from or ())
        values = tuple(literal(text, read_as) for text in (*texts, *lines))
        if not values:
            raise click.UsageError("expected at least one --value or --values-from")
        return command(*args, values=values, **given)

    return with_literals


def stored_dialect(command: Any) -> Any:
    """`dialect` and `seed` of the filters to read."""

    @legacy_option(
        "--dialect",
        type=click.Choice(words(Dialect)),
        help="Dialect of the filters.  [default: any that is there, today's first]",
    )
    @legacy_option(
        "--seed",
        type=click.IntRange(0, MAX_SEED),
        metavar="N",
        help="Seed of the hash, with --dialect murmur3.  [default: one that fits the stored values]",
    )
    @wraps(command)
    def with_dialect(*args: Any, dialect: str | None, seed: int | None, **options: Any) -> Any:
        if seed is not None and dialect != "murmur3":
            raise click.UsageError("--seed: expected with --dialect murmur3 only")
        return command(*args, dialect=dialect, seed=seed, **options)

    return with_dialect


unconditional = files_option(
    "--unconditional",
    is_flag=True,
    help="Replace objects or files also where nothing makes sure that nobody else has meanwhile.",
)


def destinations(command: Any) -> Any:
    """Where new versions go: exactly one of -o, --output-dir, --in-place, and --append-in-place of a
    command that has it, or only --dry-run. The command gets its files as `inputs`, and
    `destination_of`, the Destination of each path; with tables, whose files stay where they are, what
    was given is in `of_table`."""

    @together(
        files_option(
            "-o", "--output", type=FILE, help="Path of the new file, if there is one input."
        ),
        files_option("--output-dir", type=FOLDER, help="Folder for the new files."),
        files_option("--in-place", is_flag=True, help="Replace each file, atomically."),
        overwrite,
        dry_run,
        no_verify,
        unconditional,
    )
    @wraps(command)
    def with_destinations(
        files: tuple[str, ...], output: Path | None, output_dir: Path | None, in_place: bool,
        overwrite: bool, dry_run: bool, verify: bool, unconditional: bool, **given: Any,
    ) -> Any:  # fmt: skip
        from dataclasses import replace

        from parquet_bloom.options import Destination
        from parquet_bloom.storage.paths import outputs_in, with_parent

        if (of_table := given.get("of_table")) is not None:
            changes = {"dry_run": dry_run, "verify": verify, "unconditional": unconditional}
            given["of_table"] = replace(of_table, **changes)
            return command(inputs=tables(files), destination_of=None, **given)
        inputs = Inputs(files)
        ways = {
            "--output": output is not None,
            "--output-dir": output_dir is not None,
            "--in-place": in_place,
        }
        if "append_in_place" in given:
            ways["--append-in-place"] = given["append_in_place"]
        number = sum(ways.values())
        if number != 1 and not (dry_run and number == 0):
            *most, last = ways
            raise click.UsageError(f"expected exactly one of {', '.join(most)} and {last}")
        if output is not None and len(inputs.files) > 1:
            raise click.UsageError("--output takes one input; use --output-dir for several")
        outputs = {} if output_dir is None else outputs_in(output_dir, inputs.files)
        in_place = in_place or given.get("append_in_place", False)
        inputs.are_replaced = in_place and not dry_run

        def destination_of(path: str) -> Destination:
            return Destination(
                output=output if dry_run or not outputs else with_parent(outputs[path]),
                in_place=in_place,
                overwrite=overwrite,
                dry_run=dry_run,
                verify=verify,
                unconditional=unconditional,
            )

        return command(inputs=inputs, destination_of=destination_of, **given)

    return with_destinations
