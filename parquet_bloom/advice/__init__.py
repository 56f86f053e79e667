"""Which columns deserve filters: distinct values, min/max statistics, look-ups, engines, settings.

values ──────> survey ──> ndv, samples ──┐
statistics ──> survey ───────────────────┴──> table, file by file ──> lookups ──> verdict
type ────────> engines

In `parquet_survey` and `orc_survey` is what differs between the formats. Elsewhere, a group is what
readers skip: a row group of Parquet, an index group of ORC.
"""
