"""Tables on a terminal: a row is a line, and what gives way is what the table says."""

from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.a_terminal import writing_to_a_terminal
from make.commands import on_a_terminal, outcome
from rich.cells import cell_len

from parquet_bloom.commands import index as index_command
from parquet_bloom.render.inspect import InspectionView
from parquet_bloom.render.reports import Summary
from parquet_bloom.render.table import (
    cut,
    fitted,
    folded,
    lines,
    natural_widths,
    records,
    shortened,
    total,
)
from parquet_bloom.render.terminal import write_table
from parquet_bloom.verbs.index_probe import probe_index

NAMES = ["row group", "column", "hash", "note"]
TABLE = [
    NAMES,
    ["0", "customer.home_address.street_name", "9d732310825a97b0", "all values are the same"],
    ["12", "id", "0000000000000001", ""],
]
GIVES = ("note…", "note", "column…")


def shown(room, gives=GIVES, table=TABLE):
    short = cut(table, fitted(table[0], natural_widths(table), room, gives))
    assert short is not None
    return list(lines(short))


def test_a_wide_terminal_shows_all():
    assert shown(100) == [
        "row group  column                                         hash  note",
        "─" * (9 + 2 + 33 + 2 + 16 + 2 + 23),
        "0          customer.home_address.street_name  9d732310825a97b0  all values are the same",
        "12         id                                 0000000000000001",
    ]


def test_text_is_shortened_before_columns_go_and_names_after_that():
    assert shown(80)[2] == (
        "0          customer.home_address.street_name  9d732310825a97b0  all values are…"
    )
    assert shown(70)[2] == "0          customer.home_address.street_name  9d732310825a97b0"
    assert shown(52)[2] == "0          customer.ho…street_name  9d732310825a97b0"


def test_then_columns_go_from_the_right():
    assert fitted(NAMES, natural_widths(TABLE), 30, GIVES) == [9, 19, 0, 0]
    assert fitted(NAMES, natural_widths(TABLE), 12, GIVES) == [9, 0, 0, 0]


def test_what_says_little_alone_goes_together():
    names = ["value", "min", "max", "rows"]
    assert fitted(names, [5, 8, 8, 4], 28, ("min, max",)) == [5, 0, 0, 4]
    assert fitted(names, [5, 8, 8, 4], 31, ("min, max",)) == [5, 8, 8, 4]


@pytest.mark.parametrize("room", range(27, 120))
def test_no_line_is_longer_than_the_terminal_and_no_number_is_cut(room):
    found = shown(room)
    assert max(map(len, found)) <= room
    for line in found[2:]:
        for cell in line.split("  "):
            assert "…" not in cell or cell.strip()[0].isalpha()


@pytest.mark.parametrize("room", range(9, 27))
def test_no_row_goes_without_its_name(room):
    """It is a record instead."""
    assert cut(TABLE, fitted(NAMES, natural_widths(TABLE), room, GIVES)) is None


def test_what_was_shortened_gets_the_room_that_is_left():
    for room in range(60, 100):
        widths = fitted(NAMES, natural_widths(TABLE), room, GIVES)
        kept = [width for width in widths if width]
        assert total(kept) == room or widths == natural_widths(TABLE) or not widths[3]


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("short", 5, "short"),
        ("customer.street", 9, "cust…reet"),
        ("some words more", 9, "some wor…"),
        ("some words more", 6, "some…"),
        ("列の名前です", 7, "列…す"),
    ],
)
def test_a_name_loses_its_middle_and_text_its_end(text, width, expected):
    assert shortened(text, width) == expected


def test_a_terminal_of_wide_characters():
    table = [["column", "note"], ["列の名前", "x"], ["a", "yy"]]
    assert shown(40, (), table)[2:] == ["列の名前  x", "a         yy"]


