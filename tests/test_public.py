"""What a Python user sees of the package: names, help, types."""

import inspect
import pydoc
import rlcompleter
import shutil
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Callable
from dataclasses import MISSING, fields
from importlib import import_module
from itertools import count
from pathlib import Path

import pytest
from conftest import FIXTURES, ROOT

import parquet_bloom as pb
from parquet_bloom import options

FILE = FIXTURES / "datafusion_filters.parquet"


class LoadedTable:
    """As deltalake has it."""

    table_uri = "file:///lake/events/"

    def __repr__(self) -> str:
        return "a loaded table"


def test_dir_has_the_public_names_and_nothing_else():
    pb.probe(FILE, "int64", 5)
    assert dir(pb) == pb.__all__
    assert not {"container", "files", "options", "verbs", "annotations", "import_module"} & set(
        dir(pb)
    )


def offered(name: str, value: object) -> set[str]:
    """What the Tab key offers behind `name.`"""
    completer = rlcompleter.Completer({name: value})
    texts = iter(lambda: completer.complete(f"{name}.", next(numbers)), None)
    numbers = count()
    return {text.removeprefix(f"{name}.").rstrip("()") for text in texts}


def visible(name: str, value: object) -> set[str]:
    return {each for each in offered(name, value) if not each.startswith("_")}


def shown(file: object) -> set[str]:
    """What `dir(file)` has, and so notebooks offer; Python's own prompt looks at the class, too."""
    names = {each for each in dir(file) if not each.startswith("_")}
    assert visible("file", file) == names
    return names


OF_A_FILE = {
    *("bloom_filter", "close", "columns", "created_by", "format", "is_encrypted", "num_parts"),
    *("num_rows", "parts", "path", "probe", "row_groups", "stripes", "unverified"),
}
OF_A_FILTER = {
    *("bits", "bits_set", "bitset", "check", "check_many", "column", "dialect", "fill", "fpp"),
    *("ndv_estimate", "num_bytes", "place", "words"),
}


def test_tab_completion_offers_public_names_and_nothing_else():
    assert visible("pb", pb) == set(pb.__all__)
    with pb.open(FILE) as file:
        assert shown(file) == OF_A_FILE | {"num_row_groups"}
        assert visible("filter", file.bloom_filter(0, "int64")) == OF_A_FILTER
    with pb.open(FIXTURES / "java_original.orc") as file:
        assert shown(file) == OF_A_FILE | {"num_stripes"}
    report = pb.probe(FILE, "int64", 5)
    assert visible("report", report) == {
        *(
            "bytes_read",
            "caveat",
            "column",
            "explanations",
            "format",
            "is_absent",
            "path",
            "requests",
        ),
        *("num_groups", "num_groups_to_read"),
        *("results", "to_arrow", "to_dict", "to_read", "unverified"),
    }


def test_help_on_a_file_shows_what_is_offered():
    text = pydoc.plain(pydoc.render_doc(pb.ParquetFile))
    assert "|  bloom_filter(" in text
    assert "describe_chunks" not in text


def test_help_describes_every_public_name():
    text = pydoc.plain(pydoc.render_doc(pb))
    for name in pb.__all__:
        assert f"class {name}(" in text or f"\n    {name}(" in text, name
        assert (getattr(pb, name).__doc__ or "").strip(), name


def test_help_names_no_page_that_is_not_installed():
    shown = [pydoc.plain(pydoc.render_doc(getattr(pb, name))) for name in pb.__all__]
    assert [line for text in shown for line in text.splitlines() if "docs/" in line] == []


def consumer() -> str:
    return (ROOT / "tests" / "make" / "consumer.py").read_text()


def first_example() -> str:
    """That of docs/python.md, which has most of what people begin with."""
    return (ROOT / "docs" / "python.md").read_text().split("```python\n")[1].split("```")[0]


