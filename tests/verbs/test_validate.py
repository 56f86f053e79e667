"""How validate goes about it; what each rule finds is in test_defects, what none finds in
test_sound_corpus."""

import shlex
import struct
import subprocess

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.defects_files import encrypted, integer, sound
from make.filters import bitset, with_bits, with_bitset
from make.footers import edited, meta_of, pointer
from pyarrow import orc

import parquet_bloom as pb
from parquet_bloom.files import open_file
from parquet_bloom.rules.finding import finding
from parquet_bloom.rules.policy import ColumnPolicy, Policy
from parquet_bloom.rules.rule import Severity, rules
from parquet_bloom.values.literals import format_literal
from parquet_bloom.values.types import LeafType, LogicalType
from parquet_bloom.verbs.validate import Checked, validate


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "sound.parquet"
    path.write_bytes(sound())
    return path


@pytest.fixture
def broken(tmp_path):
    """Without the bits of column a in row group 1."""
    path = tmp_path / "broken.parquet"
    data = bytearray(sound())
    with pb.open(_written(path, data)) as opened:
        num_bytes = opened.bloom_filter(1, "a").num_bytes
    offset, length = pointer(bytes(data), 1, 0)
    data[offset + length - num_bytes : offset + length] = bytes(num_bytes)
    return _written(path, data)


def _written(path, data):
    path.write_bytes(data)
    return path


def broken_rules(report):
    return [found.rule for found in report.findings]


def test_a_sound_file_has_no_findings(file):
    report = validate(file)
    assert (report.path, report.ok, report.findings) == (str(file), True, ())
    assert report.checked.filters == 4


def test_every_value_is_counted(file):
    num_values = sum(len({integer(group, row) for row in range(2000)}) for group in range(2))
    assert validate(file, columns=["a"]).checked == Checked(2, num_values)
    assert validate(file, columns=["a"], deep=False).checked == Checked(2, None)


def test_findings_say_where(broken):
    (found,) = validate(broken).findings
    assert (found.rule, found.severity, found.row_group, found.column) == ("PB402", "error", 1, "a")
    assert found.message == "no bit is set: every value seems absent"
    assert (found.expected, found.found) == ("bits of 2000 values", "none")


def test_other_columns_are_not_looked_at(broken):
    assert validate(broken, columns=["s"]).ok
    with pytest.raises(pb.ColumnError, match="no column c; "):
        validate(broken, columns=["c"])


def test_without_deep_no_page_is_read(file):
    data = bytearray(file.read_bytes())
    with open_file(file) as opened:
        first = min(opened.chunk(group, "a").pages_start for group in range(2))
        last = min(pointer(bytes(data), group, column)[0] for group in (0, 1) for column in (0, 1))
    data[first:last] = b"\xff" * (last - first)
    file.write_bytes(data)
    assert validate(file, deep=False).findings == ()
    assert set(broken_rules(validate(file))) == {"PB116"}


def test_the_findings_do_not_depend_on_threads(broken):
    assert validate(broken, threads=1) == validate(broken, threads=7)


