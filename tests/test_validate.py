"""How validate goes about it; what each rule finds is in test_defects, what none finds in
test_sound_corpus."""

import pytest
from defects_files import integer, sound
from hostile import pointer

import parquet_bloom as pb
from parquet_bloom.rules.catalogue import RULES, Checked, Severity, finding
from parquet_bloom.rules.policy import ColumnPolicy, Policy
from parquet_bloom.verbs.validate import validate


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


def rules(report):
    return [found.rule for found in report.findings]


def test_a_sound_file_has_no_findings(file):
    report = validate(file)
    assert (report.path, report.ok, report.findings) == (str(file), True, ())
    assert report.checked.filters == 4


def test_every_value_is_counted(file):
    num_values = sum(len({integer(group, row) for row in range(2000)}) for group in range(2))
    assert validate(file, columns=["a"]).checked == Checked(2, num_values)
    assert validate(file, columns=["a"], deep=False).checked == Checked(2, 0)


def test_findings_say_where(broken):
    (found,) = validate(broken).findings
    assert (found.rule, found.severity, found.row_group, found.column) == ("PB402", "error", 1, "a")
    assert found.message == "no bit is set: every value seems absent"
    assert (found.expected, found.found) == ("bits of 2000 values", "none")


def test_other_columns_are_not_looked_at(broken):
    assert validate(broken, columns=["s"]).ok
    with pytest.raises(pb.ColumnError, match="column c: no such leaf column"):
        validate(broken, columns=["c"])


def test_without_deep_no_page_is_read(file):
    data = bytearray(file.read_bytes())
    with pb.open(file) as opened:
        first = min(opened.chunk(group, "a").pages_start for group in range(2))
        last = min(pointer(bytes(data), group, column)[0] for group in (0, 1) for column in (0, 1))
    data[first:last] = b"\xff" * (last - first)
    file.write_bytes(data)
    assert validate(file, deep=False).findings == ()
    assert set(rules(validate(file))) == {"PB116"}


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
    assert rules(report) == ["PB402"]


def test_a_warning_fails_only_if_asked_to(tmp_path):
    source, path = tmp_path / "s.parquet", tmp_path / "w.parquet"
    source.write_bytes(sound())
    pb.build(source, path, columns=["a"], ndv=100_000, existing="replace")
    assert set(rules(validate(path))) == {"PB206", "PB304", "PB306"}
    assert validate(path).ok
    assert not validate(path, policy=Policy(fail_on=Severity.WARNING)).ok


def test_a_limit_is_that_of_the_column(file):
    strict = ColumnPolicy(max_fpp=1e-9)
    report = validate(file, policy=Policy(columns={"a": strict}))
    assert {(found.rule, found.column) for found in report.findings} == {("PB311", "a")}
    assert not report.ok


def test_a_required_column_that_is_not_there_is_a_finding(file):
    (found,) = validate(file, policy=Policy(require=("nope", "a"))).findings
    assert (found.rule, found.column, found.row_group) == ("PB310", "nope", None)


def test_a_file_without_filters_is_sound(file, tmp_path):
    pb.strip(file, tmp_path / "none.parquet")
    report = validate(tmp_path / "none.parquet")
    assert (report.ok, report.findings, report.checked) == (True, (), Checked(0, 0))


def test_what_is_no_parquet_file_is_an_error(tmp_path):
    path = tmp_path / "x.parquet"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(pb.NotSupportedFileError, match="not a Parquet file"):
        validate(path)


def test_severities_have_an_order_and_words():
    assert Severity.NOTE < Severity.WARNING < Severity.ERROR
    assert [str(severity) for severity in Severity] == ["note", "warning", "error"]


def test_rules_have_unique_names_and_ids_of_their_kind():
    assert list(RULES) == sorted(RULES)
    assert len({rule.name for rule in RULES.values()}) == len(RULES)
    assert all(rule.id[:3] in {"PB1", "PB2", "PB3", "PB4", "PB5"} for rule in RULES.values())


def test_a_finding_has_the_severity_of_its_rule():
    found = finding("PB305", "words", expected=3, found=4)
    assert (found.severity, found.expected, found.found) == ("note", "3", "4")
    with pytest.raises(KeyError):
        finding("PB999", "words")
