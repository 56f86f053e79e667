"""Ask deltalake: its query engine, which is DataFusion, or its datasets, which are Arrow's."""

import sys
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, QueryBuilder
from table_asking import Question, answer_from


def by_query(question: Question) -> list[dict[str, Any]]:
    table = DeltaTable(question.path, version=question.version)
    where = f" WHERE id = '{question.name}'" if question.name else ""
    found = QueryBuilder().register("x", table).execute(f"SELECT * FROM x{where}").read_all()
    return pa.table(found).to_pylist()


def by_dataset(question: Question) -> list[dict[str, Any]]:
    table = DeltaTable(question.path, version=question.version)
    filters = [("id", "=", question.name)] if question.name else None
    return table.to_pyarrow_table(filters=filters).to_pylist()


answer_from("deltalake", {"query": by_query, "dataset": by_dataset}[sys.argv[1]])
