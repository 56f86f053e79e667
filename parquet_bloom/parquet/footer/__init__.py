"""Read and edit the footer of a Parquet file."""
