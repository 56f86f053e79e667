"""The encrypted parts of a Parquet file."""
