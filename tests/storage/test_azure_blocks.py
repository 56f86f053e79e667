"""How a new version is cut into blocks of a blob, and how these are called."""

from base64 import b64decode, b64encode

from parquet_bloom.storage.objects import azure_adapter
from parquet_bloom.storage.objects.azure_adapter import (
    BlockNames,
    CommittedBlock,
    began,
    cut_into_blocks,
)
from parquet_bloom.storage.objects.pieces import Composition, Piece


def committed(*sizes):
    found, at = [], 0
    for number, size in enumerate(sizes):
        found.append(CommittedBlock(f"n{number}", at, at + size))
        at += size
    return found


def cut(pieces, blocks=(), least=0):
    made = Composition()
    for piece in pieces:
        made.add(Piece(*piece))
    found = cut_into_blocks(made, blocks)
    assert [block.start for block in found] == [0, *(block.end for block in found[:-1])]
    assert found[-1].end == made.size
    return [
        block.name or ((block.copied.start, block.copied.end) if block.copied else "sent")
        for block in found
    ]


OLD_PIECE = (0, 1000, True)


def test_old_blocks_that_stay_whole_are_named(monkeypatch):
    monkeypatch.setattr(azure_adapter, "LEAST_BYTES", 100)
    new = (0, 50, False)
    assert cut([OLD_PIECE, new], committed(400, 600)) == ["n0", "n1", "sent"]
    assert cut([(0, 999, True), new], committed(400, 600)) == ["n0", (400, 999), "sent"]
    assert cut([new, (1, 1000, True)], committed(400, 600)) == ["sent", (1, 400), "n1"]
    assert cut([new, (901, 1000, True), new], committed(400, 600)) == ["sent"]
    assert cut([(5, 6, True), new], committed(400, 600)) == [(5, 6), "sent"]
    assert cut([OLD_PIECE]) == [(0, 1000)]


def test_large_blocks_are_cut(monkeypatch):
    monkeypatch.setattr(azure_adapter, "COPIED_BYTES", 400)
    monkeypatch.setattr(azure_adapter, "SENT_BYTES", 30)
    new = (0, 50, False)
    assert cut([OLD_PIECE, new]) == [(0, 333), (333, 666), (666, 1000), "sent", "sent"]


def test_no_more_blocks_than_a_blob_can_have(monkeypatch):
    monkeypatch.setattr(azure_adapter, "MOST_BLOCKS", 10)
    monkeypatch.setattr(azure_adapter, "LEAST_BYTES", 1)
    assert cut([OLD_PIECE, (0, 1, False)], committed(*[100] * 10)) == [(0, 1000), "sent"]
    mixed = [
        piece for at in range(0, 1000, 50) for piece in ((at, at + 25, True), (at, at + 25, False))
    ]
    assert len(cut(mixed)) <= 10


def test_names_of_blocks_say_since_when():
    names = BlockNames(24, 1_800_000_000)
    given = [names.next() for _ in range(1000)]
    assert len({*given, *(BlockNames(20, 1_800_000_000).next() for _ in range(100))}) == 1100
    assert {began(name) for name in given} == {1_800_000_000}
    assert {len(b64decode(name)) for name in given} == {24}
    others = (bytes(24), b"pbloom" + bytes(13), b"pbloo" + bytes(24))
    assert {began(b64encode(name).decode()) for name in others} == {None}
    assert began("no base 64") is None
