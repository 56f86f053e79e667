"""Who can write a file can take from a plaintext footer what says that it is encrypted: the signature
would show that, and where it is not verified, nothing of it is believed, or it is said."""

import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome
from make.encrypting import FOOTER_KEY, Recipe, encrypt
from make.filters import filter_header
from make.footers import edited, footer_start

import parquet_bloom as pb
from parquet_bloom.parquet.thrift import ttypes

A_KEY = b"the key of a...."
OF_A = pb.Keys(columns={"a": A_KEY})
ALL = pb.Keys(footer=FOOTER_KEY, columns={"a": A_KEY})
A_OPTION = f"--column-key=a=ascii:{A_KEY.decode()}"
STORED = (1 << 40) + 5
UNSIGNED = "columns are encrypted, but the footer neither says how nor is signed"
DOUBT = (
    "a key was given for the column, but the footer, whose signature was not verified, says that it"
    " is not encrypted"
)
NO_FOOTER_KEY = "no key for the footer (the file names no key)"


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """Column a is encrypted, c is not; both have filters in two row groups."""
    folder = tmp_path_factory.mktemp("signed")
    numbers = list(range(1 << 40, (1 << 40) + 200))
    pq.write_table(pa.table({"a": numbers, "c": numbers}), folder / "made", row_group_size=100)
    pb.build(folder / "made", folder / "plain", columns=["a", "c"])
    recipe = Recipe(columns={"a": A_KEY}, plaintext_footer=True)
    return encrypt((folder / "plain").read_bytes(), recipe).data


def forged(data, algorithm=True):
    """Column a poses as plaintext, with a filter in which nothing is but one bit."""
    start = footer_start(data)
    empty = filter_header(32) + b"\1" + bytes(31)

    def edit(footer):
        for group in footer.row_groups:
            chunk = group.columns[0]
            chunk.crypto_metadata = chunk.encrypted_column_metadata = None
            chunk.meta_data.bloom_filter_offset = start
            chunk.meta_data.bloom_filter_length = len(empty)
        footer.row_groups[1].columns[0].meta_data.bloom_filter_offset += len(empty)
        if not algorithm:
            footer.encryption_algorithm = None

    changed = edited(data, edit)
    return changed[:start] + 2 * empty + changed[start:]


def without_algorithm(data):
    def edit(footer):
        footer.encryption_algorithm = None

    return edited(data, edit)


def put(folder, data):
    path = folder / "file.parquet"
    path.write_bytes(data)
    return path


def verdicts(path, column, keys):
    with pb.open(path, keys) as file:
        return [(found.verdict, found.reason) for found in file.probe(column, STORED)]


def test_statistics_that_anyone_may_have_made_exclude_nothing(signed, tmp_path):
    def exclude(footer):
        low, high = bytes(8), (1).to_bytes(8, "little")
        for group in footer.row_groups:
            bounds = ttypes.Statistics(min_value=low, max_value=high)
            group.columns[0].meta_data.statistics = bounds

    path = put(tmp_path, edited(forged(signed), exclude))
    assert pb.row_groups(path, {"a": STORED}, keys=OF_A)["row_group"].to_pylist() == [0, 1]
    (unknown,) = pb.find(path, "a", STORED, keys=OF_A).unknown
    assert (unknown.path, unknown.reason) == (str(path), f"column a: {DOUBT}")
    ran = outcome("find", str(path), "-c", "a", "-v", str(STORED), A_OPTION)
    assert (ran.code, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"pbloom: {path}: unknown: column a: {DOUBT}\n")
    # Another column is what it says, to whoever has no key for it.
    assert len(pb.find(path, "c", STORED, keys=OF_A).rows) == 1


def test_without_a_trace_of_encryption_a_key_of_the_footer_tells(signed, tmp_path):
    path = put(tmp_path, forged(signed, algorithm=False))
    for work in (
        lambda: pb.probe(path, "a", [str(STORED)], keys=ALL),
        lambda: pb.inspect(path, keys=ALL),
        lambda: pb.validate(path, keys=ALL),
        lambda: pb.build(path, columns=["c"], keys=ALL, existing="replace", in_place=True),
    ):
        with pytest.raises(pb.EncryptionError, match="the footer is neither encrypted nor signed"):
            work()


