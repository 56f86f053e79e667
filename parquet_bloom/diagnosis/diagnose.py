"""Why stored values are missing from a filter.

In stages, each tried only if the ones before explain nothing: zeros and NaNs; one deviation from how
the format hashes and places a value; the filter of another chunk; blocks that were lost, or changed; pages whose values
were not inserted; other salts; two deviations; rare forms of a text, or as a text; first or last rows whose
values were not inserted. Nothing is claimed that luck could explain (see evidence).
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from heapq import nlargest
from itertools import islice, product
from math import comb, isnan, lgamma, log
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from parquet_bloom.container import number_of
from parquet_bloom.container.missing_rows import FEW_MISSING
from parquet_bloom.dataclass import dataclass
from parquet_bloom.diagnosis.diagnosis import (
    CLOSED_EARLY,
    OPENED_LATE,
    PAGES_MAY_HAVE_CHANGED,
    Deviation,
    Diagnosis,
)
from parquet_bloom.diagnosis.evidence import (
    MAX_CHANCE,
    MAX_LOG_LUCK,
    MAX_LOG_LUCK_OF_NEAREST,
    MIN_MISSING,
    MIN_SHARE,
    MIN_TRIED,
    NOTHING_TRIED,
    UNREADABLE,
    Trial,
    is_cut,
    too_few,
    too_full,
)
from parquet_bloom.diagnosis.hashes import MURMUR3_SEEDS, OTHER_HASHES, SEEDS, XXH64, Hash
from parquet_bloom.diagnosis.key_forms import AS_STORED, KeyForm, key_forms
from parquet_bloom.diagnosis.layouts import (
    AS_DESCRIBED,
    INVERTED,
    MOVED,
    STANDARD,
    BitLayout,
    Bitset,
    BitsetChoice,
    as_bitset,
    bits_set_of,
    bitset_choices,
    high_half,
    layouts,
    mean_fpp,
    with_other_salts,
)
from parquet_bloom.diagnosis.rare_key_forms import rare_key_forms
from parquet_bloom.diagnosis.samples import (
    SAMPLE_PAGES,
    SAMPLE_VALUES,
    PageNumber,
    StoredValue,
    inside_and_outside,
    missing_between,
    missing_values,
    page_hashes,
    spread,
    stored_among,
)
from parquet_bloom.errors import EncryptionError, FormatError, ParquetBloomError, UnsupportedError
from parquet_bloom.filters.hashers import Hashes
from parquet_bloom.filters.rates import percent
from parquet_bloom.filters.sizing import BLOCK_BYTES, MAX_BYTES
from parquet_bloom.filters.split_block import SplitBlockBloomFilter
from parquet_bloom.parquet.file import ParquetContainer
from parquet_bloom.parquet.filters import bloom
from parquet_bloom.parquet.filters.membership import ChunkMembership, PageMembership
from parquet_bloom.parquet.footer.column_chunk import ColumnChunk
from parquet_bloom.parquet.pages.pages import chunk_runs, located
from parquet_bloom.values.types import FLOAT_FORMAT, LeafType, canonical_nan, zeros


def diagnose(
    file: ParquetContainer,
    chunk: ColumnChunk,
    stored: bloom.StoredFilter,
    membership: ChunkMembership,
) -> Diagnosis | str | None:
    """What the writer of this filter did instead, or why nobody can tell; None if nothing is missing.

    `membership`: of check_membership.
    """
    found = explained(file, chunk, stored, membership)
    return found.diagnosis if isinstance(found, Explanation) else found


def explained(
    file: ParquetContainer,
    chunk: ColumnChunk,
    stored: bloom.StoredFilter,
    membership: ChunkMembership,
) -> Explanation | Diagnosis | str | None:
    """The same; if a hypothesis explains it, which one."""
    if not membership.missing:
        return None
    try:
        with located(file.footer, chunk):
            return _explained(file, chunk, stored, membership)
    except (EncryptionError, FormatError, UnsupportedError):
        # Pages or indexes that only this needs.
        return UNREADABLE


def _explained(
    file: ParquetContainer,
    chunk: ColumnChunk,
    stored: bloom.StoredFilter,
    membership: ChunkMembership,
) -> Explanation | Diagnosis | str:
    filter = bloom.read_bitset(file.source, stored)
    bitset = as_bitset(filter)
    missing = missing_values(file, chunk, filter, lacking_pages(membership))
    share_missing = membership.missing / membership.num_values
    are_others = share_missing < SHARE_OF_ALL * (1 - filter.fpp)
    whose = "the missing values, but not the others," if are_others else EACH_VALUE
    search = HashSearch(missing, bitset, whose)
    leaf = chunk.leaf.type
    forms, places = list(key_forms(leaf)), list(layouts(bitset.num_blocks))
    rare_forms = list(rare_key_forms(leaf, chunk.leaf.name))
    choices = list(bitset_choices(file, stored))
    return (
        made_equal(leaf, filter, membership, missing)
        or _best(file, chunk, search, single(forms, places, choices))
        or block_of_two(file, chunk, filter, (*places, *MOVED))
        or filter_of_another(file, chunk, bitset, missing)
        or blocks_lost(filter, missing)
        or blocks_changed(filter, missing)
        or partial_insertion(file, chunk, filter, membership)
        or _best(file, chunk, search, search.with_other_salts(share_missing))
        or _best(file, chunk, search, double(forms, places))
        or _best(file, chunk, search, map(Hypothesis, rare_forms))
        or cut_off(file, chunk, filter)
        or too_full(filter.fpp)
        or (
            too_few(len(missing))
            or f"none of {number_of(search.num_tried, 'combination')} explains it;"
            f" {_nearest(file, chunk, search, filter)}; tried on"
            f" {number_of(len(missing), 'missing value')}:"
            f" {number_of(len(forms) + len(rare_forms), 'other form')} of the values,"
            f" {len(OTHER_HASHES)} other hashes ({_hashes_tried()}),"
            f" {number_of(len(places), 'other layout')} of the bits,"
            f" pairs of these, {number_of(len(choices), 'other place')} of the bitset, other salts,"
            f" filters of other chunks, lost or changed blocks, pages, first and last rows that were not inserted"
        )
        + (_changed_bytes(bitset, missing) if share_missing < FEW_MISSING else "")
    )


def lacking_pages(membership: ChunkMembership) -> list[PageNumber]:
    """Those with values that are not found."""
    return [page.page for page in membership.pages if page.missing]


def _hashes_tried() -> str:
    """Which OTHER_HASHES are."""
    of_xxh64, of_murmur3 = (", ".join(ranges(seeds)) for seeds in (SEEDS, MURMUR3_SEEDS))
    return f"XXH64 with the seeds {of_xxh64}; Murmur3 x64_128 with {of_murmur3}; XXH32, XXH3, FNV-1a, djb2"


def _best(
    file: ParquetContainer, chunk: ColumnChunk, search: HashSearch, hypotheses: Iterable[Hypothesis]
) -> Explanation | None:
    return next(explanations(file, chunk, search, hypotheses), None)


def explanations(
    file: ParquetContainer, chunk: ColumnChunk, search: HashSearch, hypotheses: Iterable[Hypothesis]
) -> Iterator[Explanation]:
    """Those hypotheses that luck cannot explain, the best first."""
    for hypothesis, trial in search.convincing(hypotheses):
        trial = _without_stored(file, chunk, search, hypothesis, trial)
        if trial.is_convincing:
            yield Explanation(hypothesis, trial, search.whose)


def block_of_two(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    layouts: Sequence[BitLayout],
) -> Explanation | None:
    """The way of choosing one of two blocks that all values are found by, not only those that are missing: these are in
    the other block, whatever chose that. Raises as chunk_runs."""
    if filter.num_blocks != 2 or filter.fpp > MAX_CHANCE:
        return None
    search = HashSearch(_sample(file, chunk), as_bitset(filter), EACH_VALUE)
    hypotheses = (Hypothesis(layout=layout) for layout in layouts)
    found = (Explanation(each, search.trial(each), EACH_VALUE) for each in hypotheses)
    return next((each for each in found if each.trial.is_beyond_luck), None)


def _nearest(
    file: ParquetContainer, chunk: ColumnChunk, search: HashSearch, filter: SplitBlockBloomFilter
) -> str:
    """Which of those that explain too little explains most, in words; if none does and no value is found, what that may
    mean."""
    found = [
        (hypothesis, _without_stored(file, chunk, search, hypothesis, search.trial(hypothesis)))
        for hypothesis in search.nearest()
    ]
    hypothesis, trial = min(found, key=lambda pair: pair[1].log_luck, default=(None, NOTHING_TRIED))
    if hypothesis is None or trial.log_luck > MAX_LOG_LUCK_OF_NEAREST:
        nearest = search.none_is_nearest
        if search.whose == EACH_VALUE:
            nearest += (
                f"; by its fill, the filter has about {number_of(round(filter.ndv_estimate), 'value')}, hashed in a way"
                " that was not tried, or not the values of this file: pbloom diff --diagnose finds out whether it is"
                " that of another file, given both"
            )
        return nearest
    return (
        f"the nearest, {hypothesis.name} (the writer {hypothesis.what_was_done(search.whose)}), finds"
        f" {trial.hits:,} of {trial.tried:,}, where chance would find {trial.tried * trial.chance:,.0f}"
    )


def _without_stored(
    file: ParquetContainer,
    chunk: ColumnChunk,
    search: HashSearch,
    hypothesis: Hypothesis,
    trial: Trial,
) -> Trial:
    """Other bytes of a value can be another stored value, rightly found: without these."""
    if not hypothesis.is_of_values_only:
        return trial
    return search.trial(hypothesis, stored_among(file, chunk, search.hashes(hypothesis)))


# ------------------------------------------------------------------------------------------------
# Hypotheses of what a writer did instead, and the search for one that the bits confirm
#
# A hypothesis is one or two deviations from the format: another key form of the values, another hash,
# another layout of its bits, another choice of where the bitset is.

# A few values refute nearly every hypothesis; one that explains these is tried on all of them.
FIRST_VALUES = 32
FIRST_SHARE = 0.9

# If fewer are missing, of those that no chance finds, the writer hashed others as it should.
SHARE_OF_ALL = 0.8

# How many of those that find some of them are tried on all, to name the nearest.
NEAREST = 8

EACH_VALUE = "each value"


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """Values in this key form, hashed like this, looked up in this layout of these bytes."""

    key_form: KeyForm = AS_STORED
    hash: Hash = XXH64
    layout: BitLayout = STANDARD
    choice: BitsetChoice = AS_DESCRIBED

    @property
    def is_of_values_only(self) -> bool:
        """Whether hash and places are those of the format."""
        return self.hash is XXH64 and self.layout is STANDARD and self.choice is AS_DESCRIBED

    @property
    def name(self) -> str:
        """`text+murmur3`"""
        parts: Sequence[Deviation] = (self.key_form, self.hash, self.layout, self.choice)
        return "+".join(part.name for part in parts if part.name)

    def what_was_done(self, whose: str = EACH_VALUE) -> str:
        """`hashed each value as text, and counted the bits of each word from the highest`. `whose`: of which
        values it is said."""
        how = ", ".join(filter(None, (self.key_form.clause, self.hash.clause)))
        hashed = f"hashed {whose} {how}" if how else ""
        return ", and ".join(filter(None, (hashed, self.layout.clause, self.choice.clause)))


@dataclass(frozen=True, slots=True)
class Explanation:
    """A hypothesis that the bits confirm. `whose`: of which values it is said."""

    hypothesis: Hypothesis
    trial: Trial
    whose: str

    @property
    def diagnosis(self) -> Diagnosis:
        hypothesis, trial = self.hypothesis, self.trial
        done = f"the writer {hypothesis.what_was_done(self.whose)}"
        return Diagnosis(hypothesis.name, done, trial.hits, trial.tried)


def single(
    key_forms: Sequence[KeyForm], layouts: Sequence[BitLayout], choices: Iterable[BitsetChoice]
) -> Iterator[Hypothesis]:
    """One deviation each, the likelier ones first."""
    yield from map(Hypothesis, key_forms)
    yield from (Hypothesis(hash=hash) for hash in OTHER_HASHES)
    yield from (Hypothesis(layout=layout) for layout in (*layouts, *MOVED, INVERTED))
    yield from (Hypothesis(choice=choice) for choice in choices)


def double(key_forms: Sequence[KeyForm], layouts: Sequence[BitLayout]) -> Iterator[Hypothesis]:
    """Two deviations each."""
    for key_form, hash in product(key_forms, OTHER_HASHES):
        yield Hypothesis(key_form=key_form, hash=hash)
    for hash, layout in product(OTHER_HASHES, layouts):
        yield Hypothesis(hash=hash, layout=layout)
    for key_form, layout in product(key_forms, layouts):
        yield Hypothesis(key_form=key_form, layout=layout)


# With fewer, a choice between two blocks can be luck, whose bound is that of the evidence: log2(1e14).
MANY_FOR_A_CHOICE = 47


class HashSearch:
    """Tries hypotheses on values in random order; `bitset` is the one that the header describes.
    `num_tried`: how many so far. `whose`: of which values a diagnosis is said."""

    def __init__(self, values: Sequence[StoredValue], bitset: Bitset, whose: str) -> None:
        self.num_tried = 0
        self.whose = whose
        self._values = values
        self._bitset = bitset
        self._shares: list[tuple[float, Hypothesis]] = []
        self._converted: dict[tuple[KeyForm, int], list[bytes]] = {}
        self._hashed: dict[tuple[KeyForm, Hash, int], Hashes] = {}

    @property
    def none_is_nearest(self) -> str:
        """That none explains more than the others, in words."""
        if self._bitset.num_blocks == 2 and len(self._values) < MANY_FOR_A_CHOICE:
            return "no way to choose blocks can be told from chance, which chooses the right one of 2 for half of the values"
        return "none of them finds more values than chance would"

    def convincing(self, hypotheses: Iterable[Hypothesis]) -> list[tuple[Hypothesis, Trial]]:
        """Those that luck cannot explain, the one that explains most values first."""
        if len(self._values) < MIN_TRIED:
            return []
        likely = (hypothesis for hypothesis in hypotheses if not self._is_refuted(hypothesis))
        tried = [(hypothesis, self.trial(hypothesis)) for hypothesis in likely]
        found = [(hypothesis, trial) for hypothesis, trial in tried if trial.is_convincing]
        return sorted(found, key=lambda pair: -pair[1].share)

    def trial(self, hypothesis: Hypothesis, is_left_out: NDArray[np.bool_] | None = None) -> Trial:
        """On all values, or all but some."""
        hashes = self.hashes(hypothesis)
        if is_left_out is not None:
            hashes = hashes[~is_left_out]
        return hypothesis.layout.look_up(hypothesis.choice.bitset or self._bitset, hashes)

    def hashes(self, hypothesis: Hypothesis) -> Hashes:
        """The hash of every value that the hypothesis applies to."""
        return self._hashes(hypothesis, len(self._values))

    def with_other_salts(self, share_missing: float) -> Iterator[Hypothesis]:
        """What the bits say of the salts. `share_missing`: of all values of the chunk, 0 to 1."""
        hashes = self.hashes(Hypothesis())
        if hashes.size:
            yield from (
                Hypothesis(layout=layout)
                for layout in with_other_salts(self._bitset, hashes, share_missing)
            )

    def nearest(self) -> list[Hypothesis]:
        """Those that find most of the first few values, of all that were tried."""
        return [hypothesis for _, hypothesis in nlargest(NEAREST, self._shares, itemgetter(0))]

    def _is_refuted(self, hypothesis: Hypothesis) -> bool:
        """Whether the first few values are not found, or have no such key form."""
        self.num_tried += 1
        hashes = self._hashes(hypothesis, FIRST_VALUES)
        if not hashes.size:
            return True
        share = hypothesis.layout.share_found(hypothesis.choice.bitset or self._bitset, hashes)
        if share:
            self._shares.append((share, hypothesis))
        return share < FIRST_SHARE

    def _hashes(self, hypothesis: Hypothesis, count: int) -> Hashes:
        key_form, hash = hypothesis.key_form, hypothesis.hash
        if (key_form, hash, count) not in self._hashed:
            if (key_form, count) not in self._converted:
                self._converted[key_form, count] = converted(self._values[:count], key_form)
            self._hashed[key_form, hash, count] = hashed(self._converted[key_form, count], hash)
        return self._hashed[key_form, hash, count]


def converted(values: Sequence[StoredValue], key_form: KeyForm) -> list[bytes]:
    """The values in this key form; none unless (nearly) all have it."""
    plain = [plain for value in values if (plain := key_form.convert(value)) is not None]
    return plain if len(plain) >= MIN_SHARE * len(values) else []


def hashed(plain: Sequence[bytes], hash: Hash) -> Hashes:
    """The hash of each, shape (n,); none unless (nearly) all have one."""
    hashes = [number for each in plain if (number := hash.function(each)) is not None]
    return np.array(hashes if len(hashes) >= MIN_SHARE * len(plain) else [], np.uint64)


# ------------------------------------------------------------------------------------------------
# Zeros of both signs, and NaNs, that were made equal before they were hashed


CLAUSES = {
    "zero-sign": "each zero with the other sign",
    "nan-payload": "each NaN as the canonical NaN",
}

# Even one value found by luck would be taken for evidence.
MAX_FPP = 0.1


def made_equal(
    leaf: LeafType,
    filter: SplitBlockBloomFilter,
    membership: ChunkMembership,
    missing: Sequence[StoredValue],
) -> Diagnosis | None:
    """Whether nothing is missing but zeros and NaNs whose equals are found."""
    if not leaf.is_float or not missing or membership.missing == membership.num_values:
        return None
    if filter.fpp > MAX_FPP:
        return None
    names = set()
    for value in missing:
        name, equal = _equal(value.plain)
        if equal is None or not filter.check_value(equal):
            return None
        names.add(name)
    clauses = " and ".join(CLAUSES[name] for name in sorted(names))
    explanation = f"the writer hashed {clauses}"
    return Diagnosis("+".join(sorted(names)), explanation, len(missing), len(missing))


def _equal(plain: bytes) -> tuple[str, bytes | None]:
    """What can have been hashed for this value, and the name for that."""
    width = len(plain)
    plus, minus = zeros(width)
    if plain in (plus, minus):
        return "zero-sign", minus if plain == plus else plus
    (number,) = struct.unpack(FLOAT_FORMAT[width], plain)
    return "nan-payload", canonical_nan(width) if isnan(number) else None


# ------------------------------------------------------------------------------------------------
# Filters that belong to another column chunk, in another row group or of another column


MAX_ROW_GROUPS = 16
MAX_COLUMNS = 32
MAX_PAGES = 8
MAX_CHUNK_BYTES = 256 << 20


def filter_of_another(
    file: ParquetContainer, chunk: ColumnChunk, bitset: Bitset, missing: Sequence[StoredValue]
) -> Diagnosis | None:
    """Whether the filter belongs to another chunk, or another chunk has this one's filter.

    Values that both chunks store prove nothing and are left out, as are chunks that cannot be read.
    """
    hashes = hashed([value.plain for value in missing], XXH64)
    for other in _others(file, chunk):
        with suppress(ParquetBloomError):
            if trial := _trial_of_values(file, chunk, bitset, other):
                return Diagnosis(
                    "filter-of-another-chunk",
                    f"the filter belongs to {other.where}: the values stored there are found",
                    trial.hits,
                    trial.tried,
                )
        with suppress(ParquetBloomError):
            if trial := _trial_of_filter(file, other, hashes):
                return Diagnosis(
                    "filter-at-another-chunk",
                    f"the missing values are found in the filter of {other.where}",
                    trial.hits,
                    trial.tried,
                )
    return None


def _others(file: ParquetContainer, chunk: ColumnChunk) -> Iterator[ColumnChunk]:
    """The same column in the nearest row groups, then the nearest columns of the row group."""
    # The nearest is the chunk's own.
    groups = sorted(range(file.num_row_groups), key=lambda group: abs(group - chunk.row_group))[1:]
    leaves = sorted(file.footer.leaves, key=lambda leaf: abs(leaf.index - chunk.leaf.index))[1:]
    # Bits have no stored bytes to hash.
    leaves = [leaf for leaf in leaves if leaf.type.physical != "BOOLEAN"]
    for group in groups[:MAX_ROW_GROUPS]:
        yield file.footer.chunk(group, chunk.leaf)
    for leaf in leaves[:MAX_COLUMNS]:
        yield file.footer.chunk(chunk.row_group, leaf)


def _trial_of_values(
    file: ParquetContainer, chunk: ColumnChunk, bitset: Bitset, other: ColumnChunk
) -> Trial | None:
    """Values of the other chunk in this filter, where the chunk's own are found only by luck."""
    trial = _confirmed(file, chunk, bitset, _some_hashes(file, other))
    if trial is None:
        return None
    own = _some_hashes(file, chunk)
    own = own[~stored_among(file, other, own)]
    return trial if STANDARD.look_up(bitset, own).is_luck else None


