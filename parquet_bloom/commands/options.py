"""Options and arguments that several commands share.

Commands import this module as `option`. A Decorator here may stand for several options, in the
order of the help; it says what the command gets if that is not what was typed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from parquet_bloom.commands.inputs import Inputs
from parquet_bloom.vocabulary import Dialect, Existing, FailOn, LiteralType, words

if TYPE_CHECKING:
    from parquet_bloom.encryption.keys import Keys
    from parquet_bloom.options import Destination

Decorator = Callable[[Any], Any]
GivenKeys: TypeAlias = "Keys | None"
DestinationOf = Callable[[str], "Destination"]


class LocalPath(click.Path):
    """A path; a URL is refused, as it would become a folder called `s3:`."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from parquet_bloom.storage.source import is_url

        if is_url(os.fspath(value)):
            self.fail(f"'{value}' is a URL, expected a local path", param, ctx)
        return super().convert(value, param, ctx)


FILE = LocalPath(dir_okay=False, path_type=Path)
FOLDER = LocalPath(file_okay=False, path_type=Path)
RATE = click.FloatRange(0, 1, min_open=True, max_open=True)
MAX_NDV = 1 << 62
MAX_SEED = (1 << 32) - 1


def any_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """Bytes: a number, or one with KiB or MiB."""
    from parquet_bloom.filters.sizing import parse_size

    try:
        return None if text is None else parse_size(text)
    except ValueError as error:
        raise click.BadParameter(str(error)) from None


def filter_size(ctx: click.Context, param: click.Parameter, text: str | None) -> int | None:
    """The same, within the limits of a filter that can be written."""
    from parquet_bloom.filters.sizing import MAX_BYTES, MIN_BYTES

    size = any_size(ctx, param, text)
    return None if size is None else click.IntRange(MIN_BYTES, MAX_BYTES).convert(size, param, ctx)


def one_name(ctx: click.Context, param: click.Parameter, name: str) -> str:
    """A column, verbatim. An unset shell variable makes it empty, which must not mean all."""
    if not name:
        raise click.BadParameter("an empty name, expected a leaf column")
    return name


