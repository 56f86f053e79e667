"""Numbers, files and chunks as people read them."""

import pytest

from parquet_bloom.container import Place
from parquet_bloom.errors import no_column, similar
from parquet_bloom.render.wording import columns_alike, files_of, in_one


def test_files_are_named_if_they_are_few():
    assert files_of(["a"], 1) == "a"
    assert files_of(["a"], 300) == "a"
    assert files_of(["a", "b"], 2) == "2 files"
    assert files_of(["a", "b", "c"], 300) == "a, b, c"
    assert files_of(list("abcd"), 300) == "4 of 300 files, such as a"


def test_columns_with_the_same_text_in_the_same_places_are_together():
    chunks = [
        ("a", Place(0), "x"),
        ("b", Place(0), "x"),
        ("c", Place(0), "x"),
        ("a", Place(1), "x"),
    ]
    chunks += [("b", Place(1), "x"), ("d", Place(1), "y")]
    assert list(columns_alike(chunks)) == [
        ("a, b", [Place(0), Place(1)], "x"),
        ("c", [Place(0)], "x"),
        ("d", [Place(1)], "y"),
    ]


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        (["0.1 %, limit 0.1 %", "0.43 %, limit 0.1 %"], "0.1 to 0.43 %, limit 0.1 %"),
        (["(expected 1,040)", "(expected 528)"], "(expected 528 to 1,040)"),
        (["ends at 12", "ends at 9", "ends at 12"], "ends at 9 to 12"),
        (["Spark 3.5.1 wrote 7 bytes", "Spark 3.5.1 wrote 7 bytes"], "Spark 3.5.1 wrote 7 bytes"),
        (["Spark 3.5.1", "Spark 3.5.2"], "in the first: Spark 3.5.1"),
        (["2026-01-01", "2026-01-02"], "in the first: 2026-01-01"),
        (["-5 is not in it", "-7 is not in it"], "in the first: -5 is not in it"),
        (["rows 4 to 90", "rows 4 to 120"], "in the first: rows 4 to 90"),
        (
            ["lost in row 4: 3 left", "lost in row 90: 3 left"],
            "in the first: lost in row 4: 3 left",
        ),
        (["12:30", "12:45"], "in the first: 12:30"),
    ],
)
def test_texts_that_differ_in_amounts_are_one(texts, said):
    assert in_one(texts) == said


NAMES = ["user_id", "customer.address.street_name", "customer.address.city", "STREET"]


@pytest.mark.parametrize(
    ("word", "found"),
    [
        ("USER_ID", ["user_id"]),
        ("UserId", ["user_id"]),
        ("Street_Name", ["customer.address.street_name", "STREET"]),
        ("street", ["STREET"]),
        ("nothing-like-it", []),
    ],
)
def test_suggestions_do_not_look_at_case(word, found):
    assert similar(word, NAMES) == found


def test_zeros_before_a_number_are_left_out_as_people_do():
    names = [f"feature_{at:03}" for at in range(500)]
    assert similar("feature_1", names) == ["feature_001"]
    assert similar("Feature_0042", names) == ["feature_042"]
    assert similar("feature_01000", ["feature_100", "feature_1000"]) == ["feature_1000"]


def test_the_same_name_in_another_case_is_the_only_suggestion():
    assert similar("ORDER.ID", ["order.id", "order.pid", "Order.Id"]) == ["order.id", "Order.Id"]


def test_without_a_suggestion_the_columns_are_named():
    assert no_column("x", ["a", "b"]) == "no column x; the file has a, b"
    assert no_column("x", list("abcdefghij")).endswith(
        "; the file has a, b, c, d, e, f, g, h, i, j"
    )
    assert no_column("x", list("abcdefghijk")).endswith(" has a, b, c, d, e, f, g, h, i, j, …")


def test_a_pattern_is_no_column():
    names = [f"measurement_{number:03}" for number in range(20)]
    assert no_column("measurement_00*", names) == (
        "no column measurement_00*: a pattern, expected names such as"
        " measurement_000, measurement_001, measurement_002"
    )
    assert no_column("x*", ["a"]) == "no column x*; the file has a"
