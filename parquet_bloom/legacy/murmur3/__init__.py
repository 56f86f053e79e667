"""Split block filters of before parquet-format 2.7.0."""