@pytest.mark.long
@pytest.mark.parametrize("written", [consumer, first_example])
def test_a_consumer_passes_mypy_strict(tmp_path: Path, written: Callable[[], str]) -> None:
    """As it is installed: `py.typed` is what makes mypy read our annotations there."""
    venv.create(tmp_path / "venv", symlinks=True)
    python = tmp_path / "venv" / "bin" / "python"
    (site,) = (tmp_path / "venv").glob("lib/python*/site-packages")
    (site / "parquet_bloom").symlink_to(ROOT / "parquet_bloom")
    (site / "ours.pth").write_text(sysconfig.get_path("purelib"))
    sample = tmp_path / "sample.py"
    sample.write_text(written())
    command = [sys.executable, "-m", "mypy", "--strict", "--python-executable", str(python)]
    checked = subprocess.run(
        [*command, "--config-file", "", "--cache-dir", str(tmp_path / "cache"), "sample.py"],
        check=False,
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert checked.stdout == "Success: no issues found in 1 source file\n", checked.stderr


# ------------------------------------------------------------------------------------------------
# Arguments: one value of what may be several, and a refusal of what cannot be meant

SEVERAL_NAMES = {
    "advise": lambda columns: pb.advise(FILE, columns=columns),
    "build": lambda columns: pb.build(FILE, columns=columns, dry_run=True, existing="replace"),
    "diff": lambda columns: pb.diff(FILE, FILE, columns=columns),
    "inspect": lambda columns: pb.inspect(FILE, columns=columns),
    "repair": lambda columns: pb.repair(FILE, columns=columns, dry_run=True),
    "report": lambda columns: pb.report(FILE, columns=columns),
    "strip": lambda columns: pb.strip(FILE, columns=columns, dry_run=True),
    "inspect_summary": lambda columns: pb.inspect_summary(FILE, columns=columns),
    "validate": lambda columns: pb.validate(FILE, columns=columns),
    "validate --require": lambda columns: pb.validate(FILE, require=columns),
}


def timeless(report: object) -> dict[str, object]:
    return {name: each for name, each in report.to_dict().items() if name != "seconds"}


@pytest.mark.parametrize("verb", SEVERAL_NAMES)
def test_one_name_is_one_column(verb):
    import numpy as np
    import pyarrow as pa

    call = SEVERAL_NAMES[verb]
    expected = timeless(call(["int64"]))
    for one in ("int64", ("int64",), {"int64"}, np.array(["int64"]), pa.array(["int64"])):
        assert timeless(call(one)) == expected
    for wrong in ({"int64": 0.01}, 5, b"int64", [5], [["int64"]]):
        with pytest.raises(TypeError, match="expected a name or a list of names"):
            call(wrong)


@pytest.mark.parametrize("columns", [None, [], ()])
def test_build_asks_for_columns(columns):
    with pytest.raises(ValueError, match=r"^columns: none, expected at least one$"):
        pb.build(FILE, columns=columns, dry_run=True)


SEVERAL_NUMBERS = {
    "build": lambda groups: pb.build(
        FILE, columns="int64", row_groups=groups, dry_run=True, existing="replace"
    ),
    "inspect": lambda groups: pb.inspect(FILE, row_groups=groups),
    "inspect_summary": lambda groups: pb.inspect_summary(FILE, row_groups=groups),
    "report": lambda groups: pb.report(FILE, row_groups=groups).inspection,
    "diff": lambda groups: pb.diff(FILE, FILE, row_groups=groups),
    "repair": lambda groups: pb.repair(FILE, row_groups=groups, dry_run=True),
    "strip": lambda groups: pb.strip(FILE, row_groups=groups, dry_run=True),
}


@pytest.mark.parametrize("verb", SEVERAL_NUMBERS)
def test_one_number_is_one_row_group(verb):
    import numpy as np
    import pyarrow as pa

    call = SEVERAL_NUMBERS[verb]
    expected = timeless(call([0]))
    for one in (0, np.int32(0), (0,), range(1), np.array([0]), pa.array([0])):
        assert timeless(call(one)) == expected
    for wrong in ("0", 0.0, True, ["0"], [[0]], {0: 1}):
        with pytest.raises(
            TypeError, match=r"^row_groups: .*expected a number or a list of numbers"
        ):
            call(wrong)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: pb.dump(FILE, ["int64"], 0), r"column: \['int64'\], expected one name"),
        (lambda: pb.dump(FILE, "int64", "0"), "row_group: '0', expected a whole number"),
        (lambda: pb.dump(FILE, "int64", [0]), r"row_group: \[0\], expected a whole number"),
        (lambda: pb.probe(FILE, ["int64"], 5), r"column: \['int64'\], expected one name"),
        (
            lambda: pb.dump([FILE], "int64", 0),
            "path: .*expected one path or URL, as str or os.PathLike",
        ),
        (lambda: pb.diff(FILE, None), "path: None, expected one path or URL"),
        (lambda: pb.open(b"a.parquet"), "path: b'a.parquet', expected one path or URL"),
        (lambda: pb.Policy(require=5), "require: 5, expected a name or a list of names"),
        (lambda: pb.literal(42), "literal: 42, expected text"),
        (
            lambda: pb.advise(FILE, value_sample={"int64": {5: 1}}),
            "values: a dict, expected one value",
        ),
    ],
    ids=range(10),
)
def test_what_cannot_be_meant_is_a_type_error(call, message):
    with pytest.raises(TypeError, match=f"^{message}"):
        call()


