"""What `pbloom validate` prints for people."""

import pytest
from make.reports import BROKEN, LENGTHS, LOST, PREFIXED, SOUND, report

from parquet_bloom.container import Place
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.render.findings import FindingGroup, ValidationView, grouped, summary
from parquet_bloom.render.reports import about_alike
from parquet_bloom.rules.finding import finding


def printed(capsys, *reports):
    for each in reports:
        ValidationView().write(each)
    return capsys.readouterr().out


def test_a_report_as_text(capsys):
    assert printed(capsys, BROKEN, SOUND) == (
        "data/a.parquet: 4 errors, 1 warning, 1 note in 8 filters and 1,000 values: not ok\n"
        "  error PB111 length-missing: column user.id, row groups 0, 1, 2; the first:"
        " bloom_filter_length is missing (expected 1040)\n"
        "  error PB401 false-negatives: column name, row group 1:"
        " 10 of 12 values are not in the filter (expected 0, found 10)\n"
        "      the values are found if they are hashed with their length:"
        " 9 of 10 values that were tried are found that way\n"
        "  warning PB309 filters-dominate: 3 filters take 29% of the file\n"
        "  note PB206 out-of-order: column user.id, row group 2: filters are out of order\n"
        "data/b.parquet: no findings in 8 filters and 1,000 values: ok\n"
    )


def test_many_row_groups_are_one_line(capsys):
    found = [
        finding("PB111", "bloom_filter_length is missing", place=Place(group), column="id")
        for group in range(0, 1200, 10)
    ]
    assert printed(capsys, report(*found)).splitlines()[1] == (
        "  error PB111 length-missing: column id, row groups 0, 10, 20, 30, 40, 50, 60, 70, 80, 90,"
        " … (120 in all): bloom_filter_length is missing"
    )


@pytest.mark.parametrize(
    ("first", "second", "num_groups"),
    [
        ("1,024 of 4.5 values", "7 of 12 values", 1),
        ("the header is short", "the header is long", 2),
        ("12 values", "12 filters", 2),
    ],
)
def test_messages_that_differ_in_numbers_only_are_alike(first, second, num_groups):
    found = [finding("PB401", text, place=Place(0), column="id") for text in (first, second)]
    assert len(grouped(found)) == num_groups


def test_what_is_said_of_several_whole_columns_is_one_line(capsys):
    def shown(name, found="size_statistics", place=None):
        return finding("PB504", "the footer shows more", column=name, found=found, place=place)

    found = [
        shown("a"),
        shown("b"),
        shown("c", "encoding_stats"),
        shown(None),
        shown("d", place=Place(1)),
    ]
    heading = "  warning PB504 revealing-copy: "
    said = "the footer shows more (found size_statistics)"
    assert printed(capsys, report(*found)).splitlines()[1:] == [
        f"{heading}columns a, b: {said}",
        f"{heading}column c: the footer shows more (found encoding_stats)",
        f"{heading}{said}",
        f"{heading}column d, row group 1: {said}",
    ]
    many = [shown(f"c{at}") for at in range(11)]
    names = ", ".join(f"c{at}" for at in range(10))
    assert printed(capsys, report(*many)).splitlines()[1:] == [
        f"{heading}columns {names}, … (11 in all): {said}",
        "  -c NAME shows a column, --verbose shows all.",
    ]
    # Machines are told of each.
    assert len(grouped(found)) == 5


def test_other_columns_rules_and_diagnoses_are_other_groups():
    other = Diagnosis("seed", "the seed is 42", 9, 10)
    found = [
        finding("PB401", "lost", column="a", diagnosis=PREFIXED),
        finding("PB401", "lost", column="a", diagnosis=other),
        finding("PB401", "lost", column="a"),
        finding("PB401", "lost", column="b"),
        finding("PB402", "lost", column="b"),
    ]
    assert [group.findings for group in grouped(found)] == [(item,) for item in found]


def test_a_group_counts_its_diagnoses_together():
    found = [
        finding("PB401", "lost", place=Place(group), column="a",
                diagnosis=Diagnosis("seed", "the seed is 42.", 1000, 1001))
        for group in range(2)
    ]  # fmt: skip
    (group,) = grouped(found)
    assert (
        group.diagnosis
        == "the seed is 42: 2,000 of 2,002 values that were tried are found that way"
    )


def test_a_group_whose_filters_are_elsewhere_says_so_of_the_first():
    """Each in another place, which is true of none of the others."""
    found = [
        finding(
            "PB401",
            "lost",
            place=Place(group),
            column="a",
            diagnosis=Diagnosis("filter-of-another", f"found in row group {group + 1}", 1000, 1000),
        )
        for group in range(3)
    ]
    (group,) = grouped(found)
    assert group.diagnosis == (
        "found in row group 1: 1,000 of 1,000 values that were tried are found that way; 2 more in a similar way (--verbose)"
    )


@pytest.mark.parametrize(
    ("seeds", "others"), [((42, 42, 42), 0), ((42, 7, 42), 1), ((42, 7, 1), 2)]
)
def test_what_caused_it_in_the_first_file_is_not_said_of_others(seeds, others):
    def remark(seed, lost):
        diagnosis = Diagnosis("xxh64-seed", f"the seed is {seed}", 1000, 1000)
        found = finding("PB401", f"{lost} values are lost", column="a", diagnosis=diagnosis)
        return FindingGroup((found,)).remark("a.parquet")

    said = about_alike([remark(seed, 20 + at) for at, seed in enumerate(seeds)])
    more = (
        f"; {others} more file{'s' * (others > 1)} in a similar way (--verbose)" if others else ""
    )
    lost = "in the first: 20" if others else "20 to 22"
    assert said == (
        f"error PB401 false-negatives: column a: {lost} values are lost; the seed is 42: 1,000 of 1,000 values that"
        f" were tried are found that way{more}"
    )


def test_a_group_is_as_long_as_its_findings():
    (lengths, lost) = grouped([*LENGTHS, LOST])
    assert (lengths.findings, lost.findings) == (LENGTHS, (LOST,))


def test_names_cannot_start_lines_or_move_the_cursor(capsys):
    found = finding("PB111", "missing", place=Place(0), column="a\nerror\x1b[2J")
    assert printed(capsys, report(found)).splitlines()[1] == (
        '  error PB111 length-missing: column "a\\nerror\\x1b[2J", row group 0: missing'
    )


def test_one_is_not_several():
    one = report(finding("PB309", "large"), values=1)
    assert summary(one) == "1 warning in 8 filters and 1 value: not ok"
