"""What can be done with a file, one verb per module: a plain function and the report it returns.

The package keeps `parquet_bloom.build` free for the function: it cannot also be a module.
"""
