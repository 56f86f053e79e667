"""Which writers' filters are known to be trouble, by the words in created_by."""

import re
from types import SimpleNamespace

import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES

from parquet_bloom.engines.engine import WriterTrouble
from parquet_bloom.engines.writers import known_troubles, troubles
from parquet_bloom.rules.portability import PROOFS, is_concerned
from parquet_bloom.rules.rule import rules

KNOWN = known_troubles()

PLAIN = {"length": 47, "physical": "INT64", "encrypted": False}


def chunk(*, length: int | None, physical: str, encrypted: bool) -> SimpleNamespace:
    """What a trouble looks at in a column chunk."""
    return SimpleNamespace(
        bloom_filter_length=length,
        leaf=SimpleNamespace(type=SimpleNamespace(physical=physical)),
        has_crypto_metadata=encrypted,
    )


def links(created_by: str) -> list[str]:
    """The end of each trouble's link."""
    return ["/".join(trouble.link.split("/")[-2:]) for trouble in troubles(created_by)]


@pytest.mark.parametrize(
    ("created_by", "expected"),
    [
        (
            "parquet-mr version 1.12.0 (build db75a6815f2ba1d1ee89d1a90aeb296f1f3a8f20)",
            ["issues/3249", "pull/23245"],
        ),
        ("parquet-mr version 1.13.0-SNAPSHOT (build 7398d9b5)", ["issues/3249", "pull/23245"]),
        ("parquet-mr version 1.13.99", ["issues/3249", "pull/23245"]),
        ("parquet-mr version 1.14.0 (build fe9179414906cc37b550d13e6e7ae7d1)", ["pull/23245"]),
        ("parquet-mr version 1.17.0 (build fac0c746)", ["pull/23245"]),
        # Without a version only what every version does is known.
        ("parquet-mr", ["pull/23245"]),
        ("Trino version 453 (build n/a)", ["issues/12458", "pull/23604"]),
        ("Trino version 460 (build n/a)", ["issues/12458"]),
        ("impala version 4.4.0-RELEASE (build 8a48ddb1)", ["issues/3249"]),
        ("parquet-cpp-arrow version 11.0.0", ["pull/33776"]),
        ("parquet-cpp-arrow version 12.0.0", []),
        ("parquet-cpp-arrow version 26.0.1", []),
        # Before it was part of Arrow it wrote no filters.
        ("parquet-cpp version 1.5.1-SNAPSHOT", []),
        ("parquet-go version 18.4.1", ["issues/525", "pull/1164"]),
        ("parquet-go version 18.5.0", ["pull/1164"]),
        ("parquet-go version 18.7.0", []),
        ("parquet-go version 18.10.0-SNAPSHOT", []),
        # Another library whose name ends alike, and a third that writes no filters.
        ("github.com/parquet-go/parquet-go version 0.24.0(build )", []),
        ("parquet-go version latest", []),
        ("github.com/segmentio/parquet-go version 0.0.0(build abc)", ["pull/270"]),
        ("github.com/segmentio/parquet-go", ["pull/270"]),
        ("parquet-rs version 56.2.0", ["tag/57.3.3"]),
        ("DuckDB version v2.0.0 (build d54cbbe3df)", []),
        ("datafusion-python", []),
        ("Polars", []),
        ("", []),
        ("\n\0 version ", []),
    ],
)
def test_troubles(created_by, expected):
    assert links(created_by) == expected


@pytest.mark.parametrize(
    ("when", "odd"),
    [
        ("without length", {"length": None}),
        ("BOOLEAN", {"physical": "BOOLEAN"}),
        ("encrypted", {"encrypted": True}),
    ],
)
def test_a_condition_holds_for_its_chunks_only(when, odd):
    conditional = [trouble for trouble in KNOWN if trouble.when == when]
    assert conditional
    for trouble in conditional:
        assert is_concerned(chunk(**PLAIN | odd), trouble.when)
        assert not is_concerned(chunk(**PLAIN), trouble.when)


def test_without_a_condition_every_chunk_is_concerned():
    unconditional = [trouble for trouble in KNOWN if trouble.when == "any"]
    assert unconditional
    assert all(is_concerned(chunk(**PLAIN), trouble.when) for trouble in unconditional)


@pytest.mark.parametrize("trouble", KNOWN, ids=lambda trouble: trouble.link)
def test_every_trouble_has_a_report_and_a_rule(trouble: WriterTrouble):
    assert re.fullmatch(r"https://github\.com/[\w./-]+", trouble.link)
    assert PROOFS[trouble.when] in rules()
    assert trouble.condition
    for words in (trouble.condition, trouble.readers):
        assert not words.endswith(".")


@pytest.mark.parametrize("path", sorted(FIXTURES.glob("*_filters.parquet")), ids=lambda p: p.stem)
def test_current_writers_have_no_trouble_but_that_of_their_booleans(path):
    """What the newest version of each writer wrote, chunk by chunk."""
    created_by = pq.read_metadata(path).created_by
    found = [
        trouble for trouble in troubles(created_by) if is_concerned(chunk(**PLAIN), trouble.when)
    ]
    assert found == []
