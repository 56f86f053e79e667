"""The judge of Bloom filters, for any engine: files that a reader is asked about, columns that a writer
writes, and what their answers are worth.

Its files and its look-ups are made here a second time, after the specification, so that our own filters can be
judged as well. Of the package it only uses what reads pages and headers that others have written.
"""
