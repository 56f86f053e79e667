"""What a person, or another program, sees: one file per command or output format."""
