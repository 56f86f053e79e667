"""Options of commands that read object stores."""

from __future__ import annotations

from collections.abc import Mapping

import click

from parquet_bloom.commands.sections import files_option, output_option, together

# Where a click.Context has them.
_GIVEN = "parquet_bloom.storage_options"


def storage_options() -> Mapping[str, str]:
    """Those that the command was given."""
    context = click.get_current_context(silent=True)
    found: Mapping[str, str] = {} if context is None else context.meta.get(_GIVEN, {})
    return found


def _read_options(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> None:
    """Keep them for whatever opens a file. They may be secrets: no message has a value."""
    given = {}
    for text in texts:
        name, is_given, value = text.partition("=")
        if not is_given or not name:
            raise click.BadParameter("expected NAME=VALUE")
        given[name] = value
    ctx.meta[_GIVEN] = given


_storage_option = files_option(
    "--storage-option",
    callback=_read_options,
    expose_value=False,
    multiple=True,
    metavar="NAME=VALUE",
    help="Option of the object store, such as region=eu-west-1 or endpoint=URL; repeatable.",
)


def _tell_requests(ctx: click.Context, param: click.Parameter, wanted: bool) -> None:
    """Say at the end what was asked of object stores."""
    if not wanted:
        return
    from parquet_bloom.render.terminal import complain
    from parquet_bloom.render.wording import requests_text
    from parquet_bloom.storage.traffic import EVERYTHING

    before = EVERYTHING.requests
    ctx.call_on_close(lambda: complain(requests_text(EVERYTHING.requests - before)))


_stats = output_option(
    "--stats",
    callback=_tell_requests,
    expose_value=False,
    is_flag=True,
    help="Say on stderr how many requests were sent to object stores, and how many bytes came.",
)
stores = together(_storage_option, _stats)
