"""pbloom dump"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from parquet_bloom.commands import file_options
from parquet_bloom.commands import options as option
from parquet_bloom.commands.parameters import OUTPUT_FILE, Number, numbers
from parquet_bloom.commands.sections import (
    Command,
    columns_option,
    encryption_option,
    orc_option,
    output_option,
)
from parquet_bloom.commands.store_options import storage_options
from parquet_bloom.render.reports import Complaints
from parquet_bloom.render.terminal import MOST_ROWS, write_bytes, write_text
from parquet_bloom.verbs.dump import dump as dump_filter
from parquet_bloom.vocabulary import DumpFormat, words

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys

# What is no text, which a terminal would take for commands.
_BINARY: Final = frozenset(("raw", "npy"))
# What only a filter has, by the name of the argument.
_OF_FILTER = {
    "index_group": "--index-group",
    "unparsed": "--unparsed",
    "dialect": "--dialect",
    "seed": "--seed",
    "decrypt": "--decrypt",
}


@click.command(cls=Command)
@file_options.file_argument("file")
@option.columns(
    help="Leaf column, such as user.id. Quote a name with a comma, '\"a,b\"', and an empty one, '\"\"'. '#3' is the"
    " leaf with index 3 of a Parquet file. With --footer repeatable or comma-separated, and all if there is none.",
)
@columns_option(
    "-g",
    "--row-group",
    "parts",
    metavar="N",
    multiple=True,
    callback=lambda ctx, param, texts: numbers(ctx, texts),
    help="Row group, or stripe of an ORC file, counted from 0. With --footer repeatable or"
    " comma-separated.  [default: 0; with --footer all]",
)
@orc_option(
    "--index-group",
    type=Number(0),
    metavar="N",
    help="Index group in the stripe, counted from 0.  [default: 0]",
)
@output_option(
    "--footer",
    is_flag=True,
    help="Write every field of a Parquet file's footer instead: where its bytes are, its name in the"
    " format's definition, and its value.",
)
@output_option(
    "--format",
    "output_format",
    type=click.Choice(words(DumpFormat)),
    help="raw: header and bitset as stored; hex: the same in hexadecimal; npy: the words, uint32 of"
    " shape (blocks, 8), or uint64 in ORC files and Statistics.  [default: hex]",
)
@output_option("--json", "as_json", is_flag=True, help="The same as --format json.")
@output_option(
    "-o", "--output", type=OUTPUT_FILE, default="-", help="File to write.  [default: stdout]"
)
@option.overwrite_answer
@output_option("--verbose", is_flag=True, help="Show all of it on a terminal, however much it is.")
@output_option(
    "--unparsed",
    is_flag=True,
    help="Write the bytes that bloom_filter_offset points to, whatever they are: as many"
    " as bloom_filter_length says, or all up to whatever comes next in the file. In"
    " npy they are uint8.",
)
@option.stored_dialect
@option.access
@encryption_option(
    "--decrypt",
    is_flag=True,
    help="Write the decrypted bits of an encrypted column: they tell which values are stored.",
)
def dump(
    file: str, columns: tuple[str, ...] | None, parts: tuple[int, ...], footer: bool,
    output_format: DumpFormat | None, as_json: bool, output: Path, overwrite: bool,
    keys: Keys | None, verbose: bool, **given: Any,
) -> None:  # fmt: skip
    """Write one filter's header and bitset, or the footer of a Parquet file.

    A terminal gets the first lines of a large filter and an outline of a large footer, unless --verbose.

    \b
    Examples:
      pbloom dump events.bloom.parquet -c user_id -g 0 --format hex
      pbloom dump events.bloom.parquet -c user_id -g 0 --format npy -o id.npy
      pbloom dump events.bloom.parquet --footer
    """
    if as_json and output_format not in (None, "json"):
        raise click.UsageError("expected at most one of --json and --format")
    format_name = output_format or ("json" if as_json else None)
    if footer:
        if format_name not in (None, "json"):
            raise click.UsageError(f"expected --footer without --format {format_name}")
        others = [name for key, name in _OF_FILTER.items() if _is_given(given[key])]
        if others:
            raise click.UsageError(f"expected --footer without {', '.join(others)}")
        with option.answering([file], output, overwrite):
            _dump_footer(file, columns, parts or None, keys, format_name is not None, verbose)
        return
    if not columns:
        raise click.UsageError("expected --column, or --footer")
    if len(columns) > 1 or len(parts) > 1:
        raise click.UsageError("expected one --column and one --row-group, or --footer")
    if format_name in _BINARY and str(output) == "-" and sys.stdout.isatty():
        raise click.UsageError("binary output to a terminal: expected -o FILE or a pipe")
    (column,), row_group = columns, parts[0] if parts else 0
    dumped = dump_filter(
        file, column, row_group, keys=keys, storage_options=storage_options(), **given
    )
    Complaints(1).add_if_unverified(file, dumped)
    lines = dumped.parts(format_name or "hex")
    with option.answering([file], output, overwrite):
        if format_name in (None, "hex") and sys.stdout.isatty() and not verbose:
            lines = _first_lines(lines)
        for part in lines:
            write_bytes(part)


def _first_lines(parts: Iterator[bytes]) -> Iterator[bytes]:
    """What a screen shows of a filter in hex; its header is a part of its own, the next is a MiB."""
    lines = b"".join(islice(parts, 2)).splitlines(keepends=True)
    yield from lines[:MOST_ROWS]
    if len(lines) > MOST_ROWS:
        write_text("And more lines: --verbose shows all, and -o writes them to a file.")


def _is_given(value: object) -> bool:
    """Whether an option has a value, which may be 0."""
    return value is not None and value is not False


def _dump_footer(
    file: str,
    columns: tuple[str, ...] | None,
    row_groups: tuple[int, ...] | None,
    keys: Keys | None,
    as_json: bool,
    verbose: bool,
) -> None:
    from parquet_bloom.render.dump_footer import write_footer, write_footer_json, write_outline
    from parquet_bloom.verbs.dump_footer import dump_footer

    report = dump_footer(
        file, columns=columns, row_groups=row_groups, keys=keys, storage_options=storage_options()
    )
    Complaints(1).add_if_unverified(file, report)
    if as_json:
        write_footer_json(report)
    elif columns or row_groups or verbose or not sys.stdout.isatty():
        write_footer(report)
    else:
        write_outline(report)
