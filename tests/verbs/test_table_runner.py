"""Files of a table are changed one by one, or many small ones at a time."""

from threading import Barrier, current_thread

import pytest

from parquet_bloom.tables.table import TableFile
from parquet_bloom.threads import MANY, SMALL_FILE
from parquet_bloom.verbs.table_runner import each_file
from parquet_bloom.verbs.table_step import ChangedFile, FileResult


def files(count, size=1000):
    return [TableFile(f"{number:03}", f"/nowhere/{number:03}", size) for number in range(count)]


def unchanged(file):
    return FileResult(ChangedFile(file.name, "unchanged", file.size, file.size))


def results(found):
    return [each.changed for each in found]


def test_many_small_files_are_changed_at_a_time():
    """What two of them wait for comes when both are there."""
    both = Barrier(2, timeout=30)
    asked = files(MANY)

    def work(file, threads):
        assert threads == 1
        # Not any two: one that comes late might find that all others which have begun are done.
        if file in asked[:2]:
            both.wait()
        return unchanged(file)

    done = []
    changed = results(each_file(asked, work, None, lambda count, _: done.append(count)))
    assert [each.file for each in changed] == [file.name for file in asked]
    assert {each.action for each in changed} == {"unchanged"}
    assert done == list(range(1, MANY + 1))


@pytest.mark.parametrize(
    ("asked", "threads"),
    [
        (files(MANY - 1), None),
        ([*files(MANY - 1), TableFile("x", "/nowhere/x", SMALL_FILE + 1)], None),
        (files(MANY), 1),
    ],
    ids=["few", "a large one", "one thread"],
)
def test_others_are_changed_one_by_one(asked, threads):
    own = current_thread()

    def work(file, threads):
        assert current_thread() is own
        return unchanged(file)

    changed = results(each_file(asked, work, threads, None))
    assert {each.action for each in changed} == {"unchanged"}


def test_what_many_fail_of_is_what_became_of_them():
    def work(file, threads):
        raise FileNotFoundError(2, "No such file or directory", file.path)

    changed = results(each_file(files(MANY), work, None, None))
    assert {each.action for each in changed} == {"failed"}
    assert changed[5].reason == "No such file or directory"