def test_progress_counts_filters(file):
    seen = []
    validate(file, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_ignored_rules_are_not_told_and_do_not_fail(broken):
    policy = Policy(columns={"a": ColumnPolicy(ignore=frozenset({"PB402"}))})
    report = validate(broken, policy=policy)
    assert (report.ok, report.findings) == (True, ())
    other = Policy(columns={"s": ColumnPolicy(ignore=frozenset({"PB402"}))})
    assert not validate(broken, policy=other).ok


@pytest.mark.parametrize(
    ("fail_on", "ok"), [(None, True), (Severity.ERROR, False), (Severity.NOTE, False)]
)
def test_fail_on_decides_what_is_ok(broken, fail_on, ok):
    report = validate(broken, policy=Policy(fail_on=fail_on))
    assert report.ok is ok
    assert broken_rules(report) == ["PB402"]


def test_a_warning_fails_only_if_asked_to(tmp_path):
    source, path = tmp_path / "s.parquet", tmp_path / "w.parquet"
    source.write_bytes(sound())
    pb.build(source, path, columns=["a"], ndv=100_000, existing="replace")
    assert set(broken_rules(validate(path))) == {"PB206", "PB304", "PB306"}
    (order,) = (each for each in validate(path).findings if each.rule == "PB206")
    assert order.next is None
    assert order.message == (
        "filters are not in the order of row groups and columns: nothing has to be done, though readers that fetch a"
        " row group's filters together need more requests"
    )
    assert validate(path).ok
    assert not validate(path, policy=Policy(fail_on=Severity.WARNING)).ok


def test_a_limit_is_that_of_the_column(file):
    strict = ColumnPolicy(max_fpp=1e-9)
    report = validate(file, policy=Policy(columns={"a": strict}))
    assert {(found.rule, found.column) for found in report.findings} == {("PB311", "a")}
    assert not report.ok


def test_who_stumbles_over_a_number_of_blocks_is_named(tmp_path):
    """By the rule, and before such filters are built."""
    source, path = tmp_path / "source.parquet", tmp_path / "built.parquet"
    pq.write_table(pa.table({"a": list(range(3000))}), source)
    pb.build(source, path, columns=["a"], exact_blocks=True)
    (found,) = (each for each in validate(path).findings if each.rule == "PB201")
    for reader in ("Arrow C++", "Impala", "rugo"):
        assert reader in found.message
        assert reader in " ".join(outcome("build", "--help-all").stdout.split())


def test_a_required_column_that_is_not_there_is_a_finding(file):
    (found,) = validate(file, policy=Policy(require=("nope", "a"))).findings
    assert (found.rule, found.column, found.row_group) == ("PB310", "nope", None)


def test_a_required_column_that_is_misspelled_names_those_that_are_alike(file):
    (found,) = validate(file, policy=Policy(require=("A",))).findings
    assert found.message == (
        "a filter is required but there is no column of exactly this name; did you mean a?"
    )


def test_a_file_without_filters_is_sound(file, tmp_path):
    pb.strip(file, tmp_path / "none.parquet")
    report = validate(tmp_path / "none.parquet")
    assert (report.ok, report.findings, report.checked) == (True, (), Checked(0, 0))


def test_what_is_no_parquet_file_is_an_error(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(pb.NotSupportedFileError, match="not a Parquet file"):
        validate(path)


@pytest.mark.parametrize(
    ("data", "found"),
    [
        (b"secret, and more", "not a Parquet file: does not start with PAR1"),
        (b"\x1f\x8b" + bytes(14), "not a Parquet file: does not start with PAR1, but as gzip does"),
        (bytes(64), "not a Parquet file: does not start with PAR1, but with zeros"),
        (bytes(63), "not a Parquet file: does not start with PAR1"),
        (
            b"<!DOCTYPE html>\n<html></html>",
            "not a Parquet file: does not start with PAR1, but as HTML does",
        ),
        (
            b"<?xml version='1.0'?><Error/>",
            "not a Parquet file: does not start with PAR1, but as XML does",
        ),
        (
            b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 12345\n",
            "not a Parquet file: does not start with PAR1, but as a Git LFS pointer does",
        ),
        (b"PAR1 and a secret", "truncated or not a Parquet file: does not end with PAR1"),
        (b"PARE and a secret", "truncated or not a Parquet file: does not end with PARE"),
        (
            b"PAR1 and a footer, PAR1\n",
            "ends 1 byte behind PAR1, which ends a Parquet file: expected none, as readers look for it at the end",
        ),
        (
            b"PAR1 and a PARE",
            "truncated or not a Parquet file: does not end with PAR1, but as encrypted Parquet does",
        ),
    ],
)
def test_what_a_file_begins_or_ends_with_is_not_shown_where_it_may_be_data(data, found, tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(data)
    with pytest.raises(pb.NotSupportedFileError) as caught:
        validate(path, no_values=True)
    assert str(caught.value) == f"{path}: {found}"


@pytest.mark.parametrize(
    ("name", "write"), [("a b.parquet", pq.write_table), ("a.orc", orc.write_table)]
)
@pytest.mark.parametrize(
    ("more", "said"),
    [
        (b"\n", "1 byte follows"),
        (b"0123456789", "10 bytes follow"),
        # What looks like the end of a file, and is none.
        (b"PAR1 ORC\4" + bytes(70_000), "70,009 bytes follow"),
    ],
)
def test_bytes_behind_a_whole_file(name, write, more, said, tmp_path):
    path = tmp_path / name
    write(pa.table({"n": range(1000)}), path)
    whole = path.read_bytes()
    path.write_bytes(whole + more)
    with pytest.raises(pb.NotSupportedFileError) as caught:
        validate(path)
    command = f"head -c {len(whole)} {shlex.quote(str(path))}"
    assert str(caught.value) == f"{path}: {said} a whole file: `{command}` is that file"
    path.write_bytes(subprocess.run(shlex.split(command), capture_output=True, check=True).stdout)
    assert validate(path).ok


def test_severities_have_an_order_and_words():
    assert Severity.NOTE < Severity.WARNING < Severity.ERROR
    assert [str(severity) for severity in Severity] == ["note", "warning", "error"]


def test_the_severity_of_a_finding_compares_as_users_write_it():
    found = finding("PB621", "words").severity
    assert found == "warning"
    assert found == Severity.WARNING
    assert {found, Severity.WARNING, "warning"} == {"warning"}
    for other in Severity:
        # By their letters, `error` would be the lowest.
        for each in (other, str(other)):
            assert (found < each, found <= each) == (other.rank > 2, other.rank >= 2)
            assert (found > each, found >= each) == (other.rank < 2, other.rank <= 2)
            assert (each < found, each >= found) == (other.rank < 2, other.rank >= 2)
    assert f"{found}" == "warning"
    with pytest.raises(ValueError, match="severity: 'eror', expected note, warning, error"):
        _ = found >= "eror"


def test_the_severity_is_plain_text_in_documents(tmp_path):
    path = tmp_path / "plain.parquet"
    pq.write_table(pa.table({"a": [1]}), path)
    report = validate(path, require="a")
    (told,) = report.to_dict()["findings"]
    assert type(told["severity"]) is str
    assert report.to_arrow()["severity"].to_pylist() == ["error"]


def test_rules_have_unique_names_and_ids_of_their_kind():
    assert list(rules()) == sorted(rules())
    assert len({rule.name for rule in rules().values()}) == len(rules())
    assert all(rule.id[2] in "1234567" for rule in rules().values())


def test_a_finding_has_the_severity_of_its_rule():
    found = finding("PB305", "words", expected=3, found=4)
    assert (found.severity, found.expected, found.found) == ("note", "3", "4")
    with pytest.raises(KeyError):
        finding("PB999", "words")


def test_the_values_decide_and_not_the_null_count_of_the_footer(tmp_path):
    """A footer that counts all values as nulls does not excuse a filter without bits."""
    data = with_bitset(sound(), bytes(len(bitset(sound()))))

    def all_null(footer):
        meta = meta_of(footer, 0, 0)
        meta.statistics.null_count = meta.num_values

    path = _written(tmp_path / "lie.parquet", edited(data, all_null))
    assert [(found.rule, found.row_group) for found in validate(path).findings] == [("PB402", 0)]
    assert broken_rules(validate(path, deep=False)) == ["PB308"]


def test_a_sealed_filter_of_an_encrypted_column_is_no_damage(tmp_path):
    """Without a key nothing can be said of it, and nothing bad is."""
    sealed = b"\x2c\0\0\0" + bytes(range(44)) + b"\x3c\0\0\0" + bytes(range(60))
    data = bytearray(sound())
    offset, length = pointer(bytes(data), 0, 0)
    data[offset : offset + length] = sealed.ljust(length, b"\0")
    path = _written(tmp_path / "sealed.parquet", encrypted(bytes(data), 0))
    report = validate(path, columns=["a"])
    (found,) = [each for each in report.findings if each.rule == "PB408"]
    assert (found.severity, found.row_group) == ("note", 0)
    why = "the values were not looked up: encrypted, no key: its key is the footer's"
    assert found.message == why


def test_lost_values_are_shown_as_literals_that_probe_takes(tmp_path):
    data = with_bits(sound(), bytes(len(bitset(sound())) - 32) + b"\1" * 32)
    path = _written(tmp_path / "lost.parquet", data)
    (found,) = [each for each in validate(path, columns=["a"]).findings if each.rule == "PB401"]
    assert len(found.examples) == 5
    for literal in found.examples:
        assert int(literal) in {integer(0, row) for row in range(2000)}
        result = outcome("probe", path, "-c", "a", "-v", literal)
        assert "\tabsent\t" in result.stdout


@pytest.mark.parametrize(
    ("leaf", "plain", "text"),
    [
        (LeafType("INT64"), b"\xfe" + b"\xff" * 7, "-2"),
        (LeafType("INT32", logical=LogicalType("INTEGER", 32, False)), b"\xff" * 4, "4294967295"),
        (
            LeafType("INT32", logical=LogicalType("DATE")),
            (19723).to_bytes(4, "little"),
            "2024-01-01",
        ),
        (LeafType("INT32", logical=LogicalType("DATE")), b"\xff\xff\xff\x7f", "0xffffff7f"),
        (LeafType("DOUBLE"), struct.pack("<d", -0.0), "-0.0"),
        (LeafType("FLOAT"), struct.pack("<f", 1.5), "1.5"),
        (LeafType("BYTE_ARRAY"), "für".encode(), "für"),
        (LeafType("BYTE_ARRAY"), b"\xff\0", "0xff00"),
        (LeafType("BYTE_ARRAY"), b"a\nb", "0x610a62"),
        (LeafType("BYTE_ARRAY"), b"", '""'),
        (
            LeafType("BYTE_ARRAY", logical=LogicalType("DECIMAL", precision=9, scale=2)),
            b"12",
            "125.94",
        ),
        (LeafType("BYTE_ARRAY", logical=LogicalType("STRING")), b"a\nb", "\\x610a62"),
        (LeafType("BYTE_ARRAY", logical=LogicalType("JSON")), b'"a"', '"a"'),
        (LeafType("FIXED_LEN_BYTE_ARRAY", 3), b"abc", "0x616263"),
        (LeafType("BYTE_ARRAY"), b"x" * 100, "x" * 100),
    ],
    ids=repr,
)
def test_examples_are_what_people_write(leaf, plain, text):
    assert format_literal(leaf, plain) == text


def test_what_is_demanded_can_be_said_with_the_call(file):
    assert not validate(file, require=["nope"]).ok
    assert validate(file, require=["nope"], fail_on="never").ok
    assert broken_rules(validate(file, max_fpp=1e-9, columns=["a"])) == ["PB311", "PB311"]
    assert validate(file, max_bytes=64, ignore=["bytes-above-limit"]).findings == ()
    stricter = Policy(max_fpp=1e-9)
    assert broken_rules(validate(file, policy=stricter, ignore=["PB311"], require=["x"])) == [
        "PB310"
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"fail_on": "errors"}, "fail_on: 'errors', expected one of error, warning, note, never"),
        (
            {"ignore": ["all-bit-clear"]},
            "no such rule 'all-bit-clear'; did you mean all-bits-clear?",
        ),
        ({"ignore": ["fpp"]}, "no such rule 'fpp'; `pbloom rule` lists them"),
    ],
)
def test_words_that_are_none_are_errors(file, options, message):
    with pytest.raises(pb.ConfigError, match=message):
        validate(file, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--no-deep", "--diagnose"), "--diagnose looks up values, which --no-deep does not"),
        (("--json", "--format", "sarif"), "expected at most one of --json and --format"),
    ],
)
def test_options_that_contradict_each_other_are_refused(file, options, message):
    result = outcome("validate", file, *options)
    assert result.code == 2
    assert message in result.stderr


