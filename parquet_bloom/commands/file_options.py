"""Which files a command works on: names or a manifest, a time, a shard."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from datetime import datetime
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

import click

from parquet_bloom.commands import parameters
from parquet_bloom.commands.completers import file_names
from parquet_bloom.commands.inputs import FoundInputs, Inputs
from parquet_bloom.commands.sections import Callback, Decorator, files_option, together
from parquet_bloom.commands.store_options import storage_options
from parquet_bloom.dataclass import dataclass
from parquet_bloom.program import words_of
from parquet_bloom.render.terminal import complain
from parquet_bloom.storage import without_options
from parquet_bloom.storage.paths import expand, is_changed_since, not_listed
from parquet_bloom.storage.source import is_url

if TYPE_CHECKING:
    from parquet_bloom.storage.left_out import LeftOut
    from parquet_bloom.storage.paths import Input
    from parquet_bloom.storage.shard import Shard

STDIN = "-"


@dataclass(frozen=True, slots=True)
class FilesAsked:
    """The files that a command was asked to work on: those that `names` mean or a `manifest` lists, of
    which only those changed `since` then, and of these only those in a `shard`. Of tables, those added
    `since` then, or since a version, branch or tag."""

    names: tuple[str, ...]
    manifest: str | None
    since: datetime | int | str | None
    shard: Shard | None

    @property
    def words(self) -> tuple[str, ...]:
        """With which a command means them, or with --since and --shard fewer."""
        if self.manifest is None:
            return self.shown_names
        return "--manifest", without_options(self.manifest)

    @property
    def whole_words(self) -> tuple[str, ...]:
        """These words, if they say all that was asked for."""
        return () if self.since is not None or self.shard else self.words

    @property
    def shown_names(self) -> tuple[str, ...]:
        """Without options of stores that are in URLs."""
        return tuple(map(without_options, self.names))

    def inputs(self, left_out: LeftOut) -> Inputs:
        """The files that were changed since then; `left_out` takes what folders have besides, and nobody named.
        Those of all shards, so that whoever chooses outputs sees that two have the same, but of a manifest. Raises as
        found."""
        moment = time_of_files(self.since)
        inputs = Inputs(self.found(left_out))
        if moment is not None:
            inputs.keep([file for file in inputs.files if is_changed_since(file.path, moment)])
        return inputs

    def found(self, left_out: LeftOut) -> FoundInputs:
        """The files, whenever they were changed, and errors; of a manifest, only those in the shard, as it may list
        very many. Raises UnsupportedError if nothing here can list them, FormatError and OSError for a manifest."""
        if self.manifest is None:
            files, errors = expand(self.names, storage_options(), left_out)
            errors += (not_listed(*each) for each in left_out.unlisted)
            left_out.paths = [*left_out.besides(file.path for file in files)]
        else:
            files, errors = _listed_in(self.manifest, self.shard), []
        return files, errors

    def narrow(self, inputs: Inputs) -> None:
        """Keep those of the inputs that are in the shard, and say so if nothing is left."""
        shard, limits = self.shard, ""
        if isinstance(self.since, int):
            limits += f" added since version {self.since}"
        elif isinstance(self.since, str):
            limits += f" added since {self.since}"
        elif self.since is not None:
            limits += f" changed since {self.since:%Y-%m-%d %H:%M:%S} UTC"
        if shard is not None:
            inputs.keep([file for file in inputs.files if shard.takes(file.path)])
            limits += f" in shard {shard}"
        if limits and not inputs.files and not inputs.errors:
            complain(f"nothing to do: no files{limits}")


def time_of_files(since: datetime | int | str | None) -> datetime | None:
    """Raises UsageError for a version, branch or tag, which files do not have."""
    if isinstance(since, str):
        raise click.UsageError(
            f"--since: {parameters.no_moment(since)}; with --table also a version, snapshot, branch or tag"
        )
    if isinstance(since, int):
        raise click.UsageError(
            f"--since: {since}: expected a time or an age, or with --table a version"
        )
    return since


def _listed_in(manifest: str, shard: Shard | None) -> list[Input]:
    from parquet_bloom.storage.manifest import inputs_in
    from parquet_bloom.storage.stream import open_stream

    if not manifest:
        # An unset shell variable must not mean the current folder.
        raise FileNotFoundError(errno.ENOENT, "--manifest: an empty name, expected a file")
    if manifest == STDIN:
        stdin = io.BufferedReader(cast("io.RawIOBase", sys.stdin.buffer))
        return inputs_in(
            "standard input",
            stdin,
            storage_options(),
            shard,
        )
    with open_stream(manifest, storage_options()) as stream:
        return inputs_in(manifest, stream, storage_options(), shard)


def file_argument(name: str, **settings: Any) -> Decorator:
    """An argument that shells complete with the names of files."""
    return click.argument(name, shell_complete=file_names, callback=_as_names, **settings)


def _as_names(
    ctx: click.Context, param: click.Parameter, names: str | tuple[str, ...] | None
) -> str | tuple[str, ...] | None:
    """Names that no command takes for options, also one that is printed for what helps next. Raises BadParameter for
    words that are no names of files, and were meant for something else."""
    given = names if isinstance(names, tuple) else (names,) if names else ()
    if not all(is_url(name) or os.path.lexists(name) for name in given):
        _check_words(ctx, given)
    return (
        tuple(map(_no_option, given)) if isinstance(names, tuple) else names and _no_option(names)
    )


def _check_words(ctx: click.Context, names: Sequence[str]) -> None:
    """Raise BadParameter for words, some of which are not there, if something else may have been meant."""
    from parquet_bloom.render import stray_words
    from parquet_bloom.render.usage import typed_for

    options = [each for each in ctx.command.params if isinstance(each, click.Option)]
    typed = typed_for(ctx, words_of(ctx))
    known = [name for each in options for name in each.opts]
    meant = (
        stray_words.check_stdin(names, known)
        or stray_words.dash_meant(names, known)
        or stray_words.name_meant(names)
        or stray_words.command_meant(names, _commands(ctx), ctx.command_path)
        or stray_words.list_meant(names)
        or stray_words.option_meant(names, typed)
        or stray_words.table_meant(names, known, typed.words)
    )
    if meant:
        raise click.BadParameter(meant)


def _commands(ctx: click.Context) -> Sequence[str]:
    """Those beside a command of the program; none of a group, whose files may be elsewhere, as those on Spark."""
    root = ctx.find_root()
    if not isinstance(root.command, click.Group) or ctx.parent is not root:
        return ()
    return root.command.list_commands(root)


def _no_option(name: str) -> str:
    """`./-events.parquet`"""
    return f"./{name}" if name.startswith("-") and name != "-" else name


since = files_option(
    "--since",
    callback=parameters.since,
    metavar="TIME|AGE|N",
    help="Only files changed since then, by their modification times, which copies may keep: 2026-11-20,"
    " 2026-11-20T06:00Z, 2d, 12h; of a table, those added since then, or since version or snapshot N, or the NAME of"
    " a branch or tag.",
)
since_time = files_option(
    "--since",
    callback=parameters.since_time,
    metavar="TIME|AGE",
    help="Only files changed since then, by their modification times, which copies may keep: 2026-11-20,"
    " 2026-11-20T06:00Z, 2d, 12h.",
)
_names = file_argument("files", nargs=-1, metavar="FILE...")
manifest_option = files_option(
    "--manifest",
    metavar="FILE",
    help="Instead of FILE...: the files that this one lists, or - for standard input; one path per"
    " line, JSON lines, CSV, Parquet, or the manifest.json of an S3 Inventory.",
)
manifest_for_executors = files_option(
    "--manifest",
    metavar="FILE",
    help="Instead of PATH...: the files that this one lists, local or behind a URL, as for `pbloom"
    " build`.",
)
_shard = files_option(
    "--shard",
    callback=parameters.shard,
    metavar="I/N",
    help="Only the files in shard I of N, counted from 0. All N together are each file once.",
)


def _asked(*options: Decorator) -> Decorator:
    """The command gets what was asked for as `files`, a FilesAsked."""

    def add(command: Callback) -> Callback:
        @together(_names, manifest_option, since, *options)
        @wraps(command)
        def with_files(
            files: tuple[str, ...], manifest: str | None, since: datetime | int | str | None,
            shard: Shard | None = None, **given: object,
        ) -> object:  # fmt: skip
            if manifest is not None and files:
                raise click.UsageError("expected FILE or --manifest, not both")
            if manifest is None and not files:
                context = click.get_current_context()
                (argument,) = (each for each in context.command.params if each.name == "files")
                raise click.MissingParameter(ctx=context, param=argument)
            return command(files=FilesAsked(files, manifest, since, shard), **given)

        return with_files

    return add


files = _asked(_shard)
# For a command that judges all files together, which no shard can.
files_together = _asked()


union_by_name = files_option(
    "--union-by-name",
    is_flag=True,
    help="Take columns of several files by their names: one is null in a file that has none of this name, not even in"
    " another case, if any other file has it.",
)
