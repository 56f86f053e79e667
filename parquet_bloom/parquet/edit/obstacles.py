"""What stands in the way of a new version of a file, as far as the footer tells: it is damaged, it has lost what it
said of a chunk, assigns bytes behind the data to something, or has fields of another writer. `inspect` asks, too, and
loads nothing that writes."""

from __future__ import annotations

from collections.abc import Iterator

from parquet_bloom.errors import FooterError
from parquet_bloom.parquet.footer import foreign_fields
from parquet_bloom.parquet.footer.misfits import Misfits
from parquet_bloom.parquet.open_file import OpenFile


def obstacles(file: OpenFile) -> Iterator[str]:
    """What `build` refuses the file for, or some of its columns, whatever keys there are."""
    yield from foreign_fields.obstacles(file.footer)
    for check in (check_fields, check_described, check_pages, check_indexes):
        try:
            check(file)
        except FooterError as error:
            yield str(error).removeprefix(f"{file.path}: ")


def check_fields(file: OpenFile) -> None:
    """Raise FooterError if what the footer says of the file is not as the format defines it: bytes of it have
    changed, and what follows them may be read as something else."""
    for each in Misfits(file.footer).of_head():
        if each.is_vital:
            raise FooterError(
                f"{file.path}: footer: {each.path} {each.problem}: take another copy of the file"
            )


def check_described(file: OpenFile) -> None:
    """Raise FooterError if the footer does not say what one of the chunks is: nobody would find its filter, to remove
    it or to keep it."""
    lacking = file.footer.undescribed
    if lacking is not None:
        raise FooterError(
            f"{file.path}: {file.chunk_at(lacking).where}: no ColumnMetaData, so that nobody knows what is there: "
            "take another copy of the file"
        )


def check_pages(file: OpenFile) -> None:
    """Raise FooterError if the footer places pages behind the data: no place is certain then."""
    if file.footer.layout.pages_reach_past_the_end:
        raise FooterError(
            f"{file.path}: footer: pages extend past {file.footer.start}, where the data ends"
        )


def check_indexes(file: OpenFile) -> None:
    """Raise FooterError if the footer places a page index behind the data: what is written there would
    be taken for it."""
    for number, (start, end) in file.footer.layout.indexes_past_the_end.items():
        chunk = file.chunk_at(divmod(number, len(file.footer.leaves)))
        raise FooterError(
            f"{file.path}: {chunk.where}: footer: bytes {start} to {end - 1} are a page index, expected"
            f" to end by {file.footer.start}, where the data ends: rewrite the file"
        )
