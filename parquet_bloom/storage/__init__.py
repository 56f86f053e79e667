"""Ranged reads from sources, and atomic outputs."""
