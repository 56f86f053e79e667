"""Options of build for filters of the legacy dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.sections import legacy_option
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

dialect_options = option.together(
    legacy_option(
        "--dialect",
        type=click.Choice(words(Dialect)),
        default="xxhash",
        show_default=True,
        help="Dialect of the filters: today's, or a legacy one, which has the options below.",
    ),
    legacy_option(
        "--header-layout",
        type=click.Choice(words(HeaderLayout)),
        help="murmur3: what precedes the bits.  [default: 12-byte]",
    ),
    legacy_option(
        "--seed",
        type=click.IntRange(0, option.MAX_SEED),
        metavar="N",
        help="murmur3: seed of the hash.  [default: 1361930890]",
    ),
    legacy_option(
        "--placement",
        type=click.Choice(words(Placement)),
        help="murmur3: before the footer, or before the chunk's first page.  [default: footer]",
    ),
    legacy_option(
        "--publish-offset",
        is_flag=True,
        default=None,
        help="murmur3: set bloom_filter_offset; DuckDB then fails to read the file.",
    ),
    legacy_option(
        "--strategy",
        type=click.Choice(words(Strategy)),
        help="statistics: how values are hashed.  [default: hive]",
    ),
    legacy_option(
        "--expected-entries",
        type=click.IntRange(1, option.MAX_NDV),
        metavar="N",
        help="statistics: size for this many distinct values per chunk.  [default: count them]",
    ),
    legacy_option(
        "--encoding",
        type=click.Choice(words(BitsetEncoding)),
        help="statistics: how the bits are stored.  [default: list]",
    ),
    legacy_option(
        "--field-id",
        type=click.Choice(["31420", "7", "5"]),
        help="statistics: field of Statistics; with 7 and 5, some readers cannot open the file."
        "  [default: 31420]",
    ),
    legacy_option(
        "--conf",
        multiple=True,
        metavar="KEY=VALUE",
        help="statistics: a key of Hive's configuration for such filters; repeatable.",
    ),
)


def take_dialect(
    options: dict[str, Any], columns: tuple[str, ...] | None
) -> tuple[Murmur3 | StatisticsFilter | None, tuple[str, ...] | None]:
    """Take the options of dialects out of `options`. Returns the `dialect` for build, None for
    today's, and the columns, which --conf may name.

    Raises UsageError for options that do not go together, ConfigError for unknown keys.
    """
    name = options.pop("dialect")
    given: dict[str, Any] = {}
    for dialect, parameters in _OF_DIALECT.items():
        taken = {each: options.pop(each) for each in parameters}
        taken = {each: value for each, value in taken.items() if value not in (None, ())}
        if dialect != name:
            _refuse(taken, parameters, f"expected --dialect {dialect}")
        given |= taken
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
    given: dict[str, Any], options: dict[str, Any], columns: tuple[str, ...] | None
) -> tuple[StatisticsFilter, tuple[str, ...] | None]:
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter
    from parquet_bloom.legacy.statistics.hive_conf import read_conf

    _refuse(options, ["ndv"], "expected --expected-entries for such filters")
    _refuse(options, ["max_bytes"], "the rate alone sets the size of such filters")
    settings = given.pop("conf", ())
    if options["fpp"] is not None:
        # The dialect itself says how large its filters are.
        given["fpp"], options["fpp"] = options["fpp"], None
    if "field_id" in given:
        given["field_id"] = int(given["field_id"])
    dialect = StatisticsFilter(**given)
    if not settings:
        return dialect, columns
    _refuse(given, ["expected_entries", "fpp"], "--conf sets it, too: expected one of the two")
    conf = read_conf(settings)
    if not conf.enabled:
        raise click.UsageError("--conf: expected parquet.enable.bloom.filter=true")
    if columns and conf.columns:
        raise click.UsageError("--column: --conf names columns, too: expected one of the two")
    return conf.applied_to(dialect), columns or conf.columns
