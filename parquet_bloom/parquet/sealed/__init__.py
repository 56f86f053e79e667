"""What is encrypted in a Parquet file."""
