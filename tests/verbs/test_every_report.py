"""What python.md promises of every report, asked of a real one of each class."""

import copy
import html
import json
import pickle
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from make.browser import Document
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.verbs.documents import VerbReport

CLASSES = sorted(
    name
    for name in dir(pb)
    if isinstance(kind := getattr(pb, name), type) and issubclass(kind, VerbReport)
)


def of_files(folder: Path) -> list[VerbReport]:
    """Of `a.parquet`, which has filters, and `b.parquet`, which has none."""
    a, b = folder / "a.parquet", folder / "b.parquet"
    for path in (a, b):
        pq.write_table(pa.table({"id": range(9), "x&y": ["<b>"] * 9}), path, row_group_size=5)
    return [
        pb.build(a, columns="id", in_place=True),
        pb.strip(a, dry_run=True),
        pb.repair(a, dry_run=True),
        pb.recover(a),
        pb.clean_temp(folder),
        pb.inspect(a),
        pb.inspect([a, b]),
        pb.inspect_summary([a, b]),
        pb.probe(a, "id", [5, -5]),
        pb.probe_values([a, b], "id", [5, -5]),
        pb.find([a, b], "id", 5, columns="x&y"),
        pb.read_plan([a, b], {"id": 5}),
        pb.validate(b, require="id"),
        pb.advise(a),
        pb.report(a),
        pb.diff(a, b),
        pb.dump(a, "id", 0),
        pb.dump_footer(a),
    ]


def of_an_index(folder: Path) -> list[VerbReport]:
    """Of the same files, and one that comes later and cannot be read."""
    files = [str(folder / f"{name}.parquet") for name in "abc"]
    with pb.Index.build(folder / "index", files[:2], "id") as index:
        Path(files[2]).write_bytes(b"PAR1")
        return [index.add(files), index.compact(), index.check(), index.probe("id", 5)]


def of_a_table(folder: Path) -> list[VerbReport]:
    table = str(folder / "table")
    write_deltalake(table, pa.table({"id": range(9)}))
    return [
        pb.build_table(table, columns="id", min_file_size=0),
        pb.repair_table(table, min_file_size=0),
        pb.strip_table(table),
    ]


@pytest.fixture(scope="module")
def made(tmp_path_factory) -> dict[str, VerbReport]:
    """A report of each class, by its name."""
    folder = tmp_path_factory.mktemp("reports")
    reports = [*of_files(folder), *of_an_index(folder), *of_a_table(folder)]
    return {type(each).__name__: each for each in reports}


def test_a_report_of_every_public_class_is_asked(made):
    assert sorted(made) == CLASSES


@pytest.mark.parametrize("name", CLASSES)
def test_every_report_can_be_pickled_and_copied(made, name):
    """As processes of a pool send it."""
    report = made[name]
    for other in (pickle.loads(pickle.dumps(report)), copy.deepcopy(report)):
        assert type(other) is type(report)
        assert other.to_dict() == report.to_dict()
        assert repr(other) == repr(report)


@pytest.mark.parametrize("name", CLASSES)
def test_every_report_is_a_document_a_line_a_table_and_a_page(made, name):
    report = made[name]
    assert json.loads(json.dumps(report.to_dict()))
    line = repr(report)
    assert line.startswith("<FileInspections" if name == "FilesReport" else f"<{name}")
    assert "\n" not in line
    table = report.to_arrow()
    assert isinstance(table, pa.Table)
    assert table.column_names
    page = report._repr_html_()
    Document(page)
    assert "<b>" not in page


def test_a_change_of_an_index_shows_what_is_not_indexed(made):
    report = made["IndexChange"]
    told = f"<IndexChange {report.index}: 3 files: 1 added, 0 changed, 0 removed; 1 failed>"
    assert repr(report) == told
    assert repr(replace(report, failed=0)) == told.replace("; 1 failed", "")
    assert report.to_arrow().column_names == ["path", "column", "reason"]
    (row,) = report.to_arrow().to_pylist()
    assert (row["path"][-9:], row["column"]) == ("c.parquet", "id")
    assert f">{row['reason']}</td>" in report._repr_html_()


def test_a_compaction_is_one_row(made):
    report = made["IndexCompaction"]
    assert report.to_arrow().to_pylist() == [report.to_dict()]
    assert report._repr_html_().count("<tr>") == 2


# Whose documents are made of something else.
OF_THEIR_OWN = {"FooterDump"}
# In Python, the report has them together, as a table.
IN_A_TABLE = {"FoundRow.values"}


def without_attribute(value: Any, document: Any) -> Iterator[str]:
    """The keys of a document, and of all in it, that no attribute of the same thing has."""
    if isinstance(document, list):
        # As those of a column, whose items are made when they are asked for.
        for each, of_it in zip(value, document, strict=True):
            yield from without_attribute(each, of_it)
    elif isinstance(document, dict) and not isinstance(value, Mapping):
        for key, of_it in document.items():
            if hasattr(value, key):
                yield from without_attribute(getattr(value, key), of_it)
            else:
                yield f"{type(value).__name__}.{key}"


@pytest.mark.parametrize("name", sorted({*CLASSES} - OF_THEIR_OWN))
def test_what_documents_show_are_attributes(made, name):
    report = made[name]
    assert {*without_attribute(report, report.to_dict())} <= IN_A_TABLE


