"""Every finding names the command that helps, and the command helps."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.defects import ALL
from make.defects_files import ROWS, table
from make.filters import bits_of, bitset, with_bits
from make.footers import with_meta
from make.orc_defects import ORC
from make.parquet_files import built, written
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.rules.policy import Policy
from parquet_bloom.rules.rule import Severity, rules
from parquet_bloom.verbs.validate import validate

# Nothing that pbloom does helps: the data or the file must be written again, a key is missing, or the
# finding is good to know.
HELPLESS = {
    "PB115", "PB116", "PB117", "PB118", "PB119", "PB120", "PB121", "PB123", "PB124", "PB125", "PB126", "PB127", "PB128",
    "PB129", "PB130", "PB206", "PB208", "PB212", "PB313", "PB408", "PB503", "PB504", "PB506", "PB507",
    "PB508", "PB601", "PB608", "PB611", "PB612", "PB613", "PB614", "PB622", "PB626", "PB628",
    "PB651",
}  # fmt: skip

# These only say more: whether the filters are worth their bytes, or small on purpose, is not for a command to decide.
ADVICE = {"PB302", "PB306", "PB309"}


def findings(defect, path, deep=True):
    pages = getattr(defect, "pages", False)
    report = validate(path, policy=Policy(**defect.policy or {}), deep=deep, pages=pages)
    return [each for each in report.findings if each.rule == defect.rule]


def test_which_rules_have_a_command():
    assert {rule.id for rule in rules().values() if rule.command is None} == HELPLESS
    assert {id for id, rule in rules().items() if "advise" in (rule.command or "")} == ADVICE


def test_every_error_says_what_helps():
    """Words stand only where no command does."""
    errors = [each for each in rules().values() if each.severity is Severity.ERROR]
    assert all((each.command is None) is (each.by_hand is not None) for each in errors)
    assert all(rules()[id].by_hand is None for id in rules().keys() - HELPLESS)


def test_where_no_command_helps_words_do(tmp_path, monkeypatch):
    """In full, of several files, and for CI; in the document, `next` is a command or null."""
    monkeypatch.chdir(tmp_path)
    data = bytearray(written(pa.table({"a": [1, 2, 3]}), compression="none"))
    # The header of the first page.
    data[4] ^= 0xFF
    for name in ("a", "b"):
        (tmp_path / f"{name}.parquet").write_bytes(data)
    one = outcome("validate", "a.parquet", "--pages").stdout
    assert one.splitlines()[-1] == "  next: take another copy of the file"
    several = outcome("validate", "a.parquet", "b.parquet", "--pages").stdout
    assert "; next: take another copy of the file\n" in several
    sarif = outcome("validate", "a.parquet", "--pages", "--format", "sarif").stdout
    assert " Next: take another copy of the file" in sarif
    document = json.loads(outcome("validate", "a.parquet", "--pages", "--json").stdout)
    assert {each["next"] for each in document["findings"] if each["rule"] == "PB116"} == {None}


# Without keys, which are not for a command line in a log.
READABLE = [each for each in (*ALL, *ORC) if not getattr(each, "keys", None)]


@pytest.mark.every(3)
@pytest.mark.parametrize("defect", READABLE, ids=str)
def test_the_command_helps(defect, tmp_path):
    if hasattr(defect, "row_group"):
        path = defect.make(tmp_path)
    else:
        path = tmp_path / "a b.orc"
        path.write_bytes(defect.make())
    broken = findings(defect, path, deep=defect.deep)
    assert broken
    commands = {each.next for each in broken}
    if defect.rule in HELPLESS:
        assert commands == {None}
        return
    # A repair leaves nothing to look at.
    for command in sorted(commands - {None}, key=lambda each: "pbloom validate" not in each):
        program, *arguments = shlex.split(command)
        assert program == "pbloom"
        ran = outcome(*arguments)
        if arguments[0] == "validate":
            # What the values or the pages prove comes first, and then what to do.
            *_, command = re.findall("^  next: pbloom ((?!advise ).*)$", ran.stdout, re.MULTILINE)
            ran = outcome(*shlex.split(command))
        if "KEYSPEC" in arguments:
            assert ran.complaint.startswith("footer key: expected hex:")
            return
        assert ran.code == 0, (command, ran.output)
    if defect.rule in ADVICE or None in commands:
        return
    # A limit may be lower than the rate needs: then `build` says so, and in ORC there is none.
    if "misses the target" in ran.output or "advise" in arguments:
        return
    assert not findings(defect, path), commands


@pytest.mark.parametrize(
    ("number", "said"), [(14, "type 14, which there is not"), (None, "no type"), (1, "INT32")]
)
def test_a_type_that_is_not_that_of_the_schema(number, said, tmp_path):
    """None of Python's is shown to anybody."""
    path = tmp_path / "a.parquet"
    path.write_bytes(with_meta(written(pa.table({"a": ["x", "y"]})), 0, 0, type=number))
    messages = [each.message for each in validate(path, pages=True).findings]
    assert f"ColumnMetaData says {said}, the schema BYTE_ARRAY" in messages


