"""Options of build for filters of the legacy dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.vocabulary import (
    BitsetEncoding,
    Dialect,
    HeaderLayout,
    Placement,
    Strategy,
    words,
)

if TYPE_CHECKING:
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter

# The options of each dialect, by the names of their parameters.
_OF_DIALECT = {
    "murmur3": ("header_layout", "seed", "placement", "publish_offset"),
    "statistics": ("strategy", "expected_entries", "encoding", "field_id", "conf"),
}

_DIALECT = click.option(
    "--dialect", type=click.Choice(words(Dialect)), default="xxhash", show_default=True,
    help="Of the filters: today's, or a legacy one, for which there are the options below.",
)  # fmt: skip
_OPTIONS = (
    click.option(
        "--header-layout", type=click.Choice(words(HeaderLayout)),
        help="murmur3: what stands before the bits.  [default: 12-byte]",
    ),
    click.option(
        "--seed", type=click.IntRange(0, (1 << 32) - 1),
        help="murmur3: of the hash.  [default: 1361930890]",
    ),
    click.option(
        "--placement", type=click.Choice(words(Placement)),
        help="murmur3: before the footer, or before the chunk's first page.  [default: footer]",
    ),
    click.option(
        "--publish-offset", is_flag=True, default=None,
        help="murmur3: let bloom_filter_offset lead there; DuckDB fails on it.",
    ),
    click.option(
        "--strategy", type=click.Choice(words(Strategy)),
        help="statistics: how values are hashed.  [default: hive]",
    ),
    click.option(
        "--expected-entries", type=click.IntRange(1, 1 << 62),
        help="statistics: size for this many distinct values per chunk.  [default: count them]",
    ),
    click.option(
        "--encoding", type=click.Choice(words(BitsetEncoding)),
        help="statistics: how the bits are stored.  [default: list]",
    ),
    click.option(
        "--field-id", type=click.Choice(["31420", "7", "5"]),
        help="statistics: field of Statistics; with 7 and 5 some readers do not open the file."
        "  [default: 31420]",
    ),
    click.option(
        "--conf", multiple=True, metavar="KEY=VALUE",
        help="statistics: a key of the configuration that Hive had for them (repeatable).",
    ),
)  # fmt: skip


def dialect_options(command: Any) -> Any:
    """Which dialect, and what there is to say of the legacy ones."""
    for option in (*reversed(_OPTIONS), _DIALECT):
        command = option(command)
    return command


def take_dialect(
    options: dict[str, Any], columns: tuple[str, ...]
) -> tuple[Murmur3 | StatisticsFilter | None, tuple[str, ...]]:
    """Take the options of dialects out of `options`: what build is to be told of the dialect, None
    for that of today, and of the columns.

    Raises UsageError for those that do not go together, ConfigError for keys that are none.
    """
    name = options.pop("dialect")
    given = {
        option: value
        for option in (option for names in _OF_DIALECT.values() for option in names)
        if (value := options.pop(option)) not in (None, ())
    }
    for dialect, names in _OF_DIALECT.items():
        if dialect != name:
            _refuse(given, names, f"expected --dialect {dialect}")
    if name == "murmur3":
        from parquet_bloom.legacy.murmur3.dialect import Murmur3

        return Murmur3(**given), columns
    if name == "statistics":
        return _statistics(given, options, columns)
    return None, columns


def _refuse(given: Mapping[str, Any], names: Sequence[str], why: str) -> None:
    for name in names:
        if given.get(name) is not None:
            raise click.UsageError(f"--{name.replace('_', '-')}: {why}")


def _statistics(
    given: dict[str, Any], options: dict[str, Any], columns: tuple[str, ...]
) -> tuple[StatisticsFilter, tuple[str, ...]]:
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter
    from parquet_bloom.legacy.statistics.hive_conf import read_conf

    _refuse(options, ["ndv"], "expected --expected-entries for filters of this dialect")
    _refuse(options, ["max_bytes"], "filters of this dialect have the size that their rate takes")
    settings = given.pop("conf", ())
    if options["fpp"] is not None:
        # It is the dialect's own, as is all that tells how large its filters are.
        given["fpp"] = options["fpp"]
        options["fpp"] = None
    if "field_id" in given:
        given["field_id"] = int(given["field_id"])
    dialect = StatisticsFilter(**given)
    if not settings:
        return dialect, columns
    _refuse(given, ["expected_entries", "fpp"], "--conf says it: expected one of the two")
    conf = read_conf(settings)
    if not conf.enabled:
        raise click.UsageError("--conf: expected parquet.enable.bloom.filter=true")
    if columns and conf.columns:
        raise click.UsageError("--column: --conf names columns: expected one of the two")
    return conf.applied_to(dialect), columns or conf.columns
