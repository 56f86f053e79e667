"""Ask engines of many versions about files with filters that `pbloom` built.

    python tests/engines/run.py [ENGINE[==VERSION]…]    # all of ENGINES, unless some are named

Each version gets an environment of its own below .engines, where it stays. What came of it is written
to tests/engines/results, a file for each engine; docs/engines.py makes a page of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import Any

from conftest import ROOT
from engines.files import ABSENT, CASES, PRESENT, Case, literal, stored, write
from engines.outcomes import Answers, outcome

from parquet_bloom.engines.catalogue import find_engine

HERE = ROOT / ".engines"
PROGRAMS = Path(__file__).parent / "ask"
RESULTS = Path(__file__).parent / "results"
# Longer than any answer takes, and than a JVM takes to start on a busy machine.
PATIENCE = 600
DIED = {"error": "the process died"}


@dataclass(frozen=True)
class Engine:
    """`title`: as people call it; `package`, in `versions`: what is installed; `arguments`: of the
    program that asks it; `settings`: what differs from the engine's defaults, for people."""

    title: str
    package: str
    program: str
    versions: tuple[str, ...]
    settings: str = ""
    registry: str = "pip"

    def folder(self, version: str) -> Path:
        return HERE / f"{self.package}-{version}"

    def install(self, version: str) -> None:
        """Raises subprocess.CalledProcessError if there is no such version for this machine."""
        folder = self.folder(version)
        if (folder / "installed").exists():
            return
        wanted = f"{self.package}{'==' if self.registry == 'pip' else '@'}{version}"
        if self.registry == "pip":
            _run(sys.executable, "-m", "venv", str(folder))
            _run(str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", wanted)
        else:
            folder.mkdir(parents=True, exist_ok=True)
            _run("npm", "install", "--silent", "--prefix", str(folder), wanted)
        (folder / "installed").touch()

    def command(self, version: str) -> list[str]:
        folder, program = self.folder(version), str(PROGRAMS / self.program)
        if self.registry == "npm":
            return ["node", program, str(folder)]
        settings = [self.settings] if self.settings else []
        return [str(folder / "bin" / "python"), program, *settings]


def _engine(name: str, package: str, program: str, **more: Any) -> Engine:
    """As the catalogue calls it, and with the versions that it names."""
    known = find_engine(name)
    return Engine(known.name, package, program, **{"versions": known.asked} | more)


ENGINES = {
    "datafusion": _engine("datafusion", "datafusion", "ask_datafusion.py"),
    "duckdb": _engine("duckdb", "duckdb", "ask_duckdb.py"),
    "spark": _engine("spark", "pyspark", "ask_spark.py"),
    "clickhouse": _engine("clickhouse", "chdb", "ask_chdb.py"),
    "clickhouse-no-dictionary": _engine(
        "clickhouse",
        "chdb",
        "ask_chdb.py",
        versions=find_engine("clickhouse").asked[-1:],
        settings="input_format_parquet_dictionary_filter_push_down = 0",
    ),
    "hyparquet": _engine("hyparquet", "hyparquet", "ask_hyparquet.mjs", registry="npm"),
    "rugo": _engine("rugo", "rugo", "ask_rugo.py"),
    "daft": _engine("daft", "daft", "ask_daft.py"),
    "parquetjs": _engine("parquetjs", "@dsnp/parquetjs", "ask_parquetjs.mjs", registry="npm"),
    "polars": _engine("polars", "polars", "ask_polars.py"),
    "pyarrow": _engine("pyarrow", "pyarrow", "ask_pyarrow.py"),
}


def _run(*command: str) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


class Session:
    """A program that answers questions; one that dies is started again for the next question."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = command
        self._start()
        first = self._next()
        if "inside" not in first:
            raise RuntimeError(f"{' '.join(command)}: it does not start")
        self.inside = first["inside"]

    def _start(self) -> None:
        self._process = subprocess.Popen(
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._lines: Queue[str] = Queue()
        Thread(target=self._listen, args=(self._process.stdout, self._lines), daemon=True).start()

    @staticmethod
    def _listen(stdout: Any, lines: Queue[str]) -> None:
        for line in stdout:
            lines.put(line)
        lines.put("")

    def _next(self) -> dict[str, Any]:
        try:
            line = self._lines.get(timeout=PATIENCE)
        except Empty:
            line = ""
        return json.loads(line) if line else DIED

    def ask(self, question: dict[str, Any]) -> dict[str, Any]:
        assert self._process.stdin
        self._process.stdin.write(json.dumps(question) + "\n")
        self._process.stdin.flush()
        answer = self._next()
        if answer is DIED:
            self.close()
            self._start()
            self._next()
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


def questions(case: Case, *, filtered: bool, damaged: bool) -> Iterator[dict[str, Any]]:
    """One, where all that matters is whether it finds the damage."""
    path = case.path(HERE / "files", filtered=filtered, damaged=damaged)
    for index in PRESENT[:1] if damaged and not filtered else (*PRESENT, *ABSENT):
        data = stored(case.leaf, index)
        is_number = case.leaf.physical in ("INT32", "INT64")
        yield {
            "path": str(path),
            "type": case.type,
            "literal": literal(case.leaf, index),
            "stored": data.hex(),
            "number": int.from_bytes(data, "little", signed=True) if is_number else None,
        }


def answers(session: Session, case: Case) -> Answers:
    """What the session answers about the four files of a case."""

    def ask(**file: bool) -> list[dict[str, Any]]:
        return [session.ask(question) for question in questions(case, **file)]

    sound = ask(filtered=False, damaged=False)
    if any("error" in each for each in sound):
        return Answers(sound)
    return Answers(
        sound,
        ask(filtered=False, damaged=True),
        ask(filtered=True, damaged=False),
        ask(filtered=True, damaged=True),
    )


def results(engine: Engine, version: str) -> dict[str, Any]:
    """What became of each case: `uses`, `ignores`, `loses` or `refuses`, and why it refuses."""
    session = Session(engine.command(version))
    found: dict[str, Any] = {"inside": session.inside, "plain": {}, "dictionary": {}}
    for case in CASES:
        what, why = outcome(answers(session, case), str(HERE))
        found[case.encoding][case.type] = f"{what}: {why}" if why else what
    session.close()
    return found


def run(name: str, wanted: str) -> None:
    """Ask all versions of an engine, or the one that is `wanted`, and keep what is known of others."""
    engine, path = ENGINES[name], RESULTS / f"{name}.json"
    known: dict[str, Any] = {}
    if wanted and path.exists():
        known = json.loads(path.read_text(encoding="utf-8"))["versions"]
    found: dict[str, Any] = {}
    for version in engine.versions:
        if wanted not in ("", version):
            if version in known:
                found[version] = known[version]
            continue
        start = time.monotonic()
        try:
            engine.install(version)
        except subprocess.CalledProcessError:
            sys.stdout.write(f"{name} {version}: it cannot be installed\n")
            continue
        found[version] = results(engine, version)
        sys.stdout.write(f"{name} {version}: {time.monotonic() - start:.0f} s\n")
        sys.stdout.flush()
    document = {"engine": engine.title, "settings": engine.settings, "versions": found}
    path.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")


def main(names: Sequence[str]) -> None:
    write(HERE / "files")
    for name in names or ENGINES:
        engine, _, version = name.partition("==")
        run(engine, version)


if __name__ == "__main__":
    main(sys.argv[1:])
