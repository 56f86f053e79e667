"""What `repair` can do about the filters of an ORC file.

Nothing in the file points to a filter, so a new footer alone repairs nothing. The filters of a column in a
stripe are one stream, so they are kept or dropped together.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import Final

from parquet_bloom.options import RepairOptions, ValidateOptions, refuse
from parquet_bloom.orc.file import OrcContainer
from parquet_bloom.parallel import Progress
from parquet_bloom.rules.damage import where_missing
from parquet_bloom.rules.examine import examine
from parquet_bloom.rules.examine_orc import OrcExamination
from parquet_bloom.rules.finding import Finding
from parquet_bloom.rules.repair_plan import BrokenFilters, Diagnosed, count_useless, way_out

_UNPROVEN: Final = (
    "either the filter was wrong, or bytes of the values became others that fit, as ORC files have no checksums:"
    " pbloom validate --diagnose may tell which, of a copy that still has the filter"
)


def diagnose(file: OrcContainer, options: RepairOptions, progress: Progress | None) -> Diagnosed:
    """See files.FileFormat.diagnose."""
    refuse(file.path, options, ["max_bytes"], "ORC files")
    file.check_writable()
    file.check_row_counts()
    stripes = set(file.select_parts(options.parts))
    asked = ValidateOptions(
        columns=options.columns, deep=options.reads_values, threads=options.threads
    )
    found = [
        each
        for each in examine(OrcExamination(file, asked), progress).findings
        if each.place and each.place.part in stripes
    ]
    findings = [each for each in found if each.definition.concerns_repair]
    shared = _shared_names(file)
    return Diagnosed(
        filters=_broken(file, findings, shared),
        beyond_repair=[
            (each, way_out(each) if each.column is None else "; several columns have this name")
            for each in findings
            if each.column is None or each.column in shared
        ],
        dropping="filters dropped",
        damage_rule="PB611",
        useless=_count_right_and_useless(found) if options.reads_values else 0,
    )


def _count_right_and_useless(found: Sequence[Finding]) -> int:
    wrong = {_chunk(each) for each in found if each.definition.concerns_repair}
    return count_useless(each for each in found if _chunk(each) not in wrong)


def _chunk(finding: Finding) -> tuple[int | None, str | None]:
    return finding.place.part if finding.place else None, finding.column


def _broken(
    file: OrcContainer, findings: Sequence[Finding], shared: Collection[str]
) -> list[BrokenFilters]:
    """In file order, without columns that share their name."""
    columns = {column.name: column for column in file.tail.columns[1:]}
    found: dict[tuple[int, int], BrokenFilters] = {}
    for each in findings:
        if each.place and each.column is not None and each.column not in shared:
            (chunk,) = file.chunks(each.place.part, [columns[each.column]])
            broken = found.setdefault(chunk.key, BrokenFilters(chunk))
            broken.add(each)
            if each.rows is not None and not broken.doubt_about_values:
                broken.doubt_about_values = f"{where_missing(each)}: {_UNPROVEN}"
    return [found[key] for key in sorted(found)]


def _shared_names(file: OrcContainer) -> set[str]:
    counts = Counter(column.name for column in file.tail.columns[1:])
    return {name for name, count in counts.items() if count > 1}
