"""The ORC format and the Bloom filters in its row index."""
