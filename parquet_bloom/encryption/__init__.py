"""Keys and ciphers of encrypted Parquet files: what a user gives, and what it opens and seals."""
