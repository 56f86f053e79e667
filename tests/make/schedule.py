"""Which of the processes of a run gets which tests."""

from typing import Any, Final

from xdist.scheduler import LoadFileScheduling

SPARK: Final = "tests/spark/"

# What asks the same session of Spark, although its subject is another.
ALSO_SPARK: Final = (
    "tests/advice/test_advice_interop.py",
    "tests/legacy/test_murmur3_written.py",
    "tests/legacy/test_statistics_places.py",
    "tests/orc/test_orc_readers.py",
    "tests/orc/test_orc_native.py",
    "tests/parquet/test_interop.py",
)

# What takes long although it is few tests; the longest first.
LONG: Final = (
    SPARK,
    "tests/fuzz/test_memory_budgets.py",
    "tests/verbs/test_memory_budget.py",
    "tests/parquet/test_encrypted_interop.py",
    "tests/docs/test_docs.py",
    "tests/fuzz/test_faults.py",
    "tests/commands/test_hostile_command.py",
    "tests/docs/test_engine_docs.py",
    "tests/fuzz/test_damaged_orc.py",
    "tests/commands/test_completion.py",
    "tests/verbs/test_validate_diagnosis.py",
    "tests/orc/test_orc_hostile.py",
    "tests/test_public.py",
    "tests/commands/test_advise_terminal.py",
)


class SparkTogether(LoadFileScheduling):
    """File by file: what takes long first, so that the end does not wait for it alone, then those
    with the most tests. All that asks Spark goes to one process: a session less, and the JVM that
    is there is warm."""

    def _split_scope(self, nodeid: str) -> str:
        return SPARK if nodeid.startswith((SPARK, *ALSO_SPARK)) else super()._split_scope(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        longest = next((scope for scope in LONG if scope in self.workqueue), None)
        if longest is not None:
            self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)