def test_nobody_is_sent_to_undo_what_a_budget_chose(tmp_path, monkeypatch):
    """A file does not say why its filters are small; who knows that they may be can say so."""
    monkeypatch.chdir(tmp_path)
    for name, step in (("a", 7919), ("b", 7907)):
        values = [step * each % 1_000_003 for each in range(40_000)]
        pq.write_table(pa.table({"id": values}), f"{name}.parquet", row_group_size=10_000)
    (report,) = pb.advise(".", budget=40_000).reports
    (column,) = report.budget.columns
    assert column.fpp == 0.5
    pb.build(".", in_place=True, advice=report)
    assert next_of("PB302", "a.parquet") == {"pbloom advise a.parquet -c id"}
    assert next_of("PB302", "a.parquet", require=["id"]) == {"pbloom advise a.parquet -c id"}
    said = ", unless a budget chose it (--max-fpp 0.5 accepts it): "
    messages = [each.message for each in validate("a.parquet").findings if each.rule == "PB302"]
    assert messages
    assert all(said in each for each in messages)
    assert next_of("PB302", "a.parquet", max_fpp=0.02) == {
        "pbloom build a.parquet -c id --existing replace --fpp 0.02 --in-place"
    }
    assert validate("a.parquet", max_fpp=0.5).findings == ()
    (found, *_) = (
        each for each in validate("a.parquet", max_fpp=0.2).findings if each.rule == "PB302"
    )
    assert found.expected == "FPP of at most 20 %"
    assert said not in found.message


def test_nothing_is_built_of_pages_that_cannot_be_read(tmp_path):
    """Of another column, it is."""
    rng = np.random.default_rng(1)
    table = pa.table({name: rng.integers(0, 1 << 40, 2_000) for name in ("id", "other")})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path, use_dictionary=False, compression="none", write_page_checksum=True)
    pb.build(path, columns=["id", "other"], in_place=True)
    data, value = path.read_bytes(), np.asarray(table["id"])[100].tobytes()
    path.write_bytes(data.replace(value, bytes(8)))
    found = validate(path, policy=Policy(max_fpp=0.0001)).findings
    commands = {(each.rule, each.column): each.next for each in found}
    assert commands == {
        ("PB116", "id"): None,
        ("PB311", "id"): None,
        (
            "PB311",
            "other",
        ): f"pbloom build {path} -c other --existing replace --fpp 0.0001 --in-place",
    }


