"""Where bytes come from and go to: ranged reads of a source, an atomic output."""
