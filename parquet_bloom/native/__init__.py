"""The compiled kernel: hashing, split blocks, PLAIN pages, levels, Thrift spans (see kernel.h)."""
