"""Tasks of Spark that do their work, and die before anybody is told."""

import os
from collections.abc import Callable
from typing import Any, Literal

from pyspark import TaskContext


def dying(
    on_executor: Callable[..., Any], folder: str, how: Literal["killed", "raises"], attempts: int
) -> Callable[..., Any]:
    """`on_executor`, but the first `attempts` attempts at each task end after their files have their new
    ends, and nobody is told."""

    def of(module: str, function: str, request: object, archive: str | None) -> Any:
        mapped = on_executor(module, function, request, archive)

        def dies(batches: Any) -> Any:
            from unittest.mock import patch

            from parquet_bloom.spark.run import Account

            context = TaskContext.get()
            assert context is not None
            attempt = context.attemptNumber()

            def end(account: Any, name: str, rows: Any, schema: Any) -> None:
                list(rows)
                open(os.path.join(folder, f"{name} {attempt}"), "w").close()
                if how == "killed":
                    os._exit(9)
                raise RuntimeError("no more")

            if function != "work" or attempt >= attempts:
                yield from mapped(batches)
                return
            with patch.object(Account, "put_outcomes", end):
                yield from mapped(batches)

        return dies

    return of
