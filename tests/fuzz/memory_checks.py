"""The short form of tests/fuzz/memory.py: some of the files that take most.

For a process of its own, as test_memory_budgets.py starts it: one that has other threads, or much
memory, has children that wait for ever, or are born with it.
"""

import signal

from fuzz import memory
from fuzz.memory import (
    BUDGETS,
    CORPUS,
    Command,
    alone,
    costs_of,
    measured,
    on_small_files,
    small_files,
    table,
)

# Of each format, values that take next to no room in the file, and a few seconds.
WORST = ("nulls-100M.parquet", "zeros-100M.orc")
VERBS = ("build",)


def test_the_worst_files_keep_the_budget():
    costs = costs_of(WORST, VERBS)
    assert [str(each) for each in costs if each.problem] == []
    found = {(each.command.path.name, each.command.verb, each.command.budget) for each in costs}
    assert found == {
        (name, *of) for name in WORST for verb in VERBS for of in [(verb, "256MiB"), (verb, "1GiB")]
    }


def inspect(name, verb="inspect"):
    return Command(verb, "256MiB", CORPUS / name, "l")


def test_many_commands_share_a_child(tmp_path):
    names = ["none.parquet", "missing.parquet", "zlib.orc"]
    costs = list(measured([*map(inspect, names)], tmp_path))
    assert [(each.command.path.name, each.code) for each in costs] == [
        *zip(names, (0, 2, 0), strict=True)
    ]
    assert costs[1].complaint.startswith(f"pbloom: {CORPUS / 'missing.parquet'}: ")
    assert costs[0].complaint == costs[2].complaint == ""
    assert all(each.peak > 10**7 and not each.problem for each in costs)


def test_a_child_that_dies_costs_one_command(tmp_path, monkeypatch):
    real = memory._run

    def run(command, complaints):
        if command.verb == "diff":
            signal.raise_signal(signal.SIGKILL)
        return real(command, complaints)

    monkeypatch.setattr(memory, "_run", run)
    commands = [inspect("none.parquet", verb) for verb in ("inspect", "diff", "strip")]
    assert [each.problem for each in measured(commands, tmp_path)] == ["", "exit code -9", ""]


def test_what_takes_too_much_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "MOST_BESIDE", -BUDGETS["256MiB"])
    (cost,) = alone([inspect("none.parquet")], tmp_path)
    shown = str(cost)
    assert shown.startswith("none.parquet: inspect --memory 256MiB: too much memory: "), shown


def test_the_table_has_the_most_that_a_verb_took():
    costs = on_small_files([inspect("none.parquet"), inspect("zlib.orc")], most=0)
    most = max(costs, key=lambda cost: cost.peak)
    (line,) = memory.lines_of(costs)
    assert line == {
        "verb": "inspect",
        "commands": 2,
        "most": {"256MiB": {"file": most.command.path.name, "peak": most.peak}},
    }
    both = line["most"] | {"1GiB": {"file": "zlib.orc", "peak": 12_345_678}}
    shown = table([line | {"most": both}]).splitlines()
    name, peak = most.command.path.name, most.peak / 1e6
    assert shown[2] == f"| `inspect` | 1 | `{name}` | {peak:,.0f} | `zlib.orc` | 12 |"
    assert shown[-1] == "2 commands."


def test_the_small_files_are_all_there():
    assert len([path for path in small_files() if path.parent == CORPUS]) == 19
