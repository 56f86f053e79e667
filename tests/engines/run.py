"""Let `pbloom conformance` judge engines of many versions.

    python tests/engines/run.py read|write [ENGINE[==VERSION]…]    # all of ENGINES, unless some are named

Each version gets an environment of its own below .engines, where it stays. The newest version of an engine is judged
by the whole suite: results/suite. All versions are asked about types, and those of NESTED about nested columns, in
files whose filters `pbloom` has built: results, and results/nested. docs/engines.py makes pages of them.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conftest import ROOT
from make.footers import footer_start
from make.parquet_files import built

from parquet_bloom.conformance.adapter import Session
from parquet_bloom.conformance.case import Case
from parquet_bloom.conformance.column_type import TYPES
from parquet_bloom.conformance.readers import read_results
from parquet_bloom.conformance.report import Result
from parquet_bloom.conformance.suite import cases, fetch, opened
from parquet_bloom.conformance.typed_cases import ABSENT, ENCODINGS, LOWER, UPPER, typed_case
from parquet_bloom.conformance.writers import write_results
from parquet_bloom.engines.catalogue import find_engine

HERE = ROOT / ".engines"
ADAPTERS = Path(str(files("parquet_bloom.conformance"))) / "adapters"
RESULTS = Path(__file__).parent / "results"
NESTED_RESULTS, SUITE_RESULTS = RESULTS / "nested", RESULTS / "suite"
# Longer than any answer takes, and than a JVM takes to start on a busy machine, in seconds.
PATIENCE = 600


@dataclass(frozen=True)
class Engine:
    """`title`: as people call it; `package`, in `versions`: what is installed; `adapter`: its programs are called so;
    `writes`: what is installed to write, if there is a program for that; `nested`: versions that are asked about
    nested columns; `settings`: what differs from the engine's defaults, for people."""

    title: str
    package: str
    adapter: str
    versions: tuple[str, ...]
    writes: tuple[str, ...] = ()
    nested: tuple[str, ...] = ()
    settings: str = ""

    @property
    def _is_javascript(self) -> bool:
        return (ADAPTERS / f"{self.adapter}_reads.mjs").exists()

    def folder(self, version: str) -> Path:
        return HERE / f"{self.package}-{version}"

    def install(self, version: str, more: Sequence[str] = ()) -> None:
        """Raises subprocess.CalledProcessError if there is no such version for this machine."""
        folder = self.folder(version)
        mark = folder / f"installed{'-to-write' if more else ''}"
        if mark.exists():
            return
        if self._is_javascript:
            folder.mkdir(parents=True, exist_ok=True)
            _run(
                "npm",
                "install",
                "--silent",
                "--prefix",
                str(folder),
                f"{self.package}@{version}",
                *more,
            )
        else:
            _run(sys.executable, "-m", "venv", str(folder))
            pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            _run(*pip, f"{self.package}=={version}", *more)
        mark.touch()

    def command(self, version: str, what: str) -> list[str]:
        """`what`: reads or writes."""
        folder, program = self.folder(version), ADAPTERS / f"{self.adapter}_{what}"
        if self.adapter.endswith(".java"):
            jars = self._installed_at(folder) / "jars" / "*"
            return ["java", "-cp", str(jars), str(ADAPTERS / self.adapter)]
        if self.adapter.endswith(".cc"):
            return [str(self._compiled(folder))]
        if self._is_javascript:
            return ["node", f"{program}.mjs", str(folder)]
        settings = [self.settings] if self.settings and what == "reads" else []
        return [str(folder / "bin" / "python"), f"{program}.py", *settings]

    def _installed_at(self, folder: Path) -> Path:
        find = f"import pathlib, {self.package} as it; print(pathlib.Path(it.__file__).parent)"
        python = [str(folder / "bin" / "python"), "-c", find]
        return Path(
            subprocess.run(python, check=True, capture_output=True, text=True).stdout.strip()
        )

    def _compiled(self, folder: Path) -> Path:
        """Against headers and libraries inside of the package."""
        package, program = self._installed_at(folder), folder / Path(self.adapter).stem
        libraries = [
            str(path) for name in ("parquet", "arrow") for path in package.glob(f"lib{name}.so.*")
        ]
        source = [f"-I{package / 'include'}", "-o", str(program), str(ADAPTERS / self.adapter)]
        _run("g++", "-std=c++20", *source, *libraries, f"-Wl,-rpath,{package}")
        return program


