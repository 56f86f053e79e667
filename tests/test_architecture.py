"""The house rules: imports point down, verbs know no format, each third-party package has one home,
imports are cheap, and the wheel has what it says."""

import ast
import os
import shutil
import subprocess
import sys
import tomllib
import zipfile
from decimal import Decimal
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import FIXTURES, ROOT
from pyarrow import orc

import parquet_bloom

PACKAGE = ROOT / "parquet_bloom"

# From the ground up: the rooms of the house, which are all that the package's folder has. A module
# imports from its own room and from the floors below, never from another room on its floor.
FLOORS = [
    {
        "arguments",
        "dataclass",
        "errors",
        "interruptions",
        "native",
        "vocabulary",
        "orc.proto",
        "parquet.thrift",
    },
    {"codecs", "filters", "parallel", "storage", "values"},
    {"encryption", "engines", "options", "threads"},
    {"container"},
    {"orc", "parquet"},
    {"conformance"},
    {"advice", "diagnosis", "legacy"},
    {"index", "rules"},
    {"files"},
    {"tables"},
    {"reads"},
    {"verbs"},
    {"spark"},
    {"render"},
    {"program"},
    {"commands"},
    {"cli"},
]

# What belongs to no floor: the public names, which load anything, and the way in.
ENTRANCES = {"__init__", "__main__"}

HOMES = {
    "azure": {
        "storage/objects/azure_client.py",
    },
    "boto3": {"storage/objects/s3_client.py", "storage/objects/stores.py"},
    "botocore": {"storage/objects/s3_client.py", "storage/objects/stores.py"},
    "click": {"commands/", "program.py", "render/usage.py"},
    "cramjam": {
        "codecs.py",
        "orc/compression.py",
        "parquet/pages/codecs.py",
    },
    "cryptography": {"conformance/sealing.py", "encryption/cipher.py"},
    "google": {"orc/tail.py", "storage/objects/gcs_client.py"},
    "jinja2": {"render/report.py"},
    "obstore": {"storage/objects/"},
    "orjson": {"verbs/documents.py"},
    "polars": {
        "reads/polars_predicates.py",
        "reads/polars_rows.py",
        "verbs/polars_source.py",
    },
    "pyarrow": {
        "parquet/pages/carving.py",
        "parquet/pages/encodings.py",
        "parquet/pages/row_reader.py",
        "encryption/clients.py",
        "orc/arrow_arrays.py",
        "orc/row_reader.py",
        "reads/",
        "spark/",
        "storage/inventory.py",
        "storage/remote.py",
        "tables/delta/checkpoint.py",
        "tables/iceberg/deletes.py",
        "verbs/arrow_table.py",
        "commands/value_files.py",
        "verbs/account.py",
        "verbs/json_values.py",
        "verbs/table_file.py",
        "verbs/dataset.py",
        "verbs/reading.py",
        "verbs/row_groups.py",
        "verbs/rows.py",
    },
    "pyiceberg": {"tables/iceberg/"},
    "pyspark": {"spark/"},
    "requests": {"storage/objects/gcs_client.py"},
    "rich": {"render/table.py", "render/terminal.py"},
    "thrift": {"parquet/footer/compact.py"},
    "urllib3": {"storage/objects/gcs_client.py"},
    "zstandard": {"codecs.py"},
    "xxhash": {
        "conformance/split_block.py",
        "conformance/written_columns.py",
        "diagnosis/hashes.py",
        "orc/writer.py",
        "parquet/edit/change.py",
        "rules/examine_parquet.py",
    },
}

GENERATED = {"proto", "thrift"}
# Programs that run beside an engine, and never in our process.
BESIDE = {"adapters"}

MODULES = sorted(
    path
    for path in PACKAGE.rglob("*.py")
    if not (GENERATED | BESIDE) & {*path.relative_to(PACKAGE).parts}
)


def room(module: str) -> str:
    """The room of a module, named below parquet_bloom. Generated code is below everything."""
    generated = next(
        (name for name in ("orc.proto", "parquet.thrift") if module.startswith(name)), ""
    )
    return generated or module.split(".")[0]


