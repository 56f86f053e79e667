"""Filters in a Parquet file: found, read, described, asked, and made from values."""