def test_what_is_left_out_is_said_and_verbose_leaves_nothing_out(nested):
    heading, *rows = piped_lines(nested)
    lines = on_a_terminal(50, "inspect", nested)
    above = len(folded(outcome("inspect", nested).stdout.splitlines()[0], 50))
    assert lines[above].split() == ["row", "group", "column", "filter", "FPP"]
    assert (
        "\n".join(lines).count(
            "Left out for lack of room, but not in a pipe:\n  type, data, offset, fill, NDV."
        )
        == 1
    )
    full = on_a_terminal(50, "inspect", nested, "--verbose", "-c", "a_rather_long.name_of_a_column")
    cells = dict(zip(*(row.split("\t") for row in rows), strict=True))
    above = len(folded(heading, 50))
    assert full[:above] == folded(heading, 50)
    assert full[above] == "column: a_rather_long.name_of_a_column"
    assert max(map(len, full[above:])) <= 50
    shown = "  ".join(line.strip() for line in full[above:])
    assert {*shown.split("  ")} == {f"{name}: {cell}" for name, cell in cells.items() if cell}


def piped_lines(path):
    return outcome("inspect", path, "-c", "a_rather_long.name_of_a_column").stdout.splitlines()


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (
            ["a_column_of_one_thing", "a_column_of_two_thing"],
            ["a_column…e_thing", "a_column…o_thing"],
        ),
        (
            ["reading_1_in_all_of_them", "reading_2_in_all_of_them"],
            ["read…g_1_in…them", "read…g_2_in…them"],
        ),
        (
            [
                "sensor_001_temperature_mean",
                "sensor_002_temperature_mean",
                "sensor_001_temperature_most",
            ],
            ["sens…001_te…mean", "sens…002_te…mean", "sensor_0…re_most"],
        ),
        (
            [
                "total_of_the_north_1_and_on",
                "total_of_the_north_2_and_on",
                "total_of_the_south_1_and_on",
            ],
            ["tota…th_1_and_on", "tota…th_2_and_on", "tota…e_sout…d_on"],
        ),
        (
            ["one name with its spaces", "one name less its spaces"],
            ["one…e with…aces", "one…e less…aces"],
        ),
    ],
)
def test_names_that_differ_still_do_when_they_are_shortened(names, expected):
    table = [["column"], *([name] for name in names)]
    assert shown(16, ("column…",), table)[2:] == expected


def test_notes_lose_their_end_whether_they_differ_or_not():
    table = [["id", "note"], ["1", "some words more"], ["2", "some words or so"]]
    assert [*cut(table, [2, 9])] == [("id", "note"), ("1", "some wor…"), ("2", "some wor…")]


def test_names_that_cannot_be_told_apart_are_not_shortened():
    """The middle has two places in which all of them differ, and room for one."""
    names = [
        f"a_name_with_{one}_that_goes_on_with_{two}_to_its_end" for one in "12" for two in "12"
    ]
    table = [["column"], *([name] for name in names)]
    assert cut(table, [16]) is None
    assert [row[0] for row in cut(table, [50])[1:]] == names


def test_a_record_has_all_facts_of_a_row_on_few_lines():
    assert list(records(TABLE, 60)) == [
        "column: customer.home_address.street_name  row group: 0",
        "  hash: 9d732310825a97b0  note: all values are the same",
        "column: id  row group: 12  hash: 0000000000000001",
    ]
    assert list(records(TABLE, 24))[:6] == [
        "column:",
        "  customer.home_address.street_name",
        "  row group: 0",
        "  hash: 9d732310825a97b0",
        "  note: all values are",
        "  the same",
    ]


@pytest.mark.parametrize("room", range(1, 60, 3))
def test_a_text_is_folded_between_words(room):
    text = "n.parquet: 1,000 rows in 列の名前 1 row group; next: pbloom advise n.parquet"
    found = folded(text, room)
    assert " ".join(line.strip() for line in found).replace("group next:", "group; next:") == text
    assert found[-1].endswith("next: pbloom advise n.parquet")
    assert all(line.startswith("  ") for line in found[1:])
    for line in found:
        words = line.partition("next: ")[0].split()
        assert cell_len(line) <= room or len(words) + ("next: " in line) == 1


