"""Options and arguments that several commands take, and the loop over the input files."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.program import FINE, TROUBLE
from parquet_bloom.vocabulary import Existing, words

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import Destination
    from parquet_bloom.rules.policy import Policy


class LocalPath(click.Path):
    """A path, which a URL is not: as one it would be a folder called `s3:`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from parquet_bloom.storage.source import is_url

        if is_url(os.fspath(value)):
            self.fail(f"'{value}' is a URL, expected a local path", param, ctx)
        return super().convert(value, param, ctx)


FILE = LocalPath(dir_okay=False, path_type=Path)
FOLDER = LocalPath(file_okay=False, path_type=Path)


def any_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Bytes as a number, or with KiB or MiB."""
    return None if text is None else _size(text)


def filter_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """The same, of a filter that can be written."""
    if text is None:
        return None
    from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES

    size: int = click.IntRange(MIN_BYTES, MAX_BYTES).convert(_size(text), param, ctx)
    return size


def _size(text: str) -> int:
    from parquet_bloom.filters.sizing import parse_size

    try:
        return parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


class Inputs:
    """The files that are named; found before the first is worked on, so no output is among them."""

    def __init__(self, names: tuple[str, ...]) -> None:
        from parquet_bloom.storage.paths import expand

        self.files, self._errors = expand(names)

    def each(
        self,
        work: Callable[[str], None],
        failed: Callable[[str, str], None] = lambda path, message: None,
    ) -> int:
        """Do `work` for every file; complain of what fails and go on. The exit code.

        `failed` is told the path of each file that failed, and the complaint.
        """
        from parquet_bloom.errors import ParquetBloomError, complaint, complaint_about
        from parquet_bloom.render.terminal import StandardOutputError, complain

        code = TROUBLE if self._errors else FINE
        for missing in self._errors:
            complain(complaint(missing))
            failed(str(missing.filename), complaint(missing))
        for file in self.files:
            try:
                work(file.path)
            except StandardOutputError:
                raise
            except (ParquetBloomError, OSError, ValueError, MemoryError) as error:
                message = complaint_about(file.path, error)
                complain(message)
                failed(file.path, message)
                code = TROUBLE
        return code


def _column(ctx: click.Context, param: click.Parameter, name: str) -> str:
    """A column as it is spelled. An unset variable of a shell is none, and must not mean all."""
    if not name:
        raise click.BadParameter("an empty name, expected a leaf column")
    return name


def parse_columns(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[str, ...]:
    """Each text is names with commas between them."""
    from parquet_bloom.options import names_in

    try:
        lines = [names_in(text) for text in texts]
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return tuple(_column(ctx, param, name) for line in lines for name in line)


files_argument = click.argument("files", nargs=-1, required=True, metavar="FILE...")
json_option = click.option("--json", "as_json", is_flag=True, help="One JSON document per file.")
row_groups_option = click.option(
    "-g", "--row-group", "row_groups", type=click.IntRange(0), multiple=True,
    help="Only this row group, of an ORC file this stripe (repeatable).",
)  # fmt: skip
columns_option = partial(
    click.option, "-c", "--column", "columns", multiple=True, callback=parse_columns,
    help="Leaf column, dotted path; repeatable or comma-separated, '\"a,b\"' if one has a comma.",
)  # fmt: skip
column_option = click.option(
    "-c", "--column", required=True, callback=_column, help="Leaf column, dotted path, verbatim."
)
fpp_option = click.option(
    "--fpp", type=click.FloatRange(0, 1, min_open=True, max_open=True), default=0.01,
    show_default=True, help="Target false positive rate.",
)  # fmt: skip
max_bytes_option = click.option(
    "--max-bytes", callback=filter_size, metavar="SIZE",
    help="Largest bitset, 64 bytes to 128 MiB.  [default: 128MiB]",
)  # fmt: skip
read_as_option = click.option(
    "--type", "read_as", help="Read the literals as this type instead of the column's.",
    type=click.Choice(
        ["bytes", "date", "decimal", "float", "int", "string", "time", "timestamp", "uuid"]
    ),
)  # fmt: skip
no_verify_option = click.option(
    "--no-verify", is_flag=True, help="Do not read back what was written."
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Do all but write.")
threads_option = click.option(
    "--threads", type=click.IntRange(1), help="Default: one per processor."
)
overwrite_option = click.option("--overwrite", is_flag=True, help="Replace an output that exists.")


# For the inputs, what gives for each path where its new version goes.
Destinations = Callable[["Inputs"], Callable[[str], "Destination"]]

# Parameter -> what it sets, by the names of a keys file; how its value looks; help.
_KEY_PARAMETERS = {
    "footer_key": ("footer", "KEYSPEC", "Key of the footer: hex:… base64:… env:VAR file:PATH fd:N."),
    "column_key": ("columns", "PATH=KEYSPEC", "Key of a leaf column, or of all in a group."),
    "key_id": ("key_ids", "ID=KEYSPEC", "Key that the file names by this id."),
    "uniform_key": ("uniform", "KEYSPEC", "Key of whatever has no other."),
    "aad_prefix": ("aad_prefix", "TEXT|hex:…", "AAD prefix, if the file does not store it."),
    "master_key": (
        "master_keys", "ID=KEYSPEC", "Master key of wrapped keys; also ID:BASE64,ID:BASE64."
    ),
    "kms": ("kms", "MODULE:CLASS", "KMS client that unwraps keys; one for pyarrow does."),
    "kms_conf": ("kms_conf", "NAME=VALUE", "Configuration of the KMS client."),
    "kms_instance_id": ("kms_instance_id", "ID", "For the KMS client."),
    "kms_instance_url": ("kms_instance_url", "URL", "For the KMS client."),
    "kms_token": ("kms_token", "env:VAR|file:PATH|fd:N", "Access token for the KMS client."),
    "key_retriever": ("key_retriever", "MODULE:FUNCTION", "Makes a key of a file's key_metadata."),
    "key_material": ("key_material", "FILE", "Key material, if it is not beside the file."),
}  # fmt: skip
_KEY_TABLES = {"columns", "key_ids", "master_keys", "kms_conf"}


def key_options(command: Any) -> Any:
    """All options for keys; the command gets one `keys`, None if nothing was given.

    KEYSPEC: hex:… base64:… ascii:… env:VAR[,ENC] file:PATH[,ENC] fd:N[,ENC].
    """

    @wraps(command)
    def with_keys(*args: Any, keys_file: Path | None, **given: Any) -> Any:
        options = {
            setting: given.pop(parameter) for parameter, (setting, _, _) in _KEY_PARAMETERS.items()
        }
        return command(*args, keys=_keys(options, keys_file), **given)

    with_keys = click.option(
        "--keys", "keys_file", type=FILE, envvar="PBLOOM_KEYS", show_envvar=True,
        help="JSON file of keys; the other options for keys win over it.",
    )(with_keys)  # fmt: skip
    for parameter, (setting, metavar, help) in reversed(_KEY_PARAMETERS.items()):
        repeatable = setting in _KEY_TABLES
        with_keys = click.option(
            f"--{parameter.replace('_', '-')}", parameter, metavar=metavar, multiple=repeatable,
            help=f"{help.removesuffix('.')} (repeatable)." if repeatable else help,
        )(with_keys)  # fmt: skip
    return with_keys


def _keys(options: dict[str, Any], keys_file: Path | None) -> Keys | None:
    given = {name: value for name, value in options.items() if value not in (None, ())}
    if keys_file is None and not given:
        return None
    from parquet_bloom.encryption.keys_file import keys_of, merged, read_keys_file, table_of
    from parquet_bloom.render.terminal import complain

    in_file = {} if keys_file is None else read_keys_file(keys_file, warn=complain)
    tables = {name: table_of(name, given[name]) for name in _KEY_TABLES & given.keys()}
    return keys_of(merged(in_file, {**given, **tables}))


def asked_dialect_options(command: Any) -> Any:
    """`dialect` and `seed`: of the filters that are read."""

    @click.option(
        "--dialect", type=click.Choice(["xxhash", "murmur3", "statistics"]),
        help="Of the filters. Default: that to which bloom_filter_offset leads.",
    )  # fmt: skip
    @click.option(
        "--seed", type=click.IntRange(0, (1 << 32) - 1),
        help="With --dialect murmur3: that of the hash. Default: what fits the stored values.",
    )  # fmt: skip
    @wraps(command)
    def with_dialect(*args: Any, dialect: str | None, seed: int | None, **options: Any) -> Any:
        if seed is not None and dialect != "murmur3":
            raise click.UsageError("--seed: expected with --dialect murmur3 only")
        return command(*args, dialect=dialect, seed=seed, **options)

    return with_dialect


def output_options(command: Any) -> Any:
    """Where a new version goes: exactly one of -o, --output-dir, --in-place, --dry-run."""
    for option in (
        no_verify_option,
        dry_run_option,
        overwrite_option,
        click.option("--in-place", is_flag=True, help="Replace each input, atomically."),
        click.option("--output-dir", type=FOLDER, help="Write each new version into this folder."),
        click.option("-o", "--output", type=FILE, help="Write the one input's new version here."),
    ):
        command = option(command)
    return command


def output_of(
    inputs: Inputs, output: Path | None, output_dir: Path | None, in_place: bool, dry: bool
) -> Callable[[str], Path | None]:
    """How an input's output is found; a usage error unless exactly one way was given."""
    from parquet_bloom.storage.paths import outputs_in, with_parent

    ways = [output is not None, output_dir is not None, in_place]
    if sum(ways) != 1 and not (dry and not any(ways)):
        raise click.UsageError("expected exactly one of --output, --output-dir and --in-place")
    if output is not None and len(inputs.files) > 1:
        raise click.UsageError("--output takes one input; use --output-dir for several")
    outputs = {} if output_dir is None else outputs_in(output_dir, inputs.files)
    if dry or not outputs:
        return lambda path: output
    return lambda path: with_parent(outputs[path])


