"""Objects behind URLs, through obstore: read in ranges, a few large requests at a time, and listed."""