def test_a_short_or_indented_text_stays_as_it_is():
    assert folded("  one two", 10) == ["  one two"]
    assert folded("  one two", 7) == ["  one", "  two"]
    assert folded("", 10) == [""]
    assert folded("  next: pbloom advise a", 10) == ["  next: pbloom advise a"]


def test_a_command_on_a_line_of_its_own_has_no_semicolon_before_it():
    text = "a: 1; found 2); next: pbloom advise a"
    assert folded(text, 30) == ["a: 1; found 2)", "  next: pbloom advise a"]
    assert folded(text, 40) == [text]


@pytest.fixture(scope="module")
def nested(tmp_path_factory):
    import pyarrow as pa
    import pyarrow.parquet as pq

    path = tmp_path_factory.mktemp("nested") / "n.parquet"
    values = [{"name_of_a_column": number} for number in range(1000)]
    table = pa.table({"a_rather_long": values, "b": range(1000), "c": range(1000)})
    pq.write_table(table, path)
    wanted = "a_rather_long.name_of_a_column,b"
    assert outcome("build", path, "-c", wanted, "--in-place").code == 0
    return path


def test_a_long_table_says_how_to_see_all_of_it(tmp_path):
    wide = pa.table({f"column{at:02}": [at, at + 1] for at in range(42)})
    pq.write_table(wide, tmp_path / "wide.parquet")
    columns = ",".join(wide.column_names)
    verb = ("build", tmp_path / "wide.parquet", "-c", columns, "-o", tmp_path / "out.parquet")
    built = on_a_terminal(100, *verb)
    assert sum(line.startswith("column") for line in built) == 1 + 40
    assert built[-1] == "And 2 more rows: --verbose shows all."
    shown = on_a_terminal(100, "inspect", tmp_path / "out.parquet")
    assert sum(line.startswith("0 ") for line in shown) == 40
    assert "And 2 more rows: --verbose shows all." in shown
    every = outcome("inspect", tmp_path / "out.parquet").stdout
    assert sum("\tcolumn" in line for line in every.splitlines()) == 1 + 42


@pytest.fixture(scope="module")
def wide_pair(tmp_path_factory):
    """Of 42 columns and two row groups, without filters and with them."""
    folder = tmp_path_factory.mktemp("wide")
    wide = pa.table({f"c{at:02}": ["a", "b", f"d{at}"] for at in range(42)})
    pq.write_table(wide, folder / "a.parquet", row_group_size=2)
    build = ("build", folder / "a.parquet", "-o", folder / "b.parquet")
    assert outcome(*build, "-c", ",".join(wide.column_names)).code == 0
    return folder / "a.parquet", folder / "b.parquet"


FIRST_TEN = ", ".join(f"c{at:02}" for at in range(10))


def test_what_is_wrong_in_many_columns_is_one_line(wide_pair):
    _, path = wide_pair
    asked = ("validate", path, "--no-deep", "--max-fpp", "1e-20")
    lines = on_a_terminal(400, *asked, code=1)
    at = next(at for at, line in enumerate(lines) if "PB311" in line)
    assert lines[at] == (
        f"  error PB311 fpp-above-limit: columns {FIRST_TEN}, … (42 in all), row groups 0, 1: the FPP is"
        " above the limit (expected at most 0.000000000000000001 %, found < 0.0001 %)"
    )
    assert lines[at + 2] == "  -c NAME shows a column, --verbose shows all."
    assert lines[at + 3].startswith("  next: pbloom build ")
    several = on_a_terminal(400, *asked, wide_pair[0], code=1)
    assert sum("PB311" in line for line in several) == 1
    for every, count in (
        (on_a_terminal(400, *asked, "--verbose", code=1), 84),
        (outcome(*asked).stdout.splitlines(), 42),
    ):
        assert sum("PB311" in line for line in every) == count
        assert "  -c NAME shows a column, --verbose shows all." not in every