def _engine(name: str, package: str, adapter: str, **more: Any) -> Engine:
    """As the catalogue calls it, and with the versions that it names."""
    known = find_engine(name)
    return Engine(known.name, package, adapter, **{"versions": known.asked} | more)


_ARROW = ("pyarrow",)
ENGINES = {
    "datafusion": _engine(
        "datafusion", "datafusion", "datafusion", writes=_ARROW, nested=("55.0.0",)
    ),
    "duckdb": _engine(
        "duckdb", "duckdb", "duckdb", writes=_ARROW, nested=("1.2.2", "1.4.5", "1.5.6", "2.0.0")
    ),
    "spark": _engine("spark", "pyspark", "spark", writes=_ARROW, nested=("4.3.0",)),
    "clickhouse": _engine(
        "clickhouse", "chdb", "clickhouse", writes=_ARROW, nested=("3.7.2", "4.4.0")
    ),
    "clickhouse-no-dictionary": _engine(
        "clickhouse",
        "chdb",
        "clickhouse",
        versions=find_engine("clickhouse").asked[-1:],
        nested=("4.4.0",),
        settings="input_format_parquet_dictionary_filter_push_down = 0",
    ),
    "hyparquet": _engine("hyparquet", "hyparquet", "hyparquet", writes=("hyparquet-writer",)),
    "rugo": _engine("rugo", "rugo", "rugo"),
    "daft": _engine("daft", "daft", "daft"),
    "parquetjs": _engine("parquetjs", "@dsnp/parquetjs", "parquetjs"),
    "polars": _engine("polars", "polars", "polars"),
    "pyarrow": _engine("pyarrow", "pyarrow", "pyarrow", writes=_ARROW),
}

# What only the suite is asked of: Spark and pyarrow have all versions of them.
LIBRARIES = {
    "arrow-cpp": Engine(
        "Arrow C++", "pyarrow", "arrow_cpp_reads.cc", find_engine("pyarrow").asked[-1:]
    ),
    "parquet-java": Engine(
        "parquet-java", "pyspark", "ParquetJavaReads.java", find_engine("spark").asked[-1:]
    ),
}

# Of each type three values, where the suite asks for one: what an engine does with a type is the worst of that.
WORST_FIRST = ("refuses", "fails", "loses", "differs", "wrong", "ignores", "uses", "not asked")
TYPED = [
    typed_case(text, encoding, index)
    for text in TYPES
    for encoding in ENCODINGS
    for index in (LOWER, UPPER, ABSENT)
]
NESTED = [case for case in cases() if case.id.startswith("nested/")]


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def write_built(case: Case, folder: Path) -> None:
    """The files of a case, with filters by `pbloom build` on all leaves but the row numbers."""
    (plain,), (damaged,) = (case.written(form).values() for form in ("plain", "plain-damaged"))
    leaves = [".".join(leaf.path) for leaf in case.files[0].leaves[1:]]
    filtered = built(plain, leaves, force=True)
    # What stands before the old footer stays as it is.
    end = footer_start(plain)
    forms = {
        "plain": plain,
        "plain-damaged": damaged,
        "filtered": filtered,
        "filtered-damaged": damaged[:end] + filtered[end:],
    }
    for form, data in forms.items():
        path = folder / case.path(form)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def judged(session: Session, asked: Sequence[Case], folder: Path) -> dict[str, str]:
    """The worst verdict about the files of each case, and why if it is bad."""
    results = read_results(
        folder, [case.document() for case in asked], session, lambda done, of: None
    )
    found: dict[str, str] = {}
    for result, case in zip(results, asked, strict=True):
        said = word(result, case, session)
        found[case.id] = min(said, found.get(case.id, said), key=_badness)
    return found


def _badness(said: str) -> int:
    return WORST_FIRST.index(said.partition(":")[0])


def word(result: Result, case: Case, session: Session) -> str:
    """As the pages say it: of what an engine cannot do without filters, why."""
    if result.applies:
        return (
            f"{result.verdict}: {result.found[:160]}"
            if result.verdict == "fails"
            else result.verdict
        )
    if not case.ask.sql.get(session.greeting.dialect, case.ask.sql.get("*", "")):
        return "not asked"
    return "wrong" if result.found.startswith("rows [") else f"refuses: {result.found[:120]}"


def by_encoding(
    found: dict[str, str], asked: Sequence[Case], nested: bool
) -> dict[str, dict[str, str]]:
    return {
        encoding: {
            (case.about if nested else case.type): found[case.id]
            for case in asked
            if case.encoding == encoding
        }
        for encoding in ("plain", "dictionary")
    }


