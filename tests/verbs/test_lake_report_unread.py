"""`pbloom report` of many files some of which, or values of which, cannot be read."""

import re
import shlex
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.browser import Document
from make.commands import outcome
from make.lake_pages import page_of, steps_on, write_lake

import parquet_bloom as pb
from parquet_bloom.verbs.advise import MAX_IN_NEED


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lake")
    write_lake(folder)
    return folder


@pytest.fixture
def run(folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    return partial(page_of, tmp_path / "page.html")


def test_what_helps_with_files_that_cannot_be_read_is_not_the_same_for_all(run, folder, tmp_path):
    whole = (folder / "lake" / "day=1" / "a.parquet").read_bytes()
    for name, data in {"a": whole, "cut": whole[:-9], "more": whole + bytes(9)}.items():
        (tmp_path / f"{name}.parquet").write_bytes(data)
    steps = steps_on(run(tmp_path)[1]).replace(str(tmp_path), "LAKE")
    assert "LAKE/cut.parquet: if it was one, its end is lost: take another copy. LAKE/more" in steps
    assert (
        f"follow a whole file: `head -c {len(whole)} LAKE/more.parquet` is that file. build"
        in steps
    )


def test_what_cannot_be_read_is_not_to_be_built(run, tmp_path):
    names = [tmp_path / name for name in ("bad.parquet", "a.parquet", "b.parquet")]
    numbers = np.random.default_rng(3).permutation(4_000)
    for part, name in enumerate(names):
        table = pa.table({"id": numbers[part::3]})
        pq.write_table(table, name, row_group_size=500, use_dictionary=False)
    names[0].write_bytes(b"not a file")
    _, html = run(*names)
    build = f"pbloom build {names[1]} {names[2]} -c id --fpp 0.01 --in-place"
    assert re.findall("pbloom build /.*?--in-place", Document(html).text) == [build, build]


def write_unread(path, seed, is_damaged=True, filters=("id",)):
    """Of an id and another column, a value of which has changed, if any: by its checksum, the page cannot be read."""
    rng = np.random.default_rng(seed)
    table = pa.table({name: rng.integers(0, 1 << 40, 8_000) for name in ("id", "other")})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(
        table, path, row_group_size=2_000, use_dictionary=False, compression="none",
        write_page_checksum=True,
    )  # fmt: skip
    pb.build(path, columns=[*filters], in_place=True)
    if is_damaged:
        data, value = path.read_bytes(), np.asarray(table["other"])[100].tobytes()
        assert data.count(value) == 1
        path.write_bytes(data.replace(value, bytes(8)))


UNREAD = "row group 0, column other: page at NUMBER: checksum HASH, expected HASH; take another copy, or read it anyway with --ignore-checksums of build, validate or repair"


ANOTHER_COPY = (
    "Take another copy of the file, or see with pbloom validate --pages what else is damaged."
)


def without_numbers(text):
    return re.sub("[0-9a-f]{8}", "HASH", re.sub(r"page at \d+", "page at NUMBER", text))


def test_values_that_could_not_be_read_are_told_of_first(run, tmp_path, monkeypatch):
    """Those of a column without filters are in no finding, and no command builds filters of them."""
    write_unread(tmp_path / "lake/day=1/a.parquet", 1, is_damaged=False)
    write_unread(tmp_path / "lake/day=2/b.parquet", 2)
    monkeypatch.chdir(tmp_path)
    unread = f"lake/day=2/b.parquet: {UNREAD}"
    step = (
        " What to do next error 1 file with values that could not be read: lake/day=2/b.parquet"
        f" R{UNREAD[1:]}. {ANOTHER_COPY} "
    )
    for counts in ("no findings in 8 filters and 16,000", "1 note in 12 filters and 24,000"):
        result, html = run("lake")
        text = without_numbers(Document(html).text)
        assert (result.code, without_numbers(result.complaint)) == (2, unread)
        summary = f"{counts} values; 1 file with values that could not be read: not ok"
        assert result.stdout.endswith(f"; {summary}\n")
        assert f" lake ✕ {summary} " in text
        assert step in text
        assert f"1 file left out, as the values could not all be read {unread}" in text
        commands = {*re.findall("pbloom build .*?--in-place", text.partition("Verdict Why")[0])}
        if counts.startswith("no findings in 8"):
            (build,) = commands
            assert build == "pbloom build lake/day=1/a.parquet -c other --fpp 0.01 --in-place"
            assert outcome(*shlex.split(build)[1:]).code == 0
        else:
            assert commands == set()
    assert run("lake", "-c", "id")[0].code == 0
    assert run("lake", "--no-deep")[0].code == 0


def test_damage_that_is_left_out_of_the_advice_makes_no_filter_wrong(run, tmp_path):
    """The page of id is damaged in one file, and the filters of both are right."""
    for day, path in enumerate((tmp_path / "lake/a.parquet", tmp_path / "lake/b.parquet")):
        write_unread(path, day, is_damaged=False)
    data = path.read_bytes()
    path.write_bytes(data[:4] + bytes(20) + data[24:])
    result, html = run(tmp_path / "lake")
    text = Document(html).text
    assert result.code == 2
    assert "PB116" in text
    assert "filters that are there are wrong" not in text


def test_a_command_for_a_folder_says_that_it_fails_for_what_could_not_be_read(
    run, tmp_path, monkeypatch
):
    for number in range(MAX_IN_NEED + 2):
        write_unread(tmp_path / f"lake/{number}.parquet", number, is_damaged=not number)
    monkeypatch.chdir(tmp_path)
    note = " For files that could not be read, this fails until other copies are there. "
    build = "pbloom build lake -c other --fpp 0.01 --in-place"
    assert f": other {build}{note}" in steps_on(run("lake")[1])
    assert outcome(*shlex.split(build)[1:]).code == 2
    write_unread(tmp_path / "lake/0.parquet", 0, is_damaged=False)
    steps = steps_on(run("lake")[1])
    assert build in steps
    assert note not in steps


def test_values_that_could_not_be_read_in_any_file(run, tmp_path, monkeypatch):
    for number in range(2):
        write_unread(tmp_path / f"lake/{number}.parquet", number)
    monkeypatch.chdir(tmp_path)
    result, html = run("lake")
    text = without_numbers(Document(html).text)
    each = [f"lake/{number}.parquet: {UNREAD}" for number in range(2)]
    whys = f"{each[0]}. {each[1]}. {ANOTHER_COPY}"
    assert f"could not be read: lake/0.parquet, lake/1.parquet {whys} " in text
    assert f"Advice 2 files left out, as the values could not all be read {' '.join(each)}" in text
    complaints = [without_numbers(each) for each in result.stderr.splitlines()]
    assert complaints == [f"pbloom: {message}" for message in each]


def test_no_command_builds_filters_of_pages_that_cannot_be_read(run, tmp_path, monkeypatch):
    """A rule is about both files, and what is advised for the other one is the same in other words."""
    (tmp_path / "policy.toml").write_text("[validate]\nmax-fpp = 0.0001\n")
    for number in range(2):
        path = tmp_path / f"lake/{number}.parquet"
        write_unread(path, number, is_damaged=number == 1, filters=("other",))
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.html"
    outcome("report", "lake", "-c", "other", "--config", "policy.toml", "-o", page)
    text = Document(page.read_text()).text
    assert (
        "The false positive probability is above the limit that was set 8 times in 2 files" in text
    )
    again = "pbloom build lake/0.parquet -c other --fpp 0.0001 --in-place --existing replace"
    steps = text.partition("What to do next ")[2].partition(" Columns ")[0]
    assert re.findall("pbloom build .*?(?: If|$)", steps) == [f"{again} If"]
    assert {*re.findall(r"pbloom build (\S+) ", text.partition("Verdict Why")[0])} == {
        "lake/0.parquet"
    }
    assert outcome(*shlex.split(again)[1:]).code == 0


@pytest.mark.parametrize("filters", [("id",), ("id", "other")])
def test_values_of_one_file_that_could_not_be_read(run, tmp_path, filters):
    path = tmp_path / "a.parquet"
    write_unread(path, 1, filters=filters)
    result, html = run(path)
    text = without_numbers(Document(html).text)
    assert (result.code, without_numbers(result.complaint)) == (2, f"{path}: {UNREAD}")
    assert result.stdout.endswith("; values could not be read: not ok\n")
    assert f"{path} ✕ " in text
    # Of columns that have filters, a finding says so.
    step = f"What to do next error Values could not be read R{UNREAD[1:]}. {ANOTHER_COPY} "
    assert (step in text) == (filters == ("id",))
    assert "What to do next error " in text


def test_what_cannot_be_read_at_all_leaves_no_page(run):
    result, html = run("lake/day=2/c.parquet", "nowhere.parquet")
    assert (result.code, html) == (2, None)
    assert len(result.stderr.splitlines()) == 2
    assert run("lake/day=3")[1] is None