def floor(module: str) -> int:
    return next(index for index, rooms in enumerate(FLOORS) if room(module) in rooms)


def name_of(path: Path) -> str:
    """A module's name below parquet_bloom; that of the package itself is __init__."""
    name = ".".join(path.relative_to(PACKAGE).with_suffix("").parts)
    return name if name == "__init__" else name.removesuffix(".__init__")


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that the file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module)
    return frozenset(found)


def test_the_root_is_a_whitelist():
    rooms = {path.stem for path in PACKAGE.iterdir() if path.name != "__pycache__"}
    assert rooms - ENTRANCES - {"py"} == {room.split(".")[0] for room in set.union(*FLOORS)}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    module = name_of(path)
    if module in ENTRANCES:
        return
    for imported in imports(path):
        if imported.startswith("parquet_bloom."):
            below = imported.removeprefix("parquet_bloom.")
            assert room(below) == room(module) or floor(below) < floor(module), imported


# ------------------------------------------------------------------------------------------------
# One house for both formats

FORMATS = {"orc", "parquet"}
CHOOSING_NONE = [
    path
    for path in MODULES
    if room(name_of(path))
    in {
        *("advice", "commands", "diagnosis", "legacy", "reads", "render", "rules", "spark"),
        *("tables", "verbs"),
    }
]

# Modules and rooms that are about the files of one format.
OF_ONE_FORMAT = {
    "advice.orc_survey": "orc",
    "advice.parquet_survey": "parquet",
    "diagnosis.accidents": "parquet",
    "diagnosis.agreement": "parquet",
    "diagnosis.diagnose": "parquet",
    "diagnosis.equal_floats": "parquet",
    "diagnosis.hypotheses": "parquet",
    "diagnosis.layouts": "parquet",
    "diagnosis.refutations": "parquet",
    "diagnosis.one_block": "parquet",
    "diagnosis.orc_writers": "orc",
    "diagnosis.other_chunks": "parquet",
    "diagnosis.samples": "parquet",
    "diagnosis.uninserted": "parquet",
    "diagnosis.unnamed": "parquet",
    "legacy": "parquet",
    "rules.examine_orc": "orc",
    "rules.examine_parquet": "parquet",
    "rules.footer_parquet": "parquet",
    "rules.legacy": "parquet",
    "rules.portability": "parquet",
    "rules.repair_orc": "orc",
    "rules.repair_parquet": "parquet",
    "rules.statistics_orc": "orc",
    "rules.security": "parquet",
    "rules.pages_parquet": "parquet",
    "rules.structure_parquet": "parquet",
    "tables.ends": "parquet",
}

# `rule` reads which formats a rule is about.
COMPARING = {"rules.rule"}


