"""Only some row groups or stripes: of probe, validate and advise, in both formats."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.filters import bitset, with_bits
from make.footers import with_meta
from pyarrow import orc

import parquet_bloom as pb

ROWS, PARTS = 30_000, 3
UNIT = {"parquet": "row_group", "orc": "stripe"}


@pytest.fixture(params=["parquet", "orc"])
def path(request, tmp_path):
    """Three parts; a value tells which, and filters are in the last two."""
    numbers = np.arange(ROWS, dtype=np.int64)
    table = pa.table({"id": numbers, "part": numbers * PARTS // ROWS})
    path = tmp_path / f"a.{request.param}"
    if request.param == "parquet":
        pq.write_table(table, path, row_group_size=ROWS // PARTS, use_dictionary=False)
    else:
        with orc.ORCWriter(path, stripe_size=1, batch_size=ROWS // PARTS) as writer:
            for part in range(PARTS):
                writer.write(table.slice(part * ROWS // PARTS, ROWS // PARTS))
    with pb.open(path) as file:
        assert file.num_parts == PARTS
    pb.build(path, in_place=True, columns=["id"], row_groups=[1, 2])
    return path


def unit(path):
    return UNIT[path.suffix[1:]]


def documents(*arguments):
    return [json.loads(line) for line in outcome(*arguments, "--json").stdout.splitlines()]


@pytest.mark.parametrize("given", [("-g", "2,0"), ("-g", "2", "-g", "0"), ("-g", " 2, 0")])
def test_several_have_commas_between_them_or_options_of_their_own(path, given):
    (found,) = documents("inspect", path, *given)
    assert [each[unit(path)] for each in found[f"{unit(path)}s"]] == [0, 2]


@pytest.mark.parametrize("given", ["", "0,", "0-2", "-1", "x", "²"])
def test_what_is_no_number_is_told(path, given):
    wrong = given.removeprefix("0,")
    hint = ", such as 0,1,2" if given == "0-2" else ""
    assert outcome("inspect", path, "-g", given).complaint == (
        f"--row-group: {wrong!r}: expected numbers from 0, with commas between them{hint}"
    )


# ------------------------------------------------------------------------------------------------
# probe


@pytest.mark.parametrize("part", range(PARTS))
def test_probe_asks_only_these(path, part):
    """The value is in the second part; the answers are as in the whole file."""
    (whole,) = documents("probe", path, "-c", "id", "-v", "15000")[0]["results"]
    (some,) = documents("probe", path, "-c", "id", "-v", "15000", "-g", part)[0]["results"]
    key = "row_groups" if unit(path) == "row_group" else "index_groups"
    expected = [each for each in whole[key] if each[unit(path)] == part]
    assert (some[key], len(expected)) == (expected, 1)
    assert expected[0]["first_row"] == part * ROWS // PARTS
    assert some["verdict"] == expected[0]["verdict"] == ["unknown", "maybe", "absent"][part]


def test_the_exit_code_of_probe_is_about_these(path):
    assert outcome("probe", path, "-c", "id", "-v", "15000", "-g", 2).code == 1
    assert outcome("probe", path, "-c", "id", "-v", "15000", "-g", 2, "-g", 1).code == 0
    assert pb.probe(path, "id", 15000, row_groups=[2]).is_absent


def test_probe_reads_only_these(path):
    """In ORC, the footers of other stripes are not read either."""
    whole = pb.probe(path, "id", 15000).bytes_read
    assert pb.probe(path, "id", 15000, row_groups=[2]).bytes_read < whole


@pytest.mark.parametrize("verb", ["advise", "validate", "probe"])
def test_one_that_is_not_there_is_an_error(path, verb):
    more = ("-c", "id", "-v", "1") if verb == "probe" else ()
    name = unit(path).replace("_", " ")
    result = outcome(verb, path, *more, "-g", PARTS)
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr == f"pbloom: {path}: {name} 3: expected 0 to 2\n"


# ------------------------------------------------------------------------------------------------
# validate


def found_in(path, *arguments):
    (document,) = documents("validate", path, "--no-config", *arguments)
    return document["checked"], [
        (each["rule"], each.get(unit(path)), each["expected"], each["found"])
        for each in document["findings"]
    ]


def test_validate_looks_up_only_these(path):
    checked, _ = found_in(path, "-g", 1)
    assert checked == {"filters": 1, "values": ROWS // PARTS}
    assert found_in(path)[0] == {"filters": 2, "values": 2 * ROWS // PARTS}
    report = pb.validate(path, row_groups=[1])
    assert (report.ok, report.checked.values) == (True, ROWS // PARTS)


def test_required_filters_are_required_in_these(path):
    assert found_in(path, "-g", 1, "-g", 2, "--require", "id")[1] == []
    rules = [(rule, part) for rule, part, *_ in found_in(path, "-g", 0, "--require", "id")[1]]
    assert rules == [("PB310", 0)]


def test_filters_in_some_parts_only_are_counted_in_these(path):
    assert found_in(path)[1] == [("PB307", None, "3", "2")]
    assert found_in(path, "-g", 0, "-g", 1)[1] == [("PB307", None, "2", "1")]


def test_what_is_wrong_elsewhere_is_not_found(tmp_path):
    path = tmp_path / "a.parquet"
    table = pa.table({"id": np.arange(ROWS)})
    pq.write_table(table, path, row_group_size=ROWS // PARTS, use_dictionary=False)
    pb.build(path, in_place=True, columns=["id"])
    data = path.read_bytes()
    path.write_bytes(with_bits(data, bytes(len(bitset(data, 1, 0))), 1, 0))
    assert [rule for rule, *_ in found_in(path, "-g", 0, "-g", 2)[1]] == []
    assert ("PB402", 1) in [(rule, part) for rule, part, *_ in found_in(path, "-g", 1)[1]]
    assert outcome("validate", path, "--no-config", "-g", 0).code == 0
    assert outcome("validate", path, "--no-config", "-g", 1).code == 1


def test_lengths_without_an_offset_elsewhere_are_not_found(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": np.arange(ROWS)}), path, row_group_size=ROWS // PARTS)
    path.write_bytes(with_meta(path.read_bytes(), 1, 0, bloom_filter_length=47))
    assert found_in(path, "-g", 0)[1] == []
    assert [rule for rule, *_ in found_in(path, "-g", 1)[1]] == ["PB114"]


# ------------------------------------------------------------------------------------------------
# advise


def test_advise_judges_by_these(path):
    (whole,) = documents("advise", path, "-c", "part")
    (some,) = documents("advise", path, "-c", "part", "-g", 2, "-g", 0)
    assert (whole["num_rows"], some["num_rows"]) == (ROWS, 2 * ROWS // PARTS)
    (of_whole,), (of_some,) = whole["columns"], some["columns"]
    assert (of_whole["ndv"], of_some["ndv"]) == (3, 2)
    assert of_some["num_values"] == 2 * ROWS // PARTS
    groups = "num_row_groups" if unit(path) == "row_group" else "num_index_groups"
    assert (whole[groups], some[groups]) == (3, 2)
    report = pb.advise(path, columns=["part"], row_groups=[0, 2])
    assert (report.num_rows, report.columns[0].ndv) == (2 * ROWS // PARTS, 2)


# ------------------------------------------------------------------------------------------------
# diff, report


@pytest.fixture
def other(path):
    """The same with a filter in the last part only."""
    other = path.with_name(f"b{path.suffix}")
    pb.strip(path, other, row_groups=[1])
    return other


@pytest.mark.parametrize("part", range(PARTS))
def test_diff_compares_only_these(path, other, part):
    whole = documents("diff", path, other, "--all")[0]["filters"]
    ran = outcome("diff", path, other, "--all", "-g", part, "--json")
    expected = [each for each in whole if each[unit(path)] == part]
    assert json.loads(ran.stdout)["filters"] == expected
    assert [each["status"] for each in expected] == [[], ["only in a"], ["same"]][part]
    assert ran.code == (1 if part == 1 else 0)
    assert pb.diff(path, other, row_groups=part).to_dict() == json.loads(ran.stdout)


def test_diff_of_some_does_not_mind_how_many_there_are(path, tmp_path):
    """Nor does it with all of them, where there are more in one file."""
    shorter = tmp_path / f"shorter{path.suffix}"
    table = pa.table({"id": np.arange(ROWS), "part": np.arange(ROWS) * PARTS // ROWS})
    if path.suffix == ".parquet":
        pq.write_table(table, shorter, use_dictionary=False)
    else:
        orc.write_table(table, shorter)
    assert outcome("diff", path, shorter, "-g", 0).code == 0
    assert outcome("diff", path, shorter, "-g", 0).stdout == ""
    unit_ = unit(path).replace("_", " ")
    assert outcome("diff", path, shorter).stdout.splitlines()[0] == f"{unit_}s: 3 in a, 1 in b"
    refused = outcome("diff", path, shorter, "-g", 3)
    assert refused.complaint == f"{path}: {unit_} 3: expected 0 to 2"


def test_diff_has_its_answer_in_a_file(path, other, tmp_path):
    expected = outcome("diff", path, other)
    ran = outcome("diff", path, other, "-o", tmp_path / "answer")
    assert (ran.code, ran.stdout, ran.stderr) == (1, "", "")
    assert (tmp_path / "answer").read_bytes() == expected.stdout_bytes != b""
    again = outcome("diff", path, other, "-o", tmp_path / "answer")
    assert again.complaint == f"{tmp_path}/answer: already exists: use --overwrite to replace it"
    assert outcome("diff", path, other, "-o", tmp_path / "answer", "--overwrite").code == 1
    assert outcome("diff", path, other, "-o", path, "--overwrite").code == 2


def test_report_shows_only_these(path, tmp_path):
    if path.suffix == ".orc":
        return
    ran = outcome("report", path, "-g", 0, "-g", 2, "-o", tmp_path / "page.html")
    assert ran.stdout.endswith("; 1 warning in 1 filter and 10,000 values: ok\n")
    page = (tmp_path / "page.html").read_text()
    assert "<p>Only row groups 0, 2 of 3 were looked at.</p>" in page
    assert "<h4>Row group 2</h4>" in page
    assert "<h4>Row group 1</h4>" not in page
    report = pb.report(path, row_groups=2)
    assert [part.row_group for part in report.inspection.row_groups] == [2]
    assert report.advice.columns[0].num_values == ROWS // PARTS