def destination_options(command: Any) -> Any:
    """The same; the command gets `destinations`, which gives for its inputs what gives for each path
    its Destination."""

    @wraps(command)
    def with_destinations(
        *args: Any, output: Path | None, output_dir: Path | None, in_place: bool, overwrite: bool,
        dry_run: bool, no_verify: bool, **given: Any,
    ) -> Any:  # fmt: skip
        from parquet_bloom.options import Destination

        def destinations(inputs: Inputs) -> Callable[[str], Destination]:
            target = output_of(inputs, output, output_dir, in_place, dry_run)
            return lambda path: Destination(
                output=target(path),
                in_place=in_place,
                overwrite=overwrite,
                dry_run=dry_run,
                verify=not no_verify,
            )

        return command(*args, destinations=destinations, **given)

    return output_options(with_destinations)


def filter_options(command: Any) -> Any:
    """What filters are to be built, and beside which; None is what is not given."""
    for option in (
        click.option("--force", is_flag=True, help="Also write filters that miss the target."),
        click.option(
            "--existing", type=click.Choice(words(Existing)), default="keep",
            show_default=True, help="What to do with a filter that is there.",
        ),
        click.option(
            "--exact-blocks", is_flag=True,
            help="Any number of blocks, not a power of two: smaller, but Arrow C++ refuses them.",
        ),
        click.option(
            "--max-bytes", callback=filter_size, metavar="SIZE",
            help="Largest bitset, 64 bytes to 128 MiB.  [default: 128MiB]",
        ),
        click.option(
            "--ndv", type=click.IntRange(1, 1 << 62),
            help="Size for this many distinct values per chunk.",
        ),
        click.option(
            "--fpp", type=click.FloatRange(0, 1, min_open=True, max_open=True),
            help="Target false positive rate.  [default: 0.01]",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def demand_options(command: Any) -> Any:
    """How filters are checked, and what is demanded of them; see check_diagnosable."""
    for option in (
        click.option(
            "--ignore", multiple=True, callback=parse_columns, metavar="RULE",
            help="Rule by id or name; repeatable or comma-separated.",
        ),
        click.option(
            "--fail-on", type=click.Choice(["error", "warning", "note", "never"]),
            help="Lowest severity with exit code 1.  [default: error]",
        ),
        click.option("--max-bytes", callback=any_size, metavar="SIZE", help="Largest bitset."),
        click.option(
            "--max-fpp", type=click.FloatRange(0, 1, min_open=True, max_open=True),
            help="Highest false positive probability, computed from the bits.",
        ),
        click.option(
            "--require", multiple=True, callback=parse_columns, metavar="COLUMN",
            help="Leaf column that must have filters; repeatable or comma-separated.",
        ),
        click.option(
            "--diagnose", is_flag=True, help="Say what a writer did instead of what is right."
        ),
        click.option(
            "--deep/--no-deep", default=True, show_default=True,
            help="Look up every stored value, or read footers and filters only.",
        ),
    ):  # fmt: skip
        command = option(command)
    return command


def check_diagnosable(deep: bool, diagnose: bool) -> None:
    """A usage error for a diagnosis without the values."""
    if diagnose and not deep:
        raise click.UsageError("--diagnose looks up values, which --no-deep does not")


def config_options(command: Any) -> Any:
    """Where a policy stands; see policy_of."""
    for option in (
        click.option("--no-config", is_flag=True, help="Look for no configuration."),
        click.option(
            "--config", type=FILE, help="Default: the nearest pbloom.toml or pyproject.toml."
        ),
    ):
        command = option(command)
    return command


def policy_of(config: Path | None, no_config: bool) -> Policy:
    """The policy in the file that is named, or in the one that is found from here upwards."""
    from parquet_bloom.rules.policy import Policy, find_config, read_policy

    if config is not None and no_config:
        raise click.UsageError("expected at most one of --config and --no-config")
    if config is None and not no_config:
        config = find_config(Path.cwd())
    return Policy() if config is None else read_policy(config)
