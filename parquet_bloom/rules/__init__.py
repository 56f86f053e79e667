"""What a file's Bloom filters must, should and need not be; each rule with a stable id."""
