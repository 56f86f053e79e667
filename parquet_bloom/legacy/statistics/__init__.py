"""Filters inside the Statistics of column chunks."""
