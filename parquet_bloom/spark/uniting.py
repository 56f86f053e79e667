"""Columns that files may lack, as one that has them is enough: whether there is one, before the work begins.

Executors look in the footers of a sheet until they have seen each column; in those of one sheet first, then in more
and more of them at once. The last files first, as columns come to a lake with its newer files.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Final

from parquet_bloom.dataclass import dataclass
from parquet_bloom.files import open_file
from parquet_bloom.spark.executors import Executors
from parquet_bloom.spark.plan import planned
from parquet_bloom.spark.request import Request, Tasks
from parquet_bloom.spark.rows import RowFields
from parquet_bloom.spark.run import Account
from parquet_bloom.spark.schemas import CONTROL, Batches, giving, numbers_in
from parquet_bloom.verbs.several import SoughtColumns, united_columns

UNITING: Final = "parquet_bloom.spark.uniting"

# So many times as many sheets are looked at in each round.
MORE_AT_ONCE: Final = 8


@dataclass(frozen=True, slots=True)
class Looking:
    """For which columns executors look, in the sheets before `end`."""

    tasks: Tasks
    columns: tuple[str, ...]
    end: int


def check_some_have(executors: Executors, tasks: Tasks) -> None:
    """Raise ColumnError for a column that may be lacked, and that no file has which can be opened."""
    sought = SoughtColumns(_columns_of(tasks.request))
    end, at_once = tasks.plan.num_sheets, 1
    while end and sought.missing:
        looking = Looking(tasks, tuple(sought.missing), end)
        for seen in executors.documents(UNITING, "look", looking, min(end, at_once)):
            sought.learn(seen)
        end, at_once = max(0, end - at_once), at_once * MORE_AT_ONCE
    sought.check()


def _columns_of(request: Request) -> list[str]:
    """Those that not each file has to have."""
    each = request.options if isinstance(request.options, tuple) else (request.options,)
    return [name for options in each for name in united_columns(options)]


# ------------------------------------------------------------------------------------------------
# On the executors


@giving(CONTROL)
def look(request: Looking, batches: Batches) -> Iterator[RowFields]:
    """A document for each task: what is known of the files of its sheet."""
    account, keys = Account(request.tasks.run), request.tasks.request.keys.read()
    for number in numbers_in(batches):
        sheet = [*planned(account, request.tasks.plan.sheet(request.end - 1 - number))]
        sought = SoughtColumns(request.columns)
        if any(each.status in ("unchanged", "skipped") for each in sheet):
            # An earlier run that was asked for the same has looked, and left it so.
            sought = SoughtColumns(())
        paths = (each.file.path for each in reversed(sheet))
        sought.look_in(paths, lambda path: open_file(path, keys))
        yield {"document": json.dumps(sought.as_fields())}
