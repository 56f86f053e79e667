"""Every interleaving of two of our commands, or of one and a stranger, with a kill of one of ours: in few
turns here, and in all by `make races`.
"""

from dataclasses import replace

import pytest
from interleavings import delta, local, power, stores
from interleavings.files import USUAL, Can, FileSystem
from interleavings.scenarios import NO_SYNC, RENAME, SEARCHED, Searched
from interleavings.search import search

from parquet_bloom.storage import file_lock, local_output
from parquet_bloom.storage.local_output import NewFile, Replacement
from parquet_bloom.tables.delta import table as delta_table
from parquet_bloom.tables.table import SHORTER


@pytest.fixture(scope="module", autouse=True)
def servers():
    with stores.servers():
        yield


def name_of(each: Searched) -> str:
    return f"{each.place}: {each.who} ({each.where})"


IN_SHORT = [each for each in SEARCHED if each.short is not None]


@pytest.mark.every(10)
@pytest.mark.parametrize("each", IN_SHORT, ids=name_of)
def test_no_interleaving_harms(each):
    alone, killed = replace(each.scenario, killed=()), each.scenario
    for scenario, most_switches in ((alone, each.short), (killed, each.short - 1)):
        found = search(scenario, most_switches)
        assert found.failures == []
        assert found.runs


# ------------------------------------------------------------------------------------------------
# The machine goes down


FILES = {local.FILE: local.parquet()}


@pytest.mark.every(2)
@pytest.mark.parametrize("can", [USUAL, NO_SYNC, RENAME], ids=["usual", "no sync", "no exchange"])
@pytest.mark.parametrize(
    "command", [local.build("a"), local.append("a")], ids=["in place", "append"]
)
def test_a_machine_that_goes_down_leaves_the_old_file_or_the_new_one(command, can):
    def make(touched):
        return FileSystem(touched, FILES, can)

    found = [*power.outages(make, command, local.files_at_rest)]
    new = found[-1][2]
    assert {before for _, before, _ in found} == {(*FILES.items(),), new}
    assert {again for _, _, again in found} == {new}
    assert len({number for number, *_ in found}) > 10


def test_a_machine_that_goes_down_leaves_a_table_whose_record_is_right():
    build = delta.build("a")
    found = [*power.outages(delta.scenario([build]).make, build, delta.recorded)]
    states = {before for _, before, _ in found}
    assert states == {
        (("part-0.parquet", frozenset()),),
        (("part-0.parquet", frozenset("a")),),
    }
    assert {again for _, _, again in found} == {(("part-0.parquet", frozenset("a")),)}


def test_a_folder_that_is_not_synced_before_the_commit_is_found(monkeypatch):
    monkeypatch.setattr(local_output, "sync_folder", lambda _: None)
    build = delta.build("a")
    with pytest.raises(AssertionError, match="cannot be opened at "):
        [*power.outages(delta.scenario([build]).make, build, delta.recorded)]


# ------------------------------------------------------------------------------------------------
# What was wrong once is found, if it is put back


@pytest.fixture
def without_locks_and_looks(monkeypatch):
    """As it was: nothing is locked, and a commit asks only whether files are long enough."""
    monkeypatch.setattr(file_lock, "take", lambda *_: None)

    def why_not(path, there, size):
        return SHORTER if there is None or there < size else None

    monkeypatch.setattr(delta_table, "why_not", why_not)


def problem(scenario, most_switches):
    (failure,) = search(scenario, most_switches).failures
    return failure.problem


def test_a_record_that_is_no_end_after_a_rename_is_found(without_locks_and_looks):
    two = delta.scenario([delta.build("b"), delta.build("a")], Can(exchange=False), kills=False)
    assert problem(two, 1).startswith("cannot be opened at ")


def test_a_record_that_is_no_end_after_a_kill_is_found(without_locks_and_looks):
    two = delta.scenario([delta.build("b"), delta.build("a")])
    assert problem(replace(two, killed=(0,)), 1).startswith("cannot be opened at ")


def test_what_only_a_lock_keeps_apart_is_found(monkeypatch):
    monkeypatch.setattr(file_lock, "take", lambda *_: None)
    two = local.scenario([local.build("a"), local.build("b")], Can(exchange=False), kills=False)
    assert problem(two, 1).startswith("no order of ")


def test_a_checksum_put_back_over_another_is_found(monkeypatch):
    monkeypatch.setattr(local_output, "_rename_to_free", lambda old, new: local.os.rename(old, new))
    both = local.scenario([local.build("a"), local.replace(with_checksum=True)], has_checksum=True)
    assert problem(both, 2).startswith("no order of ")


def test_a_journal_that_stays_beside_another_file_is_found(monkeypatch):
    monkeypatch.setattr(Replacement, "_check_no_journal", lambda _: None)
    both = local.scenario([local.build("b"), local.append("a")])
    assert "delete the journal if the file is right" in problem(replace(both, killed=(1,)), 1)


def test_a_file_that_comes_back_is_found(monkeypatch):
    real = NewFile._take_name
    monkeypatch.setattr(NewFile, "_take_name", lambda self, _: real(self, None))
    both = local.scenario([local.build("a"), local.remove()], kills=False)
    assert problem(both, 1).startswith("no order of ")


def test_what_only_a_condition_keeps_apart_is_found():
    both = [stores.build("a", unconditional=True), stores.replace()]
    assert problem(stores.scenario("s3", both, kills=False), 1).startswith("no order of ")
