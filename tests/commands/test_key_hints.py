"""Whoever is told of a missing key is told which option gives it, and that it does."""

import html
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pyarrow.parquet.encryption as pe
import pytest
from make.commands import outcome
from make.encrypting import Recipe, encrypt
from make.kms_lab import MASTER_KEYS
from make.kms_lab import write as write_encrypted

KEY = "0123456789abcdef"
GIVES = "; --footer-key, --uniform-key or --keys gives it"


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Writes t.parquet as pyarrow does with a key that is passed directly."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"id": range(100), "email": [f"u{i}" for i in range(100)]})

    def written(**options):
        properties = pe.create_encryption_properties(KEY.encode(), **options)
        pq.write_table(table, "t.parquet", encryption_properties=properties)

    return written


def test_a_column_with_the_footers_key_is_said_to_have_it(write):
    write(plaintext_footer=True)
    why = "encrypted, no key: its key is the footer's"
    assert f"\nid, email: {why}{GIVES}\n" in outcome("inspect", "t.parquet").stdout
    probe = ("probe", "t.parquet", "-c", "email", "-v", "u1")
    assert outcome(*probe).stdout.endswith(f"\t{why}{GIVES}\n")
    missing = f"encrypted: no key for the footer (the file names no key){GIVES}"
    find = ("find", "t.parquet", "-c", "email", "-v", "u1")
    assert outcome(*find).complaint == f"t.parquet: row group 0, column email: {missing}"
    for option in ("--footer-key", "--uniform-key"):
        assert outcome(*find, f"{option}=ascii:{KEY}").code == 0
        assert "no key" not in outcome("inspect", "t.parquet", f"{option}=ascii:{KEY}").stdout


def test_the_key_of_a_column_is_not_asked_for_again_where_it_has_none_of_its_own(write):
    write(plaintext_footer=True)
    given = f"--column-key=email=ascii:{KEY}"
    why = "encrypted, no key: its key is the footer's"
    ignored = f"{why}, not the one given for email"
    lines = outcome("inspect", "t.parquet", given).stdout.splitlines()
    assert lines[1:] == [f"id: {why}{GIVES}", f"email: {ignored}{GIVES}"]
    probed = outcome("probe", "t.parquet", "-c", "email", "-v", "u1", given).stdout
    assert probed.endswith(f"\t{ignored}{GIVES}\n")
    Path("u.parquet").write_bytes(Path("t.parquet").read_bytes())
    missing = "no key for the footer (the file names no key)"
    for names, others in (
        (["t.parquet"], ""),
        (["t.parquet", "u.parquet"], "; the same for 1 other file"),
    ):
        found = outcome("find", *names, "-c", "email", "-v", "u1", given).complaint
        assert found == (
            "t.parquet: row group 0, column email: encrypted: its key is the footer's, not the one given for email:"
            f" {missing}{others}{GIVES}"
        )


IGNORED = "--column-key: column email: its key is the footer's, not this one, which was ignored"


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize(
    "command",
    [
        ["inspect"],
        ["validate"],
        ["advise"],
        ["probe", "-c", "email", "-v", "u1"],
        ["find", "-c", "email", "-v", "u1"],
        ["build", "-c", "email", "--dry-run"],
    ],
    ids=lambda command: command[0],
)
def test_the_key_of_a_column_that_has_the_footers_is_said_to_be_ignored(write, command, is_signed):
    write(plaintext_footer=is_signed)
    verb, *more = command
    run = [verb, "t.parquet", *more, f"--footer-key=ascii:{KEY}"]
    right = outcome(*run, f"--column-key=email=ascii:{KEY}")
    assert (right.code, right.stderr) == (0, "")
    wrong = outcome(*run, "--column-key=email=ascii:another key 16 b")
    assert (wrong.code, wrong.complaint) == (0, IGNORED)
    if "-c" not in command:
        return
    # It is not said of columns that nobody looks into.
    other = outcome(
        "probe",
        "t.parquet",
        "-c",
        "id",
        "-v",
        "1",
        *run[-1:],
        "--column-key=email=ascii:another key 16 b",
    )
    assert other.stderr == ""


