"""Reads that leave out what cannot match.

filters   what users give: a dictionary, or the lists of pandas and pyarrow
tree      In, Compared, NotIn, And, Or, ANYTHING; whatever cannot be decided is ANYTHING
left      the row groups of each file that statistics, filters and an index do not exclude
rows      of what was found, read by themselves
"""
