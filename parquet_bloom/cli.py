"""The command `pbloom`. The only place that knows click.

Each command parses, makes one library call per file, and hands the answer to render. The library
is imported when a command runs, so that `pbloom --help` answers at once.

stdout is the answer, stderr is complaints. Exit codes: 0 fine or yes, 1 no, 2 trouble.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NoReturn

import click

FINE, NO, TROUBLE = 0, 1, 2
INTERRUPTED = 130

UNITS = {"": 1, "B": 1, "K": 1 << 10, "KIB": 1 << 10, "M": 1 << 20, "MIB": 1 << 20}


def _size(ctx: click.Context, param: click.Parameter, text: str) -> int:
    """Bytes as a number, or with KiB or MiB."""
    digits = text.rstrip("bBiIkKmM ")
    unit = text[len(digits) :].strip().upper()
    if not digits.isdigit() or unit not in UNITS:
        raise click.BadParameter(f"{text!r} is no size: expected bytes, or a number and KiB or MiB")
    return int(digits) * UNITS[unit]


class _Program(click.Group):
    """Turns what the library raises into one line on stderr and exit code 2."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, click.Abort):
            complain("interrupted")
            sys.exit(INTERRUPTED)
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            complain(_message(error))
            sys.exit(TROUBLE)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        return super().get_command(ctx, {"inject": "build"}.get(name, name))


def complain(message: str) -> None:
    """One line on stderr."""
    click.echo(f"pbloom: {' '.join(message.split())}", err=True)


def _message(error: Exception) -> str:
    from parquet_bloom.errors import ParquetBloomError

    if isinstance(error, ParquetBloomError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, ValueError | OSError):
        return str(error)
    if isinstance(error, MemoryError):
        return "out of memory"
    return f"internal error, please report: {type(error).__name__}: {error}"


def _each_file(paths: Iterable[str], work: Callable[[str], None]) -> bool:
    """Do `work` for every file; complain of those that fail and go on. False if any did."""
    from parquet_bloom.errors import ParquetBloomError
    from parquet_bloom.paths import expand

    fine = True
    # All files before the first is worked on, so that no output is taken for an input.
    for path in list(expand(paths)):
        try:
            work(path)
        except (ParquetBloomError, OSError) as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            complain(_message(error))
            fine = False
    return fine


def _exit(code: int) -> NoReturn:
    click.get_current_context().exit(code)


def _split(ctx: click.Context, param: click.Parameter, values: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for value in values for name in value.split(",") if name)


files_argument = click.argument("files", nargs=-1, required=True, metavar="FILE...")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document per file.")
row_groups_option = click.option(
    "-g", "--row-group", "row_groups", type=click.IntRange(0), multiple=True,
    help="Only this row group (repeatable).",
)  # fmt: skip


def columns_option(required: bool, help: str) -> Callable[[Any], Any]:
    """`-c`: dotted leaf paths, repeatable or comma-separated."""
    return click.option(
        "-c", "--column", "columns", multiple=True, required=required, callback=_split, help=help
    )


