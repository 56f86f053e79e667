"""What other engines make of filters: a catalogue with one file for each engine, and what reads it."""
