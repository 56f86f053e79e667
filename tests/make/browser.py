"""A real browser for pages: headless Chromium, what it makes of them as DOM and as pixels."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from struct import unpack
from tempfile import TemporaryDirectory
from zlib import decompress

import numpy as np
import numpy.typing as npt
from conftest import missing

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--virtual-time-budget=2000",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
PATIENCE_SECONDS = 300
LIGHT, DARK = 1, 0

Pixels = npt.NDArray[np.uint8]


def _run(page: Path, *arguments: str) -> str:
    """What Chromium prints; a profile of its own each time, so that runs know nothing of others."""
    browser = next(filter(None, map(shutil.which, NAMES)), None)
    if browser is None:
        missing("chromium")
    with TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        run = subprocess.run(
            [browser, *FLAGS, f"--user-data-dir={profile}", *arguments, page.as_uri()],
            capture_output=True,
            text=True,
            check=True,
            timeout=PATIENCE_SECONDS,
            env=os.environ | {"HOME": profile},
        )
    return run.stdout


def dom(page: Path, *flags: str) -> str:
    """The document after it was loaded."""
    return _run(page, *flags, "--dump-dom")


def screenshot(page: Path, png: Path, width: int, height: int, scheme: int = LIGHT) -> Pixels:
    """The pixels at the top of a page, shape (height, width, 3), dtype uint8."""
    _run(
        page,
        f"--window-size={width},{height}",
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--screenshot={png}",
    )
    return read_png(png.read_bytes())


def read_png(data: bytes) -> Pixels:
    """RGB pixels of a PNG of 8 bits a channel that is not interlaced.

    Source: PNG (Third Edition), sections 5, 9.
    """
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, compressed = 8, b""
    while at < len(data):
        length, kind = unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        if kind == b"IHDR":
            width, height, depth, colour, _, _, interlaced = unpack(">IIBBBBB", body)
        if kind == b"IDAT":
            compressed += body
        at += 12 + length
    assert (depth, interlaced) == (8, 0)
    channels = {2: 3, 6: 4}[colour]
    rows = np.frombuffer(decompress(compressed), np.uint8).reshape(height, 1 + channels * width)
    pixels = np.zeros((height + 1, channels * width), np.uint8)
    for y, row in enumerate(rows):
        pixels[y + 1] = _unfiltered(int(row[0]), row[1:], pixels[y], channels)
    return pixels[1:].reshape(height, width, channels)[:, :, :3]


def _unfiltered(kind: int, line: Pixels, above: Pixels, channels: int) -> Pixels:
    """A row from its filtered bytes and the row above it."""
    if kind in (0, 2):
        return line + above * np.uint8(kind == 2)
    if kind == 1:
        return np.cumsum(line.reshape(-1, channels), axis=0, dtype=np.uint8).reshape(-1)
    predict = {3: _average, 4: _paeth}[kind]
    out, up = bytearray(channels), bytes(channels) + bytes(above)
    for i, byte in enumerate(bytes(line)):
        out.append(byte + predict(out[i], up[i + channels], up[i]) & 0xFF)
    return np.frombuffer(out, np.uint8)[channels:]


def _average(left: int, up: int, corner: int) -> int:
    return (left + up) // 2


def _paeth(left: int, up: int, corner: int) -> int:
    by_left, by_up = abs(up - corner), abs(left - corner)
    by_corner = abs(left + up - 2 * corner)
    if by_left <= by_up and by_left <= by_corner:
        return left
    return up if by_up <= by_corner else corner


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]


class Document(HTMLParser):
    """The elements and the text of a page."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.elements: list[Element] = []
        self._texts: list[str] = []
        self._open: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append(Element(tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if "style" not in self._open:
            self._texts.append(data)

    @property
    def text(self) -> str:
        """All text, with one space where there is any."""
        return " ".join(" ".join(self._texts).split())
