"""pbloom dump"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.vocabulary import DumpFormat, words


@click.command()
@click.argument("file")
@option.column
@click.option(
    "-g", "--row-group", type=click.IntRange(0), default=0, show_default=True,
    help="Row group, or stripe of an ORC file.",
)  # fmt: skip
@click.option(
    "--index-group", type=click.IntRange(0), help="Index group of an ORC file.  [default: 0]"
)
@click.option(
    "--format", "output_format", type=click.Choice(words(DumpFormat)), default="hex",
    show_default=True,
    help="raw: header and bitset as stored; hex: the same in hexadecimal; npy: the words, uint32 of"
    " shape (blocks, 8), or uint64 in ORC files and Statistics.",
)  # fmt: skip
@click.option(
    "-o", "--output", type=option.FILE, default="-", help="File to write.  [default: stdout]"
)
@option.overwrite
@click.option(
    "--decrypt", is_flag=True,
    help="Write the decrypted bits of an encrypted column: they tell which values are stored.",
)  # fmt: skip
@click.option(
    "--unparsed", is_flag=True,
    help="Write the bytes that bloom_filter_offset leads to, whatever they are: as many as"
    " bloom_filter_length says, or all up to what is next. In npy they are uint8.",
)  # fmt: skip
@option.stored_dialect
@option.keys
def dump(
    file: str, column: str, row_group: int, output_format: DumpFormat, output: Path,
    overwrite: bool, **given: Any,
) -> None:  # fmt: skip
    """Write one filter's header and bitset.

    \b
    Example:
      pbloom dump events.bloom.parquet -c user_id -g 0 --format hex
    """
    from parquet_bloom.render.many_files import Complaints
    from parquet_bloom.render.terminal import write_bytes
    from parquet_bloom.verbs.dump import dump as dump_filter
    from parquet_bloom.verbs.dump import save

    dumped = dump_filter(file, column, row_group, **given)
    Complaints(1).add_if_unverified(file, dumped)
    data = dumped.in_format(output_format)
    if output == Path("-"):
        write_bytes(data)
    else:
        save(data, file, output, overwrite=overwrite)
