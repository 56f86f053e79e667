"""What `pbloom build` and `pbloom spark build` write: options that no other command has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from parquet_bloom.commands import options as option
from parquet_bloom.commands.parameters import Number
from parquet_bloom.commands.sections import (
    encryption_option,
    files_option,
    filters_option,
    legacy_option,
    orc_option,
    together,
)
from parquet_bloom.options import MAX_SEED
from parquet_bloom.vocabulary import (
    BitsetEncoding,
    Dialect,
    Existing,
    HeaderLayout,
    OrcStreams,
    Placement,
    StrategyName,
    words,
)

if TYPE_CHECKING:
    from parquet_bloom.legacy.murmur3.dialect import Murmur3
    from parquet_bloom.legacy.statistics.dialect import StatisticsFilter

MAX_NDV = 1 << 62

orc_streams = orc_option(
    "--orc-streams",
    type=click.Choice(words(OrcStreams)),
    help="Streams to write; both also serves readers before ORC 1.3.  [default: utf8]",
)
expose_filter_location = encryption_option(
    "--expose-filter-location",
    is_flag=True,
    help="Let a plaintext footer show where the filters of encrypted columns are.",
)

drop_foreign_fields = files_option(
    "--drop-foreign-fields",
    is_flag=True,
    help="Drop another writer's footer fields that are in the way: a second footer, or a"
    " list where a filter's pointer belongs.",
)

append_in_place = files_option(
    "--append-in-place",
    is_flag=True,
    help="Append only the new bytes to the file itself, while no reader may have it"
    " open; for large local Parquet files.",
)

# Which filters to build, and what to do with those that exist.
filters = together(
    option.fpp_to_build,
    filters_option(
        "--ndv",
        type=Number(1, MAX_NDV),
        metavar="N",
        help="Size filters for this many distinct values per column chunk.",
    ),
    option.max_bytes,
    filters_option(
        "--exact-blocks",
        is_flag=True,
        help="Allow any number of blocks, not only powers of two: mostly smaller, but Arrow C++ refuses"
        " such filters, and Impala and rugo lose rows: see `pbloom rule PB201`.",
    ),
    filters_option(
        "--existing",
        type=click.Choice(words(Existing)),
        default="keep",
        show_default=True,
        help="What to do with existing filters; in place, `replace` cannot be undone.",
    ),
    filters_option(
        "--force",
        is_flag=True,
        help="Also write filters that miss the target rate; those of --ndv, and of ORC, may have up to twice that"
        " anyway.",
    ),
    option.layout,
)


# ------------------------------------------------------------------------------------------------
# Filters of the legacy dialects


def _one_of(vocabulary: Any) -> dict[str, Any]:
    return {"type": click.Choice(words(vocabulary))}


def _number(least: int, most: int) -> dict[str, Any]:
    return {"type": Number(least, most), "metavar": "N"}


# The options of each dialect: the help, and what else click takes.
_OF_DIALECT: Final[dict[str, dict[str, tuple[str, dict[str, Any]]]]] = {
    "murmur3": {
        "--header-layout": ("what precedes the bits.  [default: 12-byte]", _one_of(HeaderLayout)),
        "--seed": ("seed of the hash.  [default: 1361930890]", _number(0, MAX_SEED)),
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