def _trial_of_filter(file: ParquetContainer, other: ColumnChunk, missing: Hashes) -> Trial | None:
    """Missing values in the filter of the other chunk, even if the two filters share bytes."""
    stored = bloom.read_header(file.source, file.footer, other)
    if stored is None or not 0 < stored.num_bytes <= MAX_BYTES:
        return None
    if _is_refuted(file, stored, missing[:FIRST_VALUES]):
        return None
    return _confirmed(file, other, as_bitset(bloom.read_bitset(file.source, stored)), missing)


def _is_refuted(file: ParquetContainer, stored: bloom.StoredFilter, hashes: Hashes) -> bool:
    """Whether the first few hashes are not found; reads no more of the filter than their blocks."""
    found = 0
    read = bloom.bits(file.source, stored)
    for hash in hashes:
        _, block = bloom.read_block(read, stored, int(hash))
        found += int(block.check_hashes(hash.reshape(1)).sum())
    return found < FIRST_SHARE * hashes.size


def _some_hashes(file: ParquetContainer, chunk: ColumnChunk) -> Hashes:
    """Hashes of values of the first page that has any, if it is one of the first few."""
    for part in islice(chunk_runs(file.source, file.footer, chunk), MAX_PAGES):
        hashes = np.unique(part.run.hashes())
        if hashes.size:
            return np.random.default_rng(0).permutation(hashes)[:SAMPLE_VALUES]
    return np.empty(0, np.uint64)


