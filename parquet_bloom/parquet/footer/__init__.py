"""The footer of a Parquet file: what it says, and its edits."""
