"""What a filter is: bits, sizes and probabilities. No files."""
