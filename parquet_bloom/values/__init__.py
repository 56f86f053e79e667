"""Values and their text, and the bytes that are hashed."""