def test_a_key_that_some_file_has_for_the_column_is_not_ignored(write, tmp_path):
    """As in a folder in which only some files have a key for it."""
    write()
    own = Recipe(columns={"email": b"another key 16 b"}, footer_key=KEY.encode())
    pq.write_table(pa.table({"email": ["u1"]}), "plain.parquet")
    data = encrypt(Path("plain.parquet").read_bytes(), own).data
    Path("own.parquet").write_bytes(data)
    found = outcome(
        "find", "t.parquet", "own.parquet", "-c", "email", "-v", "u1", f"--footer-key=ascii:{KEY}",
        "--column-key=email=ascii:another key 16 b",
    )  # fmt: skip
    assert (found.code, found.stderr) == (0, "")


def test_advise_names_the_keys_that_its_command_takes(tmp_path, monkeypatch):
    """Of a column that is advised by files whose key is there, those of the other files, too."""
    monkeypatch.chdir(tmp_path)
    chance = random.Random(5)
    table = pa.table({"id": [f"{chance.random()}" for _ in range(4000)], "n": range(4000)})
    pq.write_table(table, "plain.parquet", row_group_size=500)
    footer = KEY.encode()
    for name, key in (("a", b"k" * 16), ("b", b"another key 16 b")):
        own = Recipe(columns={"id": key}, footer_key=footer, key_ids={"id": b"k" + name.encode()})
        Path(name).write_bytes(encrypt(Path("plain.parquet").read_bytes(), own).data)
    given = [f"--footer-key=ascii:{KEY}", f"--key-id=ka=ascii:{'k' * 16}"]
    told = outcome("advise", "a", "b", *given).stdout.splitlines()
    assert told[-1] == (
        "next: pbloom build a b -c id --in-place --footer-key KEYSPEC --key-id ka=KEYSPEC --key-id kb=KEYSPEC"
    )
    outcome("report", "a", "b", "-o", "page.html", *given)
    page = html.unescape(Path("page.html").read_text())
    command = "pbloom build a b -c id --fpp 0.01 --in-place --footer-key KEYSPEC --key-id ka=KEYSPEC --key-id kb=KEYSPEC"
    assert command in page
    assert outcome("advise", "a", *given).stdout.splitlines()[-1] == (
        "next: pbloom build a -c id --in-place --footer-key KEYSPEC --key-id ka=KEYSPEC"
    )
    why = "encrypted, no key: key id 'kb'; --column-key or --keys gives it"
    lines = outcome("advise", "b", *given).stdout.splitlines()
    assert [line.split("\t")[-1] for line in lines if line.startswith("id\t")] == [why]
    assert not lines[-1].startswith("next: ")


def test_validate_says_that_the_key_of_a_required_filter_may_be_the_footers(write):
    write(plaintext_footer=True)
    said = outcome("validate", "t.parquet", "--require", "email").stdout
    assert (
        "PB408 not-checked: columns id, email: encrypted, no key: its key is the footer's: nothing"
        in said
    )
    assert said.endswith(
        "next: give its key: --column-key, --footer-key if it is the footer's, --keys, --kms or --master-key\n"
    )


def test_a_missing_prefix_is_no_missing_key(write):
    write(plaintext_footer=True, aad_prefix=b"abc", store_aad_prefix=False)
    why = "encrypted, no key: no AAD prefix given, and the file does not store its own"
    said = outcome("inspect", "t.parquet", f"--footer-key=ascii:{KEY}").stdout
    assert f"\nid, email: {why}; --aad-prefix gives it\n" in said


@pytest.mark.parametrize(
    "given", [[], ["--kms=kms_of_hints:Kms"], ["--key-retriever=kms_of_hints:none"]]
)
def test_nothing_is_said_of_a_kms_where_no_key_is_wrapped(write, tmp_path, monkeypatch, given):
    write()
    (tmp_path / "kms_of_hints.py").write_text(
        "class Kms:\n"
        "    def __init__(self, connection): pass\n"
        "    def unwrap_key(self, wrapped_key, master_key_identifier): raise KeyError\n"
        "def none(key_metadata): return None\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    assert outcome("inspect", "t.parquet", *given).complaint == (
        f"t.parquet: the footer is encrypted: no key for the footer (the file names no key){GIVES}"
    )


