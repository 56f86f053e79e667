"""Frames of Zstandard, as zstandard and cramjam write and read them."""

import struct
from types import SimpleNamespace

import cramjam
import pytest
import zstandard

from parquet_bloom.container import zstd

DATA = b"".join(b"%d, " % number for number in range(2000))
SKIPPED = struct.pack("<II", 0x184D2A50, 3) + b"abc"


def written(data=DATA, *, states_size=True, checksum=False):
    compressor = zstandard.ZstdCompressor(
        write_content_size=states_size, write_checksum=checksum
    ).compressobj(size=len(data) if states_size else -1)
    return compressor.compress(data) + compressor.flush()


FRAMES = {
    "stated": written(),
    "not stated": written(states_size=False),
    "stated, checksum": written(checksum=True),
    "not stated, checksum": written(states_size=False, checksum=True),
    "two": written(DATA[:100]) + written(DATA[100:]),
    "two, not stated": written(DATA[:100], states_size=False) + written(DATA[100:]),
    "skippable first": SKIPPED + written(),
    "skippable last": written() + SKIPPED,
    "empty first": written(b"") + written(),
    "of cramjam": bytes(cramjam.zstd.compress(DATA)),
}


@pytest.fixture(params=["zstandard", "cramjam"], autouse=True)
def library(request, monkeypatch):
    context = zstd._context() if request.param == "zstandard" else (None, None)
    monkeypatch.setattr(zstd, "_contexts", SimpleNamespace(zstd=context))


@pytest.mark.parametrize("spare", [0, 1, 100_000])
@pytest.mark.parametrize("name", FRAMES)
def test_what_was_written_is_read(name, spare):
    room = memoryview(bytearray(b"\xaa" * (len(DATA) + spare)))
    assert zstd.decompress_into(memoryview(FRAMES[name]), room) == len(DATA)
    assert room[: len(DATA)] == DATA


@pytest.mark.parametrize("name", FRAMES)
def test_more_than_has_room(name):
    with pytest.raises(cramjam.DecompressionError):
        zstd.decompress_into(memoryview(FRAMES[name]), memoryview(bytearray(len(DATA) - 1)))


@pytest.mark.parametrize("spare", [0, 1, 100_000])
@pytest.mark.parametrize("name", [name for name in FRAMES if not name.startswith("two")])
def test_no_value_is_missing_where_a_frame_is_cut_off(name, spare):
    frame = FRAMES[name]
    for length in range(max(1, len(frame) - 40), len(frame) - len(SKIPPED) * name.count("last")):
        room = memoryview(bytearray(len(DATA) + spare))
        try:
            found = zstd.decompress_into(memoryview(frame[:length]), room)
        except cramjam.DecompressionError:
            continue
        # Only the mark of the end is missing.
        assert (name, found, room[:found] == DATA) == ("not stated", len(DATA), True)


def test_damage_is_found_by_a_checksum():
    for name in ("stated, checksum", "not stated, checksum"):
        frame = FRAMES[name]
        damaged = frame[:-1] + bytes([frame[-1] ^ 1])
        with pytest.raises(cramjam.DecompressionError):
            zstd.decompress_into(memoryview(damaged), memoryview(bytearray(len(DATA))))
