"""Where things lie in the suite: its folders are those of the package, and what is made is made once."""

import ast
from collections import Counter
from functools import cache
from itertools import chain
from pathlib import Path

import pytest
from conftest import ROOT
from make.schedule import ALSO_SPARK, LONG, SPARK

TESTS = ROOT / "tests"
PACKAGE = ROOT / "parquet_bloom"

# What mirrors nothing in the package: catalogs of tables, digests of what it does, pages, what engines make
# of its filters, fuzzing, searches of interleavings, makers, judges, readers of tables, stores that others emulate, and files of other
# writers.
OWN = {
    *(
        "catalogs",
        "digests",
        "docs",
        "fuzz",
        "interleavings",
        "make",
        "oracle",
        "readers",
    ),
    *("stores", "writers"),
}

MODULES = sorted(TESTS.rglob("*.py"))
MAKERS = sorted((TESTS / "make").glob("*.py"))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add(node.module)
    return found


def test_folders_mirror_the_package():
    folders = {path.relative_to(TESTS).parts[0] for path in MODULES if path.parent != TESTS}
    packages = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert folders - OWN == packages


def test_modules_of_tests_have_names_of_their_own():
    """They are imported by their last name alone."""
    names = Counter(path.name for path in MODULES if path.name.startswith("test_"))
    assert [name for name, count in names.items() if count > 1] == []


def test_what_takes_long_is_there():
    assert [name for name in LONG if not (ROOT / name).exists()] == []


def asks_spark(path: Path) -> bool:
    """Whether a test or fixture takes the session of the whole run."""
    named = [node for node in ast.walk(parsed(path)) if isinstance(node, ast.FunctionDef)]
    own = any(node.name == "spark" for node in named)
    return not own and any(each.arg == "spark" for node in named for each in node.args.args)


def test_what_asks_spark_is_in_one_process():
    asking = {str(path.relative_to(ROOT)) for path in MODULES if asks_spark(path)}
    found = {name for name in asking if Path(name).name.startswith("test_")}
    assert {name for name in found if not name.startswith(SPARK)} == {
        *ALSO_SPARK,
        # A parameter of this name.
        "tests/encryption/test_keys_file.py",
    }


def test_nothing_but_tests_and_conftest_lies_beside_them():
    """What tests share is a maker, a judge or a fixture, and has its place."""
    own = (
        *("digests", "engines", "engines/ask", "fuzz", "make", "oracle", "readers", "readers/ask"),
        *("catalogs", "interleavings", "stores", "writers"),
    )
    makers = {TESTS / name for name in own}
    strange = [path for path in MODULES if path.parent not in makers]
    assert [path.name for path in strange if not path.name.startswith(("test_", "conftest"))] == []


@pytest.mark.parametrize(
    "path", sorted((TESTS / "oracle").glob("*.py")), ids=lambda path: path.stem
)
def test_the_oracle_knows_nothing_of_the_package(path):
    roots = {name.split(".")[0] for name in imports(path)}
    assert not roots & {"make", "parquet_bloom"}


@pytest.mark.parametrize("path", MODULES, ids=lambda path: str(path.relative_to(TESTS)))
def test_nobody_takes_anything_from_tests(path):
    """A test is read by itself; what two of them need is made in tests/make."""
    names = chain.from_iterable(name.split(".") for name in imports(path))
    assert [name for name in names if name.startswith("test_")] == []


def functions(path: Path) -> list[ast.FunctionDef]:
    return [node for node in parsed(path).body if isinstance(node, ast.FunctionDef)]


@cache
def occurrences() -> Counter[str]:
    """How many functions have each name: equal ones share it, and the others need no comparison."""
    return Counter(node.name for path in MODULES for node in functions(path))


def defined(path: Path) -> dict[str, str]:
    """The functions that a module defines, by name; without docstrings, so that equal code is equal."""
    found = {}
    for node in functions(path):
        if occurrences()[node.name] > 1:
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            parts = (node.args, *node.decorator_list, *body)
            found[node.name] = "\n".join([node.name, *map(ast.dump, parts)])
    return found


def test_nothing_is_made_twice():
    """No function of a test module, and no second maker, is a maker word for word."""
    made = {}
    for path in MAKERS:
        for name, code in defined(path).items():
            assert made.setdefault(code, (path, name)) == (path, name)
    twice = [
        (path.name, name)
        for path in MODULES
        if path not in MAKERS
        for name, code in defined(path).items()
        if code in made
    ]
    assert twice == []
