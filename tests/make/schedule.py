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

# What takes four seconds of CPU or more although it is few tests, as measured; the longest first.
LONG: Final = (
    SPARK,
    "tests/interleavings/test_interleavings.py",
    "tests/storage/test_replacement.py",
    "tests/tables/test_iceberg_races.py",
    "tests/parquet/test_hostile_footers.py",
    "tests/diagnosis/test_diagnosis_soundness.py",
    "tests/digests/test_digests.py",
    "tests/parquet/test_encrypted_interop.py",
    "tests/tables/test_iceberg_rest.py",
    "tests/advice/test_sketch.py",
    "tests/verbs/test_memory_budget.py",
    "tests/orc/test_orc_clocks.py",
    "tests/tables/test_iceberg_features.py",
    "tests/docs/test_reading_docs.py",
    "tests/storage/test_s3_adapter.py",
    "tests/verbs/test_index_slices.py",
    "tests/reads/test_rows.py",
    "tests/fuzz/test_faults.py",
    "tests/verbs/test_find.py",
    "tests/reads/test_corpora.py",
    "tests/tables/test_iceberg_retention.py",
    "tests/tables/test_build_iceberg.py",
    "tests/tables/test_iceberg_unknown_parts.py",
    "tests/tables/test_iceberg_kills.py",
    "tests/tables/test_delta_races.py",
    "tests/reads/test_left_rows.py",
    "tests/render/test_report_browser.py",
    "tests/tables/test_iceberg_on_s3.py",
    "tests/storage/test_number_of_requests.py",
    "tests/parquet/test_hostile_filters.py",
    "tests/fuzz/test_damaged_orc.py",
    "tests/storage/test_object_requests.py",
    "tests/verbs/test_index_hostile.py",
    "tests/verbs/test_index_races.py",
    "tests/commands/test_orc_repair_command.py",
    "tests/fuzz/test_memory_budgets.py",
    "tests/verbs/test_index_kills.py",
    "tests/tables/test_iceberg_refusals.py",
    "tests/verbs/test_index.py",
    "tests/fuzz/test_sequences.py",
    "tests/storage/test_manifest.py",
    "tests/fuzz/test_fuzz.py",
    "tests/orc/test_orc_decoding.py",
    "tests/tables/test_iceberg_renames.py",
    "tests/commands/test_completion.py",
    "tests/verbs/test_report.py",
    "tests/tables/test_many_commits.py",
    "tests/verbs/test_index_sequences.py",
    "tests/docs/test_ci_docs.py",
    "tests/verbs/test_validate_diagnosis.py",
    "tests/legacy/test_statistics_struct.py",
    "tests/reads/test_rows_of_tables.py",
    "tests/verbs/test_index_sql.py",
    "tests/docs/test_engine_docs.py",
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
