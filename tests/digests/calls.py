"""All that the digests ask of the package; nothing else in this folder knows its names.

Each verb takes the words of this module and answers with facts: numbers, columns, ids of rules, never
texts for people. When the API changes, this module follows it, and `digests.json` stays as it is.
A fact is what is said of one thing, each value under its name.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import parquet_bloom as pb

Facts = list[dict[str, Any]]

THREADS = 2


class Refused(Exception):
    """The package says that it will not do this."""


@contextmanager
def _refusals() -> Iterator[None]:
    try:
        yield
    except pb.ParquetBloomError as error:
        raise Refused(str(error)) from error


def _facts(items: Iterable[Any], parquet: str, orc: str) -> Facts:
    """The attributes of these names, which are others for what is in a stripe."""
    return [
        {name: getattr(item, name) for name in (parquet if _stripe(item) is None else orc).split()}
        for item in items
    ]


def _stripe(item: Any) -> int | None:
    return getattr(item, "stripe", None)


def _to(output: Path | None) -> dict[str, Any]:
    """Where to write; without an output, in place."""
    return {"in_place": True} if output is None else {"output": output}


def _given(**options: Any) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


# ------------------------------------------------------------------------------------------------
# What verbs are told


def keys(footer: bytes, columns: Mapping[str, bytes], prefix: bytes | None = None) -> Any:
    """Those of an encrypted file; `prefix`: of its AADs, if the file does not say it."""
    return pb.Keys(footer=footer, columns=columns, aad_prefix=prefix)


def murmur3(header: str, placement: str, *, published: bool, **more: Any) -> Any:
    """The dialect of 2018; `more`: seed."""
    return pb.Murmur3(header_layout=header, placement=placement, publish_offset=published, **more)


def statistics(strategy: str, form: str, **more: Any) -> Any:
    """The dialect of 2015; `more`: field_id, fpp, expected_entries."""
    return pb.StatisticsFilter(strategy=strategy, encoding=form, **more)


def columns(path: Path, keys: Any = None) -> list[str]:
    """The leaf columns of a Parquet file, or all columns but the root of an ORC file."""
    with pb.open(path, keys) as file:
        return list(file.columns)


# ------------------------------------------------------------------------------------------------
# Verbs that write


def build(
    source: Path, output: Path | None, columns: Sequence[str], *, fpp: float | None = None,
    ndv: int | None = None, max_bytes: int | None = None, exact_blocks: bool | None = None,
    existing: str | None = None, groups: Sequence[int] | None = None, force: bool | None = None,
    exposed: bool | None = None, both_streams: bool = False, dialect: Any = None, keys: Any = None,
    threads: int | None = None,
) -> Facts:  # fmt: skip
    """The filters that were built, and the chunks that got none. `groups`: row groups or stripes;
    `exposed`: the footer shows where filters of encrypted columns are."""
    options = _given(
        fpp=fpp,
        ndv=ndv,
        max_bytes=max_bytes,
        exact_blocks=exact_blocks,
        existing=existing,
        row_groups=groups,
        force=force,
        expose_filter_location=exposed,
        orc_streams="both" if both_streams else None,
        dialect=dialect,
        keys=keys,
        threads=threads or THREADS,
    )
    with _refusals():
        report = pb.build(source, columns=columns, **_to(output), **options)
    built = _facts(
        report.filters,
        "row_group column num_values num_bytes fpp offset length",
        "stripe column num_values num_filters num_bits num_hashes fpp offset length",
    )
    return built + _facts(report.skipped, "row_group column", "stripe column")


def strip(
    source: Path, output: Path | None, *, columns: Sequence[str] | None = None,
    groups: Sequence[int] | None = None, keys: Any = None,
) -> Facts:  # fmt: skip
    """The filters that were removed, and what had to stay."""
    options = _given(columns=columns, row_groups=groups, keys=keys)
    with _refusals():
        report = pb.strip(source, **_to(output), **options)
    removed = _facts(
        report.removed, "row_group column offset", "stripe column num_filters offset length"
    )
    return removed + _facts(report.left, "row_group column", "row_group column")


def repair(
    source: Path, output: Path | None, *, drop_bad: bool = False, rebuild: bool = False,
    fpp: float | None = None, groups: Sequence[int] | None = None, keys: Any = None,
) -> Facts:  # fmt: skip
    """What was mended, and where the filters are now; and what is still wrong."""
    options = _given(fpp=fpp, row_groups=groups, keys=keys)
    with _refusals():
        report = pb.repair(
            source, **_to(output), drop_bad=drop_bad, rebuild=rebuild, threads=THREADS, **options
        )
    mended = _facts(
        report.repaired,
        "row_group column rule offset length",
        "stripe groups column rule offset length",
    )
    left = _facts(report.left, "row_group column rule", "stripe groups column rule")
    return mended + left


# ------------------------------------------------------------------------------------------------
# Verbs that read


def validate(path: Path, *, deep: bool = True, keys: Any = None, **policy: Any) -> Facts:
    """The rules that are broken, their severity, and where. `policy`: require, max_fpp, max_bytes."""
    with _refusals():
        report = pb.validate(path, deep=deep, keys=keys, threads=THREADS, **policy)
    return _facts(
        report.findings,
        "rule severity row_group index_group column",
        "rule severity stripe index_group column",
    )


def probe(
    path: Path,
    column: str,
    literals: Sequence[str],
    *,
    dialect: str | None = None,
    keys: Any = None,
) -> list[list[str]]:
    """Of each literal the verdicts, `absent`, `maybe` or `unknown`, one for each group."""
    with _refusals():
        report = pb.probe(
            path, column, list(map(pb.literal, literals)), **_given(dialect=dialect, keys=keys)
        )
    return [list(result.verdicts) for result in report.results]


def dump(
    path: Path, column: str, group: int, *, index_group: int | None = None,
    dialect: str | None = None, keys: Any = None,
) -> tuple[bytes, bytes]:  # fmt: skip
    """The header of a filter, of ORC its message, and the bits; decrypted, if there are keys."""
    options = _given(index_group=index_group, dialect=dialect, keys=keys)
    with _refusals():
        found = pb.dump(path, column, group, decrypt=keys is not None, **options)
    stored = getattr(found, "stored", found)
    return (stored.message if stored.header is None else stored.header), stored.bitset


def inspect(path: Path, keys: Any = None) -> Facts:
    """Group, column and dialect of each filter, how many there are, and what is known of them."""
    with _refusals():
        report = pb.inspect(path, keys=keys)
    if report.format == "orc":
        return [
            {"stripe": stripe.stripe, "column": column.column, **_known(column.filter, OF_ORC)}
            for stripe in report.stripes
            for column in stripe.columns
            if column.filter is not None
        ]
    return [
        {"row_group": group.row_group, "column": column.column, **_known(each, OF_PARQUET)}
        for group in report.row_groups
        for column in group.columns
        for each in (column.filter, *column.legacy_filters)
        if each is not None
    ]


OF_PARQUET = (
    "dialect num_filters offset stored_bytes header_bytes num_bytes fill fpp ndv_estimate length "
    "encrypted"
)
OF_ORC = (
    "dialect num_filters offset length num_hashes num_bits num_bytes fill fpp worst_fpp "
    "ndv_estimate"
)


def _known(filter: Any, names: str) -> dict[str, Any]:
    """What is said of a filter; in Parquet it is always one."""
    absent = {"num_filters": 1, "length": None, "encrypted": None}
    return {name: getattr(filter, name, absent.get(name)) for name in names.split()}


def diff(one: Path, other: Path) -> Facts:
    """Which filters are the same in both files, and how many bits only one of them has."""
    with _refusals():
        report = pb.diff(one, other)
    return _facts(
        report.filters,
        "row_group column status fold bits_only_a bits_only_b",
        "stripe index_group column status bits_only_a bits_only_b",
    )


def advise(path: Path) -> Facts:
    """The verdict on each column, its distinct values, and what filters of it would take."""
    with _refusals():
        report = pb.advise(path, threads=THREADS)
    names = "column verdict num_values already ndv filter_bytes"
    return _facts(report.columns, names, names)
