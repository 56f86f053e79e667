"""What is wrong with a command line is one line, with the way out where there is one."""

import pytest
from make.commands import outcome

WHERE_TO_WRITE = "expected where to write: -o FILE for a copy, --output-dir DIRECTORY for copies of several files,"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("frobnicate", "frobnicate: no such command; see pbloom --help"),
        ("buid x", "buid: no such command; did you mean build?"),
        (
            "index find x",
            "find: no such command; expected build, add, remove, probe, compact, check or sql",
        ),
        ("version", "version: no such command; did you mean --version?"),
        ("-V", "-V: no such option; did you mean --version?"),
        (
            "lake/a.parquet -c id",
            "lake/a.parquet: no such command; expected one before the file, such as pbloom inspect lake/a.parquet",
        ),
        (
            "index a.parquet",
            "a.parquet: no such command; expected one before the file, such as pbloom index build a.parquet",
        ),
        (
            "spark a.orc",
            "a.orc: no such command; expected one before the file, such as pbloom spark inspect a.orc",
        ),
        (
            "conformance a.parquet",
            "a.parquet: no such command; expected read, write, list or fetch, of which none takes a file; pbloom validate a.parquet --diagnose judges one",
        ),
        (
            "index -c id a.parquet",
            "-c: no such option; expected after a command, such as pbloom index build -c",
        ),
        (
            "--fpp 0.1 a.parquet",
            "--fpp: no such option; expected after a command, such as pbloom advise --fpp",
        ),
        ("--foo", "--foo: no such option; see pbloom --help"),
        ("probe x --foo", "--foo: no such option; see pbloom probe --help"),
        ("probe x -y", "-y: no such option; see pbloom probe --help"),
        ("probe x --colum a", "--colum: no such option; did you mean --column or --column-key?"),
        ("build x --out a", "--out: no such option; did you mean --output?"),
        ("build x --FPP 1", "--FPP: no such option; did you mean --fpp?"),
        ("probe", "expected --column COLUMN; see pbloom probe --help"),
        ("probe x id 42", "id: no such file; did you mean -c id?"),
        (
            "find / -c id -v 1 2 3",
            "2: no such file; did you mean -v 2?",
        ),
        (
            "probe / -c id -v 1 -v 2 x-y",
            "x-y: no such file; did you mean -v x-y?",
        ),
        ("build x user.id", "user.id: no such file; did you mean -c user.id?"),
        ("build x -c user_id name -o y", "name: no such file; did you mean -c name?"),
        ("strip x id --in-place", "id: no such file; did you mean -c id?"),
        ("strip x y.orc", f"{WHERE_TO_WRITE} or --in-place to change the files themselves"),
        ("inspect", "expected FILE; see pbloom inspect --help"),
        ("diff a", "expected A B; see pbloom diff --help"),
        ("diff a b c d", "c d: more arguments than expected; see pbloom diff --help"),
        ("completion", "expected bash, zsh or fish; see pbloom completion --help"),
        ("completion csh", "'csh': expected bash, zsh or fish"),
        ("probe x -c", "-c: expected COLUMN after it"),
        ("probe x --table", "--table: expected auto, delta or iceberg after it"),
        ("inspect x --json=yes", "--json: expected no value"),
        (
            "build x -c id -o=y",
            "-o=y: expected -o y; = is between a long option and its value only",
        ),
        (
            "probe x -c=id -v 1",
            "-c=id: expected -c id; = is between a long option and its value only",
        ),
        ("inspect x -c= ", "-c=: expected -c ''; = is between a long option and its value only"),
        ("build x -c id -fpp 0.01", "-fpp: no such option; did you mean --fpp?"),
        ("find x -c id --index a -v 1 --index b", "--index: expected once, found 2 times"),
        ("build x -c id -o a -o b -o b", "--output: expected once, found 3 times"),
        (
            "build x -c id -o a --fpp 2 --fpp 3",
            "--fpp: '3': expected a rate between 0 and 1, such as 0.01",
        ),
        ("build x -column id", "-column: no such option; did you mean --column?"),
        ("build x -ndv=5", "-ndv: no such option; did you mean --ndv?"),
        ("find x -c id -v 7 -json", "-json: no such option; did you mean --json?"),
        ("validate x -no-deep", "-no-deep: no such option; did you mean --no-deep?"),
        ("index check -deep", "-deep: no such option; did you mean --deep?"),
        ("index -help", "-help: no such option; did you mean --help?"),
        ("-version", "-version: no such option; did you mean --version?"),
        ("strip x -q=1", "-=: no such option; see pbloom strip --help"),
        ("inspect x --color blue", "--color: 'blue': expected auto, always or never"),
        ("build x --fpp 0.1%", "--fpp: '0.1%': expected a rate between 0 and 1, such as 0.001"),
        ("build x --fpp 100%", "--fpp: '100%': expected a rate between 0 and 1, such as 0.01"),
        (
            "build x --fpp user_id=0.001",
            "--fpp: 'user_id=0.001': expected a rate between 0 and 1, such as 0.001, for all columns: user_id at another one takes a call of its own",
        ),
        (
            "probe x -c a --values-from gone",
            "--values-from or --ids: 'gone': No such file or directory",
        ),
        (
            "rule length-prefix",
            "no such rule 'length-prefix'; `pbloom rule` lists them; diagnoses have a page of their own in the documentation",
        ),
        ("undo x", "undo: no such command; did you mean strip or recover?"),
        ("diagnose x", "diagnose: no such command; did you mean validate --diagnose?"),
        ("check x", "check: no such command; did you mean validate?"),
        ("index verify x", "verify: no such command; did you mean check?"),
        ("search x", "search: no such command; did you mean probe or find?"),
        ("index search x", "search: no such command; did you mean probe?"),
        ("spark show x", "show: no such command; did you mean inspect?"),
        ("add x", "add: no such command; did you mean build?"),
        ("stats x", "stats: no such command; did you mean inspect?"),
        ("rule PB999", "no such rule 'PB999'; `pbloom rule` lists them"),
        (
            "build x -o y",
            "expected --column COLUMN, or --auto for the columns that `pbloom advise` recommends",
        ),
        (
            "report x -o page.pdf",
            "--output: page.pdf: is written as HTML, expected page.html",
        ),
        ("build x -c a -o .", "--output: '.' is a folder, expected a file"),
        (
            "build x -c a --in-place --output-dir y",
            "expected exactly one of --output, --output-dir, --in-place and --append-in-place, found --output-dir and --in-place",
        ),
        (
            "index add x --index .",
            ".: no index, expected a folder with manifest-*.json; pbloom index build makes one",
        ),
    ],
)
def test_it_is_one_line(arguments, said, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = outcome(*arguments.split())
    assert (result.code, result.stdout, result.complaint) == (2, "", said)


@pytest.mark.parametrize(
    ("arguments", "first", "name"),
    [
        ("inspect my events.parquet", "my", "my events.parquet"),
        ("find other.parquet my events.parquet -c id -v 1", "my", "my events.parquet"),
        ("index build in a folder -c id --index x", "in", "in a folder"),
        ("clean-temp in a folder", "in", "in a folder"),
    ],
)
def test_a_name_with_spaces_needs_quotes(arguments, first, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my events.parquet").touch()
    (tmp_path / "in a folder").mkdir()
    result = outcome(*arguments.split())
    assert (result.code, result.stdout) == (2, "")
    assert result.complaint == f"{first}: no such file; did you mean '{name}'?"
    # A file of the first word is meant itself.
    (tmp_path / first).touch()
    assert f"{first}: no such file" not in outcome(*arguments.split()).stderr


def test_a_value_may_begin_with_an_equals_sign(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for value in ("-v =5", "-va=5", "--value==5"):
        result = outcome(*f"probe x -c id {value}".split())
        assert result.complaint == "x: No such file or directory"