def output_options(command: Any) -> Any:
    """Where a new version goes: exactly one of -o, --output-dir, --in-place, --dry-run."""
    for option in (
        click.option("--no-verify", is_flag=True, help="Do not read back what was written."),
        click.option("--dry-run", is_flag=True, help="Do all but write."),
        click.option("--overwrite", is_flag=True, help="Replace an output that exists."),
        click.option("--in-place", is_flag=True, help="Replace each input, atomically."),
        click.option(
            "--output-dir", type=click.Path(file_okay=False, path_type=Path),
            help="Write each new version into this folder.",
        ),
        click.option(
            "-o", "--output", type=click.Path(dir_okay=False, path_type=Path),
            help="Write the new version of the one input to this file.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def _output_of(
    files: tuple[str, ...], output: Path | None, output_dir: Path | None, in_place: bool, dry: bool
) -> Callable[[str], Path | None]:
    """How an input's output is found; a usage error unless exactly one way was given."""
    from parquet_bloom.paths import expand, make_parent, output_in

    ways = [output is not None, output_dir is not None, in_place]
    if sum(ways) != 1 and not (dry and not any(ways)):
        raise click.UsageError("expected exactly one of --output, --output-dir and --in-place")
    if output is not None and len(list(expand(files))) != 1:
        raise click.UsageError("--output takes one input; use --output-dir for several")

    def output_of(path: str) -> Path | None:
        if output_dir is None:
            return output
        target = output_in(output_dir, path, files)
        if not dry:
            make_parent(target)
        return target

    return output_of


@click.group(cls=_Program, context_settings={"help_option_names": ["-h", "--help"]})
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
@columns_option(True, "Leaf column, dotted path; repeatable or comma-separated.")
@output_options
@click.option(
    "--fpp",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    default=0.01,
    show_default=True,
    help="Target false positive rate.",
)
@click.option("--ndv", type=click.IntRange(1), help="Size for this many distinct values per chunk.")
@click.option(
    "--max-bytes",
    callback=_size,
    default="128MiB",
    show_default=True,
    metavar="SIZE",
    help="Largest bitset, 64 bytes to 128 MiB.",
)
@click.option(
    "--exact-blocks",
    is_flag=True,
    help="Any number of blocks, not a power of two: smaller, but Arrow C++ refuses them.",
)
@click.option(
    "--existing",
    type=click.Choice(["keep", "replace", "error"]),
    default="keep",
    show_default=True,
    help="What to do with a filter that is there.",
)
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

    output_of = _output_of(files, output, output_dir, in_place, dry_run)

    def work(path: str) -> None:
        with render.progress(path) as progress:
            report = build_filters(
                path, output_of(path), columns=columns, row_groups=row_groups or None,
                in_place=in_place, overwrite=overwrite, dry_run=dry_run, verify=not no_verify,
                progress=progress, **options,
            )  # fmt: skip
        (render.write_json if as_json else render.write_build)(report)

    _exit(FINE if _each_file(files, work) else TROUBLE)


@cli.command()
@files_argument
@columns_option(False, "Only this leaf column; repeatable or comma-separated.")
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

    _exit(FINE if _each_file(files, work) else TROUBLE)


@cli.command()
@files_argument
@click.option("-c", "--column", required=True, help="Leaf column, dotted path.")
@click.option("-v", "--value", "values", multiple=True, help="Literal, typed by the column.")
@click.option("--values-from", type=click.File(encoding="utf-8"), help="Literals, one per line.")
@click.option(
    "--type",
    "read_as",
    type=click.Choice(
        ["bytes", "date", "decimal", "float", "int", "string", "time", "timestamp", "uuid"]
    ),
    help="Read the literals as this type instead of the column's.",
)
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

    literals = [*values, *_lines(values_from)]
    if not literals:
        raise click.UsageError("expected at least one --value or --values-from")
    if explained + only_rows + as_json > 1:
        raise click.UsageError("expected at most one of --explain, --rows and --json")
    write = (
        render.write_json if as_json
        else render.write_rows_to_read if only_rows
        else render.write_probe
    )  # fmt: skip
    absent = []

    def work(path: str) -> None:
        report = probe_file(path, column, literals, read_as=read_as)
        absent.append(report.is_absent)
        if explained:
            render.write_explanations(path, explain(path, column, literals, read_as=read_as))
        else:
            write(report)

    fine = _each_file(files, work)
    _exit(TROUBLE if not fine else NO if all(absent) else FINE)


def _lines(file: Any) -> list[str]:
    return [] if file is None else [line.rstrip("\r\n") for line in file]


@cli.command()
@click.argument("file")
@click.option("-c", "--column", required=True, help="Leaf column, dotted path.")
@click.option(
    "-g", "--row-group", type=click.IntRange(0), default=0, show_default=True, help="Row group."
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["raw", "hex", "json", "npy"]),
    default="hex",
    show_default=True,
    help="raw: header and bitset as stored; hex: the same; npy: uint32 words (blocks, 8).",
)
@click.option(
    "-o", "--output", type=click.File("wb"), default="-", help="Default: standard output."
)
def dump(file: str, column: str, row_group: int, form: str, output: Any) -> None:
    """Write one filter's header and bitset.

    \b
    Example:
      pbloom dump events.bloom.parquet -c user_id -g 0 --format hex
    """
    from parquet_bloom.verbs.dump import dump as dump_filter

    found = dump_filter(file, column, row_group)
    output.write(found.in_format(form))


@cli.command()
@files_argument
@columns_option(False, "Only this leaf column; repeatable or comma-separated.")
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

    output_of = _output_of(files, output, output_dir, in_place, dry_run)

    def work(path: str) -> None:
        report = strip_filters(
            path, output_of(path), columns=columns or None, row_groups=row_groups or None,
            in_place=in_place, overwrite=overwrite, dry_run=dry_run, verify=not no_verify,
        )  # fmt: skip
        (render.write_json if as_json else render.write_strip)(report)

    _exit(FINE if _each_file(files, work) else TROUBLE)


def main() -> None:
    """The entry point of the command."""
    cli.main(prog_name="pbloom")
