"""Options of build for filters of the legacy dialects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.build_options import MAX_NDV
from parquet_bloom.commands.sections import legacy_option, together
from parquet_bloom.vocabulary import (
    BitsetEncoding,
    Dialect,
    HeaderLayout,
    Placement,
    StrategyName,
    words,
)

if TYPE_CHECKING:
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter


def _one_of(vocabulary: Any) -> dict[str, Any]:
    return {"type": click.Choice(words(vocabulary))}


def _number(least: int, most: int) -> dict[str, Any]:
    return {"type": click.IntRange(least, most), "metavar": "N"}


# The options of each dialect: the help, and what else click takes.
_OF_DIALECT: Final[dict[str, dict[str, tuple[str, dict[str, Any]]]]] = {
    "murmur3": {
        "--header-layout": ("what precedes the bits.  [default: 12-byte]", _one_of(HeaderLayout)),
        "--seed": ("seed of the hash.  [default: 1361930890]", _number(0, option.MAX_SEED)),
        "--placement": (
            "before the footer, or before the chunk's first page.  [default: footer]",
            _one_of(Placement),
        ),
        "--publish-offset": (
            "set bloom_filter_offset, on which some readers fail: see `pbloom rule PB701`.",
            {"is_flag": True, "default": None},
        ),
    },
    "statistics": {
        "--strategy": ("how values are hashed.  [default: hive]", _one_of(StrategyName)),
        "--expected-entries": (
            "size for this many distinct values per chunk.  [default: count them]",
            _number(1, MAX_NDV),
        ),
        "--encoding": ("how the bits are stored.  [default: list]", _one_of(BitsetEncoding)),
        "--field-id": (
            "field of Statistics; some readers cannot open a file with 7 or 5.  [default: 31420]",
            {"type": click.Choice(["31420", "7", "5"])},
        ),
        "--conf": (
            "a key of Hive's configuration for such filters; repeatable.",
            {"multiple": True, "metavar": "KEY=VALUE"},
        ),
    },
}

dialect_options = together(
    legacy_option(
        "--dialect",
        **_one_of(Dialect),
        default="xxhash",
        show_default=True,
        help="Dialect of the filters: today's, or a legacy one, which has the options below.",
    ),
    *(
        legacy_option(name, help=f"{dialect}: {help}", **settings)
        for dialect, options in _OF_DIALECT.items()
        for name, (help, settings) in options.items()
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
    for dialect, of_dialect in _OF_DIALECT.items():
        parameters = [each.removeprefix("--").replace("-", "_") for each in of_dialect]
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
