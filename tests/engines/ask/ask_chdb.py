"""Ask ClickHouse, by chdb. The arguments are settings that differ from its defaults."""

import json
import sys

import chdb
from asking import Question, answer

SETTINGS = ", ".join(["max_threads = 1", "session_timezone = 'UTC'", *sys.argv[1:]])


connection = chdb.connect(":memory:")


def query(sql: str) -> list[list[str]]:
    found = str(connection.query(f"{sql} SETTINGS {SETTINGS}", "JSONCompactEachRow"))
    return [json.loads(line) for line in found.splitlines()]


def ask(question: Question) -> list[int]:
    source = f"file('{question.path}', 'Parquet')"
    if question.query:
        # chdb gives rows of a query that failed with the answer to the next one.
        query("SELECT 1")
        return [int(row) for (row,) in query(question.about(source))]
    (kind,) = (row[1] for row in query(f"DESCRIBE {source}") if row[0] == "v")
    kind = kind.removeprefix("Nullable(").removesuffix(")") if "Nullable" in kind else kind
    if "String" in kind:
        value = f"CAST(unhex('{question.stored.hex()}') AS {kind})"
    elif question.type == "INT96" or question.logical.startswith("TIMESTAMP"):
        value = f"CAST('{question.literal.replace('T', ' ').removesuffix('Z')}' AS {kind})"
    elif question.logical.startswith("TIME"):
        value = f"CAST('1970-01-01 {question.literal}' AS {kind})"
    else:
        value = f"CAST('{question.literal}' AS {kind})"
    return [int(row) for (row,) in query(f"SELECT n FROM {source} WHERE v = {value}")]


answer(f"ClickHouse {query('SELECT version()')[0][0]}", ask)