def _confirmed(
    file: ParquetContainer, owner: ColumnChunk, bitset: Bitset, hashes: Hashes
) -> Trial | None:
    """The trial of the hashes that `owner` does not store, if it is convincing."""
    is_too_large = (owner.total_uncompressed_size or 0) > MAX_CHUNK_BYTES
    if is_too_large or not STANDARD.look_up(bitset, hashes).is_convincing:
        return None
    trial = STANDARD.look_up(bitset, hashes[~stored_among(file, owner, hashes)])
    return trial if trial.is_convincing else None


# ------------------------------------------------------------------------------------------------
# Blocks next to each other that lack values, though hashes spread values over all of them


def blocks_lost(filter: SplitBlockBloomFilter, missing: Sequence[StoredValue]) -> Diagnosis | None:
    """Whether all missing values belong to empty blocks in a row, or to the one before or after them, of
    which a part can be lost as well."""
    first, count = longest_run(as_bitset(filter).words.max(axis=1) == 0)
    blocks = _blocks(filter, missing)
    hits = int(np.count_nonzero((blocks + np.uint64(1) >= first) & (blocks <= first + count)))
    trial = Trial(hits, blocks.size, min(1.0, (count + 2) / filter.num_blocks))
    if not count or hits < trial.tried or trial.log_luck > MAX_LOG_LUCK:
        return None
    return Diagnosis(
        "blocks-lost",
        f"{number_of(count, 'block')} in a row, from block {first:,} of {filter.num_blocks:,} on,"
        f" {'is' if count == 1 else 'are'} empty: overwritten or never written; the missing values belong"
        " there",
        0,
        0,
    )


