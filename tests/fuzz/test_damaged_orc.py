"""The short form of tests/fuzz/damaged_orc.py: a file of each kind and area for each command."""

from decimal import Decimal

import pyarrow as pa
import pytest
from fuzz import damaged_orc
from fuzz.damaged_orc import (
    AREAS,
    COMMANDS,
    KINDS,
    Died,
    Servant,
    asked,
    num_failures,
    outcomes,
    table,
)
from pyarrow import orc

import parquet_bloom as pb

FILES = len(KINDS) * len(AREAS)


def found(folder, files, commands=COMMANDS):
    return list(outcomes(files, commands, folder))


def test_no_command_fails_and_no_value_is_lost(tmp_path):
    lines = found(tmp_path, FILES)
    shown = table(lines)
    assert shown.endswith(f"\n\n{len(COMMANDS) * FILES} files, 0 failures.\n")
    assert len(lines) == len(COMMANDS) * len(AREAS)
    # It can fail: bits that are cleared are found by validate alone.
    assert "absent, and validate finds it" in shown
    assert "built, as ORC C++ reads" in shown


def test_a_value_that_is_lost_is_a_failure(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr(damaged_orc, "lost", lambda path, table, name: f"{name}: 7 is absent")
    assert num_failures(found(tmp_path, len(KINDS), ["build"])) > 0
    assert "ORC C++ reads what " in capfd.readouterr().err


def test_a_value_that_the_type_has_no_room_for_is_not_asked(tmp_path):
    """Damage may leave a DECIMAL with more digits than its type has."""
    path = tmp_path / "in.orc"
    few = pa.array([Decimal("1.50"), Decimal("2.50")], pa.decimal128(9, 2))
    orc.write_table(pa.table({"d": few}), path)
    pb.build(path, columns=["d"], in_place=True, fpp=0.0001)
    many = pa.array([*few.to_pylist(), Decimal("12345678901.50"), Decimal("3.50")])
    answers = [(str(each.value), each.groups[0].verdict) for each in asked(path, "d", many)]
    assert answers == [("1.50", "maybe"), ("2.50", "maybe"), ("3.50", "absent")]


def leave(how):
    raise SystemExit(how)


def test_a_process_that_ends_is_a_failure():
    servant = Servant(leave)
    for how in (3, 4):
        with pytest.raises(Died, match=f"^exit code {how}$"):
            servant.ask(how)
