"""The commands: one file each, beside the options that they share."""
