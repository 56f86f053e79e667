"""The commands of `pbloom`.

Each command parses, makes one library call per file, and hands the answer to render. The library
is imported when a command runs, so that `pbloom --help` answers at once.

"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from parquet_bloom.program import FINE, NO, TROUBLE, Program, run

FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
UNITS = {"": 1, "B": 1, "K": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MIB": 1 << 20}


def _size(ctx: click.Context, param: click.Parameter, text: str) -> int:
    """Bytes as a number, or with KiB or MiB."""
    from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES

    digits = text.rstrip("bBiIkKmM ")
    unit = text[len(digits) :].strip().upper()
    if not digits.isdecimal() or unit not in UNITS:
        raise click.BadParameter(f"{text!r} is no size: expected bytes, or a number and KiB or MiB")
    return click.IntRange(MIN_BYTES, MAX_BYTES).convert(int(digits) * UNITS[unit], param, ctx)


class _Inputs:
    """The files that are named; found before the first is worked on, so no output is among them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        from parquet_bloom.paths import expand

        self.files, self._errors = expand(names)

    def each(self, work: Callable[[str], None]) -> int:
        """Do `work` for every file; complain of what fails and go on. The exit code."""
        from parquet_bloom import render
        from parquet_bloom.errors import ParquetBloomError

        code = TROUBLE if self._errors else FINE
        for missing in self._errors:
            render.complain(render.complaint(missing))
        for file in self.files:
            try:
                work(file.path)
            except render.StandardOutputError:
                raise
            except (ParquetBloomError, OSError, ValueError, MemoryError) as error:
                render.complain(render.complaint_about(file.path, error))
                code = TROUBLE
        return code


def _column(ctx: click.Context, param: click.Parameter, name: str) -> str:
    """A column as it is spelled. An unset variable of a shell is none, and must not mean all."""
    if not name:
        raise click.BadParameter("an empty name, expected a leaf column")
    return name


