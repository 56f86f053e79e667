"""Ask ClickHouse, by chdb. The arguments are settings that differ from its defaults."""

import json
import sys

import chdb
from answering import Question, answer

SETTINGS = ", ".join(["max_threads = 1", "session_timezone = 'UTC'", *sys.argv[1:]])
connection = chdb.connect(":memory:")


def query(sql: str) -> list[list[str]]:
    found = str(connection.query(f"{sql} SETTINGS {SETTINGS}", "JSONCompactEachRow"))
    return [json.loads(line) for line in found.splitlines()]


def ask(question: Question) -> list[int]:
    source = f"file('{question.files}', 'Parquet')"

    def type() -> str:
        (kind,) = (row[1] for row in query(f"DESCRIBE {source}") if row[0] == "v")
        return kind.removeprefix("Nullable(").removesuffix(")") if "Nullable" in kind else kind

    # chdb gives rows of a query that failed with the answer to the next one.
    query("SELECT 1")
    return [int(row) for (row,) in query(question.query(source, type))]


answer("ClickHouse", query("SELECT version()")[0][0], ask, "clickhouse")
