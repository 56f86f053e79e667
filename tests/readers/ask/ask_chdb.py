"""Ask chDB, which is ClickHouse."""

import json
import os
from typing import Any

import chdb
from table_asking import Question, answer_from

SOURCES = {
    "delta": ("deltaLakeLocal", "delta_lake_snapshot_version"),
    "iceberg": ("icebergLocal", "iceberg_snapshot_id"),
}


def ask(question: Question) -> list[dict[str, Any]]:
    function, setting = SOURCES[question.table]
    where = f" WHERE id = '{question.name}'" if question.name else ""
    query = (
        f"SELECT * FROM {function}('{question.path}'){where} SETTINGS {setting} = {question.version},"
        " input_format_parquet_bloom_filter_push_down = 1"
    )
    return json.loads(str(chdb.query(query, "JSON")))["data"]


# It reads files below its working directory only.
os.chdir("/")
answer_from("chdb", ask)
