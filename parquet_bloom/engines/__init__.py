"""What other engines do with filters: a catalogue with one file for each, and what reads it."""
