"""Options of commands that read object stores."""

from __future__ import annotations

from collections.abc import Mapping

import click

from parquet_bloom.commands.parameters import settings
from parquet_bloom.commands.sections import files_option, output_option, together
from parquet_bloom.render.terminal import complain
from parquet_bloom.render.wording import requests_text

# Where a click.Context has them.
_GIVEN = "parquet_bloom.storage_options"


def storage_options() -> Mapping[str, str]:
    """Those that the command was given."""
    context = click.get_current_context(silent=True)
    found: Mapping[str, str] = {} if context is None else context.meta.get(_GIVEN, {})
    return found


def store_options_again() -> tuple[str, ...]:
    """The options that give the next command the same."""
    from parquet_bloom.storage.address import Options

    return Options(storage_options()).arguments


def _keep(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> None:
    """Keep them for whatever opens a file."""
    ctx.meta[_GIVEN] = settings(ctx, param, texts)


_storage_option = files_option(
    "--storage-option",
    callback=_keep,
    expose_value=False,
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of the object store, such as endpoint=URL or region=eu-west-1; repeatable.",
)


def _tell_requests(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    """Say at the end what was asked of object stores."""
    if not wanted:
        return
    from parquet_bloom.storage.traffic import EVERYTHING

    before = EVERYTHING.requests
    ctx.call_on_close(lambda: complain(requests_text(EVERYTHING.requests - before)))


_stats = output_option(
    "--stats",
    callback=_tell_requests,
    expose_value=False,
    is_flag=True,
    help="Report on stderr how many requests were sent to object stores, and how many"
    " bytes were received.",
)
stores = together(_storage_option, _stats)