# What a wrong guess says, by the whole of its one line.
WRONG_GUESSES = {
    "fpp='0.01'": "fpp: '0.01', expected a number",
    "fpp=True": "fpp: True, expected a number",
    "fpp=1": "fpp: 1, expected more than 0 and less than 1",
    "ndv=1e6": "ndv: 1000000.0, expected a whole number",
    "ndv=-1": "ndv: -1, expected 1 or more",
    "max_bytes='1 MiB'": "max_bytes: '1 MiB', expected a whole number",
    "threads=0": "threads: 0, expected 1 or more",
    "threads='2'": "threads: '2', expected a whole number",
    "threads=1.5": "threads: 1.5, expected a whole number",
    "keys={'footer': b'0123456789012345'}": (
        "keys: a dict, expected pb.Keys(…) or pb.read_keys(…)"
    ),
    "keys='keys.json'": "keys: a str, expected pb.Keys(…) or pb.read_keys(…)",
    "layout='Append'": "layout: Append, expected replace, append",
}


@pytest.mark.parametrize("guess", WRONG_GUESSES)
def test_a_wrong_guess_at_build_is_told_before_the_file_is_opened(guess):
    asked = f"pb.build('missing', columns='int64', in_place=True, {guess})"
    assert _complaint(asked, (TypeError, ValueError)) == WRONG_GUESSES[guess]


