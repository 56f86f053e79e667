"""The report in a real browser, and what it can be seen with: contrast, margins, no network."""

import math
import re
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from conftest import ROOT
from make import troubled
from make.browser import DARK, LIGHT, Document, dom, screenshot

import parquet_bloom as pb
from parquet_bloom.render.report import render_report
from parquet_bloom.verbs.report import report


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("page")
    page = folder / "report.html"
    page.write_text(render_report(report(troubled.write(folder))), encoding="utf-8")
    return page


def luminance(colour):
    """Source: WCAG 2.2, relative luminance."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    bright, dim = sorted([luminance(one), luminance(other)], reverse=True)
    return (bright + 0.05) / (dim + 0.05)


def schemes():
    """Light, dark and print: the colours by name."""
    css = (ROOT / "parquet_bloom" / "render" / "report.css").read_text()
    blocks = re.findall(r":root \{(.*?)\}", css, re.DOTALL)
    found = [dict(re.findall(r"--([\w-]+): (#\w+)", block)) for block in blocks]
    full = [
        {name: c if len(c) == 7 else "#" + "".join(2 * x for x in c[1:]) for name, c in one.items()}
        for one in found
    ]
    assert len(full) == 3
    return full


@pytest.mark.parametrize("colours", schemes(), ids=["light", "dark", "print"])
def test_contrast(colours):
    """Text 4.5 to 1, graphics 3 to 1 (WCAG 2.2, 1.4.3 and 1.4.11)."""
    for ground in ("paper", "card", "faint"):
        for ink in ("ink", "soft", "accent"):
            assert contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground)
    for severity in ("error", "warning", "note", "fine"):
        assert contrast(colours[severity], colours[f"{severity}-back"]) >= 4.5
    for shape in ("accent", "curve"):
        assert contrast(colours[shape], colours["card"]) >= 3


def test_a_browser_shows_the_text(page):
    shown = Document(dom(page))
    assert shown.text == Document(page.read_text(encoding="utf-8")).text
    titles = [element for element in shown.elements if element.tag == "title"]
    assert len(titles) == 1
    assert "<title>&lt;b&gt;trouble" in page.read_text(encoding="utf-8")


class _Counting(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *arguments):
        pass


@pytest.fixture
def server():
    server = HTTPServer(("127.0.0.1", 0), _Counting)
    server.asked = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.every(2)
@pytest.mark.parametrize("guarded", [True, False])
def test_a_browser_asks_nobody(page, server, tmp_path, guarded):
    """Even if somebody smuggled something in; and without the policy it would have."""
    html = page.read_text(encoding="utf-8")
    if not guarded:
        html = re.sub(r"<meta http-equiv.*?>", "", html)
    where = f"http://127.0.0.1:{server.server_port}"
    smuggled = f'<img src="{where}/image"><script>document.body.className = "ran"</script>'
    other = tmp_path / "smuggled.html"
    other.write_text(html.replace("</body>", f"{smuggled}</body>"), encoding="utf-8")
    shown = dom(other)
    assert server.asked == ([] if guarded else ["/image"])
    assert ('<body class="ran">' in shown) == (not guarded)


def share_of(pixels, colour):
    return float((np.abs(pixels.astype(int) - colour) <= 2).all(axis=2).mean())


def rgb(colour):
    return [int(colour[at : at + 2], 16) for at in (1, 3, 5)]


@pytest.mark.every(2)
@pytest.mark.parametrize(("scheme", "place"), [(LIGHT, 0), (DARK, 1)], ids=["light", "dark"])
def test_a_browser_paints_it(page, tmp_path, scheme, place):
    pixels = screenshot(page, tmp_path / "page.png", 1000, 1600, scheme)
    colours = schemes()[place]
    assert share_of(pixels, rgb(colours["paper"])) > 0.3
    assert share_of(pixels, rgb(colours["card"])) > 0.1
    for name in ("error", "error-back", "data", "accent", "ink"):
        assert share_of(pixels, rgb(colours[name])) > 0.0002, name


@pytest.fixture(scope="module")
def long_names(tmp_path_factory):
    """Of columns whose names, types and numbers are long."""
    folder = tmp_path_factory.mktemp("names")
    numbers = np.random.default_rng(1).permutation(1 << 20)[:40_000] << 20
    table = pa.table(
        {
            "customer_reference_code": numbers,
            "event_timestamp_utc": pa.array(numbers, pa.timestamp("us")),
            "is_active": numbers > 1 << 39,
        }
    )
    pq.write_table(table, folder / "t.parquet", row_group_size=4_000, use_dictionary=False)
    pb.build(folder / "t.parquet", columns=["customer_reference_code"], in_place=True)
    page = folder / "report.html"
    page.write_text(render_report(report(folder / "t.parquet")), encoding="utf-8")
    return page


@pytest.mark.every(8)
@pytest.mark.parametrize("width", [500, 900, 1070, 1100])
@pytest.mark.parametrize("of", ["page", "long_names"])
def test_nothing_sticks_out(request, of, tmp_path, width):
    """The margins at both sides are empty, all the way down."""
    page = request.getfixturevalue(of)
    pixels = screenshot(page, tmp_path / "page.png", width, 1800)
    paper = rgb(schemes()[0]["paper"])
    margin = math.floor(min(48, max(16, 0.04 * width))) - 2
    assert share_of(pixels[:, :margin], paper) == 1
    assert share_of(pixels[:, -margin:], paper) == 1
    assert share_of(pixels[:1500, margin:-margin], paper) < 0.9