def blocks_changed(
    filter: SplitBlockBloomFilter, missing: Sequence[StoredValue]
) -> Diagnosis | None:
    """Whether all missing values belong to a few blocks, and the others find none by luck: what happens to pages happens
    to values of any block."""
    blocks, among = _blocks(filter, missing), filter.num_blocks
    if not blocks.size:
        return None
    few = {int(block) for block in blocks}
    run = range(min(few), max(few) + 1)
    # How likely it is, whichever blocks these are.
    luck_of_run = log(among - len(run) + 1) + blocks.size * log(len(run) / among)
    luck_of_few = _log_comb(among, len(few)) + blocks.size * log(len(few) / among)
    others = np.delete(as_bitset(filter).words, sorted(few), axis=0)
    if min(luck_of_run, luck_of_few) > MAX_LOG_LUCK or mean_fpp(others) > MAX_CHANCE:
        return None
    found = ranges(few if luck_of_few < luck_of_run else run)
    return Diagnosis(
        "blocks-changed",
        f"all missing values belong to block{'s' if len(few) > 1 else ''} {_some(found)} of {among:,}: bytes of the filter"
        " changed there, or values for these blocks were never inserted",
        0,
        0,
    )


def _log_comb(among: int, chosen: int) -> float:
    """The logarithm of how many ways there are to choose so many."""
    return lgamma(among + 1) - lgamma(chosen + 1) - lgamma(among - chosen + 1)


