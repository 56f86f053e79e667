"""One mistake of a writer has one name in all row groups of a column.

What the writer did can look like something simpler where values happen to be alike: where all names before
the @ have eight letters, what is before the @ is the first eight bytes. So where filters of a column have
different explanations, each of these is tried on all of them, and the one that explains most is said of all that
it explains.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain

from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnose import explained, lacking_pages
from parquet_bloom.diagnosis.diagnosis import Diagnosis
from parquet_bloom.diagnosis.hypotheses import (
    Explanation,
    HashSearch,
    Hypothesis,
    double,
    explanations,
    of_two_blocks,
    single,
)
from parquet_bloom.diagnosis.key_forms import key_forms
from parquet_bloom.diagnosis.layouts import as_bitset, bitset_choices, layouts, other_counts
from parquet_bloom.diagnosis.moved import moved
from parquet_bloom.diagnosis.rare_key_forms import rare_key_forms
from parquet_bloom.diagnosis.samples import SAMPLE_PAGES, PageNumber, missing_values, spread
from parquet_bloom.errors import EncryptionError, FormatError, UnsupportedError
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.membership import ChunkMembership
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import located


@dataclass(frozen=True, slots=True)
class Explained:
    """A filter that `done` explains, or another of `same`, see Explanation; and what is needed to try something else:
    the `pages` to sample."""

    chunk: ColumnChunk
    stored: bloom.StoredFilter
    pages: Sequence[PageNumber]
    done: str
    same: tuple[str, ...]


def diagnose_noting(
    file: ParquetContainer,
    chunk: ColumnChunk,
    stored: bloom.StoredFilter,
    membership: ChunkMembership,
    noted: list[Explained],
) -> Diagnosis | str | None:
    """See diagnose.diagnose; what `agreed` needs to know is added to `noted`."""
    found = explained(file, chunk, stored, membership)
    if not isinstance(found, Explanation):
        return found
    pages = spread(lacking_pages(membership), SAMPLE_PAGES)
    done = found.hypothesis.what_was_done()
    noted.append(Explained(chunk, stored, pages, done, found.same))
    return found.diagnosis


def agreed(
    file: ParquetContainer, noted: Iterable[Explained]
) -> Iterator[tuple[ColumnChunk, Diagnosis]]:
    """What to say instead of what was said, where filters of a column differ."""
    columns: defaultdict[int, list[Explained]] = defaultdict(list)
    for each in sorted(noted, key=lambda each: each.chunk.key):
        columns[each.chunk.leaf.index].append(each)
    for of_column in columns.values():
        wanted = {each.done for each in of_column}
        # Values of one filter may tell apart what is the same for those of another.
        if len({(each.done, each.same) for each in of_column}) > 1:
            yield from _agreed([(each.chunk, _tried(file, each, wanted)) for each in of_column])


def _agreed(
    found: Sequence[tuple[ColumnChunk, dict[str, Diagnosis]]],
) -> Iterator[tuple[ColumnChunk, Diagnosis]]:
    """`found`: what explains each filter, by what was done."""
    while counts := Counter(chain.from_iterable(by_done for _, by_done in found)):
        # Of those that explain as many, the first is the simplest.
        ((most, _),) = counts.most_common(1)
        yield from ((chunk, by_done[most]) for chunk, by_done in found if most in by_done)
        found = [(chunk, by_done) for chunk, by_done in found if most not in by_done]


def _tried(
    file: ParquetContainer, filter: Explained, wanted: Collection[str]
) -> dict[str, Diagnosis]:
    """Which of these explain it, by what was done, the simplest first."""
    try:
        with located(file.footer, filter.chunk):
            found = list(_explanations(file, filter, wanted))
    except (EncryptionError, FormatError, UnsupportedError):
        return {}
    return {each.hypothesis.what_was_done(): each.diagnosis for each in found}


def _explanations(
    file: ParquetContainer, filter: Explained, wanted: Collection[str]
) -> Iterator[Explanation]:
    chunk, leaf = filter.chunk, filter.chunk.leaf
    bits = bloom.read_bitset(file.source, filter.stored)
    bitset = as_bitset(bits)
    search = HashSearch(missing_values(file, chunk, bits, filter.pages), bitset)
    forms, places = list(key_forms(leaf.type)), list(layouts(bitset.num_blocks))
    counts = list(other_counts(bitset.num_blocks))
    choices = bitset_choices(file, filter.stored, bits)
    # Of two blocks, several ways of choosing one are the same.
    choosing = (Hypothesis(layout=layout) for layout in (*places, *moved(bitset.num_blocks)))
    of_two = [each.layout for each in choosing if each.what_was_done() in wanted]
    yield from of_two_blocks(file, chunk, bits, of_two)
    every = chain(
        single(forms, places, choices, bitset.num_blocks),
        double(forms, (*places, *counts)),
        map(Hypothesis, rare_key_forms(leaf.type, leaf.name)),
    )
    for hypothesis in every:
        if hypothesis.what_was_done() in wanted:
            yield from explanations(file, chunk, search, [hypothesis])