def test_differences_in_many_columns_are_summed_up(wide_pair):
    shown = on_a_terminal(80, "diff", *wide_pair, code=1)
    assert shown[0] == "84 filters in 42 columns: 84 only in b"
    assert " ".join(shown[1].split()) == "filters column filter size b FPP b difference"
    assert shown[3].split()[:6] == ["2", "c00", "only", "in", "b", "128"]
    assert shown[-2:] == [
        "And 2 more rows: --verbose shows all.",
        "-c NAME shows a column by row group, --verbose shows each row group of all.",
    ]
    few = on_a_terminal(80, "diff", *wide_pair, "-g", "1", code=1)
    assert few[0] == "42 filters in 42 columns: 42 only in b"
    assert few[1].split()[:2] == ["row", "group"]
    assert few[-1] == "And 2 more rows: --verbose shows all."
    for every in (
        on_a_terminal(80, "diff", *wide_pair, "--verbose", code=1),
        outcome("diff", *wide_pair).stdout.splitlines(),
    ):
        assert sum("only in b" in line for line in every) == 84
        assert "more rows" not in every[-1]


def test_many_columns_that_only_one_file_has_are_one_line(wide_pair, tmp_path):
    pq.write_table(pa.table({"c": [1]}), tmp_path / "c.parquet")
    asked = ("diff", wide_pair[0], tmp_path / "c.parquet")
    assert f"columns {FIRST_TEN}, … (42 in all): only in a" in on_a_terminal(400, *asked, code=1)
    for every in (
        on_a_terminal(400, *asked, "--verbose", code=1),
        outcome(*asked).stdout.splitlines(),
    ):
        assert sum(line.endswith(": only in a") for line in every) == 42


def test_many_columns_in_several_row_groups_are_summed_up(tmp_path):
    wide = pa.table({f"c{at:02}": ["a", "b", f"d{at}"] for at in range(42)})
    pq.write_table(wide, tmp_path / "wide.parquet", row_group_size=2)
    build = ("build", tmp_path / "wide.parquet", "-o", tmp_path / "out.parquet")
    assert outcome(*build, "-c", ",".join(wide.column_names)).code == 0
    shown = on_a_terminal(80, "inspect", tmp_path / "out.parquet")
    at = next(at for at, line in enumerate(shown) if line.startswith("column"))
    heads = " ".join(shown[at].split())
    assert heads == "column row groups filters of the file FPP worst FPP"
    assert shown[at + 2].split()[:6] == ["c00", "2", "of", "2", "160", "B"]
    assert shown[-2:] == [
        "And 2 more rows: --summary --verbose shows all.",
        "-c NAME shows a column by row group, --verbose shows each row group of all.",
    ]
    # The first line has the path, which may be longer.
    assert max(map(len, shown[1:])) <= 80
    left_out = (
        "Left out for lack of room, but not in a pipe with --summary: of the file, worst FPP."
    )
    narrow = on_a_terminal(50, "inspect", tmp_path / "out.parquet")
    assert left_out in " ".join(" ".join(narrow).split())
    summary = ("inspect", tmp_path / "out.parquet", "--summary")
    assert "And 2 more rows: --verbose shows all." in on_a_terminal(100, *summary)
    for every in (on_a_terminal(100, *summary, "--verbose"), outcome(*summary).stdout.splitlines()):
        assert sum(line.startswith("c") for line in every) == 1 + 42
    every, narrow = (
        on_a_terminal(columns, "inspect", tmp_path / "out.parquet", "--verbose")
        for columns in (100, 60)
    )
    assert sum(line[:2] in ("0 ", "1 ") for line in every) == 2 * 42
    assert len(every) < 2 * 42 + 10
    assert sum(line.startswith("column: c") for line in narrow) == 2 * 42
    assert len(narrow) < 3 * 2 * 42 + 10
    assert narrow[-1].startswith("  ")
    assert not any("…" in line or "Left out" in line for line in narrow)


