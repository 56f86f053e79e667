"""README.md is short, and true; and the commands of other pages print what is shown there."""

import re
from contextlib import chdir
from runpy import run_path
from xml.etree import ElementTree

import duckdb
import pytest
from conftest import ROOT
from make.documents import WRITER, blocks, figures
from make.shown import PAGES, copy_for, make_files, rewritten, shown

import parquet_bloom as pb

README = (ROOT / "README.md").read_text()
PICTURE = ROOT / "docs" / "terminal.svg"
PICTURE_COLUMNS = 96
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    make_files(folder)
    return folder


@pytest.fixture
def here(files, tmp_path):
    folder = tmp_path / "here"
    copy_for(ROOT / "README.md", files, folder)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_print_what_the_page_shows(page, files, tmp_path):
    """`make docs` writes it anew."""
    text = page.read_text()
    copy_for(page, files, tmp_path / "here")
    with chdir(tmp_path / "here"):
        assert figures(rewritten(text)) == figures(text)


def test_the_tutorial_shows_the_writer_of_its_figures():
    assert f"written by parquet-cpp-arrow version\n  {WRITER};" in PAGES[0].read_text()


def test_the_pictures_are_what_make_pictures_draws():
    pictures = run_path(str(ROOT / "docs" / "pictures.py"))
    for name in pictures["PICTURES"]:
        assert (ROOT / "docs" / name).read_text() == pictures["drawn"](name)
    bits = " ".join(map(str, pictures["BITS"]))
    words = [pictures[name] for name in ("VALUE", "STORED_BYTES", "HASH", "BLOCK", "NUM_BLOCKS")]
    explained = (ROOT / "docs" / "how-a-filter-works.md").read_text()
    form = "value: {}\nstored bytes: {}\nhash: {}\nblock: {} of {}\nbits of words 0 to 7: {}\n"
    assert form.format(*words, bits) in explained


def test_the_examples_in_python_run(here):
    """In one folder, as who reads one page after the other runs them."""
    for page, number in (("README.md", 1), ("docs/python.md", 5)):
        examples = blocks((ROOT / page).read_text(), "python")[-number:]
        (here / "example.py").write_text("".join(examples))
        with chdir(here):
            run_path("example.py")


def test_it_is_short():
    assert len(README.split()) < 1200


def test_it_makes_the_file_of_the_tutorial():
    program, _ = blocks(README, "python")
    tutorial = blocks(PAGES[0].read_text(), "python")[0]
    assert program.splitlines() == [line for line in tutorial.splitlines() if "orc" not in line]


def lines_of_the_picture():
    """Its text, line by line; words lie at their places in the line, which rich draws one after the other."""
    lines = {}
    for each in ElementTree.parse(PICTURE).iter(f"{SVG}text"):
        lines.setdefault(float(each.get("y")), []).append((float(each.get("x")), each.text or ""))
    return [
        "".join(words for _, words in sorted(lines[y])).replace("\xa0", " ").rstrip()
        for y in sorted(lines)
    ]


def test_the_picture_shows_what_its_commands_print(here):
    """`make pictures` draws it anew."""
    wanted = []
    with chdir(here):
        for line in "".join(blocks(README, "sh")).splitlines():
            if line.startswith("pbloom "):
                command = line.partition("#")[0].rstrip()
                wanted += [f"$ {command}", *shown(command, PICTURE_COLUMNS).splitlines(), ""]
    found = "\n".join(lines_of_the_picture())
    assert figures(found).splitlines() == figures("\n".join(wanted)).rstrip().splitlines()
    assert PICTURE.stat().st_size < 20_000


@pytest.mark.interop
def test_the_row_groups_that_are_read(here):
    datafusion = pytest.importorskip("datafusion")
    file, where = here / "python.parquet", "user_id = 361045656987"
    pb.build(here / "events.parquet", file, columns="user_id", overwrite=True)
    (plan,) = duckdb.sql(f"EXPLAIN ANALYZE FROM '{file}' WHERE {where}").fetchall()
    assert "Row Groups Scanned: 1 / 8" in plan[1]
    context = datafusion.SessionContext()
    context.register_parquet("events", str(file))
    plan = str(context.sql(f"EXPLAIN ANALYZE SELECT * FROM events WHERE {where}").to_pylist())
    assert "row_groups_pruned_bloom_filter=8 total → 1 matched" in plan
    assert pb.row_groups(file, {"user_id": 361045656987}).num_rows == 1
    assert len(re.findall(r"^\| .* \| 8 \| 1 \|$", README, re.MULTILINE)) == 4


def test_its_figures_are_those_of_the_benchmarks():
    measured = (ROOT / "benchmarks" / "README.md").read_text()
    measured += (ROOT / "docs" / "lake-index.md").read_text()
    quoted = README.split("## How fast")[1].split("\n## ")[0]
    found = re.findall(r"\b[\d.,]+ (?:s|MB)\b", quoted)
    assert len(found) >= 16
    assert [figure for figure in found if not re.search(rf"\b{figure}\b", measured)] == []
