"""Read the values in the pages of a column chunk."""
