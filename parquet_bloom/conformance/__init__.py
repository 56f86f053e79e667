"""The judge of Bloom filters, for any engine: files that a reader is asked about, columns that a writer
writes, and what their answers are worth.

It shares nothing with the rest of the package but errors: filters, footers and pages are made here a second
time, after the specification, so that our own filters can be judged as well.
"""
