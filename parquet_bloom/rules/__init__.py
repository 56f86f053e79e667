"""What a file's Bloom filters must, should and need not be; every rule has a stable id."""