def rows_of(report: VerbReport) -> list[tuple[Any, ...]]:
    """What each row of a table is about: the report, and an item, or an item of an item."""
    outer, *inner = type(report)._rows or ("",)
    items = [(report, each) for each in getattr(report, outer)] if outer else [(report,)]
    for name in inner:
        items = [(*row, each) for row in items for each in getattr(row[-1], name)]
    return items


def has(things: tuple[Any, ...], name: str) -> bool:
    """Whether one of them has the attribute: `filter.fpp`, that of its filter, if there is one."""
    first, *others = name.split(".", 1)
    found = [getattr(each, first) for each in things if hasattr(each, first)]
    return any(each is None or not others or has((each,), others[0]) for each in found)


def heads_of(page: str) -> list[str]:
    return [html.unescape(each) for each in re.findall("<th>(.*?)</th>", page)]


# Its page sums up first.
WITH_SUMS = {"ReadPlan"}


@pytest.mark.parametrize("name", sorted({*CLASSES} - {"FilesReport"}))
def test_the_columns_of_tables_are_attributes(made, name):
    report = made[name]
    shown = [] if name in WITH_SUMS else heads_of(report._repr_html_())
    names = {*report.to_arrow().column_names, *shown}
    things = rows_of(report)
    without = {each for each in names if not any(has(row, each) for row in things)}
    assert things or name in ("CleaningReport", "IndexCheck", "RepairReport")
    assert not things or {each for each in without if not each.startswith("values.")} == set()


@pytest.mark.parametrize("name", sorted({*CLASSES} - {"FilesReport"}))
def test_a_table_has_what_the_items_have(made, name):
    """The columns of a class and the rows of its items are made apart."""
    report = made[name]
    table = report.to_arrow()
    for told, row in zip(report._items(), table.to_pylist(), strict=True):
        assert {*told} - {*row} <= {"filter", "a", "b", "rows", "diagnosis", "values"}
        assert [
            each for each, value in told.items() if value and row.get(each, value) is None
        ] == []


SEVERAL: dict[str, Callable[[list[Path]], Any]] = {
    "build": lambda files: pb.build(files, columns="id", dry_run=True),
    "strip": lambda files: pb.strip(files, dry_run=True),
    "repair": lambda files: pb.repair(files, dry_run=True),
    "inspect": pb.inspect,
    "probe": lambda files: pb.probe(files, "id", [5, -5]),
    "validate": lambda files: pb.validate(files, require="id"),
    "advise": pb.advise,
    "report": pb.report,
}


@pytest.mark.parametrize("verb", SEVERAL)
def test_the_columns_of_several_files_are_attributes_of_their_reports(tmp_path, verb):
    a, b = tmp_path / "a.parquet", tmp_path / "b.orc"
    pq.write_table(pa.table({"id": range(9)}), a, row_group_size=5)
    orc.write_table(pa.table({"id": range(9), "more": range(9)}), b)
    pb.build([a, b], columns="id", in_place=True)
    reports = SEVERAL[verb]([a, b])
    names = heads_of(reports._repr_html_())
    assert "path" in names
    assert [each for each in names if not any(has((report,), each) for report in reports)] == []


def test_what_remains_to_be_read_is_called_as_in_tables(tmp_path):
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"id": range(3000)}), path, row_index_stride=1000)
    pb.build(path, columns="id", in_place=True)
    report = pb.probe(path, "id", [5, -5])
    assert (report.num_index_groups, report.num_index_groups_to_read) == (3, 1)
    assert (report.num_groups, report.num_groups_to_read) == (3, 1)
    with pytest.raises(AttributeError, match="'ProbeReport' object has no attribute 'num_row_gr"):
        _ = report.num_row_groups


ORC_VERBS = {
    "advise": lambda path: pb.advise(path, rates=True, budget="50%"),
    "inspect": lambda path: pb.inspect(path, index_groups=True),
    "probe": lambda path: pb.probe(path, "id", [5, -5]),
    "probe_values": lambda path: pb.probe_values(path, "id", [5, -5]),
    "diff": lambda path: pb.diff(path, path),
    "repair": lambda path: pb.repair(path, dry_run=True),
}


@pytest.mark.parametrize("verb", ORC_VERBS)
def test_what_documents_on_orc_files_show_are_attributes(tmp_path, verb):
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"id": range(3000)}), path, row_index_stride=1000)
    pb.build(path, columns="id", in_place=True)
    report = ORC_VERBS[verb](path)
    assert [*without_attribute(report, report.to_dict())] == []


def test_attributes_have_the_names_of_the_format(made, tmp_path):
    inspection, advice = made["FileInspection"], made["AdviceReport"]
    assert inspection.num_row_groups == inspection.num_parts == 2
    assert advice.columns[0].row_group_ndv == advice.columns[0].group_ndv == 5
    with pytest.raises(
        AttributeError, match=r"^'FileInspection' object has no attribute 'num_stripes'$"
    ):
        _ = inspection.num_stripes
    with pytest.raises(
        AttributeError, match=r"^'ColumnAdvice' object has no attribute 'row_groups_filtre'$"
    ):
        _ = advice.columns[0].row_groups_filtre
    assert copy.deepcopy(inspection) == pickle.loads(pickle.dumps(inspection)) == inspection
