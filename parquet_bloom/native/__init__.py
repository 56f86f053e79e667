"""The compiled kernel: hashes, filters, PLAIN pages, levels, Thrift spans (see kernel.h)."""
