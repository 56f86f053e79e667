"""Options for how pages and filters are checked, and by which policy."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from pathlib import Path

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.completers import leaf_columns, rule_names
from parquet_bloom.commands.parameters import RATE, any_size, names, names_like
from parquet_bloom.commands.sections import SIZE, Callback, checks_option, together
from parquet_bloom.errors import quoted_name
from parquet_bloom.render.terminal import complain
from parquet_bloom.render.wording import shortened
from parquet_bloom.rules.policy import Policy, find_config, read_policy
from parquet_bloom.vocabulary import FailOn, words

deep = checks_option(
    "--deep/--no-deep",
    default=True,
    show_default=True,
    help="Look up every stored value, or read only footers and filters.",
)


_require = checks_option(
    "--require",
    multiple=True,
    callback=names,
    metavar="COLUMN",
    shell_complete=leaf_columns,
    help="Leaf column that must have filters, which are checked beside those of --column; repeatable or"
    " comma-separated.",
)
_no_values = checks_option(
    "--no-values",
    is_flag=True,
    help="Name values in findings by hashes alone, for logs that others read.",
)


def checks(command: Callback) -> Callback:
    """How to check filters, and by which policy. The command gets `deep`, `diagnose`, `policy`, and what it is to
    `require` beyond that of a file."""

    @together(
        deep,
        checks_option(
            "--diagnose",
            is_flag=True,
            help="Where values are missing, say what the writer did wrong.",
        ),
        _require,
        checks_option(
            "--max-fpp",
            type=RATE,
            metavar="RATE",
            help="Highest false positive probability allowed, computed from the bits.",
        ),
        checks_option(
            "--max-bytes", callback=any_size, metavar=SIZE, help="Largest bitset allowed."
        ),
        checks_option(
            "--fail-on",
            type=click.Choice(words(FailOn)),
            help="Lowest severity that makes the exit code 1.  [default: error]",
        ),
        checks_option(
            "--ignore",
            multiple=True,
            callback=names_like("a rule, such as PB302"),
            metavar="RULE",
            shell_complete=rule_names,
            help="Rule to ignore, by id or name; repeatable or comma-separated.",
        ),
        _no_values,
        configured,
    )
    @wraps(command)
    def with_policy(
        policy: Policy, deep: bool, diagnose: bool, require: tuple[str, ...],
        max_fpp: float | None, max_bytes: int | None, fail_on: FailOn | None,
        ignore: tuple[str, ...], no_values: bool, **given: object,
    ) -> object:  # fmt: skip
        if diagnose and not deep:
            raise click.UsageError("--diagnose looks up values, which --no-deep does not")
        policy = policy.with_options(
            require=require, max_fpp=max_fpp, max_bytes=max_bytes, fail_on=fail_on, ignore=ignore,
            no_values=no_values,
        )  # fmt: skip
        return command(deep=deep, diagnose=diagnose, policy=policy, require=require, **given)

    return with_policy


def findings_on_page(command: Callback) -> Callback:
    """What a page says of filters. The command gets `deep`, `policy` and `require`."""

    @together(deep, _require, _no_values, configured)
    @wraps(command)
    def with_policy(
        policy: Policy, require: tuple[str, ...], no_values: bool, **given: object
    ) -> object:
        policy = policy.with_options(require=require, no_values=no_values)
        return command(policy=policy, require=require, **given)

    return with_policy


def policy_of(config: Path | None, no_config: bool) -> Policy:
    """What option.which_policy says: from the file that was named, or the one found from here upwards. Raises
    UsageError, ConfigError."""
    if config is not None and no_config:
        raise click.UsageError("expected at most one of --config and --no-config")
    path = find_config(Path.cwd()) if config is None and not no_config else config
    policy = Policy() if path is None else read_policy(path)
    found_at = None if path is None or config is not None else _from_here(path)
    return replace(policy, arguments=words_of_policy(config, no_config), found_at=found_at)


def _from_here(path: Path) -> str:
    """Its name in the working folder, or all of the path to one above."""
    return path.name if path.parent == Path.cwd() else str(path)


def notes_on_policy(policy: Policy, judged: Iterable[str]) -> Iterator[str]:
    """`note: pbloom.toml requires user_id; --no-config leaves it out`, if a file that nobody named decides on columns
    that were `judged`."""
    columns = {*judged}
    required = [quoted_name(name) for name in policy.required_columns() if name in columns]
    rates = policy.highest_rates()
    does = [f"requires {shortened(required)}"] * bool(required)
    does += ["limits rates"] * any(None in rates or name in rates for name in columns)
    if policy.found_at is not None and does:
        yield f"note: {policy.found_at} {' and '.join(does)}; --no-config leaves it out"


def words_of_policy(config: Path | None, no_config: bool) -> tuple[str, ...]:
    """The options that stand for the same policy in another command, in the same folder."""
    return ("--no-config",) if no_config else () if config is None else ("--config", str(config))


def configured(command: Callback) -> Callback:
    """The command gets `policy`."""

    @option.which_policy
    @wraps(command)
    def with_config(config: Path | None, no_config: bool, **given: object) -> object:
        return command(policy=policy_of(config, no_config), **given)

    return with_config


def tell_unchecked(required: Sequence[str]) -> None:
    """Say of which columns that a policy requires it is not known whether their filters are right."""
    if required:
        columns = f"column{'s' * (len(required) > 1)} {shortened([*map(quoted_name, required)])}"
        complain(f"policy: {columns}: not in -c, so only whether there are filters was checked")
