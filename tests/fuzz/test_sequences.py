"""The short form of tests/fuzz/sequences.py: a dozen sequences for each kind of file."""

from fuzz import sequences
from fuzz.sequences import FAILED, KINDS, num_failures, outcomes, table_of

COUNT = 12 * len(KINDS)


def test_the_old_file_comes_back():
    lines = outcomes(COUNT)
    assert table_of(lines).endswith(f"\n\n{COUNT} sequences, 0 failures.\n")
    assert [line["file"] for line in lines] == list(KINDS)
    came = {what for line in lines for what in line["came back"]}
    assert {"the old bytes", "its data streams", "the old size, sealed anew"} <= came


def test_a_broken_promise_is_a_failure(monkeypatch, capfd):
    monkeypatch.setattr(sequences, "expected", lambda group, name, num_bytes: b"")
    lines = outcomes(2 * len(KINDS))
    assert num_failures(lines) > 0
    assert f"{FAILED}: 0: other bits of " in capfd.readouterr().err
