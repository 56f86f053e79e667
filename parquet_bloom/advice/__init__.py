"""What `advise` is made of: distinct values, min/max ranges, look-ups, engines, settings, verdict.

values ──> survey ──> ndv, samples ──┐
footer ──> statistics, ranges ───────┴──> table, file by file ──> lookups ──> verdict
type ────> engines, settings

`parquet_…` and `orc_…` are what the formats differ in; the rest speaks of groups: row groups, or
index groups of ORC.
"""
