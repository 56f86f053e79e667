"""Which of the processes of a run gets which tests."""

from typing import Any, Final

from xdist.scheduler import LoadFileScheduling

SPARK: Final = "tests/spark/"

# What asks the same session of Spark, although its subject is another.
ALSO_SPARK: Final = (
    "tests/advice/test_advice_interop.py",
    "tests/legacy/test_murmur3_written.py",
    "tests/legacy/test_statistics_places.py",
    "tests/orc/test_orc_native.py",
    "tests/orc/test_orc_readers.py",
    "tests/parquet/test_interop.py",
)

# What asks the judges in Java and C++, which are compiled once for all of these.
JUDGED: Final = "judged"
ALL_JUDGED: Final = (
    "tests/commands/test_orc_repair_command.py",
    "tests/commands/test_repair_command.py",
    "tests/legacy/test_statistics_filters.py",
    "tests/legacy/test_statistics_struct.py",
    "tests/orc/test_orc_clocks.py",
    "tests/parquet/test_encrypted_interop.py",
)

# What takes four seconds of CPU or more, as measured; the longest first.
LONG: Final = (
    SPARK,
    JUDGED,
    "tests/storage/test_replacement.py",
    "tests/interleavings/test_interleavings.py",
    "tests/parquet/test_hostile_footers.py",
    "tests/digests/test_digests.py",
    "tests/tables/test_iceberg_races.py",
    "tests/test_architecture.py",
    "tests/native/test_foreign_kernels.py",
    "tests/native/test_kernel.py",
    "tests/verbs/test_memory_budget.py",
    "tests/render/test_report_browser.py",
    "tests/docs/test_engine_docs.py",
    "tests/verbs/test_index_sequences.py",
    "tests/tables/test_iceberg_rest.py",
    "tests/docs/test_ci_docs.py",
    "tests/tables/test_build_iceberg.py",
    "tests/tables/test_iceberg_retention.py",
    "tests/parquet/test_hostile_filters.py",
    "tests/docs/test_reading_docs.py",
    "tests/diagnosis/test_diagnosis.py",
    "tests/verbs/test_find.py",
    "tests/diagnosis/test_diagnosis_soundness.py",
    "tests/orc/test_orc_decoding.py",
    "tests/parquet/test_whole_pages.py",
    "tests/tables/test_delta_races.py",
    "tests/tables/test_iceberg_features.py",
    "tests/storage/test_object_requests.py",
    "tests/advice/test_followed.py",
    "tests/tables/test_iceberg_on_s3.py",
    "tests/storage/test_number_of_requests.py",
    "tests/verbs/test_index_sql.py",
    "tests/advice/test_sketch.py",
    "tests/verbs/test_index_slices.py",
    "tests/commands/test_many_files.py",
    "tests/storage/test_manifest.py",
    "tests/reads/test_rows.py",
    "tests/commands/test_completion.py",
    "tests/commands/test_advise_terminal.py",
    "tests/fuzz/test_damaged_orc.py",
    "tests/reads/test_rows_of_tables.py",
    "tests/rules/test_next_of_findings.py",
    "tests/verbs/test_advise.py",
    "tests/reads/test_left_rows.py",
    "tests/advice/test_budget.py",
    "tests/verbs/test_validate_diagnosis.py",
    "tests/tables/test_iceberg_unknown_parts.py",
    "tests/verbs/test_report.py",
    "tests/tables/test_iceberg_kills.py",
    "tests/tables/test_iceberg_renames.py",
    "tests/fuzz/test_sequences.py",
    "tests/fuzz/test_fuzz.py",
    "tests/storage/test_objects.py",
    "tests/parquet/test_every_field.py",
    "tests/conformance/test_written_filters.py",
    "tests/verbs/test_index_companions.py",
    "tests/render/test_table.py",
    "tests/verbs/test_index_hostile.py",
    "tests/fuzz/test_faults.py",
)


class SparkTogether(LoadFileScheduling):
    """File by file: what takes long first, so that the end does not wait for it alone, then those
    with the most tests. All that asks Spark goes to one process: a session less, and the JVM that
    is there is warm."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith((SPARK, *ALSO_SPARK)):
            return SPARK
        return JUDGED if nodeid.startswith(ALL_JUDGED) else super()._split_scope(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        longest = next((scope for scope in LONG if scope in self.workqueue), None)
        if longest is not None:
            self.workqueue.move_to_end(longest, last=False)
        super()._assign_work_unit(node)
