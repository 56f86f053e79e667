"""Key forms of ORC: what of a value is hashed."""
