"""Parquet files: footer, schema, pages and the Bloom filters in them."""
