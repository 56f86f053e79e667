"""An index over many files: which of them, and which of their row groups or pages, may hold a value.

    DIR/manifest-0000000007.json    the highest number is the index; never replaced
    DIR/ID.units.parquet            the files of a segment, in which state, and which places are theirs
    DIR/ID.map.parquet              | hash | place | of each value, see sorted_map

A segment is about one column of one type; a place is a file, a row group or a page of it. Segments are never
changed: an index is changed by another manifest that names other ones.
"""
