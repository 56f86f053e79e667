"""The short form of tests/fuzz/damaged_orc.py: a file of each kind and area for each command."""

import pytest
from fuzz import damaged_orc
from fuzz.damaged_orc import AREAS, COMMANDS, KINDS, Died, Servant, main

FILES = len(KINDS) * len(AREAS)


def test_no_command_fails_and_no_value_is_lost(capfd):
    assert main(FILES) == 0
    lines = capfd.readouterr().out.splitlines()
    assert lines[-1] == f"{len(COMMANDS) * FILES} files, 0 failures"
    assert len(lines) == 2 + len(COMMANDS) * len(AREAS) + 1
    found = "\n".join(lines)
    # It can fail: bits that are cleared are found by validate alone.
    assert "absent, and validate finds it" in found
    assert "built, as ORC C++ reads" in found


def test_a_value_that_is_lost_is_a_failure(monkeypatch, capfd):
    monkeypatch.setattr(damaged_orc, "lost", lambda path, table, name: f"{name}: 7 is absent")
    assert main(len(KINDS), ["build"]) == 1
    captured = capfd.readouterr()
    assert not captured.out.endswith(" 0 failures\n")
    assert "ORC C++ reads what " in captured.err


def leave(how):
    raise SystemExit(how)


def test_a_process_that_ends_is_a_failure():
    servant = Servant(leave)
    for how in (3, 4):
        with pytest.raises(Died, match=f"^exit code {how}$"):
            servant.ask(how)