@pytest.mark.parametrize("verb", ["build", "strip", "repair"])
@pytest.mark.parametrize("missing", ["'missing'", "['missing', 'missing too']"])
def test_where_to_write_is_told_before_a_file_is_opened(verb, missing):
    columns = ", columns='int64'" * (verb == "build")
    expected = "expected one of them"
    said = _complaint(f"pb.{verb}({missing}{columns})", ValueError)
    assert said == f"output, in_place: neither, {expected}"
    said = _complaint(f"pb.{verb}({missing}, 'out', in_place=True{columns})", ValueError)
    assert said == f"output, in_place: both, {expected}"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("pb.advise(FILE, fpp='0.01')", "fpp: '0.01', expected a number"),
        ("pb.repair(FILE, dry_run=True, fpp='0.01')", "fpp: '0.01', expected a number"),
        ("pb.report(FILE, fpp='0.01')", "fpp: '0.01', expected a number"),
        ("pb.inspect(FILE, threads=0)", "threads: 0, expected 1 or more"),
        ("pb.diff(FILE, FILE, threads=0)", "threads: 0, expected 1 or more"),
        ("pb.inspect_summary(FILE, threads=-1)", "threads: -1, expected 1 or more"),
        (
            "pb.inspect_summary(5)",
            "paths: 5, expected a path or a list of paths, as str or os.PathLike",
        ),
        (
            "pb.inspect_summary([b'a'])",
            "paths: b'a', expected a path or a list of paths, as str or os.PathLike",
        ),
        (
            "pb.find('t', 'id', 1, table=pb.Keys())",
            "table: a Keys, expected auto, delta, iceberg or a TableView; its folder or URL is what comes first",
        ),
        (
            "pb.build('t', columns='id', table='delta')",
            "table: build is for files, pb.build_table for a table",
        ),
        (
            "pb.strip('t', in_place=True, table='delta')",
            "table: strip is for files, pb.strip_table for a table",
        ),
        (
            "pb.repair(['t'], in_place=True, table='delta')",
            "table: repair is for files, pb.repair_table for a table",
        ),
        (
            "pb.rows(LOADED, {'id': 1}, table='delta')",
            "files: a loaded table, expected a path or a list of paths, as str or os.PathLike: its table_uri is one",
        ),
        (
            "pb.build(5, 'b', columns='id')",
            "source: 5, expected a path or a list of paths, as str or os.PathLike",
        ),
        ("pb.Index(5)", "path: 5, expected one path or URL, as str or os.PathLike"),
        (
            "pb.Index.build(5, FILE, 'id')",
            "path: 5, expected one path or URL, as str or os.PathLike",
        ),
        ("pb.advise(5)", "path: 5, expected a path or a list of paths, as str or os.PathLike"),
        (
            "pb.validate(DATA.to_pandas())",
            "path: a DataFrame, expected a path or a list of paths, as str or os.PathLike",
        ),
        (
            "pb.rows(DATA, {'a': 1})",
            "files: a Table, expected a path or a list of paths, as str or os.PathLike",
        ),
        ("pb.open(DATA)", "path: a Table, expected one path or URL, as str or os.PathLike"),
        ("pb.advise(FILE, value_sample=[5])", "value_sample: a list, expected values by name"),
        ("pb.probe(FILE, 'int64', 5, row_groups=[])", "row_groups: none, expected at least one"),
        ("pb.validate(FILE, columns=[])", "columns: none, expected at least one"),
        (
            "pb.validate(FILE, policy='pbloom.toml')",
            "policy: 'pbloom.toml', expected a pb.Policy; pb.read_policy reads a file",
        ),
        (
            "pb.report(FILE, policy='pbloom.toml')",
            "policy: 'pbloom.toml', expected a pb.Policy; pb.read_policy reads a file",
        ),
        ("pb.validate(FILE, max_fpp='0.01')", "max_fpp: '0.01', expected a number"),
        (
            "pb.validate(FILE, fail_on=['error'])",
            "fail_on: ['error'], expected one of error, warning, note, never",
        ),
        ("pb.Policy(max_fpp=2)", "max_fpp: 2, expected a number between 0 and 1"),
        ("pb.ColumnPolicy(max_bytes='1')", "max_bytes: '1', expected a whole number"),
        (
            "pb.Policy(fail_on=3)",
            "fail_on: 3, expected a pb.Severity, error, warning, note, never, or None",
        ),
        ("pb.Policy(columns={'a': 5})", "columns: a: 5, expected a pb.ColumnPolicy"),
        ("pb.read_policy(5)", "path: 5, expected one path, as str or os.PathLike"),
        ("pb.read_keys(5)", "path: 5, expected one path, as str or os.PathLike"),
        ("pb.Keys(footer=5)", "footer key: a value of type int, expected bytes or text"),
        ("pb.Keys(columns='secret')", "columns: a str, expected keys by name"),
        ("pb.Keys(key_material=5)", "key_material: 5, expected one path, as str or os.PathLike"),
        ("pb.set_memory('4GiB')", "memory: '4GiB', expected a number of bytes"),
        ("pb.StatisticsFilter(fpp='0.01')", "fpp: '0.01', expected a number"),
        ("pb.StatisticsFilter(of_columns={'a': 5})", "of_columns: 5, expected a pb.Expected"),
        (
            "pb.SplitBlockBloomFilter(bytes(32))",
            "words: expected a contiguous, one-dimensional uint32 array",
        ),
        ("pb.strip(FILE, b'a')", "output: b'a', expected one path, as str or os.PathLike"),
        ("pb.Advisor(5)", "options: 5, expected a pb.AdviseOptions"),
        ("pb.AdviseOptions(columns=5)", "columns: 5, expected a name or a list of names"),
        ("pb.merged_sketches([])", "parts: none, expected at least one"),
        (
            "pb.dump(FILE, 'int64', 0).in_format('xml')",
            "name: xml, expected raw, hex, json, npy",
        ),
        ("pb.open(FILE).probe(0, 5)", "column: 0, expected one name"),
        ("pb.open(FILE).bloom_filter(True, 'int64')", "row_group: True, expected a whole number"),
        ("pb.open(FILE).bloom_filter(0, 0)", "column: 0, expected one name"),
        (
            "pb.report('no such file', fpp=2)",
            "fpp: 2, expected more than 0 and less than 1",
        ),
    ],
    ids=range(49),
)
def test_a_wrong_guess_is_told_in_one_line(call, message):
    import pyarrow as pa

    kinds = (TypeError, ValueError, pb.ParquetBloomError)
    assert _complaint(call, kinds, LOADED=LoadedTable(), DATA=pa.table({"a": [1]})) == message


