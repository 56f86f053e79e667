"""What a person, or another program, sees: one file per command, beside what they share."""