def test_what_is_too_full_with_bits_of_other_values_is_not_advised_upon(tmp_path):
    """`advise` goes by the size of filters, which is right for the values."""
    values = range(9000)
    data = built(written(pa.table({"id": values}), row_group_size=3000), ["id"])
    for group in (1, 2):
        bits = bits_of(values[: 3000 * (group + 1)], len(bitset(data, group)) // 32)
        data = with_bits(data, bits, group)
    path = tmp_path / "file.parquet"
    path.write_bytes(data)
    look = f"pbloom validate {path} -c id --pages --diagnose"
    commands = {each.rule: each.next for each in validate(path).findings}
    assert commands == dict.fromkeys(["PB302", "PB405", "PB406"], look)
    replace = f"pbloom build {path} -c id --existing replace --in-place"
    found = validate(path, pages=True, diagnose=True).findings
    assert {each.next for each in found} == {replace}
    assert outcome(*replace.split()[1:]).code == 0
    assert validate(path).findings == ()


def next_of(rule, path, **policy):
    return {each.next for each in validate(path, **policy).findings if each.rule == rule}


@pytest.mark.parametrize(
    ("policy", "more"),
    [({}, " --fpp 0.08"), ({"max_fpp": 0.1}, " --fpp 0.1"), ({"max_fpp": 0.08}, " --fpp 0.08")],
)
def test_a_limit_of_bytes_is_a_limit_for_the_new_filter(policy, more, tmp_path):
    """And the rate is that of the policy, or else what fits, if the usual one does not."""
    path = tmp_path / "a.parquet"
    path.write_bytes(written(pa.table({"a": range(20_000)})))
    pb.build(path, columns=["a"], in_place=True)
    command = f"pbloom build {path} -c a --existing replace --max-bytes 16KiB --in-place{more}"
    assert next_of("PB312", path, max_bytes=1 << 14, **policy) == {command}
    assert next_of("PB312", path, max_bytes=31, **policy) == {f"pbloom advise {path}"}
    assert outcome(*shlex.split(command)[1:]).code == 0
    assert validate(path, max_bytes=1 << 14, require=["a"], **policy).findings == ()


@pytest.mark.parametrize(
    ("max_bytes", "max_fpp", "rules", "says"),
    [
        (1 << 14, 0.05, {"PB312"}, "within 16384 bytes, these values have an FPP of 7.1 %, not 5 %, so raise max-bytes or max-fpp"),
        (1000, 0.5, {"PB312"}, "within 1000 bytes, these values have an FPP of 100 %, not 50 %, so raise max-bytes or max-fpp"),
        (1000, None, {"PB312"}, "within 1000 bytes, these values have an FPP of 100 %, so raise max-bytes"),
        (8000, None, {"PB312"}, "within 8000 bytes, these values have an FPP of 94 %, so raise max-bytes"),
        (1 << 15, 0.001, {"PB311"}, "within 32768 bytes, these values have an FPP of 0.35 %, not 0.1 %, so raise max-bytes or max-fpp"),
        (1 << 17, 1e-9, {"PB311"}, "within 131072 bytes, these values have an FPP of 0.00028 %, not 0.0000001 %, so raise max-bytes or max-fpp"),
    ],
)  # fmt: skip
def test_no_filter_goes_for_limits_that_none_can_keep(max_bytes, max_fpp, rules, says, tmp_path):
    """`build --existing replace` would remove the filter and build none: the numbers say which limit is too low."""
    path = tmp_path / "a.parquet"
    path.write_bytes(written(pa.table({"a": range(20_000)})))
    pb.build(path, columns=["a"], in_place=True)
    found = validate(path, max_bytes=max_bytes, max_fpp=max_fpp, require=["a"]).findings
    assert {each.rule for each in found} == rules
    assert {each.next for each in found} == {None}
    assert {each.message.partition(" limit: ")[2] for each in found} == {says}


def test_the_rate_that_fits_is_that_of_all_row_groups(tmp_path):
    """Also of those whose filters are within the limit, as these are built again, too."""
    path = tmp_path / "a.parquet"
    values = [*range(4750), *range(3500)]
    pq.write_table(pa.table({"a": values}), path, row_group_size=4750)
    policy = {"max_bytes": 1 << 12, "require": ["a"]}
    pb.build(path, columns=["a"], in_place=True)
    (command,) = next_of("PB312", path, **policy)
    again = {"existing": "replace", "in_place": True}
    pb.build(path, columns=["a"], row_groups=[0], fpp=0.09, **again)
    quick = validate(path, deep=False, **policy)
    (found,) = (each for each in quick.findings if each.rule == "PB312")
    assert (found.place.part, found.next) == (1, command)
    assert outcome(*shlex.split(command)[1:]).code == 0
    assert validate(path, **policy).findings == ()


def test_limits_that_none_can_keep_are_thought_of_whatever_else_is_wrong(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(written(pa.table({"a": range(20_000)})))
    pb.build(path, columns=["a"], max_bytes=1 << 12, force=True, in_place=True)
    assert next_of("PB301", path, max_bytes=1 << 12) == {f"pbloom advise {path} -c a"}
    rebuild = f"pbloom build {path} -c a --existing replace --in-place --max-bytes 32KiB"
    assert next_of("PB301", path, max_bytes=1 << 15) == {rebuild}


def test_what_is_built_is_within_the_limit_of_bytes(tmp_path):
    """Whatever else is wrong with the filter that is there, or that there is none."""
    path = tmp_path / "a.parquet"
    path.write_bytes(written(pa.table({"a": range(20_000)})))
    policy = {"max_bytes": 1 << 14, "max_fpp": 0.1, "require": ["a"]}
    command = f"pbloom build {path} -c a --in-place --max-bytes 16KiB --fpp 0.1"
    assert next_of("PB310", path, **policy) == {command}
    no_rate = next_of("PB310", path, max_bytes=1 << 14, require=["a"])
    assert no_rate == {command.removesuffix(" --fpp 0.1")}
    # What no filter keeps to.
    assert next_of("PB310", path, max_bytes=31, require=["a"]) == {
        f"pbloom build {path} -c a --in-place"
    }
    pb.build(path, columns=["a"], ndv=500, exact_blocks=True, force=True, in_place=True)
    (command,) = next_of("PB311", path, **policy)
    assert command == (
        f"pbloom build {path} -c a --existing replace --fpp 0.1 --in-place --max-bytes 16KiB"
    )
    assert outcome(*shlex.split(command)[1:]).code == 0
    assert validate(path, **policy).findings == ()


@pytest.mark.parametrize("output", ["text", "github"])
def test_commands_for_several_files_leave_no_file_without_filters(output, tmp_path, monkeypatch):
    """Rates that a number of bytes allows are other ones in other files; those that are close to one another are one."""
    monkeypatch.chdir(tmp_path)
    names = []
    for rows in (20_000, 20_300, 15_000):
        names.append(f"{rows}.parquet")
        Path(names[-1]).write_bytes(written(pa.table({"a": range(rows)})))
        pb.build(names[-1], columns=["a"], in_place=True)
    asked = ["validate", *names, "--max-bytes", "16KiB", "--format", output]
    commands = re.findall(r"next: pbloom (build .+?)(?=%0A|\n)", outcome(*asked).stdout)
    assert commands == [
        f"build {files} -c a --existing replace --max-bytes 16KiB --in-place --fpp {rate}"
        for files, rate in (("20000.parquet 20300.parquet", "0.08"), ("15000.parquet", "0.025"))
    ]
    for each in commands:
        assert outcome(*shlex.split(each)).code == 0
    assert outcome(*asked, "--require", "a").code == 0


def test_what_gets_no_filter_is_not_to_be_built(tmp_path):
    table = pa.table({"b": [True, False], "l": [[1], [2]]})
    pq.write_table(table, tmp_path / "a.parquet")
    orc.write_table(table, tmp_path / "a.orc")
    told = "a filter is required of a column that gets none, so require it no longer: "
    of_orc = {
        "b": "BOOLEAN: filters of ORC Java are empty, those of ORC C++ wrong",
        "l": "LIST: its filters hash only the number of elements; the elements are column l._elem",
    }
    (found,) = validate(tmp_path / "a.parquet", require=["b"]).findings
    assert (found.rule, found.next) == ("PB310", None)
    assert found.message == f"{told}BOOLEAN: two values need no filter"
    for column, reason in of_orc.items():
        (found,) = validate(tmp_path / "a.orc", require=[column]).findings
        assert (found.rule, found.next, found.message) == ("PB310", None, told + reason)


def test_what_is_required_and_no_engine_asks_is_told(tmp_path):
    """Before it is built: PB621 and PB628 say so then."""
    path = tmp_path / "a.orc"
    table = pa.table({"b": [b"1", b"2"], "l": [[1], [2]], "a": [1, 2]})
    orc.write_table(table, path)
    told = "a filter is required that only pbloom asks, as in find, and no engine: "
    said = {}
    for column in ("b", "l._elem", "a"):
        (found,) = validate(path, require=[column]).findings
        said[column] = found.message
        assert found.next == f"pbloom build {path} -c {column} --in-place"
    assert said == {
        "b": f"{told}no predicate on BINARY uses a filter",
        "l._elem": f"{told}predicates on elements of lists and maps are not pushed down",
        "a": "a filter is required",
    }


@pytest.mark.parametrize(
    ("policy", "distinct", "more"),
    [
        ({"max_bytes": 8000}, 10_000, "--ndv 10264 --fpp 0.05"),
        ({"max_bytes": 8000, "max_fpp": 0.1}, 10_000, "--ndv 10264 --fpp 0.05"),
        ({"max_bytes": 8000, "max_fpp": 0.048}, 10_000, "--ndv 10126 --fpp 0.048"),
        ({"max_bytes": 8000}, 300, "--ndv 6676"),
        ({"max_bytes": 1000, "max_fpp": 0.002}, 300, "--ndv 556 --fpp 0.001"),
        ({"max_bytes": 1000}, 1000, "--ndv 1041 --fpp 0.025"),
    ],
)
@pytest.mark.parametrize("built", [True, False], ids=["built", "wanted"])
def test_filters_of_index_groups_keep_to_a_limit_of_bytes(policy, distinct, more, built, tmp_path):
    """By the number of values that they are for, and by a higher rate where the usual one does not fit. Of a column
    without any, nobody knows how many values there are."""
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": [row % distinct for row in range(25_000)]}), path)
    rule, existing = "PB310", ""
    if built:
        pb.build(path, columns=["a"], in_place=True)
        rule, existing = "PB312", " --existing replace"
    commands = next_of(rule, path, require=["a"], **policy)
    if built:
        assert commands == {f"pbloom build {path} -c a{existing} --in-place {more}"}
    # At most three steps, as files are built first, and looked at then.
    for _ in range(3):
        for command in {each.next for each in validate(path, require=["a"], **policy).findings}:
            assert outcome(*shlex.split(command)[1:]).code == 0
    assert validate(path, require=["a"], **policy).findings == ()


@pytest.mark.parametrize(
    ("max_bytes", "max_fpp", "says"),
    [
        (8000, 0.02, "within 8000 bytes, these values have an FPP of 4.6 %, not 2 %, so raise max-bytes or max-fpp"),
        (1000, None, "within 1000 bytes, these values have an FPP of 68 %, so raise max-bytes"),
        (7, None, "within 7 bytes, these values have an FPP of 100 %, so raise max-bytes"),
    ],
)  # fmt: skip
def test_no_filter_of_index_groups_goes_for_limits_that_none_can_keep(
    max_bytes, max_fpp, says, tmp_path
):
    path = tmp_path / "a.orc"
    orc.write_table(pa.table({"a": range(10_000)}), path)
    pb.build(path, columns=["a"], in_place=True)
    (found,) = validate(path, max_bytes=max_bytes, max_fpp=max_fpp).findings
    assert (found.rule, found.next) == ("PB312", None)
    assert found.message.partition(" limit: ")[2] == says


@pytest.mark.parametrize(
    ("policy", "more"),
    [({}, ""), ({"max_fpp": 0.2}, " --fpp 0.2"), ({"max_bytes": 4096}, " --max-bytes 4KiB")],
)
def test_whether_a_filter_that_is_required_deserves_its_bytes_is_not_asked(policy, more, tmp_path):
    """PB309 is about those that nothing requires, too."""
    path = tmp_path / "a.parquet"
    path.write_bytes(written(pa.table({"a": [i // 3 for i in range(9000)]})))
    pb.build(path, columns=["a"], fpp=1e-9, in_place=True)
    assert next_of("PB306", path) == {f"pbloom advise {path}"}
    (command,) = next_of("PB306", path, require=["a"], **policy)
    assert command == f"pbloom build {path} -c a --existing replace --in-place{more}"
    assert outcome(*shlex.split(command)[1:]).code == 0
    assert next_of("PB306", path) == set()


def test_of_a_filter_that_lacks_values_nobody_knows_if_it_is_too_large(tmp_path):
    path = tmp_path / "a.parquet"
    data = built(written(pa.table({"n": range(1000)})), ["n"])
    path.write_bytes(with_bits(data, bits_of(range(1000, 2000), 4096)))
    assert "PB304" in {each.rule for each in validate(path, deep=False).findings}
    assert {"PB304", "PB401"} & {each.rule for each in validate(path).findings} == {"PB401"}


@pytest.mark.parametrize(
    ("rule", "num_blocks", "num_values"), [("PB201", 43, 900), ("PB202", 1, 20), ("PB301", 2, 180)]
)
def test_a_filter_that_is_wrong_and_not_what_would_be_built_is_built_once(
    rule, num_blocks, num_values, tmp_path
):
    """Repaired, it is a new filter; but no limit of a policy is known to repair."""
    path = tmp_path / "a.parquet"
    data = built(written(pa.table({"n": range(1000)})), ["n"])
    path.write_bytes(with_bits(data, bits_of(range(1000, 1000 + num_values), num_blocks)))
    repair = f"pbloom repair {path} --rebuild --in-place"
    found = validate(path).findings
    assert {each.rule: each.next for each in found if each.rule in ("PB401", rule)} == {
        "PB401": repair,
        rule: repair,
    }
    (next_of_rule,) = next_of(rule, path, max_fpp=0.001)
    assert next_of_rule == f"pbloom build {path} -c n --existing replace --in-place --fpp 0.001"
    pb.repair(path, rebuild=True, in_place=True)
    assert not {each.rule for each in validate(path).findings} & {"PB401", rule}


def test_no_filters_are_stripped_for_those_of_one_stripe(tmp_path):
    """Of a column with a NaN in one stripe, readers use the filters in the others."""
    numbers = np.arange(5000, dtype=np.float64)
    numbers[0] = np.nan
    path = tmp_path / "a.orc"
    size = {"stripe_size": 4000, "row_index_stride": 1000, "batch_size": 500}
    orc.write_table(pa.table({"f": numbers}), path, compression="uncompressed", **size)
    pb.build(path, columns="f", in_place=True)
    (found,) = validate(path).findings
    assert (found.rule, found.place.part, found.next) == ("PB621", 0, None)
    pb.strip(path, columns="f", row_groups=range(1, 10), in_place=True)
    (found,) = (each for each in validate(path).findings if each.rule == "PB621")
    assert found.next == f"pbloom strip {path} -c f --in-place"


def test_filters_that_are_right_are_not_to_be_stripped_but_on_a_condition(tmp_path):
    """Only some readers lose rows of instants, and they can be run so that they do not."""
    path = tmp_path / "a.orc"
    instants = pa.array(range(0, 10**9, 10**6), pa.timestamp("us", "UTC"))
    orc.write_table(pa.table({"at": instants}), path)
    pb.build(path, columns="at", in_place=True)
    (found,) = (each for each in validate(path).findings if each.rule == "PB626")
    words = "where ORC Java reads the file, run it with -Duser.timezone=UTC, or strip these filters"
    assert (found.next, found.by_hand) == (None, words)
    assert f"  next: {words}\n" in outcome("validate", path).stdout


def test_one_command_replaces_filters_and_builds_those_that_other_stripes_lack(tmp_path):
    path = tmp_path / "a.orc"
    numbers = pa.array([row % 100 for row in range(4000)], pa.int8())
    layout = {"stripe_size": 1, "batch_size": 1000, "row_index_stride": 1000}
    orc.write_table(pa.table({"a": numbers}), path, bloom_filter_columns=[1], **layout)
    pb.strip(path, columns="a", row_groups=[0], in_place=True)
    report = validate(path)
    assert {"PB307", "PB627"} <= {each.rule for each in report.findings}
    command = f"pbloom build {path} -c a --existing replace --in-place"
    assert {each.next for each in report.findings if each.column == "a"} == {command}
    assert outcome(*command.split()[1:]).code == 0
    assert all(each.next is None for each in validate(path).findings if each.column == "a")


@pytest.mark.parametrize("rule", ["PB207", "PB305", "PB621"])
def test_no_filter_that_is_required_is_stripped_for_its_size(rule, tmp_path):
    """PB122 and PB70x are about wrong ones, PB308 about one that nothing requires, PB609 is of one stripe of two."""
    defect = next(each for each in READABLE if each.rule == rule)
    if hasattr(defect, "row_group"):
        path = defect.make(tmp_path)
    else:
        path = tmp_path / "a.orc"
        path.write_bytes(defect.make())
    columns = {each.column for each in findings(defect, path, deep=defect.deep)}
    assert all(" strip " in f" {each}" for each in next_of(rule, path, deep=defect.deep))
    assert next_of(rule, path, deep=defect.deep, require=[*columns]) == {None}


@pytest.mark.parametrize(
    ("values", "policy", "verb", "broken"),
    [
        (5, {}, "strip PATH -c a", {"PB202", "PB305"}),
        (5, {"require": ["a"]}, "build PATH -c a --existing replace", {"PB202", "PB305"}),
        (8, {}, "build PATH -c a --existing replace", {"PB202"}),
    ],
)
def test_a_filter_of_one_block_is_not_replaced_by_one_that_is_needless(
    values, policy, verb, broken, tmp_path
):
    """Of 64 bytes, for a dictionary of 8 for each value and its header: the next command would strip it again."""
    path = tmp_path / "a.parquet"
    one_block = {"a": {"ndv": values, "fpp": 0.1}}
    pq.write_table(
        pa.table({"a": [*range(values)] * 99}),
        path,
        bloom_filter_options=one_block,
        compression="none",
    )
    assert {each.rule for each in validate(path, **policy).findings} == broken
    (command,) = {next for rule in broken for next in next_of(rule, path, **policy)} - {None}
    assert command == f"pbloom {verb.replace('PATH', str(path))} --in-place"
    assert outcome(*shlex.split(command)[1:]).code == 0
    assert not any(each.next for each in validate(path, **policy).findings)


@pytest.mark.parametrize(
    ("rows", "command"), [(1001, None), (6, "pbloom strip {} -c a --in-place")]
)
def test_a_needless_filter_of_one_row_group_takes_no_others_with_it(rows, command, tmp_path):
    """Without that one alone, advise would ask for it again."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": range(1 << 40, (1 << 40) + rows)}), path, row_group_size=500)
    pb.build(path, columns=["a"], in_place=True)
    (found,) = validate(path).findings
    assert (found.rule, found.place.part) == ("PB305", rows // 500)
    assert found.next == (command and command.format(path))


def test_a_column_that_is_not_there_has_no_command(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(written(table()))
    of_none, of_a = validate(path, require=["none", "a"]).findings
    assert (of_none.column, of_none.next) == ("none", None)
    assert of_a.next == f"pbloom build {path} -c a --in-place"


def test_one_command_for_all_columns(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {"a": range(9), "b, c": range(9)}
    path.write_bytes(written(pa.table(columns)))
    ran = outcome("validate", path, "--require", 'a,"b, c"')
    commands = [line.strip() for line in ran.stdout.splitlines() if "next: " in line]
    assert commands == [f"""next: pbloom build {path} -c 'a,"b, c"' --in-place"""]
    assert outcome(*shlex.split(commands[0])[2:]).code == 0
    assert outcome("validate", path, "--require", 'a,"b, c"').code == 0


def test_one_command_for_two_findings_about_the_rate(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(written(pa.table({"a": range(500), "b": range(500)})))
    pb.build(path, columns=["a", "b"], fpp=0.4, in_place=True)
    found = validate(path, max_fpp=0.001).findings
    assert {each.rule for each in found} == {"PB302", "PB311"}
    # Of the same filter, two rates would be two answers.
    assert len({each.next for each in found if each.column == "a"}) == 1
    ran = outcome("validate", path, "--max-fpp", "0.001", "--no-config")
    (command,) = [line.strip() for line in ran.stdout.splitlines() if "next: " in line]
    assert command == f"next: pbloom build {path} -c a,b --existing replace --fpp 0.001 --in-place"


@pytest.fixture
def out_of_order(tmp_path, monkeypatch):
    """What `build` makes of a file that has filters of another column already."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my data.parquet").write_bytes(written(table(), row_group_size=ROWS))
    for column in ("s", "a"):
        pb.build("my data.parquet", columns=[column], in_place=True)
    return "my data.parquet"


def test_a_second_build_earns_a_note_and_nobody_is_sent_to_build_a_third_time(out_of_order):
    """Nothing is wrong, and filters of other rates than the usual one would become worse."""
    ran = outcome("validate", out_of_order, "--no-config")
    assert ran.code == 0
    assert [line.split(":")[0] for line in ran.stdout.splitlines()] == [
        "my data.parquet", "  note PB206 out-of-order",
    ]  # fmt: skip
    pb.build(out_of_order, columns=["a", "s"], existing="replace", in_place=True)
    assert validate(out_of_order).findings == ()


COMMAND = "pbloom build 'my data.parquet' -c a --in-place"


def test_every_format_of_findings_has_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my data.parquet").write_bytes(written(table()))

    def said(form):
        asked = ("my data.parquet", "--no-config", "--require", "a", "--format", form)
        return outcome("validate", *asked).stdout

    assert json.loads(said("json"))["findings"][0]["next"] == COMMAND
    (result,) = json.loads(said("sarif"))["runs"][0]["results"]
    assert result["properties"]["next"] == COMMAND
    assert result["message"]["text"].endswith(f". Next: {COMMAND}")
    assert f"\nnext: {COMMAND}</" in said("junit")
    assert said("github").splitlines()[0].endswith(f"%0Anext: {COMMAND}")


def test_what_was_not_looked_up_is_said(out_of_order):
    ran = outcome("validate", out_of_order, "--no-config", "--no-deep")
    assert ran.stdout.splitlines()[0] == (
        "my data.parquet: 1 note in 4 filters, whose values were not looked up: ok"
    )
    ran = outcome("validate", out_of_order, "--no-config", "--no-deep", "--json")
    assert json.loads(ran.stdout)["checked"] == {"filters": 4, "values": None}
    ran = outcome("repair", out_of_order, "--dry-run")
    assert ran.stdout.splitlines()[-1] == (
        "note: no stored value was looked up: --drop-bad and --rebuild do that, and so does"
        " pbloom validate 'my data.parquet'"
    )
    assert len(outcome("repair", out_of_order, "--dry-run", "--drop-bad").stdout.splitlines()) == 1


def test_the_writer_can_be_asked_about_before_the_filter_is_made_again(tmp_path):
    """That takes the evidence away."""
    defect = next(each for each in ALL if str(each) == "PB401 UUIDs as text")
    path = defect.make(tmp_path)
    diagnose = f"  next: pbloom validate {path} -c {defect.column} --diagnose"
    repair = f"  next: pbloom repair {path} --rebuild --in-place"
    assert outcome("validate", path).stdout.splitlines()[-2:] == [diagnose, repair]
    assert outcome(*shlex.split(diagnose)[2:]).stdout.splitlines()[-1] == repair
    assert diagnose not in outcome("validate", path, "--diagnose").stdout


def test_the_columns_to_ask_about_are_quoted(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = ["", "a,b", 'q"x', " c"]
    pq.write_table(pa.table([[1, 2]] * len(names), names), "a.parquet")
    pb.build("a.parquet", columns=names, in_place=True)
    data = (tmp_path / "a.parquet").read_bytes()
    for column in range(len(names)):
        data = with_bits(data, b"\1" + bytes(31), 0, column)
    (tmp_path / "a.parquet").write_bytes(data)
    diagnose = """pbloom validate a.parquet -c '"","a,b","q""x"," c"' --diagnose"""
    assert f"  next: {diagnose}" in outcome("validate", "a.parquet").stdout.splitlines()
    assert "PB401" in outcome(*shlex.split(diagnose)[1:]).stdout


@pytest.mark.parametrize("name", ["a.parquet", "a.orc"])
def test_what_is_built_is_within_the_limit_of_the_policy(name, tmp_path, monkeypatch):
    """And not a finding of the next run. The bits of a filter in ORC may miss their rate a little."""
    monkeypatch.chdir(tmp_path)
    write = orc.write_table if name.endswith("orc") else pq.write_table
    write(pa.table({"a": range(5000), "b": range(5000)}), name)
    check = ("validate", name, "--require", "a,b", "--max-fpp", "0.001", "--no-config")
    rate = 0.0005 if name.endswith("orc") else 0.001
    command = f"pbloom build {name} -c a,b --in-place --fpp {rate}"
    assert outcome(*check).stdout.splitlines()[-1] == f"  next: {command}"
    assert outcome(*shlex.split(command)[1:]).code == 0
    assert outcome(*check).code == 0
    loose = outcome("validate", name, "--require", "a", "--max-fpp", "0.1", "--no-config")
    assert loose.code == 0
    assert pb.strip(name, in_place=True).removed
    loose = outcome("validate", name, "--require", "a", "--max-fpp", "0.1", "--no-config")
    assert loose.stdout.splitlines()[-1] == f"  next: pbloom build {name} -c a --in-place"


def test_twins_are_looked_up_before_anything_is_written(tmp_path):
    """Of few values they may both be right, and then nothing is left to do."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["x", "y"] * 1000}), path, row_group_size=1000)
    pb.build(path, columns="a", in_place=True)
    (twins,) = [each for each in pb.validate(path, deep=False).findings if each.rule == "PB407"]
    assert twins.next == f"pbloom validate {path} -c a"
    assert "PB407" not in {each.rule for each in pb.validate(path).findings}
    # The filter of the first row group in both.
    pq.write_table(pa.table({"a": [f"{n}" for n in range(2000)]}), path, row_group_size=1000)
    pb.build(path, columns="a", in_place=True)
    data = path.read_bytes()
    path.write_bytes(with_bits(data, bitset(data, 0), 1))
    found = {each.rule: each.next for each in pb.validate(path, pages=True, diagnose=True).findings}
    assert found["PB407"] == found["PB401"]
    assert (
        f"; next: pbloom validate {path} -c a\n"
        in outcome("validate", path, "-q", "--no-deep").stdout
    )


def run_all(path):
    """What is said of a file, once all of its commands have been run in their order."""
    lines = outcome("validate", path, "--no-config").stdout.splitlines()
    for command in [line.removeprefix("  next: ") for line in lines if "next: pbloom " in line]:
        assert outcome(*command.split()[1:]).code == 0
    return validate(path).findings


@pytest.mark.parametrize(
    "is_lacking", [False, True], ids=["in all stripes", "in one stripe of two"]
)
def test_filters_that_are_to_go_are_not_built_again(tmp_path, is_lacking):
    """Filters of FLOAT by ORC C++ are not believed (PB627), and beside a NaN not asked (PB621): others would be no better."""
    path = tmp_path / "a.orc"
    numbers = [float("nan") if row % 500 == 0 else row / 7 for row in range(4000)]
    column = pa.array(numbers, pa.float32())
    layout = {"stripe_size": 1, "batch_size": 2000, "row_index_stride": 1000}
    table = pa.table({"a": column, "b": pa.array([row / 7 for row in range(4000)], pa.float32())})
    orc.write_table(table, path, bloom_filter_columns=[1, 2], **layout)
    if is_lacking:
        pb.strip(path, columns="a", row_groups=[0], in_place=True)
    of_a = {each.rule: each.next for each in validate(path).findings if each.column == "a"}
    assert of_a.keys() == {"PB621", "PB627", *(["PB307"] if is_lacking else [])}
    assert {*of_a.values()} == {f"pbloom strip {path} -c a --in-place"}
    assert all(each.next is None for each in run_all(path) if each.column is not None)