@pytest.mark.parametrize("kind", [pb.ParquetFile, pb.OrcFile])
def test_a_file_is_made_by_open(kind):
    with pb.open(FILE) as file:
        for guess in ("data.parquet", None, file):
            with pytest.raises(TypeError, match=r"^file: .+, expected pb\.open\(path\)$"):
                kind(guess)


@pytest.mark.parametrize("none", ["columns=[]", "row_groups=()"])
@pytest.mark.parametrize(
    "verb", ["advise", "diff", "inspect", "repair", "report", "strip", "validate"]
)
def test_a_report_about_nothing_is_refused(verb, none):
    """It would read as one about the file."""
    files = "FILE, FILE" if verb in ("diff", "repair", "strip") else "FILE"
    said = _complaint(f"pb.{verb}({files}, {none})", ValueError)
    assert said == f"{none.partition('=')[0]}: none, expected at least one"


@pytest.mark.parametrize("several", ["pd.Series([1, 2])", "pa.array([1, 2])", "np.eye(2)"])
def test_several_values_where_one_is_expected_are_told_in_one_line(several):
    import numpy as np
    import pandas as pd
    import pyarrow as pa

    names = {"pd": pd, "pa": pa, "np": np}
    kind = type(eval(several, names)).__name__
    expected = f"a {kind}: cannot be a value of INT64: expected an integer"
    with pb.open(FILE) as file:
        call = f"file.probe('int64', {several})"
        assert _complaint(call, pb.ValueTypeError, file=file, **names).endswith(expected)


def _complaint(call, kind, **names):
    with pytest.raises(kind) as error:
        eval(call, {"pb": pb, "FILE": FILE, **names})
    return str(error.value)


def test_a_policy_takes_one_name_and_rules_by_name():
    policy = pb.Policy(require="int64", ignore="PB305")
    assert (policy.require, policy.ignore) == (("int64",), frozenset({"PB305"}))
    assert not policy.for_column("int").required
    by_name = next(iter(policy.ignore))
    from parquet_bloom.rules.rule import rules

    assert pb.ColumnPolicy(ignore=rules()["PB305"].name).ignore == {by_name}
    with pytest.raises(pb.ConfigError, match="no such rule 'PB999'"):
        pb.Policy(ignore=["PB999"])
    assert pb.validate(FILE, ignore="PB305").path == str(FILE)


def test_literals_are_read_as_a_type_of_the_list():
    with pytest.raises(ValueError, match=r"^read_as: number, expected bytes, date, decimal, float"):
        pb.literal("42", "number")


