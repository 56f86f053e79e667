"""The two older dialects of Parquet's Bloom filters."""
