"""Ask PyIceberg, which reads Parquet with Arrow."""

from typing import Any

from pyiceberg.expressions import AlwaysTrue, EqualTo
from pyiceberg.table import StaticTable
from table_asking import Question, answer_from


def ask(question: Question) -> list[dict[str, Any]]:
    where = EqualTo("id", question.name) if question.name else AlwaysTrue()
    scan = StaticTable.from_metadata(question.metadata).scan(where, snapshot_id=question.version)
    return scan.to_arrow().to_pylist()


answer_from("pyiceberg", ask)