def flags_of(verb):
    parameters = inspect.signature(getattr(pb, verb)).parameters.values()
    return [(verb, each.name) for each in parameters if each.annotation == "bool"]


FUNCTIONS = [name for name in pb.__all__ if inspect.isfunction(getattr(pb, name))]
FLAGS = [each for name in FUNCTIONS for each in flags_of(name)]


@pytest.mark.parametrize(("verb", "flag"), FLAGS)
@pytest.mark.parametrize("guess", ["no", 0])
def test_a_flag_is_true_or_false(verb, flag, guess, tmp_path):
    """Whatever is true for Python would go for True, and be found out too late."""
    file = shutil.copy(FILE, tmp_path)
    asks = dict.fromkeys(("find", "probe", "probe_values"), ("int64", 5))
    rest = {"dump": ("int64", 0), "diff": (file,), **asks}.get(verb, ())
    needed = {"columns": "int64"} if verb == "build" else {}
    with pytest.raises(TypeError) as raised:
        getattr(pb, verb)(file, *rest, **needed, **{flag: guess})
    assert str(raised.value) == f"{flag}: {guess!r}, expected True or False"


# The options that are made of the arguments of each verb.
OF_FILE, OF_TABLE = options.Destination, options.TableOptions
MADE_OF = {
    "advise": [options.AdviseOptions],
    "build": [options.BuildOptions, OF_FILE],
    "build_table": [options.BuildOptions, OF_TABLE],
    "diff": [options.DiffOptions],
    "inspect": [options.InspectOptions],
    "inspect_summary": [options.InspectOptions],
    "probe": [options.ProbeOptions],
    "repair": [options.RepairOptions, OF_FILE],
    "repair_table": [options.RepairOptions, OF_TABLE],
    "report": [options.ValidateOptions, options.AdviseOptions],
    "strip": [options.StripOptions, OF_FILE],
    "strip_table": [OF_TABLE],
    "validate": [options.ValidateOptions],
}
# What is opened, and how; on Spark, by which job.
NO_OPTIONS = {
    *("a", "b", "keys", "path", "paths", "progress", "source", "storage_options", "table"),
    *(
        "advice",
        "audit",
        "cache",
        "keys_file",
        "manifest",
        "max_files",
        "max_input",
        "only_missing",
        "run_id",
        "since",
        "spark",
    ),
}
# Of a policy, which has options of its own, and what is usual only where nothing was asked.
ELSEWHERE = {
    *(
        ("validate", name)
        for name in ("fail_on", "ignore", "max_bytes", "max_fpp", "no_values", "require")
    ),
    *((verb, "min_file_size") for verb in ("build_table", "repair_table")),
    # Only some of it counts.
    ("advise", "policy"),
    # Of as many as there are columns.
    ("probe", "columns"),
    # No option of the table: nothing is built.
    ("strip_table", "threads"),
}


@pytest.mark.parametrize("house", ["parquet_bloom", "parquet_bloom.spark.verbs"])
@pytest.mark.parametrize("verb", MADE_OF)
def test_every_argument_is_an_option_with_its_default(verb, house):
    """An argument that no options take would be accepted, and lost."""
    function = getattr(import_module(house), verb, None)
    if function is None:
        assert house.endswith("spark.verbs")
        return
    defaults = {}
    for kind in reversed(MADE_OF[verb]):
        defaults |= {each.name: each.default for each in fields(kind)}
    defaults["row_groups"] = defaults.get("parts")
    for name, parameter in inspect.signature(function).parameters.items():
        if name in NO_OPTIONS or (verb, name) in ELSEWHERE:
            continue
        assert name in defaults
        given = parameter.default
        is_left_out = defaults[name] is MISSING and given is None
        assert given in (inspect.Parameter.empty, defaults[name]) or is_left_out, name


def test_the_flags_of_values_are_true_or_false():
    for call in ("pb.Murmur3(publish_offset='no')", "pb.ColumnPolicy(required='no')"):
        assert _complaint(call, TypeError).endswith(": 'no', expected True or False")
