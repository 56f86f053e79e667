"""The ORC container, and the Bloom filters in its row index."""
