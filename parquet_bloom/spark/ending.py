"""The end of a run, and its account, on the executors.

finish           what attempts have left that died is removed; the run is marked as finished
read_outcomes    the account, for whoever asks for single files
discard          the account of a run that was given no place to keep it
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import suppress

from parquet_bloom.errors import ParquetBloomError
from parquet_bloom.spark.cleaning import leftovers_in
from parquet_bloom.spark.plan import planned
from parquet_bloom.spark.request import Tasks
from parquet_bloom.spark.rows import RowFields
from parquet_bloom.spark.run import Account
from parquet_bloom.spark.schemas import CONTROL, OUTCOME, Batches, giving, numbers_in
from parquet_bloom.storage import discard_folder
from parquet_bloom.storage.temporary_files import is_temporary


@giving(CONTROL)
def finish(sent: tuple[Tasks, bool], batches: Batches) -> Iterator[RowFields]:
    """No document."""
    list(batches)
    tasks, is_whole = sent
    account = Account(tasks.run)
    attempts = Counter(name.split("-")[1] for name in account.names() if name.startswith("began-"))
    for number, times in attempts.items():
        if times > 1:
            _remove_leftovers(account, tasks, int(number))
    if is_whole:
        account.mark("finished")
    return iter(())


def _remove_leftovers(account: Account, tasks: Tasks, number: int) -> None:
    """Of the attempts at a task of which one has died: temporary files for its files."""
    began = tasks.run.started_at.timestamp()
    files: dict[str, set[str]] = {}
    for each in planned(account, tasks.plan.sheet(number)):
        folder, name = os.path.split(each.file.path)
        files.setdefault(folder, set()).add(name)
    for folder, names in files.items():
        # Somebody may have removed the folder, or not allow that it is listed: nothing depends on it.
        with suppress(OSError, ParquetBloomError):
            for left in leftovers_in(folder, 0):
                name = left.path.rpartition("/")[2]
                if left.since >= began and any(is_temporary(name, of) for of in names):
                    left.remove()


@giving(OUTCOME)
def read_outcomes(
    sent: tuple[Tasks, int, Collection[str] | None], batches: Batches
) -> Iterator[RowFields]:
    """Rows of OUTCOME of some statuses, None for all. Number 0 stands for the names that stand for no
    file, the others for so many sheets each."""
    tasks, per_task, statuses = sent
    account = Account(tasks.run)
    for number in numbers_in(batches):
        names = ["missing"]
        if number:
            sheets = range(tasks.plan.num_sheets)[(number - 1) * per_task : number * per_task]
            names = [f"task-{sheet:06}" for sheet in sheets]
        for name in names:
            for row in account.outcomes(name, OUTCOME.names) or ():
                if statuses is None or row["status"] in statuses:
                    yield row


@giving(CONTROL)
def discard(tasks: Tasks, batches: Batches) -> Iterator[RowFields]:
    """No document."""
    list(batches)
    discard_folder(tasks.run.audit)
    return iter(())
