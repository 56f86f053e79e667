"""What is wrong with a command line is one line, with the way out where there is one."""

import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from make.commands import outcome

WHERE_TO_WRITE = (
    "expected an output: -o FILE for a copy, --output-dir DIRECTORY for copies of several files,"
)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("frobnicate", "frobnicate: no such command; see pbloom --help"),
        (
            "-v",
            "-v: expected after a command, with a value, as in pbloom probe -v LITERAL; did you mean pbloom --version, or --verbose of a command?",
        ),
        (
            "-v find lake -c id",
            "-v: expected after a command, with a value, as in pbloom find -v LITERAL; did you mean pbloom --version, or --verbose of a command?",
        ),
        ("-v 7 probe a", "-v: expected after a command, as in pbloom probe -v 7 a"),
        ("-c id build a", "-c: expected after a command, as in pbloom build -c id a"),
        (
            "-c build a",
            "-c: expected after a command, with a value, as in pbloom build -c COLUMN",
        ),
        ("-q build a", "-q: expected after a command, as in pbloom build -q a"),
        ("probe --columns id a", "--columns: no such option; did you mean --column?"),
        (
            "find lake -c id -v 1 --where day=1",
            "--where: expected with --table only, such as --table auto; of other files, name the folder of the partition, as in lake/day=1/; values of a column are asked for with --value",
        ),
        ("PB401", "PB401: no such command; did you mean pbloom rule PB401?"),
        (
            "false-negatives",
            "false-negatives: no such command; did you mean pbloom rule false-negatives?",
        ),
        ("buid x", "buid: no such command; did you mean build?"),
        ("help index-add", "index-add: no such command; did you mean index add?"),
        ("index-frob", "index-frob: no such command; did you mean index?"),
        ("help ndv", "ndv: no such command; --ndv is an option: build and spark build have it"),
        (
            "help hash-key",
            (
                "hash-key: no such command; --hash-key is an option: find, index build, index add, index probe, index check, "
                "index sql and spark index have it"
            ),
        ),
        ("help rebuild", "rebuild: no such command; --rebuild is an option: repair has it"),
        (
            "help places",
            "places: no such command; --places is an option: index build and spark index have it",
        ),
        (
            "places lake",
            "places: no such command; --places is an option: index build and spark index have it",
        ),
        (
            "index build x.index lake -c id --since 1d",
            "--since: no such option; pbloom index add brings an index up to date with what is new",
        ),
        (
            "index finish x",
            "finish: no such command; expected build, add, remove, probe, compact, check or sql",
        ),
        ("index find x", "find: no such command; did you mean pbloom find?"),
        ("spark repair x", "repair: no such command; did you mean pbloom repair?"),
        ("index info", "info: no such command; did you mean check?"),
        (
            "index probe --index x -c id -v 1 --by-value",
            "--by-value: no such option; index probe answers by value anyway",
        ),
        (
            "index add --index ix -c id x",
            "-c: no such option; an index is of the columns that it was built of; pbloom index build makes another",
        ),
        ("version", "version: no such command; did you mean --version?"),
        ("-V", "-V: no such option; did you mean --version?"),
        (
            "lake/a.parquet -c id",
            "lake/a.parquet: no such command; expected one before the file, such as pbloom inspect lake/a.parquet",
        ),
        (
            "index a.parquet",
            (
                "a.parquet: no such command; expected one before the file, such as pbloom index build --index DIR"
                " --column COLUMN a.parquet"
            ),
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
            "-c: expected after a command, as in pbloom index build -c",
        ),
        (
            "--fpp 0.1 a.parquet",
            "--fpp: expected after a command, as in pbloom advise --fpp",
        ),
        ("-c id probe x", "-c: expected after a command, as in pbloom probe -c id x"),
        ("index -c id probe", "-c: expected after a command, as in pbloom index probe -c id"),
        (
            "-c id probe https://host/a?sig=secret",
            "-c: expected after a command, as in pbloom probe -c",
        ),
        (
            "--footer-key hex:secret probe x",
            "--footer-key: expected after a command, as in pbloom probe --footer-key",
        ),
        ("--foo", "--foo: no such option; see pbloom --help"),
        ("probe x --foo", "--foo: no such option; see pbloom probe --help"),
        ("probe x -y", "-y: no such option; no command asks before it works"),
        ("probe x -o out --force", "--force: no such option; did you mean --overwrite?"),
        ("repair x -oout -y", "-y: no such option; did you mean --overwrite?"),
        ("index build x -c a -o ix", "-o: no such option; did you mean --index?"),
        ("index build x --index ix -o y", "-o: no such option; pbloom build has it"),
        ("index build --index ix x -f", "-f: no such option; did you mean --overwrite?"),
        ("repair x -f", "-f: no such option; no command asks before it works"),
        ("probe x -c id -f ids.txt", "-f: no such option; did you mean --ids?"),
        ("build x --columns id", "--columns: no such option; did you mean --column?"),
        ("inspect x --format json", "--format: no such option; did you mean --json?"),
        (
            "inspect x --footer",
            "--footer: no such option; did you mean the command pbloom dump --footer?",
        ),
        (
            "clean-temp . --in-place",
            "--in-place: no such option; pbloom build, pbloom repair and pbloom strip have it",
        ),
        ("clean-temp . -y", "-y: no such option; no command asks before it works"),
        ("build x --all", "--all: no such option; did you mean --auto?"),
        (
            "inspect x --all",
            "--all: no such option; where -c may be left out, all columns are meant",
        ),
        (
            "validate x -o y.sarif",
            "--output: y.sarif: expected --format sarif, or a name for text",
        ),
        ("probe x -C id", "-C: no such option; did you mean -c?"),
        ("build x -c id --inplace", "--inplace: no such option; did you mean --in-place?"),
        ("build x -c id --Dry_Run", "--Dry_Run: no such option; did you mean --dry-run?"),
        ("build x -j 4", "-j: no such option; did you mean --threads?"),
        ("build x --fpr 0.1", "--fpr: no such option; did you mean --fpp?"),
        ("validate x --fpr 0.1", "--fpr: no such option; did you mean --max-fpp?"),
        (
            "inspect -r x",
            "-r: no such option; folders are searched with all that is below them",
        ),
        (
            "find x -c id -v 1 --limit 5",
            "--limit: no such option; a terminal shows the first of many rows, `| head` those of a pipe",
        ),
        ("validate x --policy a.toml", "--policy: no such option; did you mean --config?"),
        (
            "find x -c id -v 5 -q",
            "-q: no such option; TERM=dumb leaves out the progress, > /dev/null the answer, and the exit code stays",
        ),
        ("validate --fix x", "--fix: no such option; did you mean the command pbloom repair?"),
        (
            "find x --explain",
            "--explain: no such option; did you mean the command pbloom rule or --explain of pbloom probe?",
        ),
        ("probe x --values 5", "--values: no such option; did you mean --value?"),
        ("repair --fix x", "--fix: no such option; see pbloom repair --help"),
        (
            "validate --repair x",
            "--repair: no such option; did you mean the command pbloom repair?",
        ),
        ("inspect x --jobs 2 --version", "--jobs: no such option; did you mean --threads?"),
        (
            "build t --table delta -c id --version 3",
            "--version: no such option; the newest version of a table is changed; pbloom --version tells that of pbloom",
        ),
        ("rule --version", "--version: no such option; did you mean pbloom --version?"),
        ("inspect x --fail-on error", "--fail-on: no such option; pbloom validate has it"),
        ("inspect x -v 3", "-v: no such option; pbloom probe and pbloom find have it"),
        ("inspect x -v", "-v: no such option; did you mean --verbose?"),
        ("inspect -v .", "-v: no such option; did you mean --verbose?"),
        ("prove x", "prove: no such command; did you mean validate?"),
        ("build x -c id --replace", "--replace: no such option; did you mean --in-place?"),
        (
            "build x -c id --in-place --replace",
            "--replace: no such option; did you mean --existing replace?",
        ),
        ("index probe --foo", "--foo: no such option; see pbloom index probe --help"),
        ("probe x --colum a", "--colum: no such option; did you mean --column or --column-key?"),
        ("build x --out a", "--out: no such option; did you mean --output?"),
        ("build x --FPP 1", "--FPP: no such option; did you mean --fpp?"),
        ("probe", "expected --column COLUMN; see pbloom probe --help"),
        ("probe x id 42", "id: no such file; did you mean -c id?"),
        ("probe . id=42", "id=42: no such file; did you mean -c id -v 42?"),
        ("find . id=O-1", "id=O-1: no such file; did you mean -c id -v O-1?"),
        ("probe . -c id = 42", "42: no such file; did you mean -v 42?"),
        ("find 42 . -c id", "42: no such file; did you mean -v 42?"),
        ("index probe --index i -c id 42", "42: no such file; did you mean -v 42?"),
        ("find --index i 42 -c id", "42: no such file; did you mean -v 42?"),
        ("find 42 -c id", "expected at least one --value, or --values-from or --ids"),
        ("probe . -c id=42", "id=42: no value; did you mean -c id -v 42?"),
        ("probe . -c id==42", "id==42: no value; did you mean -c id -v 42?"),
        ("probe . -c id =42", "=42: no such file; did you mean -v 42?"),
        ("probe . -c id country=DE", "country=DE: no such file; did you mean -c country -v DE?"),
        ("probe . -c id IN 5 42", "5: no such file; did you mean -v 5?"),
        (
            "inspect . —json",
            "—json: no such file; did you mean --json, with hyphens for the dash?",
        ),
        (
            "find . -c id -v 1 2 3",
            "2: no such file; did you mean -v '1 2 3' or -v 1 -v 2 -v 3?",
        ),
        (
            "probe . -c id -v 1 -v 2 x-y",
            "x-y: no such file; did you mean -v '2 x-y' or -v 2 -v x-y?",
        ),
        ("build x user.id", "user.id: no such file; did you mean -c user.id?"),
        (
            "find lake.events -c id -v 1",
            "lake.events: no such file; a table in a catalog is named with --table iceberg --catalog NAME",
        ),
        ("find lake.orc -c id -v 1", "lake.orc: No such file or directory"),
        ("diff lake.events a.orc", "lake.events: No such file or directory"),
        ("build x -c user_id name -o y", "name: no such file; did you mean -c name?"),
        ("strip x id --in-place", "id: no such file; did you mean -c id?"),
        ("strip x y.orc", f"{WHERE_TO_WRITE} or --in-place to change the files themselves"),
        ("inspect", "expected FILE; see pbloom inspect --help"),
        ("diff a", "expected A B; see pbloom diff --help"),
        ("diff a b c d", "c d: more arguments than expected; see pbloom diff --help"),
        ("completion", "expected bash, zsh or fish; see pbloom completion --help"),
        ("completion --shell zsh", "--shell: no such option; see pbloom completion --help"),
        ("dump x id", "id: more arguments than expected; see pbloom dump --help"),
        (
            "build --table . -c id",
            "--table: '.': expected auto, delta or iceberg; did you mean --table auto .?",
        ),
        (
            "find x -c a --ids 5",
            "--values-from or --ids: '5': no such file; did you mean -v 5?",
        ),
        (
            "probe x -c a --values-from 5,6",
            "--values-from or --ids: '5,6': no such file; did you mean -v 5 -v 6?",
        ),
        (
            "probe x -c a --values-from .",
            "--values-from or --ids: '.' is a folder, expected a file",
        ),
        (
            "inspect az://c/x",
            "az://c/x: which storage account is not said: set AZURE_STORAGE_ACCOUNT_NAME, or --storage-option account_name=NAME",
        ),
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
        ("build x -out y", "-out: no such option; did you mean --output or -o ut?"),
        ("build x -outp=y z", "-outp: no such option; did you mean --output or -o utp=y?"),
        ("probe x -c a -val 5", "-val: no such option; did you mean --value or -v al?"),
        ("find x -col a", "-col: no such option; did you mean --column or -c ol?"),
        (
            "build x -cat",
            f"{WHERE_TO_WRITE} or --in-place or --append-in-place to change the files themselves",
        ),
        (
            "build x --memory 1 GiB",
            "--memory: '1': expected 256.0 MiB or more; did you mean '1 GiB'?",
        ),
        (
            "build x --max-bytes=1 MiB",
            "--max-bytes: '1': expected 64 B to 128.0 MiB; did you mean '1 MiB'?",
        ),
        ("build x --memory 1 --dry-run", "--memory: '1': expected 256.0 MiB or more"),
        ("build . y.parquet -c a", "y.parquet: no such file; did you mean -o y.parquet?"),
        ("strip . y.orc", "y.orc: no such file; did you mean -o y.orc?"),
        ("strip . y*.orc", f"{WHERE_TO_WRITE} or --in-place to change the files themselves"),
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
            "probe FILE -c a --ids s3://lake/ids.csv",
            "--values-from or --ids: 's3://lake/ids.csv' is a URL, expected a local path",
        ),
        (
            "rule length-prefix",
            "no such rule 'length-prefix'; `pbloom rule` lists them; a finding that has a diagnosis explains it",
        ),
        ("undo x", "undo: no such command; did you mean strip or recover?"),
        ("revert x", "revert: no such command; did you mean strip or recover?"),
        ("ls x", "ls: no such command; did you mean inspect?"),
        ("list x", "list: no such command; did you mean inspect?"),
        ("index list", "list: no such command; did you mean check?"),
        ("size x", "size: no such command; did you mean inspect --summary?"),
        # It has no --summary.
        (
            "spark size x",
            "size: no such command; expected advise, build, inspect, probe, validate, strip, index or clean-temp",
        ),
        ("count x", "count: no such command; did you mean probe or find?"),
        ("contains x", "contains: no such command; did you mean probe or find?"),
        ("grep x", "grep: no such command; did you mean probe or find?"),
        (
            "find x -c a -v 1 --since 1d",
            "--since: no such option; advise, build, inspect, probe, validate, repair, strip and report have it",
        ),
        ("help find nonsense", "nonsense: expected one command, as in pbloom help find"),
        ("help find probe", "probe: expected one command, as in pbloom help find"),
        ("help repair PB401", "PB401: expected one command, as in pbloom help repair"),
        (
            "help index nonsense",
            "nonsense: no such command; expected build, add, remove, probe, compact, check or sql",
        ),
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
        (
            "build x -c a -o .",
            "--output: '.' is a folder, expected a file; did you mean --output-dir .?",
        ),
        (
            "build x -c a -o new/",
            "--output: 'new/' is a folder, expected a file; did you mean --output-dir new/?",
        ),
        ("report x -o .", "--output: '.' is a folder, expected a file"),
        (
            "build x -c a -o -",
            "--output: -: standard output is not supported here, expected a file",
        ),
        (
            "find x -c a -v 1 -o -",
            "--output: -: standard output is not supported here, expected a file",
        ),
        (
            "build x -c a --ndv 1,000,000",
            "--ndv: '1,000,000': expected a whole number, 1 to 4,611,686,018,427,387,904, such as 1000000",
        ),
        (
            "build x -c a --ndv 1.5M",
            "--ndv: '1.5M': expected a whole number, 1 to 4,611,686,018,427,387,904, such as 1500000",
        ),
        (
            "build x -c a --threads 0.5",
            "--threads: '0.5': expected a whole number, 1 or more",
        ),
        ("build x --fpp 0,001", "--fpp: '0,001': expected a rate between 0 and 1, such as 0.001"),
        (
            "inspect x -g 1-3",
            "--row-group: '1-3': expected numbers from 0, with commas between them, such as 1,2,3",
        ),
        (
            "build x -c id, name, b -o y",
            "--column: 'id,': ends with a comma; did you mean id,name,b, without spaces?",
        ),
        ("inspect --footer-key ascii:0123456789abcdef x", "x: No such file or directory"),
        (
            "inspect x -g 0, 1",
            "--row-group: '0,': ends with a comma; did you mean 0,1, without spaces?",
        ),
        ("build help", "help: no such file; did you mean pbloom build --help?"),
        (
            "build inspect x -c id --in-place",
            "inspect: no such file, but a command: expected one at a time, as in pbloom build FILE",
        ),
        (
            "inspect -",
            "-: standard input is not supported: expected a file, which is read from its end; --manifest - reads the names of files from it",
        ),
        (
            "find - -c id -v 5",
            "-: standard input is not supported: expected a file, which is read from its end; --values-from - reads values from it",
        ),
        ("probe . -c id 5", "5: no such file; did you mean -v 5?"),
        (
            "advise . --engine ORC Java",
            "Java: no such file; did you mean --engine 'ORC Java'?",
        ),
        (
            "conformance read --adapter x --timeout 1m",
            "--timeout: '1m': expected a number",
        ),
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
    ("condition", "meant"),
    [
        ("id = 42", "-c id -v 42"),
        ("Order ID = 'O-1'", "-c 'Order ID' -v O-1"),
        ("id == 'a b'", "-c id -v 'a b'"),
    ],
)
def test_a_condition_with_blanks(condition, meant):
    said = f"{condition}: no value; did you mean {meant}?"
    assert outcome("probe", ".", "-c", condition).complaint == said


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


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with two files, and one of them in a folder below."""
    monkeypatch.chdir(tmp_path)
    table = pa.table({"user_id": [1, 2], "country": ["AT", "CH"]})
    table = table.append_column("at", pa.array([{"Day": 1}, {"Day": 2}]))
    table = table.append_column("order id", pa.array(["a", "b"]))
    for name in ("a.parquet", "b.parquet"):
        pq.write_table(table, name)
    (tmp_path / "lake").mkdir()
    pq.write_table(table, "lake/a.parquet")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("build a.parquet -c user_id country --in-place", "country: -c country"),
        ("build country lake -c user_id --in-place", "country: -c country"),
        ("build -c user_id COUNTRY lake --in-place", "COUNTRY: -c country"),
        ("build lake -c user_id ,country --in-place", ",country: -c country"),
        ("strip -cuser_id at.day a.parquet --in-place", "at.day: -c at.Day"),
        ("inspect a.parquet user_id", "user_id: -c user_id"),
        ("probe a.parquet -c user_id country -v 5", "country: -c country"),
        ("probe a.parquet -c user_id -v 5 country", "country: -c country"),
        ("find a.parquet -c user_id -v 5 --columns user_id at", "at: --columns at"),
        ("validate a.parquet --require user_id country", "country: --require country"),
        ("validate a.parquet --require=user_id country", "country: --require country"),
        ("validate a.parquet --ignore PB301 PB302", "PB302: --ignore PB302"),
        ("inspect a.parquet -g 0 1", "1: -g 1"),
        ("inspect a.parquet --since 2026-11-20 06:00", "06:00: --since '2026-11-20 06:00'"),
        ("advise a.parquet --budget 2 GiB", "GiB: --budget '2 GiB'"),
        ("build a.parquet -c user_id --fpp 0.1 % --in-place", "%: --fpp '0.1 %'"),
        ("index build --index i -c user_id country lake", "country: -c country"),
        ("dump a.parquet -c order id", "id: -c 'order id'"),
        ("diff a.parquet b.parquet -c order id", "id: -c 'order id'"),
        ("build a.parquet -c order id -o x.parquet", "id: -c 'order id'"),
        ("build a.parquet -c user_id order id --in-place", "order: -c 'order id'"),
        ("find a.parquet -c user_id -v 1 --columns order id", "id: --columns 'order id'"),
        ("find a.parquet -c country -v AT country --columns country", "country: -c country"),
        ("probe a.parquet -c country -v new york b.parquet", "york: -v 'new york' or -v new -v york"),
        ("probe -v new york city -c country a.parquet", "york: -v 'new york city' or -v new -v york -v city"),
        ("probe a.parquet -c country -v new york city", "york: -v 'new york city' or -v new -v york -v city"),
        ("probe a.parquet -c country -v 1 2 3 4 5 6 7 8 9", "2: -v 2"),
        ("inspect a.parquet,b.parquet", "a.parquet,b.parquet: a.parquet b.parquet, with spaces between"),
        ("index build --index i -c user_id a.parquet,b.parquet", "a.parquet,b.parquet: a.parquet b.parquet, with spaces between"),
        ("inspect a.parquet, b.parquet", "a.parquet,: a.parquet, without the comma"),
    ],
)  # fmt: skip
def test_a_word_that_is_no_file_is_taken_for_what_it_stands_behind(arguments, said, here):
    """Before anything is written."""
    before = {path: path.read_bytes() for path in here.rglob("*.*")}
    result = outcome(*arguments.split())
    word, meant = said.split(": ")
    assert (result.code, result.stderr.splitlines()[0]) == (
        2,
        f"pbloom: {word}: no such file; did you mean {meant}?",
    )
    assert {path: path.read_bytes() for path in here.rglob("*.*")} == before


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "arguments",
    [
        "-c user_id gone lake",
        "lake gone -c user_id",
        "--fpp 0.1 gone lake -c user_id",
        "-c user_id lake --since 2d gone",
    ],
)
def test_a_file_that_is_not_there_keeps_no_other_from_being_built(arguments):
    """Where its name is no column of theirs."""
    result = outcome("build", *arguments.split(), "--in-place", "-q")
    assert (result.code, result.stderr) == (2, "pbloom: gone: No such file or directory\n")
    assert result.stdout.splitlines()[-1].startswith("2 files: 1 built, 1 failed; 1 filter, ")


@pytest.mark.usefixtures("here")
def test_a_word_that_is_no_column_either_is_not_suggested():
    for verb in ("build a.parquet -c user_id blah -o x.parquet", "strip a.parquet blah --in-place"):
        result = outcome(*verb.split())
        assert (result.code, result.complaint) == (2, "blah: no such file or column")


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize(
    "asked",
    [
        "find a.parquet -c user_id -v 1 --columns order_id",
        "probe a.parquet -c user_id --values-from b.parquet --values-column order_id",
        "index build --index i -c order_id a.parquet",
    ],
)
def test_a_column_that_was_meant_is_quoted_for_whichever_option(asked):
    told = outcome(*asked.split()).complaint
    assert "no column order_id; did you mean 'order id', user_id?" in told


@pytest.mark.usefixtures("here")
def test_quotes_around_several_names_make_one_of_them():
    assert outcome("inspect", "a.parquet lake\nb.parquet").complaint == (
        "a.parquet lake\\nb.parquet: no such file; did you mean a.parquet lake b.parquet, without the quotes around all?"
    )


@pytest.mark.usefixtures("here")
def test_a_file_that_is_called_like_an_option_is_named_otherwise(here):
    (here / "a.parquet").rename("-dash.parquet")
    said = "-d: no such option; did you mean ./-dash.parquet?"
    assert outcome("inspect", "-dash.parquet").complaint == said
    assert outcome("inspect", "./-dash.parquet").code == 0


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("verb", [["inspect"], ["dump", "--footer"], ["diff", "a.parquet"]])
def test_a_link_to_nothing_is_called_so(here, verb):
    (here / "link.parquet").symlink_to("gone.parquet")
    assert "a broken link, to gone.parquet" in outcome(*verb, "link.parquet").complaint


@pytest.mark.usefixtures("here")
def test_the_key_of_an_index_is_for_an_index(monkeypatch):
    asked = ("find", "a.parquet", "-c", "user_id", "-v", "1")
    refused = outcome(*asked, "--hash-key", "ascii:0123456789abcdef")
    assert (refused.code, refused.complaint) == (2, "--hash-key: expected with --index only")
    monkeypatch.setenv("PBLOOM_HASH_KEY", "ascii:0123456789abcdef")
    assert outcome(*asked).code == 0


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("verb", ["probe", "find"])
def test_what_is_nearly_the_name_of_a_file_is_no_value(verb):
    result = outcome(verb, "a.parquet", "-c", "user_id", "-v", "5", "b.parqet")
    assert result.code == 2
    assert "no such file; did you mean b.parquet?" in result.stderr


@pytest.mark.usefixtures("here")
def test_what_is_in_another_format_must_be_written_anew(here):
    (here / "a.csv").write_text("id\n" * 100)
    (here / "empty.parquet").touch()
    (here / "cut.parquet").write_bytes(b"PAR1")
    assert outcome("inspect", "a.csv").complaint == (
        "a.csv: not a Parquet file: does not start with PAR1; what is in another format must first be written as"
        " Parquet or ORC"
    )
    assert outcome("inspect", "empty.parquet").complaint == (
        "empty.parquet: not a Parquet file: 0 bytes, expected 12 or more; it is empty: take another copy"
    )
    assert outcome("inspect", "cut.parquet").complaint == (
        "cut.parquet: truncated or not a Parquet file: 4 bytes, expected 12 or more; if it was one, its end is lost:"
        " take another copy"
    )


@pytest.mark.usefixtures("here")
def test_what_has_lost_its_beginning_or_its_footer_takes_another_copy(here):
    data = (here / "a.parquet").read_bytes()
    (here / "half.parquet").write_bytes(data[50:])
    (here / "length.parquet").write_bytes(data[:-8] + bytes([data[-8] ^ 2]) + data[-7:])
    assert outcome("inspect", "half.parquet").complaint == (
        "half.parquet: ends with a footer, but does not start with PAR1: its beginning is lost: take another copy of the file"
    )
    said = outcome("inspect", "length.parquet").complaint
    assert re.fullmatch(
        r"length.parquet: footer: damaged: .*[^;]; take another copy of the file", said
    )


def test_no_index_is_made_among_data(here):
    """Nobody would look at these files again."""
    result = outcome("index", "build", "--index", "lake", "-c", "user_id", "lake")
    assert result.complaint == "lake: has data in it, a.parquet: expected a new folder"
    assert [path.name for path in (here / "lake").iterdir()] == ["a.parquet"]


@pytest.mark.parametrize(
    ("index", "files"),
    [
        ("lake", ["lake"]),
        ("lake", ["lake/day=1/b.parquet"]),
        ("lake", ["lake/*/*.parquet"]),
        (".", ["lake/day=1"]),
    ],
)
def test_no_index_is_made_above_data(here, index, files):
    """It takes what is in its folder for its own, and would know none of these files."""
    (here / "lake" / "day=1").mkdir()
    (here / "lake" / "a.parquet").rename(here / "lake" / "day=1" / "b.parquet")
    place = "" if index == "lake" else "lake/"
    told = f"{index}: has data in it, {place}day=1/b.parquet: expected another folder for the index"
    (here / "a.parquet").unlink()
    (here / "b.parquet").unlink()
    before = {*here.rglob("*")}
    result = outcome("index", "build", "--index", index, "-c", "user_id", *files)
    assert (result.code, result.complaint) == (2, told)
    assert {*here.rglob("*")} == before


def test_data_that_came_into_the_folder_of_an_index_are_not_passed_over(here):
    (here / "lake" / "index").mkdir()
    assert outcome("index", "build", "--index", "lake/index", "-c", "user_id", "lake").code == 0
    assert outcome("index", "add", "--index", "lake/index").code == 0
    (here / "lake" / "a.parquet").rename(here / "lake" / "index" / "a.parquet")
    result = outcome("index", "add", "--index", "lake/index")
    assert (result.code, result.complaint) == (
        2,
        "lake/index: has data in it, a.parquet: expected another folder for the index",
    )


@pytest.mark.usefixtures("here")
def test_a_column_without_filters_is_named_where_they_are_to_be_removed():
    outcome("build", "lake", "-c", "user_id", "--in-place")
    note = "note: column{}: no filter there, so none to remove"
    for columns, told in (
        ("user_id", []),
        ("country", [note.format(" country")]),
        ("user_id,country,at.Day", [note.format("s country, at.Day")]),
    ):
        _, *lines = outcome(
            "strip", "lake", "-c", columns, "--in-place", "--dry-run"
        ).stdout.splitlines()
        assert [line for line in lines if "none to remove" in line] == told


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("index check ix", "expected --index DIR; did you mean --index ix?"),
        ("index probe ix -c id -v 1", "expected --index DIR; did you mean --index ix?"),
        ("index check other", "expected --index DIR; see pbloom index check --help"),
        ("index ix", "ix: no such command; did you mean pbloom index check --index ix?"),
        (
            "index build ix lake.events --table iceberg --catalog prod -c id",
            "expected --index DIR; did you mean --index ix?",
        ),
    ],
)
def test_an_index_that_is_named_without_its_option(words, meant, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    pq.write_table(pa.table({"id": [1]}), "a.parquet")
    outcome("index", "build", "--index", "ix", "-c", "id", "a.parquet")
    assert outcome(*words.split()).complaint == meant
