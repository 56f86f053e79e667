"""Ask readers of tables for the rows of each version, before and after all that `pbloom` does to a table.

    python tests/readers/run.py [READER…]    # all of READERS, unless some are named

Each reader has an environment of its own in .readers, with the newest version that there was when it was
made. What came of it is kept in results.json, and a table of it in docs/tables.md.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from conftest import ROOT
from readers import page
from readers.lakes import LAKES, Case, Lake, lake

from parquet_bloom.conformance.adapter import Session

HERE = ROOT / ".readers"
# Longer than any answer takes on a busy machine, in seconds.
PATIENCE = 600
PROGRAMS = Path(__file__).parent / "ask"
# What `pbloom` does, one after the other.
STATES = ("appended", "committed", "rebuilt", "stripped")


@dataclass(frozen=True)
class Reader:
    """`needs`: what pip installs, first the package whose version counts."""

    program: str
    needs: tuple[str, ...]
    tables: tuple[str, ...] = ("delta", "iceberg")
    arguments: tuple[str, ...] = ()

    @property
    def _folder(self) -> Path:
        return HERE / self.needs[0].partition("[")[0]

    def install(self) -> None:
        """Raises subprocess.CalledProcessError."""
        if (self._folder / "installed").exists():
            return
        subprocess.run([sys.executable, "-m", "venv", str(self._folder)], check=True)
        pip = [str(self._folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, *self.needs], check=True)
        (self._folder / "installed").touch()

    def command(self) -> list[str]:
        python = str(self._folder / "bin" / "python")
        return [python, str(PROGRAMS / self.program), *self.arguments]


ICEBERG = "pyiceberg[pyarrow,sql-sqlite]"
READERS = {
    "query": Reader(
        "ask_deltalake.py",
        ("deltalake", "pyarrow"),
        ("delta",),
        ("query",),
    ),
    "dataset": Reader(
        "ask_deltalake.py",
        ("deltalake", "pyarrow"),
        ("delta",),
        ("dataset",),
    ),
    "pyiceberg": Reader("ask_pyiceberg.py", (ICEBERG,), ("iceberg",)),
    "polars": Reader("ask_polars.py", ("polars", "deltalake", ICEBERG)),
    "chdb": Reader("ask_chdb.py", ("chdb",)),
    "daft": Reader("ask_daft.py", ("daft[deltalake,iceberg]",)),
    "pysail": Reader("ask_pysail.py", ("pysail", "pyspark-client")),
}


class Asked:
    """What a reader finds of one table, as it goes on: the answers to the first questions are what all
    later ones must be."""

    def __init__(self, session: Session, table: Lake) -> None:
        self._session, self._table = session, table
        self._known = {version: self._ask(version) for version in table.versions()}
        names = [name for name, _ in table.rows]
        wanted = (names[0], names[len(names) // 2], names[-1], "nobody")
        self._looked_up = {name: self._ask(table.base, name) for name in wanted}
        self.found: dict[str, str] = {"before": "right"}
        error = self._known[table.base].get("error")
        if error is not None:
            self.found["before"] = f"refuses: {_shortened(error)}"
        elif not self._is_all_right():
            self.found["before"] = "other rows"

    def _is_all_right(self) -> bool:
        looked_up = (self._is(found, name) for name, found in self._looked_up.items())
        return self._is(self._known[self._table.base]) and all(looked_up)

    def _is(self, answer: dict[str, Any], name: str | None = None) -> bool:
        """Whether these are the rows of the base, or those with this `id`."""
        expected = [[*row] for row in self._table.rows if name in (None, row[0])]
        return [row[:2] for row in answer.get("rows", ())] == expected

    def state(self, name: str) -> None:
        """Ask for every version, and look up values in the newest one."""
        versions = self._table.versions()
        base = self._known[self._table.base]
        wrong = [
            f"version {number + 1} of {len(versions)}: {difference}"
            for number, version in enumerate(versions)
            if (difference := _difference(self._known.get(version, base), self._ask(version)))
        ]
        wrong += [
            f"id {asked}: {difference}"
            for asked, expected in self._looked_up.items()
            if (difference := _difference(expected, self._ask(versions[-1], asked)))
        ]
        self.found[name] = "; ".join(wrong) or "same"

    def destroyed(self, name: str) -> None:
        """All pages but those of the row group with this `id`."""
        if not self.found["before"].startswith("refuses"):
            is_right = self._is(self._ask(self._table.versions()[-1], name), name)
            self.found["filters"] = "uses" if is_right else "ignores"

    def _ask(self, version: int, name: str | None = None) -> dict[str, Any]:
        about = {"id": f"{version} {name}", "version": version, "name": name}
        found = self._session.ask(self._table.place() | about)
        # Which question it answers is no part of the answer.
        return {key: said for key, said in found.items() if key != "id"}


def _shortened(text: str) -> str:
    return text.replace(str(HERE), "").splitlines()[0][:120]


def _difference(expected: dict[str, Any], found: dict[str, Any]) -> str:
    """Empty if there is none: of what cannot be read the message may differ."""
    if found == expected or ("error" in found and "error" in expected):
        return ""
    if "error" in found:
        return _shortened(found["error"])
    if "error" in expected:
        return f"{len(found['rows'])} rows, not an error"
    return f"{len(found['rows'])} rows, not the {len(expected['rows'])} of before"


def ask_about(table: Lake, sessions: dict[str, Session]) -> dict[str, dict[str, str]]:
    """What each reader finds in each state, and whether it uses filters."""
    asked = {name: Asked(session, table) for name, session in sessions.items()}
    steps = {
        "appended": lambda: table.build(commit=False),
        "committed": table.build,
        "rebuilt": lambda: table.build(columns=["n"]),
        "stripped": table.strip,
    }
    for state in STATES:
        steps[state]()
        for each in asked.values():
            each.state(state)
    table.build()
    name = table.rows[len(table.rows) // 2][0]
    table.destroy(name)
    for each in asked.values():
        each.destroyed(name)
    return {name: each.found for name, each in asked.items()}


@contextmanager
def sessions_of(names: Sequence[str]) -> Iterator[dict[str, Session]]:
    with ExitStack() as sessions:
        found = {}
        for name in names:
            try:
                READERS[name].install()
            except subprocess.CalledProcessError:
                sys.stdout.write(f"{name}: it cannot be installed\n")
            else:
                session = Session(READERS[name].command(), PATIENCE)
                found[name] = sessions.enter_context(session)
        yield found


def show(case: Case, found: dict[str, dict[str, str]], seconds: float) -> bool:
    """Print what is not as it should be; whether all is."""
    wrong = [
        f"    {name}, {state}: {said}\n"
        for name, states in found.items()
        for state, said in states.items()
        if said not in ("right", "same", "uses", "ignores")
    ]
    sys.stdout.write(f"{case.name}: {seconds:.1f} s\n{''.join(wrong)}")
    sys.stdout.flush()
    return all(states[state] == "same" for states in found.values() for state in STATES)


def main(wanted: Sequence[str]) -> int:
    results = json.loads(page.RESULTS.read_text()) if page.RESULTS.exists() else {}
    is_fine = True
    names = [name for name in READERS if not wanted or name in wanted]
    with sessions_of(names) as sessions:
        for kind, (_, cases) in LAKES.items():
            of_kind = {n: each for n, each in sessions.items() if kind in READERS[n].tables}
            known = results.setdefault(kind, {"versions": {}, "cases": {}})
            known["versions"] |= {name: each.greeting.version for name, each in of_kind.items()}
            cases_known = {case.name: known["cases"].get(case.name, {}) for case in cases}
            known["cases"] = cases_known
            for case in cases if of_kind else ():
                start = time.monotonic()
                with (
                    TemporaryDirectory(prefix="pbloom-readers-") as folder,
                    lake(kind, case, Path(folder)) as table,
                ):
                    found = ask_about(table, of_kind)
                is_fine = show(case, found, time.monotonic() - start) and is_fine
                cases_known[case.name] |= found
                page.RESULTS.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    page.PAGE.write_text(page.page(results), encoding="utf-8")
    return 0 if is_fine else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