def test_a_pipe_names_all_columns_without_filters(tmp_path):
    wide = pa.table({f"c{at:02}": ["a", "b", f"d{at}"] for at in range(13)})
    pq.write_table(wide, tmp_path / "wide.parquet")
    build = ("build", tmp_path / "wide.parquet", "--in-place", "-c", "c12")
    assert outcome(*build).code == 0
    inspect, names = ("inspect", tmp_path / "wide.parquet"), ", ".join(wide.column_names[:12])
    assert f"{names}: no filter" in outcome(*inspect).stdout.splitlines()
    assert f"no filters: {names}" in outcome(*inspect, "--summary").stdout.splitlines()
    for more, said in (((), "{}: no filter"), (("--summary",), "no filters: {}")):
        first_ten = said.format(f"{FIRST_TEN}, … (12 in all)")
        assert first_ten in on_a_terminal(400, *inspect, *more)


@pytest.mark.parametrize("rows_in_group", [1000, 500])
def test_the_largest_filters_come_first_where_not_all_are_shown(tmp_path, rows_in_group):
    """In a file of one row group and of two, and in the summary; verbose keeps the order of the file, and whole names
    however narrow the terminal is."""
    names = [f"a_column_with_a_name_that_is_far_too_long_{at:02}" for at in range(42)]
    wide = pa.table({name: [0, 1] * 500 for name in names[:-1]} | {names[-1]: range(1000)})
    pq.write_table(wide, tmp_path / "wide.parquet", row_group_size=rows_in_group)
    out = tmp_path / "out.parquet"
    assert outcome("build", tmp_path / "wide.parquet", "-o", out, "-c", ",".join(names)).code == 0
    for command in (("inspect", out), ("inspect", out, "--summary")):
        few, every = on_a_terminal(80, *command), on_a_terminal(60, *command, "--verbose")
        first = next(at for at, line in enumerate(few) if line.startswith("───")) + 1
        assert "_41 " in few[first]
        found = [line for line in every if line.startswith("column: ")]
        assert [name for name in names if any(name in line for line in found)] == names


def test_the_files_that_may_hold_a_value_are_whole_and_how_many_more_there_are(tmp_path):
    first, *others = [tmp_path / f"a_file_with_a_name_of_its_own_{at}.parquet" for at in range(5)]
    for path in (first, *others):
        pq.write_table(pa.table({"ref": ["a", "b"]}), path)
    assert outcome("build", tmp_path, "-c", "ref", "--in-place").code == 0
    asked = ("probe", tmp_path, "-c", "ref", "-v", "a", "--by-value")
    shown = " ".join(line.strip() for line in on_a_terminal(80, *asked))
    assert f"in: {first}, {others[0]}, {others[1]} and 2 more files" in shown
    shown = " ".join(line.strip() for line in on_a_terminal(80, *asked, "--verbose"))
    assert f"in: {first}, {', '.join(map(str, others))}" in shown


def test_many_files_are_told_which_option_sums_them_up(tmp_path):
    for at in range(21):
        pq.write_table(pa.table({"a": [at]}), tmp_path / f"{at:02}.parquet")
    hint = "--summary shows a row per column, over all files; --verbose shows each file."
    assert on_a_terminal(80, "inspect", tmp_path)[-1] == hint
    (tmp_path / "20.parquet").unlink()
    assert hint not in on_a_terminal(80, "inspect", tmp_path)
    assert hint not in outcome("inspect", tmp_path).stdout


def test_files_of_which_none_has_filters_are_told_what_comes_next(tmp_path):
    for name in ("a", "b"):
        pq.write_table(pa.table({"id": range(100)}), tmp_path / f"{name}.parquet")
    told = "pbloom advise says which columns deserve filters, pbloom build adds them"
    assert outcome("inspect", tmp_path).complaint == told
    outcome("build", tmp_path / "a.parquet", "-c", "id", "--in-place")
    assert outcome("inspect", tmp_path).stderr == ""


@pytest.fixture
def terminal(monkeypatch):
    return partial(writing_to_a_terminal, monkeypatch)


def test_files_that_were_not_reached_are_not_summed_up(terminal):
    screen = terminal(80)
    summary = Summary(300, InspectionView())
    summary.finish()
    assert screen.lines == ["300 files: 300 not reached"]