def _blocks(filter: SplitBlockBloomFilter, values: Sequence[StoredValue]) -> Hashes:
    """To which block each distinct value belongs."""
    hashes = np.unique(hashed([value.plain for value in values], XXH64))
    return (high_half(hashes) * np.uint64(filter.num_blocks)) >> np.uint64(32)


def longest_run(flags: NDArray[np.bool_]) -> tuple[int, int]:
    """Where the longest run of True begins, and its length; 0 if there is none."""
    edges = np.flatnonzero(np.diff(flags, prepend=False, append=False))
    starts, lengths = edges[::2], edges[1::2] - edges[::2]
    if not lengths.size:
        return 0, 0
    longest = int(lengths.argmax())
    return int(starts[longest]), int(lengths[longest])


# ------------------------------------------------------------------------------------------------
# Few values that are missing: of a filter that lost single bits, they still have most of theirs; of one that lost
# blocks, none


# How likely values that were never inserted have as many bits by luck.
MAX_LOG_LUCK_OF_BITS = log(0.05)


def _changed_bytes(bitset: Bitset, missing: Sequence[StoredValue]) -> str:
    """Whose bytes may have changed, by what is left of the bits of the missing values."""
    bits = bits_set_of(bitset, hashed([value.plain for value in missing], XXH64))
    if not bits.tried:
        return ""
    clear = Trial(bits.tried - bits.hits, bits.tried, 1 - bits.chance)
    whose, values = (
        ("its", "a value that was") if len(missing) == 1 else ("their", "values that were")
    )
    found = (
        f"; {bits.hits:,} of {whose} {bits.tried:,} bits are set, where about {bits.tried * bits.chance:,.0f} would be of"
        f" {values} never inserted"
    )
    if min(bits.log_luck, clear.log_luck) <= MAX_LOG_LUCK_OF_BITS:
        return f"{found}: bits of the filter may have been lost"
    return f"{found}: with so few missing, {PAGES_MAY_HAVE_CHANGED}"


