"""Keys and ciphers of encrypted Parquet files."""