def test_of_several_files_that_are_alike_it_is_said_which_option_helps(write):
    write(plaintext_footer=True)
    Path("u.parquet").write_bytes(Path("t.parquet").read_bytes())
    why = "encrypted, no key: its key is the footer's"
    said = outcome("inspect", "t.parquet", "u.parquet").stdout
    assert f"\n2 files: id, email: {why}{GIVES}\n" in said
    said = outcome("probe", "t.parquet", "u.parquet", "-c", "email", "-v", "u1").stdout
    assert f"\n2 files: unknown: {why}{GIVES}\n" in said
    write()
    Path("u.parquet").write_bytes(Path("t.parquet").read_bytes())
    pq.write_table(pa.table({"email": ["u1"]}), "plain.parquet")
    found = outcome("find", "t.parquet", "u.parquet", "plain.parquet", "-c", "email", "-v", "u1")
    missing = "the footer is encrypted: no key for the footer (the file names no key)"
    assert found.complaint == f"t.parquet, u.parquet: unknown: {missing}{GIVES}"


def test_what_a_footer_shows_is_named_once(write):
    write(plaintext_footer=True)
    said = outcome("validate", "t.parquet").stdout
    assert (
        "PB504 revealing-copy: columns id, email: the footer shows more of the encrypted column than it has to"
        " (found size_statistics)\n"
    ) in said


def test_what_is_said_of_one_file_is_not_said_of_others_that_lack_other_keys(write):
    write(plaintext_footer=True)
    Path("u.parquet").write_bytes(Path("t.parquet").read_bytes())
    write()
    found = outcome("find", "t.parquet", "u.parquet", "-c", "email", "-v", "u1").complaint
    missing = "no key for the footer (the file names no key)"
    assert found == (
        f"t.parquet: the footer is encrypted: {missing}; others are missing for 1 file{GIVES}"
    )
    Path("v.parquet").write_bytes(Path("t.parquet").read_bytes())
    found = outcome("find", "t.parquet", "u.parquet", "v.parquet", "-c", "email", "-v", "u1")
    more = "the same for 1 other file; others are missing for 1 file"
    assert found.complaint == f"t.parquet: the footer is encrypted: {missing}; {more}{GIVES}"


@pytest.mark.parametrize("footer", [{}, {"plaintext_footer": True}])
def test_a_footer_key_that_is_wrong_is_said_to_be_taken_before_what_the_file_names(
    footer, tmp_path
):
    path = write_encrypted(tmp_path / "x.parquet", **footer)
    master_keys = [f"--master-key={name}=ascii:{key.decode()}" for name, key in MASTER_KEYS.items()]
    assert outcome("inspect", path, *master_keys).code == 0
    wrong = f"--footer-key=ascii:{KEY}"
    told = "wrong key, wrong AAD prefix or altered bytes"
    before = "; given as the footer key, it is taken before what the file names, a uniform key only after that"
    assert outcome("inspect", path, wrong).complaint.endswith(told)
    assert outcome("inspect", path, wrong, *master_keys).complaint.endswith(told + before)


def test_key_material_that_is_gone_is_what_is_missing(tmp_path):
    """Under a signed footer, the file is read without it."""
    path = write_encrypted(
        tmp_path / "x.parquet", internal_key_material=False, plaintext_footer=True
    )
    material = tmp_path / "_KEY_MATERIAL_FOR_x.parquet.json"
    material.unlink()
    why = (
        f"encrypted, no key: {material}: no such key material file beside the Parquet file; copy it under this name, or"
        " --key-material names it"
    )
    master_keys = [f"--master-key={id}=ascii:{key.decode()}" for id, key in MASTER_KEYS.items()]
    inspected = outcome("inspect", path, *master_keys)
    assert inspected.stdout.splitlines()[-1] == f"a, b: {why}"
    probed = outcome("probe", path, "-c", "a", "-v", "1", *master_keys)
    assert probed.stdout.splitlines()[-1].endswith(f"\t{why}")