# ------------------------------------------------------------------------------------------------
# Pages whose values were inserted, and pages whose values were not


# As many as one sentence can bear.
MAX_RANGES = 8


def partial_insertion(
    file: ParquetContainer,
    chunk: ColumnChunk,
    filter: SplitBlockBloomFilter,
    membership: ChunkMembership,
) -> Diagnosis | None:
    """Whether all values of some pages are found, and those of the others only by luck. Raises as
    chunk_runs."""
    found = [page for page in membership.pages if not page.missing and page.num_values]
    lacking = [page for page in membership.pages if page.missing]
    if not found or not lacking or not filter.bits_set:
        return None
    sampled = spread([page.page for page in found], SAMPLE_PAGES)
    others = spread([page.page for page in lacking], SAMPLE_PAGES)
    hashes = page_hashes(file, chunk, [*sampled, *others])
    # How likely a filter that has nothing to do with the values finds all of so many pages.
    chance = filter.fpp
    num_hashes = sum(hashes[page].size for page in sampled)
    by_luck = log(comb(len(membership.pages), len(sampled))) + num_hashes * log(chance)
    if chance > MAX_CHANCE or by_luck > MAX_LOG_LUCK:
        return None
    own = np.unique(np.concatenate([hashes[page] for page in others]))
    own = own[~stored_among(file, chunk, own, {page.page for page in found})]
    trial = STANDARD.look_up(as_bitset(filter), own)
    if trial.tried - trial.hits < MIN_MISSING or not trial.is_luck:
        return None
    return _insertion_diagnosis(membership, found)


