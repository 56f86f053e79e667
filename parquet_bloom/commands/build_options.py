"""What `pbloom build` and `pbloom spark build` write: options that no other command has."""

from __future__ import annotations

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.sections import (
    encryption_option,
    files_option,
    filters_option,
    orc_option,
    together,
)
from parquet_bloom.vocabulary import Existing, OrcStreams, words

MAX_NDV = 1 << 62

orc_streams = orc_option(
    "--orc-streams",
    type=click.Choice(words(OrcStreams)),
    help="Streams to write; both: for readers before ORC 1.3, too.  [default: utf8]",
)
expose_filter_location = encryption_option(
    "--expose-filter-location",
    is_flag=True,
    help="Let a plaintext footer show where the filters of encrypted columns are.",
)

drop_foreign_fields = files_option(
    "--drop-foreign-fields",
    is_flag=True,
    help="Drop fields of another writer that are in the way: a second footer, or a list in the place of a"
    " filter's pointer.",
)

append_in_place = files_option(
    "--append-in-place",
    is_flag=True,
    help="Append only what is new to each file itself, which nobody must read meanwhile; for large local"
    " Parquet files.",
)

# Which filters to build, and what to do with those that exist.
filters = together(
    option.fpp,
    filters_option(
        "--ndv",
        type=click.IntRange(1, MAX_NDV),
        metavar="N",
        help="Size filters for this many distinct values per column chunk.",
    ),
    option.max_bytes,
    filters_option(
        "--exact-blocks",
        is_flag=True,
        help="Allow any number of blocks, not only powers of two: smaller, but Arrow C++ refuses"
        " such filters, and Impala and rugo lose rows: see `pbloom rule PB201`.",
    ),
    filters_option(
        "--existing",
        type=click.Choice(words(Existing)),
        default="keep",
        show_default=True,
        help="What to do with existing filters.",
    ),
    filters_option("--force", is_flag=True, help="Also write filters that miss the target rate."),
    option.layout,
)
