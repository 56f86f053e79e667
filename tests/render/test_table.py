"""Tables on a terminal: a row is a line, and what gives way is what the table says."""

import pytest
from make.commands import on_a_terminal, outcome

from parquet_bloom.render.table import fitted, lines, natural_widths, shortened, total

NAMES = ["row group", "column", "hash", "note"]
TABLE = [
    NAMES,
    ["0", "customer.home_address.street_name", "9d732310825a97b0", "all values are the same"],
    ["12", "id", "0000000000000001", ""],
]
GIVES = ("note…", "note", "column…")


def shown(room, gives=GIVES, table=TABLE):
    return list(lines(table, fitted(table[0], natural_widths(table), room, gives)))


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


@pytest.mark.parametrize("room", range(9, 120))
def test_no_line_is_longer_than_the_terminal_and_no_number_is_cut(room):
    found = shown(room)
    assert max(map(len, found)) <= room
    for line in found[2:]:
        for cell in line.split("  "):
            assert "…" not in cell or cell.strip()[0].isalpha()


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
    lines = on_a_terminal(50, "inspect", nested)
    assert lines[1].split() == ["row", "group", "column", "filter", "FPP"]
    assert lines[-2] == "Left out for lack of room: type, data, offset, fill, NDV."
    full = on_a_terminal(50, "inspect", nested, "--verbose", "-c", "a_rather_long.name_of_a_column")
    cells = dict(zip(*(row.split("\t") for row in piped_rows(nested)), strict=True))
    assert full[1:] == [f"{name}: {cell}" for name, cell in cells.items() if cell] + [""]


def piped_rows(path):
    return outcome("inspect", path, "-c", "a_rather_long.name_of_a_column").stdout.splitlines()[1:]


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