def _insertion_diagnosis(membership: ChunkMembership, found: Sequence[PageMembership]) -> Diagnosis:
    pages = [page.page for page in found]
    everything = {page.page for page in membership.pages}
    num_values = sum(page.num_values for page in found)
    if pages == [None]:
        name = "only-dictionary-inserted"
        clause = "only the dictionary was inserted, not the values of pages without it"
    elif everything - set(pages) == {None}:
        name = "dictionary-not-inserted"
        clause = "the values of the dictionary were not inserted, only those of pages without it"
    else:
        name = "pages-not-inserted"
        last = max(page for page in everything if page is not None)
        clause = f"only the values of {spelled(pages)} of {last + 1} were inserted"
    return Diagnosis(name, clause, num_values, num_values)


def cut_off(
    file: ParquetContainer, chunk: ColumnChunk, filter: SplitBlockBloomFilter
) -> Diagnosis | None:
    """Whether all values of the first rows are found, or of the last, and those that only the other rows have by luck.
    Raises as chunk_runs."""
    first, end, total = missing_between(file, chunk, filter)
    for said, found in ((CLOSED_EARLY, range(first)), (OPENED_LATE, range(end, total))):
        inside, outside = inside_and_outside(file, chunk, found)
        trial = STANDARD.look_up(as_bitset(filter), outside)
        if is_cut(len(found), inside.size, filter.fpp, trial):
            return Diagnosis(*said, len(found), len(found))
    return None


