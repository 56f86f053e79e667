"""Options and arguments that several commands take, and the loop over the input files."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from parquet_bloom.program import FINE, TROUBLE

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)


def any_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Bytes as a number, or with KiB or MiB."""
    return None if text is None else _size(text)


def filter_size(ctx: click.Context, param: click.Parameter, text: str) -> int:
    """The same, of a filter that can be written."""
    from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES

    return click.IntRange(MIN_BYTES, MAX_BYTES).convert(_size(text), param, ctx)


def _size(text: str) -> int:
    from parquet_bloom.filters.sizing import parse_size

    try:
        return parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


class Inputs:
    """The files that are named; found before the first is worked on, so no output is among them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        from parquet_bloom.paths import expand

        self.files, self._errors = expand(names)

    def each(
        self,
        work: Callable[[str], None],
        failed: Callable[[str, str], None] = lambda path, message: None,
    ) -> int:
        """Do `work` for every file; complain of what fails and go on. The exit code.

        `failed` is told the path of each file that failed, and the complaint.
        """
        from parquet_bloom.errors import ParquetBloomError
        from parquet_bloom.render.terminal import (
            StandardOutputError,
            complain,
            complaint,
            complaint_about,
        )

        code = TROUBLE if self._errors else FINE
        for missing in self._errors:
            complain(complaint(missing))
            failed(str(missing.filename), complaint(missing))
        for file in self.files:
            try:
                work(file.path)
            except StandardOutputError:
                raise
            except (ParquetBloomError, OSError, ValueError, MemoryError) as error:
                message = complaint_about(file.path, error)
                complain(message)
                failed(file.path, message)
                code = TROUBLE
        return code


def _column(ctx: click.Context, param: click.Parameter, name: str) -> str:
    """A column as it is spelled. An unset variable of a shell is none, and must not mean all."""
    if not name:
        raise click.BadParameter("an empty name, expected a leaf column")
    return name


def parse_columns(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """Each text is a line of CSV, where quotes allow for a name with a comma."""
    import csv

    try:
        lines = [(next(csv.reader([text], strict=True)) or [""]) for text in texts]
    except csv.Error as error:
        raise click.BadParameter(f"expected names with commas between them: {error}") from None
    return tuple(_column(ctx, param, name) for line in lines for name in line)


files_argument = click.argument("files", nargs=-1, required=True, metavar="FILE...")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document per file.")
row_groups_option = click.option(
    "-g", "--row-group", "row_groups", type=click.IntRange(0), multiple=True,
    help="Only this row group (repeatable).",
)  # fmt: skip
columns_option = partial(
    click.option, "-c", "--column", "columns", multiple=True, callback=parse_columns,
    help="Leaf column, dotted path; repeatable or comma-separated, '\"a,b\"' if one has a comma.",
)  # fmt: skip
column_option = click.option(
    "-c", "--column", required=True, callback=_column, help="Leaf column, dotted path, verbatim."
)
fpp_option = click.option(
    "--fpp", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.01,
    show_default=True, help="Target false positive rate.",
)  # fmt: skip
max_bytes_option = click.option(
    "--max-bytes", callback=filter_size, default="128MiB", show_default=True, metavar="SIZE",
    help="Largest bitset, 64 bytes to 128 MiB.",
)  # fmt: skip
threads_option = click.option(
    "--threads", type=click.IntRange(1), help="Default: one per processor."
)
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace an output that exists.")


def output_options(command: Any) -> Any:
    """Where a new version goes: exactly one of -o, --output-dir, --in-place, --dry-run."""
    for option in (
        click.option("--no-verify", is_flag=True, help="Do not read back what was written."),
        click.option("--dry-run", is_flag=True, help="Do all but write."),
        overwrite_option,
        click.option("--in-place", is_flag=True, help="Replace each input, atomically."),
        click.option("--output-dir", type=FOLDER, help="Write each new version into this folder."),
        click.option("-o", "--output", type=FILE, help="Write the one input's new version here."),
    ):
        command = option(command)
    return command


def output_of(
    inputs: Inputs, output: Path | None, output_dir: Path | None, in_place: bool, dry: bool
) -> Callable[[str], Path | None]:
    """How an input's output is found; a usage error unless exactly one way was given."""
    from parquet_bloom.paths import outputs_in, with_parent

    ways = [output is not None, output_dir is not None, in_place]
    if sum(ways) != 1 and not (dry and not any(ways)):
        raise click.UsageError("expected exactly one of --output, --output-dir and --in-place")
    if output is not None and len(inputs.files) > 1:
        raise click.UsageError("--output takes one input; use --output-dir for several")
    outputs = {} if output_dir is None else outputs_in(output_dir, inputs.files)
    if dry or not outputs:
        return lambda path: output
    return lambda path: with_parent(outputs[path])