def read(name: str, wanted: str) -> None:
    """Ask all versions of an engine, or the one that is `wanted`, and keep what is known of others."""
    engine = ENGINES.get(name) or LIBRARIES[name]
    for version in engine.versions:
        if wanted not in ("", version) or not _installed(name, engine, version):
            continue
        start = time.monotonic()
        with Session(engine.command(version, "reads"), PATIENCE) as session:
            if name in ENGINES:
                _read_built(name, version, session)
            if version == engine.versions[-1] and not engine.settings:
                manifest = opened(HERE / "suite", "cases")
                results = read_results(
                    HERE / "suite", manifest["cases"], session, lambda done, of: None
                )
                _keep_suite(name, session, "read", results)
        _say(f"{name} {version}: {time.monotonic() - start:.0f} s")


def _read_built(name: str, version: str, session: Session) -> None:
    """Ask about files with filters by `pbloom`."""
    engine, inside = ENGINES[name], {"inside": _inside(session, version)}
    typed = by_encoding(judged(session, TYPED, HERE / "built"), TYPED, nested=False)
    _keep(RESULTS / f"{name}.json", engine, version, inside | typed)
    if version in engine.nested:
        found = by_encoding(judged(session, NESTED, HERE / "built"), NESTED, nested=True)
        _keep(NESTED_RESULTS / f"{name}.json", engine, version, inside | found)


def write(name: str, wanted: str) -> None:
    """Let the newest version of an engine write, if it can."""
    engine = ENGINES[name]
    version = engine.versions[-1]
    if (
        not engine.writes
        or wanted not in ("", version)
        or not _installed(name, engine, version, engine.writes)
    ):
        return
    with (
        Session(engine.command(version, "writes"), PATIENCE) as session,
        TemporaryDirectory(prefix="pbloom-written-") as folder,
    ):
        columns = opened(HERE / "suite", "columns")["columns"]
        results = write_results(
            HERE / "suite", columns, session, Path(folder), lambda done, of: None
        )
        _keep_suite(name, session, "write", results)
    _say(f"{name} {version}: written")


def _installed(name: str, engine: Engine, version: str, more: Sequence[str] = ()) -> bool:
    try:
        engine.install(version, more)
    except subprocess.CalledProcessError:
        _say(f"{name} {version}: it cannot be installed")
        return False
    return True


def _inside(session: Session, version: str) -> str:
    """What the package has in it, where that is another library or counts otherwise."""
    greeting = session.greeting
    if greeting.inside or greeting.version == version:
        return greeting.inside
    return f"{greeting.engine} {greeting.version}"


def _keep(path: Path, engine: Engine, version: str, found: dict[str, Any]) -> None:
    """In the order of the engine's versions."""
    known = json.loads(path.read_text(encoding="utf-8"))["versions"] if path.exists() else {}
    known[version] = found
    versions = {each: known[each] for each in engine.versions if each in known}
    document = {"engine": engine.title, "settings": engine.settings, "versions": versions}
    path.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _keep_suite(name: str, session: Session, kind: str, results: Iterator[Result]) -> None:
    """By case: the verdict, and what was found if that is bad."""
    path = SUITE_RESULTS / f"{name}.json"
    SUITE_RESULTS.mkdir(exist_ok=True)
    known = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    greeting = session.greeting
    known[kind] = {
        "engine": greeting.engine,
        "version": greeting.version,
        "inside": greeting.inside,
        "results": {
            each.id: f"{each.verdict}: {each.found[:160]}".removesuffix(": ") for each in results
        },
    }
    path.write_text(json.dumps(known, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def _say(what: str) -> None:
    sys.stdout.write(f"{what}\n")
    sys.stdout.flush()


def main(verb: str, names: Sequence[str]) -> None:
    # Those of an earlier run may be another suite's.
    for folder in (HERE / "suite", HERE / "built"):
        shutil.rmtree(folder, ignore_errors=True)
    fetch(HERE / "suite")
    # Of each type, several questions are about the same files.
    of_paths = {case.path("plain"): case for case in (*TYPED, *NESTED)}
    for case in of_paths.values() if verb == "read" else ():
        write_built(case, HERE / "built")
    for name in names or (*ENGINES, *LIBRARIES):
        engine, _, version = name.partition("==")
        {"read": read, "write": write}[verb](engine, version)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
