"""Findings as workflow commands of GitHub: one per rule and file, escaped as its runner expects."""

from make.reports import BROKEN, FAILURE, SOUND, report

from parquet_bloom.container import Place
from parquet_bloom.render.findings_for_ci import (
    MAX_LINES,
    GithubView,
    github_annotations,
    write_github_failures,
)
from parquet_bloom.rules.finding import finding


def text(commands):
    return "".join(f"{command}\n" for command in commands)


def test_one_command_for_each_rule():
    assert text(github_annotations(BROKEN)) == (
        "::error file=data/a.parquet,title=PB111 length-missing::column user.id, row groups 0, 1, 2 (the first of them):"
        " bloom_filter_length is missing (expected 1040)\n"
        "::error file=data/a.parquet,title=PB401 false-negatives::column name, row group 1:"
        " 10 of 12 values are not in the filter (expected 0, found 10)%0A"
        "the values are found if they are hashed with their length:"
        " 9 of 10 values are found that way\n"
        "::warning file=data/a.parquet,title=PB309 filters-dominate::"
        "3 filters take 29%25 of the file\n"
        "::notice file=data/a.parquet,title=PB206 out-of-order::column user.id, row group 2:"
        " filters are out of order\n"
    )


def test_all_columns_of_a_rule_are_one_command():
    found = [finding("PB111", "missing", place=Place(0), column=name) for name in ("a", "b", "a")]
    (command,) = github_annotations(report(*found))
    assert command == (
        "::error file=data/a.parquet,title=PB111 length-missing::"
        "column a, row group 0: missing%0Acolumn b, row group 0: missing"
    )


def test_a_message_has_an_end():
    found = [finding("PB111", "missing", column=f"column{i:03d}") for i in range(1 + MAX_LINES)]
    (command,) = github_annotations(report(*found))
    lines = command.split("::", 2)[2].split("%0A")
    assert len(lines) == MAX_LINES + 1
    assert lines[-2:] == ["column column019: missing", "… and 1 more"]


def test_what_would_end_a_property_or_the_command_is_escaped():
    found = finding("PB111", "50% :: a, b", column="x\r\n::warning::y")
    (command,) = github_annotations(report(found, path="a,b: 5%.parquet"))
    assert command == (
        "::error file=a%2Cb%3A 5%25.parquet,title=PB111 length-missing::"
        "column x\\r\\n::warning::y: 50%25 :: a, b"
    )


def test_what_is_written(capsys):
    GithubView().write(SOUND)
    GithubView().write(report(finding("PB206", "out of order"), path="::stop-commands::x", ok=True))
    write_github_failures([FAILURE])
    assert capsys.readouterr().out.splitlines() == [
        "pbloom: data/b.parquet: no findings in 8 filters and 1,000 values: ok",
        "::notice file=%3A%3Astop-commands%3A%3Ax,title=PB206 out-of-order::out of order",
        "pbloom: ::stop-commands::x: 1 note in 8 filters and 1,000 values: ok",
        "::error file=data/none.parquet,title=not checked::data/none.parquet: No such file or directory",
    ]
