"""Findings as workflow commands of GitHub: one per rule and like files, escaped as its runner expects."""

import pytest
from make.reports import BROKEN, FAILURE, SOUND, report

from parquet_bloom.container import Place
from parquet_bloom.render.findings_for_ci import (
    MAX_LINES,
    github_annotations,
    write_github,
)
from parquet_bloom.rules.finding import finding
from parquet_bloom.verbs.several import Failure


def text(commands):
    return "".join(f"{command}\n" for command in commands)


def test_one_command_for_each_rule():
    assert text(github_annotations([BROKEN], 1)) == (
        "::error file=data/a.parquet,title=PB111 length-missing::column user.id, row groups 0, 1, 2; the first:"
        " bloom_filter_length is missing (expected 1040)\n"
        "::error file=data/a.parquet,title=PB401 false-negatives::column name, row group 1:"
        " 10 of 12 values are not in the filter (expected 0, found 10)%0A"
        "the values are found if they are hashed with their length:"
        " 9 of 10 values that were tried are found that way\n"
        "::warning file=data/a.parquet,title=PB309 filters-dominate::"
        "3 filters take 29%25 of the file\n"
        "::notice file=data/a.parquet,title=PB206 out-of-order::column user.id, row group 2:"
        " filters are out of order\n"
    )


def test_all_columns_of_a_rule_are_one_command():
    found = [finding("PB111", "missing", place=Place(0), column=name) for name in ("a", "b", "a")]
    (command,) = github_annotations([report(*found)], 1)
    assert command == (
        "::error file=data/a.parquet,title=PB111 length-missing::"
        "column a, row group 0: missing%0Acolumn b, row group 0: missing"
    )


def test_a_message_has_an_end():
    found = [finding("PB111", "missing", column=f"column{i:03d}") for i in range(1 + MAX_LINES)]
    (command,) = github_annotations([report(*found)], 1)
    lines = command.split("::", 2)[2].split("%0A")
    assert len(lines) == MAX_LINES + 1
    assert lines[-2:] == ["column column019: missing", "… and 1 more"]


def test_what_would_end_a_property_or_the_command_is_escaped():
    found = finding("PB111", "50% :: a, b", column="x\r\n::warning::y")
    (command,) = github_annotations([report(found, path="a,b: 5%\r\n\x1b.parquet")], 1)
    assert command == (
        "::error file=a%2Cb%3A 5%25%0D%0A\\x1b.parquet,title=PB111 length-missing::"
        'column "x\\r\\n::warning::y": 50%25 :: a, b'
    )


ODD = report(finding("PB206", "out of order"), path="::stop-commands::x", ok=True)


@pytest.mark.parametrize(
    ("reports", "failures", "lines"),
    [
        ([SOUND], [], ["pbloom: data/b.parquet: no findings in 8 filters and 1,000 values: ok"]),
        (
            [ODD],
            [],
            [
                "::notice file=%3A%3Astop-commands%3A%3Ax,title=PB206 out-of-order::out of order",
                "pbloom: ::stop-commands::x: 1 note in 8 filters and 1,000 values: ok",
            ],
        ),
        (
            [SOUND, ODD],
            [FAILURE],
            [
                "::error file=data/none.parquet,title=not checked::data/none.parquet: No such file or directory",
                "::notice file=%3A%3Astop-commands%3A%3Ax,title=PB206 out-of-order::out of order",
                "pbloom: 3 files: 2 ok, 1 failed; 1 note in 16 filters and 2,000 values",
            ],
        ),
        (
            [],
            [Failure(name, f"{name}: not a Parquet file") for name in ("a", "b")],
            [
                "::error file=a,title=not checked::a, b: not a Parquet file",
                "pbloom: 2 files: 2 failed",
            ],
        ),
    ],
)
def test_what_is_written(capsys, reports, failures, lines):
    write_github(reports, failures)
    assert capsys.readouterr().out.splitlines() == lines


def lacking(number):
    """A file that lacks filters of two columns, the second in one row group more."""
    name = f"{number:03d}.parquet"
    found = [
        finding("PB310", f"has no filter in {groups} row groups", column=column,
                next=f"pbloom build {name} -c {column} --in-place")
        for column, groups in (("a", 1 + number), ("b", 7))
    ]  # fmt: skip
    return report(*found, path=name)


def test_what_many_files_break_alike_is_one_command(capsys):
    write_github([*map(lacking, range(99)), SOUND], [])
    command, total = capsys.readouterr().out.splitlines()
    assert command == (
        "::error file=000.parquet,title=PB310 required-missing::"
        "99 of 100 files, such as 000.parquet: column a: has no filter in 1 to 99 row groups;"
        " next: pbloom build FILE -c a --in-place%0A"
        "column b: has no filter in 7 row groups; next: pbloom build FILE -c b --in-place"
    )
    assert total == (
        "pbloom: 100 files: 99 not ok, 1 ok; 198 errors in 800 filters and 100,000 values"
    )


def test_a_command_for_many_files_names_what_means_all():
    found = text(github_annotations([lacking(0), lacking(1)], 2, ["lake/"]))
    assert "::000.parquet, 001.parquet: column a: has no filter in 1 to 2 row groups;" in found
    assert "next: pbloom build lake/ -c b --in-place" in found


@pytest.mark.parametrize(
    ("num_lacking", "others", "failures", "named"),
    [
        (2, [SOUND], [], "000.parquet 001.parquet"),
        (2, [], [FAILURE], "000.parquet 001.parquet"),
        # Too many to be named.
        (6, [], [FAILURE], "lake/"),
        (6, [SOUND], [], "lake/"),
    ],
)
def test_a_command_names_few_files_where_a_folder_has_others(
    num_lacking, others, failures, named, capsys
):
    """They may be such that the command fails."""
    write_github([*map(lacking, range(num_lacking)), *others], failures, ["lake/"])
    assert f"next: pbloom build {named} -c b --in-place" in capsys.readouterr().out


def test_a_rule_that_files_break_differently_is_a_command_for_each():
    others = [report(finding("PB310", "another", column="a"), path=name) for name in "xy"]
    found = [*github_annotations([lacking(0), *others, lacking(1)], 4)]
    assert [each.split(",")[0] for each in found] == [
        "::error file=000.parquet", "::error file=x",
    ]  # fmt: skip


def test_numbers_in_commands_are_never_ranges():
    """What helps in one row group of one file is no help with another of another file."""
    others = [
        report(
            finding("PB308", "is empty", column="a", place=Place(group, "parquet"),
                    next=f"pbloom strip {name} -c a -g {group} --in-place"), path=name)
        for name, group in (("x", 1), ("y", 2), ("z", 2))
    ]  # fmt: skip
    found = [each.split("next: ")[1] for each in github_annotations(others, 3)]
    assert found == [
        "pbloom strip x -c a -g 1 --in-place",
        "pbloom strip FILE -c a -g 2 --in-place",
    ]
