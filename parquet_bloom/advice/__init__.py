"""What `advise` is made of: distinct values, min/max ranges, look-ups, engines, settings, a verdict.

pages ──> survey ──> ndv, samples ──┐
footer ──> statistics ──────────────┴──> table, file by file ──> lookups ──> verdict
type ────> engines, settings
"""
