"""Every command takes keys; and plain files are worked on without anything of encryption."""

import io
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES
from make.commands import outcome
from make.encrypted_files import OWN
from make.encrypting import FOOTER_KEY, Recipe, encrypt

import parquet_bloom as pb

RECIPE = Recipe(columns={"int64": OWN, "string": OWN, "int32": None})
PLAIN = FIXTURES / "pyarrow_types.parquet"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """file.parquet is encrypted, filtered.parquet is it with filters; keys.json opens both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FOOTER", FOOTER_KEY.hex())
    keys = {"footer": "env:FOOTER,hex", "columns": {"int64": f"ascii:{OWN.decode()}"}}
    (tmp_path / "keys.json").write_text(json.dumps(keys))
    (tmp_path / "keys.json").chmod(0o600)
    (tmp_path / "file.parquet").write_bytes(encrypt(PLAIN.read_bytes(), RECIPE).data)
    built = pb.read_keys("keys.json")
    pb.build("file.parquet", "filtered.parquet", columns=["int64"], keys=built)
    return tmp_path


COMMANDS = [
    ("advise", "file.parquet"),
    ("build", "file.parquet", "-c", "int64,int32", "-o", "out.parquet"),
    ("build", "file.parquet", "--auto", "-o", "out.parquet"),
    ("diff", "filtered.parquet", "filtered.parquet", "-c", "int64"),
    ("dump", "filtered.parquet", "-c", "int64"),
    ("dump", "filtered.parquet", "-c", "int64", "--decrypt", "--format", "npy"),
    ("inspect", "filtered.parquet"),
    ("inspect", "filtered.parquet", "--histogram"),
    ("probe", "filtered.parquet", "-c", "int64", "-v", "0"),
    ("probe", "filtered.parquet", "-c", "int64", "-v", "0", "--explain"),
    ("repair", "filtered.parquet", "-c", "int64,int32", "--rebuild", "--in-place"),
    ("report", "filtered.parquet", "-o", "page.html"),
    ("strip", "filtered.parquet", "--in-place"),
    ("validate", "filtered.parquet", "-c", "int64"),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_with_keys_it_works(command, folder):
    name, *rest = command
    result = outcome(name, "--keys", "keys.json", *rest)
    assert (result.code, result.stderr) == (0 if name != "probe" else result.code, "")
    assert result.code in (0, 1)
    given = outcome(
        name, "--footer-key", "env:FOOTER,hex", "--column-key", f"int64=ascii:{OWN.decode()}",
        *rest, *(["--overwrite"] if "-o" in rest else []),
    )  # fmt: skip
    assert given.code == result.code
    assert given.stderr == ""


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (("inspect",), 0),
        (("inspect", "--json"), 0),
        (("find", "-c", "int64", "-v", "1"), 1),
        (("validate",), 0),
    ],
)
def test_a_key_for_a_column_that_no_file_has_is_told(command, code, folder):
    """But not that of a column that some file has; nor one in a keys file, which may be for other files, too."""
    plain = io.BytesIO()
    pq.write_table(pa.table({"int64": [1 << 40], "only": [2]}), plain)
    columns = {"int64": OWN, "only": OWN}
    Path("other.parquet").write_bytes(encrypt(plain.getvalue(), Recipe(columns=columns)).data)
    keys = ("--footer-key", "env:FOOTER,hex", "--column-key", f"int64=ascii:{OWN.decode()}")
    keys += ("--column-key", f"only=ascii:{OWN.decode()}")
    files = ("filtered.parquet", "other.parquet")
    wrong = f"ascii:{OWN.decode()}"
    run = outcome(*command, *files, *keys)
    assert (run.code, run.stderr) == (code, "")
    run = outcome(*command, files[0], *keys[:4], "--column-key", f"int46={wrong}")
    assert run.code == code
    assert run.complaint == "--column-key: no column int46; did you mean int64, int16, uint64?"
    run = outcome(*command, *files, *keys, "--column-key", f"x.y={wrong}")
    assert (run.code, run.complaint) == (
        code,
        "--column-key: no column x.y; the files have int64, only",
    )
    settings = json.loads(Path("keys.json").read_text())
    settings["columns"] |= {"int46": wrong, "only": wrong}
    Path("keys.json").write_text(json.dumps(settings))
    run = outcome(*command, *files, "--keys", "keys.json")
    assert (run.code, run.stderr) == (code, "")
    # It may have it.
    Path("other.parquet").write_bytes(b"no Parquet")
    run = outcome(*command, *files, *keys[:4], "--column-key", f"x.y={wrong}")
    assert run.code == 2
    assert run.complaint.startswith("other.parquet: ")


@pytest.mark.parametrize("is_signed", [False, True])
@pytest.mark.parametrize(
    "command",
    [
        ("inspect",),
        ("validate", "--json"),
        ("find", "-c", "int32", "-v", "1"),
        ("build", "-c", "int32", "--dry-run"),
    ],
    ids=" ".join,
)
def test_a_key_for_a_column_that_no_file_has_encrypted_is_told(command, is_signed, folder):
    """But not where some file has it encrypted, or may have, as nobody could verify the footer."""
    recipe = Recipe(columns={"int64": OWN}, plaintext_footer=is_signed)
    for name, own in (("own.parquet", recipe), ("other.parquet", RECIPE)):
        Path(name).write_bytes(encrypt(PLAIN.read_bytes(), own).data)
    shutil.copy(PLAIN, "plain.parquet")
    verb, *more = command
    mine = ("--footer-key", "env:FOOTER,hex", "--column-key", f"int64=ascii:{OWN.decode()}")
    other = ("--column-key", f"string=ascii:{OWN.decode()}")
    ignored = "--column-key: column string: not encrypted in the file, so its key was ignored"
    assert outcome(verb, "own.parquet", *more, *mine).stderr == ""
    assert outcome(verb, "own.parquet", *more, *mine, *other).complaint == ignored
    several = outcome(verb, "own.parquet", "other.parquet", *more, *mine, *other)
    assert "--column-key" not in several.stderr
    assert outcome(verb, "plain.parquet", *more, *other).complaint == ignored
    if is_signed:
        assert ignored not in outcome(verb, "own.parquet", *more, *other).stderr
    both = outcome(verb, "plain.parquet", PLAIN, *more, *other)
    assert f"pbloom: {ignored.replace('the file', 'any of the files')}\n" in both.stderr


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_without_keys_it_says_so(command, folder):
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    result = outcome(*command)
    assert result.code == 2
    assert result.complaint.startswith(f"{command[1]}: the footer is encrypted: no key for the")
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_filters_that_nobody_sees_are_neither_none_nor_right(folder):
    """The footer is signed and open to anyone, but for what is said of encrypted columns."""
    columns = {"int64": OWN, "string": b"9876543210987654"}
    recipe, keys = Recipe(columns=columns, plaintext_footer=True), pb.read_keys("keys.json")
    for name in ("a.parquet", "b.parquet"):
        Path(name).write_bytes(encrypt(PLAIN.read_bytes(), recipe).data)
        pb.build(name, columns=["int64"], in_place=True, keys=keys)
    first, *_, last = outcome("validate", "a.parquet", "b.parquet").stdout.splitlines()
    none = "encrypted, no key, so no filter was checked: unknown"
    assert first == f"a.parquet: 2 warnings, 3 notes; {none}"
    assert last == "2 files: 2 unknown; 4 warnings, 6 notes in 0 filters and 0 values"
    run = outcome("validate", "a.parquet", "--json")
    document = json.loads(run.stdout)
    assert (run.code, document["ok"], document["checked"]) == (
        0, True, {"filters": 0, "values": 0, "encrypted_chunks": 6},
    )  # fmt: skip
    assert outcome("validate", "a.parquet", "--require", "int64").code == 1
    first, _, _, last = outcome("inspect", "a.parquet", "b.parquet").stdout.splitlines()
    assert first.endswith("; no usable filters")
    assert last.startswith("2 files: 2 unknown; 0 usable filters take 0 B of ")
    lines = outcome("inspect", "a.parquet", "b.parquet", "--summary").stdout.splitlines()
    hidden = "int64 (6 of 6 chunks), string (6 of 6 chunks)"
    assert f"may have filters, unknown without keys: {hidden}" in lines
    assert not any(line.startswith("filters that cannot be read") for line in lines)
    page = "page.html"
    outcome("report", "a.parquet", "-o", page)
    assert none in Path(page).read_text()
    outcome("report", "a.parquet", "b.parquet", "-o", page, "--overwrite")
    assert "0 values; 2 files with encrypted columns, no key: unknown" in Path(page).read_text()
    # With a key for one of the columns.
    partly = outcome("validate", "a.parquet", "--keys", "keys.json").stdout.splitlines()[0]
    assert partly == "a.parquet: 2 warnings, 1 note in 3 filters and 546 values: ok where readable"


def tampered(path):
    """filtered.parquet with a filter in its last row group that fails authentication."""
    report = pb.inspect("filtered.parquet", columns=["int64"], keys=pb.read_keys("keys.json"))
    data = bytearray(Path("filtered.parquet").read_bytes())
    data[report.row_groups[-1].columns[0].filter.offset + 80] ^= 1
    Path(path).write_bytes(data)


def pasted(text, what):
    """The first command in a text that begins so, and its run."""
    found, *_ = re.findall(rf"{what}[^\n]*", text)
    words = shlex.split(found.removeprefix("pbloom ").removesuffix(" adds a new one"))
    return found, outcome(*words)


def test_commands_that_repair_prints_run_as_they_are(folder):
    tampered("bad.parquet")
    said = outcome("repair", "bad.parquet", "-o", "good.parquet", "--keys", "keys.json").stdout
    command, run = pasted(said, "pbloom build good.parquet -c int64 --in-place")
    assert (run.code, command) == (
        0, "pbloom build good.parquet -c int64 --in-place --keys keys.json adds a new one"
    )  # fmt: skip
    assert "good.parquet: 1 filter, " in run.stdout
    # What was repaired is what was written.
    command, run = pasted(said, "pbloom validate")
    assert (run.code, command) == (0, "pbloom validate good.parquet --keys keys.json")
    dry = outcome("repair", "bad.parquet", "--dry-run", "--keys", "keys.json").stdout
    assert dry.endswith("so does pbloom validate bad.parquet --keys keys.json\n")


def test_commands_of_advice_run_as_they_are(folder):
    asked = ("-c", "int64", "--keys", "keys.json")
    said = outcome("advise", "file.parquet", *asked, "--details").stdout
    command, run = pasted(said, "pbloom build file.parquet -c int64 --fpp 0.01 -o")
    assert command.endswith(" -o out.parquet --keys keys.json")
    assert (run.code, run.stderr) == (0, "")
    # These would write what is encrypted in plaintext, or refuse to.
    writers = re.findall(r"^  (\w+):$", said, re.MULTILINE)
    assert writers == ["pbloom", "Spark"]
    page = "page.html"
    outcome("report", "file.parquet", *asked, "-o", page)
    shown = Path(page).read_text()
    assert command in shown
    assert "write_table" not in shown


def test_find_tells_that_its_outputs_are_in_plaintext(folder):
    value = str(pq.read_table(PLAIN, columns=["int64"])["int64"].drop_null()[0])
    keys = pb.Keys(footer=FOOTER_KEY, columns={"int64": OWN})
    (row, *_) = pb.find("file.parquet", "int64", [int(value)], keys=keys).rows
    shutil.copy(PLAIN, "plain.parquet")

    def told(file, column, literal, *more):
        asked = ("-c", column, "-v", literal, "--keys", "keys.json", "--overwrite")
        return outcome("find", file, *asked, *more).stderr.splitlines()

    out, account = ("-o", "out.parquet"), ("--report", "account.parquet")
    of = "has in plaintext what is encrypted in file.parquet"
    assert told("file.parquet", "int64", value) == []
    assert told("file.parquet", "int64", value, *out, *account) == [
        f"pbloom: out.parquet: {of}", f"pbloom: account.parquet: {of}"
    ]  # fmt: skip
    assert str(pq.read_table("out.parquet")["value"][0]) == value
    # Of another column, which is not encrypted, with values of one that is.
    double = pq.read_table(PLAIN, columns=["double"])["double"][row.row].as_py()
    assert told("file.parquet", "double", str(double), *out) == []
    assert told("file.parquet", "double", str(double), *out, "--columns", "int64") == [
        f"pbloom: out.parquet: {of}"
    ]
    # Where no row is, nothing was written.
    assert told("file.parquet", "int64", str(1 << 62), *out) == []


def test_what_filters_take_is_said_of_those_that_are_seen(folder):
    recipe = Recipe(columns={"string": OWN}, plaintext_footer=True)
    Path("a.parquet").write_bytes(encrypt(PLAIN.read_bytes(), recipe).data)
    keys = pb.Keys(footer=FOOTER_KEY, columns={"string": OWN})
    pb.build("a.parquet", columns=["int64", "string"], in_place=True, keys=keys)
    given = ["--footer-key=env:FOOTER,hex", f"--column-key=string=ascii:{OWN.decode()}"]

    def first_line(*options):
        return outcome("inspect", "a.parquet", *options).stdout.splitlines()[0]

    assert "; filters take 1.8 KiB (" in first_line(*given)
    assert "; usable filters take 816 B (" in first_line()
    assert "; filters in int64 take 816 B (" in first_line("-c", "int64")


def test_build_says_what_readers_make_of_it(folder):
    build = ("build", "file.parquet", "-o", "out.parquet", "--keys", "keys.json", "-c")
    assert outcome(*build, "int64,string").complaint == (
        "file.parquet: row group 0, column string: encrypted: no key for column string (the file names no key);"
        " --column-key or --keys gives it"
    )
    result = outcome(*build, "int64")
    assert result.code == 0
    assert result.stdout.endswith(
        "note: DuckDB up to 2.0 cannot read encrypted columns that have a filter\n"
    )
    asked = ("-c", "string", "--keys", "keys.json")
    gives = "encrypted, no key; --column-key or --keys gives it"
    assert outcome("inspect", "file.parquet", *asked).stdout.endswith(f"string: {gives}\n")
    probed = outcome("probe", "file.parquet", *asked, "-v", "x").stdout.splitlines()
    assert [line.endswith(f"\t{gives}") for line in probed] == [False, False, True]
    ctr = Recipe(columns={"int64": OWN}, algorithm="AES_GCM_CTR_V1")
    (folder / "ctr.parquet").write_bytes(encrypt(PLAIN.read_bytes(), ctr).data)
    report = pb.build(
        "ctr.parquet", "ctr.out.parquet", columns=["int64"], keys=pb.read_keys("keys.json")
    )
    assert report.notes == (
        "DuckDB up to 2.0 cannot read encrypted columns that have a filter",
        "pages in AES-CTR are not authenticated: a value that was altered there is in the filter",
    )
    plain = pb.build("ctr.parquet", "plain", columns=["int32"], keys=pb.read_keys("keys.json"))
    assert plain.notes == ()


@pytest.mark.parametrize(
    ("mode", "expected"), [(0o600, 0o600), (0o640, 0o640), (0o444, 0o644), (0o666, 0o644)]
)
@pytest.mark.parametrize("command", [("dump", "-c", "int64", "--decrypt"), ("report",)])
def test_none_may_read_the_bits_who_may_not_read_the_file(mode, expected, command, folder):
    (folder / "filtered.parquet").chmod(mode)
    umask = os.umask(0o022)
    try:
        name, *rest = command
        result = outcome(name, "filtered.parquet", *rest, "-o", "out", "--keys", "keys.json")
    finally:
        os.umask(umask)
    assert result.code == 0
    assert (folder / "out").stat().st_mode & 0o777 == expected


def test_plain_files_load_nothing_of_encryption(tmp_path):
    """It would take longer than most files take to build."""
    code = (
        "import sys, parquet_bloom as pb;"
        f"pb.build({str(PLAIN)!r}, {str(tmp_path / 'out')!r}, columns=['int64']);"
        f"pb.strip({str(tmp_path / 'out')!r}, in_place=True);"
        "print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    ours = {name for name in loaded if name.startswith("parquet_bloom.parquet.")}
    assert "parquet_bloom.parquet.footer.tail" in ours
    assert (
        not {
            "parquet_bloom.encryption.cipher",
            "parquet_bloom.parquet.sealed.encrypted_footer",
            "parquet_bloom.encryption.keys",
        }
        & ours
    )
    assert not {"cryptography", "hashlib", "numpy", "pyarrow"} & loaded


# ------------------------------------------------------------------------------------------------
# What the next command needs

GIVEN = [
    (["--keys", "keys.json"], "--keys keys.json"),
    (
        ["--footer-key", "env:FOOTER,hex", "--column-key", f"int64=ascii:{OWN.decode()}"],
        "--footer-key env:FOOTER,hex --column-key int64=KEYSPEC",
    ),
]


@pytest.mark.parametrize(("options", "again"), GIVEN, ids=["file", "options"])
def test_the_next_command_has_the_same_keys(options, again, folder):
    def last(*command):
        ran = outcome(*command, *options)
        assert OWN.decode() not in ran.output
        return ran.stdout.splitlines()[-1].strip()

    of_column = f"next: pbloom advise file.parquet -c int64 {again}"
    assert last("inspect", "file.parquet", "-c", "int64") == of_column
    assert last("probe", "file.parquet", "-c", "int64", "-v", "1") == of_column
    checked = ("validate", "file.parquet", "--no-config", "-c", "int64")
    assert last(*checked) == f"{of_column} --no-config"
    build = f"next: pbloom build file.parquet -c int64 --in-place {again}"
    assert last(*checked, "--require", "int64") == build
    shutil.copy("file.parquet", "copy.parquet")
    two = outcome(*checked, "--require", "int64", "copy.parquet", *options).stdout
    assert f"{build}\n".replace("build file.parquet", "build file.parquet copy.parquet") in two
    assert again in last(*checked, "--require", "int64", "--format", "json")
    outcome("report", "file.parquet", "-o", "page.html", *options)
    assert OWN.decode() not in (folder / "page.html").read_text()


def test_the_next_command_names_the_key_that_it_needs(folder):
    """Anyone can read what is not encrypted below a signed footer, but not sign it again."""
    recipe = Recipe(columns={"int64": OWN}, plaintext_footer=True)
    Path("a.parquet").write_bytes(encrypt(PLAIN.read_bytes(), recipe).data)
    asked = ("validate", "a.parquet", "-c", "int32", "--no-config", "--require", "int32")
    command = "pbloom build a.parquet -c int32 --in-place --footer-key"
    assert outcome(*asked).stdout.splitlines()[-1].strip() == f"next: {command} KEYSPEC"
    given = f"{command} env:FOOTER,hex"
    again = outcome(*asked, "--footer-key", "env:FOOTER,hex").stdout
    assert again.splitlines()[-1].strip() == f"next: {given}"
    assert outcome(*given.split()[1:]).code == 0


@pytest.mark.parametrize("wrong", ["int64", "string"])
def test_only_the_keys_of_the_columns_that_are_compared_count(folder, wrong):
    keys = {"int64": OWN, "string": OWN} | {wrong: bytes(16)}
    given = [f"--column-key={name}=hex:{key.hex()}" for name, key in keys.items()]
    compared = ("diff", "file.parquet", "filtered.parquet", "--footer-key=env:FOOTER,hex", *given)
    result = outcome(*compared, "-c", "int64", "--json")
    if wrong == "int64":
        assert (result.code, "column int64: ColumnMetaData: cannot be" in result.complaint) == (
            2,
            True,
        )
    else:
        found = json.loads(result.stdout)
        assert (result.code, {each["column"] for each in found["filters"]}) == (1, {"int64"})
    whole = outcome(*compared)
    assert (whole.code, f"column {wrong}: ColumnMetaData: cannot be" in whole.complaint) == (
        2,
        True,
    )


@pytest.mark.parametrize("names", [("a.parquet",), ("a.parquet", "b.parquet")])
def test_what_is_advised_names_the_key_that_building_needs(folder, names):
    recipe = Recipe(columns={"int64": OWN}, plaintext_footer=True)
    for name in names:
        Path(name).write_bytes(encrypt(PLAIN.read_bytes(), recipe).data)
    Path("pbloom.toml").write_text("[validate]\nrequire = ['int32']\n")
    command = f"pbloom build {' '.join(names)} -c int32"
    advised = outcome("advise", *names, "-c", "int32").stdout.splitlines()[-1]
    assert advised == f"next: {command} --in-place --footer-key KEYSPEC"
    outcome("report", *names, "-c", "int32", "-o", "page.html")
    assert (
        f">{command} --fpp 0.01 --in-place --footer-key KEYSPEC<" in Path("page.html").read_text()
    )


def test_a_difference_is_diagnosed_with_the_same_options(folder):
    table = pq.read_table(PLAIN)
    at = table.column_names.index("int64")
    changed = table.set_column(at, table.schema.field(at), pc.add(table["int64"], 1))
    pq.write_table(changed, "plain.parquet", row_group_size=table.num_rows // 3)
    (folder / "other.parquet").write_bytes(encrypt(Path("plain.parquet").read_bytes(), RECIPE).data)
    keys = pb.read_keys("keys.json")
    pb.build("other.parquet", columns="int64", keys=keys, in_place=True)
    options = ["-c", "int64", "-g", "0", "--keys", "keys.json"]
    ran = outcome("diff", "filtered.parquet", "other.parquet", *options)
    command = f"pbloom diff filtered.parquet other.parquet --diagnose {' '.join(options)}"
    assert (ran.code, ran.stdout.splitlines()[-1]) == (1, f"next: {command}")
    assert "nothing wrong is found" in outcome(*command.split()[1:]).stdout


def test_a_keys_file_of_the_environment_is_there_again(folder):
    ran = outcome(
        "inspect", "file.parquet", "-c", "int64", environment={"PBLOOM_KEYS": "keys.json"}
    )
    assert ran.stdout.splitlines()[-1] == "next: pbloom advise file.parquet -c int64"


@pytest.mark.parametrize("plaintext_footer", [False, True])
def test_a_prefix_that_is_missing_names_its_option(folder, plaintext_footer):
    recipe = Recipe(aad_prefix=b"t", stores_prefix=False, plaintext_footer=plaintext_footer)
    Path("own.parquet").write_bytes(encrypt(PLAIN.read_bytes(), recipe).data)
    asked = ("inspect", "own.parquet", "--footer-key", f"hex:{FOOTER_KEY.hex()}")
    assert outcome(*asked, "--aad-prefix", "t").code == 0
    said = outcome(*asked).stderr
    about = "signature not verified" if plaintext_footer else "the footer is encrypted"
    missing = "no AAD prefix given, and the file does not store its own; --aad-prefix gives it"
    assert about in said
    assert f": {missing}\n" in said


def test_what_is_said_of_files_that_were_written_names_them(folder):
    """DuckDB still reads the files that were read: these got no filter."""
    Path("other.parquet").write_bytes(Path("file.parquet").read_bytes())
    keys = ("--keys", "keys.json", "-c", "int64")
    build = ("build", "file.parquet", "other.parquet", *keys, "--output-dir")
    first, second, note, _ = outcome(*build, "out").stdout.splitlines()
    assert first.startswith("out/file.parquet: 3 filters, ")
    assert second.startswith("out/other.parquet: 3 filters, ")
    assert note.startswith("2 files: note: DuckDB ")
    shutil.copytree("out", "in")
    Path("other.parquet").rename("in/third.parquet")
    *_, note, _ = outcome("build", "in", *keys, "--output-dir", "new").stdout.splitlines()
    assert note.startswith("new/third.parquet: note: DuckDB ")