def test_rows_whose_names_cannot_be_told_apart_are_records(terminal):
    screen = terminal(24)
    names = [
        f"a_name_with_{one}_that_goes_on_with_{two}_to_its_end" for one in "12" for two in "12"
    ]
    write_table(("column", "filter"), [(name, "64 B") for name in names], ("column…",))
    assert screen.lines == [
        line for name in names for line in ("column:", f"  {name}", "  filter: 64 B")
    ]


LONG = "encrypted, no key; --keys, --kms or --column-key gives it"


@pytest.mark.parametrize(
    ("columns", "below"),
    [
        (80, []),
        (50, ["reason: encrypted, no key; --keys, --kms or", "  --column-key gives it"]),
        (
            20,
            [
                "reason: encrypted,",
                "  no key; --keys,",
                "  --kms or",
                "  --column-key gives",
                "  it",
                "reason: no filter",
            ],
        ),
    ],
)
def test_a_reason_that_has_no_room_follows_whole_and_once(terminal, columns, below):
    screen = terminal(columns)
    rows = [("7", "unknown", LONG), ("8", "unknown", LONG), ("9", "unknown", "no filter")]
    write_table(("value", "verdict", "reason"), rows, ("reason…",))
    assert screen.lines[5:] == below


def test_of_many_reasons_ten_follow_and_how_many_are_left(terminal):
    screen = terminal(40)
    write_table(("file", "reason"), [("a.parquet", f"{at} of {LONG}") for at in range(12)])
    assert screen.lines[-2:] == ["and 2 more of them, which are whole in a", "  pipe"]


@pytest.mark.parametrize("name", ["note", "skipped"])
def test_other_remarks_follow_whole_too_and_where_they_are_made(terminal, name):
    screen = terminal(40)
    rows = [("0", "flag", "not for readers"), ("1", "flag", "not for readers"), ("1", "id", None)]
    heads = ("row group", "column", "filter", "FPP", name)
    write_table(
        heads, [(*row, "8.0 KiB", "0.01 %", text) for *row, text in rows], (f"{name}…", name)
    )
    assert screen.lines[5:] == [f"{name}, flag: not for readers"]


def test_a_number_stays_with_its_unit():
    assert folded("filters take 48.1 KiB (7.2 %)", 19) == ["filters take", "  48.1 KiB (7.2 %)"]
    assert folded("read; 1.6 s", 9) == ["read;", "  1.6 s"]
    assert folded("at an FPP of 0.01 to 0.03 %, or so", 26) == [
        "at an FPP of 0.01 to", "  0.03 %, or so",
    ]  # fmt: skip
    assert folded("12 B of KiB", 4) == ["12 B", "  of KiB"]


def test_index_probe_names_files_however_long_a_reason_is(terminal, tmp_path):
    lake = tmp_path / "lake"
    lake.mkdir()
    (lake / "damaged.parquet").write_bytes(b"PAR1" + b"x" * 100 + b"PAR1")
    pq.write_table(pa.table({"n": range(10)}), lake / "whole.parquet")
    assert outcome("index", "build", "--index", tmp_path / "index", "-c", "n", lake).code == 2
    screen = terminal(len(str(lake)) + 60)
    index_command._write_answers(probe_index(tmp_path / "index", "n", 5), in_full=False)
    heads, _, whole, damaged, *below = screen.lines[2:]
    assert heads.split() == ["file", "where"]
    assert whole.split() == [str(lake / "whole.parquet"), "maybe,", "row", "group", "0"]
    assert " ".join(map(str.strip, [damaged, *below])) == (
        f"{lake / 'damaged.parquet'}: may hold any value: footer: damaged: its length is 2021161080,"
        " expected at most 96"
    )


def test_a_value_keeps_its_blanks_in_a_record():
    table = [("id", "file"), (" k6", "a.parquet"), ("k  6", "a.parquet")]
    assert list(records(table, 40)) == ["id:  k6  file: a.parquet", "id: k  6  file: a.parquet"]
