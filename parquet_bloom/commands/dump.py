"""pbloom dump"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.key_options import key_options
from parquet_bloom.commands.sections import (
    Command,
    columns_option,
    encryption_option,
    orc_option,
    output_option,
)
from parquet_bloom.commands.store_options import storage_options, stores
from parquet_bloom.vocabulary import DumpFormat, words


@click.command(cls=Command)
@option.file_argument("file")
@option.column
@columns_option(
    "-g",
    "--row-group",
    type=click.IntRange(0),
    default=0,
    show_default=True,
    metavar="N",
    help="Row group, or stripe of an ORC file, counted from 0.",
)
@orc_option(
    "--index-group",
    type=click.IntRange(0),
    metavar="N",
    help="Index group in the stripe, counted from 0.  [default: 0]",
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
    "-o", "--output", type=option.FILE, default="-", help="File to write.  [default: stdout]"
)
@option.overwrite_answer
@output_option(
    "--unparsed",
    is_flag=True,
    help="Write the bytes that bloom_filter_offset leads to, whatever they are: as many as"
    " bloom_filter_length says, or all up to what comes next in the file. In npy they are uint8.",
)
@option.stored_dialect
@option.memory
@stores
@key_options
@encryption_option(
    "--decrypt",
    is_flag=True,
    help="Write the decrypted bits of an encrypted column: they tell which values are stored.",
)
def dump(
    file: str, column: str, row_group: int, output_format: DumpFormat | None, as_json: bool,
    output: Path, overwrite: bool, **given: Any,
) -> None:  # fmt: skip
    """Write one filter's header and bitset.

    \b
    Example:
      pbloom dump events.bloom.parquet -c user_id -g 0 --format hex
    """
    from parquet_bloom.render.many_files import Complaints
    from parquet_bloom.render.terminal import write_bytes
    from parquet_bloom.verbs.answer_file import answer_file
    from parquet_bloom.verbs.dump import dump as dump_filter

    if as_json and output_format not in (None, "json"):
        raise click.UsageError("expected at most one of --json and --format")
    dumped = dump_filter(file, column, row_group, storage_options=storage_options(), **given)
    Complaints(1).add_if_unverified(file, dumped)
    parts = dumped.parts(output_format or ("json" if as_json else "hex"))
    if output == Path("-"):
        for part in parts:
            write_bytes(part)
        return
    with answer_file(output, [file], overwrite=overwrite) as written:
        for part in parts:
            written.append(part)