def spelled(pages: Collection[PageNumber]) -> str:
    """Such as `the dictionary and data pages 0 to 3, 7`."""
    numbers = {page for page in pages if page is not None}
    words = f"data page{'s' if len(numbers) > 1 else ''} {_some(ranges(numbers))}"
    return f"the dictionary and {words}" if None in pages else words


def _some(found: Sequence[str]) -> str:
    """Of ranges, as many as a sentence can bear."""
    words = ", ".join(found[:MAX_RANGES])
    left = len(found) - MAX_RANGES
    return words if left <= 0 else f"{words} and {number_of(left, 'more range')}"


def ranges(numbers: Collection[int]) -> list[str]:
    """`0 to 3`, `7`"""
    starts = sorted(n for n in numbers if n - 1 not in numbers)
    ends = sorted(n for n in numbers if n + 1 not in numbers)
    return [
        str(start) if start == end else f"{start} to {end}"
        for start, end in zip(starts, ends, strict=True)
    ]


# ------------------------------------------------------------------------------------------------
# What is in a filter whose header does not say how values were hashed
#
# @dsnp/parquetjs, as read in 1.8.9 (sbbf.js, xxhasher.js): all blocks are one array, into which each
# value is inserted; numbers are hashed as text, bytes as what they are in UTF-8.


def diagnose_unnamed(
    file: ParquetContainer, chunk: ColumnChunk, stored: bloom.StoredFilter
) -> Diagnosis | str:
    """How values seem to have been inserted, or why nobody can tell."""
    try:
        return _diagnose_unnamed(file, chunk, stored)
    except (EncryptionError, FormatError, UnsupportedError):
        return UNREADABLE


def _diagnose_unnamed(
    file: ParquetContainer, chunk: ColumnChunk, stored: bloom.StoredFilter
) -> Diagnosis | str:
    is_whole = stored.num_bytes % BLOCK_BYTES == 0 and stored.end <= file.footer.start
    if not is_whole or not 0 < stored.num_bytes <= MAX_BYTES:
        return "no diagnosis: there is no whole number of blocks"
    filter = bloom.read_bitset(file.source, stored)
    with located(file.footer, chunk):
        values = _sample(file, chunk)
    search = HashSearch(values, as_bitset(filter), EACH_VALUE)
    forms = list(key_forms(chunk.leaf.type))
    found = search.convincing([Hypothesis(), *map(Hypothesis, forms)])
    alike = _identical_blocks(filter)
    if not found and not alike:
        return (
            too_full(filter.fpp)
            or too_few(len(values), "value")
            or f"nothing explains it; tried on {number_of(len(values), 'value')}: as they are"
            f" stored, and {number_of(len(forms), 'other form')}"
        )
    if not found:
        return Diagnosis("blocks-alike", alike, 0, 0)
    hypothesis, trial = found[0]
    name = hypothesis.key_form.name or "as-stored"
    clause = hypothesis.key_form.clause or "as it is stored"
    return Diagnosis(
        f"blocks-alike+{name}" if alike else name,
        f"{f'{alike}, and ' if alike else ''}the writer hashed each value {clause}",
        trial.hits,
        trial.tried,
    )


def _identical_blocks(filter: SplitBlockBloomFilter) -> str:
    """Whether all blocks are the same, in words; else empty."""
    words = filter.words.reshape(filter.num_blocks, -1)
    if filter.num_blocks < 2 or (words != words[0]).any():
        return ""
    return (
        f"all {filter.num_blocks:,} blocks are the same, with the bits of all values, so"
        f" {percent(filter.fpp)} of absent values pass the filter"
    )


def _sample(file: ParquetContainer, chunk: ColumnChunk) -> Sequence[StoredValue]:
    """A sample of those that are stored: of those that a filter without any value lacks."""
    pages = list(dict.fromkeys(part.page for part in chunk_runs(file.source, file.footer, chunk)))
    return missing_values(file, chunk, SplitBlockBloomFilter.empty(1), pages)