def _columns(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
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
    click.option, "-c", "--column", "columns", multiple=True, callback=_columns,
    help="Leaf column, dotted path; repeatable or comma-separated, '\"a,b\"' if one has a comma.",
)  # fmt: skip
column_option = click.option(
    "-c", "--column", required=True, callback=_column, help="Leaf column, dotted path, verbatim."
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


def _output_of(
    inputs: _Inputs, output: Path | None, output_dir: Path | None, in_place: bool, dry: bool
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


@click.group(cls=Program, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="parquet-bloom", prog_name="pbloom")
def cli() -> None:
    """Bloom filters in Parquet files that already exist.

    Add them without rewriting a data page, look at them, ask them, remove them.

    FILE is a path, a glob, a folder or a URL; several at a time.

    \b
    Example:
      pbloom build events.parquet -c user_id -o events.bloom.parquet
      pbloom inspect events.bloom.parquet
      pbloom probe events.bloom.parquet -c user_id -v 123456
    """


@cli.command()
@files_argument
@columns_option(required=True)
@output_options
@click.option(
    "--fpp", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.01,
    show_default=True, help="Target false positive rate.",
)  # fmt: skip
@click.option(
    "--ndv", type=click.IntRange(1, 1 << 62), help="Size for this many distinct values per chunk."
)
@click.option(
    "--max-bytes", callback=_size, default="128MiB", show_default=True, metavar="SIZE",
    help="Largest bitset, 64 bytes to 128 MiB.",
)  # fmt: skip
@click.option(
    "--exact-blocks", is_flag=True,
    help="Any number of blocks, not a power of two: smaller, but Arrow C++ refuses them.",
)  # fmt: skip
@click.option(
    "--existing", type=click.Choice(["keep", "replace", "error"]), default="keep",
    show_default=True, help="What to do with a filter that is there.",
)  # fmt: skip
@click.option("--force", is_flag=True, help="Also write filters that miss the target.")
@row_groups_option
@click.option("--threads", type=click.IntRange(1), help="Default: one per processor.")
@json_option
def build(
    files: tuple[str, ...], columns: tuple[str, ...], output: Path | None, output_dir: Path | None,
    in_place: bool, overwrite: bool, dry_run: bool, no_verify: bool, row_groups: tuple[int, ...],
    as_json: bool, **options: Any,
) -> None:  # fmt: skip
    """Add Bloom filters to files (alias: inject).

    No page is rewritten: filters and a new footer follow the data as it is. Each filter is as
    small as the target allows; nobody has to know the number of distinct values. What gets none
    is reported with the reason.

    \b
    Example:
      pbloom build events.parquet -c user_id -o events.bloom.parquet
    """
    from parquet_bloom import render
    from parquet_bloom.verbs.build import build as build_filters

    inputs = _Inputs(files)
    output_of = _output_of(inputs, output, output_dir, in_place, dry_run)

    def work(path: str) -> None:
        with render.progress(path) as progress:
            report = build_filters(
                path, output_of(path), columns=columns, row_groups=row_groups or None,
                in_place=in_place, overwrite=overwrite, dry_run=dry_run, verify=not no_verify,
                progress=progress, **options,
            )  # fmt: skip
        (render.write_json if as_json else render.write_build)(report)

    sys.exit(inputs.each(work))


@cli.command()
@files_argument
@columns_option()
@row_groups_option
@json_option
def inspect(
    files: tuple[str, ...], columns: tuple[str, ...], row_groups: tuple[int, ...], as_json: bool
) -> None:
    """Show which column chunks have filters, and what they are worth.

    Fill and FPP are computed from the bits. What has no filter says why.

    \b
    Example:
      pbloom inspect events.bloom.parquet
    """
    from parquet_bloom import render
    from parquet_bloom.verbs.inspect import inspect as inspect_file

    def work(path: str) -> None:
        report = inspect_file(path, columns=columns or None, row_groups=row_groups or None)
        (render.write_json if as_json else render.write_inspection)(report)

    sys.exit(_Inputs(files).each(work))


@cli.command()
@files_argument
@column_option
@click.option("-v", "--value", "values", multiple=True, help="Literal, typed by the column.")
@click.option("--values-from", type=click.File(encoding="utf-8"), help="Literals, one per line.")
@click.option(
    "--type", "read_as", help="Read the literals as this type instead of the column's.",
    type=click.Choice(
        ["bytes", "date", "decimal", "float", "int", "string", "time", "timestamp", "uuid"]
    ),
)  # fmt: skip
@click.option("--explain", "explained", is_flag=True, help="Show hash, block and bits.")
@click.option("--rows", "only_rows", is_flag=True, help="Print only the row groups to read.")
@json_option
def probe(
    files: tuple[str, ...], column: str, values: tuple[str, ...], values_from: Any,
    read_as: str | None, explained: bool, only_rows: bool, as_json: bool,
) -> None:  # fmt: skip
    """Ask the filters whether values can be in files.

    Reads the footer and 32 bytes of each filter. The verdict is `absent` (certain), `maybe`, or
    `unknown` with the reason. Exit code 1: every value is absent from every file.

    \b
    Example:
      pbloom probe events.bloom.parquet -c user_id -v 123456
    """
    from parquet_bloom import render
    from parquet_bloom.verbs.probe import explain, probe as probe_file  # isort: skip

    literals = [*values, *(line.rstrip("\r\n") for line in values_from or ())]
    if not literals:
        raise click.UsageError("expected at least one --value or --values-from")
    if explained + only_rows + as_json > 1:
        raise click.UsageError("expected at most one of --explain, --rows and --json")
    write: Callable[[Any], None] = render.write_json if as_json else render.write_probe
    if only_rows:
        write = render.write_rows_to_read
    absent = []

    def work(path: str) -> None:
        report = probe_file(path, column, literals, read_as=read_as)
        absent.append(report.is_absent)
        if explained:
            render.write_explanations(path, explain(path, column, literals, read_as=read_as))
        else:
            write(report)

    sys.exit(_Inputs(files).each(work) or (NO if all(absent) else FINE))


@cli.command()
@click.argument("file")
@column_option
@click.option(
    "-g", "--row-group", type=click.IntRange(0), default=0, show_default=True, help="Row group."
)
@click.option(
    "--format", "form", type=click.Choice(["raw", "hex", "json", "npy"]), default="hex",
    show_default=True,
    help="raw: header and bitset as stored; hex: the same; npy: uint32 words (blocks, 8).",
)  # fmt: skip
@click.option("-o", "--output", type=FILE, default="-", help="Default: standard output.")
@overwrite_option
def dump(file: str, column: str, row_group: int, form: str, output: Path, overwrite: bool) -> None:
    """Write one filter's header and bitset.

    \b
    Example:
      pbloom dump events.bloom.parquet -c user_id -g 0 --format hex
    """
    from parquet_bloom import render
    from parquet_bloom.verbs.dump import dump as dump_filter, save  # isort: skip

    data = dump_filter(file, column, row_group).in_format(form)
    if output == Path("-"):
        render.write_bytes(data)
    else:
        save(data, file, output, overwrite=overwrite)


@cli.command()
@files_argument
@columns_option()
@row_groups_option
@output_options
@json_option
def strip(
    files: tuple[str, ...], columns: tuple[str, ...], row_groups: tuple[int, ...],
    output: Path | None, output_dir: Path | None, in_place: bool, overwrite: bool, dry_run: bool,
    no_verify: bool, as_json: bool,
) -> None:  # fmt: skip
    """Remove Bloom filters from files.

    The footer loses its pointers; the filters' bytes go where they are the last before the footer.

    \b
    Example:
      pbloom strip events.bloom.parquet -o events.plain.parquet
    """
    from parquet_bloom import render
    from parquet_bloom.verbs.strip import strip as strip_filters

    inputs = _Inputs(files)
    output_of = _output_of(inputs, output, output_dir, in_place, dry_run)

    def work(path: str) -> None:
        report = strip_filters(
            path, output_of(path), columns=columns or None, row_groups=row_groups or None,
            in_place=in_place, overwrite=overwrite, dry_run=dry_run, verify=not no_verify,
        )  # fmt: skip
        (render.write_json if as_json else render.write_strip)(report)

    sys.exit(inputs.each(work))


main = partial(run, cli)
