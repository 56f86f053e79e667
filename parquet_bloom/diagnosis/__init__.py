"""Why stored values are missing from a filter: what its writer did instead."""
