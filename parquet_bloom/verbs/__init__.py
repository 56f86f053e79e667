"""What can be done with a file, one verb per module: a plain function and the report it returns.

A package of their own, because `parquet_bloom.build` is the function and cannot be a module too.
"""
