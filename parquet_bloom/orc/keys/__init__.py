"""What of a value of an ORC column is hashed."""
