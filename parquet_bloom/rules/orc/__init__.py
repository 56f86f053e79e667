"""The rules for ORC files: what their Bloom filters must, should and need not be."""
