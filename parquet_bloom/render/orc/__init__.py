"""What the verbs print of ORC files."""