def names(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> tuple[str, ...]:
    """The comma-separated names in each text."""
    from parquet_bloom.options import names_in

    try:
        lines = [names_in(text) for text in texts]
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return tuple(one_name(ctx, param, name) for line in lines for name in line)


def together(*options: Decorator) -> Decorator:
    """One decorator for several options."""

    def add(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return add


files = click.argument("files", nargs=-1, required=True, metavar="FILE...")
as_json = click.option("--json", "as_json", is_flag=True, help="One JSON document per file.")
verbose = click.option(
    "--verbose", is_flag=True, help="Show all of each file, however many; cut no text in tables."
)
# None stands for all, here and for columns.
row_groups = click.option(
    "-g", "--row-group", "parts", type=click.IntRange(0), multiple=True,
    callback=lambda ctx, param, given: given or None,
    help="Only this row group, or stripe of an ORC file (repeatable).",
)  # fmt: skip
columns = partial(
    click.option, "-c", "--column", "columns", multiple=True,
    callback=lambda ctx, param, texts: names(ctx, param, texts) or None,
    help="Leaf column as a dotted path; repeatable or comma-separated, with quotes around a name"
    " that has a comma: '\"a,b\"'.",
)  # fmt: skip
column = click.option(
    "-c", "--column", required=True, callback=one_name,
    help="Leaf column as a dotted path, verbatim.",
)  # fmt: skip
fpp = click.option("--fpp", type=RATE, help="Target false positive rate.  [default: 0.01]")
max_bytes = click.option(
    "--max-bytes", callback=filter_size, metavar="SIZE",
    help="Largest bitset, 64 bytes to 128 MiB.  [default: 128MiB]",
)  # fmt: skip
no_verify = click.option(
    "--no-verify", "verify", is_flag=True, flag_value=False, default=True,
    help="Do not read back what was written.",
)  # fmt: skip
dry_run = click.option("--dry-run", is_flag=True, help="Do everything but write.")
threads = click.option(
    "--threads", type=click.IntRange(1), help="Number of threads.  [default: one per processor]"
)
overwrite = click.option("--overwrite", is_flag=True, help="Replace an existing output.")
deep = click.option(
    "--deep/--no-deep", default=True, show_default=True,
    help="Look up every stored value, or read only footers and filters.",
)  # fmt: skip

# Which filters to build, and what to do with those that exist.
filters = together(
    fpp,
    click.option(
        "--ndv", type=click.IntRange(1, MAX_NDV),
        help="Size for this many distinct values per chunk.",
    ),
    max_bytes,
    click.option(
        "--exact-blocks", is_flag=True,
        help="Allow any number of blocks, not only powers of two: smaller, but Arrow C++ refuses"
        " such filters.",
    ),
    click.option(
        "--existing", type=click.Choice(words(Existing)), default="keep",
        show_default=True, help="What to do with existing filters.",
    ),
    click.option("--force", is_flag=True, help="Also write filters that miss the target."),
)  # fmt: skip

# Parameter -> the setting in a keys file, how the value looks, the help.
_KEY_PARAMETERS = {
    "footer_key": ("footer", "KEYSPEC", "Key of the footer: hex:… base64:… env:VAR file:PATH fd:N."),
    "column_key": ("columns", "PATH=KEYSPEC", "Key of a leaf column, or of all in a group."),
    "key_id": ("key_ids", "ID=KEYSPEC", "Key that the file calls by this id."),
    "uniform_key": ("uniform", "KEYSPEC", "Key of everything that has no other."),
    "aad_prefix": ("aad_prefix", "TEXT|hex:…", "AAD prefix, if the file does not store it."),
    "master_key": (
        "master_keys", "ID=KEYSPEC", "Master key of wrapped keys; also ID:BASE64,ID:BASE64."
    ),
    "kms": ("kms", "MODULE:CLASS", "KMS client that unwraps keys; one for pyarrow will do."),
    "kms_conf": ("kms_conf", "NAME=VALUE", "Configuration of the KMS client."),
    "kms_instance_id": ("kms_instance_id", "ID", "For the KMS client."),
    "kms_instance_url": ("kms_instance_url", "URL", "For the KMS client."),
    "kms_token": ("kms_token", "env:VAR|file:PATH|fd:N", "Access token for the KMS client."),
    "key_retriever": ("key_retriever", "MODULE:FUNCTION", "Finds a key by a file's key_metadata."),
    "key_material": ("key_material", "FILE", "Key material, if it is not beside the file."),
}  # fmt: skip
_KEY_TABLES = {"columns", "key_ids", "master_keys", "kms_conf"}


def _key_option(parameter: str, setting: str, metavar: str, help: str) -> Decorator:
    repeatable = setting in _KEY_TABLES
    return click.option(
        f"--{parameter.replace('_', '-')}", parameter, metavar=metavar, multiple=repeatable,
        help=f"{help.removesuffix('.')} (repeatable)." if repeatable else help,
    )  # fmt: skip


def keys(command: Any) -> Any:
    """All options for keys; the command gets one `keys`, None if none was given.

    KEYSPEC: hex:… base64:… ascii:… env:VAR[,ENC] file:PATH[,ENC] fd:N[,ENC].
    """

    @together(
        *(_key_option(parameter, *about) for parameter, about in _KEY_PARAMETERS.items()),
        click.option(
            "--keys", "keys_file", type=FILE, envvar="PBLOOM_KEYS", show_envvar=True,
            help="JSON file of keys; the other key options take precedence.",
        ),
    )  # fmt: skip
    @wraps(command)
    def with_keys(*args: Any, keys_file: Path | None, **given: Any) -> Any:
        settings = {
            setting: given.pop(parameter) for parameter, (setting, _, _) in _KEY_PARAMETERS.items()
        }
        return command(*args, keys=_keys(settings, keys_file), **given)

    return with_keys


def _keys(settings: dict[str, Any], keys_file: Path | None) -> Keys | None:
    given = {name: value for name, value in settings.items() if value not in (None, ())}
    if keys_file is None and not given:
        return None
    from parquet_bloom.encryption.keys_file import keys_of, merged, read_keys_file, table_of
    from parquet_bloom.render.terminal import complain

    in_file = {} if keys_file is None else read_keys_file(keys_file, warn=complain)
    tables = {name: table_of(name, given[name]) for name in _KEY_TABLES & given.keys()}
    return keys_of(merged(in_file, {**given, **tables}))


def literals(command: Any) -> Any:
    """Values to look up; the command gets them as `values`, each a literal."""

    @together(
        click.option(
            "-v", "--value", "texts", multiple=True, help="Literal of the column's type."
        ),
        click.option(
            "--values-from", type=click.File(encoding="utf-8"), help="Literals, one per line."
        ),
        click.option(
            "--type", "read_as", type=click.Choice(words(LiteralType)),
            help="Read the literals as this type instead of the column's.",
        ),
    )  # fmt: skip
    @wraps(command)
    def with_literals(
        *args: Any, texts: tuple[str, ...], values_from: Any, read_as: LiteralType | None,
        **given: Any,
    ) -> Any:  # fmt: skip
        from parquet_bloom.values.types import literal

        lines = (line.rstrip("\r\n") for line in values_from or ())
        values = [literal(text, read_as) for text in (*texts, *lines)]
        if not values:
            raise click.UsageError("expected at least one --value or --values-from")
        return command(*args, values=values, **given)

    return with_literals


def stored_dialect(command: Any) -> Any:
    """`dialect` and `seed` of the filters to read."""

    @click.option(
        "--dialect", type=click.Choice(words(Dialect)),
        help="Dialect of the filters.  [default: any that bloom_filter_offset leads to]",
    )  # fmt: skip
    @click.option(
        "--seed", type=click.IntRange(0, MAX_SEED),
        help="Seed of the hash, with --dialect murmur3.  [default: one that fits the stored values]",
    )  # fmt: skip
    @wraps(command)
    def with_dialect(*args: Any, dialect: str | None, seed: int | None, **options: Any) -> Any:
        if seed is not None and dialect != "murmur3":
            raise click.UsageError("--seed: expected with --dialect murmur3 only")
        return command(*args, dialect=dialect, seed=seed, **options)

    return with_dialect


def destinations(command: Any) -> Any:
    """Where new versions go: exactly one of -o, --output-dir and --in-place, or only --dry-run. The
    command gets its files as `inputs`, and `destination_of`, the Destination of each path."""

    @together(
        click.option(
            "-o", "--output", type=FILE, help="Write the new version of the one input here."
        ),
        click.option("--output-dir", type=FOLDER, help="Write each new version to this folder."),
        click.option("--in-place", is_flag=True, help="Replace each input, atomically."),
        overwrite,
        dry_run,
        no_verify,
    )
    @wraps(command)
    def with_destinations(
        files: tuple[str, ...], output: Path | None, output_dir: Path | None, in_place: bool,
        overwrite: bool, dry_run: bool, verify: bool, **given: Any,
    ) -> Any:  # fmt: skip
        from parquet_bloom.options import Destination
        from parquet_bloom.storage.paths import outputs_in, with_parent

        inputs = Inputs(files)
        ways = [output is not None, output_dir is not None, in_place]
        if sum(ways) != 1 and not (dry_run and not any(ways)):
            raise click.UsageError("expected exactly one of --output, --output-dir and --in-place")
        if output is not None and len(inputs.files) > 1:
            raise click.UsageError("--output takes one input; use --output-dir for several")
        outputs = {} if output_dir is None else outputs_in(output_dir, inputs.files)

        def destination_of(path: str) -> Destination:
            return Destination(
                output=output if dry_run or not outputs else with_parent(outputs[path]),
                in_place=in_place,
                overwrite=overwrite,
                dry_run=dry_run,
                verify=verify,
            )

        return command(inputs=inputs, destination_of=destination_of, **given)

    return with_destinations


def checks(command: Any) -> Any:
    """How to check filters, and by which policy. The command gets `deep`, `diagnose` and `policy`."""

    @together(
        deep,
        click.option(
            "--diagnose", is_flag=True, help="Say what a writer did wrong, where values are missing."
        ),
        click.option(
            "--require", multiple=True, callback=names, metavar="COLUMN",
            help="Leaf column that must have filters; repeatable or comma-separated.",
        ),
        click.option(
            "--max-fpp", type=RATE,
            help="Highest false positive probability allowed, computed from the bits.",
        ),
        click.option(
            "--max-bytes", callback=any_size, metavar="SIZE", help="Largest bitset allowed."
        ),
        click.option(
            "--fail-on", type=click.Choice(words(FailOn)),
            help="Lowest severity that makes the exit code 1.  [default: error]",
        ),
        click.option(
            "--ignore", multiple=True, callback=names, metavar="RULE",
            help="Rule to ignore, by id or name; repeatable or comma-separated.",
        ),
        configured,
    )  # fmt: skip
    @wraps(command)
    def with_policy(
        *args: Any, policy: Any, deep: bool, diagnose: bool, require: tuple[str, ...],
        max_fpp: float | None, max_bytes: int | None, fail_on: FailOn | None,
        ignore: tuple[str, ...], **given: Any,
    ) -> Any:  # fmt: skip
        if diagnose and not deep:
            raise click.UsageError("--diagnose looks up values, which --no-deep does not")
        policy = policy.with_options(
            require=require, max_fpp=max_fpp, max_bytes=max_bytes, fail_on=fail_on, ignore=ignore
        )
        return command(*args, deep=deep, diagnose=diagnose, policy=policy, **given)

    return with_policy


def configured(command: Any) -> Any:
    """Where the policy comes from: the command gets `policy`, from the file that was named, or the
    one found from here upwards."""

    @together(
        click.option(
            "--config", type=FILE,
            help="Configuration file.  [default: the nearest pbloom.toml or pyproject.toml]",
        ),
        click.option("--no-config", is_flag=True, help="Use no configuration file."),
    )  # fmt: skip
    @wraps(command)
    def with_config(*args: Any, config: Path | None, no_config: bool, **given: Any) -> Any:
        from parquet_bloom.rules.policy import Policy, find_config, read_policy

        if config is not None and no_config:
            raise click.UsageError("expected at most one of --config and --no-config")
        if config is None and not no_config:
            config = find_config(Path.cwd())
        return command(*args, policy=Policy() if config is None else read_policy(config), **given)

    return with_config