@pytest.mark.parametrize("path", CHOOSING_NONE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_what_is_about_a_format_imports_it(path):
    module = name_of(path)
    own = OF_ONE_FORMAT.get(module) or OF_ONE_FORMAT.get(room(module))
    inside = {room(name.removeprefix("parquet_bloom.")) for name in imports(path)}
    assert inside & FORMATS <= {own}


@pytest.mark.parametrize("path", CHOOSING_NONE, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_only_files_chooses_a_format(path):
    """Neither by `==`, `in` or `match`, nor by a table that has the formats for keys, nor by the class of a
    format's file."""
    if name_of(path) in COMPARING:
        return
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Compare | ast.match_case):
            words = {each.value for each in ast.walk(node) if isinstance(each, ast.Constant)}
            assert not words & FORMATS, node
        if isinstance(node, ast.Dict) and node.keys:
            keys = {each.value if isinstance(each, ast.Constant) else each for each in node.keys}
            assert not keys <= FORMATS, node.lineno
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "isinstance":
            names = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
            assert not names & {"OrcContainer", "ParquetContainer"}, node.lineno


# ------------------------------------------------------------------------------------------------
# Imports in functions

# What may be imported in functions, and why: a module, or all of a folder or distribution. Whatever else
# is imported, is imported at the top.
LATE = {
    "a third party's, which takes longer than most files": {
        *("boto3", "botocore", "click.shell_completion", "cryptography", "numpy", "obstore"),
        *("orjson", "polars", "pyarrow", "rich", "zstandard"),
    },
    "what imports such": {
        *("reads.fragments", "reads.partitions", "reads.polars_rows"),
        *("reads.table_types", "reads.whole_groups"),
    },
    "the standard library's, for what few runs need": {
        *("concurrent.futures", "csv", "ctypes", "difflib", "fnmatch", "glob", "hashlib"),
        *("html", "json", "pathlib", "shlex", "shutil", "tomllib", "traceback"),
        *("urllib.parse", "zoneinfo"),
    },
    "click, which comes after what says how often garbage is looked for": {
        *("commands.pbloom", "program"),
    },
    "for the files of one format": {
        *("advice.orc_survey", "advice.parquet_survey", "diagnosis.orc_writers", "orc.file"),
        *("orc.magic", "parquet.file", "rules.examine_orc", "rules.examine_parquet"),
        *("rules.repair_orc", "rules.repair_parquet", "index.orc_values", "index.parquet_values"),
        *("orc.bloom", "orc.columns"),
    },
    "to write or prove an index, not to ask it": {
        *(
            "index.building",
            "index.chosen_values",
            "index.collecting",
            "index.compaction",
            "index.map_proof",
            "index.proof",
        ),
        *("index.values_reader", "storage.new_files"),
        *("verbs.index_change", "verbs.index_check", "verbs.index_compact"),
    },
    "for some of what can be done with a file": {
        *("container.column_filter", "container.data_file", "container.descriptions"),
        *("orc.bounds", "orc.build", "orc.describe", "orc.keys", "orc.membership", "orc.probe"),
        "orc.row_index",
        *("orc.row_reader", "orc.rows"),
        *("orc.writer", "parquet.filters.agreed", "parquet.filters.bounds", "parquet.filters.left"),
        *("parquet.edit.build", "parquet.edit.ends", "parquet.edit.obstacles"),
        *("parquet.edit.repair", "parquet.edit.strip", "parquet.filters.ahead"),
        *("parquet.filters.asked", "parquet.filters.describe", "parquet.filters.probe"),
        *("parquet.filters.rows", "parquet.pages.chunk_values", "parquet.pages.row_reader"),
        *(
            "parquet.footer.column_kind",
            "parquet.footer.every_field",
            "parquet.filters.field",
            "storage.new_version",
        ),
        *("verbs.documents", "values.literals", "values.types"),
    },
    "for filters that few files have: of older dialects, or without a header": {
        *("legacy", "parquet.filters.unparsed"),
    },
    "for encrypted files": {
        *("encryption.cipher", "encryption.key_material", "encryption.keys_file", "index.hash_key"),
        *("parquet.footer.tail", "parquet.pages.page", "parquet.sealed.encrypted_footer"),
    },
    "to say what is wrong": {
        *("diagnosis.accidents", "diagnosis.agreement", "diagnosis.unnamed"),
        *("filters.occupancy", "render.hints", "rules.legacy", "rules.rule"),
        *("render.stray_words", "render.usage", "rules.pages_parquet"),
    },
    "what other engines do, which is TOML": {
        *("engines.engine", "engines.reading"),
    },
    "for URLs, and stores beside the local disk": {
        *("storage.address", "storage.objects", "storage.remote", "storage.store_environment"),
        *("storage.store_kinds", "storage.traffic"),
    },
    "to change files, which --help of a command does not": {
        *("verbs.build", "verbs.repair", "verbs.strip"),
    },
    "for what a shell completes": {"index.manifest"},
    "to look at files, without which an index answers": {"options", "verbs.listed_files"},
    "for tables": {
        *("commands.table_inputs", "storage.folder", "storage.table_formats", "tables"),
        "verbs.build_table",
        *("verbs.repair_table", "verbs.strip_table"),
    },
    "after a crash": {"storage.journal", "storage.leftovers", "storage.temporary_files"},
    "with an option that is seldom given": {
        "verbs.several",
        *(
            "render.conformance_for_ci",
            "render.dump_footer",
            "render.findings_for_ci",
            "render.histogram",
        ),
        *("render.lake_report", "render.report"),
        *("render.by_value", "verbs.values_in_files"),
        *("index.states", "storage.cache"),
        *(
            "commands.check_options",
            "commands.value_files",
            "reads.matching",
            "reads.rows",
            "verbs.account",
            "verbs.json_values",
        ),
        "verbs.table_file",
        *("storage.inventory", "storage.manifest", "storage.shard", "storage.stream"),
        *("values.given", "verbs.advise", "verbs.answer_file", "verbs.arrow_table"),
        *("verbs.dump_footer", "verbs.inspect_summary", "verbs.occupancy"),
    },
    "on Spark, whose tasks do one verb each": {
        *("spark", "verbs.inspect", "verbs.probe", "verbs.strip", "verbs.validate"),
    },
    "in a function that travels to where the package is not yet": {
        *("importlib", "json", "os", "parquet_bloom", "pickle", "pyspark", "sys"),
    },
    "names that not every version of PySpark has": {"pyspark.sql.datasource"},
}


def module_names(node: ast.Import | ast.ImportFrom) -> set[str]:
    """What a statement imports: modules, those of our own below the package's name."""
    if isinstance(node, ast.Import):
        return {alias.name.removeprefix("parquet_bloom.") for alias in node.names}
    found = {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("parquet_bloom.") for name in found & INSIDE or {node.module}}


INSIDE = {f"parquet_bloom.{name_of(path)}" for path in MODULES}
PATHS = {name_of(path): path for path in MODULES}


@cache
def early_and_late(path: Path) -> tuple[frozenset[str], frozenset[str]]:
    """The modules that a file imports at the top, and in functions; not those for type checkers alone."""
    early, late = set(), set()

    def visit(node: ast.AST, found: set[str]) -> None:
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= module_names(node)
        elif isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            for each in node.orelse:
                visit(each, found)
        else:
            inner = late if isinstance(node, ast.FunctionDef) else found
            for each in ast.iter_child_nodes(node):
                visit(each, inner)

    visit(ast.parse(path.read_text()), early)
    return frozenset(early), frozenset(late)


def loaded_with(module: str, found: set[str]) -> set[str]:
    """What is imported at the top by a module and by all that it so imports."""
    for name in early_and_late(PATHS[module])[0] if module in PATHS else ():
        if name not in found:
            found.add(name)
            loaded_with(name, found)
    return found


def covers(home: str, module: str) -> bool:
    return f"{module}.".startswith(f"{home}.")


def reasons_for(module: str) -> list[str]:
    return [why for why, homes in LATE.items() if any(covers(home, module) for home in homes)]


# Whose imports in functions keep nothing out: see the last two reasons.
OTHERWISE = {"spark.checks", "spark.data_source", "spark.request"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_in_functions_have_a_reason(path):
    late = early_and_late(path)[1]
    assert {name for name in late if not reasons_for(name)} == set()
    if name_of(path) not in OTHERWISE:
        assert late & loaded_with(name_of(path), set()) == set(), "is loaded anyway"


def test_no_reason_is_left_over():
    late = {name for path in MODULES for name in early_and_late(path)[1]}
    for why, homes in LATE.items():
        for home in homes:
            assert any(covers(home, name) for name in late), (why, home)


# ------------------------------------------------------------------------------------------------
# The oracle


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests" / "oracle").glob("*.py")), ids=lambda path: path.stem
)
def test_the_oracle_knows_nothing_of_the_package(path):
    """It judges: what it shared with the package would be wrong in both."""
    roots = {name.split(".")[0] for name in imports(path)}
    assert not roots & {"make", "parquet_bloom"}


# ------------------------------------------------------------------------------------------------
# Installation


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(
        ".__init__"
    )


def test_every_folder_is_installed():
    """An editable install has them all, whatever the list says; an ordinary one has what is listed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = project["tool"]["setuptools"]["packages"]
    there = {".".join(path.parent.relative_to(ROOT).parts) for path in PACKAGE.rglob("*.py")}
    assert sorted(there) == sorted(listed)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The names in a wheel that is built out of a copy: the build leaves things behind."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    for name in (
        "parquet_bloom",
        "share",
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "pyspark_bloom.py",
    ):
        place = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        source.mkdir(exist_ok=True)
        place(ROOT / name, source / name)
    # Nobody runs it, so nothing needs to be in what is compiled.
    compiler = folder / "cc"
    compiler.write_text('#!/bin/sh\nwhile [ "$1" != -o ]; do shift; done; : > "$2"\n')
    compiler.chmod(0o755)
    options = ("--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", folder)
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", *options, source],
        env=os.environ | {"CC": str(compiler)},
        check=True,
    )
    (built,) = folder.glob("*.whl")
    return set(zipfile.ZipFile(built).namelist())


def test_the_wheel_has_every_module_and_all_data(wheel):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    declared = {
        str(path.relative_to(ROOT))
        for package, patterns in project["tool"]["setuptools"]["package-data"].items()
        for pattern in patterns
        for path in _matching(package, pattern)
    }
    modules = {str(path.relative_to(ROOT)) for path in PACKAGE.rglob("*.py")}
    assert declared | modules <= wheel


def _matching(package: str, pattern: str) -> list[Path]:
    found = sorted((ROOT / package.replace(".", "/")).glob(pattern))
    assert found, f"{package}: {pattern}: declared, and not there"
    return found


def test_no_imports_run_in_a_circle():
    """Not even those that only type checkers see."""
    TopologicalSorter({module_of(path): imports(path) for path in MODULES}).prepare()


@pytest.mark.parametrize("package", HOMES)
def test_third_party_packages_have_one_home(package):
    users = {
        str(path.relative_to(PACKAGE))
        for path in MODULES
        if any(name.split(".")[0] == package for name in imports(path))
    }
    folders = {home for home in HOMES[package] if home.endswith("/")}
    assert {
        next((home for home in folders if user.startswith(home)), user) for user in users
    } == HOMES[package]


def modules_after(statement: str, depth: int = 1) -> set[str]:
    """The modules that are loaded then, by the first `depth` parts of their names."""
    code = f"{statement}; import sys; print(' '.join(sys.modules))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {".".join(name.split(".")[:depth]) for name in run.stdout.split()}


def test_importing_the_package_loads_nothing_heavy():
    heavy = {"click", "cryptography", "google", "numpy", "pyarrow", "pyspark", "rich", "thrift"}
    assert not heavy & modules_after("import parquet_bloom")


def test_the_command_starts_without_numpy():
    """What keeps `pbloom --help` quick; the time itself is in the benchmarks."""
    heavy = {"cryptography", "google", "numpy", "pyarrow", "rich", "thrift"}
    assert not heavy & modules_after("import parquet_bloom.commands.pbloom")


QUICK = {
    "build": "pb.build({source!r}, {output!r}, columns=['int64'], existing='replace')",
    "diff": "pb.diff({source!r}, {source!r})",
    "dump": "pb.dump({source!r}, 'int64', 0)",
    "inspect": "pb.inspect({source!r})",
    "probe": "pb.probe({source!r}, 'int64', [5], explain=True)",
    "repair": "pb.repair({source!r}, {output!r})",
    "strip": "pb.strip({source!r}, {output!r})",
    "validate": "pb.validate({source!r}, columns=['int64'])",
    "validate, footers": "pb.validate({source!r}, deep=False)",
}


@pytest.mark.parametrize("verb", QUICK)
def test_quick_verbs_load_neither_numpy_nor_pyarrow(verb, tmp_path):
    """They take longer to import than most files take to build; ciphers only where one is met."""
    heavy = {"cryptography", "google", "numpy", "pyarrow", "rich"}
    source, output = str(FIXTURES / "datafusion_filters.parquet"), str(tmp_path / "output.parquet")
    work = QUICK[verb].format(source=source, output=output)
    assert not heavy & modules_after(f"import parquet_bloom as pb; {work}")


COMMANDS = {
    "build": "build {source} -c a --existing replace -o {output}",
    "inspect": "inspect {source}",
    "probe": "probe {source} -c a -v 5",
    "strip": "strip {source} -o {output}",
}
UNUSED = {
    *("asyncio", "concurrent", "csv", "glob", "json", "logging", "lzma", "shutil", "socket"),
    *("subprocess", "tomllib"),
}
OF_URLS = {
    f"parquet_bloom.storage.{each}" for each in ("address", "store_environment", "store_kinds")
}
# What writes, and what only folders, globs and outputs need.
OF_WRITERS = {
    *("pathlib", "parquet_bloom.parquet.pages.page", "parquet_bloom.parquet.edit.change"),
    *("parquet_bloom.storage.journal", "parquet_bloom.storage.local_output"),
    *("parquet_bloom.storage.new_version", "parquet_bloom.storage.temporary_files"),
}
READERS = {"inspect", "probe"}


@pytest.mark.parametrize("verb", COMMANDS)
def test_quick_commands_load_no_more_than_they_use(verb, tmp_path):
    """On a small file, that is most of what they take."""
    source, output = tmp_path / "source.parquet", tmp_path / "output.parquet"
    pq.write_table(pa.table({"a": [1, 2, 3]}), output)
    parquet_bloom.build(output, source, columns=["a"])
    output.unlink()
    arguments = COMMANDS[verb].format(source=source, output=output).split()
    work = (
        f"import os, sys; from parquet_bloom.cli import main; sys.argv = ['pbloom', *{arguments}]"
    )
    ended = "os._exit = lambda code: print('modules', *sys.modules)"
    code = f"{work}; {ended}; main()"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    modules = run.stdout.splitlines()[-1].split()
    assert modules[0] == "modules"
    unused = UNUSED - ({"glob"} if sys.version_info >= (3, 13) else set())  # pathlib loads it there
    assert not unused & {name.split(".")[0] for name in modules}
    assert not OF_URLS & {*modules}
    assert verb not in READERS or not OF_WRITERS & {*modules}


ORC_BUILD = "pb.build({source!r}, {output!r}, columns=['i', 'f', 's', 't', 'd', 'n._elem'])"


def test_build_of_orc_loads_neither_numpy_nor_parquet(tmp_path):
    source, output = tmp_path / "a.orc", tmp_path / "b.orc"
    columns = {
        "i": [1, None, 3],
        "f": [0.0, 1.5, None],
        "s": ["a", "b", None],
        "t": pa.array([10**18, None, 5 * 10**17], pa.timestamp("ns")),
        "d": pa.array([Decimal("1.5"), None, Decimal("2.5")]),
        "n": [[1], [], None],
    }
    orc.write_table(pa.table(columns), source, dictionary_key_size_threshold=1.0)
    work = ORC_BUILD.format(source=str(source), output=str(output))
    loaded = modules_after(f"import parquet_bloom as pb; {work}", depth=2)
    assert not {"numpy", "parquet_bloom.parquet", "pyarrow", "rich", "thrift"} & loaded
    assert parquet_bloom.validate(output).checked.filters == 6


@pytest.mark.parametrize("verb", ["probe", "repair", "validate", "advise", "diff", "dump"])
def test_verbs_load_nothing_of_orc(verb):
    loaded = modules_after(f"import parquet_bloom.verbs.{verb}", depth=2)
    assert not {"google.protobuf", "parquet_bloom.orc"} & loaded


def test_public_names_are_sorted_and_there():
    assert parquet_bloom.__all__ == sorted(parquet_bloom.__all__)
    for name in parquet_bloom.__all__:
        assert getattr(parquet_bloom, name).__name__ == name


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'injekt'"):
        parquet_bloom.injekt  # noqa: B018


def test_the_version_is_the_one_of_the_distribution():
    from importlib.metadata import version

    assert parquet_bloom.__version__ == version("parquet-bloom")


def test_the_kernel_is_compiled():
    from parquet_bloom.native import _kernel

    assert Path(_kernel.__file__).name == "_kernel.abi3.so"
