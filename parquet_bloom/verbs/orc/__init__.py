"""The verbs on ORC files."""
