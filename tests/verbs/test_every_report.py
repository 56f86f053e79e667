"""What python.md promises of every report, asked of a real one of each class."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake
from make.browser import Document

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
    assert report.to_arrow().column_names == ["path", "column", "reason"]
    (row,) = report.to_arrow().to_pylist()
    assert (row["path"][-9:], row["column"]) == ("c.parquet", "id")
    assert f"<td>{row['reason']}</td>" in report._repr_html_()


def test_a_compaction_is_one_row(made):
    report = made["IndexCompaction"]
    assert report.to_arrow().to_pylist() == [report.to_dict()]
    assert report._repr_html_().count("<tr>") == 2
