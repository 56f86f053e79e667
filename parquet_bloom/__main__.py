"""`python -m parquet_bloom` is `pbloom`."""

from parquet_bloom.cli import main

main()
