"""The house rules: imports point down, each third-party package has one home, imports are cheap."""

import ast
import subprocess
import sys
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path

import pytest
from conftest import FIXTURES, ROOT

import parquet_bloom

PACKAGE = ROOT / "parquet_bloom"

# From the ground up. A module may import from its own layer and from those above it in this list.
LAYERS = [
    {"errors", "native", "orc.proto", "parquet.thrift", "records", "vocabulary"},
    {"filters", "parallel", "storage"},
    {"container", "options"},
    {"values"},
    {"encryption"},
    {"orc", "parquet"},
    {"legacy"},
    {"files"},
    {"rules", "diagnosis", "advice"},
    {"verbs"},
    {"spark"},
    {"render"},
    {"program"},
    {"commands"},
    {"cli"},
    {"__main__"},
]

HOMES = {
    "click": {"cli.py", "commands/", "program.py"},
    "cramjam": {"orc/compression.py", "parquet/pages/codecs.py"},
    "cryptography": {"encryption/cipher.py"},
    "google": {"orc/tail.py"},
    "jinja2": {"render/report.py"},
    "pyarrow": {
        "parquet/pages/encodings.py",
        "encryption/kms.py",
        "orc/",
        "spark/",
        "storage/remote.py",
    },
    "pyspark": {"commands/", "spark/"},
    "rich": {"render/terminal.py"},
    "thrift": {"parquet/footer/compact.py"},
    "xxhash": {
        "diagnosis/hashes.py",
        "orc/writer.py",
        "parquet/writer.py",
        "rules/examine_parquet.py",
    },
}

GENERATED = {"proto", "thrift"}

MODULES = sorted(
    path for path in PACKAGE.rglob("*.py") if not GENERATED & {*path.relative_to(PACKAGE).parts}
)


def layer(module: str) -> int:
    """The layer of a module, named below parquet_bloom: by its longest prefix that is listed."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        for index, names in enumerate(LAYERS):
            if ".".join(parts[:length]) in names:
                return index
    pytest.fail(f"{module} has no place in LAYERS")


def imports(path: Path) -> set[str]:
    """Every module that the file imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found.add(node.module)
    return found


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    module = ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")
    if module == "__init__":
        return
    for imported in imports(path):
        if imported.startswith("parquet_bloom."):
            assert layer(imported.removeprefix("parquet_bloom.")) <= layer(module), imported


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


def test_no_module_is_named_after_nothing():
    banned = {"utils", "common", "helpers", "base", "manager"}
    assert not banned & {path.stem for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_no_file_outgrows_its_idea(path):
    assert len(path.read_text().splitlines()) <= 400


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
    assert not heavy & modules_after("import parquet_bloom.cli")


QUICK = {
    "build": "pb.build({source!r}, {output!r}, columns=['int64'], existing='replace')",
    "inspect": "pb.inspect({source!r})",
    "probe": "pb.probe({source!r}, 'int64', ['5'], explain=True)",
    "strip": "pb.strip({source!r}, {output!r})",
}


@pytest.mark.parametrize("verb", QUICK)
def test_quick_verbs_load_neither_numpy_nor_pyarrow(verb, tmp_path):
    """They take longer to import than most files take to build; ciphers only where one is met."""
    heavy = {"cryptography", "google", "numpy", "pyarrow", "rich"}
    source, output = str(FIXTURES / "datafusion_filters.parquet"), str(tmp_path / "output.parquet")
    work = QUICK[verb].format(source=source, output=output)
    assert not heavy & modules_after(f"import parquet_bloom as pb; {work}")


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

    assert Path(_kernel.__file__).suffix == ".so"
