"""Ask DuckDB."""

import struct

import duckdb
from asking import Question, answer

connection = duckdb.connect(
    config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
)


def ask(question: Question) -> list[int]:
    source = f"read_parquet('{question.path}')"
    if question.query:
        return [row for (row,) in connection.execute(question.about(source)).fetchall()]
    ((_, kind, *_),) = connection.execute(f"DESCRIBE SELECT v FROM {source}").fetchall()
    if kind == "BLOB":
        text = "".join(f"\\x{byte:02X}" for byte in question.stored)
    else:
        text = question.literal
    value = f"CAST('{text}' AS {kind})"
    if kind == "INTERVAL":
        months, days, millis = struct.unpack("<3I", question.stored)
        value = f"(to_months({months}) + to_days({days}) + to_milliseconds({millis}))"
    rows = connection.execute(f"SELECT n FROM {source} WHERE v = {value}").fetchall()
    return [row for (row,) in rows]


answer("", ask)
