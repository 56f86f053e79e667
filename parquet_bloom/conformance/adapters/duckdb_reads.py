"""Ask DuckDB."""

import duckdb
from answering import Question, answer

connection = duckdb.connect(
    config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"}
)
connection.execute("SET TimeZone = 'UTC'; SET threads = 1")


def ask(question: Question) -> list[int]:
    source = f"read_parquet('{question.files}')"
    if question.key:
        connection.execute(f"PRAGMA add_parquet_key('k', '{question.key.decode()}')")
        source = f"read_parquet('{question.files}', encryption_config = {{footer_key: 'k'}})"

    def type() -> str:
        return connection.execute(f"DESCRIBE SELECT v FROM {source}").fetchone()[1]

    return [row for (row,) in connection.execute(question.query(source, type)).fetchall()]


answer("DuckDB", duckdb.__version__, ask, "duckdb")