def test_the_command_ignores_rules_by_id_and_name(broken):
    assert outcome("validate", broken, "--no-config").code == 1
    assert outcome("validate", broken, "--no-config", "--ignore", "PB305,all-bits-clear").code == 0


def test_a_chunk_whose_description_is_lost_has_no_filter(tmp_path):
    """As by one byte of the footer: how many values it has, nobody knows."""
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"s": ["a", "b"]}), path)

    def lose(footer):
        footer.row_groups[0].columns[0].meta_data = None

    path.write_bytes(edited(path.read_bytes(), lose))
    for deep in (False, True):
        report = pb.validate(path, require=["s"], deep=deep)
        assert [finding.rule for finding in report.findings] == ["PB128", "PB310"]


@pytest.fixture
def one_of_two_is_broken(tmp_path):
    """Two columns, and no bit in the only filter, that of `id`."""
    path = tmp_path / "two.parquet"
    pq.write_table(pa.table({"id": [*range(99)], "other": [*range(99)]}), path)
    pb.build(path, in_place=True, columns=["id"])
    data = path.read_bytes()
    return _written(path, with_bitset(data, bytes(len(bitset(data)))))


def test_what_a_call_requires_is_checked_beside_the_columns_that_it_names(one_of_two_is_broken):
    path = one_of_two_is_broken
    assert validate(path, columns=["other"]).ok
    found = validate(path, columns=["other"], require="id")
    assert broken_rules(found) == ["PB402"]
    assert found.checked == Checked(1, 99)
    assert broken_rules(validate(path, columns=["other"], require=["ID"])) == ["PB310"]
    assert broken_rules(validate(path, columns=["other"], require=["gone"])) == ["PB310"]
    ran = outcome("validate", path, "-c", "other", "--require", "id")
    assert (ran.code, ran.stderr) == (1, "")
    assert " 1 error in 1 filter and 99 values: not ok" in ran.stdout
    page = outcome("report", path, "-c", "other", "--require", "id", "-o", "-")
    assert "PB402 all-bits-clear" in page.stdout


def test_what_a_policy_requires_may_be_left_out_and_is_then_named(
    one_of_two_is_broken, tmp_path, monkeypatch
):
    """A policy is of all columns; -c is for those who want to wait for a few."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pbloom.toml").write_text("[validate]\nrequire = ['id']\n")
    ran = outcome("validate", "two.parquet", "-c", "other")
    assert ran.code == 0
    assert (
        ran.complaint
        == "policy: column id: not in -c, so only whether there are filters was checked"
    )
    assert outcome("validate", "two.parquet", "-c", "id,other").stderr == ""
    assert outcome("validate", "two.parquet").stderr == ""
