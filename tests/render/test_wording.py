"""Numbers, files and chunks as people read them."""

import pytest

from parquet_bloom.container import Place
from parquet_bloom.errors import no_column, similar
from parquet_bloom.render.wording import columns_alike, files_of


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


def test_the_same_name_in_another_case_is_the_only_suggestion():
    assert similar("ORDER.ID", ["order.id", "order.pid", "Order.Id"]) == ["order.id", "Order.Id"]


def test_without_a_suggestion_the_columns_are_named():
    assert no_column("x", ["a", "b"]) == "no column x; the file has a, b"
    assert no_column("x", list("abcdef")) == "no column x; the file has a, b, c, d, e, …"
