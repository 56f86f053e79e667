"""Pages of a column chunk, and the values in them."""
