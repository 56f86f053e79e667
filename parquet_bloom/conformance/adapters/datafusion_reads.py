"""Ask DataFusion."""

import datafusion
from answering import Question, answer


def ask(question: Question) -> list[int]:
    settings = datafusion.SessionConfig({"datafusion.execution.target_partitions": "1"})
    context = datafusion.SessionContext(settings)
    context.register_parquet("t", question.path)

    def type() -> str:
        found = context.sql("SELECT arrow_typeof(v) FROM t LIMIT 1").collect()
        return found[0].column(0)[0].as_py()

    batches = context.sql(question.query("t", type)).collect()
    return [row for batch in batches for row in batch.column(0).to_pylist()]


answer("DataFusion", datafusion.__version__, ask, "datafusion")
