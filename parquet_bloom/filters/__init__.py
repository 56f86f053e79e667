"""Filters in memory: bits, sizes and probabilities. No I/O."""
