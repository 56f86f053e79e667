"""Options of build for filters of the two older dialects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

if TYPE_CHECKING:
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter

# The options of each dialect, by the names of their parameters.
_OF_DIALECT = {
    "murmur3": ("header", "seed", "placement", "publish_offset"),
    "statistics": ("strategy", "expected_entries", "form", "field_id", "conf"),
}

_DIALECT = click.option(
    "--dialect", type=click.Choice(["xxhash", *_OF_DIALECT]), default="xxhash", show_default=True,
    help="Of the filters: today's, or one of two older ones, for which there are the options below.",
)  # fmt: skip
_OPTIONS = (
    click.option(
        "--header", type=click.Choice(["12-byte", "thrift", "page"]), default="12-byte",
        show_default=True, help="murmur3: what stands before the bits.",
    ),
    click.option(
        "--seed", type=click.IntRange(0, (1 << 32) - 1), default=1361930890, show_default=True,
        help="murmur3: of the hash.",
    ),
    click.option(
        "--placement", type=click.Choice(["footer", "chunk"]), default="footer", show_default=True,
        help="murmur3: before the footer, or before the first page of the chunk.",
    ),
    click.option(
        "--publish-offset", is_flag=True,
        help="murmur3: let bloom_filter_offset lead there; DuckDB fails on it.",
    ),
    click.option(
        "--strategy", type=click.Choice(["hive", "guava-32", "guava-64"]), default="hive",
        show_default=True, help="statistics: how values are hashed.",
    ),
    click.option(
        "--expected-entries", type=click.IntRange(1, 1 << 62),
        help="statistics: size for this many distinct values per chunk. [default: they are counted]",
    ),
    click.option(
        "--form", type=click.Choice(["list", "binary", "java"]), default="list",
        show_default=True, help="statistics: how the bits are stored.",
    ),
    click.option(
        "--field-id", type=click.Choice(["31420", "7", "5"]), default="31420", show_default=True,
        help="statistics: field of Statistics; with 7 and 5 some readers do not open the file.",
    ),
    click.option(
        "--conf", multiple=True, metavar="KEY=VALUE",
        help="statistics: a key of the configuration that Hive had for them (repeatable).",
    ),
)  # fmt: skip


def dialect_options(command: Any) -> Any:
    """Which dialect, and what there is to say of the older ones."""
    for option in (*reversed(_OPTIONS), _DIALECT):
        command = option(command)
    return command


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the options of dialects come to: what build is to be told of it, and of the columns."""

    dialect: Murmur3 | StatisticsFilter | None
    columns: tuple[str, ...]


def take_dialect(options: dict[str, Any], columns: tuple[str, ...]) -> Chosen:
    """Take the options of dialects out of `options`.

    Raises UsageError for those that have no meaning together, ConfigError for keys that have none.
    """
    name = options.pop("dialect")
    own = {
        dialect: {option: options.pop(option) for option in names}
        for dialect, names in _OF_DIALECT.items()
    }
    for dialect, names in _OF_DIALECT.items():
        if dialect != name:
            _check_not_given(names, f"expected --dialect {dialect}")
    if name == "murmur3":
        from parquet_bloom.legacy.murmur3.dialect import Murmur3

        return Chosen(Murmur3(**own[name]), columns)
    if name == "statistics":
        return _statistics(own[name], options, columns)
    return Chosen(None, columns)


def _check_not_given(names: Sequence[str], why: str) -> None:
    for name in names:
        if _is_given(name):
            raise click.UsageError(f"--{name.replace('_', '-')}: {why}")


def _is_given(name: str) -> bool:
    source = click.get_current_context().get_parameter_source(name)
    return source not in (None, ParameterSource.DEFAULT, ParameterSource.DEFAULT_MAP)


def _statistics(own: dict[str, Any], options: dict[str, Any], columns: tuple[str, ...]) -> Chosen:
    from parquet_bloom.legacy.statistics.dialect import DEFAULT_FPP, StatisticsFilter
    from parquet_bloom.legacy.statistics.hive_conf import read_conf

    _check_not_given(["ndv"], "expected --expected-entries for filters of this dialect")
    _check_not_given(["max_bytes"], "filters of this dialect have the size that their rate takes")
    fpp = options["fpp"]
    dialect = StatisticsFilter(
        own["strategy"],
        own["expected_entries"],
        fpp if _is_given("fpp") else DEFAULT_FPP,
        own["form"],
        int(own["field_id"]),
    )
    if not own["conf"]:
        return Chosen(dialect, columns)
    _check_not_given(["expected_entries", "fpp"], "--conf says it: expected one of the two")
    conf = read_conf(own["conf"])
    if not conf.enabled:
        raise click.UsageError("--conf: expected parquet.enable.bloom.filter=true")
    if columns and conf.columns:
        raise click.UsageError("--column: --conf names columns: expected one of the two")
    return Chosen(conf.applied_to(dialect), columns or conf.columns)
