"""pbloom dump"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from parquet_bloom.commands.options import (
    FILE,
    asked_dialect_options,
    column_option,
    key_options,
    overwrite_option,
)
from parquet_bloom.vocabulary import DumpFormat, words

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.vocabulary import Dialect


@click.command()
@click.argument("file")
@column_option
@click.option(
    "-g", "--row-group", type=click.IntRange(0), default=0, show_default=True,
    help="Row group, or stripe of an ORC file.",
)  # fmt: skip
@click.option("--index-group", type=click.IntRange(0), help="Of an ORC file. Default: 0.")
@click.option(
    "--format", "output_format", type=click.Choice(words(DumpFormat)), default="hex",
    show_default=True,
    help="raw: header and bitset as stored; hex: the same in hexadecimal; npy: words, uint32 in the"
    " shape (blocks, 8), uint64 of ORC and in Statistics.",
)  # fmt: skip
@click.option("-o", "--output", type=FILE, default="-", help="Default: standard output.")
@overwrite_option
@click.option(
    "--decrypt", is_flag=True,
    help="Of an encrypted column, the bits themselves: they tell which values are stored.",
)  # fmt: skip
@asked_dialect_options
@key_options
def dump(
    file: str, column: str, row_group: int, index_group: int | None, output_format: DumpFormat,
    output: Path, overwrite: bool, decrypt: bool, dialect: Dialect | None, seed: int | None,
    keys: Keys | None,
) -> None:  # fmt: skip
    """Write one filter's header and bitset.

    \b
    Example:
      pbloom dump events.bloom.parquet -c user_id -g 0 --format hex
    """
    from parquet_bloom.render.terminal import complain_if_unverified, write_bytes
    from parquet_bloom.verbs.dump import dump as dump_filter
    from parquet_bloom.verbs.dump import save

    dumped = dump_filter(
        file, column, row_group, index_group=index_group, dialect=dialect, seed=seed, keys=keys,
        decrypt=decrypt,
    )  # fmt: skip
    complain_if_unverified(file, dumped.unverified)
    data = dumped.in_format(output_format)
    if output == Path("-"):
        write_bytes(data)
    else:
        save(data, file, output, overwrite=overwrite)
