"""Ask Daft."""

from typing import Any

import daft
from pyiceberg.table import StaticTable
from table_asking import Question, answer_from


def ask(question: Question) -> list[dict[str, Any]]:
    if question.table == "delta":
        frame = daft.read_deltalake(question.path, version=question.version)
    else:
        table = StaticTable.from_metadata(question.metadata)
        frame = daft.read_iceberg(table, snapshot_id=question.version)
    if question.name:
        frame = frame.where(daft.col("id") == question.name)
    return frame.to_pylist()


daft.set_runner_native()
answer_from("daft", ask)