def test_a_column_with_a_key_is_not_believed_to_be_in_plaintext(signed, tmp_path):
    path = put(tmp_path, forged(signed))
    assert [verdict for verdict, _ in verdicts(path, "a", None)] == ["absent", "absent"]
    for verdict, reason in verdicts(path, "a", OF_A):
        assert (verdict, reason) == ("unknown", DOUBT)
    assert [verdict for verdict, _ in verdicts(path, "c", OF_A)] == ["maybe", "absent"]
    with pytest.raises(pb.FilterError, match=DOUBT):
        pb.dump(path, "a", 0, keys=OF_A)
    for group in pb.inspect(path, keys=OF_A, columns=["a"]).row_groups:
        assert group.columns[0].filter is None
        assert group.columns[0].reason.endswith(DOUBT)
    report = pb.validate(path, keys=OF_A, deep=False)
    assert not report.ok
    assert ("PB508", "a", DOUBT) in {
        (each.rule, each.column, each.message) for each in report.findings
    }
    # None would change a file that may have been tampered with.
    report = pb.validate(path, keys=OF_A, policy=pb.Policy(require=("b",)))
    assert {each.rule for each in report.findings} >= {"PB310", "PB508"}
    assert {each.next for each in report.findings} == {None}
    with pytest.raises(pb.TamperedError, match="signature"):
        pb.open(path, ALL)


@pytest.mark.parametrize("make", [bytes, forged])
def test_nobody_is_advised_to_repair_filters_of_a_column_that_poses_as_plaintext(
    make, signed, tmp_path
):
    """They may be right; and the key that proves them would not mend them, if they are not."""
    path, keys = put(tmp_path, make(signed)), pb.Keys(columns={"a": A_KEY, "c": A_KEY})
    of_a, of_c = pb.advise(path, keys=keys).columns
    assert (of_c.verdict, of_c.reason) == ("skip", DOUBT)
    assert (of_a.reason == DOUBT) == (make is forged)
    assert "next: pbloom repair" not in outcome("advise", path, A_OPTION).stdout
    assert DOUBT not in {each.reason for each in pb.advise(path, keys=OF_A).columns[1:]}


@pytest.mark.parametrize(
    "command",
    [
        ("inspect",),
        ("probe", "-c", "a", "-v", "0"),
        ("dump", "-c", "a"),
        ("find", "-c", "a,c", "-v", "0"),
        ("inspect", "--histogram"),
    ],
    ids=" ".join,
)
def test_who_does_not_verify_the_signature_is_told_once_for_each_file(command, signed, tmp_path):
    path = put(tmp_path, signed)
    name, *rest = command
    result = outcome(name, path, *rest, A_OPTION)
    assert result.stderr == f"pbloom: {path}: footer signature not verified: {NO_FOOTER_KEY}\n"
    option = f"--footer-key=ascii:{FOOTER_KEY.decode()}"
    assert outcome(name, path, *rest, A_OPTION, option).stderr == ""


@pytest.mark.parametrize(
    "command",
    [("inspect", "--json"), ("probe", "-c", "a", "-v", "0", "--json"), ("dump", "-c", "a", "--format", "json")],
    ids=" ".join,
)  # fmt: skip
def test_json_says_why_it_is_unverified(command, signed, tmp_path):
    path = put(tmp_path, signed)
    name, *rest = command
    assert json.loads(outcome(name, path, *rest, A_OPTION).stdout)["unverified"] == NO_FOOTER_KEY
    option = f"--footer-key=ascii:{FOOTER_KEY.decode()}"
    assert json.loads(outcome(name, path, *rest, A_OPTION, option).stdout)["unverified"] is None


def test_find_names_the_files_whose_signature_was_not_verified(signed, tmp_path):
    path = put(tmp_path, signed)
    report = pb.find(tmp_path, "a", STORED, keys=OF_A)
    assert report.unverified == (pb.UnverifiedFile(str(path), NO_FOOTER_KEY),)
    assert report.rows
    assert pb.find(path, "a", STORED, keys=ALL).unverified == ()


@pytest.mark.parametrize("keys", [None, OF_A])
def test_encrypted_columns_without_a_signature(keys, signed, tmp_path):
    path = put(tmp_path, without_algorithm(signed))
    report = pb.inspect(path, keys=keys)
    assert (report.encrypted, report.unverified) == (True, UNSIGNED)
    assert verdicts(path, "a", keys) == [("unknown", "encrypted, no key")] * 2
    assert pb.probe(path, "c", [0], keys=keys).unverified == UNSIGNED
    findings = pb.validate(path, keys=keys).findings
    assert [(each.message, each.severity) for each in findings if each.rule == "PB508"] == [
        (UNSIGNED, "error")
    ]
    before = path.read_bytes()
    for work in (
        lambda: pb.build(path, columns=["c"], keys=keys, existing="replace", in_place=True),
        lambda: pb.strip(path, columns=["c"], keys=keys, in_place=True),
        lambda: pb.repair(path, columns=["c"], keys=keys, in_place=True),
    ):
        with pytest.raises(pb.EncryptionError, match=f"file.parquet: {UNSIGNED}"):
            work()
    assert path.read_bytes() == before
