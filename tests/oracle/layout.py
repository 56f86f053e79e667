"""Which byte ranges of a file the footer gives to what, one chunk after another."""

from collections.abc import Iterator, Mapping

ABSENT = -(2**63)
MAGIC_BYTES = 4

Range = tuple[int, int]
Chunk = Mapping[str, int]


def pages(chunk: Chunk, end: int) -> Iterator[Range]:
    """An impossible size counts as up to past the end, an impossible start as the whole file."""
    if chunk["meta_start"] == ABSENT or chunk["has_file_path"] or chunk["num_values"] == 0:
        return
    data, dictionary = chunk["data_page_offset"], chunk["dictionary_page_offset"]
    start, size = data, chunk["total_compressed_size"]
    if 0 < dictionary < data:
        start = dictionary
    if not MAGIC_BYTES <= start <= end:
        yield MAGIC_BYTES, end + 1
    elif not 0 < size <= end - start:
        yield start, end + 1
    else:
        yield start, start + size


def indexes(chunk: Chunk, end: int) -> Iterator[Range]:
    for kind in ("offset_index", "column_index"):
        start, length = chunk[f"{kind}_offset"], chunk[f"{kind}_length"]
        if 0 < start < end and 0 < length <= end - start:
            yield start, start + length


def filters(chunk: Chunk, end: int) -> Iterator[Range]:
    start = chunk["bloom_filter_offset"]
    if start != ABSENT:
        yield start, start + min(max(chunk["bloom_filter_length"], 0), end)


KINDS = {"pages": pages, "indexes": indexes, "filters": filters}


def overlap(one: Range, start: int, end: int) -> bool:
    """An empty range overlaps what it lies inside of."""
    return one[0] < end and one[1] > start
