"""Reads what may match: rows of many files."""
